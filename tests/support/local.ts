/**
 * What the command line is handed of a test's own database: the API in this process and the line, as main.ts hands it.
 * The application of one test's stores is started once: a verb of a test is one of many.
 */
import 'reflect-metadata';
import { Api } from '../../src/cli/client/api.js';
import type { LocalBursar } from '../../src/cli/context.js';
import type { Transport } from '../../src/cli/client/transport.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { Importer } from '../../src/core/ports.js';
import type { Clock } from '../../src/core/time.js';
import { localBursar } from '../../src/local.js';
import type { Stores } from '../../src/store/stores.js';
import { endpointsOf } from '../../src/web/endpoint.js';
import { LocalFilesController } from '../../src/web/resources/local-files.js';
import { CONTROLLERS } from '../../src/web/web.module.js';

export interface Given {
  readonly stores: Stores;
  /** Absent: nothing is imported. */
  readonly importer?: Importer;
  readonly policies?: readonly Policy[];
  readonly leaves?: readonly string[];
  readonly drain?: LocalBursar['drain'];
  readonly close?: () => Promise<void>;
}

type Asking = Promise<Pick<Transport, 'ask'>>;

/** The routes that an answer's schema is known of; a parameter of the path is any text. */
const ROUTES = endpointsOf([...CONTROLLERS, LocalFilesController]).map(({ method, path, answer }) => ({
  method,
  answer,
  path: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/**
 * Holds every answer against the schema of its route, which is what the OpenAPI document says: what the command line
 * takes for granted of an answer is what the API promises.
 */
const checked = ({ ask }: Pick<Transport, 'ask'>): Pick<Transport, 'ask'> => ({
  async ask(asked) {
    const answered = await ask(asked);
    const path = asked.path.split('?', 1)[0] ?? '';
    const route = ROUTES.find((one) => one.method === asked.method && one.path.test(path));
    if (route === undefined) throw new Error(`the API has no route ${asked.method} ${path}`);
    if (answered.status > 299 || 'media' in route.answer) return answered;
    const { error } = route.answer.safeParse(JSON.parse(answered.text));
    if (error !== undefined) throw new Error(`${asked.method} ${path} does not answer as it says: ${error.message}`);
    return answered;
  },
});

const opened = new WeakMap<Stores, Map<string, Asking>>();

export function localOf(given: Given, clock: Clock): LocalBursar {
  const { stores, importer = {} as Importer, policies = [], leaves = [], close, drain = async () => undefined } = given;
  const composed = { stores, importer, organisation: 'default', policies, leaves, runner: { drain } };
  const bursar = localBursar(composed, clock, { logger: false, close: async () => undefined });
  const known = opened.get(stores) ?? new Map<string, Asking>();
  opened.set(stores, known);
  return {
    ...bursar,
    api(user, progress) {
      const key = JSON.stringify([user, policies.map(({ name }) => name)]);
      const asking = known.get(key) ?? bursar.api(user, progress).then(checked);
      known.set(key, asking);
      return asking;
    },
    close: close ?? (async () => undefined),
  };
}

/** The same of what the composition root makes: it stays open. */
export const localOfComposed = (
  composed: Omit<Given, 'drain' | 'close'> & { readonly runner: Pick<LocalBursar, 'drain'> },
  clock: Clock,
): LocalBursar => {
  const { stores, importer, policies, leaves, runner } = composed;
  const given = { ...(importer && { importer }), ...(policies && { policies }), ...(leaves && { leaves }) };
  return localOf({ stores, ...given, drain: (...how) => runner.drain(...how) }, clock);
};

/** The API in this process as the clients of the command line ask it. */
export async function apiOf(given: Given, clock: Clock, user = 'test'): Promise<Api> {
  const { ask } = await localOf(given, clock).api(user, () => undefined);
  return new Api({ name: 'this process', hasLog: false, ask });
}
