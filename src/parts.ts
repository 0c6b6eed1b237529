/**
 * Loads a folder of parts and checks them at boot: each file exports `part` under the name that its file has. A
 * provider is a folder:
 * `providers/<name>/<name>.ts`, and the files beside it are its own.
 *
 * A folder's own sub-folders hold what its parts share and are not parts. A wrong part stops the start, by name.
 */
import type { Clock } from './core/time.js';
import type { Channel } from './core/alert/channel.js';
import type { Provider, ProviderAbilities, ProviderConnection, TelemetrySource } from './core/ports.js';
import { Failure, type Problem } from './core/errors.js';
import { EFFECT_KINDS } from './core/fleet/fleet.js';
import type { AbsentProvider, InstalledPart } from './core/installed.js';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Named {
  readonly name: string;
}

/**
 * The parts of a folder beside this file, in the order of their names.
 * @param exported the name under which each file exports its part
 * @param check problems of a part's shape, empty where it is fine
 */
export async function loadParts<Part extends Named>(
  folder: string,
  exported: string,
  check: (part: Record<string, unknown>) => readonly string[],
): Promise<Part[]> {
  const files = (await readdir(path.join(import.meta.dirname, folder)))
    .filter((file) => /^[\w-]+\.(js|ts)$/.test(file) && !file.endsWith('.d.ts'))
    .sort();
  return loadFiles(folder, files, exported, check);
}

/**
 * The parts of a folder of folders, in the order of their names; a folder without a file of its own name holds no part.
 */
async function loadFolders<Part extends Named>(
  folder: string,
  exported: string,
  wanted: (name: string) => boolean,
  check: (part: Record<string, unknown>) => readonly string[],
): Promise<Part[]> {
  const here = path.join(import.meta.dirname, folder);
  const names = (await readdir(here, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && wanted(entry.name))
    .map(({ name }) => name)
    .sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const inside = await readdir(path.join(here, name));
      return inside.filter((file) => file === `${name}.js` || file === `${name}.ts`).map((file) => `${name}/${file}`);
    }),
  );
  return loadFiles(folder, files.flat(), exported, check);
}

async function loadFiles<Part extends Named>(
  folder: string,
  files: readonly string[],
  exported: string,
  check: (part: Record<string, unknown>) => readonly string[],
): Promise<Part[]> {
  const problems: string[] = [];
  const parts: Part[] = [];
  for (const file of files) {
    const name = path.basename(file).replace(/\.(js|ts)$/, '');
    const module = (await import(pathToFileURL(path.join(import.meta.dirname, folder, file)).href)) as Record<
      string,
      unknown
    >;
    const part = module[exported];
    if (typeof part !== 'object' || part === null) {
      problems.push(`${folder}/${file} exports no ${exported}`);
      continue;
    }
    const shape = part as Record<string, unknown>;
    if (shape['name'] !== name) problems.push(`${folder}/${file}: its part is named ${String(shape['name'])}`);
    problems.push(...check(shape).map((problem) => `${folder}/${file}: ${problem}`));
    parts.push(part as Part);
  }
  if (problems.length > 0) throw new Error(`parts are wrong: ${problems.join('; ')}`);
  return parts;
}

/** Problems of a part that lacks functions. */
export function lacksFunctions(part: Record<string, unknown>, ...names: string[]): string[] {
  return names.filter((name) => typeof part[name] !== 'function').map((name) => `has no function ${name}`);
}

/** How the names of a provider's settings begin: `BURSAR_AWS_`. */
const prefixOf = (provider: string): string => `BURSAR_${provider.toUpperCase().replaceAll('-', '_')}_`;

/**
 * The providers, checked: each ability lists its permissions, each setting says what it is, under a name of the
 * provider's own.
 * @param environment only the providers of which it holds a setting: the others' SDKs are not even read. Absent: all.
 */
export async function loadProviders(environment?: Readonly<Record<string, string | undefined>>): Promise<Provider[]> {
  return providersNamed((name) => environment === undefined || isSet(name, environment));
}

/** Whether there is a setting of a provider. */
const isSet = (provider: string, environment: Readonly<Record<string, string | undefined>>): boolean =>
  Object.entries(environment).some(
    ([name, value]) => value !== undefined && value !== '' && name.startsWith(prefixOf(provider)),
  );

const providersNamed = (isWanted: (name: string) => boolean): Promise<Provider[]> =>
  loadFolders<Provider>('providers', 'provider', isWanted, (part) => [
    ...lacksFunctions(part, 'connect'),
    ...providerProblems(part),
  ]);

/**
 * The providers of which no setting is set and whose settings have a file of their own, as those with an SDK have: it
 * is read without the SDK.
 */
async function absentProviders(environment: Readonly<Record<string, string | undefined>>): Promise<AbsentProvider[]> {
  const here = path.join(import.meta.dirname, 'providers');
  const found = (await readdir(here, { recursive: true }))
    .map((file) => ({ file, name: path.dirname(file) }))
    .filter(({ file, name }) => /^settings\.(js|ts)$/.test(path.basename(file)) && !isSet(name, environment));
  const read = await Promise.all(
    found.map(async ({ file, name }): Promise<AbsentProvider[]> => {
      const { SETTINGS: settings } = (await import(pathToFileURL(path.join(here, file)).href)) as {
        readonly SETTINGS?: Provider['settings'];
      };
      // What several providers share has no settings of its own.
      if (settings === undefined) return [];
      return [{ kind: 'provider', part: { name, settings }, connection: null, problems: [] }];
    }),
  );
  return read.flat();
}

const READING: readonly (keyof ProviderAbilities & keyof ProviderConnection)[] = [
  'prices',
  'usage',
  'bill',
  'spotHistory',
  'offers',
  'fleet',
];

function providerProblems(part: Record<string, unknown>): string[] {
  const { name: provider = '', description, abilities, settings } = part as Partial<Provider>;
  if (description === undefined || description === '') return ['has no description'];
  if (abilities === undefined || settings === undefined) return ['says nothing of its abilities or its settings'];
  const problems: string[] = [];
  // An empty list says that none is needed.
  const isList = (permissions: unknown): boolean =>
    Array.isArray(permissions) && permissions.every((one) => typeof one === 'string' && one !== '');
  for (const ability of READING)
    if (abilities[ability] !== null && !isList(abilities[ability])) problems.push(`lists no permission for ${ability}`);
  for (const [kind, permissions] of Object.entries(abilities.effects)) {
    if (!(EFFECT_KINDS as readonly string[]).includes(kind))
      problems.push(`knows an effect ${kind} that no policy uses`);
    if (!isList(permissions)) problems.push(`lists no permission for ${kind}`);
  }
  if (Object.keys(abilities.effects).length > 0 && !settings.some(({ use }) => use === 'act'))
    problems.push('acts without a setting of its own for acting');
  for (const { name, description: words, required, secret, use } of settings) {
    if (!/^[A-Z][A-Z0-9_]*$/.test(name) || !name.startsWith(prefixOf(provider)))
      problems.push(`has a setting ${name}, which is no variable's name that begins with ${prefixOf(provider)}`);
    if (settings.filter((other) => other.name === name).length > 1) problems.push(`has two settings ${name}`);
    if (typeof words !== 'string' || words.trim() === '') problems.push(`does not describe ${name}`);
    if (typeof required !== 'boolean' || typeof secret !== 'boolean' || (use !== 'read' && use !== 'act'))
      problems.push(`does not say whether ${name} is required, secret, and for what`);
  }
  return problems;
}

/** What a connection can do beyond what its provider declares; what the given settings do not allow it may lack. */
export function undeclared({ abilities }: Provider, connection: ProviderConnection): string[] {
  const problems = READING.filter(
    (ability) => abilities[ability] === null && typeof connection[ability] === 'function',
  ).map((ability) => `has ${ability}, which its provider does not declare`);
  if (Object.keys(abilities.effects).length === 0 && (connection.canAct || typeof connection.apply === 'function'))
    problems.push('may act, and its provider declares no effect');
  if (
    connection.canAct &&
    (typeof connection.apply !== 'function' ||
      typeof connection.outcome !== 'function' ||
      typeof connection.target !== 'function')
  ) {
    problems.push('may act, and lacks apply, outcome or target');
  }
  return problems;
}

/** A connection by itself; what is wrong with its settings is a value here. */
function attempt<Connection>(connect: () => Connection | null): {
  readonly connection: Connection | null;
  readonly problems: readonly Problem[];
} {
  try {
    return { connection: connect(), problems: [] };
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'invalid') throw error;
    return {
      connection: null,
      problems: error.problems.length > 0 ? error.problems : [{ path: null, message: error.message }],
    };
  }
}

/**
 * Every cloud, source of evidence and channel, each connected by itself where its settings allow it; nothing is called
 * yet. Whoever asks closes them. Of a cloud that is not set up only the settings are read: its SDK takes seconds.
 */
export async function inspectParts(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<InstalledPart[]> {
  const hasConnect = (part: Record<string, unknown>): string[] => lacksFunctions(part, 'connect');
  const absent = await absentProviders(environment);
  const providers = await providersNamed((name) => !absent.some(({ part }) => part.name === name));
  const sources = await loadParts<TelemetrySource>('telemetry', 'source', hasConnect);
  const channels = await loadParts<Channel>('notify', 'channel', hasConnect);
  const clouds: InstalledPart[] = [
    ...absent,
    ...providers.map(
      (part): InstalledPart => ({ kind: 'provider', part, ...attempt(() => part.connect(environment, clock)) }),
    ),
  ];
  return [
    ...clouds.sort((a, b) => (a.part.name < b.part.name ? -1 : 1)),
    ...sources.map(
      (part): InstalledPart => ({ kind: 'telemetry', part, ...attempt(() => part.connect(environment, clock)) }),
    ),
    ...channels.map(
      (part): InstalledPart => ({ kind: 'channel', part, ...attempt(() => part.connect(environment, clock)) }),
    ),
  ];
}
