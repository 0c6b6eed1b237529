/**
 * Times of bills and spreadsheets that are not in ISO 8601, and months.
 *
 * A time without a zone is UTC (FOCUS demands UTC; the real exports that leave the zone out mean it), or Beijing's. A
 * date that does not exist is an error: nothing rolls over.
 */
import { DAY_MS, daysFromCivil, epochDay, HOUR_MS, isoInstant } from '../../core/time.js';

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

/** The calendar month (UTC) that `202610`, `2026-10` or `2026/10` names, half-open; null if the text names none. */
export function calendarMonth(text: string): { readonly start: number; readonly end: number } | null {
  const match = /^(\d{4})[-/]?(\d{2})$/.exec(text);
  if (match === null) return null;
  const [year, month] = [Number(match[1]), Number(match[2])];
  const start = epochDay(year, month, 1);
  return Number.isNaN(start) ? null : { start: start * DAY_MS, end: daysFromCivil(year, month + 1, 1) * DAY_MS };
}

/** Beijing is eight hours ahead of UTC, without summer time. */
const BEIJING_MILLISECONDS = 8 * HOUR_MS;

/** `2026/10/5`, `2026/10/05 8:00:00`: what a spreadsheet makes of `2026-10-05 08:00:00`. */
const SLASHED = /^(\d{4})\/(\d{1,2})\/(\d{1,2})(?: (\d{1,2})(:\d{2}(?::\d{2})?))?$/;

/** As `isoInstant`, of a time that names no zone and is Beijing's; its date may have slashes, the year first. */
export function parseBeijing(stated: string): number {
  const text = stated.replace(
    SLASHED,
    (_, year: string, month: string, day: string, hour?: string, rest = '') =>
      `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${hour === undefined ? '' : ` ${hour.padStart(2, '0')}${rest}`}`,
  );
  return isoInstant(text) - (/[Zz]|[+-]\d{2}:?\d{2}$/.test(text.slice(10)) ? 0 : BEIJING_MILLISECONDS);
}

/** As `calendarMonth`, of Beijing. */
export function beijingMonth(text: string): { readonly start: number; readonly end: number } | null {
  const month = calendarMonth(text);
  return month === null ? null : { start: month.start - BEIJING_MILLISECONDS, end: month.end - BEIJING_MILLISECONDS };
}
