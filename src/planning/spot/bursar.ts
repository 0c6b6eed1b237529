/**
 * Bursar's own policy for a job under a deadline: the plan of the availability model, weighted by what the zone has
 * shown so far. Where the plan finds choices as good as equal, it does what Uniform Progress would: insurance against a
 * model that is wrong.
 *
 * It learns from other zones and from this zone's readings before the window, from the window's own past within it, and
 * never from what lies ahead. The invariant is safety.ts': a choice that could cost the deadline is never made,
 * whatever the model believes.
 */
import { AvailabilityBelief, COMPONENTS, agePosition } from './availability-model.js';
import { uniformProgressRule } from './opponents.js';
import {
  MOVE_WHEN_AVAILABLE,
  RELEASE_WHEN_ABSENT,
  SPOT_WHEN_AVAILABLE,
  TABLES,
  WAIT_WHEN_ABSENT,
  WAIT_WHEN_AVAILABLE,
  WIDTH,
  type SpotPlan,
} from './plan.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from './problem.js';
import { staysSafe } from './safety.js';
import type { SpotPolicy, SpotView } from './simulate.js';

/** The input of the policy: the age of the present spell and the weights of the components, after each reading. */
export type SpotBelief = Pick<AvailabilityBelief, 'age' | 'components' | 'observe'>;

/** How much more expensive than on-demand the choice of `table` is expected to be now, over the belief. */
function dearerBy(plan: SpotPlan, belief: SpotBelief, tick: number, table: number, reserve: number): number {
  const tables = plan.dearer(tick);
  if (tables === undefined || reserve < 0) return Infinity;
  const { points } = plan.grid;
  const rows = tables.length / (TABLES * WIDTH);
  const row = Math.min(rows - 2, plan.grid.position(reserve));
  const below = points[row] ?? 0;
  const up = Math.min(1, (reserve - below) / ((points[row + 1] ?? below + 1) - below));
  const { index, fraction } = agePosition(belief.age);
  const older = fraction > 0 ? COMPONENTS : 0;
  let sum = 0;
  for (const [from, share] of [
    [row, 1 - up],
    [row + 1, up],
  ] as const) {
    const start = (table * rows + from) * WIDTH + index * COMPONENTS;
    for (let k = 0; k < COMPONENTS; k += 1) {
      const value = (tables[start + k] ?? 0) * (1 - fraction) + (tables[start + k + older] ?? 0) * fraction;
      sum += share * (belief.components[k] ?? 0) * value;
    }
  }
  return sum;
}

/**
 * How much more expensive than the best, in restarts into spot and back, a choice may be expected to be and still pass
 * for as good: less than the model can tell. In windows drawn from the model itself it costs at most 0.0025 of the
 * share (docs/decisions-quality/spot.md).
 */
const TOLERANCE_RESTARTS = 0.04;

/** The expected cost of each mode above on-demand; Infinity if it is not available. */
function pricesOf(plan: SpotPlan, belief: SpotBelief, view: SpotView): readonly [number, number, number] {
  const slack = view.timeLeft - view.workLeft;
  const { tick, available } = view;
  if (view.mode === ON_DEMAND) {
    const reserve = slack - view.restartLeft;
    return available
      ? [Infinity, dearerBy(plan, belief, tick, MOVE_WHEN_AVAILABLE, reserve), 0]
      : [dearerBy(plan, belief, tick, RELEASE_WHEN_ABSENT, reserve), Infinity, 0];
  }
  const reserve = slack - plan.problem.restartUnits;
  return available
    ? [
        dearerBy(plan, belief, tick, WAIT_WHEN_AVAILABLE, reserve),
        dearerBy(plan, belief, tick, SPOT_WHEN_AVAILABLE, reserve),
        0,
      ]
    : [dearerBy(plan, belief, tick, WAIT_WHEN_ABSENT, reserve), Infinity, 0];
}

export interface BursarOptions {
  /** Readings of the zone that end right before the run: 1 available, one per tick, oldest first, without a gap. */
  readonly past?: Uint8Array;
  /**
   * How far from the best a choice still counts as good as it, in restarts into spot and back; 0: only the plan
   * decides.
   */
  readonly toleranceRestarts?: number;
  /**
   * Begins another belief for each window than the model's own: what knowing more would be worth
   * (tests/backtest/spot-informed.mjs).
   */
  readonly startBelief?: () => SpotBelief;
}

/** The policy of one plan; the same plan serves any number of windows. */
export function bursarPolicy(plan: SpotPlan, options: BursarOptions = {}): SpotPolicy {
  const { problem, model } = plan;
  const [, spotPrice, onDemandPrice] = problem.unitPrice;
  const tolerance =
    (options.toleranceRestarts ?? TOLERANCE_RESTARTS) * problem.restartUnits * (spotPrice + onDemandPrice);
  const published = uniformProgressRule(problem, { hysteresis: false, keepsOnDemand: true });
  const choose = (belief: SpotBelief, view: SpotView): Mode => {
    const prices = pricesOf(plan, belief, view);
    const least = Math.min(...prices);
    const theirs = published(view);
    if (tolerance > 0 && prices[theirs] <= least + tolerance) return theirs;
    if (least === 0) return ON_DEMAND;
    return prices[SPOT] === least ? SPOT : IDLE;
  };
  const start = (): ((view: SpotView) => Mode) => {
    const belief = options.startBelief?.() ?? new AvailabilityBelief(model);
    options.past?.forEach((reading) => belief.observe(reading));
    return (view) => {
      belief.observe(view.available ? 1 : 0);
      // Exploitation rule (Wu et al., section 3.3): spot that is held makes progress at the least price there is.
      const mode = view.mode === SPOT ? SPOT : choose(belief, view);
      return staysSafe(problem, view, mode) ? mode : ON_DEMAND;
    };
  };
  return { name: 'bursar', start };
}
