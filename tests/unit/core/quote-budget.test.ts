/** The verdict of budgets over a run, by hand-made standings: what holds, what may not, what nobody knows. */
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../../src/core/budget/budget.js';
import { parseDecimal } from '../../../src/core/decimal.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { rateOf } from '../../../src/core/money.js';
import { NO_PEAK } from '../../../src/core/price/peak.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import type { Price } from '../../../src/core/price/price.js';
import {
  judgeBudgets,
  overall,
  type BudgetFacts,
  type BudgetQuestion,
  type JudgedBudget,
  type EvaluatedFacts,
} from '../../../src/core/quote/budget.js';
import { quoteInDetail, type QuoteDetail, type QuoteRequest } from '../../../src/core/quote/quote.js';
import { expiryOf, remainingOf, stateOfReservation } from '../../../src/core/budget/reservation.js';
import { HOUR_MS } from '../../../src/core/time.js';
import { gpuPrice, monthBudget } from '../../support/makers.js';

/** Twelve days before October ends. */
const NOW = Date.UTC(2026, 9, 20);
const OCTOBER = { start: Date.UTC(2026, 9, 1), end: Date.UTC(2026, 10, 1) };
const UNIT = 1_000_000_000n;
const units = (amount: number): bigint => BigInt(amount) * UNIT;

/** One GPU at 1 USD an hour. */
const PRICE: Price = gpuPrice({
  sku: 'g6.xlarge',
  gpuModel: 'L4',
  gpus: 1,
  rate: rateOf({ unscaled: 1n, scale: 0 }, 'USD', 3600n, 'gpu-second'),
  effectiveFrom: 0,
  source: 'list',
});
const FX = new FxTable('USD', [
  { day: '2026-10-01', currency: 'EUR', perBase: parseDecimal('0.5') ?? { unscaled: 0n, scale: 0 } },
]);

function run(hours: number, over: Partial<QuoteRequest> = {}, price: Partial<Price> = {}): QuoteDetail {
  const prices = [{ ...PRICE, ...price }];
  const detail = quoteInDetail(
    {
      provider: 'AWS',
      sku: 'g6.xlarge',
      gpus: 1,
      hours,
      term: prices[0]!.term,
      region: null,
      upfront: null,
      currency: null,
      ...over,
    },
    { prices, book: new PriceBook({ prices, withdrawals: [] }), fx: FX, peak: NO_PEAK, at: NOW },
  );
  if ('unpriced' in detail) throw new Error(detail.message);
  return detail;
}

const budget = (over: Partial<Budget> = {}): Budget =>
  monthBudget({ id: 'b', planned: { default: '1000', periods: {} }, ...over });
const facts = (state: Partial<EvaluatedFacts> | null = {}, over: Partial<BudgetFacts> = {}): BudgetFacts => ({
  budget: budget(),
  period: OCTOBER,
  reserved: 0n,
  state:
    state === null
      ? null
      : {
          weighedAt: NOW,
          spent: units(400),
          owed: 0n,
          forecast: { mean: units(600), low: units(500), high: units(700) },
          unpricedGpuHours: '0.000000',
          unconverted: [],
          ...state,
        },
  ...over,
});
const question = (over: Partial<BudgetQuestion> = {}): BudgetQuestion => ({
  asOf: NOW,
  provider: 'AWS',
  sku: 'g6.xlarge',
  term: 'on-demand',
  tags: null,
  fx: FX,
  currency: 'USD',
  ...over,
});
function only(judged: readonly JudgedBudget[]): JudgedBudget {
  expect(judged).toHaveLength(1);
  return judged[0]!;
}
const judged = (detail: QuoteDetail, one: BudgetFacts, over: Partial<BudgetQuestion> = {}): JudgedBudget =>
  only(judgeBudgets(detail, [one], question(over)));
const verdictOf = (detail: QuoteDetail, one: BudgetFacts, over: Partial<BudgetQuestion> = {}): string => {
  const {
    view: { verdict, reasons },
    refusal,
  } = judged(detail, one, over);
  return `${verdict}${refusal === null ? '' : ', refused'}: ${reasons.join('; ')}`;
};

describe('a budget over a run', () => {
  it('holds it where even the high end of the forecast leaves its cost', () => {
    expect(verdictOf(run(300), facts())).toBe('holds: ');
    expect(judged(run(100), facts({ owed: units(50) }, { reserved: units(30) })).view).toEqual({
      budget: 'b',
      team: 'red',
      verdict: 'holds',
      reasons: [],
      currency: 'USD',
      periodEnd: '2026-11-01T00:00:00Z',
      weighedAt: '2026-10-20T00:00:00Z',
      planned: '1000.00',
      spent: '400.00',
      committed: '50.00',
      reserved: '30.00',
      cost: { expected: '100.00', low: '100.00', high: '100.00' },
      costLater: '0.00',
      // 1000 - 400 - 50 - 30, and 1000 - 600 - 30 with 1000 - 700 - 30 at the forecast's high end.
      left: { before: '520.00', after: '420.00', afterLow: '420.00' },
      leftOnForecast: { before: '370.00', after: '270.00', afterLow: '170.00' },
    });
  });

  it('is at risk where the forecast, or the cost, may exceed it', () => {
    expect(verdictOf(run(280), facts({}, { reserved: units(30) }))).toBe(
      'at-risk: the high end of the forecast leaves 270.00 USD, and the run may cost 280.00 USD',
    );
    expect(verdictOf(run(250), facts({ forecast: { mean: units(800), low: units(700), high: units(900) } }))).toBe(
      'at-risk: the forecast leaves 200.00 USD, and the run costs 250.00 USD',
    );
    expect(
      verdictOf(
        run(100, { hoursLow: 50, hoursHigh: 280 }),
        facts({ spent: units(750), forecast: { mean: units(750), low: units(750), high: units(750) } }),
      ),
    ).toBe(
      'at-risk, refused: 250.00 USD are left, and the run may cost 280.00 USD; the high end of the forecast leaves 250.00 USD, and the run may cost 280.00 USD',
    );
  });

  it('exceeds it where what is left, or the low end of the forecast leaves, is less than its low end', () => {
    expect(verdictOf(run(280), facts({ spent: units(721) }))).toBe(
      'exceeds, refused: 279.00 USD are left, and the run costs at least 280.00 USD',
    );
    expect(verdictOf(run(280), facts({ spent: units(700) }, { reserved: units(21) }))).toContain('exceeds, refused');
    expect(verdictOf(run(280), facts({ forecast: { mean: units(900), low: units(730), high: units(950) } }))).toBe(
      'exceeds: even the low end of the forecast leaves 270.00 USD, and the run costs at least 280.00 USD',
    );
    expect(
      verdictOf(
        run(1),
        facts({ spent: 0n, forecast: null }, { budget: budget({ planned: { default: '0', periods: {} } }) }),
      ),
    ).toContain('exceeds, refused');
  });

  it('never holds it on what is not known', () => {
    expect(verdictOf(run(1), facts({ forecast: null }))).toBe(
      'at-risk: there is no forecast of the rest of the period',
    );
    expect(verdictOf(run(1), facts({ unpricedGpuHours: '3.500000' }))).toBe(
      'unknown, refused: 3.500000 GPU-hours of the period have no price',
    );
    expect(verdictOf(run(1), facts({ unconverted: ['JPY'] }))).toBe(
      'unknown, refused: spend in JPY is not included: there is no exchange rate',
    );
    expect(verdictOf(run(1), facts(null))).toBe('unknown, refused: this period has not been evaluated yet');
    expect(verdictOf(run(1), facts({}, { budget: budget({ planned: { default: null, periods: {} } }) }))).toBe(
      'unknown: this period has no planned amount',
    );
    expect(verdictOf(run(1), facts({}, { budget: budget({ currency: 'CNY' }) }))).toBe(
      'unknown, refused: there is no exchange rate from USD to CNY',
    );
    expect(verdictOf(run(1, {}, { term: 'spot' }), facts(), { term: 'spot' })).toMatch(
      /^at-risk: not in the cost: interruptions of spot.*; not in the cost: changes of the spot price/,
    );
    // What is unpriced can only make it worse.
    expect(verdictOf(run(280), facts({ spent: units(800), unpricedGpuHours: '3.500000' }))).toMatch(
      /^exceeds, refused: 200\.00 USD are left/,
    );
  });

  it('judges the part of the run in its period, and says what falls later', () => {
    // Twelve days of its thirty are October's.
    const { view, hold } = judged(run(720), facts());
    expect(view).toMatchObject({
      verdict: 'holds',
      cost: { expected: '288.00' },
      costLater: '432.00',
      left: { before: '600.00', after: '312.00' },
    });
    expect(hold).toBe(units(288));
  });

  it('is asked in its own currency', () => {
    const { view, hold } = judged(run(100), facts({}, { budget: budget({ currency: 'EUR' }) }));
    expect([view.cost?.expected, view.currency, hold]).toEqual(['50.00', 'EUR', units(50)]);
  });

  it('is left out where its filters leave the run out; a filter by tags is open where none are given', () => {
    const filtered = (filters: Budget['filters']): BudgetFacts => facts({}, { budget: budget({ filters }) });
    const project = { tag: [{ key: 'project', value: 'x' }] };
    expect(
      judgeBudgets(
        run(1),
        [filtered({ provider: ['Oracle'] }), filtered({ term: ['spot'] }), filtered({ ...project, sku: ['p5'] })],
        question(),
      ),
    ).toEqual([]);
    expect(judgeBudgets(run(1), [filtered(project)], question({ tags: {} }))).toEqual([]);
    expect(verdictOf(run(1), filtered(project), { tags: { project: 'x' } })).toBe('holds: ');
    expect(verdictOf(run(1), filtered(project))).toBe('unknown, refused: it filters by tags, and none are given');
    expect(verdictOf(run(1), filtered({ provider: ['AWS'], sku: ['g6.xlarge'], term: ['on-demand'] }))).toBe('holds: ');
  });

  it('of several the severest counts, and none is unknown', () => {
    const of = (...verdicts: ('holds' | 'at-risk' | 'unknown' | 'exceeds')[]): string =>
      overall(verdicts.map((verdict) => ({ view: { verdict } })));
    expect([
      of(),
      of('holds'),
      of('holds', 'at-risk'),
      of('unknown', 'at-risk', 'holds'),
      of('holds', 'exceeds', 'unknown'),
    ]).toEqual(['unknown', 'holds', 'at-risk', 'unknown', 'exceeds']);
  });
});

describe('a reservation', () => {
  it('lasts as long as the longest run and an hour to launch it, a month at most', () => {
    expect(
      [expiryOf(NOW, 10, null), expiryOf(NOW, 10, 0.5), expiryOf(NOW, 5000, null), expiryOf(NOW, 1, 5000)].map(
        (at) => (at - NOW) / HOUR_MS,
      ),
    ).toEqual([11, 0.5, 744, 744]);
  });

  it('counts what it holds less what it was used for, never below nothing or above itself', () => {
    expect([remainingOf(10n, 0n), remainingOf(10n, 4n), remainingOf(10n, 11n), remainingOf(10n, -3n)]).toEqual([
      10n,
      6n,
      0n,
      10n,
    ]);
  });

  it('is over when it has expired, was released, or is used up', () => {
    expect([
      stateOfReservation(NOW, NOW + 1, null, 1n),
      stateOfReservation(NOW, NOW + 1, null, 0n),
      stateOfReservation(NOW, NOW, null, 1n),
      stateOfReservation(NOW, NOW - 1, NOW - 2, 1n),
    ]).toEqual(['active', 'used', 'expired', 'released']);
  });
});
