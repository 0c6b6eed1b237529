/**
 * The one place that says what a tick does to a job. Every policy and the optimum run under these rules.
 *
 * Semantics (Wu et al., "Can't Be Late", NSDI 2024, sections 3.1 to 3.3, on their ten-minute ticks):
 * - At the start of a tick the availability of that tick is known, and nothing later. Spot that is not available at the
 *   start of a
 *   tick has been preempted: the job is idle, whatever was left of its restart is lost.
 * - The mode chosen then holds for the whole tick. Any mode other than the current one is a new instance; it first
 *   spends
 *   `restartUnits` without progress, carried over into following ticks. A spot that was lost and came back is a new
 *   instance too.
 * - Occupied time is paid at the price of the instance that occupies it, restart included; idle costs nothing (thrifty
 *   rule).
 * - When the work ends within a tick, only the time until then is paid.
 *
 * It never lets a policy see ahead: a policy receives one view per tick. The invariant: work left never grows.
 */
import { assert } from '../../core/errors.js';
import { IDLE, SPOT, type Mode, type SpotProblem } from './problem.js';

/** A policy's knowledge at the start of a tick. The object is reused: a policy copies what it keeps. */
export interface SpotView {
  readonly tick: number;
  /** Whether spot can be had during this tick. */
  readonly available: boolean;
  /** The instance held after preemption. */
  readonly mode: Mode;
  /** Units of restart still to spend on that instance. */
  readonly restartLeft: number;
  /** Units of work still to do; always positive. */
  readonly workLeft: number;
  /** Units until the last whole tick before the deadline ends. */
  readonly timeLeft: number;
}

export interface SpotPolicy {
  readonly name: string;
  /** Begins one window and returns its decision function, which is called once per tick, in order. */
  start(): (view: SpotView) => Mode;
}

export interface SpotRun {
  readonly cost: number;
  /** Whether the work was done by the deadline. */
  readonly finished: boolean;
  readonly spotUnits: number;
  readonly onDemandUnits: number;
  readonly restarts: number;
}

/** The job between two ticks; `available` belongs to the tick that is about to begin. */
export interface JobState extends SpotView {
  tick: number;
  available: boolean;
  mode: Mode;
  restartLeft: number;
  workLeft: number;
  timeLeft: number;
}

export function firstState(problem: SpotProblem): JobState {
  return {
    tick: 0,
    available: false,
    mode: IDLE,
    restartLeft: 0,
    workLeft: problem.jobUnits,
    timeLeft: problem.ticks * problem.tickUnits,
  };
}

/** Opens a tick: records its availability and takes preempted spot away. */
export function openTick(state: JobState, available: boolean): void {
  state.available = available;
  if (!available && state.mode === SPOT) {
    state.mode = IDLE;
    state.restartLeft = 0;
  }
}

/** Spends the tick in `mode`, changes `state` in place, and returns the units that were occupied. */
export function spendTick(problem: SpotProblem, state: JobState, mode: Mode): number {
  assert(mode !== SPOT || state.available, 'spot was chosen while it is not available');
  if (mode !== state.mode) state.restartLeft = mode === IDLE ? 0 : problem.restartUnits;
  state.mode = mode;
  state.tick += 1;
  state.timeLeft -= problem.tickUnits;
  if (mode === IDLE) return 0;
  const occupied = Math.min(problem.tickUnits, state.restartLeft + state.workLeft);
  const restarting = Math.min(occupied, state.restartLeft);
  state.restartLeft -= restarting;
  state.workLeft -= occupied - restarting;
  return occupied;
}

/**
 * Runs one policy over one window. `availability` holds 1 where spot can be had and covers every tick before the
 * deadline.
 */
export function simulate(problem: SpotProblem, availability: Uint8Array, policy: SpotPolicy): SpotRun {
  const state = firstState(problem);
  const decide = policy.start();
  const units = [0, 0, 0];
  let restarts = 0;
  for (let tick = 0; tick < problem.ticks && state.workLeft > 0; tick += 1) {
    openTick(state, availability[tick] === 1);
    const mode = decide(state);
    if (mode !== IDLE && mode !== state.mode) restarts += 1;
    units[mode] = (units[mode] ?? 0) + spendTick(problem, state, mode);
  }
  const [, spotUnits = 0, onDemandUnits = 0] = units;
  const cost = spotUnits * problem.unitPrice[1] + onDemandUnits * problem.unitPrice[2];
  return { cost, finished: state.workLeft === 0, spotUnits, onDemandUnits, restarts };
}
