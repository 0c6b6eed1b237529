import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  crossings,
  raised,
  evaluateBudget,
  type Budget,
  type BudgetState,
  type SpendPoint,
  type NotifiedCrossing,
} from '../../src/core/budget/budget.js';
import {
  DAY_MS,
  formatInstant,
  HOUR_MS,
  localDays,
  parseInstant,
  periodOf,
  type PeriodKind,
} from '../../src/core/time.js';
import { monthBudget } from '../support/makers.js';

const START = parseInstant('2026-10-01') ?? 0;
const point: fc.Arbitrary<SpendPoint> = fc.record({
  at: fc.integer({ min: -20 * 24, max: 40 * 24 }).map((hour) => START + hour * HOUR_MS),
  nanos: fc.bigInt(0n, 10n ** 12n),
  creditNanos: fc.bigInt(-(10n ** 11n), 0n),
  unpricedQuantity: fc.bigInt(0n, 100n),
});
const budget: fc.Arbitrary<Budget> = fc.record({
  id: fc.constant('b'),
  team: fc.constant('t'),
  period: fc.constantFrom<PeriodKind>('month', 'quarter', 'year', { start: '2026-10-05', lengthDays: 10 }),
  zone: fc.constantFrom('UTC', 'America/New_York', 'Asia/Kolkata'),
  currency: fc.constant('USD'),
  filters: fc.constant({}),
  planned: fc.record({ default: fc.constantFrom('0', '1', '500', '20000', null), periods: fc.constant({}) }),
  includeCredits: fc.boolean(),
  thresholds: fc.constant([
    { kind: 'actual' as const, ratio: '0.5' },
    { kind: 'actual' as const, ratio: '1.0' },
    { kind: 'forecast' as const, ratio: '1' },
  ]),
});
const forecaster = (spend: readonly number[], elapsed: number, daysLeft: number) => {
  const mean = (spend.reduce((a, b) => a + b, 0) / spend.length) * (daysLeft + 1 - elapsed);
  return { mean, low: mean / 2, high: mean * 2, method: 'mean' };
};

const TEAM_BUDGET: Budget = monthBudget({ id: 'b', team: 't', planned: { default: null, periods: {} } });
/** A telling with the period that it was in. */
type Told = NotifiedCrossing & { readonly period: number };
const here = (notified: readonly Told[], state: BudgetState): Told[] =>
  notified.filter(({ period }) => period === state.period.start);

describe('a budget', () => {
  it('tells a threshold again only where the plan was raised beyond the spend in between, however it is changed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ plan: fc.integer({ min: 1, max: 40 }), spent: fc.integer({ min: 0, max: 40 }) }), {
          minLength: 1,
          maxLength: 12,
        }),
        (steps) => {
          let notified: NotifiedCrossing[] = [];
          /** Whether a plan above all that it was told under has left its amount unreached since. */
          let isArmed = true;
          let highest = 0n;
          for (const { plan, spent } of steps) {
            const one: Budget = {
              ...TEAM_BUDGET,
              planned: { default: String(plan), periods: {} },
              thresholds: [{ kind: 'actual', ratio: '0.5' }],
            };
            const whole = { at: START, nanos: BigInt(spent) * 10n ** 9n, creditNanos: 0n, unpricedQuantity: 0n };
            const state = evaluateBudget({
              budget: one,
              spend: [whole],
              committed: 0n,
              now: START + HOUR_MS,
              forecaster: null,
            });
            const [planned, isReached] = [BigInt(plan) * 10n ** 9n, spent * 2 >= plan];
            if (!isArmed && planned > highest) {
              isArmed = !isReached;
              if (isReached) highest = planned;
            }
            const changed = raised(state, notified);
            notified = notified.map((each) => changed[0] ?? each);
            const found = crossings(one, state, notified);
            expect(found.length).toBe(isArmed && isReached ? 1 : 0);
            for (const { kind, ratio, planned: under, round } of found) {
              notified = [{ kind, ratio, round, planned: under, holds: true }];
              [isArmed, highest] = [false, under];
            }
            // The same again, as after a removal: nothing is told.
            expect(crossings(one, state, notified)).toEqual([]);
            expect(raised(state, notified).every(({ holds }) => holds)).toBe(true);
          }
        },
      ),
    );
  });

  it('crosses each threshold at most once per period, in whatever portions the spend arrives', () => {
    fc.assert(
      fc.property(
        budget,
        fc.array(point, { maxLength: 20 }),
        fc.array(fc.tuple(fc.nat(20), fc.nat(40 * 24)), { maxLength: 10 }),
        (one, points, steps) => {
          const already: Told[] = [];
          const seen: string[] = [];
          for (const [count, hour] of steps) {
            const state = evaluateBudget({
              budget: one,
              spend: points.slice(0, count),
              committed: 0n,
              now: START + hour * HOUR_MS,
              forecaster,
            });
            expect(raised(state, here(already, state))).toEqual([]);
            for (const { id, kind, ratio, planned } of crossings(one, state, here(already, state))) {
              already.push({ kind, ratio, planned, round: 1, holds: true, period: state.period.start });
              seen.push(id);
            }
          }
          expect(new Set(seen).size).toBe(seen.length);
        },
      ),
    );
  });

  it('ends with the same actual crossings whatever came first', () => {
    fc.assert(
      fc.property(budget, fc.array(point, { maxLength: 20 }), fc.nat(20), (one, points, cut) => {
        // Without credits spend only grows, so that every order meets the same thresholds.
        const spend = points.map((each) => ({ ...each, creditNanos: 0n }));
        const now = START + 3 * DAY_MS;
        const run = (portions: SpendPoint[][]): string[] => {
          const already: Told[] = [];
          const seen: string[] = [];
          for (const portion of portions) {
            const state = evaluateBudget({ budget: one, spend: portion, committed: 0n, now, forecaster: null });
            for (const { id, kind, ratio, planned } of crossings(one, state, here(already, state))) {
              already.push({ kind, ratio, planned, round: 1, holds: true, period: state.period.start });
              seen.push(id);
            }
          }
          return seen.sort();
        };
        expect(run([spend.slice(0, cut), spend])).toEqual(run([spend.slice(cut), [...spend].reverse()]));
      }),
    );
  });

  it("the periods' spend sums to the whole, and the forecast is in order", () => {
    fc.assert(
      fc.property(budget, fc.array(point, { maxLength: 20 }), (one, points) => {
        const now = START + 50 * DAY_MS;
        const periods = new Set(points.map(({ at }) => periodOf(one.period, at, one.zone).start));
        const states = [...periods].map((instant) =>
          evaluateBudget({ budget: one, spend: points, committed: 7n, now, instant, forecaster }),
        );
        const counted = points.reduce(
          (sum, each) => sum + each.nanos + (one.includeCredits ? each.creditNanos : 0n),
          0n,
        );
        expect(states.reduce((sum, { spent }) => sum + spent, 0n)).toBe(counted);
        for (const { forecast } of states)
          if (forecast !== null) expect(forecast.low <= forecast.mean && forecast.mean <= forecast.high).toBe(true);
      }),
    );
  });
});

describe('time', () => {
  const zone = fc.constantFrom(
    'UTC',
    'America/New_York',
    'Europe/London',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'America/Havana',
    'Africa/Casablanca',
  );
  const instant = fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2045, 0, 1) });

  it('every instant lies in one period, whose neighbours touch it', () => {
    fc.assert(
      fc.property(
        zone,
        instant,
        fc.constantFrom<PeriodKind>('month', 'quarter', 'year', { start: '2026-01-31', lengthDays: 28 }),
        (name, at, kind) => {
          const period = periodOf(kind, at, name);
          expect(period.start <= at && at < period.end).toBe(true);
          expect(periodOf(kind, period.end, name).start).toBe(period.end);
          expect(periodOf(kind, period.start - 1, name).end).toBe(period.start);
          expect(localDays(name, period.start - 1)).toBeLessThan(localDays(name, period.start));
        },
      ),
    );
  });

  it('an instant survives its text', () => {
    fc.assert(
      fc.property(instant, (at) => {
        expect(parseInstant(formatInstant(at))).toBe(at);
      }),
    );
  });
});
