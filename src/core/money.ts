/**
 * Money in billionths of a currency unit, and rates as exact fractions.
 *
 * Rounds once, half to even, in `costOf`; adding two currencies is a bug. Never holds an amount in floating point. The
 * representation is google.type.Money's (units and nanos), as one integer.
 */
import { assert } from './errors.js';
import { formatDecimal, tenTo, type Decimal } from './decimal.js';

export const NANOS_PER_UNIT = 1_000_000_000n;

export interface Money {
  readonly nanos: bigint;
  /** ISO 4217 code. */
  readonly currency: string;
}

/** The unit of a rate's quantity. GPU-seconds are whole GPUs held for a second. */
export type RateUnit = 'gpu-second' | 'gib-second' | 'gib';

/**
 * Money per quantity, as people quote it: 2.49 USD per 3600 GPU-seconds. An instance of 8 GPUs at 55.04 USD per hour is
 * 55.04 USD per 28800 GPU-seconds: no division happens before the quantity is known.
 */
export interface Rate {
  readonly nanos: bigint;
  readonly currency: string;
  readonly quantity: bigint;
  readonly unit: RateUnit;
}

/** An exact ratio; `denominator` is positive. */
export interface Ratio {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export const ONE: Ratio = { numerator: 1n, denominator: 1n };

/** numerator / denominator to the nearest integer, ties to even. `denominator` is positive. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  assert(denominator > 0n, 'a denominator is positive');
  let quotient = numerator / denominator;
  let remainder = numerator % denominator;
  if (remainder < 0n) {
    remainder += denominator;
    quotient -= 1n;
  }
  const twice = remainder * 2n;
  if (twice > denominator || (twice === denominator && quotient % 2n !== 0n)) quotient += 1n;
  return quotient;
}

/** quantity x rate x peak, rounded once. `quantity` is in the rate's unit divided by `quantityScale` (see usage.ts). */
export function costOf(quantity: bigint, quantityScale: bigint, rate: Rate, peak: Ratio = ONE): Money {
  const numerator = quantity * rate.nanos * peak.numerator;
  return {
    nanos: divideHalfEven(numerator, quantityScale * rate.quantity * peak.denominator),
    currency: rate.currency,
  };
}

/**
 * Splits `total` in proportion to `weights` so that the parts sum to it exactly: floors first, then one unit each to
 * the largest remainders, ties to the earlier part. All-zero weights are a bug: the caller knows what no use means.
 */
export function splitByLargestRemainder(total: bigint, weights: readonly bigint[]): bigint[] {
  const sum = weights.reduce((a, b) => a + b, 0n);
  assert(sum > 0n && weights.every((w) => w >= 0n), 'weights are not negative and not all zero');
  if (total < 0n) return splitByLargestRemainder(-total, weights).map((part) => -part);
  const parts = weights.map((weight) => (total * weight) / sum);
  // The sort is stable: of equal remainders the earlier part comes first.
  const order = weights
    .map((weight, index) => ({ index, remainder: (total * weight) % sum }))
    .sort((a, b) => Number(b.remainder - a.remainder));
  let left = total - parts.reduce((a, b) => a + b, 0n);
  for (const { index } of order) {
    if (left === 0n) break;
    parts[index] = (parts[index] ?? 0n) + 1n;
    left -= 1n;
  }
  return parts;
}

/** Nanos of a decimal amount, or null if the amount is finer than a nano (a rate keeps it as a fraction instead). */
export function nanosOf(amount: Decimal): bigint | null {
  if (amount.scale <= 9) return amount.unscaled * tenTo(9 - amount.scale);
  const divisor = tenTo(amount.scale - 9);
  return amount.unscaled % divisor === 0n ? amount.unscaled / divisor : null;
}

/** A rate from a quoted decimal price per `quantity` units; prices finer than a nano scale the quantity up, exactly. */
export function rateOf(price: Decimal, currency: string, quantity: bigint, unit: RateUnit): Rate {
  const exact = nanosOf(price);
  if (exact !== null) return { nanos: exact, currency, quantity, unit };
  return { nanos: price.unscaled, currency, quantity: quantity * tenTo(price.scale - 9), unit };
}

/** `12.5` for 12_500_000_000 nanos: a decimal string without zeros at the end, at least two digits after the point. */
export function formatMoney(money: Money): string {
  const full = formatDecimal({ unscaled: money.nanos, scale: 9 });
  return full.replace(/(\.\d{2}\d*?)0+$/, '$1');
}
