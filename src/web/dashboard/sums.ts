/** Sums and differences of decimal texts, exact. What is unknown adds nothing: the callers say so beside the sum. */
import { addDecimal, formatDecimal, negateDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';

export const amount = (text: string | null): Decimal => parseDecimal(text ?? '') ?? ZERO;

export const sumOf = (texts: readonly (string | null)[]): string =>
  formatDecimal(texts.map(amount).reduce(addDecimal, ZERO));

export const less = (one: string, other: string): string =>
  formatDecimal(addDecimal(amount(one), negateDecimal(amount(other))));
