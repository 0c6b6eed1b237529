/**
 * What must hold for any trace, past and terms: the optimum is the least of all plans, nobody beats it, nobody misses
 * the deadline, and nobody looks ahead.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_PARAMETERS, availabilityModel, leanToPast } from '../../src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../src/planning/spot/bursar.js';
import { opponents } from '../../src/planning/spot/opponents.js';
import { optimumCost } from '../../src/lab/spot/optimum.js';
import { planSpot } from '../../src/planning/spot/plan.js';
import { spotProblem, type Mode, type SpotProblem } from '../../src/planning/spot/problem.js';
import {
  firstState,
  openTick,
  simulate,
  spendTick,
  type JobState,
  type SpotPolicy,
} from '../../src/planning/spot/simulate.js';

const model = availabilityModel(BUILT_IN_PARAMETERS);
const everyPolicy = (problem: SpotProblem): SpotPolicy[] => [
  bursarPolicy(planSpot(problem, model)),
  ...opponents(problem),
];

/** Terms in tenths of an hour, on ticks of an hour, always with room for one restart. */
const problems = (jobMost: number, slackMost: number): fc.Arbitrary<SpotProblem> =>
  fc
    .record({
      job: fc.integer({ min: 5, max: jobMost * 10 }),
      slack: fc.integer({ min: 0, max: slackMost * 10 }),
      restart: fc.integer({ min: 0, max: 25 }),
      spot: fc.integer({ min: 0, max: 30 }),
    })
    .map(({ job, slack, restart, spot }) =>
      spotProblem({
        jobHours: job / 10,
        restartHours: restart / 10,
        deadlineHours: Math.ceil((job + restart + slack) / 10),
        tickSeconds: 3600,
        onDemandPrice: 3,
        spotPrice: spot / 10,
      }),
    );
const windows = (problem: SpotProblem): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: problem.ticks, maxLength: problem.ticks, max: 1 });
const cases = (jobMost: number, slackMost: number): fc.Arbitrary<readonly [SpotProblem, Uint8Array]> =>
  problems(jobMost, slackMost).chain((problem) => fc.tuple(fc.constant(problem), windows(problem)));

/** Least cost over all sequences of modes that finish. */
function enumerated(problem: SpotProblem, window: Uint8Array, state: JobState): number {
  if (state.workLeft <= 0) return 0;
  if (state.tick >= problem.ticks) return Infinity;
  const opened = { ...state };
  openTick(opened, window[state.tick] === 1);
  const modes: Mode[] = opened.available ? [0, 1, 2] : [0, 2];
  return Math.min(
    ...modes.map((mode) => {
      const after = { ...opened };
      const paid = spendTick(problem, after, mode) * problem.unitPrice[mode];
      return paid + enumerated(problem, window, after);
    }),
  );
}

describe('on any trace and terms', () => {
  it('the optimum is the least over every sequence of modes', () => {
    fc.assert(
      fc.property(cases(3, 3), ([problem, window]) => {
        fc.pre(problem.ticks <= 8);
        expect(optimumCost(problem, window)).toBeCloseTo(enumerated(problem, window, firstState(problem)), 9);
      }),
      { numRuns: 60 },
    );
  });

  it('every policy finishes by the deadline and none is cheaper than the optimum', () => {
    fc.assert(
      fc.property(
        cases(30, 20),
        fc.uint8Array({ maxLength: 60, max: 1 }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        ([problem, window], past, toleranceRestarts) => {
          const least = optimumCost(problem, window);
          const leaning = bursarPolicy(planSpot(problem, availabilityModel(leanToPast(BUILT_IN_PARAMETERS, past))), {
            past,
            toleranceRestarts,
          });
          for (const policy of [leaning, ...everyPolicy(problem)]) {
            const run = simulate(problem, window, policy);
            expect(run.finished, policy.name).toBe(true);
            expect(run.cost, policy.name).toBeGreaterThan(least - 1e-9);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('no decision changes when what lies ahead of it is shuffled', () => {
    const futures = cases(30, 20)
      .chain(([problem, window]) => fc.tuple(fc.constant(problem), fc.constant(window), fc.nat(problem.ticks - 1)))
      .chain(([problem, window, now]) => {
        const ahead = [...window.subarray(now + 1)];
        return fc.tuple(
          fc.constant(problem),
          fc.constant(window),
          fc.constant(now),
          fc.shuffledSubarray(ahead, { minLength: ahead.length, maxLength: ahead.length }),
        );
      });
    fc.assert(
      fc.property(futures, ([problem, window, now, shuffled]) => {
        const other = Uint8Array.from([...window.subarray(0, now + 1), ...shuffled]);
        for (const policy of everyPolicy(problem)) {
          expect(decisions(problem, other, policy).slice(0, now + 1), policy.name).toEqual(
            decisions(problem, window, policy).slice(0, now + 1),
          );
        }
      }),
      { numRuns: 40 },
    );
  });
});

function decisions(problem: SpotProblem, window: Uint8Array, policy: SpotPolicy): Mode[] {
  const made: Mode[] = [];
  const decide = policy.start();
  simulate(problem, window, {
    name: policy.name,
    start: () => (view) => {
      const mode = decide(view);
      made.push(mode);
      return mode;
    },
  });
  return made;
}
