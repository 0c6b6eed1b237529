/**
 * The settings of the Azure connection: subscriptions, regions, and separate identities for reading and for acting.
 *
 * Never reads the environment itself and never shows a value in an error. The invariant: only the identity named for
 * acting may act; nothing acts with the identity for reading. Sources: "Azure Resource Manager" and "Microsoft Entra
 * authentication & national clouds" on learn.microsoft.com (the hosts of each cloud).
 */
import type { ProviderSetting } from '../../core/setting.js';
import { SettingsReader } from '../rpc.js';

export const PREFIX = 'BURSAR_AZURE_';

export type AzureIdentity =
  /** An app registration with a client secret. */
  | { readonly kind: 'secret'; readonly clientId: string; readonly secret: string }
  /** An app registration or managed identity that trusts a token in a file (workload identity federation). */
  | { readonly kind: 'workload'; readonly clientId: string; readonly tokenFile: string }
  /** The identity of the virtual machine that Bursar runs on; null: the one that the system assigned. */
  | { readonly kind: 'managed'; readonly clientId: string | null };

/** Where a cloud's services answer. */
export interface Hosts {
  readonly management: string;
  readonly login: string;
  /** Null: the cloud's prices are not published by that service. */
  readonly prices: string | null;
  /** The address of the virtual machine's own metadata service. */
  readonly metadata: string;
}

const METADATA = 'http://169.254.169.254';
const CLOUDS: Readonly<Record<string, Hosts>> = {
  public: {
    management: 'https://management.azure.com',
    login: 'https://login.microsoftonline.com',
    prices: 'https://prices.azure.com',
    metadata: METADATA,
  },
  china: {
    management: 'https://management.chinacloudapi.cn',
    login: 'https://login.chinacloudapi.cn',
    prices: null,
    metadata: METADATA,
  },
  'us-government': {
    management: 'https://management.usgovcloudapi.net',
    login: 'https://login.microsoftonline.us',
    prices: 'https://prices.azure.com',
    metadata: METADATA,
  },
};

export interface AzureSettings {
  readonly subscriptions: readonly string[];
  readonly regions: readonly string[];
  readonly tenant: string;
  readonly account: string | null;
  readonly currency: string;
  readonly hosts: Hosts;
  /** What tokens are asked for, also where another server takes the requests. */
  readonly audience: string;
  /** Longest wait for an answer; of a request that acts, the outcome is then not known. */
  readonly timeoutSeconds: number;
  readonly read: AzureIdentity;
  readonly act: AzureIdentity | null;
}

const setting = (
  name: string,
  use: 'read' | 'act',
  description: string,
  { required = false, secret = false } = {},
): ProviderSetting => ({ name: PREFIX + name, description, required, secret, use });

export const SETTINGS: readonly ProviderSetting[] = [
  setting('SUBSCRIPTIONS', 'read', 'Ids of the subscriptions to look at, with commas between them', { required: true }),
  setting('REGIONS', 'read', 'Regions to look at, such as `eastus,westeurope`', { required: true }),
  setting('TENANT_ID', 'read', 'Id of the Microsoft Entra tenant', { required: true }),
  setting('READ_CLIENT_ID', 'read', 'Client id of the identity for reading'),
  setting('READ_CLIENT_SECRET', 'read', 'Its client secret', { secret: true }),
  setting(
    'READ_CREDENTIALS',
    'read',
    '`workload-identity` (of READ_CLIENT_ID, by FEDERATED_TOKEN_FILE) or `managed-identity`, in place of the secret',
  ),
  setting('ACT_CLIENT_ID', 'act', 'Client id of another identity for acting; absent: read-only'),
  setting('ACT_CLIENT_SECRET', 'act', 'Its client secret', { secret: true }),
  setting(
    'ACT_CREDENTIALS',
    'act',
    '`workload-identity` or `managed-identity` (of ACT_CLIENT_ID), in place of the secret',
  ),
  setting('FEDERATED_TOKEN_FILE', 'read', 'File with the token that `workload-identity` is proved by, read each time'),
  setting('ACCOUNT', 'read', 'Billing profile or billing account id, as the cost export names it'),
  setting('CURRENCY', 'read', 'Currency of the retail prices (USD)'),
  setting('CLOUD', 'read', '`public` (the default), `china` or `us-government`'),
  setting('ENDPOINT', 'read', 'Address of a server that takes all requests in place of Azure'),
  setting('TIMEOUT_SECONDS', 'read', 'Longest wait for an answer, 1 to 25 (20)'),
];

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(given: Readonly<Record<string, string | undefined>>): AzureSettings | null {
  const reader = new SettingsReader(given, PREFIX);
  if (SETTINGS.every(({ name }) => reader.text(name.slice(PREFIX.length)) === null)) return null;
  for (const name of ['SUBSCRIPTIONS', 'REGIONS', 'TENANT_ID'])
    if (reader.text(name) === null) reader.wrong(name, 'is missing');
  const subscriptions = reader.list('SUBSCRIPTIONS', GUID, 'subscription ids').map((id) => id.toLowerCase());
  const regions = reader.list('REGIONS', /^[a-z][a-z0-9]+$/, 'region names');
  const tenant = reader.text('TENANT_ID') ?? '';
  if (tenant !== '' && !GUID.test(tenant) && !/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(tenant))
    reader.wrong('TENANT_ID', 'is neither an id nor a domain');
  const read = identityOf(reader, 'READ');
  if (read === null && reader.problems.every(({ path }) => path?.startsWith(`${PREFIX}READ_`) !== true))
    reader.wrong('READ_CLIENT_ID', `is missing (or ${PREFIX}READ_CREDENTIALS)`);
  const act = identityOf(reader, 'ACT');
  const currency = reader.text('CURRENCY') ?? 'USD';
  if (!/^[A-Z]{3}$/.test(currency)) reader.wrong('CURRENCY', 'is not a currency code of three letters');
  const cloud = CLOUDS[reader.text('CLOUD') ?? 'public'];
  if (cloud === undefined) reader.wrong('CLOUD', 'is none of public, china and us-government');
  const endpoint = reader.address('ENDPOINT');
  const timeoutSeconds = reader.timeoutSeconds(25);
  if (reader.problems.length > 0 || read === null || cloud === undefined) throw reader.failure('Azure');
  return {
    subscriptions,
    regions,
    tenant,
    account: reader.text('ACCOUNT'),
    currency,
    hosts: endpoint === null ? cloud : elsewhere(cloud, endpoint),
    audience: cloud.management,
    timeoutSeconds,
    read,
    act,
  };
}

const elsewhere = ({ prices }: Hosts, endpoint: string): Hosts => ({
  management: endpoint,
  login: endpoint,
  prices: prices === null ? null : endpoint,
  metadata: endpoint,
});

/** The identity of one use, or null if there is none. */
function identityOf(reader: SettingsReader, use: 'READ' | 'ACT'): AzureIdentity | null {
  const choice = reader.text(`${use}_CREDENTIALS`);
  const clientId = reader.text(`${use}_CLIENT_ID`);
  const secret = reader.text(`${use}_CLIENT_SECRET`);
  if (clientId !== null && !GUID.test(clientId)) reader.wrong(`${use}_CLIENT_ID`, 'is not a client id');
  if (choice === null) {
    if (clientId === null && secret !== null) reader.wrong(`${use}_CLIENT_ID`, 'is missing');
    if (clientId !== null && secret === null)
      reader.wrong(`${use}_CLIENT_SECRET`, `is missing (or ${PREFIX}${use}_CREDENTIALS)`);
    return clientId === null || secret === null ? null : { kind: 'secret', clientId, secret };
  }
  if (secret !== null) reader.wrong(`${use}_CREDENTIALS`, 'excludes the client secret: give one or the other');
  // One machine may carry several identities: the one that acts is named, so that it is never the one that reads.
  if (clientId === null && (choice === 'workload-identity' || use === 'ACT'))
    reader.wrong(`${use}_CLIENT_ID`, 'is missing');
  if (choice === 'managed-identity') return { kind: 'managed', clientId };
  const tokenFile = reader.text('FEDERATED_TOKEN_FILE');
  if (choice !== 'workload-identity')
    reader.wrong(`${use}_CREDENTIALS`, 'is neither workload-identity nor managed-identity');
  else if (tokenFile === null) reader.wrong('FEDERATED_TOKEN_FILE', 'is missing');
  return { kind: 'workload', clientId: clientId ?? '', tokenFile: tokenFile ?? '' };
}
