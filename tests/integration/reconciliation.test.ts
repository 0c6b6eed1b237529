/**
 * Bills beside accruals along the line: the variance, the bill that wins, and the rates that it teaches. Amounts
 * computed by hand.
 */
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { addDecimal, formatDecimal, negateDecimal, parseDecimal, ZERO, type Decimal } from '../../src/core/decimal.js';
import { openFile } from '../../src/formats/reading/input.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import type { StoredVariance } from '../../src/store/bill/variances.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';
import { ROOT } from '../support/source.js';

const DAY = 24 * HOUR;
const OCTOBER = Date.UTC(2026, 9, 1);
const NOVEMBER = Date.UTC(2026, 10, 1);
/** One instance of 8 GPUs, for a whole day. */
const day = (n: number, over: Partial<UsageRecord> = {}): UsageRecord =>
  metered(`m${n}${over.sku ?? ''}${over.account ?? ''}`, {
    start: OCTOBER + n * DAY,
    end: OCTOBER + (n + 1) * DAY,
    ...over,
  });
/** The bill's line of such a day: listed at `list`, charged `effective`. */
const line = (n: number, effective: string, over: Partial<UsageRecord> = {}, list = '240'): UsageRecord =>
  billed(
    `b${n}${over.sku ?? ''}`,
    effective,
    { start: OCTOBER + n * DAY, end: OCTOBER + (n + 1) * DAY, gpuParts: 8 * GPU_PARTS, ...over },
    { effective: parseDecimal(effective), list: parseDecimal(list) },
  );
const days = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** An instance of 8 GPUs costs 10 an hour by the list: 240 a day. */
async function started(now: number): Promise<TestBursar> {
  const bursar = await testBursar({ now });
  await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
  return bursar;
}

const rowsOf = async (
  { stores }: TestBursar,
  filter: Parameters<typeof stores.variances.list>[1] = {},
): Promise<StoredVariance[]> =>
  (await stores.variances.list('default', filter, null, 10_000)).map((row) => ({ ...row, place: '' }));
const brief = (rows: readonly StoredVariance[]) =>
  rows.map(({ day: on, accrued, compared, variance, ratio, reasons }) => [
    on.slice(5),
    accrued,
    compared,
    variance,
    ratio,
    reasons.join(' '),
  ]);
const takeBill = async (bursar: TestBursar, lines: readonly UsageRecord[], source = 'cur'): Promise<void> => {
  await bursar.take(lines, { source });
  await bursar.runner.drain();
};
/** What days of November accrue, from the 1st on. */
const november = async (bursar: TestBursar): Promise<(string | null)[]> =>
  (await bursar.spend({ basis: 'accrued', groupBy: 'day', from: '2026-11-01' })).rows.map(({ cost }) => cost);

describe('a bill that grows', async () => {
  const bursar = await started(OCTOBER + 4 * DAY);

  it('is compared day by day with what was accrued, as far as it goes', async () => {
    await bursar.take(days(0, 4).map((n) => day(n)));
    await takeBill(
      bursar,
      days(0, 2).map((n) => line(n, '96')),
    );
    expect(brief(await rowsOf(bursar))).toEqual([
      ['10-01', '240.000000000', '96', '-144.000000000', '-0.600000', 'rate'],
      ['10-02', '240.000000000', '96', '-144.000000000', '-0.600000', 'rate'],
      ['10-03', '240.000000000', null, '-240.000000000', '-1.000000', 'only-metered not-billed-yet'],
      ['10-04', '240.000000000', null, '-240.000000000', '-1.000000', 'only-metered not-billed-yet'],
    ]);
    expect(await bursar.stores.variances.totals('default', {})).toEqual([
      {
        currency: 'USD',
        accrued: '960.000000000',
        compared: '192',
        variance: '-768.000000000',
        apart: '0',
        unpricedGpuHours: '0.000000',
      },
    ]);
    // Only what the bill speaks of is a finding: 288 of 480.
    expect(await bursar.stores.variances.findings('default', { isOpen: true }, null, 10)).toMatchObject([
      { variance: '-288.000000000', ratio: '-0.600000', days: 2, sku: 'p5.48xlarge', reasons: ['rate'] },
    ]);
    // Nothing is learned from a bill that still grows, and the accrual stands.
    expect(await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10)).toEqual([]);
    expect((await bursar.spend({})).total).toBe('960.000000000');
  });

  it('replaces what was published when it is restated, and the finding goes', async () => {
    await takeBill(
      bursar,
      days(0, 4).map((n) => line(n, '239')),
    );
    expect(brief(await rowsOf(bursar)).map(([on, , , variance]) => [on, variance])).toEqual(
      days(1, 5).map((n) => [`10-0${n}`, '-1.000000000']),
    );
    expect(await bursar.stores.variances.findings('default', { isOpen: true }, null, 10)).toEqual([]);
    expect(await bursar.stores.variances.findings('default', { isOpen: false }, null, 10)).toHaveLength(1);
  });

  it('is compared anew when usage comes late, once the hour has passed', async () => {
    await bursar.take([metered('late', { start: OCTOBER, end: OCTOBER + HOUR })], { source: 'other' });
    await bursar.runner.drain();
    bursar.clock.at += 2 * HOUR;
    await bursar.runner.drain();
    // 8 GPU-hours more than the bill knows: 10 of quantity, 1 of rate.
    expect(await rowsOf(bursar, { to: '2026-10-02' })).toMatchObject([
      {
        accrued: '250.000000000',
        variance: '-11.000000000',
        quantityVariance: '-10.000000000',
        rateVariance: '-1.000000000',
        meteredGpuHours: '200.000000',
        billedGpuHours: '192.000000',
        reasons: ['quantity', 'rate'],
      },
    ]);
  });
});

describe('a closed bill at 40 % of the list', async () => {
  const bursar = await started(NOVEMBER + 3 * DAY);
  const rates = () => bursar.stores.learnedRates.list(bursar.db, 'default', null, 10);
  const unknown = { sku: 'x9.unknown' };

  it('teaches its rate, which corrects what is metered from the next month on', async () => {
    await bursar.take([...days(0, 10), ...days(31, 33)].map((n) => day(n)));
    await bursar.take([day(31, unknown)], { source: 'other' });
    await bursar.runner.drain();
    expect(await november(bursar)).toEqual(['240.000000000', '240.000000000']);
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '96')),
    );
    expect(await rates()).toMatchObject([
      {
        source: 'cur',
        month: '2026-10',
        provider: 'AWS',
        account: 'a1',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        term: 'on-demand',
        numerator: '2',
        denominator: '5',
        ratio: '0.400000',
        trusted: true,
        distrust: [],
        appliesFrom: '2026-11-01T00:00:00Z',
        evidence: {
          days: 10,
          meteredGpuHours: '1920.000000',
          billedGpuHours: '1920.000000',
          listCost: '2400.00',
          charged: '960',
        },
      },
    ]);
    expect(await november(bursar)).toEqual(['96.000000000', '96.000000000']);
    // The closed month keeps what it accrued, and has its bill.
    expect((await bursar.spend({ basis: 'accrued', to: '2026-11-01' })).total).toBe('2400.000000000');
    expect((await bursar.spend({ to: '2026-11-01' })).total).toBe('960');
  });

  it('never makes unpriced usage priced', async () => {
    const { rows } = await bursar.spend({ basis: 'accrued', groupBy: 'sku', from: '2026-11-01' });
    expect(rows).toMatchObject([
      { sku: 'p5.48xlarge', cost: '192.000000000', unpricedQuantity: '0.000000' },
      { sku: 'x9.unknown', cost: null, unpricedQuantity: '192.000000' },
    ]);
  });

  it('is named on every line that it bears on', async () => {
    const lines = await bursar.db.query<{ nanos: string; list: string; learned: unknown }>(
      `select nanos::text, list_nanos::text as list, basis->0->'learned' as learned from cost_hour where hour = '2026-11-01T05:00Z' and nanos is not null`,
    );
    expect(lines).toEqual([
      {
        nanos: '4000000000',
        list: '10000000000',
        learned: { source: 'bill:cur/2026-10', ratio: { numerator: '2', denominator: '5' } },
      },
    ]);
    expect(
      await bursar.db.query(
        `select 1 from cost_hour where hour < '2026-11-01' and (list_nanos is not null or basis->0 ? 'learned')`,
      ),
    ).toEqual([]);
  });

  it('corrects late usage and another pricing of the same day alike', async () => {
    await bursar.take([day(33)], { source: 'late' });
    await bursar.runner.drain();
    await bursar.setPrices([instancePrice('20.00', { minimumSeconds: 0, effectiveFrom: NOVEMBER + 2 * DAY })]);
    await bursar.runner.drain();
    expect(await november(bursar)).toEqual(['96.000000000', '96.000000000', '192.000000000']);
  });

  it('can be turned off and on', async () => {
    const turn = async (on: boolean) => {
      await bursar.db.transaction((tx) => bursar.stores.learnedRates.setApplied(tx, 'default', on));
      await bursar.runner.drain();
    };
    await turn(false);
    expect(await november(bursar)).toEqual(['240.000000000', '240.000000000', '480.000000000']);
    expect(await rates()).toHaveLength(1);
    await turn(true);
    expect(await november(bursar)).toEqual(['96.000000000', '96.000000000', '192.000000000']);
  });

  it('teaches another rate when it is restated', async () => {
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '120')),
    );
    expect(await rates()).toMatchObject([{ ratio: '0.500000' }]);
    expect(await november(bursar)).toEqual(['120.000000000', '120.000000000', '240.000000000']);
  });

  it('shows the next bill beside the corrected accrual, and learns from the list again', async () => {
    bursar.clock.at = Date.UTC(2026, 11, 2);
    const charge = { periodStart: NOVEMBER, periodEnd: Date.UTC(2026, 11, 1) };
    const lines = [line(31, '120'), line(32, '121'), line(33, '240')].map((one) =>
      one.charge === null ? one : { ...one, charge: { ...one.charge, ...charge } },
    );
    await takeBill(bursar, lines);
    expect(brief(await rowsOf(bursar, { month: '2026-11', sku: 'p5.48xlarge' }))).toEqual([
      ['11-01', '120.000000000', '120', '0.000000000', '0.000000', ''],
      ['11-02', '120.000000000', '121', '1.000000000', '0.008333', 'rate'],
      ['11-03', '240.000000000', '240', '0.000000000', '0.000000', ''],
    ]);
    // Three days are too few to trust; the rate of October holds on.
    expect(await rates()).toMatchObject([
      { month: '2026-11', ratio: '0.501042', trusted: false, distrust: ['few-days'] },
      { month: '2026-10', trusted: true },
    ]);
    await bursar.take([day(62)], { source: 'december' });
    await bursar.runner.drain();
    expect((await bursar.spend({ basis: 'accrued', from: '2026-12-01' })).total).toBe('240.000000000');
  });

  it('teaches nothing any more once its rate is withdrawn, restated or not', async () => {
    const [, october] = await rates();
    await bursar.db.transaction((tx) =>
      bursar.stores.learnedRates.withdraw(tx, 'default', october?.id ?? '', 'somebody', bursar.clock.now()),
    );
    await bursar.runner.drain();
    expect(await november(bursar)).toEqual(['240.000000000', '240.000000000', '480.000000000', '480.000000000']);
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '96')),
    );
    expect(await rates()).toMatchObject([{ month: '2026-11' }, { month: '2026-10', withdrawnBy: 'somebody' }]);
    expect(await november(bursar)).toEqual(['240.000000000', '240.000000000', '480.000000000', '480.000000000']);
  });
});

describe('the order of arrival', async () => {
  const usage = async (bursar: TestBursar): Promise<void> => {
    await bursar.take([...days(0, 10), ...days(31, 33)].map((n) => day(n)));
    await bursar.runner.drain();
  };
  const [billFirst, usageFirst] = [await started(NOVEMBER + 3 * DAY), await started(NOVEMBER + 3 * DAY)];

  it('of usage and bill changes neither the variance, nor the rate, nor any cost', async () => {
    const bill = days(0, 11).map((n) => line(n, '81.37'));
    await takeBill(billFirst, bill);
    expect(brief(await rowsOf(billFirst))).toHaveLength(11);
    await usage(billFirst);
    await usage(usageFirst);
    await takeBill(usageFirst, bill);
    await takeBill(usageFirst, bill);
    expect(await rowsOf(billFirst)).toEqual(await rowsOf(usageFirst));
    // 11 days are billed and 10 metered: a tenth more than the bill's rate can be trusted with.
    const rates = (bursar: TestBursar) => bursar.stores.learnedRates.list(bursar.db, 'default', null, 10);
    expect(await rates(billFirst)).toEqual(await rates(usageFirst));
    expect(await rates(billFirst)).toMatchObject([{ trusted: false, distrust: ['quantity-differs'] }]);
    for (const basis of ['actual', 'accrued', 'effective'] as const)
      expect(await billFirst.spend({ basis, groupBy: 'day' })).toEqual(
        await usageFirst.spend({ basis, groupBy: 'day' }),
      );
    await takeBill(
      billFirst,
      days(0, 10).map((n) => line(n, '81.37')),
    );
    await takeBill(
      usageFirst,
      days(0, 10).map((n) => line(n, '81.37')),
    );
    // 240 x 0.339041666... = 81.37 a day: every hour of it rounded once, 10 x 81.37 / 240 = 3.390416667.
    expect(await november(billFirst)).toEqual(['81.370000008', '81.370000008']);
    expect(await november(usageFirst)).toEqual(['81.370000008', '81.370000008']);
  });
});

describe('an older bill that comes after a newer one is closed', async () => {
  const bursar = await started(NOVEMBER + 3 * DAY);

  it('leaves the closed month as it was accrued, and the newer rate in force', async () => {
    await bursar.take([...days(-15, 10), ...days(31, 32)].map((n) => day(n)));
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '96')),
    );
    bursar.clock.at += DAY;
    const september = { periodStart: Date.UTC(2026, 8, 1), periodEnd: OCTOBER };
    await takeBill(
      bursar,
      days(-15, 0)
        .map((n) => line(n, '60'))
        .map((one) => (one.charge === null ? one : { ...one, charge: { ...one.charge, ...september } })),
    );
    expect(
      (await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10)).map(({ month, ratio, appliesFrom }) => [
        month,
        ratio,
        appliesFrom,
      ]),
    ).toEqual([
      ['2026-10', '0.400000', '2026-11-01T00:00:00Z'],
      ['2026-09', '0.250000', '2026-11-01T00:00:00Z'],
    ]);
    expect((await bursar.spend({ basis: 'accrued', from: '2026-10-01', to: '2026-11-01' })).total).toBe(
      '2400.000000000',
    );
    expect(await november(bursar)).toEqual(['96.000000000']);
  });
});

describe('what is on one side only', async () => {
  const bursar = await started(NOVEMBER + 3 * DAY);

  it('is shown as such, and what is no usage stands apart', async () => {
    await bursar.take([day(0), day(0, { sku: 'x9.unknown' }), day(0, { account: 'b2' })]);
    const credit = billed(
      'c',
      '-20',
      { start: OCTOBER, end: OCTOBER + DAY, sku: null, region: null, term: null },
      { category: 'Credit', effective: parseDecimal('-20') },
    );
    const tax = billed(
      't',
      '7.5',
      { start: OCTOBER, end: NOVEMBER, sku: null, region: null, term: null },
      { category: 'Tax' },
    );
    await takeBill(bursar, [
      line(0, '200'),
      line(0, '31', { sku: 'AB12CD34', gpuParts: null, region: 'eu-west-1' }),
      credit,
      tax,
    ]);
    const rows = (await rowsOf(bursar)).map(
      ({ sku, category, accrued, compared, variance, ratio, unpricedGpuHours, basis, reasons }) => [
        category,
        sku,
        accrued,
        compared,
        variance,
        ratio,
        unpricedGpuHours,
        basis,
        reasons.join(' '),
      ],
    );
    expect(rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
      ['Credit', null, null, '-20', '-20', null, '0.000000', 'effective', 'apart'],
      ['Tax', null, null, '7.5', '7.5', null, '0.000000', 'billed', 'apart'],
      ['Usage', 'AB12CD34', null, '31', '31', null, '0.000000', 'effective', 'only-billed sku-not-comparable'],
      ['Usage', 'p5.48xlarge', '240.000000000', '200', '-40.000000000', '-0.166667', '0.000000', 'effective', 'rate'],
      ['Usage', 'x9.unknown', null, null, null, null, '192.000000', null, 'only-metered unpriced'],
    ]);
    // 240 of account b2 are somebody else's bill's.
    expect(await bursar.stores.variances.totals('default', {})).toEqual([
      {
        currency: 'USD',
        accrued: '240.000000000',
        compared: '218.5',
        variance: '-21.500000000',
        apart: '-12.5',
        unpricedGpuHours: '192.000000',
      },
    ]);
  });
});

describe("a price id for the bill's SKU", async () => {
  const bursar = await started(NOVEMBER + 3 * DAY);

  it('is known by the resources that both sides name, and teaches as a name does', async () => {
    const box = { resource: 'i-1' };
    await bursar.take(days(0, 10).map((n) => day(n, box)));
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '96', { ...box, sku: 'AB12CD34' })),
    );
    expect(await rowsOf(bursar, { to: '2026-10-02' })).toMatchObject([
      { sku: 'p5.48xlarge', matchedBy: 'resource', variance: '-144.000000000', reasons: ['rate'] },
    ]);
    expect(await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10)).toMatchObject([
      { sku: 'p5.48xlarge', ratio: '0.400000', trusted: true },
    ]);
  });
});

describe('a team with another currency than its bill', async () => {
  const bursar = await started(NOVEMBER + 3 * DAY);

  it('sees the bill in its own, by the rate of the day', async () => {
    await bursar.db.transaction(async (tx) => {
      await bursar.stores.organisations.saveTeam(tx, 'default', {
        id: 'research',
        name: 'research',
        parent: null,
        zone: 'UTC',
        currency: 'EUR',
        assignedBy: null,
      });
      await bursar.stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { provider: 'AWS' }, team: 'research' }],
        'test',
      );
      await bursar.stores.prices.addFx(
        tx,
        'default',
        [{ day: '2026-10-01', currency: 'EUR', perBase: { unscaled: 8n, scale: 1 } }],
        'test',
      );
    });
    await bursar.take(days(0, 10).map((n) => day(n)));
    await takeBill(
      bursar,
      days(0, 10).map((n) => line(n, '96')),
    );
    expect(await rowsOf(bursar, { to: '2026-10-02' })).toMatchObject([
      {
        team: 'research',
        currency: 'EUR',
        billedCurrency: 'USD',
        accrued: '192.000000000',
        compared: '76.800000000',
        variance: '-115.200000000',
        ratio: '-0.600000',
        reasons: ['rate'],
      },
    ]);
    expect(await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10)).toMatchObject([
      { ratio: '0.400000', evidence: { currency: 'USD', listCost: '2400.00', charged: '960' } },
    ]);
  });
});

describe('a budget over a month whose bill comes late', async () => {
  const bursar = await started(OCTOBER + 6 * DAY);
  const budget: Budget = {
    id: 'october',
    team: 'unallocated',
    period: 'month',
    zone: 'UTC',
    currency: 'USD',
    filters: {},
    planned: { default: '1000', periods: {} },
    includeCredits: false,
    thresholds: [
      { kind: 'actual', ratio: '0.5' },
      { kind: 'actual', ratio: '1' },
    ],
  };
  const state = async () => {
    const [found] = await bursar.db.query<{ spent: string }>(
      `select state->>'spent' as spent from budget_state where budget = 'october' and period_start = '2026-10-01T00:00Z'`,
    );
    return found?.spent;
  };
  const crossed = async () =>
    (
      await bursar.db.query<{ ratio: string; at: Date }>(
        `select ratio::text, crossed_at as at from crossing where budget = 'october' and period_start = '2026-10-01T00:00Z' order by ratio`,
      )
    ).map(({ ratio, at }) => [ratio, at.getTime()]);

  it('acts on the accrual until it comes, shows the bill once it is closed, and crosses each threshold once', async () => {
    await bursar.db.transaction((tx) => setBudget(bursar.stores, tx, 'default', budget, bursar.clock.now()));
    await bursar.take(days(0, 5).map((n) => day(n)));
    await bursar.runner.drain();
    const at = bursar.clock.now();
    expect([await state(), await crossed()]).toEqual([
      '1200.000000000',
      [
        ['0.5', at],
        ['1', at],
      ],
    ]);
    // A bill of a month that is not over yet is no reason to let go.
    await takeBill(
      bursar,
      days(0, 5).map((n) => line(n, '80')),
    );
    expect(await state()).toBe('1200.000000000');
    bursar.clock.at = NOVEMBER + 5 * DAY;
    await takeBill(
      bursar,
      days(0, 5).map((n) => line(n, '90')),
    );
    expect([await state(), await crossed()]).toEqual([
      '450.000000000',
      [
        ['0.5', at],
        ['1', at],
      ],
    ]);
    // Restated above the threshold: crossed once is crossed.
    bursar.clock.at += DAY;
    await takeBill(
      bursar,
      days(0, 5).map((n) => line(n, '205')),
    );
    expect([await state(), await crossed()]).toEqual([
      '1025.000000000',
      [
        ['0.5', at],
        ['1', at],
      ],
    ]);
    await takeBill(
      bursar,
      days(0, 5).map((n) => line(n, '205')),
    );
    expect([await state(), await crossed()]).toEqual([
      '1025.000000000',
      [
        ['0.5', at],
        ['1', at],
      ],
    ]);
  });
});

describe('real bills', async () => {
  const bursar = await testBursar({ now: Date.UTC(2024, 9, 10) });
  const take = async (file: string, source: string): Promise<void> => {
    const input = await openFile(path.join(ROOT, 'tests/fixtures', file));
    await bursar.importer.files([input], {
      organisation: 'default',
      source,
      format: 'auto',
      strict: false,
      dryRun: false,
      by: 'test',
    });
    await input.close();
    await bursar.runner.drain();
  };
  const sum = (amounts: readonly (string | null)[]): string =>
    formatDecimal(amounts.reduce<Decimal>((total, one) => addDecimal(total, parseDecimal(one ?? '0') ?? ZERO), ZERO));

  it('of FOCUS: a price id is known by its instances, each line has its place, and the totals are those of the file', async () => {
    await bursar.setPrices([
      instancePrice('1.624', { sku: 'g5.4xlarge', gpus: 1, gpuModel: 'A10G', minimumSeconds: 0 }),
    ]);
    // Two runs of a g5.4xlarge that the bill has under the SKU 4GQWNPC9K2PZAY97.
    const instance = (id: string, resource: string, start: number, seconds: number): UsageRecord =>
      metered(id, {
        account: '1234567890123',
        sku: 'g5.4xlarge',
        resource,
        gpuParts: GPU_PARTS,
        start,
        end: start + seconds * 1000,
      });
    await bursar.take([
      instance('a', 'i-0al7231266lfle0f2', Date.UTC(2024, 8, 12, 1), 3600),
      instance('b', 'i-02619lael51119a85', Date.UTC(2024, 8, 13, 20), 2462),
    ]);
    await take('focus-sample/focus_sample_2024-09-01_18.csv.gz', 'focus');
    // The file's anonymiser rounded AWS' effective costs to whole dollars: 2 and 1. 2462 seconds of 1.624 an hour are
    // 1.110635556.
    expect(brief(await rowsOf(bursar, { sku: 'g5.4xlarge' }))).toEqual([
      ['09-12', '1.624000000', '2.00000000000', '0.37600000000', '0.231527', 'rate'],
      ['09-13', '1.110635556', '1.00000000000', '-0.11063555600', '-0.099615', 'rate'],
    ]);
    const rows = await rowsOf(bursar);
    expect(
      ['AWS', 'Microsoft', 'Oracle'].map((provider) =>
        sum(rows.filter((row) => row.provider === provider).map((row) => row.billed)),
      ),
    ).toEqual(['8.00155109870', '0.40851306586', '0.28400000000']);
    // 5 + 0.40851306586 effective in the file, less 2.734635556 accrued.
    expect(await bursar.stores.variances.totals('default', {})).toEqual([
      {
        currency: 'USD',
        accrued: '2.734635556',
        compared: '5.40851306586',
        variance: '2.67387750986',
        apart: '0.00000000000',
        unpricedGpuHours: '0.000000',
      },
    ]);
    expect(await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10)).toMatchObject([
      { sku: 'g5.4xlarge', trusted: false, distrust: expect.arrayContaining(['few-days', 'little-usage']) as unknown },
    ]);
  });

  it('of AWS: taxes stand apart, and nothing that was not metered is made to match', async () => {
    await take('bills-native/aws_cur_sample_early.csv.gz', 'cur');
    expect(await bursar.stores.variances.totals('default', { source: 'cur' })).toMatchObject([
      { accrued: '0', compared: '0.67619002230', variance: '0.67619002230', apart: '0.08' },
    ]);
    for (const row of await rowsOf(bursar, { source: 'cur' }))
      expect([row.matchedBy, row.accrued, row.ratio]).toEqual([null, null, null]);
  });
});

describe('whatever comes, in whatever order', async () => {
  const bursar = await testBursar({ now: NOVEMBER + 3 * DAY });
  let runs = 0;
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('usage' as const),
      days: fc.uniqueArray(fc.integer({ min: 0, max: 34 }), { maxLength: 6 }),
    }),
    fc.record({
      kind: fc.constant('bill' as const),
      cents: fc.integer({ min: 1, max: 40_000 }),
      days: fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 }),
    }),
    fc.record({ kind: fc.constant('drain' as const) }),
  );
  const less = (a: string | null, b: string | null): string =>
    formatDecimal(
      addDecimal(addDecimal(parseDecimal(a ?? '0') ?? ZERO, negateDecimal(parseDecimal(b ?? '0') ?? ZERO)), {
        unscaled: 0n,
        scale: 9,
      }),
    );

  it('the rows sum to the bill less the accrual, and what is published is that of the last word of each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const provider = `Cloud ${runs++}`;
        await bursar.setPrices([instancePrice('10.00', { provider, minimumSeconds: 0 })]);
        for (const one of steps) {
          // The same day of usage again is the same record; a bill replaces the one before.
          if (one.kind === 'usage')
            await bursar.take(
              one.days.map((n) => ({ ...day(n, { provider }), id: `${provider} ${n}` })),
              { source: provider },
            );
          else if (one.kind === 'bill')
            await bursar.take(
              one.days.map((n) => line(n, formatDecimal({ unscaled: BigInt(one.cents), scale: 2 }), { provider })),
              { source: `bill of ${provider}` },
            );
          else await bursar.runner.drain();
        }
        await bursar.runner.drain();
        const cost = async (basis: 'accrued' | 'effective', to = '2026-11-01') =>
          (await bursar.spend({ basis, groupBy: 'provider', to })).rows.find((row) => row['provider'] === provider)
            ?.cost ?? null;
        const hasBill = steps.some(({ kind }) => kind === 'bill');
        const [total] = await bursar.stores.variances.totals('default', { provider });
        const expected = hasBill ? less(await cost('effective'), await cost('accrued')) : undefined;
        expect(total === undefined ? undefined : less(total.variance, '0')).toBe(expected);
        expect(await bursar.db.query(`select stage, last_error from work where last_error is not null`)).toEqual([]);
      }),
      { numRuns: 12 },
    );
  });
});
