/**
 * The settings of the Google Cloud connection: projects, regions, and separate credentials for reading and for acting.
 *
 * Never reads the environment or a file itself and never shows a value in an error. The invariant: only credentials
 * named for acting may act; Application Default Credentials are used only for reading, and only on request.
 */
import type { ProviderSetting } from '../../core/setting.js';
import { SettingsReader } from '../rpc.js';

const PREFIX = 'BURSAR_GCP_';

export type GcpCredentials =
  /** Application Default Credentials. */
  | { readonly kind: 'default' }
  /** A credential configuration of Google's (a service account's key, workload identity federation, impersonation). */
  | { readonly kind: 'file'; readonly path: string };

export interface GcpSettings {
  readonly projects: readonly string[];
  readonly regions: readonly string[];
  /** The account under which the fleet is kept; null: each project is one. */
  readonly account: string | null;
  /** ISO 4217: in which the catalogue is asked for its prices. */
  readonly currency: string;
  /** Longest wait for an answer; of a request that acts, the outcome is then not known. */
  readonly timeoutSeconds: number;
  /** A server that takes the requests in place of Google's; null: Google's own. */
  readonly endpoint: string | null;
  readonly read: GcpCredentials;
  readonly act: GcpCredentials | null;
}

const setting = (
  name: string,
  use: 'read' | 'act',
  description: string,
  { required = false } = {},
): ProviderSetting => ({ name: PREFIX + name, description, required, secret: false, use });

export const SETTINGS: readonly ProviderSetting[] = [
  setting('PROJECTS', 'read', 'Ids of the projects to look at, such as `ml-prod,ml-dev`', { required: true }),
  setting('REGIONS', 'read', 'Regions to look at, such as `us-central1,europe-west4`', { required: true }),
  setting('READ_CREDENTIALS', 'read', '`default` (Application Default Credentials) or `file:PATH`, for reading', {
    required: true,
  }),
  setting('ACT_CREDENTIALS', 'act', '`file:PATH` with which it acts; absent: read-only'),
  setting(
    'ACCOUNT',
    'read',
    'Billing account id under which usage is kept, as the billing export has it; else the project',
  ),
  setting('CURRENCY', 'read', 'Currency in which the catalogue is asked for prices (USD)'),
  setting('ENDPOINT', 'read', 'Address of a server that takes the requests in place of Google Cloud'),
  setting('TIMEOUT_SECONDS', 'read', 'Longest wait for an answer, 1 to 25 (20)'),
];

/** An effect is sent, and its operation then waited for: both within PATIENCE.requestMs (core/action/action.ts). */
const MOST_TIMEOUT_SECONDS = 25;
/** Resource Manager, "Creating and managing projects": ids, older ones with their domain before a colon. */
const PROJECT = /^(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/;
const REGION = /^[a-z]+-[a-z]+\d+$/;

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(given: Readonly<Record<string, string | undefined>>): GcpSettings | null {
  const reader = new SettingsReader(given, PREFIX);
  if (SETTINGS.every(({ name }) => reader.text(name.slice(PREFIX.length)) === null)) return null;
  for (const { name, required } of SETTINGS)
    if (required && reader.text(name.slice(PREFIX.length)) === null)
      reader.wrong(name.slice(PREFIX.length), 'is missing');
  const projects = reader.list('PROJECTS', PROJECT, 'project ids');
  const regions = reader.list('REGIONS', REGION, 'region names');
  const read = credentialsOf(reader, 'READ_CREDENTIALS', true);
  const act = credentialsOf(reader, 'ACT_CREDENTIALS', false);
  const currency = reader.text('CURRENCY') ?? 'USD';
  if (!/^[A-Z]{3}$/.test(currency)) reader.wrong('CURRENCY', 'is not a currency code of three letters');
  const endpoint = reader.address('ENDPOINT');
  const timeoutSeconds = reader.timeoutSeconds(MOST_TIMEOUT_SECONDS);
  if (reader.problems.length > 0 || read === null) throw reader.failure('Google Cloud');
  return { projects, regions, account: reader.text('ACCOUNT'), currency, timeoutSeconds, endpoint, read, act };
}

function credentialsOf(reader: SettingsReader, name: string, mayBeDefault: boolean): GcpCredentials | null {
  const choice = reader.text(name);
  if (choice === null) return null;
  if (choice === 'default' && mayBeDefault) return { kind: 'default' };
  const path = /^file:(\S.*)$/.exec(choice)?.[1];
  if (path !== undefined) return { kind: 'file', path };
  reader.wrong(name, mayBeDefault ? 'is neither default nor file:PATH' : 'is not file:PATH');
  return null;
}
