import { describe, expect, it } from 'vitest';
import {
  covers,
  crossings,
  raised,
  type NotifiedCrossing,
  plannedFor,
  problemsOfBudget,
  teamsUnder,
  evaluateBudget,
  type Budget,
  type BudgetState,
  type Forecaster,
  type SpendPoint,
} from '../../../src/core/budget/budget.js';
import { DAY_MS, formatInstant, parseInstant } from '../../../src/core/time.js';
import { monthBudget } from '../../support/makers.js';

const at = (text: string): number => parseInstant(text) ?? Number.NaN;
const UNIT = 1_000_000_000n;

const budget: Budget = monthBudget({
  id: 'b1',
  team: 'research',
  planned: { default: '3100', periods: { '2026-11-01': '600', '2026-12-01': '0' } },
  thresholds: [
    { kind: 'actual', ratio: '0.5' },
    { kind: 'actual', ratio: '0.80' },
    { kind: 'forecast', ratio: '1' },
  ],
});
const point = (when: string, amount: number, rest: Partial<SpendPoint> = {}): SpendPoint => ({
  at: at(when),
  nanos: BigInt(amount) * UNIT,
  creditNanos: 0n,
  unpricedQuantity: 0n,
  ...rest,
});
/** `amount` on each day from `first`. */
const daily = (first: string, days: number, amount: number): SpendPoint[] =>
  Array.from({ length: days }, (_, day) => ({ ...point(first, amount), at: at(first) + day * DAY_MS }));
/** As much per day as the last complete day, give or take a tenth. */
const asYesterday: Forecaster = (spend, elapsed, daysLeft) => {
  const mean = (spend.at(-2) ?? spend.at(-1) ?? 0) * (daysLeft + 1 - elapsed);
  return { mean, low: mean * 0.9, high: mean * 1.1, method: 'as-yesterday' };
};
const evaluate = (
  spend: SpendPoint[],
  now: string,
  rest: Partial<Parameters<typeof evaluateBudget>[0]> = {},
): BudgetState => evaluateBudget({ budget, spend, committed: 0n, now: at(now), forecaster: asYesterday, ...rest });

describe('the state of a budget', () => {
  it('sums the period, forecasts its end, and dates the exhaustion', () => {
    const state = evaluate([point('2026-09-30', 999), ...daily('2026-10-01', 10, 200)], '2026-10-11');
    expect(state).toMatchObject({
      status: 'planned',
      planned: 3100n * UNIT,
      spent: 2000n * UNIT,
      period: { start: at('2026-10-01'), end: at('2026-11-01') },
      forecast: { mean: 6200n * UNIT, low: 5780n * UNIT, high: 6620n * UNIT, method: 'as-yesterday' },
      burnRatePerDay: 200n * UNIT,
      ratio: 0.645161,
    });
    // $1,100 are left at $200 a day: five and a half days.
    expect(formatInstant(state.exhaustionAt ?? 0)).toBe('2026-10-16T12:00:00Z');
  });

  it('names the hour in which the plan ran out', () => {
    expect(formatInstant(evaluate(daily('2026-10-01', 10, 500), '2026-10-11').exhaustionAt ?? 0)).toBe(
      '2026-10-07T00:00:00Z',
    );
    expect(formatInstant(evaluate(daily('2026-10-01', 10, 110), '2026-10-11').exhaustionAt ?? 0).slice(0, 10)).toBe(
      '2026-10-29',
    );
    expect(evaluate(daily('2026-10-01', 10, 100), '2026-10-11').exhaustionAt).toBeNull();
  });

  it('goes by the burn rate where there is no forecaster', () => {
    const state = evaluate(daily('2026-10-01', 10, 200), '2026-10-11', { forecaster: null });
    expect(state).toMatchObject({ forecast: null, exhaustionAt: at('2026-10-16T12:00:00Z') });
  });

  it('keeps the forecast at or above what is spent and committed', () => {
    const state = evaluate(daily('2026-10-01', 10, 1), '2026-10-11', { committed: 500n * UNIT });
    expect(state.forecast).toMatchObject({ mean: 510n * UNIT, low: 510n * UNIT, high: 510n * UNIT });
  });

  it('uses the zone: the first hours of October in Shanghai are still September in UTC', () => {
    const shanghai = { ...budget, zone: 'Asia/Shanghai' };
    const state = evaluateBudget({
      budget: shanghai,
      spend: [point('2026-09-30T16:00:00Z', 5), point('2026-09-30T15:00:00Z', 7)],
      committed: 0n,
      now: at('2026-10-02'),
      forecaster: null,
    });
    expect(state.spent).toBe(5n * UNIT);
  });

  it('counts credits, or shows them only', () => {
    const spend = [point('2026-10-02', 100, { creditNanos: -30n * UNIT })];
    expect(evaluate(spend, '2026-10-03')).toMatchObject({ spent: 70n * UNIT, credits: -30n * UNIT });
    expect(evaluate(spend, '2026-10-03', { budget: { ...budget, includeCredits: false } })).toMatchObject({
      spent: 100n * UNIT,
      credits: -30n * UNIT,
    });
  });

  it('never forecasts 0 of what has no price', () => {
    const unpriced = daily('2026-10-01', 10, 0).map((one) => ({ ...one, unpricedQuantity: 80n }));
    const unknown = { forecast: null, burnRatePerDay: null, exhaustionAt: null, unpricedQuantity: 800n };
    expect(evaluate(unpriced, '2026-10-11')).toMatchObject(unknown);
    // Nor of a period that is over.
    expect(evaluate(unpriced, '2026-11-02', { instant: at('2026-10-01') })).toMatchObject({ forecast: null });
    expect(evaluate([...unpriced, point('2026-10-02', 100)], '2026-10-11').forecast).not.toBeNull();
    expect(evaluate(daily('2026-10-01', 10, 0), '2026-10-11').forecast).toMatchObject({ mean: 0n });
  });

  it('carries unpriced quantity, and says nothing where nothing is known', () => {
    const state = evaluate([point('2026-10-02', 0, { unpricedQuantity: 42n })], '2026-10-02T00:30:00Z');
    expect(state).toMatchObject({ unpricedQuantity: 42n, burnRatePerDay: null });
    expect(evaluate([], '2026-10-02')).toMatchObject({
      spent: 0n,
      forecast: null,
      burnRatePerDay: null,
      exhaustionAt: null,
    });
  });

  it('evaluates a past period again with late data: what is spent is the forecast', () => {
    const state = evaluate([...daily('2026-10-01', 31, 10), point('2026-11-02', 999)], '2026-11-05', {
      instant: at('2026-10-15'),
    });
    expect(state).toMatchObject({ spent: 310n * UNIT, forecast: { mean: 310n * UNIT, method: 'closed' } });
  });

  it('does not depend on the order of the points', () => {
    const spend = [...daily('2026-09-01', 30, 7), ...daily('2026-10-01', 10, 200)];
    expect(evaluate([...spend].reverse(), '2026-10-11')).toEqual(evaluate(spend, '2026-10-11'));
  });
});

describe('planned amounts', () => {
  it("are the period's own, else the default, else none: not planned is not unlimited", () => {
    const state = (now: string, planned: Budget['planned']) => evaluate([], now, { budget: { ...budget, planned } });
    expect(state('2026-11-05', budget.planned).planned).toBe(600n * UNIT);
    expect(state('2026-10-05', budget.planned).planned).toBe(3100n * UNIT);
    const bare = state('2026-10-05', { default: null, periods: { '2026-11-01': '600' } });
    expect(bare).toMatchObject({ status: 'not-planned', planned: null, ratio: null, exhaustionAt: null });
    expect(plannedFor(budget, bare.period)).toBe(3100n * UNIT);
  });

  it('a plan of 0 allows nothing: the first nano crosses everything', () => {
    const none = evaluate([], '2026-12-05');
    expect(none).toMatchObject({ planned: 0n, ratio: null });
    expect(crossings(budget, none, [])).toEqual([]);
    const some = evaluate([{ ...point('2026-12-02', 0), nanos: 1n }], '2026-12-05');
    expect(crossings(budget, some, []).map(({ kind, ratio }) => `${kind} ${ratio}`)).toEqual([
      'actual 0.5',
      'actual 0.8',
      'forecast 1',
    ]);
    expect(some.exhaustionAt).toBe(at('2026-12-02'));
  });
});

describe('crossings', () => {
  /** A telling of October's plan of 3100, by its id. */
  const notified = (id: string, over: Partial<NotifiedCrossing> = {}): NotifiedCrossing => {
    const [, , kind, ratio = ''] = id.split('/');
    return { kind: kind as NotifiedCrossing['kind'], ratio, round: 1, holds: true, planned: 3100n * UNIT, ...over };
  };
  const ids = (state: BudgetState, already: string[] = []): string[] =>
    crossings(
      budget,
      state,
      already.map((id) => notified(id)),
    ).map(({ id }) => id);
  const half = 'b1/2026-10-01T00:00:00Z/actual/0.5';
  const forecast = 'b1/2026-10-01T00:00:00Z/forecast/1';

  it('happen once per period, whatever is found again', () => {
    const state = evaluate(daily('2026-10-01', 10, 200), '2026-10-11');
    expect(ids(state)).toEqual([half, forecast]);
    expect(ids(state, [half, forecast])).toEqual([]);
    expect(ids(evaluate(daily('2026-10-01', 14, 200), '2026-10-15'), [half, forecast])).toEqual([
      'b1/2026-10-01T00:00:00Z/actual/0.8',
    ]);
  });

  it('do not come back when late credits lower the spend and new spend raises it', () => {
    const lower = evaluate(
      [...daily('2026-10-01', 10, 200), point('2026-10-03', 0, { creditNanos: -1000n * UNIT })],
      '2026-10-11',
    );
    expect(ids(lower, [half, forecast])).toEqual([]);
    expect(ids(evaluate(daily('2026-10-01', 9, 200), '2026-10-11'), [half, forecast])).toEqual([]);
  });

  it('hold under a higher plan as long as it is reached, and are told again once it was not', () => {
    const plan = (amount: string) => ({ budget: { ...budget, planned: { default: amount, periods: {} } } });
    const now = '2026-10-11';
    // 2000 are spent: half of 3900 is reached, half of 4400 is not.
    const [still, below] = ['3900', '4400'].map((amount) => evaluate(daily('2026-10-01', 10, 200), now, plan(amount)));
    const one = notified(half);
    expect(raised(still!, [one])).toEqual([{ ...one, planned: 3900n * UNIT }]);
    expect(raised(below!, [one])).toEqual([{ ...one, holds: false }]);
    const again = evaluate(daily('2026-10-01', 11, 200), '2026-10-12', plan('4400'));
    expect(crossings(budget, again, [{ ...one, holds: false }])).toMatchObject([
      { kind: 'actual', ratio: '0.5', round: 2 },
      { kind: 'forecast', ratio: '1', round: 1 },
    ]);
    // A lower plan, and the same one again, end nothing; nor does late data under a plan that it has held.
    expect(raised(evaluate(daily('2026-10-01', 10, 200), now, plan('100')), [one])).toEqual([]);
    expect(raised(evaluate(daily('2026-10-01', 1, 200), now, plan('3100')), [one])).toEqual([]);
    expect(
      raised(evaluate(daily('2026-10-01', 1, 200), now, plan('3900')), [{ ...one, planned: 3900n * UNIT }]),
    ).toEqual([]);
  });

  it('are reached at exactly the ratio', () => {
    expect(ids(evaluate([point('2026-10-01', 1550)], '2026-10-11', { forecaster: null }))).toEqual([half]);
    expect(
      ids(evaluate([{ ...point('2026-10-01', 1550), nanos: 1550n * UNIT - 1n }], '2026-10-11', { forecaster: null })),
    ).toEqual([]);
  });

  it('belong to their period: the next month starts afresh', () => {
    const november = evaluate([point('2026-11-02', 400)], '2026-11-05', { forecaster: null });
    expect(ids(november)).toEqual(['b1/2026-11-01T00:00:00Z/actual/0.5']);
  });

  it('none where nothing is planned', () => {
    const bare = { ...budget, planned: { default: null, periods: {} } };
    expect(crossings(bare, evaluate(daily('2026-10-01', 10, 200), '2026-10-11', { budget: bare }), [])).toEqual([]);
  });
});

describe('scope', () => {
  it('takes in all teams below, and survives a ring', () => {
    const parents = new Map([
      ['research', null],
      ['vision', 'research'],
      ['nlp', 'research'],
      ['ocr', 'vision'],
      ['web', null],
      ['a', 'b'],
      ['b', 'a'],
    ]);
    expect([...teamsUnder('research', parents)].sort()).toEqual(['nlp', 'ocr', 'research', 'vision']);
    expect([...teamsUnder('a', parents)].sort()).toEqual(['a', 'b']);
  });

  it('filters by provider, SKU, term and tag; what is unknown passes no filter', () => {
    const line = { provider: 'AWS', sku: 'p5.48xlarge', term: 'spot' as const, tags: { env: 'prod' } };
    expect(covers({}, line)).toBe(true);
    expect(
      covers(
        { provider: ['AWS', 'Oracle'], sku: ['p5.48xlarge'], term: ['spot'], tag: [{ key: 'env', value: 'prod' }] },
        line,
      ),
    ).toBe(true);
    expect(covers({ provider: ['amazon web services'] }, line)).toBe(true);
    expect(covers({ tag: [{ key: 'env', value: 'dev' }] }, line)).toBe(false);
    expect(covers({ term: ['spot'] }, { ...line, term: null })).toBe(false);
    expect(covers({ sku: ['x'] }, { ...line, sku: null })).toBe(false);
    expect(covers({ tag: [{ key: 'env', value: 'prod' }] }, { ...line, tags: null })).toBe(false);
  });
});

describe('validation', () => {
  it('accepts the budget and names every problem of a bad one', () => {
    expect(problemsOfBudget(budget)).toEqual([]);
    const bad = {
      ...budget,
      id: '',
      zone: 'Mars',
      currency: 'usd',
      planned: { default: '-1', periods: { '2026-13-01': 'x' } },
      filters: { term: ['never'], sku: [] },
      thresholds: [{ kind: 'both', ratio: '0' }],
    } as unknown as Budget;
    expect(problemsOfBudget(bad).map(({ path }) => path)).toEqual([
      'id',
      'zone',
      'currency',
      'planned/default',
      'planned/periods/2026-13-01',
      'planned/periods/2026-13-01',
      'filters/term/0',
      'filters/sku',
      'thresholds/0/kind',
      'thresholds/0/ratio',
    ]);
    expect(problemsOfBudget({ ...budget, planned: { default: '1', periods: { '2026-11-02': '1' } } })).toEqual([
      { path: 'planned/periods/2026-11-02', message: 'is not the first day of a period (that is 2026-11-01)' },
    ]);
  });
});
