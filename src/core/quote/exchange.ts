/**
 * Answers in one currency: an exchange rate with its source, and a price converted by it.
 *
 * Pure. Without a rate on or before the day there is no conversion: the rate is never assumed to be 1.
 */
import type { FxTable, FxUsed } from '../price/fx.js';
import { ONE, type Rate, type Ratio } from '../money.js';

/** A conversion into the currency of an answer. */
export interface Exchange {
  readonly currency: string;
  readonly ratio: Ratio;
  /** Null: nothing was converted. */
  readonly used: FxUsed | null;
}

/** Null if there is no rate on or before the day. A currency of null stays null. */
export function exchangeTo(currency: string | null, from: string, fx: FxTable, at: number): Exchange | null {
  if (currency === null || currency === from) return { currency: from, ratio: ONE, used: null };
  const used = fx.rate(from, currency, at);
  return used === null ? null : { currency, ratio: used.rate, used };
}

/** A rate in the currency that it is exchanged into. */
export const converted = (rate: Rate, { currency, ratio }: Exchange): Rate => ({
  ...rate,
  nanos: rate.nanos * ratio.numerator,
  quantity: rate.quantity * ratio.denominator,
  currency,
});
