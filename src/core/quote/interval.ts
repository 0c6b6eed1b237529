/**
 * The uncertainty of a quote: the lowest and the highest possible cost of the run, and the causes of the difference.
 *
 * A fixed number of hours at a listed price has no width, and says why. An unknown influence on the cost is named, not
 * ignored: a budget for it is then never said to hold.
 */
import { billableMs } from '../cost/cost.js';
import { ratioText, shareOf, type LearnedPrice } from '../price/effective-prices.js';
import type { Ratio } from '../money.js';
import type { Price } from '../price/price.js';
import type { PriceBook } from '../price/price-book.js';
import type { BilledRun } from './cost.js';
import {
  extremesOf,
  mostInterruptions,
  spotPricesOf,
  type DirtyPrices,
  type Interruptions,
} from '../price/spot-history.js';
import { HOUR_MS } from '../time.js';

export interface UncertainRun {
  readonly hours: number;
  readonly hoursLow: number;
  readonly hoursHigh: number;
  /** Hours lost by an interruption: the repeated work, and the start. Null: not stated. */
  readonly restartHours: number | null;
}

export interface UncertainContext {
  readonly book: PriceBook;
  readonly at: number;
  readonly dirtyPrices: DirtyPrices;
  /** Null: nobody has looked. */
  readonly interruptions: Interruptions | null;
  /** The learned rate behind the price; null: none. */
  readonly learned: LearnedPrice | null;
}

export interface RunInterval {
  readonly low: BilledRun;
  readonly high: BilledRun;
  /** The causes of its width, as sentences. */
  readonly because: readonly string[];
  /** Influences on the cost that are not in it, because nothing is known about them. */
  readonly leavesOut: readonly string[];
}

/** @param stale the catalogue no longer lists the price */
export function intervalOf(price: Price, stale: boolean, run: UncertainRun, context: UncertainContext): RunInterval {
  return overAccounts(context.learned, atOnePrice(price, stale, run, context));
}

/** If no account is named and several are charged differently, the run may belong to any of them. */
function overAccounts(learned: LearnedPrice | null, ends: RunInterval): RunInterval {
  if (learned === null || learned.accounts < 2) return ends;
  const { ratio, lowest, highest, accounts } = learned;
  const instead = (run: BilledRun, by: Ratio): BilledRun => ({
    ...run,
    rate: shareOf(shareOf(run.rate, by), { numerator: ratio.denominator, denominator: ratio.numerator }),
  });
  return {
    ...ends,
    low: instead(ends.low, lowest),
    high: instead(ends.high, highest),
    because: [
      ...ends.because,
      `${accounts} accounts are charged ${ratioText(lowest)} to ${ratioText(highest)} of the list price, and none is named`,
    ],
  };
}

function atOnePrice(price: Price, stale: boolean, run: UncertainRun, context: UncertainContext): RunInterval {
  const because: string[] = [];
  const leavesOut: string[] = stale ? ['whether the price still applies: the catalogue no longer lists it'] : [];
  const { hoursLow, hoursHigh } = run;
  if (hoursLow !== hoursHigh) because.push(`the run takes ${hoursLow} to ${hoursHigh} h`);
  const billed = (hours: number): number => billableMs(Math.round(hours * HOUR_MS), price);
  const low = { rate: price.rate, billedMs: billed(hoursLow) };
  const high = { rate: price.rate, billedMs: billed(hoursHigh) };
  if (price.term !== 'spot') {
    const { learned } = context;
    if (hoursLow === hoursHigh && (learned?.accounts ?? 1) < 2)
      because.push(
        `no width: ${run.hours} h are given, and the ${price.term} price is ${learned === null ? 'a listed one' : 'learned from a bill'}`,
      );
    return { low, high, because, leavesOut };
  }
  const repeated = restartsOf(run, context.interruptions, because, leavesOut);
  const longest = { rate: price.rate, billedMs: billed(hoursHigh + repeated) };
  return { ...spotEnds(price, low, longest, context, because, leavesOut), because, leavesOut };
}

/** Hours that interruptions add to the longest run. */
function restartsOf(
  { hoursHigh, restartHours }: UncertainRun,
  interruptions: Interruptions | null,
  because: string[],
  leavesOut: string[],
): number {
  if (interruptions === null) {
    leavesOut.push('interruptions of spot: its availability there has been recorded for less than a day');
    return 0;
  }
  const { count, hours } = interruptions;
  const seen = `${count} interruption(s) in ${hours.toFixed(0)} h of spot there`;
  if (restartHours === null) {
    leavesOut.push(`what an interruption costs: give restartHours (${seen})`);
    return 0;
  }
  const most = mostInterruptions(interruptions, hoursHigh);
  because.push(`up to ${most} interruption(s) of ${restartHours} h each, in nine cases of ten: ${seen}`);
  return most * restartHours;
}

function spotEnds(
  price: Price,
  low: BilledRun,
  high: BilledRun,
  { book, at, dirtyPrices }: UncertainContext,
  because: string[],
  leavesOut: string[],
): { readonly low: BilledRun; readonly high: BilledRun } {
  const { provider, sku, region } = price;
  const place = { provider, sku, gpuModel: null, region, component: 'gpu' } as const;
  const history = spotPricesOf(book, { ...place, term: 'spot' }, at, dirtyPrices);
  if (history !== null && history[0]?.rate.currency === price.rate.currency) {
    const [cheap, dear] = [extremesOf(history, low.billedMs), extremesOf(history, high.billedMs)];
    because.push(
      cheap.isWhole && dear.isWhole
        ? 'the mean spot price over a run of this length moved between these ends in the last 30 days'
        : 'the spot price moved between these ends in the last 30 days, which are shorter than the run',
    );
    return {
      low: { ...low, rate: lower(cheap.low, price.rate) },
      high: { ...high, rate: higher(dear.high, price.rate) },
    };
  }
  const listed = book.find({ ...place, term: 'on-demand', at });
  if ('unpriced' in listed || listed.price.rate.currency !== price.rate.currency) {
    leavesOut.push('changes of the spot price: none are known, and no on-demand price there limits them');
    return { low, high };
  }
  because.push(
    'no change of this spot price is known: the low end is the current price; the high end is the on-demand price, because spot rarely costs more',
  );
  return { low, high: { ...high, rate: higher(listed.price.rate, price.rate) } };
}

const lower = (a: BilledRun['rate'], b: BilledRun['rate']): BilledRun['rate'] =>
  a.nanos * b.quantity <= b.nanos * a.quantity ? a : b;
const higher = (a: BilledRun['rate'], b: BilledRun['rate']): BilledRun['rate'] =>
  a.nanos * b.quantity >= b.nanos * a.quantity ? a : b;
