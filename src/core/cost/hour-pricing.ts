/**
 * Prices one hour of one dimension: from its sums where that is exact, else from its records.
 *
 * Pricing is linear, so sums are enough unless the price or the peak factor changes inside the hour, or the seller's
 * billing increment or minimum lengthens a run. Then the same hour is priced record by record; both ways agree wherever
 * both apply (a property test holds them to it). Never reads anything itself: the caller fetches the records when told.
 */
import {
  billableMs,
  cutsWithin,
  priceHour,
  quantitiesWithin,
  type CostContext,
  type CostLine,
  type PriceKey,
  type Quantities,
  type UnpricedLine,
  type UsageSlice,
} from './cost.js';
import { isLinear, splitAtHours } from './rollup.js';
import { HOUR_MS, type Interval } from '../time.js';
import type { UsageRecord } from '../usage.js';

/** The sums of a (team, hour, dimension), over all deliveries. */
export interface HourTotals extends Quantities {
  readonly hour: number;
  readonly shortestMs: number;
  readonly granuleMs: number;
}

/** Cost lines from the sums, or null where only the records can tell. */
export function priceFromSums(
  team: string,
  usage: PriceKey,
  totals: HourTotals,
  context: CostContext,
): (CostLine | UnpricedLine)[] | null {
  const end = totals.hour + HOUR_MS;
  if (cutsWithin(usage, totals.hour, end, context).length > 0) return null;
  const found = context.book.find({ ...usage, component: 'gpu', at: totals.hour });
  if ('price' in found && totals.gpuPartMs !== null) {
    const { incrementSeconds, minimumSeconds } = found.price;
    if (!isLinear(totals.shortestMs, totals.granuleMs, incrementSeconds, minimumSeconds)) return null;
  }
  return priceHour(team, usage, [{ ...totals, start: totals.hour, end }], context);
}

/**
 * Cost lines from the records that overlap the hour; what the seller adds to a run goes to the hour in which it ends.
 * @param within a piece of the hour, where only that is to be priced
 */
export function priceFromRecords(
  team: string,
  usage: PriceKey,
  hour: number,
  records: readonly UsageRecord[],
  context: CostContext,
  within: Interval = { start: hour, end: hour + HOUR_MS },
): (CostLine | UnpricedLine)[] {
  const { start, end } = within;
  const bounds = [start, ...cutsWithin(usage, start, end, context), end];
  const slices = bounds.slice(1).map((until, at) => quantitiesWithin(records, bounds[at] ?? start, until));
  for (const record of records) addSurcharge(slices, usage, hour, record, context);
  return priceHour(team, usage, slices, context);
}

function addSurcharge(
  slices: UsageSlice[],
  usage: PriceKey,
  hour: number,
  record: UsageRecord,
  { book }: CostContext,
): void {
  if (record.gpuParts === null || lastHourOf(record) !== hour) return;
  const lastInstant = Math.max(record.start, record.end - 1);
  const found = book.find({ ...usage, component: 'gpu', at: lastInstant });
  if (!('price' in found)) return;
  const duration = record.end - record.start;
  const extraMs = billableMs(duration, found.price) - duration;
  const at = slices.findIndex((slice) => slice.start <= lastInstant && lastInstant < slice.end);
  const slice = slices[at];
  if (slice === undefined || extraMs === 0) return;
  slices[at] = { ...slice, gpuPartMs: (slice.gpuPartMs ?? 0n) + BigInt(record.gpuParts) * BigInt(extraMs) };
}

function lastHourOf(record: UsageRecord): number {
  let hour = NaN;
  for (const piece of splitAtHours(record)) if (piece.last) hour = piece.hour;
  return hour;
}
