/**
 * The settings of the AWS connection: regions, and separate credentials for reading, for acting and for purchases.
 *
 * Never reads the environment itself and never shows a value in an error. The invariant: only credentials named for
 * acting may act; the SDK's default chain (environment, instance role) is used only for reading, and only on request.
 */
import { invalid, type Problem } from '../../core/errors.js';
import type { ProviderSetting } from '../../core/setting.js';

export type AwsCredentials =
  | {
      readonly kind: 'keys';
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly sessionToken: string | null;
    }
  /** The SDK's default chain. */
  | { readonly kind: 'default' }
  /** A profile of AWS' shared configuration; it may assume a role. */
  | { readonly kind: 'profile'; readonly profile: string };

export interface AwsSettings {
  readonly regions: readonly string[];
  readonly account: string | null;
  /** Base URL of an AWS-compatible server, in place of AWS' own endpoints. */
  readonly endpoint: string | null;
  /** Cost allocation tag by which the bill is split; null: by linked account. */
  readonly billTag: string | null;
  /** Whether CloudWatch is asked what machines send. */
  readonly traffic: boolean;
  readonly read: AwsCredentials;
  readonly act: AwsCredentials | null;
  /** Null: purchases are made with the credentials for acting. */
  readonly purchase: AwsCredentials | null;
}

const setting = (
  name: string,
  use: 'read' | 'act',
  description: string,
  { required = false, secret = false } = {},
): ProviderSetting => ({ name: `BURSAR_AWS_${name}`, description, required, secret, use });

export const SETTINGS: readonly ProviderSetting[] = [
  setting('REGIONS', 'read', 'Regions to look at, such as `us-east-1,eu-west-1`', { required: true }),
  setting('ACCOUNT', 'read', 'Account id under which usage and bills are kept'),
  setting('ENDPOINT', 'read', 'URL of an AWS-compatible server in place of AWS'),
  setting('BILL_TAG', 'read', 'Cost allocation tag by which the bill is split; else by linked account'),
  setting('TRAFFIC', 'read', '`off`: CloudWatch, which charges by the metric, is not asked what GPU instances send'),
  setting('READ_CREDENTIALS', 'read', "`default` (the SDK's chain) or `profile:NAME`, in place of the two keys"),
  setting('READ_ACCESS_KEY_ID', 'read', 'Access key for reading'),
  setting('READ_SECRET_ACCESS_KEY', 'read', 'Its secret', { secret: true }),
  setting('READ_SESSION_TOKEN', 'read', 'Its session token, where it has one', { secret: true }),
  setting('ACT_CREDENTIALS', 'act', '`profile:NAME`, in place of the two keys'),
  setting('ACT_ACCESS_KEY_ID', 'act', 'Access key for acting; absent: read-only'),
  setting('ACT_SECRET_ACCESS_KEY', 'act', 'Its secret', { secret: true }),
  setting('ACT_SESSION_TOKEN', 'act', 'Its session token, where it has one', { secret: true }),
  setting('PURCHASE_CREDENTIALS', 'act', '`profile:NAME` with which commitments are bought; absent: those for acting'),
];

type Given = Readonly<Record<string, string | undefined>>;

const REGION = /^[a-z]{2}(-[a-z]+)+-\d{1,2}$/;

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(given: Given): AwsSettings | null {
  if (SETTINGS.every(({ name }) => valueOf(given, name) === null)) return null;
  const problems: Problem[] = [];
  const text = (name: string): string | null => valueOf(given, `BURSAR_AWS_${name}`);
  const wrong = (name: string, message: string): void => {
    problems.push({ path: `BURSAR_AWS_${name}`, message });
  };
  const regions = [
    ...new Set(
      (text('REGIONS') ?? '')
        .split(',')
        .map((region) => region.trim())
        .filter((region) => region !== ''),
    ),
  ];
  if (regions.length === 0) wrong('REGIONS', 'is missing');
  else if (!regions.every((region) => REGION.test(region))) wrong('REGIONS', 'is not a list of region codes');
  const endpoint = text('ENDPOINT');
  if (endpoint !== null && !/^https?:\/\/[^@]+$/.test(endpoint))
    wrong('ENDPOINT', 'is not an http:// or https:// URL without credentials');
  const traffic = text('TRAFFIC') ?? 'on';
  if (traffic !== 'on' && traffic !== 'off') wrong('TRAFFIC', 'is neither on nor off');
  const read = credentialsOf(given, 'READ', wrong);
  if (read === null && problems.every(({ path }) => path?.startsWith('BURSAR_AWS_READ_') !== true))
    wrong('READ_ACCESS_KEY_ID', 'is missing (or BURSAR_AWS_READ_CREDENTIALS)');
  const act = credentialsOf(given, 'ACT', wrong);
  const purchase = chosenCredentials('PURCHASE', text('PURCHASE_CREDENTIALS'), wrong);
  if (purchase !== null && act === null)
    wrong('ACT_ACCESS_KEY_ID', 'is missing: BURSAR_AWS_PURCHASE_CREDENTIALS needs credentials for acting');
  if (problems.length > 0 || read === null) {
    throw invalid(
      `the AWS settings are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
      problems,
    );
  }
  return {
    regions,
    account: text('ACCOUNT'),
    endpoint,
    billTag: text('BILL_TAG'),
    traffic: traffic === 'on',
    read,
    act,
    purchase,
  };
}

function valueOf(given: Given, name: string): string | null {
  const value = given[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

type Wrong = (name: string, message: string) => void;

/** Credentials of one use, or null if there are none. */
function credentialsOf(given: Given, use: 'READ' | 'ACT', wrong: Wrong): AwsCredentials | null {
  const text = (name: string): string | null => valueOf(given, `BURSAR_AWS_${use}_${name}`);
  const choice = text('CREDENTIALS');
  const accessKeyId = text('ACCESS_KEY_ID');
  const secretAccessKey = text('SECRET_ACCESS_KEY');
  if (choice !== null) {
    if (accessKeyId !== null || secretAccessKey !== null)
      wrong(`${use}_CREDENTIALS`, 'excludes the access keys: give one or the other');
    return chosenCredentials(use, choice, wrong);
  }
  if (accessKeyId === null && secretAccessKey === null) return null;
  if (accessKeyId === null) wrong(`${use}_ACCESS_KEY_ID`, 'is missing');
  if (secretAccessKey === null) wrong(`${use}_SECRET_ACCESS_KEY`, 'is missing');
  return accessKeyId === null || secretAccessKey === null
    ? null
    : { kind: 'keys', accessKeyId, secretAccessKey, sessionToken: text('SESSION_TOKEN') };
}

/** `profile:NAME`, and for reading also `default`. */
function chosenCredentials(
  use: 'READ' | 'ACT' | 'PURCHASE',
  choice: string | null,
  wrong: Wrong,
): AwsCredentials | null {
  if (choice === null) return null;
  if (choice === 'default' && use === 'READ') return { kind: 'default' };
  const profile = /^profile:([\w.@+/-]+)$/.exec(choice)?.[1];
  if (profile !== undefined) return { kind: 'profile', profile };
  wrong(`${use}_CREDENTIALS`, use === 'READ' ? 'is neither default nor profile:NAME' : 'is not profile:NAME');
  return null;
}
