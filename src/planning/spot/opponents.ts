/**
 * The published policies that Bursar is measured against, as "Can't Be Late" (Wu et al., NSDI 2024) states them, on
 * whole ticks.
 *
 * None of them learns anything. Where the paper can be read two ways both readings are here under their own names.
 * Every one runs behind the same guard (safety.ts), because the paper's safety net is stated in continuous time: on
 * ticks it must look one tick ahead.
 */
import { IDLE, ON_DEMAND, SPOT, type Mode, type SpotProblem } from './problem.js';
import { staysSafe } from './safety.js';
import type { SpotPolicy, SpotView } from './simulate.js';

/** All on-demand from the first tick. */
export function onDemandOnly(): SpotPolicy {
  return { name: 'on-demand', start: () => () => ON_DEMAND };
}

/**
 * Safety Net Rule (section 3.3): a job that is idle and has R(t) < C(t) + 2d goes on-demand and stays there until the
 * end.
 * With `ticks` whole both sides are rounded to ticks, as the authors' simulator does: floor(R) <= ceil(C + 2d).
 */
export type SafetyReading = 'continuous' | 'whole-ticks';

function netCloses(problem: SpotProblem, view: SpotView, reading: SafetyReading): boolean {
  if (view.mode === SPOT) return false;
  const need = view.workLeft + 2 * problem.restartUnits;
  return reading === 'continuous'
    ? view.timeLeft < need
    : view.timeLeft <= Math.ceil(need / problem.tickUnits) * problem.tickUnits;
}

/** Wraps a rule that knows no deadline with the exploitation rule, the safety net and the one-tick guard. */
function withSafetyNet(
  problem: SpotProblem,
  name: string,
  reading: SafetyReading,
  rule: () => (view: SpotView) => Mode,
): SpotPolicy {
  const start = (): ((view: SpotView) => Mode) => {
    const decide = rule();
    let untilTheEnd = false;
    return (view) => {
      if (view.mode === SPOT && staysSafe(problem, view, SPOT)) return SPOT;
      untilTheEnd ||= netCloses(problem, view, reading);
      if (untilTheEnd) return ON_DEMAND;
      const mode = decide(view);
      if (staysSafe(problem, view, mode)) return mode;
      untilTheEnd = true;
      return ON_DEMAND;
    };
  };
  return { name, start };
}

/** Greedy (section 3.4): spot whenever it is there, otherwise wait, until the safety net closes. */
export function greedy(problem: SpotProblem, reading: SafetyReading = 'continuous'): SpotPolicy {
  const name = reading === 'continuous' ? 'greedy' : 'greedy-whole-ticks';
  return withSafetyNet(problem, name, reading, () => (view) => (view.available ? SPOT : IDLE));
}

/**
 * Time Sliced (section 5.1): the deadline is cut into n equal slices, each must end with its share of the work done,
 * and greedy runs within each: on-demand once R_i(t) < C_i(t) + 2d, until the slice ends. Spot continues after a
 * slice's share is done, and surplus work counts for the next slice (both are the paper's changes to n-sliced greedy).
 */
export function timeSliced(problem: SpotProblem, slices: number): SpotPolicy {
  const rule = () => {
    let slice = -1;
    let untilSliceEnds = false;
    return (view: SpotView): Mode => {
      const now = Math.min(slices - 1, Math.floor((view.tick * slices) / problem.ticks));
      if (now !== slice) [slice, untilSliceEnds] = [now, false];
      const sliceEnd = Math.floor(((slice + 1) * problem.ticks) / slices);
      const sliceTime = (sliceEnd - view.tick) * problem.tickUnits;
      const sliceWork = view.workLeft - problem.jobUnits * (1 - (slice + 1) / slices);
      if (sliceWork > 0 && sliceTime < sliceWork + 2 * problem.restartUnits) untilSliceEnds = true;
      if (untilSliceEnds && sliceWork > 0) return ON_DEMAND;
      return view.available ? SPOT : IDLE;
    };
  };
  return withSafetyNet(problem, `time-sliced-${slices}`, 'continuous', rule);
}

export interface UniformProgressReading {
  /**
   * Rule 3 of section 5.2.2: stay on on-demand until cp(t) >= ep(t + 2d). Without it the policy is the paper's "plain"
   * one.
   */
  readonly hysteresis: boolean;
  /**
   * On-demand that has caught up and finds no spot: released, or kept until spot comes (both appear in code that cites
   * the paper).
   */
  readonly keepsOnDemand: boolean;
}

/**
 * Uniform Progress (section 5.2.2), with cp(t) the work done and ep(t) = t C(0) / R(0): idle and behind goes on-demand
 * and catches up; spot is taken whenever it is there; with hysteresis on-demand is only left once cp(t) >= ep(t + 2d).
 * The bare rule, for a tick at which spot is not held; it remembers nothing and knows no safety net.
 */
export function uniformProgressRule(problem: SpotProblem, reading: UniformProgressReading): (view: SpotView) => Mode {
  const { jobUnits, tickUnits, restartUnits, ticks } = problem;
  const expected = (units: number): number => (units * jobUnits) / (ticks * tickUnits);
  return (view) => {
    const done = jobUnits - view.workLeft;
    const now = view.tick * tickUnits;
    if (view.mode === ON_DEMAND) {
      const caughtUp = done >= expected(reading.hysteresis ? now + 2 * restartUnits : now);
      if (view.available) return caughtUp || !reading.hysteresis ? SPOT : ON_DEMAND;
      return caughtUp && !reading.keepsOnDemand ? IDLE : ON_DEMAND;
    }
    if (view.available) return SPOT;
    return done < expected(now) ? ON_DEMAND : IDLE;
  };
}

/** Uniform Progress as a policy. */
export function uniformProgress(problem: SpotProblem, reading: UniformProgressReading): SpotPolicy {
  const name = `uniform-progress${reading.hysteresis ? '' : '-no-hysteresis'}${reading.keepsOnDemand ? '-keep' : ''}`;
  return withSafetyNet(problem, name, 'continuous', () => uniformProgressRule(problem, reading));
}

/** Slice counts that are tried; the paper reports its best, so the report keeps the best of these in each cell. */
const SLICE_COUNTS: readonly number[] = [2, 3, 4, 6, 8, 12, 16, 24];

/** Every opponent of the backtest. */
export function opponents(problem: SpotProblem): SpotPolicy[] {
  return [
    greedy(problem),
    greedy(problem, 'whole-ticks'),
    uniformProgress(problem, { hysteresis: true, keepsOnDemand: false }),
    uniformProgress(problem, { hysteresis: true, keepsOnDemand: true }),
    uniformProgress(problem, { hysteresis: false, keepsOnDemand: false }),
    uniformProgress(problem, { hysteresis: false, keepsOnDemand: true }),
    ...SLICE_COUNTS.map((slices) => timeSliced(problem, slices)),
    onDemandOnly(),
  ];
}
