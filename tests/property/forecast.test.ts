import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runExperts } from '../../src/planning/forecast/experts.js';
import { forecastPeriodEnd } from '../../src/planning/forecast/forecast.js';
import { weightExperts } from '../../src/planning/forecast/weighting.js';

const spend = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 100_000 }).map((cents) => cents / 100),
  ),
  { minLength: 1, maxLength: 60 },
);

describe('the forecast, whatever was spent', () => {
  it('never reads ahead: what was said of the days so far does not change with those that follow', () => {
    fc.assert(
      fc.property(spend, spend, spend, fc.integer({ min: 1, max: 40 }), (past, one, other, days) => {
        const [first, second] = [one, other].map((future) => {
          const history = [...past, ...future];
          return weightExperts(history, runExperts(history), days).tracks.map(({ forecasts, errors }) => ({
            forecasts: forecasts.slice(0, past.length),
            errors: errors.slice(0, Math.max(0, past.length - days)),
          }));
        });
        expect(first).toEqual(second);
        expect(first?.at(-1)?.forecasts.at(-1)).toBe(
          weightExperts(past, runExperts(past), days).tracks.at(-1)?.forecasts.at(-1),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('is ordered, finite and not below zero, at any hour and for any days left', () => {
    fc.assert(
      fc.property(
        spend,
        fc.integer({ min: 0, max: 86_400 }).map((seconds) => seconds / 86_400),
        fc.integer({ min: 0, max: 400 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (history, elapsed, daysLeft, coverage) => {
          const { mean, low, high } = forecastPeriodEnd(history, elapsed, daysLeft, { coverage });
          expect([mean, low, high].every(Number.isFinite)).toBe(true);
          expect(low).toBeGreaterThanOrEqual(0);
          expect(low).toBeLessThanOrEqual(mean);
          expect(mean).toBeLessThanOrEqual(high);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('does not depend on the currency: spend of 64 times as much is forecast as 64 times as much', () => {
    fc.assert(
      fc.property(spend, fc.integer({ min: 0, max: 40 }), (history, daysLeft) => {
        fc.pre(history.slice(0, -1).some((value) => value > 0));
        const [one, other] = [history, history.map((value) => value * 64)].map((series) =>
          forecastPeriodEnd(series, 0, daysLeft),
        );
        for (const key of ['mean', 'low', 'high'] as const)
          expect(other?.[key]).toBeCloseTo(64 * (one?.[key] ?? NaN), 3);
      }),
      { numRuns: 60 },
    );
  });
});
