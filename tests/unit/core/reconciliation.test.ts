/** Matching, reasons, findings and the rule of trust, on cases worked out by hand. */
import { describe, expect, it } from 'vitest';
import { BillCells, type BillSummary } from '../../../src/core/bill/cells.js';
import {
  inTeamsCurrencies,
  matchCells,
  SkuNames,
  type AccruedCell,
  type BilledCell,
} from '../../../src/core/bill/matching.js';
import { parseDecimal, formatDecimal } from '../../../src/core/decimal.js';
import { FxTable } from '../../../src/core/price/fx.js';
import {
  appliesFrom,
  judgeRate,
  LearnedRates,
  type LearnedRate,
  type RateEvidence,
} from '../../../src/core/price/learned-rate.js';
import {
  DEFAULT_THRESHOLD,
  monthOfPeriod,
  rateEvidence,
  readThreshold,
  reconcile,
} from '../../../src/core/bill/reconciliation.js';
import { Grouping } from '../../../src/core/cost/rollup.js';
import { GPU_PARTS, PART_MS_PER_GPU_HOUR, type UsageRecord } from '../../../src/core/usage.js';
import { billed as billLine, HOUR, MONDAY } from '../../support/records.js';

const FX = new FxTable('USD', []);

function summaryOf(...records: readonly UsageRecord[]): BillSummary {
  const [cells, grouping] = [new BillCells(), new Grouping(() => 'red', [])];
  for (const record of records) cells.add(grouping.groupOf(record), record);
  return cells.summary();
}

/** Of a bill that is not closed. */
const cellsOf = (...records: readonly UsageRecord[]): BilledCell[] =>
  summaryOf(...records).cells.map((cell) => ({ ...cell, isClosed: false }));

const NANO = 1_000_000_000n;
const GPU_DAY = 24n * PART_MS_PER_GPU_HOUR;
const amount = (text: string) => {
  const value = parseDecimal(text);
  if (value === null) throw new Error(`not an amount: ${text}`);
  return value;
};

const accrued = (over: Partial<AccruedCell> = {}): AccruedCell => ({
  provider: 'AWS',
  account: 'a1',
  sku: 'p5',
  gpuModel: null,
  region: 'us',
  term: 'on-demand',
  team: 'red',
  day: '2026-10-05',
  component: 'gpu',
  currency: 'USD',
  nanos: 100n * NANO,
  listNanos: over.nanos ?? 100n * NANO,
  meteredPartMs: GPU_DAY,
  unpricedPartMs: 0n,
  unpricedLines: 0,
  lines: 24,
  ...over,
});
const charged = (text: string, over: Partial<BilledCell> = {}): BilledCell => ({
  provider: 'AWS',
  account: 'a1',
  sku: 'p5',
  gpuModel: null,
  region: 'us',
  term: 'on-demand',
  team: 'red',
  day: '2026-10-05',
  category: 'Usage',
  currency: 'USD',
  billedCurrency: null,
  isUnconverted: false,
  billed: amount(text),
  effective: amount(text),
  list: null,
  compared: amount(text),
  lacksEffective: false,
  billedPartMs: GPU_DAY,
  spansDays: false,
  lastDay: '2026-10-05',
  isClosed: true,
  periodStart: Date.UTC(2026, 9, 1),
  periodEnd: Date.UTC(2026, 10, 1),
  ...over,
});
const LISTED: Readonly<Record<string, string | null>> = { p5: 'H100', 'p5.small': 'H100', p4d: 'A100-40GB' };
const namesFor = (cells: readonly AccruedCell[]): SkuNames => new SkuNames(cells, (_, sku) => LISTED[sku]);
const compare = (metered: readonly AccruedCell[], bill: readonly BilledCell[], names = namesFor(metered)) =>
  reconcile({ accrued: metered, billed: bill, names }, readThreshold(DEFAULT_THRESHOLD));
/** SKUs of each match, the meter's and the bill's. */
const matched = (metered: readonly AccruedCell[], bill: readonly BilledCell[], names = namesFor(metered)) =>
  matchCells(metered, bill, names)
    .map((match) => [
      match.accrued
        .map(({ sku, region }) => `${sku} ${region}`)
        .sort()
        .join(),
      match.billed
        .map(({ sku, region }) => `${sku} ${region}`)
        .sort()
        .join(),
      match.by,
    ])
    .sort();

describe('matching', () => {
  it.each([
    ['the same name', accrued(), charged('1'), 'sku'],
    ['a commitment over on-demand usage', accrued(), charged('1', { term: 'savings-plan-3y' }), 'sku'],
    [
      'an account, region or term that one side leaves open',
      accrued({ account: null, term: null }),
      charged('1', { region: null }),
      'sku',
    ],
    [
      'a meter that names models only',
      accrued({ sku: null, gpuModel: 'H100' }),
      charged('1', { gpuModel: 'H100' }),
      'gpu-model',
    ],
    [
      'a price id of a model that the meter has under one name',
      accrued(),
      charged('1', { sku: 'AB12', gpuModel: 'H100' }),
      'gpu-model',
    ],
    [
      'storage that is sold under its own name',
      accrued({ sku: 'gp3', component: 'storage' }),
      charged('1', { sku: 'gp3' }),
      'sku',
    ],
  ])('joins %s', (_, metered, bill, by) =>
    expect(matchCells([metered], [bill], namesFor([metered]))).toEqual([{ accrued: [metered], billed: [bill], by }]),
  );

  it.each([
    ['another account', accrued(), charged('1', { account: 'b2' })],
    ['another region', accrued(), charged('1', { region: 'eu' })],
    ['spot and on-demand', accrued({ term: 'spot' }), charged('1')],
    ['another currency', accrued(), charged('1', { currency: 'EUR' })],
    ['another provider', accrued(), charged('1', { provider: 'Oracle' })],
    ['another SKU that both know, of the same model', accrued(), charged('1', { sku: 'p5.small', gpuModel: 'H100' })],
    ['a price id that nothing explains', accrued(), charged('1', { sku: 'AB12' })],
    ['a bill without any name', accrued(), charged('1', { sku: null })],
  ])('leaves apart %s', (_, metered, bill) =>
    expect(matchCells([metered], [bill], namesFor([metered])).map(({ by }) => by)).toEqual([null, null]),
  );

  it('takes a coarser whole where a side leaves open what the other tells apart', () => {
    const meter = [accrued({ region: null }), accrued({ sku: 'p4d' })];
    const bill = [
      charged('1', { region: 'us' }),
      charged('2', { region: 'eu' }),
      charged('3', { sku: 'p4d', region: 'eu' }),
    ];
    expect(matched(meter, bill)).toEqual([
      ['', 'p4d eu', null],
      ['p4d us', '', null],
      ['p5 null', 'p5 eu,p5 us', 'sku'],
    ]);
  });

  it('never guesses between two names of one model', () => {
    const meter = [accrued(), accrued({ sku: 'p5.small' })];
    expect(matched(meter, [charged('1', { sku: 'AB12', gpuModel: 'H100' })]).map(([, , by]) => by)).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('knows a price id by its resources, unless they speak with two tongues', () => {
    const meter = [accrued(), accrued({ sku: 'p4d' })];
    const names = namesFor(meter);
    names.link('AWS', 'AB12', { sku: 'p4d', gpuModel: null });
    expect(matched(meter, [charged('1', { sku: 'AB12' })], names)).toEqual([
      ['p4d us', 'AB12 us', 'resource'],
      ['p5 us', '', null],
    ]);
    names.link('AWS', 'AB12', { sku: 'p5', gpuModel: null });
    expect(matched(meter, [charged('1', { sku: 'AB12' })], names).map(([, , by]) => by)).toEqual([null, null, null]);
  });

  it('knows it by most of its resources where one of them was resized since', () => {
    const meter = [accrued(), accrued({ sku: 'p4d' })];
    const names = namesFor(meter);
    for (const sku of ['p4d', 'p5', 'p4d']) names.link('AWS', 'AB12', { sku, gpuModel: null });
    expect(matched(meter, [charged('1', { sku: 'AB12' })], names)).toEqual([
      ['p4d us', 'AB12 us', 'resource'],
      ['p5 us', '', null],
    ]);
  });

  it('keeps storage beside GPUs apart from the instance', () => {
    const meter = [accrued(), accrued({ component: 'storage', nanos: NANO, meteredPartMs: null })];
    expect(
      compare(meter, [charged('90')]).rows.map(({ component, amount: differs, reasons }) => [
        component,
        differs && formatDecimal(differs),
        reasons,
      ]),
    ).toEqual([
      ['gpu', '-10.000000000', ['rate']],
      ['storage', '-1.000000000', ['only-metered']],
    ]);
  });
});

describe('the reasons', () => {
  const why = (metered: AccruedCell | null, bill: BilledCell | null) =>
    compare(metered === null ? [] : [metered], bill === null ? [] : [bill])
      .rows.map(({ reasons }) => reasons.join(' '))
      .join('; ');
  it.each([
    ['nothing where both agree', accrued(), charged('100'), ''],
    ['the rate', accrued(), charged('40'), 'rate'],
    ['the quantity', accrued(), charged('50', { billedPartMs: GPU_DAY / 2n }), 'quantity'],
    ['both', accrued(), charged('40', { billedPartMs: GPU_DAY / 2n }), 'quantity rate'],
    ['rounding', accrued(), charged('100.000000020'), 'rounding'],
    ['a bill without quantity', accrued(), charged('40', { billedPartMs: null }), 'quantity-unknown'],
    [
      'a bill without quantity whose list cost is ours',
      accrued(),
      charged('40', { billedPartMs: null, list: amount('100.5') }),
      'rate',
    ],
    [
      'a bill without quantity whose list cost is another',
      accrued(),
      charged('40', { billedPartMs: null, list: amount('80') }),
      'quantity-unknown',
    ],
    [
      'usage without a price',
      accrued({ nanos: null, listNanos: null, meteredPartMs: null, unpricedPartMs: GPU_DAY, unpricedLines: 24 }),
      charged('40'),
      'unpriced',
    ],
    ['usage that is not billed', accrued(), null, 'only-metered'],
    ['a bill of what is not metered', null, charged('3'), 'only-billed'],
    ['a bill of a SKU that nobody knows', null, charged('3', { sku: 'AB12' }), 'only-billed sku-not-comparable'],
    ['a line for a month', accrued(), charged('100', { spansDays: true }), 'spans-days'],
    ['a credit', null, charged('-3', { category: 'Credit' }), 'apart'],
    [
      'a currency without a rate',
      null,
      charged('3', { currency: 'EUR', isUnconverted: true }),
      'only-billed no-fx-rate',
    ],
  ])('tell of %s', (_, metered, bill, expected) => expect(why(metered, bill)).toBe(expected));

  it('tell what an open bill does not speak of yet, by its own account', () => {
    const later = accrued({ day: '2026-10-06' });
    const bill = [
      charged('100', { isClosed: false }),
      charged('9', { account: 'b2', sku: 'p4d', day: '2026-10-06', lastDay: '2026-10-06', isClosed: false }),
    ];
    expect(compare([accrued(), later], bill).rows.map(({ day, reasons }) => [day, reasons.join(' ')])).toEqual([
      ['2026-10-05', ''],
      ['2026-10-06', 'only-metered not-billed-yet'],
      ['2026-10-06', 'only-billed'],
    ]);
  });

  it('split a variance into quantity and rate, exactly', () => {
    // 24 GPU-hours at 100: 6 more at the same rate are 25; the bill is 110, so that the rate takes 15 off.
    expect(
      compare([accrued()], [charged('110.0001', { billedPartMs: 30n * PART_MS_PER_GPU_HOUR })]).rows,
    ).toMatchObject([
      {
        amount: amount('10.000100000'),
        quantityAmount: amount('25.000000000'),
        rateAmount: amount('-14.999900000'),
        ratio: amount('0.100001'),
      },
    ]);
  });

  it('never have a ratio of an accrual that is nothing, or not whole', () => {
    expect(compare([accrued({ nanos: 0n })], [charged('4')]).rows).toMatchObject([{ ratio: null }]);
    expect(compare([accrued({ unpricedPartMs: 1n, unpricedLines: 1 })], [charged('4')]).rows).toMatchObject([
      { ratio: null, quantityAmount: null, amount: amount('-96.000000000') },
    ]);
    expect(compare([], [charged('4')]).rows).toMatchObject([{ ratio: null, accrued: null }]);
  });

  it('compare with the billed cost where a line states no effective one', () => {
    const line = (id: string, effective: string | null) =>
      billLine(id, '10', { sku: 'p5', region: 'us' }, { effective: effective === null ? null : amount(effective) });
    const cells = cellsOf(line('a', '4'), line('b', null));
    const [cell] = inTeamsCurrencies(cells, () => 'USD', FX);
    expect(cell).toMatchObject({
      billed: amount('20'),
      effective: amount('4'),
      compared: amount('14'),
      lacksEffective: true,
    });
    expect(compare([], cells).rows).toMatchObject([{ basis: 'mixed', compared: amount('14') }]);
  });
});

describe('a finding', () => {
  const found = (metered: readonly AccruedCell[], bill: readonly BilledCell[]) =>
    compare(metered, bill).findings.map(({ amount: differs, days, reasons }) => [
      formatDecimal(differs),
      days,
      reasons.join(' '),
    ]);

  it('is beyond the ratio and beyond the amount, over all days of a match', () => {
    expect(found([accrued({ nanos: 1000n * NANO })], [charged('1050')])).toEqual([]);
    expect(found([accrued({ nanos: 1000n * NANO })], [charged('1050.01')])).toEqual([['50.010000000', 1, 'rate']]);
    expect(found([accrued()], [charged('90')])).toEqual([]);
    expect(found([accrued()], [charged('89.99')])).toEqual([['-10.010000000', 1, 'rate']]);
    const twoDays = [accrued(), accrued({ day: '2026-10-06' })];
    expect(found(twoDays, [charged('70'), charged('130', { day: '2026-10-06' })])).toEqual([]);
    expect(found(twoDays, [charged('94'), charged('94', { day: '2026-10-06' })])).toEqual([
      ['-12.000000000', 2, 'rate'],
    ]);
  });

  it('is never what the bill does not speak of yet, nor the rest of a cloud', () => {
    expect(found([accrued({ day: '2026-10-09' })], [charged('0', { sku: 'p4d', isClosed: false })])).toEqual([]);
    expect(found([], [charged('500', { sku: 'S3', billedPartMs: null })])).toEqual([]);
    expect(found([], [charged('500', { sku: 'p9', gpuModel: 'B200' })])).toEqual([
      ['500', 1, 'only-billed sku-not-comparable'],
    ]);
  });

  it('has a threshold that is two decimals, or every problem named', () => {
    expect(() => readThreshold({ ratio: 'much', amount: '-1' })).toThrow(/2 problem/);
  });
});

describe('the label of a bill period', () => {
  it.each([
    ['a calendar month', '2026-10-01T00:00Z', '2026-11-01T00:00Z', '2026-10'],
    ['a month of Beijing', '2026-09-30T16:00Z', '2026-10-31T16:00Z', '2026-10'],
    ['a month of Los Angeles', '2026-10-01T07:00Z', '2026-11-01T07:00Z', '2026-10'],
  ])('is the month of its middle: %s', (_, start, end, label) =>
    expect(monthOfPeriod(Date.parse(start), Date.parse(end))).toBe(label),
  );
});

describe('the rule of trust', () => {
  /** 10 days of 8 GPUs: 1,920 GPU-hours, 2,400 by the list, 960 charged. */
  const evidence = (over: Partial<RateEvidence> = {}): RateEvidence => ({
    key: { provider: 'AWS', account: 'a1', sku: 'p5', region: 'us', term: 'on-demand' },
    billedAccounts: ['a1'],
    periodStart: Date.UTC(2026, 9, 1),
    periodEnd: Date.UTC(2026, 10, 1),
    days: 10,
    meteredPartMs: 80n * GPU_DAY,
    billedPartMs: 80n * GPU_DAY,
    listNanos: 2400n * NANO,
    charged: amount('960'),
    billedList: null,
    currency: 'USD',
    hasUnpriced: false,
    lacksAmortisation: false,
    ...over,
  });
  const verdict = (over: Partial<RateEvidence> = {}) => {
    const { ratio, distrust } = judgeRate(evidence(over));
    return [ratio === null ? null : `${ratio.numerator}/${ratio.denominator}`, distrust.join(' ')];
  };

  it.each([
    ['2', '1200', '1/2'],
    ['3', '800', '1/3'],
    ['5', '480', '1/5'],
  ])('learns a list price that is %s times the invoice', (_, text, ratio) =>
    expect(verdict({ charged: amount(text) })).toEqual([ratio, '']),
  );

  it.each([
    ['fewer than seven days', { days: 6 }, '2/5', 'few-days'],
    ['fewer than 100 GPU-hours', { meteredPartMs: 4n * GPU_DAY, billedPartMs: 4n * GPU_DAY }, '2/5', 'little-usage'],
    ['usage without a price', { hasUnpriced: true }, '2/5', 'unpriced'],
    ['a bill of half the usage', { billedPartMs: 40n * GPU_DAY }, '4/5', 'quantity-differs'],
    ['a bill without quantity', { billedPartMs: null }, '2/5', 'quantity-unknown'],
    ['a list cost of other usage', { billedPartMs: null, billedList: amount('1200') }, '4/5', 'quantity-differs'],
    ['a commitment that is not amortised', { lacksAmortisation: true }, '2/5', 'not-amortised'],
    ['usage that was free', { charged: amount('0') }, '0/1', 'implausible'],
    ['an invoice of more than twice the list', { charged: amount('4800.01') }, '480001/240000', 'implausible'],
    ['nothing to be a share of', { listNanos: 0n }, null, 'no-accrual'],
  ])('does not trust %s', (_, over, ratio, distrust) => expect(verdict(over)).toEqual([ratio, distrust]));

  it('takes the ratio of unit prices where quantities differ a little, and of amounts where the list costs agree', () => {
    // 84 GPU-days billed for 80 metered: 1008 / 84 = 12 a day, of 30.
    expect(verdict({ billedPartMs: 84n * GPU_DAY, charged: amount('1008') })).toEqual(['2/5', '']);
    expect(verdict({ billedPartMs: null, billedList: amount('2400.00') })).toEqual(['2/5', '']);
  });

  it('is asked once per metered key, over all teams, and only of closed bills', () => {
    const asked = (metered: readonly AccruedCell[], bill: readonly BilledCell[]) =>
      rateEvidence({ accrued: metered, billed: bill, names: namesFor(metered) }, FX);
    const teams = [accrued(), accrued({ team: 'blue', day: '2026-10-06' })];
    expect(asked(teams, [charged('80', { team: 'unallocated', billedPartMs: 2n * GPU_DAY })])).toMatchObject([
      { days: 2, listNanos: 200n * NANO, charged: amount('80'), meteredPartMs: 2n * GPU_DAY },
    ]);
    expect(asked(teams, [charged('80', { isClosed: false })])).toEqual([]);
    expect(asked([accrued({ region: null }), accrued()], [charged('80')])).toEqual([]);
    expect(asked([accrued({ component: 'storage' })], [charged('80')])).toEqual([]);
    // What a rate corrected already is judged by the list again.
    expect(asked([accrued({ nanos: 40n * NANO, listNanos: 100n * NANO })], [charged('40')])).toMatchObject([
      { listNanos: 100n * NANO },
    ]);
  });
});

describe('learned rates', () => {
  const rate = (month: number, over: Partial<LearnedRate> = {}): LearnedRate => ({
    key: { provider: 'AWS', account: 'a1', sku: 'p5', region: 'us', term: 'on-demand' },
    ratio: { numerator: BigInt(month), denominator: 20n },
    source: `bill:cur/2026-${month}`,
    appliesFrom: Date.UTC(2026, month, 1),
    periodEnd: Date.UTC(2026, month, 1),
    meteredPartMs: 100n,
    ...over,
  });
  const usage = { provider: 'AWS', account: 'a1', sku: 'p5', region: 'us', term: 'on-demand' as const };

  it('hold from the hour after their period, the newest first, in any order', () => {
    for (const rates of [
      [rate(9), rate(10)],
      [rate(10), rate(9)],
    ]) {
      const learned = new LearnedRates(rates);
      expect(
        [Date.UTC(2026, 9, 1) - 1, Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1) - HOUR, Date.UTC(2026, 10, 1)].map(
          (at) => learned.at(usage, at)?.source,
        ),
      ).toEqual([undefined, 'bill:cur/2026-9', 'bill:cur/2026-9', 'bill:cur/2026-10']);
    }
  });

  it('are of one account, SKU, region and term', () => {
    const learned = new LearnedRates([rate(9)]);
    const at = Date.UTC(2026, 11, 1);
    for (const other of [
      { account: 'b2' },
      { account: null },
      { sku: 'p4d' },
      { sku: null },
      { region: null },
      { term: 'spot' as const },
      { provider: 'Oracle' },
    ])
      expect(learned.at({ ...usage, ...other }, at)).toBeNull();
  });

  it('of two sources about one period are those that saw more', () => {
    const learned = new LearnedRates([
      rate(9, { source: 'bill:a/2026-9' }),
      rate(9, { source: 'bill:b/2026-9', meteredPartMs: 101n }),
    ]);
    expect(learned.at(usage, Date.UTC(2026, 9, 1))?.source).toBe('bill:b/2026-9');
  });

  it('begin with an hour, after all that was closed when they came', () => {
    const end = Date.UTC(2026, 9, 1);
    expect(appliesFrom(end, [])).toBe(end);
    expect(appliesFrom(end + 1, [])).toBe(end + HOUR);
    expect(appliesFrom(end, [Date.UTC(2026, 10, 1), Date.UTC(2026, 8, 1)])).toBe(Date.UTC(2026, 10, 1));
  });
});

describe('the evidence of a rate', () => {
  const evidence = (metered: readonly AccruedCell[], bill: readonly BilledCell[]) =>
    rateEvidence({ accrued: metered, billed: bill, names: namesFor(metered) }, FX);
  const later = { day: '2026-10-06' };

  it('sums both sides of a key, and says from when to when its bills reach', () => {
    const bill = [
      charged('60', { list: amount('90'), periodStart: 5, periodEnd: 70 }),
      charged('40.5', { list: amount('10'), periodStart: 9, periodEnd: 99, ...later }),
    ];
    const metered = [
      accrued({ listNanos: 110n * NANO }),
      accrued({ ...later, listNanos: 1n, meteredPartMs: 3n }),
      accrued({ ...later, team: 'blue', nanos: null, listNanos: 7n, meteredPartMs: 5n, unpricedLines: 2 }),
    ];
    expect(evidence(metered, bill)).toEqual([
      {
        key: { provider: 'AWS', account: 'a1', sku: 'p5', region: 'us', term: 'on-demand' },
        billedAccounts: ['a1'],
        currency: 'USD',
        periodStart: 5,
        periodEnd: 99,
        days: 2,
        meteredPartMs: GPU_DAY + 3n,
        billedPartMs: 2n * GPU_DAY,
        listNanos: 110n * NANO + 1n,
        charged: amount('100.5'),
        billedList: amount('100'),
        hasUnpriced: true,
        lacksAmortisation: false,
      },
    ]);
  });

  it('is unknown where one line does not say', () => {
    const [one] = evidence([accrued()], [charged('1', { list: amount('1') }), charged('1', { billedPartMs: null })]);
    expect(one).toMatchObject({ billedPartMs: null, billedList: null, hasUnpriced: false });
  });

  it('lacks amortisation where a commitment was billed without it', () => {
    const lacks = (term: BilledCell['term'], lacksEffective = true) =>
      evidence([accrued()], [charged('1'), charged('1', { term, lacksEffective })])[0]?.lacksAmortisation;
    expect([lacks('reserved-1y'), lacks('reserved-1y', false)]).toEqual([true, false]);
    expect([lacks('on-demand'), lacks('spot'), lacks(null)]).toEqual([false, false, false]);
  });

  it('needs closed bills, and one key behind them', () => {
    expect(evidence([accrued()], [charged('1'), charged('1', { isClosed: false })])).toEqual([]);
    expect(evidence([accrued()], [charged('1', { category: 'Tax' })])).toEqual([]);
    expect(evidence([accrued({ component: 'storage' })], [charged('1')])).toEqual([]);
    expect(evidence([], [charged('1')])).toEqual([]);
    expect(evidence([accrued()], [])).toEqual([]);
  });
});

describe('the lines of a bill', () => {
  it('keep their digits, and their day is that in which they begin', () => {
    const [cell] = cellsOf(
      billLine('a', '0.10', { start: MONDAY, end: MONDAY + 30 * HOUR }),
      billLine('b', '0.025', { start: MONDAY + HOUR, end: MONDAY + 2 * HOUR }),
    );
    expect(cell).toMatchObject({
      day: '2026-10-05',
      billed: amount('0.125'),
      spansDays: true,
      lastDay: '2026-10-06',
      billedPartMs: null,
      lacksEffective: true,
    });
  });

  it('know their GPU-hours only where each line does, save those that charge nothing', () => {
    const gpus = { gpuParts: GPU_PARTS };
    expect(cellsOf(billLine('a', '1', gpus), billLine('b', '1'))[0]?.billedPartMs).toBeNull();
    expect(
      cellsOf(billLine('a', '1', gpus), billLine('b', '-1', {}, { effective: amount('0') }))[0]?.billedPartMs,
    ).toBe(PART_MS_PER_GPU_HOUR);
  });

  it('name the resources of their SKUs', () => {
    const { resources } = summaryOf(
      billLine('a', '1', { sku: 'AB12', resource: 'i-1' }),
      billLine('b', '1', { sku: 'AB12', resource: 'i-2' }),
      billLine('c', '1', { resource: 'i-3' }),
      billLine('d', '1', { sku: null, resource: 'i-4' }),
    );
    expect(resources).toEqual([
      { provider: 'AWS', sku: 'AB12', resources: ['i-1', 'i-2'], services: [], ofGpus: false },
      { provider: 'AWS', sku: 'p5.48xlarge', resources: ['i-3'], services: [], ofGpus: false },
    ]);
  });

  it('are converted by the rate of their day, once', () => {
    const fx = new FxTable('USD', [{ day: '2026-10-01', currency: 'EUR', perBase: amount('0.9') }]);
    expect(
      inTeamsCurrencies(cellsOf(billLine('a', '10', {}, { effective: amount('3') })), () => 'EUR', fx),
    ).toMatchObject([
      { currency: 'EUR', billedCurrency: 'USD', billed: amount('9.000000000'), compared: amount('2.700000000') },
    ]);
    expect(inTeamsCurrencies(cellsOf(billLine('a', '10')), () => 'CNY', fx)).toMatchObject([
      { currency: 'USD', isUnconverted: true, billed: amount('10') },
    ]);
  });
});
