/**
 * The promise that a deadline is never missed, as one inequality that holds at the start of every tick.
 *
 * Invariant: timeLeft >= workLeft + (on-demand is held ? its restartLeft : restartUnits). On-demand, which is always
 * available, then finishes in time, and choosing it keeps the invariant. It holds at the start because spotProblem
 * refuses other terms. A policy that only makes choices that pass `staysSafe`, and takes on-demand otherwise, therefore
 * never misses.
 */
import { IDLE, ON_DEMAND, type Mode, type SpotProblem } from './problem.js';
import type { SpotView } from './simulate.js';

/** Whether the invariant still holds after this tick is spent in `mode`, even if spot is gone from then on. */
export function staysSafe(problem: SpotProblem, view: SpotView, mode: Mode): boolean {
  const { tickUnits, restartUnits } = problem;
  const timeAfter = view.timeLeft - tickUnits;
  if (mode === IDLE) return timeAfter >= view.workLeft + restartUnits;
  const restart = mode === view.mode ? view.restartLeft : restartUnits;
  const workAfter = view.workLeft - Math.max(0, tickUnits - restart);
  if (workAfter <= 0) return true;
  const restartAfter = mode === ON_DEMAND ? Math.max(0, restart - tickUnits) : restartUnits;
  return timeAfter >= workAfter + restartAfter;
}
