/** The laws of the line, on a real PostgreSQL: nothing lost, nothing twice, the same result whatever the order. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { enqueue } from '../../src/store/work.js';
import { Runner } from '../../src/pipeline/runner.js';
import { unavailable } from '../../src/core/errors.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

const RULES = [
  { match: { namespace: 'red' }, team: 'red' },
  { match: { namespace: 'blue' }, team: 'blue' },
  { match: { namespace: 'shared' }, split: { by: 'fixed' as const, shares: { red: '1', blue: '2' } } },
];

async function withRules(
  bursar: TestBursar,
  rules: Parameters<TestBursar['stores']['organisations']['saveRules']>[2] = RULES,
): Promise<void> {
  await bursar.db.transaction((tx) => bursar.stores.organisations.saveRules(tx, 'default', rules, 'test'));
}

/** Everything that readers can see of costs, in one text. */
async function facts(bursar: TestBursar): Promise<string> {
  const days = await bursar.db.query(
    `select c.team, c.day::text as day, d.sku, d.kind, c.currency, c.shared_from, c.records, c.gpu_part_ms::text as parts, c.unpriced_part_ms::text as unpriced,
       c.accrued::text as accrued, c.actual::text as actual, c.billed::text as billed
     from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension order by 1, 2, 3, 4, 5, 6, 7, 8`,
  );
  const hours = await bursar.db.query(
    `select team, hour, component, unpriced_reason, sum(quantity)::text as quantity, sum(nanos)::text as nanos from cost_hour group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
  );
  return JSON.stringify({ days, hours });
}

const record = fc.record({
  id: fc.integer({ min: 0, max: 30 }),
  minute: fc.integer({ min: 0, max: 3000 }),
  length: fc.integer({ min: 0, max: 500_000 }),
  namespace: fc.constantFrom('red', 'blue', 'shared', null),
  sku: fc.constantFrom('p5.48xlarge', 'unknown.type'),
  parts: fc.integer({ min: 0, max: 8 * GPU_PARTS }),
});
const batches = fc
  .uniqueArray(record, { selector: (r) => r.id, minLength: 1, maxLength: 12 })
  .map((all) =>
    all.map(
      (r): UsageRecord =>
        metered(`m${r.id}`, {
          start: MONDAY + r.minute * 60_000,
          end: MONDAY + r.minute * 60_000 + r.length * 100,
          namespace: r.namespace,
          sku: r.sku,
          gpuParts: r.parts,
        }),
    ),
  );

describe('the line', async () => {
  const straight = await testBursar();
  const crooked = await testBursar();
  const cut = instancePrice('55.04', { effectiveFrom: MONDAY + 30 * HOUR + 1_234_567 });
  for (const bursar of [straight, crooked]) await withRules(bursar);

  const empty = (bursar: TestBursar) =>
    bursar.db.query(
      `truncate usage_hour, cost_hour, cost_day, block, usage_id, delivery, import, work, source, price_event`,
    );

  it('gives the same costs for every order of arrival, repetition and re-pricing', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 0, max: 11 }), async (records, at) => {
        for (const bursar of [straight, crooked]) {
          await empty(bursar);
          await bursar.db.query(`update organisation set price_version = price_version + 1`);
        }
        await straight.setPrices([instancePrice('98.32'), cut]);
        await straight.take(records);
        await straight.runner.drain();
        const split = at % records.length;
        await crooked.take(records.slice(split).reverse());
        await crooked.runner.drain();
        await crooked.setPrices([cut]);
        await crooked.take([...records].reverse(), { source: 'default' });
        await crooked.runner.drain();
        await crooked.take(records.slice(0, split + 1));
        await crooked.setPrices([instancePrice('98.32')]);
        await crooked.runner.drain();
        expect(await facts(crooked)).toEqual(await facts(straight));
      }),
      { numRuns: 25, seed: 11 },
    );
  });

  it('keeps every sum: lines are hours are days are months, to the nano, shared costs too', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (records) => {
        await empty(straight);
        await straight.db.query(`update organisation set price_version = price_version + 1`);
        await straight.setPrices([instancePrice('98.32'), cut]);
        await straight.take([...records, billed('b1', '0.000000000123', { namespace: 'shared' })]);
        await straight.runner.drain();
        const [sums] = await straight.db.query<Record<string, string>>(
          `select (select coalesce(sum(nanos), 0) * 0.000000001 from cost_hour)::text as hours,
           (select coalesce(sum(accrued), 0) from cost_day where shared_from = '')::text as days,
           (select coalesce(sum(accrued), 0) from cost_day where team not like 'shared:%')::text as teams,
           (select coalesce(sum(billed), 0) from cost_day where team not like 'shared:%')::text as billed,
           (select coalesce(sum(gpu_part_ms), 0) from usage_hour)::text as used,
           (select coalesce(sum(quantity), 0) from cost_hour)::text as quantities`,
        );
        const months = await straight.spend({ basis: 'accrued', groupBy: 'month' });
        expect(Number(sums?.['days'])).toBe(Number(sums?.['hours']));
        expect(Number(sums?.['teams'])).toBe(Number(sums?.['hours']));
        expect(Number(months.total ?? 0)).toBe(Number(sums?.['hours']));
        expect(sums?.['billed']).toBe('0.000000000123');
        // Billing minimums lengthen short runs: quantities may only grow.
        expect(BigInt(sums?.['quantities'] ?? '0')).toBeGreaterThanOrEqual(BigInt(sums?.['used'] ?? '0'));
      }),
      { numRuns: 15, seed: 5 },
    );
  });

  it('leaves no work item behind: each is done, or parked with its reason', async () => {
    const [left] = await straight.db.query<{ n: number }>(`select count(*)::int as n from work where done < wanted`);
    expect(left?.n).toBe(0);
  });
});

describe('prices at work', async () => {
  const bursar = await testBursar();
  const at = async (records: UsageRecord[]) => {
    await bursar.db.query(`truncate usage_hour, cost_hour, cost_day, block, usage_id, delivery, import, work, source`);
    await bursar.take(records);
    await bursar.runner.drain();
    return bursar.spend({ basis: 'accrued' });
  };

  it('splits an hour at a price change inside it', async () => {
    await bursar.setPrices([
      instancePrice('98.32', { minimumSeconds: 0 }),
      instancePrice('55.04', { minimumSeconds: 0, effectiveFrom: MONDAY + HOUR / 4 }),
    ]);
    // A quarter of an hour at 98.32 and three quarters at 55.04: 24.58 + 41.28.
    expect((await at([metered('m')])).total).toBe('65.860000000');
  });

  it('bills a minimum of a minute per run, and nothing for nothing', async () => {
    await bursar.setPrices([instancePrice('36.00', { sku: 'minute', gpus: 1 })]);
    const run = (id: string, ms: number) => metered(id, { sku: 'minute', gpuParts: GPU_PARTS, end: MONDAY + ms });
    expect((await at([run('a', 61_000)])).total).toBe('0.610000000');
    expect((await at([run('a', 59_000)])).total).toBe('0.600000000');
    expect((await at([run('a', 61_000), run('b', 59_000), run('c', 0)])).total).toBe('1.210000000');
  });

  it('says what has no price and keeps it out of the sum', async () => {
    const spend = await at([
      metered('m'),
      metered('n', { sku: 'x1.unheard', start: MONDAY + HOUR, end: MONDAY + 2 * HOUR }),
    ]);
    expect(spend).toMatchObject({ total: '65.860000000', unpricedQuantity: '8.000000' });
  });
});

describe('a bill that closes', async () => {
  const bursar = await testBursar();
  it('takes the place of the accrual for its account and period, and only there', async () => {
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([
      metered('m'),
      metered('other', { account: 'a2' }),
      metered('later', { start: Date.UTC(2026, 10, 2), end: Date.UTC(2026, 10, 2) + HOUR }),
    ]);
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('294.960000000');
    bursar.clock.at = Date.UTC(2026, 9, 20);
    await bursar.take([billed('b', '80.00')]);
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('294.960000000');
    bursar.clock.at = Date.UTC(2026, 10, 3);
    await bursar.take([billed('b', '81.00')]);
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('277.640000000');
    expect((await bursar.spend({ basis: 'accrued' })).total).toBe('294.960000000');
    expect((await bursar.spend({ basis: 'billed' })).total).toBe('81.00');
  });
});

describe('rules that change', async () => {
  const bursar = await testBursar();
  it('allocate history anew and lose nothing', async () => {
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([
      metered('m', { namespace: 'red' }),
      metered('n', { namespace: 'shared' }),
      billed('b', '9.99', { namespace: 'blue', account: 'other' }),
    ]);
    await bursar.runner.drain();
    const by = async () =>
      Object.fromEntries((await bursar.spend({ groupBy: 'team' })).rows.map((row) => [row['team'], row.cost]));
    expect(await by()).toEqual({ unallocated: '206.630000000' });
    await withRules(bursar);
    await bursar.runner.drain();
    expect(await by()).toEqual({ red: '131.093333333', blue: '75.536666667' });
    await withRules(bursar, [
      { match: { namespace: 'shared' }, split: { by: 'use' } },
      { match: { namespace: 'red' }, team: 'red' },
    ]);
    await bursar.runner.drain();
    expect(await by()).toEqual({ red: '196.640000000', unallocated: '9.99' });
  });
});

describe('a delivery that is kept in several blocks', async () => {
  const { db, stores, take } = await testBursar();

  it('is read whole, one block after the other, and no further', async () => {
    await take([metered('one')]);
    await take([metered('other')]);
    const [first] = await stores.raw.deliveries(db, 'default');
    if (first === undefined) throw new Error('nothing was taken');
    const kept = async (): Promise<number> => {
      let all = 0;
      for await (const records of stores.raw.records(db, 'default', first.source, first.id)) all += records.length;
      return all;
    };
    expect(await kept()).toBe(1);
    for (const no of [1, 2])
      await db.query(
        `insert into block (organisation, source, delivery, no, records, first_start, last_end, payload, set_aside)
         select organisation, source, delivery, $2, records, first_start, last_end, payload, set_aside from block where delivery = $1 and no = 0`,
        [first.id, no],
      );
    expect(await kept()).toBe(3);
  });
});

describe('failures', async () => {
  const bursar = await testBursar();
  const workItems = [1, 2, 3].map((n) => ({ stage: 'cost.price', partition: 'red', key: `red/2026-10-0${n}` }));
  const runnerThat = (fails: (key: string) => Error | null) =>
    new Runner(bursar.db, bursar.stores.work, bursar.clock, [
      {
        name: 'cost.price',
        most: 10,
        async run({ keys }) {
          for (const key of keys) {
            const error = fails(key);
            if (error !== null) throw error;
          }
          return [];
        },
      },
    ]);

  it('park the one key that is to blame, with its reason, and do the others', async () => {
    await enqueue(bursar.db, 'default', workItems);
    await runnerThat((key) => (key.endsWith('02') ? new Error('broken invariant: the poison') : null)).drain();
    expect(await bursar.stores.work.parked('default')).toMatchObject([
      { key: 'red/2026-10-02', attempts: 1, reason: 'broken invariant: the poison' },
    ]);
    expect(await bursar.stores.work.waiting()).toBe(0);
  });

  it('try again what may pass, later each time, and park it in the end; enqueuing it anew gives it another chance', async () => {
    await enqueue(bursar.db, 'default', workItems.slice(0, 1));
    let tries = 0;
    const runner = runnerThat(() => (++tries, unavailable('the cloud is away')));
    for (let look = 0; look < 20; look++) {
      await runner.drain();
      bursar.clock.at += 120_000;
    }
    expect(tries).toBe(6);
    expect((await bursar.stores.work.parked('default')).map((p) => p.reason)).toContain('the cloud is away');
    await enqueue(bursar.db, 'default', workItems);
    await runnerThat(() => null).drain();
    expect(await bursar.stores.work.parked('default')).toEqual([]);
  });
});
