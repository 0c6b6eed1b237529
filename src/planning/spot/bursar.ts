/**
 * Bursar's own policy for a job under a deadline: the plan of the availability model, weighed by what the window has shown so far.
 *
 * It learns from other zones before the window and from the window's own past within it, and never from what lies ahead. The
 * invariant is safety.ts': a choice that could cost the deadline is never made, whatever the model believes.
 */
import { AvailabilityBelief, COMPONENTS, agePosition } from './availability-model.js';
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

/** How much dearer than on-demand the choice of `table` is expected to be now, over the belief. */
function dearerBy(plan: SpotPlan, belief: AvailabilityBelief, tick: number, table: number, reserve: number): number {
  const tables = plan.dearer[tick];
  if (tables === undefined || reserve < 0) return Infinity;
  const { points } = plan.grid;
  const rows = tables.length / (TABLES * WIDTH);
  const row = Math.min(rows - 2, plan.grid.position(reserve));
  const below = points[row] ?? 0;
  const up = Math.min(1, (reserve - below) / ((points[row + 1] ?? below + 1) - below));
  const { index, fraction } = agePosition(belief.age);
  const older = fraction > 0 ? COMPONENTS : 0;
  let sum = 0;
  for (const [from, share] of [[row, 1 - up], [row + 1, up]] as const) {
    const start = (table * rows + from) * WIDTH + index * COMPONENTS;
    for (let k = 0; k < COMPONENTS; k += 1) {
      const value = (tables[start + k] ?? 0) * (1 - fraction) + (tables[start + k + older] ?? 0) * fraction;
      sum += share * (belief.components[k] ?? 0) * value;
    }
  }
  return sum;
}

function choose(plan: SpotPlan, belief: AvailabilityBelief, view: SpotView): Mode {
  const { problem } = plan;
  const slack = view.timeLeft - view.workLeft;
  if (view.mode === ON_DEMAND) {
    const reserve = slack - view.restartLeft;
    const table = view.available ? MOVE_WHEN_AVAILABLE : RELEASE_WHEN_ABSENT;
    if (dearerBy(plan, belief, view.tick, table, reserve) >= 0) return ON_DEMAND;
    return view.available ? SPOT : IDLE;
  }
  const reserve = slack - problem.restartUnits;
  const wait = dearerBy(plan, belief, view.tick, view.available ? WAIT_WHEN_AVAILABLE : WAIT_WHEN_ABSENT, reserve);
  const spot = view.available ? dearerBy(plan, belief, view.tick, SPOT_WHEN_AVAILABLE, reserve) : Infinity;
  if (Math.min(wait, spot) >= 0) return ON_DEMAND;
  return spot <= wait ? SPOT : IDLE;
}

/** The policy of one plan; the same plan serves any number of windows. */
export function bursarPolicy(plan: SpotPlan): SpotPolicy {
  const start = (): ((view: SpotView) => Mode) => {
    const belief = new AvailabilityBelief(plan.model);
    return (view) => {
      belief.observe(view.available ? 1 : 0);
      // Exploitation rule (Wu et al., section 3.3): spot that is held makes progress at the least price there is.
      const mode = view.mode === SPOT ? SPOT : choose(plan, belief, view);
      return staysSafe(plan.problem, view, mode) ? mode : ON_DEMAND;
    };
  };
  return { name: 'bursar', start };
}
