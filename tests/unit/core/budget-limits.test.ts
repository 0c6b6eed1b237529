/** A budget at its limits: exactly reached, one nano or one millisecond beside it, and nothing known. */
import { describe, expect, it } from 'vitest';
import {
  checkBudget,
  covers,
  crossings,
  evaluateBudget,
  holdsStill,
  problemsOfBudget,
  raised,
  type Budget,
  type BudgetState,
  type Filterable,
  type NotifiedCrossing,
  type SpendPoint,
} from '../../../src/core/budget/budget.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { monthBudget } from '../../support/makers.js';

const UNIT = 1_000_000_000n;
/** The month that is looked at, and ten days of it. */
const [START, END] = [Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)];
const NOW = START + 10 * DAY_MS;

const budget = (planned: string | null, over: Partial<Budget> = {}): Budget =>
  monthBudget({ id: 'b', planned: { default: planned, periods: {} }, ...over });
const point = (at: number, amount: number, rest: Partial<SpendPoint> = {}): SpendPoint => ({
  at,
  nanos: BigInt(amount) * UNIT,
  creditNanos: 0n,
  unpricedQuantity: 0n,
  ...rest,
});
/** Always the same, whatever was spent: 300 still to come, 200 to 400. */
const forecaster = () => ({ mean: 300, low: 200, high: 400, method: 'said' });
type Input = Partial<Parameters<typeof evaluateBudget>[0]>;
const evaluate = (planned: string | null, spend: readonly SpendPoint[], over: Input = {}): BudgetState =>
  evaluateBudget({ budget: budget(planned), spend, committed: 0n, now: NOW, forecaster, ...over });

describe('a forecast', () => {
  const spend = [point(START, 100)];
  const forecast = { kind: 'forecast', ratio: '1' } as const;
  const crossed = (planned: string): string[] => {
    const one = budget(planned, { thresholds: [forecast] });
    return crossings(one, evaluate(planned, spend, { budget: one }), []).map(({ nanos }) => String(nanos / UNIT));
  };

  it('crosses by its mean, neither by its low end nor by its high one', () => {
    // 100 spent and 300 to come: 400, from 300 to 500.
    expect([crossed('400'), crossed('399'), crossed('301')]).toEqual([['400'], ['400'], ['400']]);
    expect([crossed('401'), crossed('499')]).toEqual([[], []]);
  });

  it('has what is reserved on top of it, whatever is committed', () => {
    const totals = (committed: bigint, reserved?: bigint) => {
      const state = evaluate('1000', spend, { committed: committed * UNIT, reserved });
      const { low, mean, high } = state.forecast!;
      return [state.committed, low, mean, high].map((nanos) => Number(nanos / UNIT));
    };
    expect(totals(0n)).toEqual([0, 300, 400, 500]);
    expect(totals(0n, 50n * UNIT)).toEqual([50, 350, 450, 550]);
    // Of 260 committed the low end knew 200, and nothing of what is reserved.
    expect(totals(260n, 50n * UNIT)).toEqual([310, 410, 450, 550]);
    expect(totals(300n)).toEqual([300, 400, 400, 500]);
    expect(totals(700n, 1n * UNIT)).toEqual([701, 801, 801, 801]);
  });

  it('is made of the spend of each local day up to now, the first days of the record too', () => {
    const asked: unknown[] = [];
    const recording = (...given: unknown[]) => {
      asked.push(given);
      return forecaster();
    };
    const now = START + 2 * DAY_MS + 6 * HOUR_MS;
    const points = [
      point(START - DAY_MS, 5),
      point(START, 1, { creditNanos: -UNIT / 2n }),
      point(START + HOUR_MS, 2),
      point(now, 4),
      point(now + 1, 8),
      point(now + 3 * DAY_MS, 16),
    ];
    evaluate('1000', points, { now, forecaster: recording });
    // October has 28 whole days after the third.
    expect(asked).toEqual([[[5, 2.5, 0, 4], 0.25, 28]]);
    evaluate('1000', points, { now: END - HOUR_MS, forecaster: recording });
    expect(asked[1]).toMatchObject([{ length: 32 }, 23 / 24, 0]);
  });

  it.each<[string, Input]>([
    ['there is no forecaster', { forecaster: null }],
    ['nothing was spent', { spend: [] }],
    ['the first spend is to come', { spend: [point(NOW + 1, 1)] }],
    ['the period is to come', { instant: END + DAY_MS }],
    ['its mean is no number', { forecaster: () => ({ ...forecaster(), mean: Number.NaN }) }],
    ['its low end is no number', { forecaster: () => ({ ...forecaster(), low: -Infinity }) }],
    ['its high end is no number', { forecaster: () => ({ ...forecaster(), high: Infinity }) }],
  ])('is not made where %s', (_, over) => {
    expect(evaluate('1000', spend, over).forecast).toBeNull();
  });

  it('is made from the instant of the first spend on, and from the first instant of the period', () => {
    expect(evaluate('1000', [point(NOW, 1)]).forecast).not.toBeNull();
    expect(evaluate('1000', [point(START - DAY_MS, 1)], { now: START }).forecast).not.toBeNull();
  });

  it('is what was spent from the last instant of the period on', () => {
    const method = (now: number) => evaluate('1000', spend, { now, instant: START }).forecast?.method;
    expect([method(END - 1), method(END)]).toEqual(['said', 'closed']);
  });
});

describe('the burn rate', () => {
  const rate = (points: readonly SpendPoint[], now = NOW): number | null => {
    const { burnRatePerDay } = evaluate('1000', points, { now });
    return burnRatePerDay === null ? null : Number(burnRatePerDay / UNIT);
  };

  it('is of the last seven days, or since the first spend', () => {
    expect(rate([point(NOW - 7 * DAY_MS, 70)])).toBe(10);
    expect(rate([point(NOW - 7 * DAY_MS - 1, 70), point(NOW - DAY_MS, 7)])).toBe(1);
    expect(rate([point(NOW - 2 * DAY_MS, 70)])).toBe(35);
    // Before the period as well.
    expect(rate([point(START - DAY_MS, 20)], START + DAY_MS)).toBe(10);
  });

  it('leaves out what is to come, and counts credits', () => {
    expect(rate([point(NOW - DAY_MS, 10), point(NOW, 99)])).toBe(10);
    expect(rate([point(NOW - DAY_MS, 10, { creditNanos: -4n * UNIT })])).toBe(6);
  });

  it('is known after an hour', () => {
    expect([rate([point(NOW - HOUR_MS, 1)]), rate([point(NOW - HOUR_MS + 1, 1)])]).toEqual([24, null]);
  });
});

describe('the instant at which a plan runs out', () => {
  it('has its day in the zone of the budget', () => {
    const spend = [point(Date.UTC(2026, 9, 5, 17), 100)];
    const dayIn = (zone: string) =>
      evaluateBudget({ budget: budget('100', { zone }), spend, committed: 0n, now: NOW, forecaster }).exhaustionDay;
    expect(['UTC', 'Asia/Shanghai', 'America/New_York'].map(dayIn)).toEqual(['2026-10-05', '2026-10-06', '2026-10-05']);
    expect(evaluate('100.000000001', [], { forecaster: null }).exhaustionDay).toBeNull();
  });

  it('is that of the point that reached it', () => {
    const points = [point(START, 50), point(START + HOUR_MS, 50), point(START + 2 * HOUR_MS, 50)];
    expect(evaluate('100', points).exhaustionAt).toBe(START + HOUR_MS);
    expect(evaluate('100.000000001', points).exhaustionAt).toBe(START + 2 * HOUR_MS);
    // Over, and it stays told after the period.
    expect(evaluate('100', points, { now: END, instant: START }).exhaustionAt).toBe(START + HOUR_MS);
    expect(evaluate('151', points, { now: END, instant: START }).exhaustionAt).toBeNull();
  });

  it('is none of a while in which credits had not come yet', () => {
    const points = [point(START, 150), point(START + HOUR_MS, 0, { creditNanos: -100n * UNIT })];
    expect(evaluate('120', points, { forecaster: null, now: END, instant: START }).exhaustionAt).toBeNull();
  });

  it('lies on the line to the forecast, where that is above the plan', () => {
    const spend = [point(START, 100)];
    // 300 more in 21 days: 100 of them after seven.
    expect(evaluate('200', spend).exhaustionAt).toBe(NOW + 7 * DAY_MS);
    expect(evaluate('399.999999999', spend).exhaustionAt).toBe(END - 1);
    expect(evaluate('400', spend).exhaustionAt).toBeNull();
    expect(evaluate('200', spend, { forecaster: () => ({ ...forecaster(), mean: 0 }) }).exhaustionAt).toBeNull();
  });

  it('goes by the burn rate where there is no forecast, up to the end of the period', () => {
    const spend = [point(NOW - DAY_MS, 10)];
    const exhaustion = (planned: string, over: Input = {}) =>
      evaluate(planned, spend, { forecaster: null, ...over }).exhaustionAt;
    // Ten a day, and 21 days are left.
    expect([exhaustion('20'), exhaustion('220'), exhaustion('221')]).toEqual([NOW + DAY_MS, END, null]);
    expect(exhaustion('20', { spend: [point(NOW - MINUTE_MS, 10)] })).toBeNull();
    expect(exhaustion('20', { spend: [] })).toBeNull();
  });
});

describe('the state', () => {
  it('counts what lies in the period, its first instant included and its end not', () => {
    const rest = { creditNanos: -UNIT, unpricedQuantity: 3n };
    const state = evaluate(
      '1000',
      [START - 1, START, END - 1, END].map((at) => point(at, 10, rest)),
    );
    expect([state.spent, state.credits, state.unpricedQuantity]).toEqual([18n * UNIT, -2n * UNIT, 6n]);
  });

  it('has a ratio to six digits', () => {
    expect(evaluate('3', [point(START, 2)]).ratio).toBe(0.666666);
    expect(evaluate('3', [point(START, 6)]).ratio).toBe(2);
    expect([evaluate('0', [point(START, 2)]).ratio, evaluate(null, [point(START, 2)]).ratio]).toEqual([null, null]);
  });
});

describe('a threshold', () => {
  const actual = (ratio: string) => ({ kind: 'actual', ratio }) as const;
  const state = (planned: string | null, spent: number): BudgetState =>
    evaluate(planned, spent === 0 ? [] : [point(START, spent)], { forecaster: null });
  const told = (ratio: string, over: Partial<NotifiedCrossing> = {}): NotifiedCrossing => ({
    ...actual(ratio),
    round: 1,
    holds: true,
    planned: 100n * UNIT,
    ...over,
  });

  it('is the same one however it is written, and is written without zeros at the end', () => {
    const one = budget('100', { thresholds: ['0.80', '0.8', '10', '1.0'].map(actual) });
    const found = crossings(one, state('100', 1000), []);
    expect(found.map(({ ratio, id }) => `${ratio} ${id}`)).toEqual([
      '0.8 b/2026-10-01T00:00:00Z/actual/0.8',
      '10 b/2026-10-01T00:00:00Z/actual/10',
      '1 b/2026-10-01T00:00:00Z/actual/1',
    ]);
    expect(
      crossings(
        one,
        state('100', 1000),
        ['0.800', '10.0', '1'].map((ratio) => told(ratio)),
      ),
    ).toEqual([]);
  });

  it('of one kind says nothing of the other, and a ratio that is none is left out', () => {
    const one = budget('100', { thresholds: ['0.8', '0', '-1', 'x'].map(actual) });
    expect(crossings(one, state('100', 90), [{ ...told('0.8'), kind: 'forecast' }])).toMatchObject([{ round: 1 }]);
  });

  it('is told in the next round after one that holds no more', () => {
    const one = budget('100', { thresholds: [actual('0.8')] });
    const before = told('0.8', { round: 4, holds: false });
    expect(crossings(one, state('100', 80), [before])).toMatchObject([
      { round: 5, nanos: 80n * UNIT, planned: 100n * UNIT, periodStart: START },
    ]);
  });

  it('holds still while it is reached', () => {
    const holds = (ratio: string, planned: bigint | null, spent: bigint, kind: 'actual' | 'forecast' = 'actual') =>
      holdsStill({ kind, ratio }, { planned, spent, forecast: spent === 7n ? null : spent });
    expect([holds('0.8', 100n, 80n), holds('0.80', 100n, 79n), holds('0.8', 100n, 81n)]).toEqual([true, false, true]);
    expect([holds('1', 0n, 0n), holds('1', 0n, 1n), holds('1', null, 1n)]).toEqual([false, true, false]);
    expect([holds('x', 0n, 1n), holds('0.8', 100n, 80n, 'forecast')]).toEqual([false, true]);
    expect([holds('0.01', 100n, 7n), holds('0.01', 100n, 7n, 'forecast')]).toEqual([true, false]);
  });

  it('that was told changes by a higher plan alone', () => {
    const of = (planned: string | null, spent: number, over: Partial<NotifiedCrossing> = {}) =>
      raised(state(planned, spent), [told('0.5', over)]).map(({ holds, planned: under }) => [holds, under / UNIT]);
    // Told at half of 100.
    expect([of('100', 10), of('99', 10), of(null, 10)]).toEqual([[], [], []]);
    expect([of('120', 60), of('121', 60)]).toEqual([[[true, 120n]], [[false, 100n]]]);
    expect(of('121', 60, { holds: false })).toEqual([]);
    expect(of('121', 60, { ratio: 'x' })).toEqual([]);
    expect(of('121', 60, { kind: 'forecast' })).toEqual([]);
  });
});

describe('a filter', () => {
  const line: Filterable = {
    provider: 'AWS',
    account: 'a',
    subAccount: 's',
    region: 'r',
    service: 'EC2',
    category: 'Usage',
    sku: 'p5',
    term: 'spot',
    tags: { env: 'prod' },
  };

  it.each<[Budget['filters'], boolean]>([
    [{ account: ['a'], subAccount: ['s'], region: ['r'], service: ['EC2'], category: ['Usage'] }, true],
    [{ account: ['b'] }, false],
    [{ account: ['a'], region: ['q'] }, false],
    [{ category: ['Tax', 'Usage'] }, true],
    [{ category: ['Tax'] }, false],
    [{ tag: [] }, false],
    [
      {
        tag: [
          { key: 'x', value: 'y' },
          { key: 'env', value: 'prod' },
        ],
      },
      true,
    ],
    [{ provider: ['AWS'], tag: [{ key: 'env', value: 'dev' }] }, false],
    [{ provider: ['Oracle'], tag: [{ key: 'env', value: 'prod' }] }, false],
    [{ account: undefined, tag: undefined }, true],
  ])('%j', (filters, passes) => {
    expect(covers(filters, line)).toBe(passes);
  });

  it('on what the line does not know passes nothing', () => {
    for (const account of [null, undefined]) {
      expect(covers({ account: ['a', 'undefined', 'null'] }, { ...line, account })).toBe(false);
      expect(covers({}, { ...line, account })).toBe(true);
    }
    const inherited = Object.create({ env: 'prod' }) as Record<string, string>;
    expect(covers({ tag: [{ key: 'env', value: 'prod' }] }, { ...line, tags: inherited })).toBe(false);
  });
});

describe('a budget is refused', () => {
  const good = budget('0', { thresholds: [{ kind: 'forecast', ratio: '100' }] });
  const paths = (over: object): string[] => problemsOfBudget({ ...good, ...over } as Budget).map(({ path }) => path!);

  it.each<[object, string[]]>([
    [{}, []],
    [{ id: '  ' }, ['id']],
    [{ team: ' ' }, ['team']],
    [{ currency: 'USDX' }, ['currency']],
    [{ currency: 'xUSD' }, ['currency']],
    [{ period: 'quarter' }, []],
    [{ period: 'year' }, []],
    [{ period: 'week' }, ['period']],
    [{ period: { start: '2026-10-01', lengthDays: 1 } }, []],
    [{ period: { start: '2026-10-01', lengthDays: 0 } }, ['period/lengthDays']],
    [{ period: { start: '2026-10-01', lengthDays: 1.5 } }, ['period/lengthDays']],
    [{ period: { start: '2026-02-30', lengthDays: 7 } }, ['period/start']],
    [{ planned: { default: null, periods: {} } }, []],
    [{ planned: { default: '0.000000001', periods: {} } }, []],
    [{ planned: { default: '0.0000000001', periods: {} } }, ['planned/default']],
    [{ planned: { default: '-0.01', periods: {} } }, ['planned/default']],
    [{ planned: { default: null, periods: { '2026-10-01': '1' } } }, []],
    [{ planned: { default: null, periods: { '2026-10-01': 'x' } } }, ['planned/periods/2026-10-01']],
    [{ planned: { default: null, periods: { '2026-10-02': '1' } } }, ['planned/periods/2026-10-02']],
    [{ planned: { default: null, periods: { '2026-13-01': '1' } } }, ['planned/periods/2026-13-01']],
    // What a period begins with is not known where the period or the zone is not.
    [{ zone: 'Mars', planned: { default: null, periods: { '2026-10-02': '1' } } }, ['zone']],
    [{ filters: { term: ['spot', 'never'] } }, ['filters/term/1']],
    [{ filters: { category: ['Usage', 'never'] } }, ['filters/category/1']],
    [{ filters: { tag: [] } }, ['filters/tag']],
    [{ basis: 'accrued' }, []],
    [{ basis: 'list' }, ['basis']],
    [{ thresholds: [{ kind: 'actual', ratio: '100.1' }] }, ['thresholds/0/ratio']],
    [{ thresholds: [{ kind: 'actual', ratio: '0.0' }] }, ['thresholds/0/ratio']],
    [{ thresholds: [{ kind: 'none', ratio: '1' }] }, ['thresholds/0/kind']],
  ])('where %j', (over, expected) => {
    expect(paths(over)).toEqual(expected);
  });

  it('with the number of its problems', () => {
    expect(checkBudget(good)).toBe(good);
    expect(() => checkBudget({ ...good, id: '', team: '' })).toThrow('the budget has 2 problem(s)');
  });
});
