/**
 * Dated exchange rates: how many units of a currency one unit of the base currency was worth on a day.
 *
 * Never guesses: a pair without a rate on or before the day is null, and the line is unpriced. The rate used is an
 * exact ratio and is stored on the cost line with its day, so that a line can be recomputed from itself.
 */
import { parseDecimal, tenTo, ZERO, type Decimal } from '../decimal.js';
import { invalid, type Problem } from '../errors.js';
import type { Ratio } from '../money.js';
import { DAY_MS, formatDay, parseDay } from '../time.js';

/**
 * On `day` one unit of the table's base currency was `perBase` units of `currency` (the ECB's and most lists' form).
 */
export interface FxQuote {
  /** `YYYY-MM-DD`; the quote holds from that UTC day until the next one of its currency. */
  readonly day: string;
  /** ISO 4217 code. */
  readonly currency: string;
  readonly perBase: Decimal;
}

/** A quote for one USD in the form that is sent and shown: plain JSON. */
export interface FxRate {
  readonly day: string;
  readonly currency: string;
  /** A decimal string above 0. */
  readonly perUsd: string;
}

/** amount in `to` = amount in `from` x rate. */
export interface FxUsed {
  readonly from: string;
  readonly to: string;
  readonly rate: Ratio;
  /** The day of the quote; of two quotes (neither currency is the base) the older. */
  readonly day: string;
}

interface Series {
  readonly days: number[];
  readonly perBase: Decimal[];
}

const ISO_4217 = /^[A-Z]{3}$/;

/** Every problem of a list of quotes: path `quotes/<index>/<field>`. Empty where it is fine. */
function problemsOfFx(base: string, quotes: readonly FxQuote[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  if (!ISO_4217.test(base)) problems.push({ path: 'base', message: 'is not an ISO 4217 code' });
  quotes.forEach(({ day, currency, perBase }, index) => {
    const add = (field: string, message: string): void =>
      void problems.push({ path: `quotes/${index}/${field}`, message });
    if (parseDay(day) === null) add('day', 'is not a day written YYYY-MM-DD');
    if (!ISO_4217.test(currency)) add('currency', 'is not an ISO 4217 code');
    if (currency === base) add('currency', 'is the base currency itself');
    if (perBase.unscaled <= 0n) add('perBase', 'is not a decimal above 0');
    if (seen.has(`${day} ${currency}`)) add('day', `has a second rate for ${currency}`);
    seen.add(`${day} ${currency}`);
  });
  return problems;
}

/**
 * Quotes from rates for one USD.
 * @throws Failure `invalid`, naming every problem: path `rates/<index>/<field>`.
 */
export function quotesOfRates(rates: readonly FxRate[]): FxQuote[] {
  const quotes = rates.map(
    ({ day, currency, perUsd }): FxQuote => ({ day, currency, perBase: parseDecimal(perUsd) ?? ZERO }),
  );
  const problems = problemsOfFx('USD', quotes).map(({ path, message }) => ({
    path: path?.replace(/^quotes/, 'rates').replace(/perBase$/, 'perUsd') ?? null,
    message,
  }));
  if (problems.length > 0) throw invalid(`the exchange rates have ${problems.length} problem(s)`, problems);
  return quotes;
}

export class FxTable {
  private readonly series = new Map<string, Series>();

  /**
   * @param base the currency that the quotes are for one unit of
   * @throws Failure `invalid`, naming every problem of every quote.
   */
  constructor(
    readonly base: string,
    quotes: readonly FxQuote[],
  ) {
    const problems = problemsOfFx(base, quotes);
    if (problems.length > 0) throw invalid(`the exchange rates have ${problems.length} problem(s)`, problems);
    for (const { day, currency, perBase } of [...quotes].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0))) {
      const series = this.series.get(currency) ?? { days: [], perBase: [] };
      series.days.push(parseDay(day) ?? 0);
      series.perBase.push(perBase);
      this.series.set(currency, series);
    }
  }

  /** The latest rate not after the instant's UTC day; null if there is none. From a currency to itself it is 1. */
  rate(from: string, to: string, instant: number): FxUsed | null {
    const day = Math.floor(instant / DAY_MS);
    if (from === to) return { from, to, rate: { numerator: 1n, denominator: 1n }, day: formatDay(day) };
    const [a, b] = [this.quoted(from, day), this.quoted(to, day)];
    if (a === null || b === null) return null;
    const rate = {
      numerator: b.perBase.unscaled * tenTo(a.perBase.scale),
      denominator: a.perBase.unscaled * tenTo(b.perBase.scale),
    };
    return { from, to, rate, day: formatDay(Math.min(a.day, b.day)) };
  }

  private quoted(currency: string, day: number): { readonly day: number; readonly perBase: Decimal } | null {
    if (currency === this.base) return { day: Infinity, perBase: { unscaled: 1n, scale: 0 } };
    const series = this.series.get(currency);
    if (series === undefined) return null;
    let low = -1;
    for (let high = series.days.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if ((series.days[middle] ?? Infinity) <= day) low = middle;
      else high = middle - 1;
    }
    const [found, perBase] = [series.days[low], series.perBase[low]];
    return found === undefined || perBase === undefined ? null : { day: found, perBase };
  }
}
