/**
 * Checks which of AWS' permissions the credentials have, by asking AWS itself: reading is tried, acting is tried as a
 * dry run that EC2 answers without any effect.
 *
 * Changes nothing and spends nothing. The invariant: a permission that cannot be checked without acting is unknown.
 * Auto Scaling and Savings Plans have no dry run, a purchase is not even tried as a dry run, and each request to Cost
 * Explorer or for metrics of CloudWatch costs money. Before the dry run of an effect, EC2 must prove that it respects
 * `DryRun`: a compatible server that answers a dry-run reading with the list would stop machines. Sources: Amazon EC2
 * API Reference, DryRun of each action (DryRunOperation, UnauthorizedOperation); IAM User Guide, "Troubleshoot access
 * denied error messages" (the message contains the denied action).
 */
import {
  DescribeAutoScalingGroupsCommand,
  DescribeLifecycleHooksCommand,
  DescribePoliciesCommand,
} from '@aws-sdk/client-auto-scaling';
import {
  DescribeInstanceAttributeCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeInstanceTypesCommand,
  DescribeLaunchTemplateVersionsCommand,
  DescribeReservedInstancesCommand,
  DescribeReservedInstancesOfferingsCommand,
  DescribeSpotInstanceRequestsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeVolumesCommand,
  DescribeVolumesModificationsCommand,
  ModifyInstanceAttributeCommand,
  RunInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
  type EC2Client,
  type Instance,
} from '@aws-sdk/client-ec2';
import { GetProductsCommand } from '@aws-sdk/client-pricing';
import {
  DescribeSavingsPlansCommand,
  DescribeSavingsPlansOfferingRatesCommand,
  DescribeSavingsPlansOfferingsCommand,
} from '@aws-sdk/client-savingsplans';
import { Failure } from '../../core/errors.js';
import type { ProviderSetting } from '../../core/setting.js';
import type { Clients } from './clients.js';
import { meaningOf } from './failures.js';
import type { InstanceTypes } from './gpus.js';
import { readInstances } from './instances.js';
import { templateOf } from './launch.js';
import { likeIt } from './replace.js';
import { labelsOf } from './targets.js';

const DRY = { DryRun: true } as const;
/** One of this many instances must be permitted, because a policy may allow acting on some only. */
const MOST_INSTANCES = 3;

/** Calls that read, by permission. They are made with the credentials for reading, whatever needs them. */
const READINGS: Readonly<Record<string, (clients: Clients, region: string) => Promise<unknown>>> = {
  'ec2:DescribeInstances': (clients, region) => clients.ec2(region).send(new DescribeInstancesCommand(DRY)),
  'ec2:DescribeInstanceStatus': (clients, region) => clients.ec2(region).send(new DescribeInstanceStatusCommand(DRY)),
  'ec2:DescribeInstanceTypes': (clients, region) => clients.ec2(region).send(new DescribeInstanceTypesCommand(DRY)),
  'ec2:DescribeLaunchTemplateVersions': (clients, region) =>
    clients.ec2(region).send(new DescribeLaunchTemplateVersionsCommand({ Versions: ['$Latest'], ...DRY })),
  'ec2:DescribeSpotInstanceRequests': (clients, region) =>
    clients.ec2(region).send(new DescribeSpotInstanceRequestsCommand(DRY)),
  'ec2:DescribeSpotPriceHistory': (clients, region) =>
    clients.ec2(region).send(new DescribeSpotPriceHistoryCommand(DRY)),
  'ec2:DescribeVolumes': (clients, region) => clients.ec2(region).send(new DescribeVolumesCommand(DRY)),
  'ec2:DescribeVolumesModifications': (clients, region) =>
    clients.ec2(region).send(new DescribeVolumesModificationsCommand(DRY)),
  'ec2:DescribeReservedInstances': (clients, region) =>
    clients.ec2(region).send(new DescribeReservedInstancesCommand(DRY)),
  'ec2:DescribeReservedInstancesOfferings': (clients, region) =>
    clients.ec2(region).send(new DescribeReservedInstancesOfferingsCommand(DRY)),
  'autoscaling:DescribeAutoScalingGroups': (clients, region) =>
    clients.autoScaling(region).send(new DescribeAutoScalingGroupsCommand({ MaxRecords: 1 })),
  // Asked of a group that does not exist: a denied permission is reported before the missing group.
  'autoscaling:DescribeLifecycleHooks': (clients, region) =>
    clients.autoScaling(region).send(new DescribeLifecycleHooksCommand({ AutoScalingGroupName: 'bursar-none' })),
  'autoscaling:DescribePolicies': (clients, region) =>
    clients.autoScaling(region).send(new DescribePoliciesCommand({ MaxRecords: 1 })),
  'pricing:GetProducts': (clients) =>
    clients.pricing().send(new GetProductsCommand({ ServiceCode: 'AmazonEC2', MaxResults: 1 })),
  'savingsplans:DescribeSavingsPlans': (clients) =>
    clients.savingsPlans().send(new DescribeSavingsPlansCommand({ maxResults: 1 })),
  'savingsplans:DescribeSavingsPlansOfferingRates': (clients) =>
    clients.savingsPlans().send(new DescribeSavingsPlansOfferingRatesCommand({ maxResults: 1 })),
  'savingsplans:DescribeSavingsPlansOfferings': (clients) =>
    clients.savingsPlans().send(new DescribeSavingsPlansOfferingsCommand({ maxResults: 1 })),
};

/** Rehearsals on an instance, by permission. */
const REHEARSALS: Readonly<Record<string, (ec2: EC2Client, instance: Instance) => Promise<unknown>>> = {
  'ec2:DescribeInstanceAttribute': (ec2, { InstanceId }) =>
    ec2.send(new DescribeInstanceAttributeCommand({ InstanceId, Attribute: 'userData', ...DRY })),
  'ec2:StopInstances': (ec2, { InstanceId = '' }) =>
    ec2.send(new StopInstancesCommand({ InstanceIds: [InstanceId], ...DRY })),
  'ec2:StartInstances': (ec2, { InstanceId = '' }) =>
    ec2.send(new StartInstancesCommand({ InstanceIds: [InstanceId], ...DRY })),
  'ec2:TerminateInstances': (ec2, { InstanceId = '' }) =>
    ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId], ...DRY })),
  'ec2:ModifyInstanceAttribute': (ec2, { InstanceId = '', InstanceType }) =>
    ec2.send(new ModifyInstanceAttributeCommand({ InstanceId, InstanceType: { Value: InstanceType }, ...DRY })),
};

/** The permissions for launching an instance from a template; AWS names the missing ones. */
const LAUNCHING: ReadonlySet<string> = new Set(['ec2:RunInstances', 'ec2:CreateTags', 'iam:PassRole']);

/**
 * AWS' answer to a rehearsal or a reading: it went through, it would, it is denied (by which permission, where it
 * says), or none of these.
 */
type Answer =
  | { readonly kind: 'done' | 'would-do' | 'none' }
  | { readonly kind: 'denied'; readonly permission: string | null };

async function answerTo(call: () => Promise<unknown>): Promise<Answer> {
  try {
    await call();
    return { kind: 'done' };
  } catch (error) {
    if (error instanceof Failure) throw error;
    const meaning = meaningOf(error);
    if (meaning.code === 'DryRunOperation') return { kind: 'would-do' };
    if (meaning.kind !== 'denied' || meaning.credentials || meaning.code === 'OptInRequired') return { kind: 'none' };
    const message = error instanceof Error ? error.message : '';
    return { kind: 'denied', permission: /not authorized to perform: ([\w-]+:\w+)/.exec(message)?.[1] ?? null };
  }
}

/** @param permission that was asked for: another one that is missing says nothing of it */
function verdictOf(answer: Answer, permission: string): boolean | null {
  if (answer.kind === 'done' || answer.kind === 'would-do') return true;
  return answer.kind === 'denied' && (answer.permission ?? permission) === permission ? false : null;
}

export class Permissions {
  private keepsToDryRun: Promise<boolean> | null = null;
  private found: Promise<readonly Instance[]> | null = null;

  constructor(
    private readonly clients: Clients,
    private readonly types: InstanceTypes,
    private readonly region: string,
  ) {}

  /** As ProviderConnection.granted says. @throws Failure if there are no credentials of the use */
  async granted(permission: string, use: ProviderSetting['use']): Promise<boolean | null> {
    const reading = READINGS[permission];
    if (reading !== undefined) return verdictOf(await answerTo(() => reading(this.clients, this.region)), permission);
    if (use !== 'act' || this.clients.settings.act === null || !(await this.rehearses())) return null;
    const rehearsal = REHEARSALS[permission];
    if (rehearsal !== undefined) return this.onAny((ec2, instance) => rehearsal(ec2, instance), permission);
    return LAUNCHING.has(permission)
      ? this.onAny((ec2, instance) => this.launch(ec2, instance, permission), permission)
      : null;
  }

  /** True where one instance gives leave, false if each refuses; null if there is none or AWS says something else. */
  private async onAny(
    rehearse: (ec2: EC2Client, instance: Instance) => Promise<unknown> | null,
    permission: string,
  ): Promise<boolean | null> {
    const ec2 = this.clients.ec2(this.region, 'act');
    let verdict: boolean | null = null;
    for (const instance of await this.instances()) {
      const call = rehearse(ec2, instance);
      const own = call === null ? null : verdictOf(await answerTo(() => call), permission);
      if (own === true) return true;
      verdict = own ?? verdict;
    }
    return verdict;
  }

  private launch(ec2: EC2Client, instance: Instance, permission: string): Promise<unknown> | null {
    const labels = labelsOf(instance.Tags);
    const from = templateOf(labels);
    // Where no role is passed on, nobody checks whether it might be.
    const passesNone = permission === 'iam:PassRole' && instance.IamInstanceProfile === undefined;
    return from === null || passesNone
      ? null
      : ec2.send(
          new RunInstancesCommand({ ...likeIt(instance, labels, { ...from, data: {} }, 'bursar-rehearsal'), ...DRY }),
        );
  }

  /**
   * EC2 answers a rehearsed reading with an error, whatever its permission; who answers with a list does not keep to
   * `DryRun`.
   */
  private rehearses(): Promise<boolean> {
    this.keepsToDryRun ??= answerTo(() => this.clients.ec2(this.region).send(new DescribeInstancesCommand(DRY))).then(
      ({ kind }) => kind === 'would-do',
    );
    return this.keepsToDryRun;
  }

  private instances(): Promise<readonly Instance[]> {
    const find = async (): Promise<readonly Instance[]> => {
      const all = await readInstances(this.clients, this.region, {
        Filters: [{ Name: 'instance-state-name', Values: ['running', 'stopped'] }],
        MaxResults: 1000,
      });
      const gpus = await this.types.gpusOf(
        this.region,
        all.flatMap(({ instance }) => instance.InstanceType ?? []),
      );
      return all
        .map(({ instance }) => instance)
        .filter(({ InstanceType = '' }) => gpus.get(InstanceType) !== null)
        .slice(0, MOST_INSTANCES);
    };
    this.found ??= find();
    return this.found;
  }
}
