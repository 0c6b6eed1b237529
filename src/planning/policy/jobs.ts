/**
 * A recorded job under the effects of a policy: paused, stopped, moved between spot and on demand, given more or fewer
 * machines, and so finished later or at lower cost.
 *
 * The policy sees it as the replay has it, with the same count of its work as a view's (core/workload/job-work.ts), and
 * never the future. Before its beginning it does not exist. A job that cannot be replayed (job-cases.ts) is shown as
 * known, and no proposal changes it.
 */
import type { Change } from '../../core/policy/recommendation.js';
import type { FleetFacts, WorkloadView } from '../../core/policy/policy.js';
import { HOUR_MS, parseInstant } from '../../core/time.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from '../spot/problem.js';
import type { JobOrReason } from './job-cases.js';
import { JobRun, wayOf, type JobBill, type JobCase, type JobPlace, type JobSize } from './job-run.js';
import type { CostSteps } from './steps.js';

export class ReplayedJob {
  readonly name: string;
  /** Why its cost is unknown; null: it is known. */
  readonly unknown: string | null;
  private readonly job: JobCase | null;
  private readonly run: JobRun | null;
  private term: Mode;
  /** Until when it is paused; Infinity: until something starts it; null: it is not. */
  private pausedUntil: number | null = null;
  /** Undefined: its own. */
  private size: JobSize | undefined;
  private readonly tried = new Map<number, JobSize>();
  /** Where it is; null: where it was at first. */
  private place: JobPlace | null = null;
  private readonly been = new Map<string, JobPlace>();
  /** What was paid for data from one place to another, by their numbers. */
  private readonly sent = new Map<string, number>();
  private changedAt: number | null = null;
  private next = 0;

  /** @param known the fleet that it was last seen with, and by which it is shown */
  constructor(
    one: JobOrReason,
    private readonly known: FleetFacts | null,
    steps: CostSteps,
  ) {
    this.name = one.name;
    this.job = 'job' in one ? one.job : null;
    this.unknown = 'job' in one ? null : one.why;
    this.run = this.job === null ? null : new JobRun(this.job, steps);
    this.term = this.job?.own ?? ON_DEMAND;
  }

  /**
   * How it looks to a policy at an instant; null: it is not there yet.
   * @param isRestored as it would be with nothing compared with it, for a policy whose word holds only while it says it
   */
  view(one: WorkloadView, asOf: number, isRestored: boolean): WorkloadView | null {
    const { job, run, known } = this;
    if (job === null || run === null || known === null || one.job === null) return one;
    if (asOf < job.since) return null;
    const { state } = run;
    const rests = run.doneAt !== null || (!isRestored && this.isPaused(asOf));
    // A machine that has not come up yet has its restart before it.
    const isUp = !rests && state.held !== IDLE;
    // A brake that says nothing more takes back its size too.
    const { share, speed } = (isRestored ? undefined : this.size) ?? { share: 1, speed: 1 };
    const replicas = Math.round(job.replicas * share);
    // At the instant of its start it has not begun.
    const startedAt =
      one.job.startedAt !== null && (one.job.startedAt > asOf || (asOf === job.since && job.first.held === IDLE))
        ? null
        : one.job.startedAt;
    return {
      ...(isRestored || this.place === null ? one : hereAt(one, this.place)),
      term: (isRestored ? job.own : this.term) === SPOT ? 'spot' : 'on-demand',
      fleet: {
        ...known,
        ready: isUp ? replicas : 0,
        booting: rests || isUp ? 0 : replicas,
        changedAt: this.changedAt ?? job.since,
      },
      job: { ...one.job, startedAt, workLeftHours: state.workLeftMs / speed / HOUR_MS },
    };
  }

  private isPaused(instant: number): boolean {
    return this.pausedUntil !== null && instant < this.pausedUntil;
  }

  /** Takes back what holds against it. */
  restore(): void {
    this.pausedUntil = null;
    this.size = undefined;
    this.term = this.job?.own ?? this.term;
    this.place = null;
  }

  /** Sizes beside its own that it was given. */
  get sizes(): readonly JobSize[] {
    return [...this.tried.values()];
  }

  /** Places that it was moved to, and the price of each way that it went. */
  get places(): JobPlaces {
    return { places: [...this.been.values()], sent: this.sent };
  }

  /**
   * Does what a proposal says; false if this model knows no such thing: another number of replicas whose speed nobody
   * has measured, another machine.
   */
  change(action: string, change: Change, at: number): boolean {
    const { job, run } = this;
    if (job === null || run === null || run.doneAt !== null || at < job.since) return false;
    const now = (): string => [this.term, this.isPaused(at), this.size?.share, this.place?.no].join(' ');
    const before = now();
    const isDone = this.take(action, change, job);
    if (now() !== before) this.changedAt = at;
    return isDone;
  }

  private take(action: string, change: Change, job: JobCase): boolean {
    const { replicas, startsAt } = change;
    switch (action) {
      case 'MoveToSpot':
      case 'MoveToOnDemand':
        if (typeof change['region'] === 'string' && !this.moveTo(change, job)) return false;
        this.term = action === 'MoveToSpot' ? SPOT : ON_DEMAND;
        return true;
      case 'MoveToOffPeak':
        // Without an instant its first hours are now.
        this.pausedUntil = typeof startsAt === 'string' ? (parseInstant(startsAt) ?? null) : null;
        return true;
      case 'Stop':
      case 'Release':
        this.pausedUntil = Infinity;
        return true;
      case 'Start':
      case 'ScaleOut':
      case 'ScaleIn':
      case 'Rightsize':
        if (action === 'Start' && replicas === undefined) this.pausedUntil = null;
        else if (
          typeof replicas !== 'number' ||
          'sku' in change ||
          'instances' in change ||
          (replicas > 0 && !this.resize(replicas, job))
        )
          return false;
        else this.pausedUntil = replicas === 0 ? Infinity : null;
        return true;
      default:
        return false;
    }
  }

  /** False: what it costs there, or to get there, is unknown. */
  private moveTo(change: Change, job: JobCase): boolean {
    const text = (name: string): string | null => (typeof change[name] === 'string' ? change[name] : null);
    const [provider, region, zone, sku] = [text('provider'), text('region'), text('zone'), text('sku')];
    const egress = Number(text('egress') ?? Number.NaN);
    if (!Number.isFinite(egress)) return false;
    const from = this.run?.state.place ?? 0;
    const name = JSON.stringify([provider, region, zone, sku]);
    let place = this.been.get(name);
    if (place === undefined) {
      const facts = { provider, region, sku, ...(zone === null ? {} : { zone }) };
      const slots = job.slotsAt(facts);
      if (slots === null) return false;
      place = { no: this.been.size + 1, facts, slots };
      this.been.set(name, place);
    }
    this.sent.set(wayOf(from, place.no), egress);
    this.place = place;
    return true;
  }

  private resize(replicas: number, job: JobCase): boolean {
    if (replicas === job.replicas) {
      this.size = undefined;
      return true;
    }
    const share = replicas / job.replicas;
    const speed = job.speedAt(job.gpus * share);
    if (speed === null) return false;
    this.size = { share, speed };
    this.tried.set(share, this.size);
    return true;
  }

  /** Runs it up to an instant of an evaluation. */
  runUntil(instant: number): void {
    const { job, run } = this;
    if (job === null || run === null) return;
    for (let slot = job.slots[this.next]; slot !== undefined && slot.from < instant; slot = job.slots[++this.next]) {
      const to = this.place?.no ?? 0;
      const egress = this.sent.get(wayOf(run.state.place ?? 0, to)) ?? 0;
      const there = this.place?.slots[this.next] ?? slot;
      run.spend(there, this.isPaused(slot.from) ? IDLE : this.term, this.size, { place: to, egress });
    }
  }

  /** Whether it is there, not done, and its machines may come and go within the hour. */
  followsSpot(asOf: number): boolean {
    return (
      this.job !== null && this.run !== null && asOf >= this.job.since && this.run.doneAt === null && this.job.hasMarket
    );
  }

  /** When it begins; null: unknown. */
  get since(): number | null {
    return this.job?.since ?? null;
  }

  /** Its cost so far. */
  get cost(): number {
    return this.run?.cost ?? 0;
  }

  /** Null: it is unknown. */
  bill(): JobBill | null {
    return this.run?.bill() ?? null;
  }
}

/** The places of a job beside its own, and what was paid for data on each way between two of them (`wayOf`). */
export interface JobPlaces {
  readonly places: readonly JobPlace[];
  readonly sent: ReadonlyMap<string, number>;
}

const hereAt = ({ zone: _zone, ...one }: WorkloadView, { facts }: JobPlace): WorkloadView => ({ ...one, ...facts });

export interface JobsBill {
  readonly restarts: number;
  readonly missedDeadlines: number;
  readonly hoursLate: number;
  readonly unfinishedJobs: number;
  readonly unverifiedGpuHours: number;
}

/** The measures of jobs other than their costs. */
export function jobMeasures(bills: readonly JobBill[]): JobsBill {
  const sum = (of: (one: JobBill) => number): number => bills.reduce((whole, one) => whole + of(one), 0);
  return {
    restarts: sum((one) => one.restarts),
    missedDeadlines: sum((one) => (one.isLate ? 1 : 0)),
    hoursLate: sum((one) => one.hoursLate),
    unfinishedJobs: sum((one) => (one.isUnfinished ? 1 : 0)),
    unverifiedGpuHours: sum((one) => one.unverifiedGpuHours),
  };
}
