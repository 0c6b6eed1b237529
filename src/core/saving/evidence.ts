/**
 * The input of savings, and the small steps that all their computations share: metered pieces by hour, their sums, and
 * priced lines as one amount with its prices.
 *
 * Decides nothing. The invariant: a sum with an unknown part is unknown, with the reason of that part.
 */
import type { Counterfactual, WorldUnknown } from './counterfactual.js';
import type { CostLine, UnpricedLine } from '../cost/cost.js';
import type { UnpricedReason } from '../price/price-book.js';
import { HOUR_MS, hourOf, type Interval } from '../time.js';
import type { UsageRecord } from '../usage.js';

export type UnverifiableReason =
  | WorldUnknown
  | `no-price: ${UnpricedReason}`
  | 'price-assumed' // a price stood in for a missing SKU, region, term or way of paying
  | 'target-not-metered' // its meter had never seen it before the action
  | 'hour-not-metered' // its meter was silent about everything
  | 'overlap-unknown' // a later action on the same target has no known world
  | 'coverage-not-metered'; // no usage is metered as served by the commitment

export interface Member {
  readonly counterfactual: Counterfactual;
  readonly confirmedAt: number | null;
  readonly takenBackAt: number | null;
}

/** One metered record, and the name by which the ledger links to it (`source/id`). */
export interface MeteredLine {
  readonly record: UsageRecord;
  readonly line: string;
}

export interface ChainEvidence {
  readonly metered: readonly MeteredLine[];
  /** UTC hours in which the meter of the targets' account reported anything at all, of any team. */
  readonly meteredHours: ReadonlySet<number>;
}

/** A price that a figure was made of. */
export interface PriceUsed {
  readonly source: string;
  readonly effectiveFrom: number;
  /** Nanos per so many GPU-seconds. */
  readonly nanos: bigint;
  readonly quantity: bigint;
  readonly currency: string;
}

/** The saving of one action in one UTC hour; `saved` is counterfactual - actual. */
export interface HourSaving {
  readonly action: string;
  readonly hour: number;
  /** Null: measured. Otherwise time and amounts are zero and nothing is claimed. */
  readonly reason: UnverifiableReason | null;
  /** The claimed part of the hour. */
  readonly claimedMs: number;
  /** Nanos without the action and with it (for the last action of the chain: as metered). */
  readonly counterfactual: bigint;
  readonly actual: bigint;
  readonly lines: readonly string[];
  readonly prices: readonly PriceUsed[];
}

/** A metered record, with the targets that it is of. */
export interface Piece {
  readonly record: UsageRecord;
  readonly line: string | null;
  readonly targets: readonly string[];
}

export type GpuCost =
  | { readonly nanos: bigint; readonly prices: readonly PriceUsed[] }
  | { readonly reason: UnverifiableReason };

const overlapMs = ({ start, end }: UsageRecord, piece: Interval): number =>
  Math.max(0, Math.min(end, piece.end) - Math.max(start, piece.start));

/** GPU parts times milliseconds within an interval. */
export const partMsWithin = (pieces: readonly Piece[], interval: Interval): bigint =>
  pieces.reduce((sum, { record }) => sum + BigInt(record.gpuParts ?? 0) * BigInt(overlapMs(record, interval)), 0n);

/** Pieces by every UTC hour that they touch. */
export function hourIndex(pieces: readonly Piece[]): Map<number, Piece[]> {
  const index = new Map<number, Piece[]>();
  for (const piece of pieces) {
    for (
      let hour = hourOf(piece.record.start);
      hour === hourOf(piece.record.start) || hour < piece.record.end;
      hour += HOUR_MS
    ) {
      const list = index.get(hour);
      if (list === undefined) index.set(hour, [piece]);
      else list.push(piece);
    }
  }
  return index;
}

export const nothing = (
  action: string,
  hour: number,
  reason: UnverifiableReason,
  lines: readonly string[],
): HourSaving => ({ action, hour, reason, claimedMs: 0, counterfactual: 0n, actual: 0n, lines, prices: [] });

/** Priced lines as one amount; the reason where one of them has no price, or an assumed one. */
export function summed(lines: readonly (CostLine | UnpricedLine)[]): GpuCost {
  let nanos = 0n;
  const prices: PriceUsed[] = [];
  for (const line of lines) {
    if (line.kind === 'unpriced') return { reason: `no-price: ${line.reason}` };
    nanos += line.nanos;
    for (const { rate, source, effectiveFrom, assumed } of line.basis) {
      if (assumed.length > 0) return { reason: 'price-assumed' };
      prices.push({ source, effectiveFrom, nanos: rate.nanos, quantity: rate.quantity, currency: rate.currency });
    }
  }
  return { nanos, prices };
}
