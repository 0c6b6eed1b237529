/**
 * The dashboard over a real database, with the line at work behind it, a cloud in memory, and a month of usage that can
 * be reckoned by hand.
 * The dashboard is the one that the run has built.
 */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import type { Policy } from '../../src/core/policy/policy.js';
import type { ChannelConnection, Notification } from '../../src/core/alert/channel.js';
import { loadParts } from '../../src/parts.js';
import { plotter } from '../../src/rendering/plotter.js';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import type { KeyRequest } from '../../src/store/access/keys.js';
import { enqueue } from '../../src/store/work.js';
import { createWebApp, listen } from '../../src/web/server.js';
import type { ReportRenderers } from '../../src/core/ports.js';
import type { SignInSettings } from '../../src/web/sign-in.js';
import { WebModule } from '../../src/web/web.module.js';
import { Script } from './acting.js';
import { instancePrice, testBursar, type TestBursar } from './bursar.js';
import { instance, MemoryCloud } from './memory-cloud.js';
import { ROOT } from './source.js';

/** A Wednesday at noon: November is 17 whole days old. */
export const NOW = Date.UTC(2026, 10, 18, 12);
const DAY_MS = 86_400_000;

/** What usage of the machines that the dashboard's tests meter has in common. */
export const P5 = {
  provider: 'AWS',
  account: 'a1',
  region: 'us-east-1',
  term: 'on-demand',
  sku: 'p5.48xlarge',
  gpus: 8,
} as const;

export interface DashboardWorld extends TestBursar {
  readonly cloud: MemoryCloud;
  readonly script: Script;
  /** What the channel `webhook` was given. */
  readonly told: readonly Notification[];
  readonly builtBytes: number;
  readonly address: string;
  readonly admin: string;
  keyFor(request: Partial<KeyRequest>): Promise<string>;
  call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>;
}

/** The run's own build of it (global-setup.ts). */
const BUILT = path.join(ROOT, 'dist/src/web/dashboard');

/** Bytes of all its files together, as a browser loads them. */
async function builtBytes(): Promise<number> {
  const names = (await readdir(BUILT)).filter((name) => name.endsWith('.br'));
  return (await Promise.all(names.map(async (name) => (await stat(path.join(BUILT, name))).size))).reduce(
    (sum, size) => sum + size,
    0,
  );
}

/** Served before the tests of the file or block, with data in it; the object is filled by then. */
export async function dashboardWorld(
  signIn: SignInSettings = { publicUrl: null, oidc: null },
  { isEmpty = false, reports }: { readonly isEmpty?: boolean; readonly reports?: ReportRenderers } = {},
): Promise<DashboardWorld> {
  const [cloud, script] = [new MemoryCloud(), new Script()];
  const policies = [
    ...(await loadParts<Policy>('policies', 'policy', () => [])),
    script.policy('scripted', false) as Policy,
  ];
  const told: Notification[] = [];
  const bursar = await testBursar({
    policies,
    now: NOW,
    targets: cloud.finder({ now: () => NOW }),
    connections: new Map([['cloud', cloud]]),
    channels: new Map([['webhook', listener(told)]]),
  });
  const world = {
    ...bursar,
    cloud,
    script,
    told,
    builtBytes: await builtBytes(),
    keyFor: keyMaker(bursar),
    address: '',
    admin: '',
    call: callerOf('', ''),
  } as { -readonly [K in keyof DashboardWorld]: DashboardWorld[K] };
  const ended = new AbortController();
  let working: Promise<void> = Promise.resolve();
  let close = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const { stores, importer, clock, runner } = bursar;
    const app = await createWebApp(
      WebModule.register({
        stores,
        importer,
        clock,
        policies,
        plotter,
        signIn,
        dashboard: pathToFileURL(`${BUILT}/`),
        ...(reports === undefined ? {} : { reports }),
      }),
      { logger: false },
    );
    const admin = await stores.keys.firstKey('default');
    if (admin === null) throw new Error('a fresh database has no key');
    const address = await listen(app, { host: '127.0.0.1', port: 0 });
    close = () => app.close();
    Object.assign(world, { address, admin, call: callerOf(address, admin) });
    if (!isEmpty) await fill(world);
    working = keepWorking(runner, ended.signal);
  });
  afterAll(async () => {
    ended.abort();
    await working;
    await close();
  });
  return world;
}

/** A channel that takes everything at once. */
const listener = (told: Notification[]): ChannelConnection => ({
  name: 'webhook',
  leastPauseMs: 0,
  whenUnknown: 'send-again',
  threads: false,
  pictures: 'none',
  async send(notification) {
    told.push(notification);
    return { kind: 'sent', reference: notification.token };
  },
});

const keyMaker =
  ({ stores }: TestBursar) =>
  async (request: Partial<KeyRequest>): Promise<string> =>
    (await stores.keys.create(stores.db, 'default', { name: 'test', role: 'viewer', teams: null, ...request }, 0)).text;

const callerOf =
  (address: string, key: string): DashboardWorld['call'] =>
  async <T>(method: string, route: string, body?: unknown): Promise<T> => {
    const response = await fetch(address + route, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };

/** The line in this process, as a worker would run it. */
async function keepWorking(runner: TestBursar['runner'], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await runner.drain();
    await pause(50, undefined, { signal }).catch(() => undefined);
  }
}

const isoDay = (day: number): string => new Date(NOW - 12 * 3_600_000 + day * DAY_MS).toISOString();

/**
 * 48 days that end with yesterday: lab runs eight H100 for ten hours a day at 80 a hour, which is 800 a day; vision,
 * below lab, four L40S for five hours at 8 an hour, which is 40; and on one day something of vision has no price. In
 * November until now lab has cost 13,600 and vision 680.
 * Vision's budget of 600 ran out, of which the webhook is told, and somebody by e-mail six hours later; lab has 64
 * GPU-hours reserved, which is 640.
 */
async function fill(world: DashboardWorld): Promise<void> {
  const { call, setPrices, runner, db } = world;
  await call('PUT', '/v1/teams/lab', { name: 'The lab' });
  await call('PUT', '/v1/teams/vision', { name: 'Vision', parent: 'lab' });
  await call('PUT', '/v1/rules', {
    rules: [
      { match: { tag: { key: 'team', value: 'lab' } }, team: 'lab' },
      { match: { tag: { key: 'team', value: 'vision' } }, team: 'vision' },
    ],
  });
  await setPrices([
    instancePrice('80', { minimumSeconds: 0 }),
    instancePrice('8', { sku: 'g6e.12xlarge', gpus: 4, gpuModel: 'L40S', minimumSeconds: 0 }),
  ]);
  const common = { provider: 'AWS', account: 'a1', region: 'us-east-1', term: 'on-demand' };
  const records = Array.from({ length: 48 }, (_, at) => at - 48).flatMap((day) => [
    {
      ...common,
      id: `lab-${day}`,
      sku: 'p5.48xlarge',
      gpus: 8,
      tags: { team: 'lab' },
      start: isoDay(day),
      end: isoDay(day + 10 / 24),
    },
    {
      ...common,
      id: `vision-${day}`,
      sku: 'g6e.12xlarge',
      gpus: 4,
      tags: { team: 'vision' },
      start: isoDay(day),
      end: isoDay(day + 5 / 24),
    },
  ]);
  await call('POST', '/v1/usage', records);
  await call('PUT', '/v1/budgets/lab-month', { team: 'lab', planned: { default: '20000' } });
  await runner.drain();
  // While everything has a price: what nobody can sum up, nothing is reserved of.
  await call('POST', '/v1/reservations', {
    team: 'lab',
    provider: 'AWS',
    sku: 'p5.48xlarge',
    region: 'us-east-1',
    gpus: 8,
    hours: 8,
    reason: 'fine-tuning of Thursday',
  });
  await call('POST', '/v1/usage', [
    {
      ...common,
      id: 'unknown',
      sku: 'mystery.1',
      gpus: 2,
      tags: { team: 'vision' },
      start: isoDay(-3),
      end: isoDay(-3 + 1.5 / 24),
    },
  ]);
  await call('PUT', '/v1/budgets/vision-month', {
    team: 'vision',
    planned: { default: '600' },
    thresholds: [
      { kind: 'actual', ratio: '0.8' },
      { kind: 'actual', ratio: '1' },
      { kind: 'forecast', ratio: '2' },
    ],
  });
  const labels = { team: 'lab' };
  world.cloud.add(instance('i-1', { labels }), instance('i-2', { labels }));
  world.script.wants = [
    { action: 'Stop', target: 'i-1' },
    { action: 'Stop', target: 'i-2' },
  ];
  await call('PUT', '/v1/policies/scripted', { policy: 'scripted', teams: ['lab'], mode: 'approve' });
  const webhook = [{ channel: 'webhook', address: null }];
  await call('PUT', '/v1/alert-routes', {
    routes: [{ to: webhook, escalation: [{ afterHours: 6, to: [{ channel: 'email', address: 'head@lab.example' }] }] }],
  });
  await runner.drain();
  await db.transaction((tx) => enqueue(tx, 'default', [MAKE_ITEM]));
  await runner.drain();
}
