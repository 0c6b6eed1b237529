/**
 * The view of a policy: one team at one time, and nothing of the future. Types only, and the empty view.
 *
 * Money is in nanos of the view's currency, time in epoch milliseconds, ratios in 0 to 1. An unknown value is null, and
 * null is never taken for zero: a policy that does not know leaves the target alone. Series are oldest first and
 * contain nothing after `asOf`.
 */
import type { Budget, BudgetState } from '../budget/budget.js';
import type { RunState, TargetKind } from '../fleet/fleet.js';
import type { StopSaving } from '../fleet/settings.js';
import type { HealthFinding } from '../fleet/health.js';
import type { RunFacts, TakenMeasurement } from '../workload/measurement.js';
import type { Rate } from '../money.js';
import { NO_PEAK, type PeakSchedule } from '../price/peak.js';
import type { Upfront } from '../price/price.js';
import type { Term } from '../usage.js';

/** Days of readings in a view, if there are that many. */
export const READINGS_DAYS = 14;

/** Whole hours of one kind of GPU at one place, as metered under one term. */
export interface DemandSeries {
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  /** First millisecond of the first hour. */
  readonly from: number;
  /** GPUs held on average in each hour. */
  readonly gpus: Float64Array;
  /** GPUs that commitments served in the same hours, beside `gpus`; absent: none are known of. */
  readonly coveredGpus?: Float64Array;
  /** Commitments that hold now; absent: none are known of. */
  readonly committed?: readonly { readonly units: number; readonly hoursLeft: number }[];
  /**
   * Commitments that may cover the machines beside those, though no metered term says so; absent: none are known of.
   */
  readonly bought?: readonly { readonly units: number; readonly hoursLeft: number }[];
  /** GPUs of `bought` whose account is unknown; absent: none. */
  readonly boughtForUnknown?: number;
  /** Names of savings plans that may cover the machines, where no metered term says how much; absent: none. */
  readonly plans?: readonly string[];
  /** The present cost of one GPU-hour, in the view's currency; null: it has no price. */
  readonly onDemand: Rate | null;
  readonly reserved: readonly ReservedOffer[];
}

/** A price for committed GPUs, converted to the view's currency. */
export interface ReservedOffer {
  readonly term: Term;
  readonly upfront: Upfront;
  readonly termHours: number;
  readonly rate: Rate;
  readonly source: string;
}

/** One reading of a resource's GPUs; null if it was not measured or the reading was blank. */
export interface Reading {
  readonly at: number;
  readonly gpuUtilisationRatio: number | null;
  readonly memoryUsedRatio: number | null;
  readonly requestsPerSecond: number | null;
  /** The highest power of its cards, in watts. Absent or null: not measured. */
  readonly powerWatts?: number | null;
  /** Used memory of the fullest card. Absent or null: not measured. */
  readonly memoryUsedMib?: number | null;
}

/** The fleet's data about the machine or the workload of a resource. */
export interface MachineView {
  readonly connection: string;
  readonly kind: TargetKind;
  /** `unknown` if it was not seen recently. */
  readonly state: RunState;
  readonly term: Term | null;
  /** GPUs that it holds in all, of all its replicas; null: unknown. */
  readonly gpus: number | null;
  readonly launchedAt: number | null;
  /** When the fleet was first seen to have it; absent: not known. */
  readonly firstSeenAt?: number;
  /** The scaling group that brings and takes it; null: none is known. */
  readonly group: string | null;
  /** The saving of a stop; absent: its hours, as far as known. */
  readonly stopSaving?: StopSaving;
  /** A stop loses data on disks of its host; absent: none is known of. */
  readonly localDisks?: true;
}

/** The fleet's last reading of a target that is stopped, is a group, or is a machine of a group. */
export interface ObservedTarget {
  readonly target: string;
  readonly state: RunState;
  readonly group: string | null;
}

/** A machine that an action of ours has replaced or ended, or is about to. */
export interface OwnEnd {
  readonly action: string;
  /** The policy that requested it; null: a person. */
  readonly policy: string | null;
  readonly document: string | null;
  readonly kind: 'replace' | 'terminate';
  /** Its cloud shows it; until then it is under way. */
  readonly isOver: boolean;
}

/**
 * A single machine as the fleet last saw it, measured or not: it belongs to no group, and its owner does not describe
 * it as a workload.
 */
export interface InstanceView {
  readonly target: string;
  /** Its possible names: its target, alone and after its connection, and its name. */
  readonly names: readonly string[];
  readonly machine: MachineView;
  /** Its owner forbids stops, moves and resizes; null: nobody said. */
  readonly isProtected: boolean | null;
  /** When it was last seen to start after it had stood still; null: never since it is watched. */
  readonly startedAt: number | null;
  /** Its cost per hour; null: it has no price. */
  readonly hourlyNanos: bigint | null;
}

/**
 * A target that an action of a policy document has stopped, or scaled to nothing, and that nobody has started, changed
 * or ended since.
 */
export interface OwnStop {
  readonly document: string;
  readonly action: string;
  readonly connection: string;
  readonly target: string;
  /** When the provider was to be asked for it. */
  readonly at: number;
  /** Replicas that it had; 1: a machine. */
  readonly replicas: number;
}

/** A machine, or a workload with all its pods, with measured GPUs. */
export interface ResourceView {
  /** The fleet's target if it is known, otherwise the name in the readings. */
  readonly resource: string;
  /** `training`, `inference`, `notebook`, ...; null: nobody said. */
  readonly workload: string | null;
  readonly gpus: number | null;
  readonly gpuModel: string | null;
  /** The cost per hour of the whole resource; null: it has no price. */
  readonly hourlyNanos: bigint | null;
  /** Since when it is watched, within the readings' window; null: unknown, and then the whole window is taken. */
  readonly observedFrom: number | null;
  readonly readings: readonly Reading[];
  /** Absent: no connection knows what it is, and `unjoined` says why. */
  readonly machine?: MachineView;
  /** Why no connection knows it, as a sentence; absent: one does, or nobody has looked. */
  readonly unjoined?: string;
  /** Open findings about the health of its GPUs; absent: none. */
  readonly health?: readonly HealthFinding[];
}

/** The metric of the ready replicas of a group, of each reading of the fleet. */
export const READY_REPLICAS = 'ready_replicas';

/** A measure, minute by minute. */
export interface MinuteSeries {
  /** First millisecond of the first minute. */
  readonly from: number;
  /** Null if a minute was not measured. */
  readonly values: readonly (number | null)[];
  /**
   * The number of GPUs behind each value that is measured per GPU: GPUs without data do not count. Null, or absent: the
   * sender states the value for the whole workload.
   */
  readonly measuredGpus?: readonly (number | null)[];
}

export interface FleetFacts {
  readonly ready: number;
  readonly booting: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** When the number of replicas last changed; null: unknown. */
  readonly changedAt: number | null;
}

export interface ServiceFacts {
  /** Minutes from the order of a replica until it serves. */
  readonly bootMinutes: number;
  /** The capacity of one replica per minute, in the unit of `load`; null: not measured. */
  readonly capacityPerReplica: number | null;
  /** Load offered in each minute (requests, tokens). */
  readonly load: MinuteSeries;
}

/** A job that ends. Hours are of the job's present GPUs. */
export interface JobFacts {
  /** Null: it waits for its start; or, if it runs, its start is unknown. */
  readonly startedAt: number | null;
  readonly deadline: number | null;
  readonly workHours: number | null;
  /** Never less than is certain (workload/job-work.ts); 0: it is done. */
  readonly workLeftHours: number | null;
  /** Hours lost at each start on another instance; null: not measured. */
  readonly restartHours: number | null;
  /** Whether its number of GPUs may change while it runs. */
  readonly resizable: boolean | null;
  /** Size of its checkpoint in GB, stated or measured; null or absent: unknown, which is never 0. */
  readonly checkpointGb?: number | null;
  /** Data that it reads and that has to be sent along to another region, in GB; null or absent: unknown. */
  readonly dataGb?: number | null;
}

/** The performance of one GPU of a model for a workload, measured or predicted. */
export interface ModelPerformance {
  readonly gpuModel: string;
  /** Units of the workload's load (samples, requests) per minute of one GPU. */
  readonly unitsPerMinute: number;
  /** Whether the workload fits into the model's memory; null: unknown. */
  readonly fits: boolean | null;
  readonly source: string;
}

/** Something that a team runs: a service, a training, a notebook. */
export interface WorkloadView {
  readonly workload: string;
  /** `training`, `inference`, `batch`, `notebook`; null: nobody said. */
  readonly kind: string | null;
  readonly provider: string | null;
  readonly region: string | null;
  /** The zone in which it runs; absent: several, or unknown. */
  readonly zone?: string;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  readonly gpusPerReplica: number | null;
  /** Whether it survives the loss of an instance (checkpoints, retries); null: not stated. */
  readonly interruptible: boolean | null;
  /** Its owner forbids stops, moves and resizes; null: nobody said. */
  readonly isProtected: boolean | null;
  readonly fleet: FleetFacts | null;
  readonly service: ServiceFacts | null;
  readonly job: JobFacts | null;
  /** By metric name, such as `gpu_utilisation_ratio`, `memory_used_ratio`, `scaling_efficiency_ratio`. */
  readonly metrics: Readonly<Record<string, MinuteSeries>>;
  /** The stated performance; measurements of its model are in the view's measurements. */
  readonly performance: readonly ModelPerformance[];
  /** The model that it runs; absent: not stated. */
  readonly runs?: RunFacts;
  /** What is found about the health of its GPUs and not cleared; absent: nothing. */
  readonly health?: readonly HealthFinding[];
  /** It is one machine, which no cloud here can move to spot or back; absent: it is a group, or unknown. */
  readonly spotIsFixed?: true;
  /** The name of the cloud's own mechanism that already sets its size by a measure; absent: none known. */
  readonly followedBy?: string;
  /** The service whose replicas it holds, with other groups; absent: none is stated. */
  readonly partOf?: string;
  /** Hot spares that its fleet declares, ready to take over, first to be used first; absent: none. */
  readonly spares?: readonly string[];
}

/** A price per GPU-second that holds now, in the view's currency. */
export interface GpuOffer {
  readonly provider: string;
  readonly sku: string;
  /** Null: it holds everywhere. */
  readonly region: string | null;
  readonly gpuModel: string;
  readonly term: Term;
  /** GPUs of one instance. */
  readonly gpus: number;
  readonly rate: Rate;
  readonly source: string;
}

/** The price of data that leaves a place, in the view's currency, per GiB. */
export interface EgressOffer {
  readonly provider: string;
  readonly sku: string;
  /** Null: it holds everywhere. */
  readonly region: string | null;
  readonly rate: Rate;
  readonly source: string;
}

/** The availability of a model's spot at a place, at equal steps. */
export interface SpotMarket {
  readonly provider: string;
  readonly region: string | null;
  readonly gpuModel: string;
  readonly from: number;
  readonly tickSeconds: number;
  /** Null if nobody looked. */
  readonly available: readonly (boolean | null)[];
}

/** GPUs that somebody holds until a date. */
export interface LeaseView {
  readonly lease: string;
  /** The resource or allocation that ends with it. */
  readonly target: string;
  readonly holder: string | null;
  readonly gpus: number | null;
  readonly startedAt: number;
  /** Null: it was given without an end. */
  readonly expiresAt: number | null;
  readonly hourlyNanos: bigint | null;
  /** Whether it still holds GPUs; null: unknown. */
  readonly active: boolean | null;
}

export interface PolicyView {
  readonly organisation: string;
  readonly team: string;
  /** The time of the view. */
  readonly asOf: number;
  /** ISO 4217 code of every amount here. */
  readonly currency: string;
  readonly demand: readonly DemandSeries[];
  readonly resources: readonly ResourceView[];
  /** Budgets of the team and of every team above it. */
  readonly budgets: readonly { readonly budget: Budget; readonly state: BudgetState }[];
  readonly workloads: readonly WorkloadView[];
  readonly offers: readonly GpuOffer[];
  /** Absent: none is known. */
  readonly egress?: readonly EgressOffer[];
  readonly spotMarkets: readonly SpotMarket[];
  /** Ready replicas of a service's groups that are gone by now, by the service; absent: none are known. */
  readonly goneReplicas?: Readonly<Record<string, readonly MinuteSeries[]>>;
  /**
   * When each policy document was last written or resumed, by its name; absent: no policy that is evaluated needs it.
   */
  readonly documentsSince?: Readonly<Record<string, number>>;
  readonly leases: readonly LeaseView[];
  /** Absent: no evaluated policy uses them. */
  readonly instances?: readonly InstanceView[];
  readonly ownStops?: readonly OwnStop[];
  /** By each name of a target; absent: unknown. */
  readonly observedTargets?: Readonly<Record<string, ObservedTarget>>;
  /** By each name that is one machine's alone; absent: none. */
  readonly ownEnds?: Readonly<Record<string, OwnEnd>>;
  readonly peak: PeakSchedule;
  /**
   * The policies' realised savings compared with their predictions; absent: nothing is corrected (a backtest has no
   * ledger).
   */
  readonly calibrations?: Calibrations;
  /** Throughputs that the organisation has measured, oldest first; absent: none. */
  readonly measurements?: readonly TakenMeasurement[];
}

/** An empty view of a team, with the given values filled in. */
export function viewOf(known: Pick<PolicyView, 'team' | 'asOf' | 'currency'> & Partial<PolicyView>): PolicyView {
  return {
    organisation: 'default',
    demand: [],
    resources: [],
    budgets: [],
    workloads: [],
    offers: [],
    spotMarkets: [],
    leases: [],
    peak: NO_PEAK,
    ...known,
  };
}

/** The realised results of a policy's estimates (calibration.ts computes them). */
export interface Calibration {
  /** Realised over predicted; low and high are the ends of an 80 % interval. All between LEAST_RATIO and MOST_RATIO. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly cases: number;
}

/** By `policy@version`: cases of another version say nothing about this one. */
export type Calibrations = Readonly<Record<string, Calibration>>;
