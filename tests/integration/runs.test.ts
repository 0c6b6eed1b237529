/** A seller's increment and minimum are counted once for each run, however its records are cut and arrive. */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { testCommand } from '../support/command.js';
import { HOUR, metered, MONDAY } from '../support/records.js';

const DAY = 24 * HOUR;
const LIST = 'provider,sku,region,term,gpus,price,currency,per,effectiveFrom,incrementSeconds,minimumSeconds\n';
const listed = (increment: number, minimum: number): string =>
  `${LIST}AWS,p5.48xlarge,us-east-1,on-demand,8,55.04,USD,instance-hour,2020-01-01,${increment},${minimum}\n`;

/** Gapless records of one machine. */
const gapless = (count: number, seconds: number, from = MONDAY) =>
  Array.from({ length: count }, (_, n) => ({
    id: `r${n}`,
    provider: 'AWS',
    resource: 'i-1',
    sku: 'p5.48xlarge',
    region: 'us-east-1',
    term: 'on-demand',
    gpus: 8,
    start: new Date(from + n * seconds * 1000).toISOString(),
    end: new Date(from + (n + 1) * seconds * 1000).toISOString(),
  }));

describe('runs at the command line', async () => {
  const command = await testCommand(Date.UTC(2026, 9, 31));
  beforeEach(() => command.empty());
  const total = async (): Promise<string | null> => (await command.ask<{ total: string | null }>('costs')).total;
  const take = async (records: readonly unknown[]): Promise<void> => {
    await command.ask('import', await command.file('usage.json', { records }));
  };

  it('cost 120 gapless records of half a minute as one hour', async () => {
    await command.ask('prices', await command.file('p.csv', listed(1, 60)));
    await take(gapless(120, 30));
    expect(await total()).toBe('55.040000000');
  });

  it('cost five quarters of an hour under an hourly increment as two hours, over midnight and delivery by delivery', async () => {
    await command.ask('prices', await command.file('p.csv', listed(3600, 0)));
    const records = gapless(5, 900, MONDAY + DAY - HOUR / 2);
    for (const record of records.toReversed()) await take([record]);
    expect(await total()).toBe('110.080000000');
    // A gap of a second makes two runs of it.
    await take([
      { ...records[0], id: 'later', start: new Date(MONDAY + DAY + 2701_000), end: new Date(MONDAY + DAY + 2702_000) },
    ]);
    expect(await total()).toBe('165.120000000');
  });
});

/** A record cut into contiguous pieces at the given shares of its length. */
function cut(record: UsageRecord, shares: readonly number[]): UsageRecord[] {
  const length = record.end - record.start;
  const bounds = [...new Set([0, ...shares.map((share) => Math.floor((length * share) / 100)), length])].sort(
    (a, b) => a - b,
  );
  return bounds
    .slice(1)
    .map((bound, n) => ({
      ...record,
      id: `${record.id}.${n}`,
      start: record.start + (bounds[n] ?? 0),
      end: record.start + bound,
    }));
}

/** Runs of some machines that do not overlap, with gaps or none between them. */
const machine = fc.array(
  fc.record({
    gap: fc.constantFrom(0, 0, 1000, 5_400_000),
    length: fc.constantFrom(30_000, 900_000, 3_600_000, 80_000_000, 1234),
  }),
  { minLength: 1, maxLength: 4 },
);
const usage = fc.array(machine, { minLength: 1, maxLength: 2 }).map((machines) =>
  machines.flatMap((runs, m) => {
    let at = MONDAY + DAY - 2 * HOUR + m * 1000;
    return runs.map(({ gap, length }, n) => {
      at += gap;
      const record = metered(`m${m}.${n}`, {
        resource: `i-${m}`,
        start: at,
        end: at + length,
        gpuParts: 8 * GPU_PARTS,
      });
      at += length;
      return record;
    });
  }),
);

/** What it costs by the rule, worked out apart: 55.04 an hour, each run lengthened once. */
function expected(records: readonly UsageRecord[], increment: number, minimum: number): number {
  let nanos = 0;
  for (const resource of new Set(records.map((r) => r.resource))) {
    const own = records.filter((r) => r.resource === resource).sort((a, b) => a.start - b.start);
    for (let at = 0; at < own.length; ) {
      const begun = own[at]?.start ?? 0;
      let end = own[at]?.end ?? 0;
      for (at += 1; own[at]?.start === end; at += 1) end = own[at]?.end ?? 0;
      nanos += Math.max(Math.ceil((end - begun) / increment) * increment, minimum) * (55.04 / 3.6) * 1e3;
    }
  }
  return nanos;
}

describe('runs', async () => {
  const [straight, crooked] = [await testBursar(), await testBursar()];
  const books = async (bursar: TestBursar): Promise<string> =>
    JSON.stringify(
      await bursar.db.query(
        `select team, hour, component, sum(quantity)::text as quantity, sum(nanos)::text as nanos from cost_hour group by 1, 2, 3 order by 1, 2, 3`,
      ),
    );

  it('cost the same in any order, in any pieces, and what the rule says', async () => {
    const shares = fc.array(fc.integer({ min: 1, max: 99 }), { maxLength: 3 });
    const prices = fc.constantFrom([1, 60], [3600, 0], [60, 7200]);
    await fc.assert(
      fc.asyncProperty(
        usage,
        shares,
        prices,
        fc.infiniteStream(fc.nat(100)),
        async (whole, cuts, [increment = 1, minimum = 0], keys) => {
          for (const bursar of [straight, crooked]) {
            await bursar.db.query(
              `truncate usage_hour, cost_hour, cost_day, block, usage_id, delivery, import, work, source, price_event, carried_run`,
            );
            await bursar.db.query(`update organisation set price_version = price_version + 1`);
            await bursar.setPrices([instancePrice('55.04', { incrementSeconds: increment, minimumSeconds: minimum })]);
          }
          await straight.take(whole);
          await straight.runner.drain();
          const pieces = whole
            .flatMap((record) => cut(record, cuts))
            .map((record) => ({ record, key: keys.next().value ?? 0 }));
          for (const { record, key } of pieces.sort((a, b) => a.key - b.key)) {
            await crooked.take([record]);
            if (key % 2 === 0) await crooked.runner.drain();
          }
          await crooked.runner.drain();
          expect(await books(crooked)).toBe(await books(straight));
          const [sum] = await straight.db.query<{ nanos: string }>(`select sum(nanos)::text as nanos from cost_hour`);
          expect(Math.abs(Number(sum?.nanos) - expected(whole, increment * 1000, minimum * 1000))).toBeLessThan(100);
        },
      ),
      { numRuns: 12, seed: 3 },
    );
  });
});
