/**
 * The planner's current decision for a job with a deadline: spot, on demand, or wait. It passes the recorded
 * availability before and since the job's start to the policy of planning/spot, tick by tick, and asks it about the
 * current tick. The deadline is the planner's invariant: it never answers with a choice that could cost the deadline.
 * Plans are cached by the job's own numbers and the model of the market's past, from which alone they follow.
 */
import { Failure } from '../../core/errors.js';
import type { JobFacts, SpotMarket } from '../../core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import { BUILT_IN_PARAMETERS, leanToPast } from '../../planning/spot/availability-model.js';
import { bursarPolicy } from '../../planning/spot/bursar.js';
import type { SpotPlan } from '../../planning/spot/plan.js';
import { PlanShelf } from '../../planning/spot/plan-shelf.js';
import { IDLE, ON_DEMAND, SPOT, spotProblem, type Mode, type SpotProblem } from '../../planning/spot/problem.js';
import { staysSafe } from '../../planning/spot/safety.js';
import type { SpotView } from '../../planning/spot/simulate.js';

export type SpotWord = 'spot' | 'on-demand' | 'wait';

export interface SpotQuestion {
  readonly job: JobFacts;
  readonly asOf: number;
  /** The instance that it holds now; null: none. */
  readonly holds: 'spot' | 'on-demand' | null;
  readonly market: SpotMarket;
  readonly restartHours: number;
  /** Nanos per hour. */
  readonly onDemand: number;
  readonly spot: number;
}

/** Ticks times slack beyond which a plan would take too long: then the safety rule alone decides. */
const MOST_PLAN_CELLS = 100_000;
/**
 * The memory for the plans of running jobs: ten of the longest plans, or some dozens for two-day jobs with little
 * slack.
 */
const MOST_PLAN_BYTES = 128_000_000;
const shelf = new PlanShelf(MOST_PLAN_BYTES);
/**
 * Readings before the job that are used: as many whole days as stay within what is remembered of a market while a long
 * job runs.
 */
const MOST_PAST_DAYS = 14;

/** Null if the job's numbers are not all known. `plans`: where plans are kept between looks. */
export function spotWord(question: SpotQuestion, plans: PlanShelf = shelf): SpotWord | null {
  const { job, market, asOf, restartHours } = question;
  const { startedAt, deadline, workHours, workLeftHours } = job;
  if (startedAt === null || deadline === null || workHours === null || workLeftHours === null) return null;
  if (workLeftHours <= 0) return null;
  const problem = problemOf(question, startedAt, deadline, workHours);
  if (problem === null) return 'on-demand';
  const tickMs = market.tickSeconds * 1000;
  const tick = Math.min(problem.ticks - 1, Math.max(0, Math.floor((asOf - startedAt) / tickMs)));
  const available = (at: number): boolean | null =>
    market.available[Math.floor((startedAt + at * tickMs - market.from) / tickMs)] ?? null;
  const held: Mode = question.holds === 'spot' ? SPOT : question.holds === 'on-demand' ? ON_DEMAND : IDLE;
  // The tick that runs counts where it was seen, otherwise the one before it.
  const present = (available(tick) ?? available(tick - 1)) === true;
  const view: SpotView = {
    tick,
    available: present,
    mode: held === SPOT && !present ? IDLE : held,
    restartLeft: 0,
    // Rounded up: work is never made less.
    workLeft: Math.min(problem.jobUnits, Math.ceil((workLeftHours * 3600) / problem.unitSeconds)),
    timeLeft: Math.floor((deadline - asOf) / tickMs) * problem.tickUnits,
  };
  if (view.timeLeft < view.workLeft + Math.round((restartHours * 3600) / problem.unitSeconds)) return 'on-demand';
  const mode = decided({ problem, view, available, past: pastOf(market, startedAt) }, plans);
  return mode === SPOT ? 'spot' : mode === ON_DEMAND ? 'on-demand' : 'wait';
}

function problemOf(
  { market, restartHours, onDemand, spot }: SpotQuestion,
  startedAt: number,
  deadline: number,
  jobHours: number,
): SpotProblem | null {
  try {
    return spotProblem({
      jobHours,
      deadlineHours: (deadline - startedAt) / HOUR_MS,
      restartHours,
      onDemandPrice: onDemand / 1e9,
      spotPrice: spot / 1e9,
      tickSeconds: market.tickSeconds,
    });
  } catch (error) {
    // A deadline that nobody can promise is kept as well as on-demand can.
    if (error instanceof Failure) return null;
    throw error;
  }
}

/**
 * The readings that end right before the job's first tick, back to a hole or so many days ago: whole days, so that it
 * stays what it was while the job runs.
 */
function pastOf(market: SpotMarket, startedAt: number): Uint8Array {
  const tickMs = market.tickSeconds * 1000;
  const end = Math.max(0, Math.floor((startedAt - market.from) / tickMs));
  const perDay = Math.max(1, Math.round(DAY_MS / tickMs));
  let first = Math.min(end, market.available.length);
  if (first < end) return new Uint8Array();
  while (first > 0 && end - first < MOST_PAST_DAYS * perDay && (market.available[first - 1] ?? null) !== null)
    first -= 1;
  const days = Math.floor((end - first) / perDay);
  return Uint8Array.from(market.available.slice(end - days * perDay, end), (reading) => (reading === true ? 1 : 0));
}

interface Case {
  readonly problem: SpotProblem;
  readonly view: SpotView;
  /** The reading of a tick of the job; null if nobody looked. */
  readonly available: (tick: number) => boolean | null;
  readonly past: Uint8Array;
}

function decided({ problem, view, available, past }: Case, plans: PlanShelf): Mode {
  const plan = planned(problem, past, plans);
  if (plan === null) {
    const wish = view.available ? SPOT : IDLE;
    return staysSafe(problem, view, wish) ? wish : ON_DEMAND;
  }
  const decide = bursarPolicy(plan, { past }).start();
  for (let tick = 0; tick < view.tick; tick++) {
    const seen = available(tick);
    // Spot that is held asks for no decision: the call only lets the policy see the tick.
    if (seen !== null)
      decide({
        tick,
        available: seen,
        mode: SPOT,
        restartLeft: 0,
        workLeft: 1,
        timeLeft: (problem.ticks - tick) * problem.tickUnits,
      });
  }
  return decide(view);
}

function planned(problem: SpotProblem, past: Uint8Array, plans: PlanShelf): SpotPlan | null {
  const slackTicks = problem.ticks - problem.jobUnits / problem.tickUnits;
  if (problem.ticks * slackTicks > MOST_PLAN_CELLS) return null;
  return plans.plan(problem, leanToPast(BUILT_IN_PARAMETERS, past));
}
