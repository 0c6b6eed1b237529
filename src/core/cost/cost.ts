/**
 * The cost model: (GPU-hours x unit price + storage + network) x peak factor, from quantities to cost lines. Never
 * prices a bill's own amounts, never reads a rule or a budget.
 *
 * Each line is one of the three parts of one hour: it is summed as an exact fraction, over every piece of the hour with
 * its own price, peak factor and exchange rate, and rounded once. A quantity without a price becomes an unpriced line
 * with its reason: lines and unpriced lines together contain every input quantity.
 */
import { assert } from '../errors.js';
import type { FxTable, FxUsed } from '../price/fx.js';
import type { LearnedRates, LearnedUsed } from '../price/learned-rate.js';
import { divideHalfEven, ONE, type Money, type Rate, type Ratio } from '../money.js';
import type { PeakSchedule } from '../price/peak.js';
import type { Component, Price } from '../price/price.js';
import type { Assumption, PriceBook, PriceQuery, UnpricedReason } from '../price/price-book.js';
import { hourOf } from '../time.js';
import { BYTES_PER_GIB, MIB_MS_PER_GIB_SECOND, PART_MS_PER_GPU_SECOND, type UsageRecord } from '../usage.js';

/** The key of a price: a query without its component, and the account, which only learned rates use. */
export type PriceKey = Omit<PriceQuery, 'component'> & { readonly account?: string | null };

/** Metered sums; null if nothing of the kind is known of (never zero). */
export interface Quantities {
  /** GPU parts x milliseconds, see GPU_PARTS. */
  readonly gpuPartMs: bigint | null;
  /** MiB x milliseconds. */
  readonly storageMibMs: bigint | null;
  readonly networkBytes: bigint | null;
}

/** Quantities of a half-open piece of an hour within which neither the price nor the peak factor changes. */
export interface UsageSlice extends Quantities {
  readonly start: number;
  readonly end: number;
}

/** How a piece of a line was computed: quantity x rate x peak x fx x learned. */
export interface CostBasis {
  readonly start: number;
  readonly end: number;
  readonly quantity: bigint;
  readonly rate: Rate;
  readonly peak: Ratio;
  /** Null if the price is in the line's currency. */
  readonly fx: FxUsed | null;
  readonly source: string;
  readonly effectiveFrom: number;
  readonly assumed: readonly Assumption[];
  readonly stale: boolean;
  /** The rate learned from a bill for this price; absent if there is none. */
  readonly learned?: LearnedUsed;
}

interface LineKey {
  readonly team: string;
  /** First millisecond of the UTC hour. */
  readonly hour: number;
  readonly usage: PriceKey;
}

export interface CostLine extends LineKey {
  readonly kind: 'usage';
  readonly component: Component;
  /** Part-milliseconds, MiB-milliseconds or bytes, as the component has it. */
  readonly quantity: bigint;
  readonly nanos: bigint;
  readonly currency: string;
  /** The cost without learned rates; absent if none applies. */
  readonly listNanos?: bigint;
  readonly basis: readonly CostBasis[];
}

export interface UnpricedLine extends LineKey {
  readonly kind: 'unpriced';
  readonly component: Component;
  /** Null with the reason `quantity-unknown`. */
  readonly quantity: bigint | null;
  readonly reason: UnpricedReason;
}

export interface CostContext {
  readonly book: PriceBook;
  readonly peak: PeakSchedule;
  /** The currency of the lines; null leaves each in its price's own. */
  readonly currency: string | null;
  readonly fx: FxTable | null;
  /** Rates that bills taught, for GPUs; absent: what the lists say. */
  readonly learned?: LearnedRates;
}

/** Units of each component's quantity in one unit of its rates (GPU-second, GiB-second, GiB). */
export const QUANTITY_SCALE: Readonly<Record<Component, bigint>> = {
  gpu: PART_MS_PER_GPU_SECOND,
  storage: MIB_MS_PER_GIB_SECOND,
  network: BYTES_PER_GIB,
};
const COMPONENTS: readonly Component[] = ['gpu', 'storage', 'network'];

/**
 * Instants strictly inside (start, end) at which a price or the peak factor changes. Nearly always there are none, and
 * then the hour's sums are enough; otherwise the hour is summed again piece by piece (`quantitiesWithin`).
 */
export function cutsWithin(usage: PriceKey, start: number, end: number, { book, peak }: CostContext): number[] {
  const timelines = book.timelinesOf(usage);
  const peaks = peak.pieces(start, end);
  if (peaks.length <= 1 && COMPONENTS.every((component) => timelines[component].isConstant(start, end))) return [];
  const cuts = new Set(peaks.map((piece) => piece.start));
  for (const component of COMPONENTS) {
    for (const piece of timelines[component].pieces(start, end)) cuts.add(piece.start);
  }
  cuts.delete(start);
  return [...cuts].sort((a, b) => a - b);
}

/** A record's bytes in its first `elapsed` milliseconds: floors, so that the pieces of any cut sum to the whole. */
function bytesUntil(record: UsageRecord, instant: number): bigint {
  const length = record.end - record.start;
  const elapsed = Math.min(Math.max(instant - record.start, 0), length);
  return length === 0
    ? instant > record.start
      ? BigInt(record.networkBytes ?? 0)
      : 0n
    : (BigInt(record.networkBytes ?? 0) * BigInt(elapsed)) / BigInt(length);
}

/** Exact sums of what the records held within [start, end). Pieces of a partition sum to the whole. */
export function quantitiesWithin(records: readonly UsageRecord[], start: number, end: number): UsageSlice {
  const sums: { gpu: bigint | null; storage: bigint | null; network: bigint | null } = {
    gpu: null,
    storage: null,
    network: null,
  };
  for (const record of records) {
    const overlap = Math.max(0, Math.min(record.end, end) - Math.max(record.start, start));
    if (overlap === 0 && !(record.start === record.end && start <= record.start && record.start < end)) continue;
    if (record.gpuParts !== null) sums.gpu = (sums.gpu ?? 0n) + BigInt(record.gpuParts) * BigInt(overlap);
    if (record.storageMib !== null) sums.storage = (sums.storage ?? 0n) + BigInt(record.storageMib) * BigInt(overlap);
    if (record.networkBytes !== null)
      sums.network = (sums.network ?? 0n) + bytesUntil(record, end) - bytesUntil(record, start);
  }
  return { start, end, gpuPartMs: sums.gpu, storageMibMs: sums.storage, networkBytes: sums.network };
}

const quantityOf = (slice: Quantities, component: Component): bigint | null =>
  component === 'gpu' ? slice.gpuPartMs : component === 'storage' ? slice.storageMibMs : slice.networkBytes;

/** An exact sum on its way to one rounding. */
interface OpenLine {
  numerator: bigint;
  denominator: bigint;
  quantity: bigint;
  readonly basis: CostBasis[];
}

/**
 * Cost lines of one team, one hour and one price key, at most one per component and currency, and the unpriced rest.
 * @param slices pieces of the hour in order, none with a cut inside (see `cutsWithin`), each holding its quantities
 */
export function priceHour(
  team: string,
  usage: PriceKey,
  slices: readonly UsageSlice[],
  context: CostContext,
): (CostLine | UnpricedLine)[] {
  const first = slices[0];
  if (first === undefined) return [];
  const key = { team, hour: hourOf(first.start), usage };
  const unknown = slices.every((slice) => COMPONENTS.every((component) => quantityOf(slice, component) === null));
  if (unknown) return [{ ...key, kind: 'unpriced', component: 'gpu', quantity: null, reason: 'quantity-unknown' }];
  return COMPONENTS.flatMap((component) => priceComponent(key, component, slices, context));
}

function priceComponent(
  key: LineKey,
  component: Component,
  slices: readonly UsageSlice[],
  context: CostContext,
): (CostLine | UnpricedLine)[] {
  const open = new Map<string, OpenLine>();
  const unpriced = new Map<UnpricedReason, bigint>();
  for (const slice of slices) {
    const quantity = quantityOf(slice, component);
    if (quantity === null || quantity === 0n) continue;
    const result = basisOf(key.usage, component, quantity, slice, context);
    if ('unpriced' in result) unpriced.set(result.unpriced, (unpriced.get(result.unpriced) ?? 0n) + quantity);
    else addBasis(open, component, result);
  }
  const lines: (CostLine | UnpricedLine)[] = [];
  for (const [currency, line] of open) {
    const nanos = divideHalfEven(line.numerator, line.denominator);
    lines.push({
      ...key,
      kind: 'usage',
      component,
      quantity: line.quantity,
      nanos,
      currency,
      ...atList(component, line),
      basis: line.basis,
    });
  }
  for (const [reason, quantity] of unpriced) lines.push({ ...key, kind: 'unpriced', component, quantity, reason });
  return lines;
}

/** The line without its learned rates, if there are any. */
function atList(component: Component, { basis }: OpenLine): { readonly listNanos?: bigint } {
  if (basis.every(({ learned }) => learned === undefined)) return {};
  const open = new Map<string, OpenLine>();
  for (const { learned: _, ...stated } of basis) addBasis(open, component, stated);
  const [line] = open.values();
  assert(line !== undefined && open.size === 1, 'the pieces of a line are in one currency');
  return { listNanos: divideHalfEven(line.numerator, line.denominator) };
}

function basisOf(
  usage: PriceKey,
  component: Component,
  quantity: bigint,
  slice: UsageSlice,
  context: CostContext,
): CostBasis | { readonly unpriced: UnpricedReason } {
  const { start, end } = slice;
  const timeline = context.book.timelinesOf(usage)[component];
  assert(timeline.isConstant(start, end), 'a slice lies between two price changes');
  const found = timeline.at(start);
  if ('unpriced' in found) return found;
  const { price, assumed, stale } = found;
  const currency = context.currency ?? price.rate.currency;
  const fx =
    currency === price.rate.currency ? null : (context.fx?.rate(price.rate.currency, currency, start) ?? undefined);
  if (fx === undefined) return { unpriced: 'no-fx-rate' };
  const peaks = context.peak.pieces(start, end);
  assert(peaks.length <= 1, 'a slice lies between two changes of the peak factor');
  const peak = peaks[0]?.factor ?? context.peak.at(start);
  const learned = component === 'gpu' ? (context.learned?.at(usage, start) ?? null) : null;
  return {
    start,
    end,
    quantity,
    rate: price.rate,
    peak,
    fx,
    source: price.source,
    effectiveFrom: price.effectiveFrom,
    assumed,
    stale,
    ...(learned === null ? {} : { learned }),
  };
}

function addBasis(open: Map<string, OpenLine>, component: Component, basis: CostBasis): void {
  const { rate, peak, fx, quantity } = basis;
  const [ratio, share] = [fx?.rate ?? ONE, basis.learned?.ratio ?? ONE];
  const numerator = quantity * rate.nanos * peak.numerator * ratio.numerator * share.numerator;
  const denominator =
    QUANTITY_SCALE[component] * rate.quantity * peak.denominator * ratio.denominator * share.denominator;
  const currency = fx?.to ?? rate.currency;
  const line = open.get(currency);
  if (line === undefined) {
    open.set(currency, { numerator, denominator, quantity, basis: [basis] });
    return;
  }
  line.numerator = line.numerator * denominator + numerator * line.denominator;
  line.denominator *= denominator;
  line.quantity += quantity;
  line.basis.push(basis);
}

/**
 * Milliseconds that the seller bills for a run: up to the next increment, at least the minimum, nothing for nothing
 * (AWS: "per second, with a minimum of 60 seconds", EC2 On-Demand Pricing). A run that arrives in several records is
 * asked for as a whole, from its first start to its end (run.ts).
 */
export function billableMs(durationMs: number, price: Pick<Price, 'incrementSeconds' | 'minimumSeconds'>): number {
  assert(
    durationMs >= 0 && price.incrementSeconds > 0 && price.minimumSeconds >= 0,
    'durations are not negative, increments positive',
  );
  if (durationMs === 0) return 0;
  const incrementMs = price.incrementSeconds * 1000;
  return Math.max(Math.ceil(durationMs / incrementMs) * incrementMs, price.minimumSeconds * 1000);
}

/** A part of the model: a quantity at a rate, or an amount that is known as such (`$500 of storage`). */
export type ModelPart = Money | { readonly quantity: bigint; readonly quantityScale: bigint; readonly rate: Rate };

/** The model on its own, as quotes go by it: each part times the peak factor, rounded once, and their sum. */
export function modelCost(
  parts: readonly [ModelPart, ...ModelPart[]],
  peak: Ratio = ONE,
): { readonly parts: Money[]; readonly total: Money } {
  const costs = parts.map((part): Money => {
    const [numerator, denominator, currency] =
      'rate' in part
        ? [part.quantity * part.rate.nanos, part.quantityScale * part.rate.quantity, part.rate.currency]
        : [part.nanos, 1n, part.currency];
    return { nanos: divideHalfEven(numerator * peak.numerator, denominator * peak.denominator), currency };
  });
  const currency = costs[0]?.currency ?? '';
  assert(
    costs.every((cost) => cost.currency === currency),
    'the parts of a model are in one currency',
  );
  return { parts: costs, total: { nanos: costs.reduce((sum, cost) => sum + cost.nanos, 0n), currency } };
}
