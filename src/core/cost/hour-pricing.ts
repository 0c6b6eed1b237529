/**
 * Prices one hour of one dimension: from its sums if that is exact, otherwise from its records.
 *
 * Pricing is linear, so sums are enough unless the price or the peak factor changes inside the hour, or the seller's
 * billing increment or minimum lengthens a run. Then the same hour is priced from its records; a property test checks
 * that both ways agree wherever both apply. Never reads anything itself: the caller fetches the records on request.
 */
import {
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
import { isLinear } from './rollup.js';
import { addedMs, linkRuns, type Linked } from './run.js';
import { HOUR_MS, type Interval } from '../time.js';
import type { UsageRecord } from '../usage.js';

/** The sums of a (team, hour, dimension), over all deliveries. */
export interface HourTotals extends Quantities {
  readonly hour: number;
  readonly shortestMs: number;
  readonly granuleMs: number;
}

/** Whether only the records determine the cost of an hour. */
export function isUnclear(usage: PriceKey, totals: HourTotals, context: CostContext): boolean {
  if (cutsWithin(usage, totals.hour, totals.hour + HOUR_MS, context).length > 0) return true;
  const found = context.book.find({ ...usage, component: 'gpu', at: totals.hour });
  if (!('price' in found) || totals.gpuPartMs === null) return false;
  const { incrementSeconds, minimumSeconds } = found.price;
  return !isLinear(totals.shortestMs, totals.granuleMs, incrementSeconds, minimumSeconds);
}

/** Cost lines from the sums, or null if only the records can tell. */
export function priceFromSums(
  team: string,
  usage: PriceKey,
  totals: HourTotals,
  context: CostContext,
): (CostLine | UnpricedLine)[] | null {
  if (isUnclear(usage, totals, context)) return null;
  return priceHour(team, usage, [{ ...totals, start: totals.hour, end: totals.hour + HOUR_MS }], context);
}

/** The seller's addition to a run, at the end of the run. */
export interface Surcharge {
  readonly at: number;
  readonly partMs: bigint;
}

/** The seller's additions to the runs that end among linked records. */
export function surchargesOf(usage: PriceKey, linked: readonly Linked[], { book }: CostContext): Surcharge[] {
  return linked.flatMap((one) => {
    const at = one.record.end - 1;
    const found = one.continues ? null : book.find({ ...usage, component: 'gpu', at });
    const extraMs = found !== null && 'price' in found ? addedMs(one, found.price) : 0;
    return extraMs === 0 ? [] : [{ at, partMs: BigInt(one.record.gpuParts ?? 0) * BigInt(extraMs) }];
  });
}

/** What priceFromRecords may be told apart from the records. */
export interface RecordPricing {
  /** A piece of the hour, where only that is to be priced. */
  readonly within?: Interval;
  /** The additions to the runs; absent: those that the given records show by themselves. */
  readonly surcharges?: readonly Surcharge[];
}

/**
 * Cost lines from the records that overlap the hour; what the seller adds to a run goes to the hour in which it ends.
 */
export function priceFromRecords(
  team: string,
  usage: PriceKey,
  hour: number,
  records: readonly UsageRecord[],
  context: CostContext,
  {
    within: { start, end } = { start: hour, end: hour + HOUR_MS },
    surcharges = surchargesOf(usage, linkRuns(records), context),
  }: RecordPricing = {},
): (CostLine | UnpricedLine)[] {
  const bounds = [start, ...cutsWithin(usage, start, end, context), end];
  const slices = bounds.slice(1).map((until, at) => quantitiesWithin(records, bounds[at] ?? start, until));
  for (const surcharge of surcharges) addSurcharge(slices, surcharge);
  return priceHour(team, usage, slices, context);
}

function addSurcharge(slices: UsageSlice[], { at: instant, partMs }: Surcharge): void {
  const at = slices.findIndex((slice) => slice.start <= instant && instant < slice.end);
  const slice = slices[at];
  if (slice !== undefined) slices[at] = { ...slice, gpuPartMs: (slice.gpuPartMs ?? 0n) + partMs };
}
