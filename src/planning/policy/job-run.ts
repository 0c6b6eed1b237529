/**
 * What a stretch of time does to a job that ends, and what it costs: the one rule for a policy, its opponents and the
 * optimum.
 *
 * A slot is an hour, or, where there is a spot market, ten minutes of one or the part of these in which it was recorded
 * as alike. A machine that comes up loses a restart first, which is paid; a machine that runs on loses nothing; a lost
 * spot is a machine that has to come up again. That is how job-work.ts (core) counts what was metered.
 * The invariant: work left never grows, and work that is not done when the window ends is paid all the same, so that
 * nobody saves by leaving it.
 */
import type { WorkloadView } from '../../core/policy/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from '../spot/problem.js';
import type { CostSteps } from './steps.js';

/** How often a spot market is looked at, as in the traces of Wu et al. ("Can't Be Late", NSDI 2024). */
export const EVALUATION_MS = 10 * MINUTE_MS;

export interface JobSlot {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly ms: number;
  /** Currency units per hour of all GPUs of the job, peak factor included. */
  readonly onDemand: number;
  /** The same on spot; null: spot was recorded as gone. Without a record it is the on-demand price. */
  readonly spot: number | null;
  /** Whether somebody saw spot there. */
  readonly isVerified: boolean;
}

/** Another number of GPUs than the job's own, and how fast it is with them; both relative to its own. */
export interface JobSize {
  readonly share: number;
  readonly speed: number;
}

export interface JobState {
  readonly held: Mode;
  /** The size of the held machines; absent: the job's own. */
  readonly size?: JobSize;
  /** Where its checkpoint lies: the number of one of its places; absent: where it was at first. */
  readonly place?: number;
  /** The remaining restart of the held machine. */
  readonly restartLeftMs: number;
  /** The remaining work on its own GPUs. */
  readonly workLeftMs: number;
}

/** Another place than its own at first, to which a policy has moved it. */
export interface JobPlace {
  /** From 1. */
  readonly no: number;
  readonly facts: Pick<WorkloadView, 'provider' | 'region' | 'sku'> & { readonly zone?: string };
  /** As the job's own slots, there. */
  readonly slots: readonly JobSlot[];
}

/** A way by the numbers of its ends; 0 is the job's place at first. */
export const wayOf = (from: number, to: number): string => `${from} ${to}`;

/** Where a machine is wanted, and what is paid once for the data that goes there. */
export interface Destination {
  readonly place: number;
  readonly egress: number;
}

export interface SpentSlot {
  readonly state: JobState;
  readonly cost: number;
  /** Milliseconds that machines were held. */
  readonly ranMs: number;
  readonly isStart: boolean;
}

/**
 * A slot in a mode. Spot that is gone holds nothing and costs nothing; once the work is done only the time until then
 * is paid.
 * @param slot at the place where the machines are wanted
 * @param size of the machines that are wanted; absent: the job's own. Another size than is held is another start
 * @param to absent: where its checkpoint lies. Another place is another start, and what is sent is paid with it
 */
export function spendSlot(
  { ms, onDemand, spot }: JobSlot,
  state: JobState,
  wanted: Mode,
  restartMs: number,
  size?: JobSize,
  to: Destination = { place: state.place ?? 0, egress: 0 },
): SpentSlot {
  if (state.workLeftMs <= 0) return { state, cost: 0, ranMs: 0, isStart: false };
  if (wanted === IDLE || (wanted === SPOT && spot === null))
    return {
      state: { held: IDLE, restartLeftMs: 0, workLeftMs: state.workLeftMs, ...placed(state.place) },
      cost: 0,
      ranMs: 0,
      isStart: false,
    };
  const { share, speed } = size ?? OWN;
  const isElsewhere = to.place !== (state.place ?? 0);
  const isStart = isElsewhere || wanted !== state.held || share !== (state.size ?? OWN).share;
  const restart = isStart ? restartMs : state.restartLeftMs;
  const ranMs = Math.min(ms, restart + state.workLeftMs / speed);
  const lost = Math.min(ranMs, restart);
  const workLeftMs = restart + state.workLeftMs / speed <= ms ? 0 : state.workLeftMs - (ranMs - lost) * speed;
  const perHour = (wanted === SPOT ? (spot ?? onDemand) : onDemand) * share;
  return {
    state: {
      held: wanted,
      restartLeftMs: restart - lost,
      workLeftMs,
      ...(size === undefined ? {} : { size }),
      ...placed(to.place),
    },
    cost: (ranMs / HOUR_MS) * perHour + (isElsewhere ? to.egress : 0),
    ranMs,
    isStart,
  };
}

const OWN: JobSize = { share: 1, speed: 1 };
const placed = (place = 0): Pick<JobState, 'place'> => (place === 0 ? {} : { place });

/** A job that can be run again. */
export interface JobCase {
  readonly name: string;
  /** Epoch milliseconds, within the window. */
  readonly since: number;
  readonly deadline: number | null;
  readonly gpus: number;
  readonly replicas: number;
  /** Its speed with another number of GPUs, relative to its own; null: not measured. */
  readonly speedAt: (gpus: number) => number | null;
  /** The term that it has: SPOT or ON_DEMAND. */
  readonly own: Mode;
  /** Its slots at another place of the same machines; null: a price from `since` on, or the place, is unknown. */
  readonly slotsAt: (place: JobPlace['facts']) => readonly JobSlot[] | null;
  /** Somebody looks at spot where it runs. */
  readonly hasMarket: boolean;
  /** Its owner lets it be stopped and moved. */
  readonly mayMove: boolean;
  /** At `since`. Idle: its first start is still to come, and is no restart. */
  readonly first: JobState;
  readonly restartMs: number;
  /** From `since` to the end of the window, without a gap. */
  readonly slots: readonly JobSlot[];
}

export interface JobBill {
  readonly cost: number;
  /** Cost of each step of the window. */
  readonly paid: Float64Array;
  /** Starts beside the first. */
  readonly restarts: number;
  readonly isLate: boolean;
  readonly hoursLate: number;
  /** Not done when the window ended. */
  readonly isUnfinished: boolean;
  /** GPU-hours that wanted spot without a record of it: paid on demand. */
  readonly unverifiedGpuHours: number;
}

/** A job on its way through the window. */
export class JobRun {
  state: JobState;
  /** Epoch milliseconds; null: it is not done. */
  doneAt: number | null;
  cost = 0;
  private readonly paid: Float64Array;
  private starts = 0;
  private unverifiedMs = 0;
  /** On demand where it was last, which is where the rest is paid. */
  private onDemand: number | null = null;

  constructor(
    private readonly job: JobCase,
    private readonly steps: CostSteps,
  ) {
    this.state = job.first;
    this.doneAt = job.first.workLeftMs > 0 ? null : job.since;
    this.paid = steps.none();
  }

  spend(slot: JobSlot, wanted: Mode, size?: JobSize, to?: Destination): void {
    const { state, cost, ranMs, isStart } = spendSlot(slot, this.state, wanted, this.job.restartMs, size, to);
    this.onDemand = slot.onDemand;
    this.state = state;
    if (isStart) this.starts++;
    if (wanted === SPOT && !slot.isVerified) this.unverifiedMs += ranMs * (size ?? OWN).share;
    if (state.workLeftMs <= 0) this.doneAt ??= slot.from + ranMs;
    this.pay(slot.from, cost);
  }

  private pay(at: number, cost: number): void {
    this.cost += cost;
    const step = this.steps.at(at);
    this.paid[step] = (this.paid[step] ?? 0) + cost;
  }

  /**
   * At the end of the window: what is left is paid as if it ran on demand and at its own size from then on, at the last
   * hour's price.
   */
  bill(): JobBill {
    const { job, state } = this;
    const last = job.slots.at(-1);
    const isUnfinished = this.doneAt === null;
    const restMs = isUnfinished
      ? state.workLeftMs + (state.held === ON_DEMAND && state.size === undefined ? state.restartLeftMs : job.restartMs)
      : 0;
    const end = last === undefined ? job.since : last.from + last.ms;
    const rest = (restMs / HOUR_MS) * (this.onDemand ?? last?.onDemand ?? 0);
    const paid = this.paid.slice();
    paid[paid.length - 1] = (paid.at(-1) ?? 0) + rest;
    const lateMs = job.deadline === null ? 0 : Math.max(0, (this.doneAt ?? end + restMs) - job.deadline);
    return {
      cost: this.cost + rest,
      paid,
      restarts: Math.max(0, this.starts - (job.first.held === IDLE ? 1 : 0)),
      isLate: lateMs > 0,
      hoursLate: lateMs / HOUR_MS,
      isUnfinished,
      unverifiedGpuHours: (this.unverifiedMs / HOUR_MS) * job.gpus,
    };
  }
}

/** All of it, decided slot by slot. */
export function runJob(job: JobCase, steps: CostSteps, decide: (slot: JobSlot, state: JobState) => Mode): JobRun {
  const run = new JobRun(job, steps);
  for (const slot of job.slots) if (run.doneAt === null) run.spend(slot, decide(slot, run.state));
  return run;
}
