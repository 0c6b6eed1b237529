/**
 * A kept plan is the whole plan: the same tables and the same decisions, whatever the terms, the belief and the order
 * of looks.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { availabilityModel, BUILT_IN_PARAMETERS, COMPONENTS } from '../../src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../src/planning/spot/bursar.js';
import { KeptPlan } from '../../src/planning/spot/kept-plan.js';
import { planSpot, type SpotPlan } from '../../src/planning/spot/plan.js';
import { spotProblem, type Mode, type SpotProblem } from '../../src/planning/spot/problem.js';

/** Terms in tenths of an hour on ticks of an hour: restarts of nothing, of parts of a tick and of more than one. */
const problems: fc.Arbitrary<SpotProblem> = fc
  .record({
    job: fc.integer({ min: 5, max: 200 }),
    slack: fc.integer({ min: 0, max: 150 }),
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
/** Models whose far future is anything, so that the components' prices are of any mix. */
const models = fc
  .array(fc.integer({ min: 1, max: 100 }), { minLength: COMPONENTS, maxLength: COMPONENTS })
  .map((weights) => {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return availabilityModel({ ...BUILT_IN_PARAMETERS, characterShares: weights.map((weight) => weight / total) });
  });

/** Also where a number is not one, or a zero has a sign. */
function isSame(one: Float32Array | undefined, other: Float32Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const [bits, others] = [one, other].map(
    ({ buffer, byteOffset, length }) => new Uint32Array(buffer, byteOffset, length),
  ) as [Uint32Array, Uint32Array];
  return bits.length === others.length && bits.every((word, i) => word === others[i]);
}

describe('a kept plan', () => {
  it('has the tables of the whole plan, bit for bit, in whatever order they are asked for', () => {
    const looks = problems.chain((problem) =>
      fc.tuple(
        fc.constant(problem),
        fc.array(fc.integer({ min: -1, max: problem.ticks }), { minLength: 8, maxLength: 8 }),
      ),
    );
    fc.assert(
      fc.property(looks, models, ([problem, ticks], model) => {
        const [whole, kept] = [planSpot(problem, model), new KeptPlan(problem, model)];
        for (let tick = 0; tick < problem.ticks; tick += 1)
          expect(isSame(kept.dearer(tick), whole.dearer(tick)), `tick ${tick}`).toBe(true);
        for (const tick of ticks) expect(isSame(kept.dearer(tick), whole.dearer(tick)), `tick ${tick}`).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  it('decides as the whole plan in every state, after any past', () => {
    const views = problems.chain((problem) =>
      fc.tuple(
        fc.constant(problem),
        fc.array(
          fc.record({
            tick: fc.nat(problem.ticks - 1),
            available: fc.boolean(),
            onDemand: fc.boolean(),
            restart: fc.nat(problem.restartUnits),
            work: fc.integer({ min: 1, max: problem.jobUnits }),
          }),
          { minLength: 40, maxLength: 40 },
        ),
      ),
    );
    const chosen = new Set<Mode>();
    fc.assert(
      fc.property(
        views,
        fc.uint8Array({ minLength: 1, maxLength: 60, max: 1 }),
        models,
        fc.constantFrom(0, 0.04, 0.5),
        ([problem, states], past, model, toleranceRestarts) => {
          const modes = (plan: SpotPlan): Mode[] =>
            states.map(({ tick, available, onDemand, restart, work }) => {
              const timeLeft = (problem.ticks - tick) * problem.tickUnits;
              const view = {
                tick,
                available,
                mode: onDemand ? 2 : 0,
                restartLeft: onDemand ? restart : 0,
                workLeft: Math.min(work, timeLeft),
                timeLeft,
              } as const;
              return bursarPolicy(plan, { past, toleranceRestarts }).start()(view);
            });
          const whole = modes(planSpot(problem, model));
          whole.forEach((mode) => chosen.add(mode));
          expect(modes(new KeptPlan(problem, model))).toEqual(whole);
        },
      ),
      { numRuns: 20 },
    );
    expect([...chosen].sort()).toEqual([0, 1, 2]);
  });
});
