/**
 * Usage: one metered interval of one resource, or one charge line of a bill.
 *
 * Quantities are integers: a GPU is 7000 parts, so that a thousandth of a GPU (7 parts) and one of the seven compute
 * slices of a MIG-partitioned GPU (1000 parts) are both whole, and the shares of one GPU sum to that GPU exactly.
 * Unknown is null, never zero. This file never prices and never assigns a team.
 */
import type { Decimal } from './decimal.js';
import type { Interval } from './time.js';

/** Parts of one GPU: 7 x 1000. A milli-GPU is 7 parts; a MIG compute slice of 7 is 1000 parts, of 4 (A30) is 1750. */
export const GPU_PARTS = 7000;

/** GPU quantities are in part-milliseconds: this many make a GPU-second. */
export const PART_MS_PER_GPU_SECOND = 7_000_000n;
export const PART_MS_PER_GPU_HOUR = 25_200_000_000n;
/** Storage quantities are in MiB-milliseconds: this many make a GiB-second. */
export const MIB_MS_PER_GIB_SECOND = 1_024_000n;
/** Network quantities are in bytes. */
export const BYTES_PER_GIB = 1_073_741_824n;

/** A record may hold at most 100,000 GPUs: an hour of them stays an exact number. */
export const MOST_GPU_PARTS = 100_000 * GPU_PARTS;

export type Term = 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y';

export const TERMS: readonly Term[] = [
  'on-demand',
  'spot',
  'reserved-1y',
  'reserved-3y',
  'savings-plan-1y',
  'savings-plan-3y',
];

/** FOCUS 1.2 ChargeCategory. */
export const CHARGE_CATEGORIES = ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'] as const;
export type ChargeCategory = (typeof CHARGE_CATEGORIES)[number];

/**
 * The commitment that a line of a bill used, or left unused (FOCUS CommitmentDiscountId, -Category, -Type, -Name,
 * -Status, -Quantity and -Unit). Null if the bill does not say.
 */
export interface Commitment {
  readonly id: string;
  /** Usage: so many machines (a reservation). Spend: so much money (a savings plan). */
  readonly category: 'Usage' | 'Spend' | null;
  readonly type: string | null;
  readonly name: string | null;
  /** The status of usage lines; null on a purchase. */
  readonly status: 'Used' | 'Unused' | null;
  readonly quantity: Decimal | null;
  readonly unit: string | null;
}

/**
 * The part of a line that counts towards a contract's commitment (an element of FOCUS ContractApplied); adds no cost.
 */
export interface AppliedContract {
  /** FOCUS ContractCommitmentId. */
  readonly id: string;
  readonly cost: Decimal | null;
  readonly quantity: Decimal | null;
  readonly unit: string | null;
}

/** One commitment of a contract (FOCUS dataset Contract Commitment), by the columns of FOCUS 1.3 and 1.4. */
export interface ContractCommitment {
  /** ContractCommitmentId */
  readonly id: string;
  /** ContractId */
  readonly contract: string | null;
  /** In version 1.4; 1.3 does not state it. */
  readonly provider: string | null;
  /** Spend: so much money. Usage: so much of a unit. */
  readonly category: 'Spend' | 'Usage';
  readonly type: string | null;
  readonly description: string | null;
  readonly currency: string | null;
  readonly cost: Decimal | null;
  readonly quantity: Decimal | null;
  readonly unit: string | null;
  /** ContractCommitmentPeriodStart and -End: half-open, epoch milliseconds. */
  readonly start: number;
  readonly end: number;
}

/** The bill's data about a line, in the source's own decimals. Present on bill lines only. */
export interface Charge {
  readonly category: ChargeCategory;
  readonly currency: string;
  readonly billed: Decimal;
  readonly effective: Decimal | null;
  readonly list: Decimal | null;
  /** Half-open billing period, epoch milliseconds. A restated bill replaces its period. */
  readonly periodStart: number;
  readonly periodEnd: number;
  /**
   * The source says that this line changes no more: an invoice has it, or it is no estimate. Absent: it says nothing.
   */
  readonly isFinal?: boolean;
  /** Absent or null: no commitment is named. */
  readonly commitment?: Commitment | null;
  readonly contracts?: readonly AppliedContract[] | null;
  /**
   * True: the line states what the bill of its period lacks (the amortised cost of covered usage that is billed at
   * zero), and is not itself a bill.
   */
  readonly supplement?: boolean;
  /** Whether the line is of a machine's own hours. Absent: the source does not tell. */
  readonly machineHours?: boolean;
}

/** Which statement of a record counts: that of the highest revision, of one revision the latest. */
export interface RecordVersion {
  readonly revision: number | null;
  /** Epoch milliseconds. */
  readonly updatedAt: number | null;
}

export interface UsageRecord {
  /** Identity within its source: the same id again is the same record. */
  readonly id: string;
  /** FOCUS ProviderName: `AWS`, `Microsoft`, `Google Cloud`, `Alibaba Cloud`, ... see providers in price/price.ts. */
  readonly provider: string;
  /** FOCUS BillingAccountId. */
  readonly account: string | null;
  /** FOCUS SubAccountId. */
  readonly subAccount: string | null;
  /** FOCUS ResourceId: instance, pod, volume. */
  readonly resource: string | null;
  /** Kubernetes namespace, where there is one. */
  readonly namespace: string | null;
  /** FOCUS ServiceName. */
  readonly service: string | null;
  /** Instance type or SkuId: the key into the price book. */
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
  /** `H100`, `A100-80GB`, `V100`, ... as modelOf in fleet/gpu-model.ts writes it. */
  readonly gpuModel: string | null;
  /** Tags and labels; later keys win. */
  readonly tags: Readonly<Record<string, string>> | null;
  /** Half-open interval, epoch milliseconds UTC. Bill lines of a month span the month. */
  readonly start: number;
  readonly end: number;
  /** Parts of a GPU held over the interval (see GPU_PARTS); null if no GPU is known of. */
  readonly gpuParts: number | null;
  /** MiB of storage held over the interval. */
  readonly storageMib: number | null;
  /** Bytes sent over the interval. */
  readonly networkBytes: number | null;
  readonly charge: Charge | null;
  /** Absent if the record states none. */
  readonly version?: RecordVersion;
  /** For a correction, whose quantities are below zero: the id of the corrected record, of the same source. */
  readonly corrects?: string;
}

/**
 * Above zero where `a` is the later statement of a record, below where `b` is. What states no version is the
 * earliest.
 */
export function compareVersions(a: RecordVersion | undefined, b: RecordVersion | undefined): number {
  const one = (x: number | null | undefined, y: number | null | undefined): number =>
    (x ?? null) === (y ?? null) ? 0 : (x ?? -Infinity) > (y ?? -Infinity) ? 1 : -1;
  return one(a?.revision, b?.revision) || one(a?.updatedAt, b?.updatedAt);
}

/**
 * Whether a record is about something that ran. What is held or sent beside a machine does not, though it may bear the
 * machine's name.
 */
export const isOfMachine = ({ gpuParts, storageMib, networkBytes }: UsageRecord): boolean =>
  gpuParts !== null || (storageMib === null && networkBytes === null);

/** Whether two records state the same, whatever the order of their tags. */
export function isSameRecord(a: UsageRecord, b: UsageRecord): boolean {
  return comparable(a) === comparable(b);
}

/** A text that is equal where two metered records are. */
function comparable({ tags, version, corrects, ...rest }: UsageRecord): string {
  const names = Object.keys({ ...rest, charge: null }).sort() as (keyof typeof rest)[];
  const sorted = Object.entries(tags ?? {}).sort(([x], [y]) => (x < y ? -1 : x > y ? 1 : 0));
  return JSON.stringify([
    names.map((name) => (name === 'charge' ? null : rest[name])),
    sorted,
    version?.revision ?? null,
    version?.updatedAt ?? null,
    corrects ?? null,
  ]);
}

/** A row that could not be read. Kept, listed, never dropped. */
export interface Reject {
  /** 1-based line (CSV, JSON lines) or record number (JSON, Parquet). */
  readonly line: number;
  /** Column or JSON path, where one is to blame. */
  readonly column: string | null;
  readonly reason: string;
  /** The row as it came, cut at 4,000 characters. */
  readonly raw: string;
}

/** Where a row was refused, as a problem's path: its column too, where the reason does not begin with it. */
export const placeOfReject = ({ line, column, reason }: Reject): string =>
  `line ${line}${column === null || reason.startsWith(`${column}: `) ? '' : `, ${column}`}`;

/** The output of a format: some rows of a file, read or refused. */
export interface RecordBatch {
  readonly records: UsageRecord[];
  readonly rejects: Reject[];
  /** The agreed commitments in a file of contracts. */
  readonly contracts?: readonly ContractCommitment[];
}

/** Milliseconds of a record that lie within a time; what has no length counts a millisecond where it begins. */
export function clippedMs({ start, end }: Pick<UsageRecord, 'start' | 'end'>, within: Interval): number {
  if (end === start) return start >= within.start && start < within.end ? 1 : 0;
  return Math.min(end, within.end) - Math.max(start, within.start);
}
