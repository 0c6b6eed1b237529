/**
 * The cost of the same jobs under the published rules and the optimum: on demand in one piece at once, Greedy and
 * Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024, sections 3.4 and 5.2.2), and the cheapest schedule that
 * knows all prices and all spot.
 *
 * They change only jobs that their owner lets be interrupted; any other job is as if nothing is done, except for its
 * size, if the policy changes it. The optimum finishes by the deadline, or, if there is none or doing nothing misses
 * it, by the time at which doing nothing finishes: a policy that finishes later may have paid less.
 */
import { greedy, uniformProgress } from '../spot/opponents.js';
import { IDLE, ON_DEMAND, SPOT, type Mode, type SpotProblem } from '../spot/problem.js';
import type { SpotPolicy } from '../spot/simulate.js';
import type { Alternative, PendingAlternative } from './alternatives.js';
import { asRecorded } from './job-cases.js';
import { cheapestSchedule } from './job-optimum.js';
import { EVALUATION_MS, runJob, type JobCase, type JobSize, type JobSlot, type JobState } from './job-run.js';
import { jobMeasures, type JobPlaces } from './jobs.js';
import type { CostSteps } from './steps.js';

/** Policies that have something to say of jobs; beside any other there is nothing to compare. */
const OF_JOBS: ReadonlySet<string> = new Set(['off-peak-shift', 'spot-shift', 'budget-brake', 'ramp']);

/** @param sizes @param been beside their own that the policy gave jobs, by name: the optimum may have them too */
export function jobAlternatives(
  jobs: readonly JobCase[],
  policy: string,
  steps: CostSteps,
  sizes: ReadonlyMap<string, readonly JobSize[]>,
  been: ReadonlyMap<string, JobPlaces> = new Map(),
): PendingAlternative[] {
  if (!OF_JOBS.has(policy) || jobs.length === 0) return [];
  const ruled =
    (name: string, decide: (job: JobCase) => (slot: JobSlot, state: JobState) => Mode): PendingAlternative =>
    (): Alternative => {
      const bills = jobs.map((job) => runJob(job, steps, decide(job)).bill());
      const { restarts, missedDeadlines, hoursLate, unfinishedJobs } = jobMeasures(bills);
      return {
        name,
        cost: bills.reduce((sum, { cost }) => sum + cost, 0),
        paid: steps.sum(bills),
        measures: { restarts, missedDeadlines, hoursLate, unfinishedJobs },
      };
    };
  const spotRule =
    (make: (problem: SpotProblem) => SpotPolicy) =>
    (job: JobCase): ((slot: JobSlot, state: JobState) => Mode) =>
      isRisky(job) ? bySpotRule(job, make) : () => job.own;
  return [
    ruled('on-demand', (job) => () => (job.mayMove ? ON_DEMAND : job.own)),
    ...(jobs.some(isRisky)
      ? [
          ruled(
            'greedy',
            spotRule((problem) => greedy(problem)),
          ),
          ruled(
            'uniform-progress',
            spotRule((problem) => uniformProgress(problem, { hysteresis: true, keepsOnDemand: false })),
          ),
        ]
      : []),
    () => ({
      name: 'clairvoyant',
      cost: jobs.reduce(
        (sum, job) => sum + optimumOf(job, steps, sizes.get(job.name) ?? [], been.get(job.name) ?? NOWHERE_ELSE),
        0,
      ),
    }),
  ];
}

/** May be on spot, has a deadline to be kept, and somebody saw spot before it. */
const isRisky = ({ mayMove, deadline, slots }: JobCase): boolean =>
  mayMove &&
  deadline !== null &&
  slots.some(({ from, spot, isVerified }) => from < deadline && isVerified && spot !== null);

/** The rules of planning/spot, in milliseconds; no slot of a job that has a market is longer than an evaluation. */
function bySpotRule(
  { since, deadline, first, restartMs }: JobCase,
  make: (problem: SpotProblem) => SpotPolicy,
): (slot: JobSlot, state: JobState) => Mode {
  const until = deadline ?? since;
  const decide = make({
    unitSeconds: 0.001,
    tickUnits: EVALUATION_MS,
    jobUnits: first.workLeftMs,
    restartUnits: restartMs,
    ticks: (until - since) / EVALUATION_MS,
    unitPrice: [0, 0, 0],
  }).start();
  return ({ from, spot, isVerified }, state) => {
    const mode = state.held === SPOT && spot === null ? IDLE : state.held;
    // Where nobody looked spot is not chosen, and not left.
    const available = spot !== null && (isVerified || mode === SPOT);
    return decide({
      tick: (from - since) / EVALUATION_MS,
      available,
      mode,
      restartLeft: mode === IDLE ? 0 : state.restartLeftMs,
      workLeft: state.workLeftMs,
      timeLeft: until - from,
    });
  };
}

const NOWHERE_ELSE: JobPlaces = { places: [], sent: new Map() };

function optimumOf(job: JobCase, steps: CostSteps, sizes: readonly JobSize[], { places, sent }: JobPlaces): number {
  const { cost, doneAt } = asRecorded(job, steps);
  if ((!job.mayMove && sizes.length === 0) || doneAt === null) return cost;
  const until = Math.max(job.deadline ?? 0, doneAt);
  return cheapestSchedule(
    {
      slots: slotsUntil(job.slots, until),
      first: job.first,
      restartMs: job.restartMs,
      sizes,
      elsewhere: places.map(({ slots }) => slotsUntil(slots, until)),
      sent,
      ...(job.mayMove ? {} : { modes: [job.own] }),
    },
    cost,
  );
}

function slotsUntil(slots: readonly JobSlot[], until: number): JobSlot[] {
  return slots
    .filter(({ from }) => from < until)
    .map((slot) => ({ ...slot, ms: Math.min(slot.ms, until - slot.from) }));
}
