/**
 * Decimals and integers from a file's own text: exact, every digit kept.
 *
 * The grammar is core's parseDecimal; here is only a faster way through it for plain short numbers, straight from
 * bytes. JSON's numbers are the text's own digits too: JSON.parse would make a float64 of them.
 */
import { parseDecimal, type Decimal } from '../../core/decimal.js';

/** Number of digits that are exact in a float64. */
const MOST_FAST_DIGITS = 15;
/** Half of a bill's amounts are zero: one object for each scale. */
const ZEROS: readonly Decimal[] = Array.from({ length: MOST_FAST_DIGITS + 1 }, (_, scale) => ({ unscaled: 0n, scale }));

/** Parses a decimal between blanks; undefined if the text is none (the empty text included). */
export function decimalOf(text: string): Decimal | undefined {
  return parseDecimal(text.trim()) ?? undefined;
}

/** As `decimalOf`, from the bytes [start, end) of a block of ASCII. */
export function decimalOfBytes(block: Uint8Array, start: number, end: number): Decimal | undefined {
  let p = start;
  const negative = block[p] === 45;
  if (negative) p++;
  let number = 0;
  let digits = 0;
  let point = -1;
  for (; p < end; p++) {
    const digit = (block[p] ?? 0) - 48;
    if (digit >= 0 && digit <= 9) {
      number = number * 10 + digit;
      digits++;
    } else if (digit === -2 && point < 0) {
      point = p;
    } else {
      digits = 0;
      break;
    }
  }
  if (digits === 0 || digits > MOST_FAST_DIGITS) {
    return decimalOf(Buffer.from(block.buffer, block.byteOffset + start, end - start).toString('latin1'));
  }
  const scale = point < 0 ? 0 : end - point - 1;
  return number === 0 ? ZEROS[scale] : { unscaled: BigInt(negative ? -number : number), scale };
}

/**
 * The decimal that JavaScript (and JSON, and a Parquet DOUBLE) writes for a float64: its shortest exact-round-trip
 * form.
 */
export function decimalOfNumber(number: number): Decimal | undefined {
  return Number.isFinite(number) ? (parseDecimal(String(number)) ?? undefined) : undefined;
}

/** `decimal` times `factor` as a safe integer, or null if the product is not one. */
export function scaledInteger(decimal: Decimal, factor: bigint): number | null {
  const product = decimal.unscaled * factor;
  const divisor = 10n ** BigInt(decimal.scale);
  if (product % divisor !== 0n) return null;
  const whole = product / divisor;
  return whole >= BigInt(Number.MIN_SAFE_INTEGER) && whole <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(whole) : null;
}

/** Whether a JSON text may hold a number that a float64 does not keep: more digits than it has, or an exponent. */
const MAYBE_INEXACT = /\d[\d.]{15,}|\d[eE]/;
/** A text, which is passed over, or a number. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.eE+-])/g;

/**
 * The value of a JSON text in which a number that a float64 might not keep is the text of its digits.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAYBE_INEXACT.test(text)) return value;
  return JSON.parse(
    text.replace(TEXT_OR_NUMBER, (token) =>
      token.startsWith('"') || (token.length <= MOST_FAST_DIGITS && !/e/i.test(token)) ? token : `"${token}"`,
    ),
  );
}
