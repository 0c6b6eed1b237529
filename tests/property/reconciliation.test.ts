/**
 * The rows of a comparison sum to bill less accrual, whatever was metered and billed, and in whatever order it came.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BillCells } from '../../src/core/bill/cells.js';
import { inTeamsCurrencies, SkuNames, type AccruedCell } from '../../src/core/bill/matching.js';
import { priceHour, type CostContext, type CostLine } from '../../src/core/cost/cost.js';
import { addDecimal, formatDecimal, negateDecimal, ZERO, type Decimal } from '../../src/core/decimal.js';
import { FxTable } from '../../src/core/price/fx.js';
import { Grouping } from '../../src/core/cost/rollup.js';
import { judgeRate, LearnedRates, type LearnedRate } from '../../src/core/price/learned-rate.js';
import { divideHalfEven, type Ratio } from '../../src/core/money.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { PriceBook } from '../../src/core/price/price-book.js';
import { rateEvidence, readThreshold, reconcile, type VarianceRow } from '../../src/core/bill/reconciliation.js';
import { DAY_MS, HOUR_MS } from '../../src/core/time.js';
import { GPU_PARTS, type ChargeCategory, type Term, type UsageRecord } from '../../src/core/usage.js';
import { instancePrice } from '../support/bursar.js';
import { billed, MONDAY } from '../support/records.js';

const TEAMS = ['red', 'blue'];
const SKUS = ['p5', 'p4d', 'AB12', null];
const MODELS: Readonly<Record<string, string>> = { p5: 'H100', p4d: 'A100-40GB' };
const FX = new FxTable('USD', [{ day: '2026-10-01', currency: 'EUR', perBase: { unscaled: 87n, scale: 2 } }]);
const currencyOf = (team: string): string => (team === 'blue' ? 'EUR' : 'USD');

const key = {
  provider: fc.constantFrom('AWS', 'Oracle'),
  account: fc.constantFrom('a1', 'b2', null),
  sku: fc.constantFrom(...SKUS),
  gpuModel: fc.constantFrom('H100', 'A100-40GB', null),
  region: fc.constantFrom('us', 'eu', null),
  term: fc.constantFrom<(Term | null)[]>('on-demand', 'spot', 'savings-plan-1y', null),
};
const days = { min: 0, max: 3 };
const dayText = (day: number): string => `2026-10-0${5 + day}`;

const accruedCell: fc.Arbitrary<AccruedCell> = fc
  .record({
    ...key,
    team: fc.constantFrom(...TEAMS),
    day: fc.integer(days),
    component: fc.constantFrom('gpu' as const, 'gpu' as const, 'storage' as const),
    nanos: fc.option(fc.bigInt({ min: 0n, max: 10n ** 13n })),
    parts: fc.bigInt({ min: 1n, max: 10n ** 12n }),
    unpricedPartMs: fc.constantFrom(0n, 0n, 77n),
  })
  .map(
    ({ parts, day, nanos, ...cell }): AccruedCell => ({
      ...cell,
      day: dayText(day),
      currency: currencyOf(cell.team),
      nanos,
      listNanos: nanos === null ? null : nanos * 2n,
      meteredPartMs: nanos === null || cell.component !== 'gpu' ? null : parts,
      unpricedLines: nanos === null || cell.unpricedPartMs > 0n ? 1 : 0,
      lines: 1,
    }),
  );

const money: fc.Arbitrary<Decimal> = fc.record({
  unscaled: fc.bigInt({ min: -(10n ** 14n), max: 10n ** 15n }),
  scale: fc.integer({ min: 0, max: 12 }),
});
interface Line {
  readonly team: string;
  readonly record: UsageRecord;
}
const line: fc.Arbitrary<Line> = fc
  .record({
    ...key,
    team: fc.constantFrom(...TEAMS),
    day: fc.integer(days),
    hours: fc.integer({ min: 1, max: 60 }),
    billed: money,
    effective: fc.option(money, { freq: 3 }),
    list: fc.option(money, { freq: 1 }),
    gpuParts: fc.constantFrom(null, GPU_PARTS, 8 * GPU_PARTS),
    category: fc.constantFrom<ChargeCategory[]>('Usage', 'Usage', 'Usage', 'Credit', 'Tax', 'Purchase'),
    currency: fc.constantFrom('USD', 'EUR', 'CNY'),
  })
  .map(({ team, day, hours, billed: cost, effective, list, category, currency, ...over }) => ({
    team,
    record: billed(
      'x',
      formatDecimal(cost),
      { ...over, start: MONDAY + day * DAY_MS, end: MONDAY + day * DAY_MS + hours * HOUR_MS },
      { effective, list, category, currency },
    ),
  }));

const namesFor = (cells: readonly AccruedCell[]): SkuNames => new SkuNames(cells, (_, sku) => MODELS[sku]);
function compared(cells: readonly AccruedCell[], lines: readonly Line[]) {
  const [bill, grouping] = [new BillCells(), new Grouping(({ namespace }) => namespace ?? 'nobody', [])];
  // A group is of one team: as where the rules decide.
  for (const { team, record } of lines) bill.add(grouping.groupOf({ ...record, namespace: team }), record);
  const cellsOfBill = inTeamsCurrencies(
    bill.summary().cells.map((cell) => ({ ...cell, isClosed: true })),
    currencyOf,
    FX,
  );
  return {
    ...reconcile(
      { accrued: cells, billed: cellsOfBill, names: namesFor(cells) },
      readThreshold({ ratio: '0.05', amount: '10' }),
    ),
    bill: cellsOfBill,
  };
}

const sum = (amounts: readonly (Decimal | null)[]): Decimal =>
  amounts.reduce<Decimal>((total, one) => (one === null ? total : addDecimal(total, one)), ZERO);
const plain = (value: Decimal): string =>
  formatDecimal(value)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace(/^-0$/, '0');
const shown = (rows: readonly VarianceRow[]): string[] =>
  rows
    .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)))
    .sort();
const shuffled = <T>(list: readonly T[], order: readonly number[]): T[] =>
  list
    .map((one, at) => ({ one, key: order[at] ?? 0 }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
const order = fc.array(fc.nat(), { minLength: 30, maxLength: 30 });

describe('the variance', () => {
  it('sums to what was charged less what was accrued, to the last digit, in every currency', () => {
    fc.assert(
      fc.property(fc.array(accruedCell, { maxLength: 25 }), fc.array(line, { maxLength: 25 }), (cells, lines) => {
        const { rows, bill } = compared(cells, lines);
        for (const currency of ['USD', 'EUR', 'CNY']) {
          const own = rows.filter((row) => row.currency === currency);
          const accrued = sum(
            cells
              .filter((cell) => cell.currency === currency)
              .map(({ nanos }) => (nanos === null ? null : { unscaled: nanos, scale: 9 })),
          );
          const charged = sum(bill.filter((cell) => cell.currency === currency).map((cell) => cell.compared));
          expect(plain(sum(own.map((row) => row.amount)))).toBe(plain(addDecimal(charged, negateDecimal(accrued))));
          expect(plain(sum(own.map((row) => row.accrued)))).toBe(plain(accrued));
          expect(plain(sum(own.map((row) => row.compared)))).toBe(plain(charged));
        }
        const unpriced = (list: readonly { readonly unpricedPartMs: bigint }[]): bigint =>
          list.reduce((total, one) => total + one.unpricedPartMs, 0n);
        expect(unpriced(rows)).toBe(unpriced(cells));
        for (const row of rows)
          if (row.quantityAmount !== null && row.rateAmount !== null && row.amount !== null)
            expect(plain(addDecimal(row.quantityAmount, row.rateAmount))).toBe(plain(row.amount));
      }),
    );
  });

  it('keeps the digits of a bill that needs no conversion', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 25 }), (lines) => {
        const dollars = lines.filter(({ team, record }) => team === 'red' && record.charge?.currency === 'USD');
        const { rows } = compared([], dollars);
        expect(plain(sum(rows.map((row) => row.amount)))).toBe(
          plain(sum(dollars.map(({ record: { charge } }) => charge?.effective ?? charge?.billed ?? null))),
        );
        expect(plain(sum(rows.map((row) => row.billed)))).toBe(
          plain(sum(dollars.map(({ record: { charge } }) => charge?.billed ?? null))),
        );
      }),
    );
  });

  it('does not depend on the order in which usage and lines come', () => {
    fc.assert(
      fc.property(
        fc.array(accruedCell, { maxLength: 15 }),
        fc.array(line, { maxLength: 15 }),
        order,
        order,
        (cells, lines, first, second) => {
          const [a, b] = [compared(cells, lines), compared(shuffled(cells, first), shuffled(lines, second))];
          expect(shown(b.rows)).toEqual(shown(a.rows));
          expect(b.findings.map(({ amount }) => plain(amount)).sort()).toEqual(
            a.findings.map(({ amount }) => plain(amount)).sort(),
          );
        },
      ),
    );
  });

  it('never has a ratio where the accrual is nothing or lacks a part, and never an amount where nothing is known', () => {
    fc.assert(
      fc.property(fc.array(accruedCell, { maxLength: 15 }), fc.array(line, { maxLength: 15 }), (cells, lines) => {
        for (const row of compared(cells, lines).rows) {
          if (row.accrued === null || row.accrued.unscaled === 0n || row.reasons.includes('unpriced'))
            expect(row.ratio).toBeNull();
          expect(row.amount === null).toBe(row.accrued === null && row.compared === null);
        }
      }),
    );
  });
});

const ratio: fc.Arbitrary<Ratio> = fc.record({
  numerator: fc.bigInt({ min: 1n, max: 500n }),
  denominator: fc.bigInt({ min: 250n, max: 500n }),
});
const usage = {
  provider: 'AWS',
  account: 'a1',
  sku: 'p5.48xlarge',
  gpuModel: null,
  region: 'us-east-1',
  term: 'on-demand' as const,
};
const rateOf = (one: Ratio, month: number): LearnedRate => ({
  key: usage,
  ratio: one,
  source: `bill:cur/${month}`,
  appliesFrom: Date.UTC(2026, month, 1),
  periodEnd: Date.UTC(2026, month, 1),
  meteredPartMs: 1n,
});
const book = new PriceBook({ prices: [instancePrice('55.04', { minimumSeconds: 0 })], withdrawals: [] });
const context = (rates: readonly LearnedRate[]): CostContext => ({
  book,
  peak: NO_PEAK,
  currency: null,
  fx: null,
  learned: new LearnedRates(rates),
});
const priced = (
  parts: bigint,
  at: number,
  rates: readonly LearnedRate[],
  asked: typeof usage | { sku: string } = usage,
) =>
  priceHour(
    'red',
    { ...usage, ...asked },
    [{ gpuPartMs: parts, storageMibMs: null, networkBytes: null, start: at, end: at + HOUR_MS }],
    context(rates),
  );

describe('a learned rate', () => {
  it('multiplies the price exactly, rounds once, and keeps what it would be without it', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 13n }),
        ratio,
        fc.integer({ min: 0, max: 2000 }),
        (parts, one, hours) => {
          const at = Date.UTC(2026, 9, 1) + hours * HOUR_MS;
          const [plainLine] = priced(parts, at, []) as CostLine[];
          const [corrected] = priced(parts, at, [rateOf(one, 9)]) as CostLine[];
          expect(corrected?.listNanos).toBe(plainLine?.nanos);
          // 55.04 a hour for 8 GPUs; a GPU-hour is 25,200,000,000 part-milliseconds.
          expect(corrected?.nanos).toBe(
            divideHalfEven(parts * 55_040_000_000n * one.numerator, 8n * 25_200_000_000n * one.denominator),
          );
          expect(corrected?.basis[0]?.learned).toEqual({ source: 'bill:cur/9', ratio: one });
        },
      ),
    );
  });

  it('never bears on what came before it, nor on other usage, and never prices what has no price', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 13n }),
        ratio,
        fc.integer({ min: 1, max: 2000 }),
        (parts, one, hours) => {
          const before = Date.UTC(2026, 9, 1) - hours * HOUR_MS;
          expect(priced(parts, before, [rateOf(one, 9)])).toEqual(priced(parts, before, []));
          const unknown = { ...rateOf(one, 9), key: { ...usage, sku: 'x9' } };
          expect(priced(parts, Date.UTC(2026, 10, 1), [unknown], { sku: 'x9' })).toEqual(
            priced(parts, Date.UTC(2026, 10, 1), [], { sku: 'x9' }),
          );
          expect(priced(parts, Date.UTC(2026, 10, 1), [unknown], { sku: 'x9' })).toMatchObject([
            { kind: 'unpriced', reason: 'unknown-sku', quantity: parts },
          ]);
        },
      ),
    );
  });

  it('makes the accrual of the same usage what the bill charges, but for the rounding of its hours', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 700 }), fc.bigInt({ min: 1n, max: 499n }), (hours, percentTimesFive) => {
        const parts = 8n * 25_200_000_000n;
        const list = BigInt(hours) * 55_040_000_000n;
        const charged: Decimal = { unscaled: (list * (percentTimesFive + 27n)) / 524n, scale: 9 };
        const cells = Array.from(
          { length: hours },
          (_, hour): AccruedCell => ({
            ...usage,
            team: 'red',
            day: `2026-10-${String(1 + Math.floor(hour / 24)).padStart(2, '0')}`,
            component: 'gpu',
            currency: 'USD',
            nanos: 55_040_000_000n,
            listNanos: 55_040_000_000n,
            meteredPartMs: parts,
            unpricedPartMs: 0n,
            unpricedLines: 0,
            lines: 1,
          }),
        );
        const bill = new BillCells();
        bill.add(
          { index: 0, team: 'blue' },
          billed(
            'x',
            formatDecimal(charged),
            {
              ...usage,
              start: Date.UTC(2026, 9, 1),
              end: Date.UTC(2026, 9, 1) + hours * HOUR_MS,
              gpuParts: 8 * GPU_PARTS,
            },
            { effective: charged },
          ),
        );
        const [evidence] = rateEvidence(
          {
            accrued: cells,
            billed: bill.summary().cells.map((cell) => ({ ...cell, isClosed: true })),
            names: namesFor(cells),
          },
          FX,
        );
        const judged = evidence === undefined ? null : judgeRate(evidence);
        expect(judged?.distrust).toEqual([]);
        const [corrected] = priced(parts, Date.UTC(2026, 10, 1), [
          rateOf(judged?.ratio ?? { numerator: 0n, denominator: 1n }, 10),
        ]) as CostLine[];
        const difference = (corrected?.nanos ?? 0n) * BigInt(hours) - charged.unscaled;
        expect(difference < 0n ? -difference : difference).toBeLessThanOrEqual(BigInt(hours));
      }),
      { numRuns: 30 },
    );
  });
});
