/**
 * The tick: each of its parts stands for itself, and whoever asks whether the process is ready hears which one fails.
 */
import 'reflect-metadata';
import { SchedulerRegistry } from '@nestjs/schedule';
import { afterAll, expect, it, vi } from 'vitest';
import { WatchedParts } from '../../src/core/watched.js';
import { LineQueue } from '../../src/pipeline/queue.js';
import { Tick } from '../../src/pipeline/tick.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { WebModule } from '../../src/web/web.module.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { StageCall } from '../../src/pipeline/stage.js';
import { enqueue, type DuePartition } from '../../src/store/work.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { HOUR, metered, MONDAY } from '../support/records.js';

const bursar = await testBursar();
const parts = new WatchedParts();
const told: string[] = [];
const queue = await LineQueue.open(
  { databaseUrl: bursar.url, redisUrl: null, concurrency: 2, stallSeconds: 10 },
  bursar.runner,
  () => undefined,
);
const { stores, importer, clock } = bursar;
const app = await createWebApp(WebModule.probes({ stores, importer, clock, policies: [], tick: parts }), {
  logger: false,
});
const url = await listen(app, { host: '127.0.0.1', port: 0 });
afterAll(async () => {
  await app.close();
  await queue.close();
});
const ready = async (): Promise<[number, unknown]> => {
  const response = await fetch(`${url}/readyz`);
  return [response.status, ((await response.json()) as { failing: unknown }).failing];
};
const until = (what: () => Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await what()).toBe(true), { timeout: 50_000, interval: 50 });

it('hands out and enqueues by its other schedules where one fails, is not ready meanwhile, and well again after it', async () => {
  let isBroken = true;
  let looks = 0;
  let rareLooks = 0;
  const tick = new Tick(
    stores,
    queue,
    clock,
    0.1,
    new SchedulerRegistry(),
    ({ message }) => told.push(message),
    [],
    [
      {
        name: 'reports',
        // What failed does not rest.
        everyMs: HOUR,
        enqueueDue: async () => {
          if (isBroken) throw new Error('a month without an end');
        },
      },
      { name: 'collecting', enqueueDue: async () => void (looks += 1) },
      { name: 'tidying', everyMs: HOUR, enqueueDue: async () => void (rareLooks += 1) },
    ],
    parts,
  );
  expect(await ready()).toEqual([200, []]);
  await tick.onApplicationBootstrap();
  try {
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('one', { start: MONDAY, end: MONDAY + HOUR })]);
    await until(async () => (await bursar.spend({})).total === '98.320000000');
    await until(async () => looks > 1);
    expect(rareLooks).toBe(1);
    await until(async () => (await ready())[0] === 503);
    expect((await ready())[1]).toMatchObject([{ name: 'reports' }]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^bursar_tick_failures\{part="reports"\} \d+$/m);
    expect(new Set(told)).toEqual(new Set(["the tick's reports: a month without an end"]));
    isBroken = false;
    await until(async () => (await ready())[0] === 200);
  } finally {
    await tick.onApplicationShutdown();
  }
});

it('hands out what came to a partition while a job was at work on it, and that job leaves it', async () => {
  const own = await testBursar();
  const item = (key: string) => ({ stage: 'cost.price', partition: 'red', key });
  const runs: (readonly string[])[] = [];
  const gates = Array.from({ length: 2 }, () => {
    let open = (): void => undefined;
    return { isOpen: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
  });
  const run = async ({ keys }: StageCall) => {
    await gates[runs.push(keys) - 1]?.isOpen;
    return [];
  };
  let jobs = 0;
  const runner = new Runner(own.db, own.stores.work, own.clock, [{ name: 'cost.price', most: 60, run }]);
  const counting = {
    runPartition: (partition: Omit<DuePartition, 'due'>) => {
      if (partition.stage === 'cost.price') jobs++;
      return runner.runPartition(partition);
    },
  };
  const working = await LineQueue.open(
    { databaseUrl: own.url, redisUrl: null, concurrency: 2, stallSeconds: 10 },
    counting as unknown as Runner,
    (error) => expect.unreachable(error.message),
  );
  const failed = (error: Error): never => expect.unreachable(error.message);
  const tick = new Tick(own.stores, working, own.clock, 3600, new SchedulerRegistry(), failed);
  await enqueue(own.db, 'default', [item('red/0')]);
  await tick.onApplicationBootstrap();
  try {
    for (const [at, gate] of gates.entries()) {
      await until(async () => runs.length === at + 1);
      await enqueue(own.db, 'default', [item(`red/${at + 1}`)]);
      gate.open();
    }
    const isDue = async (): Promise<boolean> =>
      (await own.stores.work.duePartitions(own.clock.now())).some(({ stage }) => stage === 'cost.price');
    await until(async () => !(await isDue()));
    expect(runs).toEqual([['red/0'], ['red/1'], ['red/2']]);
    expect(jobs).toBe(3);
  } finally {
    await tick.onApplicationShutdown();
    await working.close();
  }
});
