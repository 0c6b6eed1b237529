/**
 * Replays one policy over the recorded history of a team, step by step, in the model of bills.ts, resources.ts,
 * workloads.ts and jobs.ts.
 *
 * At each step the policy sees a view of the past alone and its proposals take effect at once, as if a person approved
 * them all. Purchases hold for their term. A limit on a team's launches, or its demand on spot, holds while the policy
 * continues to propose it. A change of a workload holds until the next one, or, if the policy says so
 * (`holdsWhileProposed`), while it is proposed. Proposals without a modelled effect are counted, never guessed.
 */
import { evaluateBudget, type Forecaster, type SpendPoint } from '../../core/budget/budget.js';
import type { RecordedHistory } from '../../core/policy/history.js';
import {
  isWorthwhile,
  type DemandSeries,
  type FleetFacts,
  type Policy,
  type PolicyView,
  type Proposal,
  type WorkloadView,
} from '../../core/policy/policy.js';
import { DAY_MS, dayOf, HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { addBills, billHour, demanded, NO_BILL, type Commitment, type DemandBill, type Standing } from './bills.js';
import { viewAt } from './history.js';
import { fleetsOf, isToCome, jobCases, type JobOrReason } from './job-cases.js';
import { EVALUATION_MS, type JobSize } from './job-run.js';
import { jobMeasures, ReplayedJob, type JobsBill, type JobPlaces } from './jobs.js';
import { ReplayedResource } from './resources.js';
import { CostSteps, finished, type Steps } from './steps.js';
import { ReplayedWorkload, type WorkloadBill } from './workloads.js';

export interface ReplaySettings {
  /** Hours between two evaluations. */
  readonly stepHours: number;
  /** Minutes until a stopped resource works again. */
  readonly restartMinutes: number;
  readonly forecaster: Forecaster | null;
  /** Minutes from the order of a replica until it serves, where the policy states them; absent: as its workload does. */
  readonly coldStartMinutes?: number | undefined;
}

export interface ReplayedDecision {
  readonly at: number;
  readonly action: string;
  readonly target: string;
}

/** One series, resource, workload or job of the history, in its order. */
export interface ReplayedCase {
  readonly name: string;
  readonly cost: number;
  /** Cost of each step of the window. */
  readonly paid: Float64Array;
  /** Why its cost is unknown: then it has no cost. Null: it is known. */
  readonly unknown: string | null;
}

export interface ReplayRun {
  readonly demand: DemandBill;
  readonly resources: {
    readonly cost: number;
    readonly stops: number;
    readonly falseStops: number;
    readonly preventedMinutes: number;
  };
  readonly workloads: WorkloadBill;
  /** The measures of the known jobs. */
  readonly jobs: JobsBill;
  /** Sizes beside their own that jobs were given, by name. */
  readonly jobSizes: ReadonlyMap<string, readonly JobSize[]>;
  /** Places that jobs were moved to, by name. */
  readonly jobPlaces: ReadonlyMap<string, JobPlaces>;
  /** Ready replicas of each service (its groups' `partOf`), minute by minute; null: not recorded. */
  readonly ready: ReadonlyMap<string, readonly (number | null)[]>;
  readonly commitments: readonly Commitment[];
  readonly decisions: readonly ReplayedDecision[];
  /** Proposals whose effect the model does not know: notices, keeps, sizes of a job that nobody has measured. */
  readonly withoutEffect: number;
  /** Cost of each step of the window, per part. */
  readonly paid: {
    readonly demand: Float64Array;
    readonly resources: Float64Array;
    readonly workloads: Float64Array;
    readonly jobs: Float64Array;
  };
  /** The same, one by one; of the demand only what is bought on demand. */
  readonly cases: {
    readonly demand: readonly ReplayedCase[];
    readonly resources: readonly ReplayedCase[];
    readonly workloads: readonly ReplayedCase[];
    readonly jobs: readonly ReplayedCase[];
  };
}

/** Days between the evaluations of policies that decide over weeks; all others look every hour. */
const DAILY: ReadonlySet<string> = new Set(['reserve-baseline', 'mix']);

/**
 * Policies that follow spot: they look at jobs as often as it is looked at. The line shows them a team whenever a
 * machine of it goes, not by the hour.
 */
const EVERY_EVALUATION: ReadonlySet<string> = new Set(['spot-shift']);

/** Policies that follow the replicas of services on spot: they look whenever what is held, or the market, has changed. */
const FOLLOWS_SERVICES: ReadonlySet<string> = new Set(['spot-serving']);
/** As long as a loss takes to be read and answered on the line. */
const SERVICE_EVALUATION_MS = 2 * MINUTE_MS;

/** How often a policy is asked in a replay. */
export const stepHoursOf = (policy: string): number => (DAILY.has(policy) ? 24 : 1);

/** @param policy null: nothing is done. */
export function replayPolicy(
  history: RecordedHistory,
  policy: Policy | null,
  params: unknown,
  settings: ReplaySettings,
): ReplayRun {
  return finished(replaySteps(history, policy, params, settings));
}

/**
 * The same, hour by hour.
 * @param jobs of the history, where they are computed already
 */
export function* replaySteps(
  history: RecordedHistory,
  policy: Policy | null,
  params: unknown,
  settings: ReplaySettings,
  jobs = jobCases(history),
): Steps<ReplayRun> {
  const replay = new Replay(history, policy, settings, jobs);
  const read = policy?.params.parse(params);
  for (let hour = history.from; hour < history.to; hour += HOUR_MS) {
    if (policy !== null && FOLLOWS_SERVICES.has(policy.name)) {
      for (let at = hour; at < hour + HOUR_MS; at += SERVICE_EVALUATION_MS)
        if (replay.isServiceChanged(at) || at === hour)
          replay.takeOfServices(policy.evaluate(replay.viewOf(at, replay.services), read).filter(isWorthwhile), at);
    } else if (policy !== null && ((hour - history.from) / HOUR_MS) % settings.stepHours === 0) {
      const isOwn = ({ target }: Proposal): boolean =>
        !EVERY_EVALUATION.has(policy.name) || !replay.followsSpot(target, hour);
      replay.take(
        policy.evaluate(replay.view(hour), read).filter((one) => isWorthwhile(one) && isOwn(one)),
        hour,
      );
    }
    if (policy !== null) {
      for (const { at, names } of jobEvaluations(replay, policy, hour, settings))
        replay.takeOfJobs(policy.evaluate(replay.viewOf(at, names), read).filter(isWorthwhile), at, names);
    }
    replay.runHour(hour);
    yield (hour + HOUR_MS - history.from) / (history.to - history.from);
  }
  return replay.result();
}

interface JobEvaluation {
  readonly at: number;
  readonly names: ReadonlySet<string>;
}

/**
 * Within an hour: every ten minutes at jobs that follow spot, for who does so too; for anybody else who looks by the
 * hour at those that begin.
 */
function* jobEvaluations(
  replay: Replay,
  policy: Policy,
  hour: number,
  { stepHours }: ReplaySettings,
): Generator<JobEvaluation> {
  if (EVERY_EVALUATION.has(policy.name)) {
    for (let at = hour; at < hour + HOUR_MS; at += EVALUATION_MS)
      if (replay.isSpotFollowed(at)) yield { at, names: replay.spotFollowers(at) };
  } else if (stepHours === 1) yield* replay.beginnings(hour);
}

class Replay {
  /** Groups that hold replicas of services. */
  readonly services: ReadonlySet<string>;
  private serviceState = '';
  private readonly workloads: ReadonlyMap<string, ReplayedWorkload>;
  private readonly baseline: readonly ReplayedWorkload[];
  private readonly baselineOf: ReadonlyMap<string, ReplayedWorkload>;
  private readonly jobs: ReadonlyMap<string, { readonly own: ReplayedJob; readonly base: ReplayedJob }>;
  /** Workloads that are said to begin after the window. */
  private readonly toCome: ReadonlySet<string>;
  private readonly resources: ReadonlyMap<string, ReplayedResource>;
  /** Machines that are both a workload and a resource, and that a policy stopped. */
  private readonly resting = new Set<string>();
  private readonly commitments: Commitment[] = [];
  private readonly decisions: ReplayedDecision[] = [];
  private readonly adjustments: SpendPoint[] = [];
  /** GPUs of each series when launches began to be refused; null: they are not. */
  private levels: readonly number[] | null = null;
  private onSpot: ReadonlySet<number> = new Set();
  private demand: DemandBill = NO_BILL;
  private withoutEffect = 0;
  /** The saving of jobs so far, compared with doing nothing. */
  private jobsAhead = 0;
  private readonly steps: CostSteps;
  private readonly paidDemand: readonly Float64Array[];
  private readonly paidWorkloads: ReadonlyMap<string, Float64Array>;
  private readonly demandOf: DemandBill[];

  constructor(
    private readonly history: RecordedHistory,
    private readonly policy: Policy | null,
    private readonly settings: ReplaySettings,
    jobs: readonly JobOrReason[],
  ) {
    const fleets = fleetsOf(history);
    this.services = new Set(fleets.flatMap(({ workload, partOf }) => (partOf === undefined ? [] : [workload])));
    this.workloads = new Map(
      fleets.map((one) => [one.workload, new ReplayedWorkload(history, one, settings.coldStartMinutes)]),
    );
    this.baseline = fleets.map((one) => new ReplayedWorkload(history, one));
    this.baselineOf = new Map(this.baseline.map((one) => [one.facts.workload, one]));
    this.resources = new Map(
      history.resources.map((one) => [one.resource, new ReplayedResource(one, history.from, history.to)]),
    );
    const steps = (this.steps = new CostSteps(history));
    const fleetOf = (name: string): FleetFacts | null =>
      history.jobs.find(({ workload }) => workload === name)?.fleet ?? null;
    this.jobs = new Map(
      jobs.map((one) => [
        one.name,
        { own: new ReplayedJob(one, fleetOf(one.name), steps), base: new ReplayedJob(one, fleetOf(one.name), steps) },
      ]),
    );
    this.toCome = new Set(history.jobs.filter((one) => isToCome(one, history)).map(({ workload }) => workload));
    this.paidDemand = history.demand.map(() => this.steps.none());
    this.paidWorkloads = new Map(fleets.map(({ workload }) => [workload, steps.none()]));
    this.demandOf = history.demand.map(() => NO_BILL);
  }

  view(asOf: number): PolicyView {
    return viewAt(this.history, asOf, {
      committed: (series) =>
        this.commitments
          .filter((one) => one.series === series && asOf < one.since + one.termHours * HOUR_MS)
          .map(({ units, since, termHours }) => ({ units, since, hoursLeft: termHours - (asOf - since) / HOUR_MS })),
      workload: (one) => this.workloadView(one, asOf),
      budgets: this.budgets(asOf),
    });
  }

  /** A view of only those workloads, for an evaluation because of them: with the market's newest reading. */
  viewOf(asOf: number, names: ReadonlySet<string>): PolicyView {
    const { history } = this;
    const workloads = history.workloads.filter(({ workload }) => names.has(workload));
    return viewAt({ ...history, demand: [], resources: [], leases: [], workloads }, asOf, {
      committed: () => [],
      workload: (one) => this.workloadView(one, asOf),
      budgets: [],
      seesMarketNow: true,
    });
  }

  /** Runs the groups of services up to an instant; whether what they hold, or their market, has changed since. */
  isServiceChanged(asOf: number): boolean {
    const own = [...this.workloads.values()].filter(({ facts }) => this.services.has(facts.workload));
    for (const one of own) {
      one.takeOver(asOf);
      one.serveUntil(asOf);
    }
    const before = this.serviceState;
    this.serviceState = own.map((one) => one.state(asOf)).join();
    return this.serviceState !== before;
  }

  takeOfServices(proposals: readonly Proposal[], at: number): void {
    for (const { action, target, change = {} } of proposals) {
      this.decisions.push({ at, action, target });
      if (this.workloads.get(target)?.change(action, change, at) !== true) this.withoutEffect++;
    }
  }

  /** Runs the jobs that follow spot up to an instant; whether any of them is still on the way then. */
  isSpotFollowed(asOf: number): boolean {
    const all = [...this.jobs.values()].map(({ own }) => own).filter((one) => one.followsSpot(asOf));
    for (const one of all) one.runUntil(asOf);
    return all.some((one) => one.followsSpot(asOf));
  }

  followsSpot(target: string, asOf: number): boolean {
    return this.jobs.get(target)?.own.followsSpot(asOf) === true;
  }

  spotFollowers(asOf: number): ReadonlySet<string> {
    return new Set([...this.jobs.keys()].filter((name) => this.followsSpot(name, asOf)));
  }

  /** Jobs that begin within an hour, and not with it: the line shows a team whose fleet has changed at once. */
  beginnings(hour: number): JobEvaluation[] {
    const begun = [...this.jobs.values()].flatMap(({ own: { name, since } }) =>
      since !== null && since > hour && since < hour + HOUR_MS ? [{ name, since }] : [],
    );
    return [...new Set(begun.map(({ since }) => since))]
      .sort((a, b) => a - b)
      .map((at) => ({ at, names: new Set(begun.flatMap(({ name, since }) => (since === at ? [name] : []))) }));
  }

  takeOfJobs(proposals: readonly Proposal[], at: number, names: ReadonlySet<string>): void {
    for (const { action, target, change = {} } of proposals) {
      const job = this.jobs.get(target);
      if (job === undefined || !names.has(target)) continue;
      this.decisions.push({ at, action, target });
      if (!job.own.change(action, change, at)) this.withoutEffect++;
    }
  }

  private workloadView(one: WorkloadView, asOf: number): WorkloadView | null {
    const isRestored = this.policy?.holdsWhileProposed === true;
    const job = this.jobs.get(one.workload);
    if (job !== undefined) return job.own.view(one, asOf, isRestored);
    if (this.toCome.has(one.workload)) return null;
    const own = isRestored ? this.baselineOf.get(one.workload) : this.workloads.get(one.workload);
    return own?.view(one, asOf) ?? one;
  }

  /**
   * Budgets as they would stand: the recorded spend, and what the policy has changed of it so far. Spend is recorded by
   * the day, so that only days which are over count.
   */
  private budgets(asOf: number): PolicyView['budgets'] {
    const isOver = ({ at }: SpendPoint): boolean => dayOf(at) + DAY_MS <= asOf;
    return this.history.budgets.map(({ budget, spend }) => ({
      budget,
      state: evaluateBudget({
        budget,
        spend: [...spend, ...this.adjustments].filter(isOver),
        committed: 0n,
        now: asOf,
        forecaster: this.settings.forecaster,
      }),
    }));
  }

  take(proposals: readonly Proposal[], at: number): void {
    const standing = { refuses: false, spot: new Set<number>(), stopped: new Set<string>() };
    if (this.policy?.holdsWhileProposed === true)
      for (const one of [...this.workloads.values(), ...[...this.jobs.values()].map(({ own }) => own)]) one.restore();
    for (const proposal of proposals) {
      this.decisions.push({ at, action: proposal.action, target: proposal.target });
      if (!this.takeOne(proposal, at, standing)) this.withoutEffect++;
    }
    this.levels = standing.refuses
      ? (this.levels ?? this.history.demand.map((_, series) => demanded(this.history, series, at - HOUR_MS)))
      : null;
    this.onSpot = standing.spot;
    for (const [name, resource] of this.resources) if (!standing.stopped.has(name)) resource.release(at);
  }

  private takeOne(
    { action, target, subject, change = {} }: Proposal,
    at: number,
    standing: { refuses: boolean; spot: Set<number>; stopped: Set<string> },
  ): boolean {
    const workload = this.workloads.get(target);
    const resource = this.resources.get(target);
    const isStop = action === 'Stop' || action === 'Release';
    if (workload !== undefined) {
      if (!workload.change(action, change, at)) return false;
      if (isStop && resource !== undefined) {
        this.resting.add(target);
        standing.stopped.add(target);
        resource.stop(at);
      }
      return true;
    }
    const job = this.jobs.get(target);
    if (job !== undefined) return job.own.change(action, change, at);
    if (resource !== undefined && isStop) {
      standing.stopped.add(target);
      resource.stop(at);
      return true;
    }
    if (action === 'RefuseLaunches') return (standing.refuses = true);
    const series = this.history.demand.findIndex((one) => isOnDemand(one) && placeOf(one) === (subject ?? target));
    if (series < 0) return false;
    if (action === 'MoveToSpot') {
      standing.spot.add(series);
      return true;
    }
    const { units, termHours, perGpuHourNanos } = change;
    if (
      !action.startsWith('Purchase') ||
      typeof units !== 'number' ||
      typeof termHours !== 'number' ||
      typeof perGpuHourNanos !== 'number'
    )
      return false;
    this.commitments.push({ series, units, since: at, termHours, perHour: perGpuHourNanos / 1e9 });
    return true;
  }

  runHour(hour: number): void {
    const { history } = this;
    const step = this.steps.at(hour);
    let saved = 0;
    history.demand.forEach((one, series) => {
      if (!isOnDemand(one)) return;
      const bill = billHour(history, series, hour, this.commitments, {
        level: this.levels?.[series] ?? Infinity,
        onSpot: this.onSpot.has(series),
      });
      saved += billHour(history, series, hour, [], FREE).cost - bill.cost;
      this.demand = addBills(this.demand, bill);
      this.demandOf[series] = addBills(this.demandOf[series] ?? NO_BILL, bill);
      add(this.paidDemand[series], step, bill.cost);
    });
    for (const base of this.baseline) {
      const own = this.workloads.get(base.facts.workload);
      if (own === undefined) continue;
      this.resume(own, hour);
      const [of, without] = [hourOf(own, hour), hourOf(base, hour)];
      // If one of the two has no price, the difference is unknown.
      if (!of.isUnpriced && !without.isUnpriced) saved += without.cost - of.cost;
      add(this.paidWorkloads.get(own.facts.workload), step, of.cost);
    }
    saved += this.runJobs(hour + HOUR_MS);
    if (saved !== 0)
      this.adjustments.push({
        at: hour,
        nanos: BigInt(Math.round(-saved * 1e9)),
        creditNanos: 0n,
        unpricedQuantity: 0n,
      });
  }

  /** A machine that was stopped runs again once its own readings show that it is needed, or show nothing. */
  private resume(one: ReplayedWorkload, hour: number): void {
    const name = one.facts.workload;
    const resource = this.resources.get(name);
    if (resource === undefined || !this.resting.has(name)) return;
    if (resource.isStopped(hour) && resource.minutes(hour, hour + HOUR_MS) > 0) return;
    this.resting.delete(name);
    one.resume();
  }

  /** Runs jobs up to an instant, and says what they saved since they last were. */
  private runJobs(until: number): number {
    let ahead = 0;
    for (const { own, base } of this.jobs.values()) {
      own.runUntil(until);
      base.runUntil(until);
      ahead += base.cost - own.cost;
    }
    const saved = ahead - this.jobsAhead;
    this.jobsAhead = ahead;
    return saved;
  }

  result(): ReplayRun {
    const { restartMinutes } = this.settings;
    const bills = [...this.resources.values()].map((one) => one.bill(restartMinutes));
    const totals = [...this.workloads.values()].map(({ total }) => total);
    const jobs = [...this.jobs.values()].map(({ own }) => ({ own, bill: own.bill() }));
    const cases: ReplayRun['cases'] = {
      demand: this.history.demand.flatMap((one, series) => (isOnDemand(one) ? [this.demandCase(one, series)] : [])),
      resources: [...this.resources.values()].map((one, at) => ({
        name: one.resource.resource,
        cost: bills[at]?.cost ?? 0,
        paid: one.paid(restartMinutes, this.steps),
        unknown: one.unknown,
      })),
      workloads: [...this.workloads.values()].map((one) => ({
        name: one.facts.workload,
        cost: one.total.cost,
        paid: this.paidWorkloads.get(one.facts.workload) ?? this.steps.none(),
        unknown: one.unknown,
      })),
      jobs: jobs.map(({ own, bill }) => ({
        name: own.name,
        cost: bill?.cost ?? 0,
        paid: bill?.paid ?? this.steps.none(),
        unknown: own.unknown,
      })),
    };
    return {
      demand: this.demand,
      ready: readyOf([...this.workloads.values()]),
      commitments: this.commitments,
      decisions: this.decisions,
      withoutEffect: this.withoutEffect,
      resources: {
        cost: sum(bills, (one) => one.cost),
        stops: sum(bills, (one) => one.stops),
        falseStops: sum(bills, (one) => one.falseStops),
        preventedMinutes: sum(bills, (one) => one.preventedMinutes),
      },
      workloads: {
        cost: sum(totals, (one) => one.cost),
        replicaMinutes: sum(totals, (one) => one.replicaMinutes),
        load: sum(totals, (one) => one.load),
        unserved: sum(totals, (one) => one.unserved),
        changes: sum(totals, (one) => one.changes),
        unpricedReplicaMinutes: sum(totals, (one) => one.unpricedReplicaMinutes),
        unrecordedHours: sum(totals, (one) => one.unrecordedHours),
      },
      jobs: jobMeasures(jobs.flatMap(({ bill }) => bill ?? [])),
      jobSizes: new Map(jobs.map(({ own }) => [own.name, own.sizes])),
      jobPlaces: new Map(jobs.map(({ own }) => [own.name, own.places])),
      paid: {
        demand: this.steps.sum(cases.demand),
        resources: this.steps.sum(cases.resources),
        workloads: this.steps.sum(cases.workloads),
        jobs: this.steps.sum(cases.jobs),
      },
      cases,
    };
  }

  /** Demand without any priced hour; usage that commitments of the replay cover has a price. */
  private demandCase(one: DemandSeries, series: number): ReplayedCase {
    const { cost, unpricedGpuHours, refusedGpuHours } = this.demandOf[series] ?? NO_BILL;
    let wanted = 0;
    for (let hour = this.history.from; hour < this.history.to; hour += HOUR_MS)
      wanted += demanded(this.history, series, hour);
    const isUnknown = unpricedGpuHours > 0 && unpricedGpuHours >= wanted - refusedGpuHours - 1e-9;
    return {
      name: placeOf(one),
      cost,
      paid: this.paidDemand[series] ?? this.steps.none(),
      unknown: isUnknown ? `no on-demand price of ${placeOf(one)} is known` : null,
    };
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((whole, one) => whole + of(one), 0);

/** The sums over the groups of each service; unknown where that of one is. */
function readyOf(all: readonly ReplayedWorkload[]): ReplayRun['ready'] {
  const ready = new Map<string, readonly (number | null)[]>();
  for (const { facts, readyByMinute } of all) {
    if (facts.partOf === undefined) continue;
    const before = ready.get(facts.partOf);
    const total = readyByMinute.map((held, minute) => {
      const others = before === undefined ? 0 : (before[minute] ?? null);
      return held === null || others === null ? null : held + others;
    });
    ready.set(facts.partOf, total);
  }
  return ready;
}

function add(costs: Float64Array | undefined, step: number, cost: number): void {
  if (costs !== undefined) costs[step] = (costs[step] ?? 0) + cost;
}

/** Runs an hour of a workload: what it cost, and whether some of it has no price. */
function hourOf(one: ReplayedWorkload, hour: number): { readonly cost: number; readonly isUnpriced: boolean } {
  const before = one.total;
  one.runHour(hour);
  return {
    cost: one.total.cost - before.cost,
    isUnpriced: one.total.unpricedReplicaMinutes > before.unpricedReplicaMinutes,
  };
}

/** Only on-demand usage can be changed; an unstated term counts as on demand. */
export const isOnDemand = ({ term }: DemandSeries): boolean => term === null || term === 'on-demand';

const FREE: Standing = { level: Infinity, onSpot: false };

/** As policies name the demand of a SKU at a place. */
const placeOf = ({
  provider,
  region,
  sku,
  gpuModel,
}: {
  provider: string;
  region: string | null;
  sku: string | null;
  gpuModel: string | null;
}): string => [provider, region ?? 'any region', sku ?? gpuModel ?? 'GPU'].join('/');
