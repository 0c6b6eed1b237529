/**
 * The settings of the Alibaba Cloud connection: regions, addresses, and separate keys for reading and for acting.
 *
 * Never reads the environment itself and never shows a value in an error. The invariant: nothing acts with the keys for
 * reading.
 */
import type { ProviderSetting } from '../../core/setting.js';
import { SettingsReader, type KeyPair } from '../rpc.js';

const PREFIX = 'BURSAR_ALIBABA_';

export interface AlibabaSettings {
  readonly regions: readonly string[];
  readonly account: string | null;
  /** Types that are priced apart from those of the fleet. */
  readonly instanceTypes: readonly string[];
  /** Longest wait for an answer; of a request that acts, the outcome is then not known. */
  readonly timeoutSeconds: number;
  /** Addresses in place of the cloud's own; null: the cloud's own. */
  readonly endpoints: { readonly ecs: string | null; readonly ess: string | null; readonly bss: string | null };
  readonly read: KeyPair;
  readonly act: KeyPair | null;
}

const setting = (
  name: string,
  use: 'read' | 'act',
  description: string,
  { required = false, secret = false } = {},
): ProviderSetting => ({ name: PREFIX + name, description, required, secret, use });

export const SETTINGS: readonly ProviderSetting[] = [
  setting('REGIONS', 'read', 'Regions to look at, such as `cn-beijing,cn-hangzhou`', { required: true }),
  setting('READ_ACCESS_KEY_ID', 'read', 'Access key of a RAM user for reading', { required: true }),
  setting('READ_ACCESS_KEY_SECRET', 'read', 'Its secret', { required: true, secret: true }),
  setting('ACT_ACCESS_KEY_ID', 'act', 'Access key of another RAM user for acting; absent: read-only'),
  setting('ACT_ACCESS_KEY_SECRET', 'act', 'Its secret', { secret: true }),
  setting('ACCOUNT', 'read', 'Account id under which the fleet is kept'),
  setting(
    'INSTANCE_TYPES',
    'read',
    'Instance types to price apart from those of the fleet, such as `ecs.gn7i-c16g1.4xlarge`',
  ),
  setting('ENDPOINT_ECS', 'read', 'Address in place of `https://ecs.{region}.aliyuncs.com`'),
  setting(
    'ENDPOINT_ESS',
    'read',
    'Address in place of the official ones (`https://ess.aliyuncs.com` or `https://ess.{region}.aliyuncs.com`)',
  ),
  setting(
    'ENDPOINT_BSS',
    'read',
    'Address in place of `https://business.aliyuncs.com`; the international site has `https://business.ap-southeast-1.aliyuncs.com`',
  ),
  setting('TIMEOUT_SECONDS', 'read', 'Longest wait for an answer, 1 to 120 (20)'),
];

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(given: Readonly<Record<string, string | undefined>>): AlibabaSettings | null {
  const reader = new SettingsReader(given, PREFIX);
  if (SETTINGS.every(({ name }) => reader.text(name.slice(PREFIX.length)) === null)) return null;
  const regions = reader.list('REGIONS', /^[a-z]{2}(?:-[a-z0-9]+)+$/, 'region ids');
  if (reader.text('REGIONS') === null) reader.wrong('REGIONS', 'is missing');
  const read = reader.keys('READ_ACCESS_KEY_ID', 'READ_ACCESS_KEY_SECRET', true);
  const act = reader.keys('ACT_ACCESS_KEY_ID', 'ACT_ACCESS_KEY_SECRET', false);
  const endpoints = {
    ecs: reader.address('ENDPOINT_ECS'),
    ess: reader.address('ENDPOINT_ESS'),
    bss: reader.address('ENDPOINT_BSS'),
  };
  const timeoutSeconds = reader.timeoutSeconds(120);
  const instanceTypes = reader.list('INSTANCE_TYPES', /^ecs\.[\w.-]+$/, 'instance types');
  if (reader.problems.length > 0 || read === null) throw reader.failure('Alibaba Cloud');
  return { regions, account: reader.text('ACCOUNT'), instanceTypes, timeoutSeconds, endpoints, read, act };
}
