/**
 * The settings of the Tencent Cloud connection: site, regions, and separate keys for reading and for acting.
 *
 * Never reads the environment itself and never shows a value in an error. The invariant: nothing acts with the keys for
 * reading. No reply of the API names a currency: it follows from the site (API references of cloud.tencent.com: yuan;
 * of tencentcloud.com: US dollars).
 */
import type { ProviderSetting } from '../../core/setting.js';
import { SettingsReader, type KeyPair } from '../rpc.js';

const PREFIX = 'BURSAR_TENCENT_';

export interface Site {
  /** The services' hosts are `cvm.` and the like before this. */
  readonly domain: string;
  readonly currency: string;
  /** Language of the names in replies, the same as the bill's. */
  readonly language: 'zh-CN' | 'en-US';
}

const SITES: Readonly<Record<string, Site>> = {
  china: { domain: 'tencentcloudapi.com', currency: 'CNY', language: 'zh-CN' },
  international: { domain: 'intl.tencentcloudapi.com', currency: 'USD', language: 'en-US' },
};

export interface TencentSettings {
  readonly site: Site;
  readonly regions: readonly string[];
  readonly account: string | null;
  /** Longest wait for an answer; of a request that acts, the outcome is then not known. */
  readonly timeoutSeconds: number;
  /** A server that takes the requests in place of the cloud's hosts; null: the cloud's own. */
  readonly endpoint: string | null;
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
  setting('REGIONS', 'read', 'Regions to look at, such as `ap-guangzhou,ap-shanghai`', { required: true }),
  setting('READ_SECRET_ID', 'read', 'Secret id of a CAM user for reading', { required: true }),
  setting('READ_SECRET_KEY', 'read', 'Its secret key', { required: true, secret: true }),
  setting('ACT_SECRET_ID', 'act', 'Secret id of another CAM user for acting; absent: read-only'),
  setting('ACT_SECRET_KEY', 'act', 'Its secret key', { secret: true }),
  setting('SITE', 'read', '`china` (yuan; the default) or `international` (US dollars)'),
  setting('ACCOUNT', 'read', 'Account id (UIN) under which the fleet is kept'),
  setting(
    'ENDPOINT',
    'read',
    'Address of a server that takes the requests in place of the cloud; they keep the Host of the service',
  ),
  setting('TIMEOUT_SECONDS', 'read', 'Longest wait for an answer, 1 to 120 (20)'),
];

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(given: Readonly<Record<string, string | undefined>>): TencentSettings | null {
  const reader = new SettingsReader(given, PREFIX);
  if (SETTINGS.every(({ name }) => reader.text(name.slice(PREFIX.length)) === null)) return null;
  const regions = reader.list('REGIONS', /^[a-z]{2}-[a-z]+(?:-[a-z]+)?$/, 'region names');
  if (reader.text('REGIONS') === null) reader.wrong('REGIONS', 'is missing');
  const read = reader.keys('READ_SECRET_ID', 'READ_SECRET_KEY', true);
  const act = reader.keys('ACT_SECRET_ID', 'ACT_SECRET_KEY', false);
  const site = SITES[reader.text('SITE') ?? 'china'];
  if (site === undefined) reader.wrong('SITE', 'is neither china nor international');
  const endpoint = reader.address('ENDPOINT');
  const timeoutSeconds = reader.timeoutSeconds(120);
  if (reader.problems.length > 0 || read === null || site === undefined) throw reader.failure('Tencent Cloud');
  return { site, regions, account: reader.text('ACCOUNT'), timeoutSeconds, endpoint, read, act };
}
