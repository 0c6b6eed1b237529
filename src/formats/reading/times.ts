/**
 * Instants from the forms that bills use, by arithmetic on the proleptic Gregorian calendar.
 *
 * A time without a zone is UTC (FOCUS demands UTC; the real exports that leave the zone out mean it). Digits finer than
 * a millisecond are cut off. A date that does not exist is no instant: nothing rolls over.
 */
import { DAY_MS, HOUR_MS } from '../../core/time.js';

const DAYS_IN_MONTH: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days from 1970-01-01 to the date, or NaN where there is no such date. */
export function epochDay(year: number, month: number, day: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const last = month === 2 && leap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
  if (!(day >= 1 && day <= last)) return Number.NaN;
  // The year is counted from March, so that the leap day is its last (H. Hinnant, "chrono-Compatible Low-Level Date
  // Algorithms").
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The number in the two digits at `at`, or NaN. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

const TAIL = /^(?:[.,](\d{1,12}))? ?(?:(Z|z|UTC|GMT)|([+-])(\d{2}):?(\d{2})?)?$/;

/**
 * Epoch milliseconds of `2024-09-01T10:00:00Z`, `2024-09-01 10:00:00`, `2023-11-13T10:00Z`, `2024-09-01`, with fraction
 * or offset where they are there; NaN for anything else.
 */
export function parseInstant(text: string): number {
  const day = epochDay(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8));
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return Number.NaN;
  const midnight = day * DAY_MS;
  if (text.length === 10) return midnight;
  const separator = text[10];
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  if (
    (separator !== 'T' && separator !== ' ' && separator !== 't') ||
    text[13] !== ':' ||
    !(hour <= 23) ||
    !(minute <= 59)
  )
    return Number.NaN;
  const withSeconds = text[16] === ':';
  const second = withSeconds ? twoDigits(text, 17) : 0;
  if (!(second <= 59)) return Number.NaN;
  const whole = midnight + hour * HOUR_MS + minute * 60_000 + second * 1000;
  const tail = text.slice(withSeconds ? 19 : 16);
  return tail === '' || tail === 'Z' ? whole : withTail(whole, tail);
}

/** Applies a fraction of a second and a zone. */
function withTail(whole: number, tail: string): number {
  const match = TAIL.exec(tail);
  if (match === null) return Number.NaN;
  const milliseconds = match[1] === undefined ? 0 : Number(match[1].slice(0, 3).padEnd(3, '0'));
  if (match[3] === undefined) return whole + milliseconds;
  const hours = Number(match[4]);
  const minutes = Number(match[5] ?? '0');
  if (hours > 18 || minutes > 59) return Number.NaN;
  return whole + milliseconds - (match[3] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

const US_DATE = /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?: 0?0:00(?::00)?)?$/;

/**
 * Epoch milliseconds of midnight UTC of `9/2/2023` or `09/02/2023` (month first, as Azure's exports write it), or NaN.
 */
export function parseUsDate(text: string): number {
  const match = US_DATE.exec(text);
  if (match === null) return Number.NaN;
  return epochDay(Number(match[3]), Number(match[1]), Number(match[2])) * DAY_MS;
}

/** Whole days after an instant. */
export function plusDays(instant: number, days: number): number {
  return instant + days * DAY_MS;
}

/** The calendar month (UTC) that `202610`, `2026-10` or `2026/10` names, half-open; null where the text names none. */
export function calendarMonth(text: string): { readonly start: number; readonly end: number } | null {
  const match = /^(\d{4})[-/]?(\d{2})$/.exec(text);
  if (match === null) return null;
  const [year, month] = [Number(match[1]), Number(match[2])];
  const start = epochDay(year, month, 1);
  const next = month === 12 ? epochDay(year + 1, 1, 1) : epochDay(year, month + 1, 1);
  return month < 1 || month > 12 ? null : { start: start * DAY_MS, end: next * DAY_MS };
}

/** Beijing is eight hours ahead of UTC, without summer time. */
const BEIJING_MILLISECONDS = 8 * HOUR_MS;

/** `2026/10/5`, `2026/10/05 8:00:00`: what a spreadsheet makes of `2026-10-05 08:00:00`. */
const SLASHED = /^(\d{4})\/(\d{1,2})\/(\d{1,2})(?: (\d{1,2})(:\d{2}(?::\d{2})?))?$/;

/** As `parseInstant`, of a time that names no zone and is Beijing's; its date may have slashes, the year first. */
export function parseBeijing(stated: string): number {
  const text = stated.replace(
    SLASHED,
    (_, year: string, month: string, day: string, hour?: string, rest = '') =>
      `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${hour === undefined ? '' : ` ${hour.padStart(2, '0')}${rest}`}`,
  );
  return parseInstant(text) - (/[Zz]|[+-]\d{2}:?\d{2}$/.test(text.slice(10)) ? 0 : BEIJING_MILLISECONDS);
}

/** As `calendarMonth`, of Beijing. */
export function beijingMonth(text: string): { readonly start: number; readonly end: number } | null {
  const month = calendarMonth(text);
  return month === null ? null : { start: month.start - BEIJING_MILLISECONDS, end: month.end - BEIJING_MILLISECONDS };
}
