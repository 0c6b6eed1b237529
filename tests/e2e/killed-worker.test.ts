/**
 * A worker that is killed in the middle of a day's pricing: another one takes the day up and finishes it, on both
 * backends of the queue. The middle is where the database says that it is: the worker waits for a table that the test
 * holds locked.
 */
import { Client } from 'pg';
import { expect, it, vi } from 'vitest';
import { leaseMsOf } from '../../src/pipeline/runner.js';
import { stallOptions } from '../../src/pipeline/queue.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { home } from '../support/processes.js';
import { describeQueues } from '../support/queues.js';
import { HOUR, metered, MONDAY } from '../support/records.js';

it.each([3, 10, 600])('is found within the %i seconds that are set, wherever in its turn it died', (seconds) => {
  const { lockDuration, lockRenewTime, stalledInterval } = stallOptions(seconds);
  // BullMQ's look notes the job, the next one finds it without a lock; the third is for a look that came too early.
  expect(3 * stalledInterval).toBeLessThan(seconds * 1000);
  expect(lockDuration + stalledInterval).toBeLessThan(seconds * 1000);
  expect(lockRenewTime).toBeLessThan(lockDuration / 2);
  // By then its lease has run out too.
  expect(leaseMsOf(seconds)).toBeLessThanOrEqual(lockDuration);
});

describeQueues('a worker that is killed', async (backend) => {
  const bursar = await testBursar();
  const place = await home();

  it('leaves its day to another one, which prices it', { timeout: 180_000 }, async () => {
    const redisUrl = await backend.redisUrl();
    const environment = {
      DATABASE_URL: bursar.url,
      BURSAR_STALL_SECONDS: '3',
      BURSAR_TICK_SECONDS: '0.5',
      ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    };
    const until = (what: () => Promise<boolean>): Promise<void> =>
      vi.waitFor(async () => expect(await what()).toBe(true), { timeout: 120_000, interval: 50 });
    const waiting = async (): Promise<boolean> =>
      (await bursar.db.query(`select 1 from pg_locks where not granted and relation = 'cost_hour'::regclass`)).length >
      0;
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('one', { start: MONDAY, end: MONDAY + HOUR })]);
    const holder = new Client({ connectionString: bursar.url });
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table cost_hour in access exclusive mode');
    const killed = place.start(['serve', '--role', 'worker'], environment);
    await until(waiting);
    await killed.end('SIGKILL');
    const [before] = await bursar.db.query<{ due: boolean }>(
      `select done < wanted as due from work where stage = 'cost.price'`,
    );
    expect(before).toEqual({ due: true });
    await holder.query('rollback');
    await holder.end();
    const other = place.start(['serve', '--role', 'worker'], environment);
    // What fails is tried again, later each time: it may take a minute and still end well, so its reason is told.
    const failures = new Set<string>();
    await until(async () => {
      for (const { stage, error } of await bursar.db.query<{ stage: string; error: string | null }>(
        `select stage, last_error as error from work where attempts > 0`,
      ))
        failures.add(`${stage} failed and is tried again: ${error}`);
      return (await bursar.spend({})).total === '98.320000000';
    });
    if (failures.size > 0) process.stderr.write(`${[...failures].join('\n')}\n`);
    expect((await other.end('SIGTERM')).code).toBe(0);
  });
});
