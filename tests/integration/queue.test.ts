/** The queue on both backends: what is due gets done, by several workers, and an emptied queue loses nothing. */
import { SchedulerRegistry } from '@nestjs/schedule';
import { afterAll, expect, it } from 'vitest';
import { explained, LineQueue } from '../../src/pipeline/queue.js';
import type { Runner } from '../../src/pipeline/runner.js';
import { Tick } from '../../src/pipeline/tick.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import type { DuePartition } from '../../src/store/work.js';
import { describeQueues } from '../support/queues.js';
import { HOUR, metered, MONDAY } from '../support/records.js';

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 1000; look++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it never came to be: ${what}`);
}

/** All but what to recommend, which a partition is asked at most once a minute. */
const drained = (bursar: TestBursar) => async () =>
  (await bursar.stores.work.duePartitions(bursar.clock.now())).every(({ stage }) => stage === 'recommendation.make');

it('says what a lock means that was not renewed, and what to do', () => {
  const lost = explained(new Error('could not renew lock for job 7'));
  expect(lost.message).toMatch(/^could not renew lock for job 7: .*too busy.*BURSAR_CONCURRENCY.*BURSAR_STALL_SECONDS/);
  const other = new Error('Connection is closed.');
  expect(explained(other)).toBe(other);
});

describeQueues('the queue', async (backend) => {
  const bursar = await testBursar();
  const errors: Error[] = [];
  const open = async (concurrency: number) =>
    LineQueue.open({ databaseUrl: bursar.url, redisUrl, concurrency, stallSeconds: 10 }, bursar.runner, (error) =>
      errors.push(error),
    );
  const redisUrl = await backend.redisUrl();
  const workers: LineQueue[] = [];
  afterAll(async () => {
    for (const worker of workers) await worker.close();
  });

  it('does what is due with two workers, and the calendar enqueues budgets', async () => {
    workers.push(await open(2), await open(2));
    const first = workers[0];
    if (first === undefined) throw new Error('a worker was opened');
    expect(first.kind).toBe(backend.name);
    const tick = new Tick(bursar.stores, first, bursar.clock, 0.2, new SchedulerRegistry(), (error) =>
      errors.push(error),
    );
    await tick.onApplicationBootstrap();
    try {
      await bursar.setPrices([instancePrice('98.32')]);
      await bursar.take(
        Array.from({ length: 200 }, (_, n) =>
          metered(`m${n}`, { start: MONDAY + n * HOUR, end: MONDAY + (n + 1) * HOUR }),
        ),
      );
      await until('the line drains', drained(bursar));
      expect((await bursar.spend({})).total).toBe('19664.000000000');
      await bursar.take([metered('late', { start: MONDAY - HOUR, end: MONDAY })]);
      await until('late usage walks the line', drained(bursar));
      expect((await bursar.spend({})).total).toBe('19762.320000000');
    } finally {
      await tick.onApplicationShutdown();
    }
    expect(errors).toEqual([]);
  });

  it('shows what is priced before the days of other teams are priced', async () => {
    const handing = await open(0);
    const partitions: Omit<DuePartition, 'due'>[] = [
      ['cost.price', 'a'],
      ['recommendation.make', 'a'],
      ['cost.price', 'b'],
      ['cost.rollup', 'a'],
      ['budget.weigh', 'a'],
    ].map(([stage = '', partition = '']) => ({ organisation: 'order', stage, partition }));
    partitions.push({ organisation: 'order', stage: 'budget.weigh', partition: 'put back', putBack: true });
    partitions.push({ organisation: 'order', stage: 'budget.weigh', partition: 'b' });
    for (const worker of workers.splice(0)) await worker.close();
    await handing.handOut(partitions);
    expect(await handing.waiting()).toBe(7);
    const done: string[] = [];
    const noting = {
      runPartition: async ({ stage, partition }: { stage: string; partition: string }) => {
        done.push(`${stage} ${partition}`);
        return 0;
      },
    } as unknown as Runner;
    const settings = { databaseUrl: bursar.url, redisUrl, concurrency: 1, stallSeconds: 10 };
    const working = await LineQueue.open(settings, noting, (error) => errors.push(error));
    await until('all are done', async () => done.length === partitions.length);
    await working.close();
    await handing.close();
    workers.push(await open(2));
    expect(done).toEqual([
      'cost.rollup a',
      'budget.weigh a',
      'budget.weigh b',
      'cost.price a',
      'recommendation.make a',
      'cost.price b',
      'budget.weigh put back',
    ]);
  });

  it('closes though a job does not end', async () => {
    let begun = false;
    let end = (): void => undefined;
    const endless = {
      runPartition: () => {
        begun = true;
        return new Promise<number>((resolve) => (end = () => resolve(0)));
      },
    } as unknown as Runner;
    for (const worker of workers.splice(0)) await worker.close();
    const settings = { databaseUrl: bursar.url, redisUrl, concurrency: 1, stallSeconds: 10 };
    const working = await LineQueue.open(settings, endless, () => undefined);
    await working.handOut([{ organisation: 'endless', stage: 'cost.price', partition: 'a' }]);
    await until('the job has begun', async () => begun);
    await working.close();
    end();
    workers.push(await open(2));
  });

  it('loses nothing when the queue is lost: what is due stands in the work table', async () => {
    const handing = await open(0);
    await bursar.take([metered('lost', { start: MONDAY + 1000 * HOUR, end: MONDAY + 1001 * HOUR })]);
    // Nobody hands anything out: as if every job had vanished. The next look finds the work again.
    expect(await drained(bursar)()).toBe(false);
    await until('the line drains', async () => {
      await handing.handOut(await bursar.stores.work.duePartitions(bursar.clock.now()));
      return drained(bursar)();
    });
    expect((await bursar.spend({})).total).toBe('19860.640000000');
    await handing.close();
  });
});
