/**
 * off-peak-shift: cuts a long job into pieces for the cheap or idle hours before its deadline. The peak schedule
 * defines the cheap hours. Idle hours are those in which the team's commitments stood unused at the same hour of the
 * last weeks, so that the job runs on capacity that is already paid. The deadline is kept by whole hours, and every
 * start loses a restart. Only interruptible jobs are cut.
 *
 * A proposal asks for at most one pause now: `startsAt` is the beginning of the next piece, absent if that is now, and
 * `startsBy` is the latest time at which it would still be in time in one piece. A later evaluation asks for the next
 * pause.
 */
import { z } from 'zod';
import type {
  FleetFacts,
  JobFacts,
  LeftAlone,
  Policy,
  PolicyView,
  Proposal,
  WorkloadView,
} from '../core/policy/policy.js';
import { compilePeak, type PeakRule } from '../core/price/peak.js';
import { DAY_MS, formatInstant, HOUR_MS, hourOf, sayInstant } from '../core/time.js';
import { AS_OF, exampleView, rate, workload } from './estimating/examples.js';
import {
  isLeft,
  leftAlone,
  explainTarget,
  proposalsOf,
  PROTECTED,
  sawOf,
  type Judged,
} from './estimating/explanations.js';
import { mayTouch } from './estimating/minutes.js';
import { costOnce, evidenceOf, oneTime, units, workloadHourNanos } from './estimating/money.js';
import { cheapestHours, type HoursPlan } from './estimating/off-peak.js';

const params = z.strictObject({
  restartHours: z
    .number()
    .min(0)
    .max(24)
    .default(0.2)
    .describe('Hours lost at each start, if the job does not state them'),
  mostStarts: z.number().int().min(1).max(12).default(4).describe('Most starts that the job may have'),
  horizonDays: z
    .number()
    .min(1)
    .max(14)
    .default(7)
    .describe('Days ahead that are planned; a later deadline is treated as the end of these days'),
  idleWeeks: z
    .number()
    .int()
    .min(0)
    .max(12)
    .default(4)
    .describe('Weeks in which an hour must have been free on commitments to be counted as idle; 0: never'),
  minimumSavingRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.02)
    .describe('Smallest saving, as a share of what the job would cost in one piece'),
});
type Params = z.infer<typeof params>;

interface JobCase {
  readonly one: WorkloadView;
  readonly job: JobFacts;
  readonly gpus: number;
  readonly hourNanos: number;
  readonly workHours: number;
  readonly restartHours: number;
  readonly isRunning: boolean;
  /** First whole hour that can be planned, and how many there are before the deadline. */
  readonly from: number;
  readonly hours: number;
}

/** Replicas of the job; null: it is stopped, and the number at its start is unknown. */
function sizeOf({ ready, booting, maxReplicas }: FleetFacts): number | null {
  const now = ready + booting;
  return now > 0 ? now : maxReplicas <= 1 ? 1 : null;
}

function caseOf(view: PolicyView, one: WorkloadView, given: Params): JobCase | LeftAlone {
  const { job, fleet, gpusPerReplica } = one;
  if (!mayTouch(one)) return PROTECTED;
  if (job === null) return leftAlone('no-job', 'it is not a job that ends', 'work that ends, and when it must be done');
  if (one.interruptible !== true)
    return leftAlone(
      'not-interruptible',
      'nothing states that it may be interrupted',
      "its owner's statement that it may (bursar.io/interruptible)",
    );
  const replicas = fleet === null ? null : sizeOf(fleet);
  if (fleet === null || gpusPerReplica === null || replicas === null)
    return leftAlone(
      'size-unknown',
      'the number of GPUs on which it runs, or would start, is unknown',
      'its size, and GPUs of each',
    );
  if (job.deadline === null) return leftAlone('no-deadline', 'its deadline is not stated', 'a deadline');
  if (job.workLeftHours === null || job.workLeftHours <= 0)
    return leftAlone(
      'no-work',
      job.workLeftHours === null ? 'the remaining work is unknown' : 'its work is done',
      'hours of work that are left',
    );
  const hourNanos = workloadHourNanos(view, { ...one, fleet: { ...fleet, ready: replicas, booting: 0 } });
  if (hourNanos === null) return leftAlone('no-price', 'its hourly cost is unknown', 'a price of its GPUs');
  const from = hourOf(view.asOf);
  const hours = Math.floor((Math.min(job.deadline, from + given.horizonDays * DAY_MS) - from) / HOUR_MS);
  return {
    one,
    job,
    gpus: replicas * gpusPerReplica,
    hourNanos,
    workHours: job.workLeftHours,
    restartHours: job.restartHours ?? given.restartHours,
    isRunning: fleet.ready > 0,
    from,
    hours,
  };
}

/** GPUs that commitments at the job's place left unused in that hour of each of the last weeks, the fewest of them. */
function freeCommitted(view: PolicyView, { one }: JobCase, hour: number, weeks: number): number {
  if (weeks === 0) return 0;
  const series = view.demand.find(
    (each) =>
      each.provider === one.provider &&
      each.region === one.region &&
      each.sku === one.sku &&
      each.term === 'on-demand' &&
      each.coveredGpus !== undefined,
  );
  const held =
    series?.committed?.reduce(
      (sum, { units: count, hoursLeft }) => sum + (hour < view.asOf + hoursLeft * HOUR_MS ? count : 0),
      0,
    ) ?? 0;
  if (series?.coveredGpus === undefined || held === 0) return 0;
  let least = held;
  for (let week = 1; week <= weeks; week++) {
    const at = (hour - week * 7 * DAY_MS - series.from) / HOUR_MS;
    const used = at >= series.coveredGpus.length ? held : series.coveredGpus[at];
    // In an unknown hour all of them may have been used.
    least = Math.min(least, used === undefined ? 0 : held - used);
  }
  return least;
}

/** The cost of the job in each hour, in nanos. */
function hourCosts(
  view: PolicyView,
  found: JobCase,
  given: Params,
): { readonly costs: Float64Array; readonly idleHours: number } {
  let idleHours = 0;
  const costs = Float64Array.from({ length: found.hours }, (_, n) => {
    const hour = found.from + n * HOUR_MS;
    if (freeCommitted(view, found, hour, given.idleWeeks) >= found.gpus) {
      idleHours++;
      return 0;
    }
    const factor = view.peak
      .pieces(hour, hour + HOUR_MS)
      .reduce(
        (sum, { start, end, factor: { numerator, denominator } }) =>
          sum + ((end - start) / HOUR_MS) * (Number(numerator) / Number(denominator)),
        0,
      );
    return found.hourNanos * factor;
  });
  return { costs, idleHours };
}

/** The cost of continuing, or of starting now, until the work is done; null if that is past the deadline. */
function inOnePiece(costs: Float64Array, { workHours, restartHours, isRunning }: JobCase): number | null {
  const hours = Math.ceil(workHours + (isRunning ? 0 : restartHours) - 1e-9);
  return hours > costs.length ? null : costs.subarray(0, hours).reduce((sum, one) => sum + one, 0);
}

function judge(view: PolicyView, one: WorkloadView, given: Params): Judged {
  const found = caseOf(view, one, given);
  if (isLeft(found)) return found;
  if (found.hours < 1) return leftAlone('too-late', 'no whole hour is left before its deadline', 'a later deadline');
  const { costs, idleHours } = hourCosts(view, found, given);
  const straight = inOnePiece(costs, found);
  const plan = cheapestHours({
    hourCost: costs,
    workHours: found.workHours,
    restartHours: found.restartHours,
    mostStarts: given.mostStarts,
    isRunning: found.isRunning,
  });
  if (straight === null || plan === null)
    return leftAlone('too-late', 'its work no longer fits before its deadline', 'a later deadline');
  if (straight - plan.cost <= straight * given.minimumSavingRatio)
    return leftAlone(
      'no-saving',
      `in the cheapest hours before its deadline it costs ${units(plan.cost)}, in one piece ${units(straight)}`,
      'cheaper hours (bursar peak) or idle commitments before its deadline (minimumSavingRatio)',
    );
  return proposal(view, found, plan, { straight, idleHours });
}

/** With the defaults, for a policy that has to save and may move. */
export const cheapHoursFor = (view: PolicyView, one: WorkloadView): Proposal[] =>
  proposalsOf(judge(view, one, params.parse({})));

function proposal(
  view: PolicyView,
  found: JobCase,
  plan: HoursPlan,
  { straight, idleHours }: { straight: number; idleHours: number },
): Proposal {
  const { one, from } = found;
  const pieces = plan.pieces
    .map((piece) => `${formatInstant(from + piece.from * HOUR_MS)}/${formatInstant(from + piece.to * HOUR_MS)}`)
    .join(', ');
  const [first] = plan.pieces;
  // In one piece, with its restart, it is in time if it starts by then.
  const startsBy = from + (found.hours - Math.ceil(found.workHours + found.restartHours - 1e-9)) * HOUR_MS;
  const waits: Readonly<Record<string, string>> =
    first === undefined || first.from === 0
      ? {}
      : {
          startsAt: formatInstant(from + first.from * HOUR_MS),
          startsBy: formatInstant(Math.max(startsBy, from + first.from * HOUR_MS)),
        };
  return {
    action: 'MoveToOffPeak',
    target: one.workload,
    change: { pieces, ...waits },
    title: `Run ${one.workload} in ${plan.pieces.length} piece(s) in the cheap hours before its deadline`,
    monthlySavings: oneTime(straight - plan.cost),
    monthlyCost: costOnce(straight),
    savingRecurs: 'once',
    computation: {
      costInOnePiece: units(straight),
      costInPieces: units(plan.cost),
      pieces,
      workHoursLeft: found.workHours,
      restartHours: found.restartHours,
      gpus: found.gpus,
      perHour: units(found.hourNanos),
      idleHoursOnCommitments: idleHours,
      saving: 'once, for this job',
    },
    evidence: [evidenceOf(view, `the peak schedule, and the job ${one.workload}`, view.asOf, view.asOf)],
    risk: {
      interruption: 'Medium',
      note: `It stops ${plan.pieces.length - 1} time(s), and continues from its last checkpoint; ${found.job.deadline === null ? '' : `it ends before ${sayInstant(found.job.deadline)}.`}`,
    },
    restartNeeded: plan.pieces.length > 1 || !found.isRunning,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  };
}

const DAYTIME: readonly PeakRule[] = [{ from: '08:00', to: '20:00', zone: 'UTC', factor: '1.5' }];
const NOON = AS_OF + 12 * HOUR_MS;
const job = (deadlineHours: number | null): WorkloadView =>
  workload('embed-all', {
    kind: 'batch',
    interruptible: true,
    fleet: { ready: 0, booting: 1, minReplicas: 1, maxReplicas: 1, changedAt: null },
    job: {
      startedAt: null,
      deadline: deadlineHours === null ? null : NOON + deadlineHours * HOUR_MS,
      workHours: 8,
      workLeftHours: 8,
      restartHours: 0.5,
      resizable: null,
    },
  });
/** Runs on three machines, and whatever starts it says with how many. */
const wide = (ready: number): WorkloadView => ({
  ...job(24),
  workload: 'embed-wide',
  fleet: { ready, booting: 0, minReplicas: 0, maxReplicas: 8, changedAt: null },
});
const night = { asOf: NOON, peak: compilePeak(DAYTIME) };

export const policy: Policy<Params> = {
  name: 'off-peak-shift',
  version: 1,
  description: 'Cuts a long job that may be interrupted into pieces for the cheap or idle hours before its deadline',
  params,
  evaluate: (view, given) => view.workloads.flatMap((one) => proposalsOf(judge(view, one, given))),
  explain: (view, given) =>
    view.workloads.map((one) => explainTarget(one.workload, sawOf(one), judge(view, one, given))),
  examples: [
    {
      title: 'Eight hours of work at noon, until tomorrow noon: tonight',
      params: {},
      view: exampleView({ ...night, workloads: [job(24)] }),
      proposes: [{ action: 'MoveToOffPeak', target: 'embed-all' }],
    },
    {
      title: 'The price is the same at all hours, but a reservation is idle at night',
      params: { idleWeeks: 1 },
      view: exampleView({
        asOf: NOON,
        workloads: [job(24)],
        demand: [
          {
            provider: 'AWS',
            account: null,
            sku: 'example.a100-80gb',
            region: 'us-east-1',
            gpuModel: 'A100-80GB',
            term: 'on-demand',
            from: NOON - 7 * DAY_MS,
            gpus: new Float64Array(168),
            coveredGpus: Float64Array.from({ length: 168 }, (_, hour) =>
              (hour + 12) % 24 >= 8 && (hour + 12) % 24 < 20 ? 2 : 0,
            ),
            committed: [{ units: 2, hoursLeft: 1000 }],
            onDemand: rate(4000),
            reserved: [],
          },
        ],
      }),
      proposes: [{ action: 'MoveToOffPeak', target: 'embed-all' }],
    },
    {
      title: 'A group of three machines at noon: paused until tonight',
      params: {},
      view: exampleView({ ...night, workloads: [wide(3)] }),
      proposes: [{ action: 'MoveToOffPeak', target: 'embed-wide' }],
    },
    {
      title: 'A stopped group: the number of machines with which it will start is unknown',
      params: {},
      view: exampleView({ ...night, workloads: [wide(0)] }),
      proposes: [],
    },
    {
      title: 'Nine hours until the deadline: there is no choice of hours',
      params: {},
      view: exampleView({ ...night, workloads: [job(9)] }),
      proposes: [],
    },
    {
      title: 'No deadline is stated',
      params: {},
      view: exampleView({ ...night, workloads: [job(null)] }),
      proposes: [],
    },
  ],
};
