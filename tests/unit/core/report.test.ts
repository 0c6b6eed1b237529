/**
 * The monthly report's arithmetic by hand: the bridge, spend, savings, idle cost, the distance to the optimum, and for
 * whom it is written.
 */
import { describe, expect, it } from 'vitest';
import { bridgeOf, EFFECTS, type BridgeInput, type Effects } from '../../../src/core/report/bridge.js';
import { formatFor, readerFor } from '../../../src/core/report/reader.js';
import {
  amountText,
  bridgeBetween,
  comparedWith,
  dailySeries,
  daysAfter,
  nextMonth,
  soFarOf,
  spendOf,
} from '../../../src/core/report/spend.js';
import { HOUR_MS, monthOfLabel } from '../../../src/core/time.js';
import { hindsight, optimumOf } from '../../../src/planning/commitment/hindsight.js';
import { nextMonthOf } from '../../../src/planning/forecast/next-month.js';
import { cell, decimal, factsOf, gpuHours, reportOf, saving } from '../../support/report.js';

const input = (
  before: readonly [cost: bigint, quantity: bigint],
  after: readonly [cost: bigint, quantity: bigint],
  over: Partial<BridgeInput> = {},
): BridgeInput => ({
  provider: 'AWS',
  sku: 'p5.48xlarge',
  gpuModel: 'H100',
  term: 'on-demand',
  category: 'Usage',
  before: { cost: before[0], quantity: before[1] },
  after: { cost: after[0], quantity: after[1] },
  ...over,
});
const NONE: Effects = { volume: 0n, price: 0n, mix: 0n, new: 0n, gone: 0n, charges: 0n, credits: 0n };
const effectsOf = (inputs: readonly BridgeInput[]): Effects => bridgeOf(inputs).effects;

describe('the bridge', () => {
  it('is volume alone where the same is used more at the same price', () => {
    // 100 h at 8, then 150 h at 8.
    expect(effectsOf([input([800n, 100n], [1200n, 150n])])).toEqual({ ...NONE, volume: 400n });
  });

  it('is price alone where the same hours cost more', () => {
    expect(effectsOf([input([800n, 100n], [900n, 100n])])).toEqual({ ...NONE, price: 100n });
  });

  it('is mix alone where a kind moves to spot', () => {
    // 100 h on demand at 8 and 100 h on spot at 2 become 50 and 150 h: 150 h x 2 + 50 h x 8 = 700 instead of 1000.
    expect(effectsOf([input([800n, 100n], [400n, 50n]), input([200n, 100n], [300n, 150n], { term: 'spot' })])).toEqual({
      ...NONE,
      mix: -300n,
    });
  });

  it('tells volume, mix and price of one group apart', () => {
    // Before 100 h at 8 and 100 h at 2; after 90 h at 10 and 210 h at 2: the group grows by half (1000 -> 1500), shares
    // move from 50:50 to 30:70 (at old prices 90 x 8 + 210 x 2 = 1140), and on demand gets dearer by 2 over 90 h.
    const all = [input([800n, 100n], [900n, 90n]), input([200n, 100n], [420n, 210n], { term: 'spot' })];
    expect(effectsOf(all)).toEqual({ ...NONE, volume: 500n, mix: -360n, price: 180n });
    const { cells } = bridgeOf(all);
    expect(cells.find(({ term }) => term === 'on-demand')?.effects).toEqual({
      ...NONE,
      volume: 400n,
      mix: -480n,
      price: 180n,
    });
    expect(cells.find(({ term }) => term === 'spot')?.effects).toEqual({ ...NONE, volume: 100n, mix: 120n });
  });

  it('keeps kinds apart: more of one is no mix of another', () => {
    expect(
      effectsOf([
        input([800n, 100n], [1600n, 200n]),
        input([100n, 100n], [100n, 100n], { gpuModel: 'A10', sku: 'g5' }),
      ]),
    ).toEqual({ ...NONE, volume: 800n });
  });

  it('names what is new, gone, a charge or a credit', () => {
    expect(
      effectsOf([
        input([0n, 0n], [300n, 30n], { sku: 'new' }),
        input([70n, 7n], [0n, 0n], { sku: 'old' }),
        input([5n, 0n], [9n, 0n], { sku: 'EBS', gpuModel: null }),
        input([0n, 0n], [500n, 0n], { category: 'Purchase', sku: 'ri' }),
        input([-10n, 0n], [-30n, 0n], { category: 'Credit', sku: null }),
        input([0n, 0n], [12n, 0n], { category: 'Tax', sku: null }),
      ]),
    ).toEqual({ ...NONE, new: 300n, gone: -70n, charges: 4n + 500n + 12n, credits: -20n });
  });

  it('calls a cell that has lost its quantity a charge: no price can be told', () => {
    expect(effectsOf([input([800n, 100n], [900n, 0n])])).toEqual({ ...NONE, charges: 100n });
  });

  it('sums exactly where nothing divides evenly', () => {
    const all = [
      input([100n, 3n], [77n, 7n]),
      input([10n, 11n], [1n, 13n], { term: 'spot' }),
      input([1n, 17n], [1_000_003n, 19n], { provider: 'Azure' }),
    ];
    const { effects, before, after } = bridgeOf(all);
    expect(EFFECTS.reduce((sum, effect) => sum + effects[effect], 0n)).toBe(after - before);
    expect([before, after]).toEqual([111n, 1_000_081n]);
  });
});

it('amounts in other currencies stand by the name of the currency', () => {
  const amounts = (...pairs: [string, string][]) => new Map(pairs.map(([name, amount]) => [name, decimal(amount)]));
  const spend = { ...factsOf().spend, unconverted: amounts(['JPY', '7'], ['EUR', '1.5'], ['GBP', '2']) };
  expect(reportOf({ spend: { ...spend, setAside: amounts(['USD', '3'], ['CHF', '4']) } }).spend).toMatchObject({
    unconverted: [
      { currency: 'EUR', amount: '1.50' },
      { currency: 'GBP', amount: '2.00' },
      { currency: 'JPY', amount: '7.00' },
    ],
    setAside: [
      { currency: 'CHF', amount: '4.00' },
      { currency: 'USD', amount: '3.00' },
    ],
  });
});

describe('the bridge of two months', () => {
  const monthOf = (cells: Parameters<typeof cell>[]) => ({
    cells: cells.map((one) => cell(...one)),
    unconverted: new Map(),
  });

  it("keeps a bill's own digits, and what has no price apart", () => {
    const stated = bridgeBetween(
      monthOf([
        ['8.00155109870', 10],
        [null, 4, { sku: 'x' }],
      ]),
      monthOf([
        ['8', 10],
        [null, 6, { sku: 'x' }],
      ]),
    );
    expect(stated.known).toMatchObject({
      change: '0.0015510987',
      effects: { price: '0.0015510987', volume: '0.00', new: '0.00' },
      unpricedGpuHours: { before: '6.000000', after: '4.000000' },
    });
    expect(stated.known?.cells).toHaveLength(1);
  });

  it('takes the priced part of a cell as its quantity', () => {
    // 10 h of which 5 had a price before, 10 h of which all has one: the priced volume doubled.
    const stated = bridgeBetween(monthOf([['80', 10]]), monthOf([['40', 10, { unpriced: gpuHours(5) }]]));
    expect(stated.known?.effects).toMatchObject({ volume: '40.00', price: '0.00' });
  });

  it('sums the teams of a cell, and what is not shown one by one', () => {
    const many = Array.from({ length: 25 }, (_, at): Parameters<typeof cell> => [`${at + 1}`, 1, { sku: `sku-${at}` }]);
    const { known } = bridgeBetween(
      monthOf([...many, ['5', 1, { sku: 'sku-0', team: 'blue' }]]),
      monthOf([['1', 1, { sku: 'gone' }]]),
    );
    expect(known?.cells).toHaveLength(20);
    expect(known?.rest).toMatchObject({ cells: 6 });
    const all = [...(known?.cells ?? []).map(({ after }) => after), known?.rest?.after ?? '0'].reduce(
      (sum, after) => sum + Number(after),
      0,
    );
    expect(all).toBe((25 * 26) / 2 + 5);
  });

  it('is not known where a month has no record', () => {
    expect(bridgeBetween(monthOf([['1', 1]]), monthOf([]))).toEqual({ known: null, reason: 'nothing-recorded-before' });
    expect(bridgeBetween(monthOf([]), monthOf([['1', 1]]))).toEqual({ known: null, reason: 'nothing-recorded' });
  });
});

describe('a report', () => {
  const report = reportOf();

  it('has lines that sum to its total, to the last digit', () => {
    expect(report.spend.total).toBe('1683.3650078877');
    expect(report.spend.credits).toBe('-20.25');
    for (const lines of [report.spend.byProvider, report.spend.byGpuModel, report.spend.byTerm, report.spend.byTeam]) {
      const sum = lines.reduce(
        (total, { amount }) =>
          total + (amount === null ? 0n : decimal(amount).unscaled * 10n ** BigInt(11 - decimal(amount).scale)),
        0n,
      );
      expect(sum).toBe(decimal('1683.36500788770').unscaled * 10n ** 0n);
    }
  });

  it('leaves unknown what has no price, and does not count it as 0', () => {
    expect(report.spend.byGpuModel.find(({ name }) => name === 'G2')).toEqual({
      name: 'G2',
      amount: null,
      // The month before has a record, in which it is not.
      before: '0.00',
      share: null,
      gpuHours: '12.000000',
      unpricedGpuHours: '12.000000',
    });
    expect(report.spend.unconverted).toEqual([{ currency: 'EUR', amount: '12.50' }]);
  });

  it('knows that what only one of two recorded months names was not used in the other, and no more than that', () => {
    const [now, old, empty] = [[cell('5', 1)], [cell('7', 2, { gpuModel: 'A10' })], []].map((cells) => ({
      cells,
      unconverted: new Map(),
    }));
    const kinds = (spend: typeof now, before: typeof now) =>
      reportOf({ spend: spend!, before: before! }).spend.byGpuModel.map((one) => [
        one.name,
        one.amount,
        one.before,
        one.gpuHours,
      ]);
    expect(kinds(now, old)).toEqual([
      ['H100', '5.00', '0.00', '1.000000'],
      ['A10', '0.00', '7.00', '0.000000'],
    ]);
    expect(kinds(now, empty)).toEqual([['H100', '5.00', null, '1.000000']]);
    expect(kinds(empty, old)).toEqual([['A10', null, '7.00', null]]);
  });

  it('adds savings by the state of their hours, and never an estimate to a measurement', () => {
    expect(report.savings).toMatchObject({
      measured: [{ currency: 'USD', amount: '200.00' }],
      verified: [{ currency: 'USD', amount: '100.00' }],
      estimated: {
        count: 1,
        unknown: 0,
        monthly: [{ currency: 'USD', amount: '1.00' }],
        monthlyLow: [{ currency: 'USD', amount: '-0.50' }],
        monthlyHigh: [{ currency: 'USD', amount: '2.50' }],
      },
      proven: [{ currency: 'USD', amount: '300.00' }],
      unverifiable: { count: 1, reasons: [{ reason: 'target-not-metered', count: 1 }] },
    });
    // What was taken back is expected no more; a sum with an end that is not known would be too narrow.
    const others = reportOf({
      savings: [
        saving({ state: 'estimated', rolledBack: true }),
        saving({ action: 'act-2', state: 'estimated', estimate: { mean: 2_000_000_000n, low: null, high: null } }),
        saving({ action: 'act-3', state: 'estimated' }),
      ],
    });
    expect(others.savings.estimated).toEqual({
      count: 2,
      unknown: 0,
      rolledBack: 1,
      monthly: [{ currency: 'USD', amount: '58402.00' }],
      monthlyLow: [],
      monthlyHigh: [],
    });
    expect(others.savings.actions[0]).toMatchObject({ reason: 'rolled-back', estimatedMonthlySavings: '58400.00' });
    const none = reportOf({ savings: [saving({ state: 'estimated', estimate: null })] });
    expect(none.savings.estimated).toMatchObject({ count: 1, unknown: 1, monthly: [], monthlyLow: [] });
  });

  it('keeps currencies apart', () => {
    const two = reportOf({ savings: [saving(), saving({ action: 'act-4', currency: 'CNY' })] });
    expect(two.savings.measured).toEqual([
      { currency: 'CNY', amount: '200.00' },
      { currency: 'USD', amount: '200.00' },
    ]);
  });

  it('ranks what is left by what it surely saves, what is not known last, and takes open ones as next steps', () => {
    expect(report.leftOnTable.chances.map(({ recommendation }) => recommendation)).toEqual(['rec-1', 'rec-2', 'rec-3']);
    expect(report.leftOnTable.byState[0]).toMatchObject({
      state: 'open',
      count: 2,
      unknown: 1,
      monthly: [{ currency: 'USD', amount: '900.00' }],
      monthlyLow: [{ currency: 'USD', amount: '400.00' }],
      monthlyHigh: [{ currency: 'USD', amount: '1100.00' }],
    });
    // Of the third nobody knows what it saves.
    expect(report.nextSteps.map(({ recommendation }) => recommendation)).toEqual(['rec-1']);
  });

  it('states the range of what is left only where it is known', () => {
    const [chance] = factsOf().chances;
    if (chance === undefined) throw new Error('October has chances');
    const left = (estimate: typeof chance.estimate) =>
      reportOf({ chances: [{ ...chance, estimate }] }).leftOnTable.byState[0];
    expect(left({ mean: 900_000_000_000n, low: null, high: '1100.00' })).toMatchObject({
      unknown: 0,
      monthlyLow: [],
      monthlyHigh: [{ currency: 'USD', amount: '1100.00' }],
    });
    expect(left(null)).toMatchObject({ count: 1, unknown: 1, monthly: [], monthlyLow: [], monthlyHigh: [] });
  });

  it('prices little-used hours by what an hour of the kind cost', () => {
    // 1,200 minutes are 20 GPU-hours; 225 H100-hours cost 1595.623456789, so 20 cost 141.83; 100 of 237 metered hours
    // were sampled.
    const { known } = report.utilisation;
    expect(known?.lines).toEqual([
      {
        gpuModel: 'H100',
        sampledGpuHours: '100.000000',
        measuredGpuHours: '90.000000',
        lowGpuHours: '20.000000',
        meanUtilisation: 0.6,
        coverage: 0.444444,
        lowCost: '141.833196159',
      },
    ]);
    expect(known?.coverage).toBe(0.348432);
    const unpriced = reportOf({ samples: [{ gpuModel: 'G2', sampled: 60, measured: 60, low: 60, utilisation: 0 }] });
    expect(unpriced.utilisation.known).toMatchObject({ lowGpuHours: '1.000000', lowCost: null });
  });
});

describe('hindsight', () => {
  const year = { termHours: 8760, priceRatio: 0.6, alpha: 0 };
  const steady = (gpus: number, hours = 48): Float64Array => new Float64Array(hours).fill(gpus);

  it('buys for steady use what was bought on demand', () => {
    expect(hindsight(steady(2), steady(0), year)).toEqual({
      demandHours: 96,
      actual: { onDemand: 96, committed: 0 },
      optimum: { onDemand: 0, committed: 96 },
    });
  });

  it('leaves a short peak on demand', () => {
    const peak = Float64Array.from({ length: 48 }, (_, hour) => (hour < 10 ? 1 : 0));
    expect(hindsight(peak, steady(0), year).optimum).toEqual({ onDemand: 10, committed: 0 });
  });

  it('takes a commitment as held all day at the highest use', () => {
    const used = Float64Array.from({ length: 48 }, (_, hour) => (hour === 3 ? 2.2 : 0));
    expect(hindsight(steady(0), used, year).actual).toEqual({ onDemand: 0, committed: 72 });
  });

  it('is a share of the possible saving: one of three GPUs was committed', () => {
    // 744 h x 3 GPUs at 10 is 22,320; one committed at 6 saves 2,976, three save 8,928.
    expect(reportOf().optimum.known).toMatchObject({
      share: 0.333333,
      saved: '2976.00',
      possible: '8928.00',
      leftOutGpuHours: '0.00',
    });
    expect(reportOf().optimum.known?.places[0]).toMatchObject({
      gpuHours: '2232',
      onDemandCost: '22320.00',
      actualCost: '19344.00',
      optimumCost: '13392.00',
    });
  });

  it('says why there is none', () => {
    const [place] = factsOf().demand;
    if (place === undefined) throw new Error('the facts have a place');
    expect(optimumOf([])).toEqual({ known: null, reason: 'nothing-metered' });
    expect(optimumOf([{ ...place, onDemand: null }])).toEqual({ known: null, reason: 'no-on-demand-price' });
    expect(optimumOf([{ ...place, offer: null }])).toEqual({ known: null, reason: 'no-commitment-offer' });
    const idle = optimumOf([{ ...place, onDemandGpus: steady(0), committedGpus: steady(0) }]);
    expect(idle.known).toMatchObject({ share: null, possible: '0.00' });
    expect(
      optimumOf([place, { ...place, offer: null, onDemandGpus: steady(1.5), committedGpus: steady(0) }]).known
        ?.leftOutGpuHours,
    ).toBe('72.00');
  });
});

describe('the days that a month is compared with', () => {
  const compared = (month: string, zone: string, asOf: string) => {
    const { before, comparedDays } = comparedWith(
      monthOfLabel(month, zone) ?? { start: 0, end: 0 },
      zone,
      Date.parse(asOf),
    );
    return [new Date(before.start).toISOString(), new Date(before.end).toISOString(), comparedDays];
  };

  it('are the whole month before, once the month is over', () => {
    const whole = ['2026-10-01T00:00:00.000Z', '2026-11-01T00:00:00.000Z', null];
    expect(compared('2026-11', 'UTC', '2026-12-01T00:00:00Z')).toEqual(whole);
  });

  it('are the same days while it runs, as many as the month before has', () => {
    const days = (last: string, end: string) => [
      '2026-10-01T00:00:00.000Z',
      `${end}T00:00:00.000Z`,
      { first: '2026-10-01', last },
    ];
    expect(compared('2026-11', 'UTC', '2026-11-23T20:40:00Z')).toEqual(days('2026-10-23', '2026-10-24'));
    expect(compared('2026-11', 'UTC', '2026-11-23T00:00:00Z')).toEqual(days('2026-10-22', '2026-10-23'));
    expect(compared('2026-11', 'UTC', '2026-11-01T00:00:00Z')).toEqual(days('2026-10-01', '2026-10-02'));
    expect(compared('2026-03', 'UTC', '2026-03-30T10:00:00Z')).toEqual([
      '2026-02-01T00:00:00.000Z',
      '2026-03-01T00:00:00.000Z',
      { first: '2026-02-01', last: '2026-02-28' },
    ]);
  });

  it("are of the report's zone", () => {
    // 16:30 UTC of the 22nd is the 23rd in Shanghai; Los Angeles turns its clocks back on the 1st of November.
    expect(compared('2026-11', 'Asia/Shanghai', '2026-11-22T16:30:00Z')).toEqual([
      '2026-09-30T16:00:00.000Z',
      '2026-10-23T16:00:00.000Z',
      { first: '2026-10-01', last: '2026-10-23' },
    ]);
    expect(compared('2026-11', 'America/Los_Angeles', '2026-11-03T07:30:00Z')[1]).toBe('2026-10-03T07:00:00.000Z');
  });
});

describe('the next month', () => {
  it("is as long as the calendar says, in the report's zone", () => {
    expect(nextMonth({ period: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) }, zone: 'UTC' })).toEqual({
      from: '2026-02-01',
      to: '2026-02-28',
      days: 28,
    });
    const shanghai = monthOfLabel('2026-10', 'Asia/Shanghai');
    expect(nextMonth({ period: shanghai ?? { start: 0, end: 0 }, zone: 'Asia/Shanghai' })).toEqual({
      from: '2026-11-01',
      to: '2026-11-30',
      days: 30,
    });
  });

  it('costs what every day has cost, where each costs the same', () => {
    const days = Array.from({ length: 61 }, (_, at) => ({
      day: `2026-${at < 30 ? '09' : '10'}-${String((at < 30 ? at : at - 30) + 1).padStart(2, '0')}`,
      amount: decimal('50'),
    }));
    const { known } = nextMonthOf(factsOf({ days }));
    expect(known).toMatchObject({
      from: '2026-11-01',
      to: '2026-11-30',
      historyDays: 61,
      coverage: 0.8,
      method: 'level-drift-week',
    });
    expect(Number(known?.mean)).toBeCloseTo(1500, 0);
    expect(Number(known?.low)).toBeLessThan(1500);
    expect(Number(known?.high)).toBeGreaterThan(1500);
  });

  it('is not forecast before the month is over, or from nothing', () => {
    expect(nextMonthOf(factsOf({ asOf: Date.UTC(2026, 9, 20) }))).toEqual({ known: null, reason: 'month-not-over' });
    expect(nextMonthOf(factsOf({ days: [] }))).toEqual({ known: null, reason: 'nothing-recorded' });
  });

  it('counts days without spend', () => {
    expect(
      dailySeries(
        [
          { day: '2026-10-01', amount: decimal('2.5') },
          { day: '2026-10-04', amount: decimal('1') },
        ],
        '2026-10-05',
      ),
    ).toEqual([2.5, 0, 0, 1, 0]);
  });
});

describe('the reader', () => {
  it('is who Accept-Language says', () => {
    expect(readerFor('zh-CN,zh;q=0.9,en;q=0.8')).toEqual({ language: 'zh', locale: 'zh-CN' });
    expect(readerFor('de, en-GB;q=0.7, zh;q=0.3')).toEqual({ language: 'en', locale: 'en-GB' });
    expect(readerFor('en;q=0, zh')).toEqual({ language: 'zh', locale: 'zh-CN' });
    for (const odd of [undefined, null, '', 'fr', '*', 'en-----', 'zz-ZZ;q=9'])
      expect(readerFor(odd)).toEqual({ language: 'en', locale: 'en' });
  });

  it('gets the format that Accept likes best, JSON where it names none', () => {
    expect(formatFor('text/html,application/xhtml+xml,*/*;q=0.8')).toBe('html');
    expect(formatFor('application/json;q=0.5, application/pdf')).toBe('pdf');
    expect(formatFor('text/csv; charset=utf-8')).toBe('csv');
    for (const none of [undefined, '', '*/*', 'text/plain', 'text/html;q=0']) expect(formatFor(none)).toBe('json');
  });
});

describe('amounts', () => {
  it('keep their digits, at least two of them', () => {
    expect(
      ['5', '5.1', '5.10', '0.000000001', '-3.450000000', '8.00155109870'].map((text) => amountText(decimal(text))),
    ).toEqual(['5.00', '5.10', '5.10', '0.000000001', '-3.45', '8.0015510987']);
  });
});

describe('what the month after a report has come to', () => {
  const october = monthOfLabel('2026-10', 'America/New_York') ?? { start: 0, end: 0 };
  const after = (asOf: string) => daysAfter(october, 'America/New_York', Date.parse(asOf));

  it('is of its whole local days that are over, at most of all of them', () => {
    expect(after('2026-10-20T00:00:00Z')).toBeNull();
    expect(after('2026-11-02T04:59:59Z')).toBeNull();
    // The clocks go back on 1 November: that day has 25 hours.
    expect(after('2026-11-02T05:00:00Z')).toEqual({
      interval: { start: october.end, end: october.end + 25 * HOUR_MS },
      days: { first: '2026-11-01', last: '2026-11-01' },
    });
    expect(after('2027-02-01T00:00:00Z')?.days).toEqual({ first: '2026-11-01', last: '2026-11-30' });
  });

  it('is unknown where a part of it is, and absent where no day is over', () => {
    const { before } = factsOf();
    expect(soFarOf(null)).toBeNull();
    expect(soFarOf({ ...before, first: '2026-11-01', last: '2026-11-03' })).toEqual({
      first: '2026-11-01',
      last: '2026-11-03',
      days: 3,
      total: '1377.70',
    });
    expect(soFarOf({ ...before, cells: [], first: '2026-11-01', last: '2026-11-01' })?.total).toBe(
      spendOf({ ...factsOf(), spend: { ...before, cells: [] } }).total,
    );
  });
});
