/** The two exact searches of the policies against every possibility of small cases. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cheapestMix } from '../../../src/policies/mix.js';
import { cheapestHours } from '../../../src/policies/estimating/off-peak.js';
import { offer } from '../../../src/policies/estimating/examples.js';

it('the cheapest hours of a job', () => {
  const problems = fc.record({
    costs: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 10 }),
    workHours: fc.integer({ min: 1, max: 12 }).map((half) => half / 2),
    restartHours: fc.constantFrom(0, 0.5, 1),
    mostStarts: fc.integer({ min: 1, max: 3 }),
    isRunning: fc.boolean(),
  });
  fc.assert(
    fc.property(problems, ({ costs, workHours, restartHours, mostStarts, isRunning }) => {
      let best = Infinity;
      for (let mask = 1; mask < 2 ** costs.length; mask++) {
        const runs = costs.map((_, hour) => (mask >> hour) % 2 === 1);
        const starts = runs.filter((on, hour) => on && !(hour === 0 ? isRunning : runs[hour - 1])).length;
        const hours = runs.filter(Boolean).length;
        if (starts > mostStarts || hours - starts * restartHours < workHours) continue;
        best = Math.min(
          best,
          costs.reduce((sum, cost, hour) => sum + (runs[hour] ? cost : 0), 0),
        );
      }
      const plan = cheapestHours({
        hourCost: Float64Array.from(costs),
        workHours,
        restartHours,
        mostStarts,
        isRunning,
      });
      expect(plan?.cost ?? Infinity).toBe(best);
      if (plan === null) return;
      expect(
        plan.pieces.reduce((sum, { from, to }) => sum + costs.slice(from, to).reduce((all, one) => all + one, 0), 0),
      ).toBe(plan.cost);
      const starts = plan.pieces.length - (isRunning && plan.pieces[0]?.from === 0 ? 1 : 0);
      expect(
        plan.pieces.reduce((sum, { from, to }) => sum + to - from, 0) - starts * restartHours,
      ).toBeGreaterThanOrEqual(workHours);
      expect(starts).toBeLessThanOrEqual(mostStarts);
    }),
    { numRuns: 300 },
  );
});

it('the cheapest mix of at most two kinds', () => {
  const kind = fc.record({
    unitsPerMinute: fc.integer({ min: 1, max: 9 }),
    hourNanos: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(kind, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 30 }), (kinds, need) => {
      let best = Infinity;
      const counts = [0, 1, 2, 3, 4, 5, 6, 7, 8];
      for (const a of kinds)
        for (const b of kinds)
          for (const n of counts)
            for (const m of counts) {
              if (n * a.unitsPerMinute + m * b.unitsPerMinute >= need && n <= 8 && m <= 8 && (a !== b || m === 0))
                best = Math.min(best, n * a.hourNanos + m * b.hourNanos);
            }
      const mix = cheapestMix(
        kinds.map((one, n) => ({ ...one, offer: offer(`M${n}`, 'on-demand', 1), source: 'test' })),
        need,
        8,
      );
      expect(mix?.hourNanos ?? Infinity).toBe(best);
    }),
    { numRuns: 300 },
  );
});
