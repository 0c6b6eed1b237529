/**
 * The recorded history of a team, on which a policy can be replayed. store/policy/history.ts reads it, planning/policy
 * replays it. It contains the past, not the knowledge of a policy: planning/policy/history.ts decides which part of it
 * a view shows.
 */
import type { Budget, SpendPoint } from '../budget/budget.js';
import type { JobWork } from '../workload/job-work.js';
import type { TakenMeasurement } from '../workload/measurement.js';
import type { Rate } from '../money.js';
import type { PeakSchedule } from '../price/peak.js';
import type { Term } from '../usage.js';
import type {
  DemandSeries,
  EgressOffer,
  FleetFacts,
  GpuOffer,
  LeaseView,
  ReservedOffer,
  ResourceView,
  SpotMarket,
  WorkloadView,
} from './policy.js';

export interface SeriesPrices {
  readonly onDemand: Rate | null;
  readonly reserved: readonly ReservedOffer[];
}

/**
 * A workload that ends: its owner's word on its work, and the machines that it was last seen with, which may be long
 * ago.
 */
export interface RecordedJob {
  readonly workload: string;
  /** Null: nobody said how much, and since when. */
  readonly work: JobWork | null;
  readonly fleet: FleetFacts | null;
}

/** GPUs that were metered of a workload in an hour, of one place and term. */
export interface MeteredGpus {
  readonly provider: string | null;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  /** Null: the meter did not say. */
  readonly term: Term | null;
  /** GPU-hours of the hour, more than 0. */
  readonly gpus: number;
}

/**
 * The metered size of a workload by the start of each recorded hour, epoch milliseconds. An hour without an entry was
 * not recorded; an empty one was, and nothing ran.
 */
export type RecordedSizes = ReadonlyMap<number, readonly MeteredGpus[]>;

export interface RecordedHistory {
  readonly organisation: string;
  readonly team: string;
  readonly currency: string;
  /** Epoch milliseconds, whole hours: the replayed period. Earlier data is past that a policy may use. */
  readonly from: number;
  readonly to: number;
  readonly demand: readonly DemandSeries[];
  readonly resources: readonly ResourceView[];
  readonly workloads: readonly WorkloadView[];
  /** Those of the workloads that end, seen in the window or after it. */
  readonly jobs: readonly RecordedJob[];
  /** By name, of the workloads that are no jobs: only these hours of them count. */
  readonly sizes: ReadonlyMap<string, RecordedSizes>;
  readonly spotMarkets: readonly SpotMarket[];
  readonly leases: readonly LeaseView[];
  /** Budgets above the team with their recorded spend, of all their teams, a point per UTC day. */
  readonly budgets: readonly { readonly budget: Budget; readonly spend: readonly SpendPoint[] }[];
  readonly peak: PeakSchedule;
  /** Throughputs that the organisation has measured up to `to`, oldest first; absent: none. */
  readonly measurements?: readonly TakenMeasurement[];
  offersAt(instant: number): readonly GpuOffer[];
  /** Absent: no price of data is known. */
  egressAt?(instant: number): readonly EgressOffer[];
  pricesAt(series: DemandSeries, instant: number): SeriesPrices;
}
