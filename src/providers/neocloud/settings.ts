/**
 * The settings that every neocloud has: a credential for reading, another for acting, an account, an address, a longest
 * wait; and those that one of them needs beside.
 *
 * Never reads the environment itself and never shows a value in an error. The invariant: nothing acts with the
 * credential for reading, so the two must differ.
 */
import type { ProviderSetting } from '../../core/setting.js';
import { DEFAULT_TIMEOUT_SECONDS, SettingsReader } from '../rpc.js';
import { addressProblem } from '../webhook/exchange.js';

/** A list of words that one cloud needs, such as its projects. */
export interface ListSetting {
  /** Without the prefix: `PROJECTS`. */
  readonly name: string;
  readonly form: RegExp;
  /** For messages: `project ids`. */
  readonly what: string;
  readonly description: string;
}

/** The names and descriptions of a cloud's settings. */
export interface SettingWords {
  /** The provider's name, of which the prefix is made. */
  readonly name: string;
  /** As people write the cloud's name. */
  readonly cloud: string;
  /** The part of the name after `READ_` and `ACT_`. */
  readonly credential: string;
  readonly read: string;
  readonly act: string;
  /** The problem of a credential; null: none that is visible here. */
  readonly misfit: (text: string) => string | null;
  readonly lists: readonly ListSetting[];
}

export interface NeoSettings {
  readonly account: string | null;
  /** Longest wait for an answer; of a request that acts, the outcome is then not known. */
  readonly timeoutSeconds: number;
  /** A server that takes the requests in place of the cloud's own; null: the cloud's own. */
  readonly endpoint: string | null;
  readonly read: string;
  readonly act: string | null;
  /** By the name of the setting. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const MOST_TIMEOUT_SECONDS = 25;

export const prefixOf = ({ name }: Pick<SettingWords, 'name'>): string => `BURSAR_${name.toUpperCase()}_`;

/** A key goes into a header: no blanks and nothing that no header holds. */
export const keyMisfit = (text: string): string | null =>
  /^[\x21-\x7e]+$/.test(text) ? null : 'is no key: it holds a blank or a character that no header can hold';

/** The settings as a provider declares them. */
export function settingsOf(words: SettingWords): ProviderSetting[] {
  const setting = (
    name: string,
    use: 'read' | 'act',
    description: string,
    { required = false, secret = false } = {},
  ): ProviderSetting => ({ name: prefixOf(words) + name, description, required, secret, use });
  return [
    setting(`READ_${words.credential}`, 'read', words.read, { required: true, secret: true }),
    setting(`ACT_${words.credential}`, 'act', words.act, { secret: true }),
    ...words.lists.map(({ name, description }) => setting(name, 'read', description, { required: true })),
    setting('ACCOUNT', 'read', 'Account under which the fleet is kept'),
    setting('ENDPOINT', 'read', `Address of a server that takes the requests in place of ${words.cloud}`),
    setting(
      'TIMEOUT_SECONDS',
      'read',
      `Longest wait for an answer, 1 to ${MOST_TIMEOUT_SECONDS} (${DEFAULT_TIMEOUT_SECONDS})`,
    ),
  ];
}

/**
 * @returns null if none of the settings is there
 * @throws Failure invalid naming every missing or wrong setting, never a value
 */
export function parseSettings(
  words: SettingWords,
  given: Readonly<Record<string, string | undefined>>,
): NeoSettings | null {
  const prefix = prefixOf(words);
  const reader = new SettingsReader(given, prefix);
  const settings = settingsOf(words);
  if (settings.every(({ name }) => reader.text(name.slice(prefix.length)) === null)) return null;
  for (const { name, required } of settings)
    if (required && reader.text(name.slice(prefix.length)) === null)
      reader.wrong(name.slice(prefix.length), 'is missing');
  const read = credentialOf(reader, words, `READ_${words.credential}`);
  const act = credentialOf(reader, words, `ACT_${words.credential}`);
  if (act !== null && act === read)
    reader.wrong(`ACT_${words.credential}`, `is the same as that for reading: acting has a credential of its own`);
  const lists = Object.fromEntries(words.lists.map(({ name, form, what }) => [name, reader.list(name, form, what)]));
  const endpoint = reader.address('ENDPOINT');
  const unsafe = endpoint === null ? null : addressProblem(endpoint);
  if (unsafe !== null && reader.problems.every(({ path }) => path !== `${prefix}ENDPOINT`))
    reader.wrong('ENDPOINT', unsafe);
  const timeoutSeconds = reader.timeoutSeconds(MOST_TIMEOUT_SECONDS);
  if (reader.problems.length > 0 || read === null) throw reader.failure(words.cloud);
  return { account: reader.text('ACCOUNT'), timeoutSeconds, endpoint, read, act, lists };
}

function credentialOf(reader: SettingsReader, { misfit }: SettingWords, name: string): string | null {
  const text = reader.text(name);
  const problem = text === null ? null : misfit(text);
  if (problem !== null) reader.wrong(name, problem);
  return text;
}
