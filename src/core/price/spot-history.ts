/**
 * What the past of a spot market implies for a future run: the highest and the lowest past cost of a run of its length,
 * and how often it would have been interrupted. Only the last thirty days count. The caller's function recognises wrong
 * prices (a slipped decimal point), and the last correct price replaces them. Without observations the result is null,
 * never a constant price.
 */
import { compareRates, type PriceBook, type PriceQuery } from './price-book.js';
import type { Rate } from '../money.js';
import { DAY_MS, HOUR_MS, hourOf } from '../time.js';

/** AWS keeps its spot price history for 90 days; a month is about as old as says something of the next days. */
export const SPOT_HISTORY_MS = 30 * DAY_MS;
/** Readings further apart than this leave a hole that nobody watched. */
const WATCHED_GAP_MS = HOUR_MS;
/** Less than this says nothing of interruptions. */
const LEAST_WATCHED_HOURS = 24;

/** A price of a series, for telling the dirty ones: currency units, for comparison only. */
export interface SeenPrice {
  readonly at: number;
  readonly price: number;
}

/** Instants of a series at which the price is dirty. Times rise strictly, prices are above 0. */
export type DirtyPrices = (series: readonly SeenPrice[]) => ReadonlySet<number>;

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly rate: Rate;
}

/** Prices without a hole up to the instant that was asked about. */
export type SpotPrices = readonly Piece[];

const remembered = new WeakMap<PriceBook, Map<string, SpotPrices | null>>();
const MOST_REMEMBERED = 5000;

/** The last thirty days before the hour of `at`; null if the price is not known to have changed in them. */
export function spotPricesOf(book: PriceBook, query: PriceQuery, at: number, dirty: DirtyPrices): SpotPrices | null {
  const until = hourOf(at);
  const byQuery = remembered.get(book) ?? new Map<string, SpotPrices | null>();
  remembered.set(book, byQuery);
  const name = JSON.stringify([query.provider, query.sku, query.region, until]);
  const known = byQuery.get(name);
  if (known !== undefined) return known;
  const made = pricesBefore(book, query, until, dirty);
  if (byQuery.size >= MOST_REMEMBERED) byQuery.clear();
  byQuery.set(name, made);
  return made;
}

function pricesBefore(book: PriceBook, query: PriceQuery, until: number, dirty: DirtyPrices): SpotPrices | null {
  const pieces: Piece[] = [];
  for (const { start, end, found } of book.intervals(query, until - SPOT_HISTORY_MS, until)) {
    const last = pieces.at(-1);
    // Prices before a gap, or in another currency, do not continue into the present.
    if ('unpriced' in found || found.stale || (last !== undefined && last.rate.currency !== found.price.rate.currency))
      pieces.length = 0;
    if (!('unpriced' in found) && !found.stale) pieces.push({ start, end, rate: found.price.rate });
  }
  const suspects = dirty(
    pieces
      .filter(({ rate }) => rate.nanos > 0n)
      .map(({ start, rate }) => ({ at: start, price: Number(rate.nanos) / Number(rate.quantity) })),
  );
  const clean = pieces.map((piece, n) => ({ ...piece, rate: goodRate(pieces, suspects, n) }));
  return clean.some(({ rate }) => compareRates(rate, clean[0]?.rate ?? rate) !== 0) ? clean : null;
}

/** The rate of the latest piece, up to the nth, that is not dirty. */
function goodRate(pieces: readonly Piece[], suspects: ReadonlySet<number>, n: number): Rate {
  let at = n;
  while (at > 0 && suspects.has(pieces[at]?.start ?? 0)) at--;
  return (pieces[at] ?? pieces[n]!).rate;
}

export interface SpotExtremes {
  readonly low: Rate;
  readonly high: Rate;
  /**
   * Whether the history is as long as the run; otherwise these are the lowest and the highest price, not means over a
   * run.
   */
  readonly isWhole: boolean;
}

/**
 * The lowest and the highest mean rate over any stretch of `lengthMs` within the history. Exact: the mean of a stretch
 * over a step function is at its extremes where one of the stretch's ends meets a step.
 */
export function extremesOf(prices: SpotPrices, lengthMs: number): SpotExtremes {
  const [first, last] = [prices[0]!, prices.at(-1)!];
  if (lengthMs <= 0 || last.end - first.start < lengthMs) {
    const sorted = prices.map(({ rate }) => rate).sort(compareRates);
    return { low: sorted[0]!, high: sorted.at(-1)!, isWhole: false };
  }
  const quantity = prices.reduce((multiple, { rate }) => leastCommonMultiple(multiple, rate.quantity), 1n);
  const areas = areasOf(prices, quantity);
  const starts = prices
    .flatMap(({ start, end }) => [start, end - lengthMs])
    .filter((start) => start >= first.start && start + lengthMs <= last.end);
  let [low, high] = [areas(starts[0]!, starts[0]! + lengthMs), areas(starts[0]!, starts[0]! + lengthMs)];
  for (const start of starts) {
    const area = areas(start, start + lengthMs);
    if (area < low) low = area;
    if (area > high) high = area;
  }
  const rate = (nanos: bigint): Rate => ({ ...first.rate, nanos, quantity: quantity * BigInt(lengthMs) });
  return { low: rate(low), high: rate(high), isWhole: true };
}

/** Nanos per `quantity` times milliseconds, between two instants of the history. */
function areasOf(prices: SpotPrices, quantity: bigint): (from: number, to: number) => bigint {
  const levels = prices.map(({ rate }) => rate.nanos * (quantity / rate.quantity));
  const before: bigint[] = [0n];
  prices.forEach(({ start, end }, n) => before.push((before[n] ?? 0n) + (levels[n] ?? 0n) * BigInt(end - start)));
  const until = (instant: number): bigint => {
    let [low, high] = [0, prices.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((prices[middle]?.start ?? Infinity) <= instant) low = middle;
      else high = middle - 1;
    }
    return (before[low] ?? 0n) + (levels[low] ?? 0n) * BigInt(instant - (prices[low]?.start ?? instant));
  };
  return (from, to) => until(to) - until(from);
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

/** Whether spot of the model could be had at the place, as somebody looked. */
export interface SpotObservation {
  readonly at: number;
  readonly available: boolean;
}

export interface Interruptions {
  readonly count: number;
  /** Hours in which it could be had and somebody looked. */
  readonly hours: number;
}

/** What looks, in the order of their times, say of interruptions; null if they cover less than a day. */
export function interruptionsIn(observations: readonly SpotObservation[]): Interruptions | null {
  let [count, ms] = [0, 0];
  observations.forEach(({ at, available }, n) => {
    const last = observations[n - 1];
    if (last === undefined || !last.available || at - last.at > WATCHED_GAP_MS) return;
    ms += at - last.at;
    if (!available) count += 1;
  });
  const hours = ms / HOUR_MS;
  return hours < LEAST_WATCHED_HOURS ? null : { count, hours };
}

/** A run ends after so many starts at the latest in nine cases of ten: more than this would be a guess of its own. */
const COVERAGE = 0.9;
const MOST_INTERRUPTIONS = 10_000;

/**
 * Interruptions of a run of some hours that are not exceeded in nine cases of ten: the Poisson quantile at the rate
 * (count + 1) / hours. One more than was seen, since none seen is not none (the posterior mean of a Poisson rate under
 * a flat prior).
 */
export function mostInterruptions({ count, hours }: Interruptions, runHours: number): number {
  const mean = ((count + 1) / hours) * runHours;
  // Beyond this a Poisson count is as good as normal, and its first terms vanish in floating point.
  if (mean > 500) return Math.min(MOST_INTERRUPTIONS, Math.ceil(mean + 1.2816 * Math.sqrt(mean)));
  let [n, term] = [0, Math.exp(-mean)];
  for (let sum = term; sum < COVERAGE && n < MOST_INTERRUPTIONS; sum += term) {
    n += 1;
    term *= mean / n;
  }
  return n;
}
