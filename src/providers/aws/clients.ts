/**
 * The SDK's clients, one per service, region and use, created on first use.
 *
 * Never sends a request itself. The invariant: a client that acts sends a request once (no retries of the SDK, a fresh
 * connection each time, so that a socket that died while idle is not taken for a lost answer); only reading is retried.
 */
import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { CostExplorerClient } from '@aws-sdk/client-cost-explorer';
import { EC2Client } from '@aws-sdk/client-ec2';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SavingsplansClient } from '@aws-sdk/client-savingsplans';
import { denied } from '../../core/errors.js';
import type { AwsCredentials, AwsSettings } from './settings.js';

/** Which credentials a call is made with. */
export type Use = 'read' | 'act' | 'purchase';

const CONNECT_MILLISECONDS = 5_000;
/** Longest wait for an answer; of a request that acts, the outcome is then not known. */
const ANSWER_MILLISECONDS = 30_000;
const READ_ATTEMPTS = 3;

/** The common configuration of all clients. */
function configOf(settings: AwsSettings, region: string, use: Use, answerMilliseconds: number) {
  const acts = use !== 'read';
  const agent = { keepAlive: !acts, maxSockets: 16 };
  return {
    region,
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
    ...sdkCredentials(credentialsFor(settings, use)),
    maxAttempts: acts ? 1 : READ_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_MILLISECONDS,
      requestTimeout: answerMilliseconds,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  };
}

function credentialsFor(settings: AwsSettings, use: Use): AwsCredentials {
  const credentials =
    use === 'read' ? settings.read : use === 'act' ? settings.act : (settings.purchase ?? settings.act);
  if (credentials === null)
    throw denied('there are no AWS credentials for acting (BURSAR_AWS_ACT_ACCESS_KEY_ID): the connection is read-only');
  return credentials;
}

function sdkCredentials(credentials: AwsCredentials) {
  if (credentials.kind === 'default') return {};
  if (credentials.kind === 'profile') return { profile: credentials.profile };
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) } };
}

type ClientConfig = ReturnType<typeof configOf>;

/** The clients of one service. */
class ServiceClients<Client extends { destroy(): void }> {
  private readonly made = new Map<string, Client>();

  constructor(
    private readonly make: (config: ClientConfig) => Client,
    private readonly configFor: (region: string, use: Use) => ClientConfig,
  ) {}

  clientFor(region: string, use: Use): Client {
    const key = `${use} ${region}`;
    const client = this.made.get(key) ?? this.make(this.configFor(region, use));
    this.made.set(key, client);
    return client;
  }

  destroy(): void {
    for (const client of this.made.values()) client.destroy();
    this.made.clear();
  }
}

/** Where an account's region-less services answer: Cost Explorer and Savings Plans, by partition. */
function homeRegion(region: string): string {
  return region.startsWith('cn-') ? 'cn-northwest-1' : region.startsWith('us-gov-') ? 'us-gov-west-1' : 'us-east-1';
}

/** Where the Price List Query API answers (AWS Billing User Guide, "Using the AWS Price List API": endpoints). */
function pricingRegion(region: string): string {
  return region.startsWith('cn-') ? 'cn-northwest-1' : region.startsWith('eu-') ? 'eu-central-1' : 'us-east-1';
}

export class Clients {
  private readonly ec2s;
  private readonly autoScalings;
  private readonly cloudWatches;
  private readonly pricings;
  private readonly costExplorers;
  private readonly savingsPlansClients;

  constructor(
    readonly settings: AwsSettings,
    answerMilliseconds = ANSWER_MILLISECONDS,
  ) {
    const config = (region: string, use: Use): ClientConfig => configOf(settings, region, use, answerMilliseconds);
    this.ec2s = new ServiceClients((c) => new EC2Client(c), config);
    this.autoScalings = new ServiceClients((c) => new AutoScalingClient(c), config);
    this.cloudWatches = new ServiceClients((c) => new CloudWatchClient(c), config);
    this.pricings = new ServiceClients((c) => new PricingClient(c), config);
    this.costExplorers = new ServiceClients((c) => new CostExplorerClient(c), config);
    this.savingsPlansClients = new ServiceClients((c) => new SavingsplansClient(c), config);
  }

  ec2(region: string, use: Use = 'read'): EC2Client {
    return this.ec2s.clientFor(region, use);
  }

  autoScaling(region: string, use: Use = 'read'): AutoScalingClient {
    return this.autoScalings.clientFor(region, use);
  }

  cloudWatch(region: string): CloudWatchClient {
    return this.cloudWatches.clientFor(region, 'read');
  }

  pricing(): PricingClient {
    return this.pricings.clientFor(pricingRegion(this.firstRegion), 'read');
  }

  costExplorer(): CostExplorerClient {
    return this.costExplorers.clientFor(homeRegion(this.firstRegion), 'read');
  }

  savingsPlans(use: Use = 'read'): SavingsplansClient {
    return this.savingsPlansClients.clientFor(homeRegion(this.firstRegion), use);
  }

  destroy(): void {
    for (const clients of [
      this.ec2s,
      this.autoScalings,
      this.cloudWatches,
      this.pricings,
      this.costExplorers,
      this.savingsPlansClients,
    ])
      clients.destroy();
  }

  private get firstRegion(): string {
    return this.settings.regions[0] ?? 'us-east-1';
  }
}
