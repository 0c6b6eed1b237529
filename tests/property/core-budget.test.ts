import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crossings, weighBudget, type Budget, type SpendPoint } from '../../src/core/budget/budget.js';
import {
  DAY_MS,
  formatInstant,
  HOUR_MS,
  localDays,
  parseInstant,
  periodOf,
  splitAtHours,
  type PeriodKind,
} from '../../src/core/time.js';

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

describe('a budget', () => {
  it('crosses each threshold at most once per period, in whatever portions the spend arrives', () => {
    fc.assert(
      fc.property(
        budget,
        fc.array(point, { maxLength: 20 }),
        fc.array(fc.tuple(fc.nat(20), fc.nat(40 * 24)), { maxLength: 10 }),
        (one, points, steps) => {
          const already = new Set<string>();
          const seen: string[] = [];
          for (const [count, hour] of steps) {
            const state = weighBudget({
              budget: one,
              spend: points.slice(0, count),
              committed: 0n,
              now: START + hour * HOUR_MS,
              forecaster,
            });
            for (const { id } of crossings(one, state, already)) {
              already.add(id);
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
          const already = new Set<string>();
          for (const portion of portions) {
            const state = weighBudget({ budget: one, spend: portion, committed: 0n, now, forecaster: null });
            for (const { id } of crossings(one, state, already)) already.add(id);
          }
          return [...already].sort();
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
          weighBudget({ budget: one, spend: points, committed: 7n, now, instant, forecaster }),
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

  it('the pieces of an interval are its hours', () => {
    fc.assert(
      fc.property(fc.integer({ min: -DAY_MS, max: DAY_MS }), fc.nat(DAY_MS), (start, length) => {
        const pieces = splitAtHours(start, start + length);
        expect(pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0)).toBe(length);
        for (const piece of pieces)
          expect(Math.floor(piece.start / HOUR_MS)).toBe(Math.floor((piece.end - 1) / HOUR_MS));
      }),
    );
  });
});
