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
