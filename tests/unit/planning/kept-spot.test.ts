/** What a kept plan takes up, what it decides over whole windows, and what the shelf of plans keeps and forgets. */
import { describe, expect, it } from 'vitest';
import { mulberry32 } from '../../../src/lab/random.js';
import { availabilityModel, BUILT_IN_PARAMETERS } from '../../../src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../../src/planning/spot/bursar.js';
import { KeptPlan } from '../../../src/planning/spot/kept-plan.js';
import { PlanShelf } from '../../../src/planning/spot/plan-shelf.js';
import { planSpot } from '../../../src/planning/spot/plan.js';
import { spotProblem, type SpotProblem } from '../../../src/planning/spot/problem.js';
import { simulate } from '../../../src/planning/spot/simulate.js';

const model = availabilityModel(BUILT_IN_PARAMETERS);
/** Ticks of ten minutes, a restart of twelve. */
const job = (jobHours: number, deadlineHours: number): SpotProblem =>
  spotProblem({ jobHours, deadlineHours, restartHours: 0.2, tickSeconds: 600, onDemandPrice: 3.06, spotPrice: 0.9731 });

describe('a kept plan', () => {
  it('of 48 h of work in 60 takes up less than a sixth of the whole', () => {
    const problem = job(48, 60);
    const [whole, kept] = [planSpot(problem, model), new KeptPlan(problem, model)];
    const bytes = Array.from({ length: problem.ticks }, (_, tick) => whole.dearer(tick)!.byteLength).reduce(
      (sum, one) => sum + one,
      0,
    );
    expect(bytes).toBeGreaterThan(40e6);
    expect(kept.bytes).toBeLessThan(bytes / 6);
  });

  it('runs windows of any character as the whole does', () => {
    const problem = job(12, 15);
    const [whole, kept] = [planSpot(problem, model), new KeptPlan(problem, model)];
    const random = mulberry32(11);
    for (let n = 0; n < 24; n += 1) {
      // Spells of up to 4, 16, 64 ticks, more or less often available.
      const most = 4 ** (1 + (n % 3));
      let [available, left] = [0, 0];
      const readings = Uint8Array.from({ length: 2 * problem.ticks }, () => {
        if (left-- <= 0)
          [available, left] = [1 - available, Math.floor(random() * most * (available === 1 ? 1 : 1 + (n % 4)))];
        return available;
      });
      const [past, window] = [readings.subarray(0, problem.ticks), readings.subarray(problem.ticks)];
      expect(simulate(problem, window, bursarPolicy(kept, { past }))).toEqual(
        simulate(problem, window, bursarPolicy(whole, { past })),
      );
    }
  });
});

describe('the shelf of plans', () => {
  const [short, middle, long] = [job(4, 6), job(5, 7), job(6, 8)];
  const bytes = (...problems: readonly SpotProblem[]): number =>
    problems.reduce((sum, problem) => sum + new KeptPlan(problem, model).bytes, 0);

  it('makes a plan once, and tells jobs and models apart', () => {
    const shelf = new PlanShelf(1e9);
    const plan = shelf.plan(short, BUILT_IN_PARAMETERS);
    expect(shelf.plan({ ...short }, { ...BUILT_IN_PARAMETERS })).toBe(plan);
    expect(shelf.plan(middle, BUILT_IN_PARAMETERS).problem).toEqual(middle);
    expect(shelf.plan(short, { ...BUILT_IN_PARAMETERS, persistence: 0.9 }).model.persistence).toBe(0.9);
    expect(shelf.made).toBe(3);
    expect(shelf.bytes).toBe(bytes(short, middle, short));
  });

  it('stays within its bytes and forgets what was asked for longest ago', () => {
    const shelf = new PlanShelf(bytes(short, middle, long) - 1);
    for (const problem of [short, middle, short, long]) shelf.plan(problem, BUILT_IN_PARAMETERS);
    expect(shelf.bytes).toBe(bytes(short, long));
    shelf.plan(short, BUILT_IN_PARAMETERS);
    expect(shelf.made).toBe(3);
    shelf.plan(middle, BUILT_IN_PARAMETERS);
    expect(shelf.made).toBe(4);
    expect(shelf.bytes).toBe(bytes(short, middle));
  });

  it('keeps the last plan though it alone is too large', () => {
    const shelf = new PlanShelf(1);
    expect(shelf.plan(short, BUILT_IN_PARAMETERS)).toBe(shelf.plan(short, BUILT_IN_PARAMETERS));
    shelf.plan(long, BUILT_IN_PARAMETERS);
    expect(shelf.bytes).toBe(bytes(long));
  });
});
