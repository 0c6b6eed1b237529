/**
 * Parsers of flags and arguments. A refused argument is wrong use: exit code 2.
 */
import { InvalidArgumentError } from 'commander';
import { parseDecimal } from '../core/decimal.js';
import { parseInstant } from '../core/time.js';

/** A finite number, as people write it. */
function number(text: string): number {
  const value = text.trim() === '' ? NaN : Number(text);
  if (!Number.isFinite(value)) throw new InvalidArgumentError('It is not a number.');
  return value;
}

export function aboveZero(text: string): number {
  const value = number(text);
  if (value <= 0) throw new InvalidArgumentError('It is not above 0.');
  return value;
}

export function notNegative(text: string): number {
  const value = number(text);
  if (value < 0) throw new InvalidArgumentError('It is below 0.');
  return value;
}

/** A whole number of 1 or more. */
export function count(text: string): number {
  const value = number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It is not a whole number of 1 or more.');
  return value;
}

export function whole(text: string): number {
  const value = number(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('It is not a whole number.');
  return value;
}

/** An instant, in epoch milliseconds. */
export function instant(text: string): number {
  const value = parseInstant(text);
  if (value === null) throw new InvalidArgumentError('It is not a time: write 2026-12-01 or 2026-12-01T12:00:00Z.');
  return value;
}

/** A day, kept as it was written: `2026-12-01`. */
export function day(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || parseInstant(text) === null)
    throw new InvalidArgumentError('It is not a day: write 2026-12-01.');
  return text;
}

/** Several numbers above 0: `60 72`, or `60,72`. */
export function aboveZeroList(text: string, before: readonly number[] | undefined): number[] {
  return [...(before ?? []), ...text.split(',').map(aboveZero)];
}

/** Several names: `a,b`. */
export function list(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('It is not a list of names such as a,b.');
  return names;
}

/** Several whole numbers of 0 or more: `0,288`. */
export function wholeList(text: string): number[] {
  const values = text.split(',').map(whole);
  if (values.some((value) => value < 0)) throw new InvalidArgumentError('A number is below 0.');
  return values;
}

/** How often something was read, in seconds: 0 for `full` (always), null for `none` (never). */
export function readEvery(text: string): number | null {
  if (text === 'full') return 0;
  if (text === 'none') return null;
  if (!/^[1-9]\d{0,8}s$/.test(text)) throw new InvalidArgumentError('It is not full, none or seconds such as 7200s.');
  return Number(text.slice(0, -1));
}

/** A decimal of 0 or more, kept as it was written. */
export function amount(text: string): string {
  const value = parseDecimal(text);
  if (value === null || value.unscaled < 0n)
    throw new InvalidArgumentError('It is not an amount of 0 or more, such as 12000 or 12.50.');
  return text;
}

/** A flag that may be given several times. */
export function repeated(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text];
}

/** `text` with the first separator as the border: both sides must be there. */
export function pair(text: string, separator: string, form: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError(`It is not of the form ${form}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}
