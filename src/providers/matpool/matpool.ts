/**
 * The provider `matpool`: prices by the second from a price file, usage from a CSV file, and fleet and actions through
 * an HTTP interface that the customer writes down.
 *
 * No public API of Matpool is documented for prices, usage, rented hosts or replicas, so none is built in and nothing
 * is assumed. What the vendor does publish, a job API (apidoc.matpool.com, "PaaS API": create, query, list, cancel),
 * can be written down like any other: connect-matpool.md has it.
 * Never acts without a second secret. The invariant: what is not written down is unknown or refused, never guessed.
 */
import type { Clock } from '../../core/time.js';
import type { ProviderSetting } from '../../core/setting.js';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { denied, invalid, unavailable, type Problem } from '../../core/errors.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import type { RecordBatch } from '../../core/usage.js';
import { addressProblem, exchange } from '../webhook/exchange.js';
import { problemsOf } from '../webhook/problems.js';
import { MatpoolApi } from './api.js';
import { apiSchema, WRITTEN_KINDS, type WrittenApi } from './contract.js';
import { MATPOOL, pricesOf, usageOf } from './tables.js';

const DEFAULT_TIMEOUT_SECONDS = 30;
const MOST_TIMEOUT_SECONDS = 300;
const MOST_FILE_BYTES = 64 << 20;
const MOST_API_BYTES = 1 << 20;
const PREFIX = 'BURSAR_MATPOOL_';

const SETTINGS: readonly ProviderSetting[] = [
  {
    name: 'BURSAR_MATPOOL_PRICES',
    description: 'Price list as CSV: a file, or an https address',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_MATPOOL_USAGE',
    description: 'Usage as CSV: a file, or an https address, which may name {from} and {to}',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_MATPOOL_API',
    description: 'JSON file that writes down the HTTP interface for fleet and actions',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_MATPOOL_TOKEN',
    description: 'Token for reading: {secret} in the headers of readings, and Bearer for the two addresses',
    required: false,
    secret: true,
    use: 'read',
  },
  {
    name: 'BURSAR_MATPOOL_ACT_TOKEN',
    description: 'Token for acting: {secret} in the headers of effects; without it the connection is read-only',
    required: false,
    secret: true,
    use: 'act',
  },
  {
    name: 'BURSAR_MATPOOL_ACCOUNT',
    description: 'Account under which usage and targets are filed',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_MATPOOL_TIMEOUT_SECONDS',
    description: `Longest wait for an answer (${DEFAULT_TIMEOUT_SECONDS})`,
    required: false,
    secret: false,
    use: 'read',
  },
];

export const provider: Provider = {
  name: 'matpool',
  providerName: MATPOOL,
  description: 'Matpool: prices by the second, usage as CSV, actions through an HTTP interface that you write down',
  abilities: {
    prices: [],
    usage: [],
    bill: null,
    spotHistory: null,
    offers: null,
    fleet: ['the reading requests of BURSAR_MATPOOL_API'],
    effects: Object.fromEntries(
      WRITTEN_KINDS.map((kind) => [kind, [`the request effects.${kind} of BURSAR_MATPOOL_API`]]),
    ),
  },
  settings: SETTINGS,
  connect,
};

interface Source {
  /** A file's path, or an address that may name {from} and {to}. */
  readonly at: string;
  readonly setting: string;
  readonly token: string | null;
  readonly timeoutMilliseconds: number;
}

function connect(given: Readonly<Record<string, string | undefined>>, clock: Clock): ProviderConnection | null {
  const setting = (name: string): string => given[PREFIX + name]?.trim() ?? '';
  if (SETTINGS.every(({ name }) => (given[name]?.trim() ?? '') === '')) return null;
  const problems: Problem[] = [];
  const wrong = (name: string, message: string): null => {
    problems.push({ path: PREFIX + name, message });
    return null;
  };
  const token = (name: string): string | null => {
    const text = setting(name);
    if (text === '') return null;
    return /^[\x21-\x7e]{8,4096}$/.test(text)
      ? text
      : wrong(name, 'is not a token of 8 to 4096 printable characters without blanks');
  };
  const [readToken, actToken] = [token('TOKEN'), token('ACT_TOKEN')];
  if (readToken !== null && readToken === actToken)
    wrong('ACT_TOKEN', 'is BURSAR_MATPOOL_TOKEN: actions need a token of their own');
  const seconds = setting('TIMEOUT_SECONDS') === '' ? DEFAULT_TIMEOUT_SECONDS : Number(setting('TIMEOUT_SECONDS'));
  if (!(seconds >= 0.1 && seconds <= MOST_TIMEOUT_SECONDS))
    wrong('TIMEOUT_SECONDS', `is not a number of seconds from 0.1 to ${MOST_TIMEOUT_SECONDS}`);
  const timeoutMilliseconds = Math.round(seconds * 1000);
  const source = (name: string): Source | null => {
    const at = setting(name);
    const problem = isAddress(at) ? addressProblem(at.replace(/\{(from|to)\}/g, '0')) : null;
    if (problem !== null) wrong(name, problem);
    return at === '' ? null : { at, setting: PREFIX + name, token: readToken, timeoutMilliseconds };
  };
  const [prices, usage] = [source('PRICES'), source('USAGE')];
  const written = setting('API') === '' ? null : readApi(setting('API'), problems);
  if (setting('API') === '' && prices === null && usage === null)
    wrong('PRICES', 'is missing, and so are BURSAR_MATPOOL_USAGE and BURSAR_MATPOOL_API: one of them is needed');
  if (actToken !== null && setting('API') === '')
    wrong('API', 'is missing: BURSAR_MATPOOL_ACT_TOKEN is for what it writes down');
  if (problems.length > 0)
    throw invalid(
      `the Matpool provider's settings are wrong: ${problems.map(({ path, message }) => `${path ?? ''} ${message}`).join('; ')}`,
      problems,
    );
  const account = setting('ACCOUNT') === '' ? null : setting('ACCOUNT');
  const api =
    written === null
      ? null
      : new MatpoolApi(written, { readSecret: readToken, actSecret: actToken, account, timeoutMilliseconds }, clock);
  return connectionOf({ api, prices, usage, account, canAct: actToken !== null }, clock);
}

interface Parts {
  readonly api: MatpoolApi | null;
  readonly prices: Source | null;
  readonly usage: Source | null;
  readonly account: string | null;
  readonly canAct: boolean;
}

/** Methods without a setting are absent. */
function connectionOf({ api, prices, usage, account, canAct }: Parts, clock: Clock): ProviderConnection {
  return {
    name: 'matpool',
    account,
    canAct,
    effects: async () => effectsOf(provider.abilities),
    ...(prices === null
      ? {}
      : {
          prices: async function* (since: number) {
            yield pricesOf(await textOf(prices, since, clock.now()), since);
          },
        }),
    ...(usage === null
      ? {}
      : {
          usage: async function* (from: number, to: number): AsyncGenerator<RecordBatch> {
            const text = await textOf(usage, from, to);
            yield* usageOf(text, { from, to, now: clock.now(), account });
          },
        }),
    ...(api === null
      ? {}
      : {
          target: (target: string) => api.target(target),
          apply: (effect, token: string) => api.apply(effect, token),
          outcome: (effect, token: string) => api.outcome(effect, token),
          ...(api.listsFleet ? { fleet: () => api.fleet() } : {}),
        }),
  };
}

/** The interface in a file; what is wrong with it goes to `problems`, every problem with its place in the file. */
function readApi(file: string, problems: Problem[]): WrittenApi | null {
  const wrong = (path: string | null, message: string): null => {
    problems.push({ path: path === null ? 'BURSAR_MATPOOL_API' : `BURSAR_MATPOOL_API/${path}`, message });
    return null;
  };
  let json: unknown;
  try {
    const text = readFileSync(file, 'utf8');
    if (text.length > MOST_API_BYTES) return wrong(null, `names a file of more than ${MOST_API_BYTES} bytes`);
    json = JSON.parse(text);
  } catch (error) {
    return wrong(
      null,
      error instanceof SyntaxError
        ? 'names a file that is not JSON'
        : `names a file that cannot be read (${systemCode(error)})`,
    );
  }
  const parsed = apiSchema.safeParse(json);
  if (!parsed.success) {
    for (const { path, message } of problemsOf(parsed.error)) wrong(path, message);
    return null;
  }
  const problem =
    addressProblem(parsed.data.baseUrl) ?? (new URL(parsed.data.baseUrl).search === '' ? null : 'holds a query');
  return problem === null ? parsed.data : wrong('baseUrl', problem);
}

const isAddress = (text: string): boolean => /^[a-z]+:\/\//i.test(text);

/** A file's or an address' text. `from` and `to` go into an address that names them. */
async function textOf({ at, setting, token, timeoutMilliseconds }: Source, from: number, to: number): Promise<string> {
  if (!isAddress(at)) {
    return readFile(at, 'utf8').catch((error: unknown) => {
      throw unavailable(`the file of ${setting} cannot be read (${systemCode(error)})`);
    });
  }
  const iso = (instant: number): string => encodeURIComponent(new Date(instant).toISOString());
  const got = await exchange({
    url: new URL(at.replaceAll('{from}', iso(from)).replaceAll('{to}', iso(to))),
    method: 'GET',
    body: null,
    timeoutMilliseconds,
    mostBytes: MOST_FILE_BYTES,
    headers: { accept: 'text/csv', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
  });
  if (got.kind === 'unreadable') throw invalid(`the answer at ${setting} cannot be read: ${got.detail}`);
  if (got.kind !== 'answered') throw unavailable(`no answer at ${setting}: ${got.detail}`);
  if (got.status === 200) return got.text;
  if (got.status === 401 || got.status === 403)
    throw denied(`${setting} answered ${got.status}: BURSAR_MATPOOL_TOKEN must be allowed to read it`);
  if (got.status === 408 || got.status === 429 || got.status >= 500)
    throw unavailable(`${setting} answered ${got.status}`);
  throw invalid(
    `${setting} answered ${got.status}${got.status >= 300 && got.status < 400 ? ': redirects are not followed' : ''}`,
  );
}

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
