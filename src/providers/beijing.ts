/**
 * Billing months and days of the Chinese clouds: both keep their bills in Beijing time (UTC+8, no summer time).
 *
 * Never reads a clock. The invariant: months tile time; a bill replaces its month whole, so that a month is read whole
 * or not at all.
 */
import { DAY_MS, HOUR_MS } from '../core/time.js';

const OFFSET_MS = 8 * HOUR_MS;

export interface BillMonth {
  /** `2026-10`. */
  readonly name: string;
  /** Half-open, epoch milliseconds. */
  readonly start: number;
  readonly end: number;
}

/** Epoch milliseconds of midnight in Beijing. Months count from 1. */
const midnight = (year: number, month: number, day = 1): number => Date.UTC(year, month - 1, day) - OFFSET_MS;

/** `2026-10-31` in Beijing. */
export const beijingDate = (instant: number): string => new Date(instant + OFFSET_MS).toISOString().slice(0, 10);

/** Epoch milliseconds of `2026-10-31` or `2026-10-31 16:14:21`, a time of Beijing; NaN for anything else. */
export function beijingInstant(text: string): number {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}))?$/.exec(text.trim());
  if (match === null) return Number.NaN;
  return Date.parse(`${match[1]}T${match[2] ?? '00:00:00'}+08:00`);
}

/** The days of a month that have begun by `now`, each as its date. */
export function daysOf(month: BillMonth, now: number): string[] {
  const days: string[] = [];
  for (let at = month.start; at < Math.min(month.end, now); at += DAY_MS) days.push(beijingDate(at));
  return days;
}

/**
 * The months that [from, to) touches and that can be read: begun, and if they have ended also final.
 * @param finalAfterMs how long after its end a month's bill may still change without notice
 */
export function billMonths(from: number, to: number, now: number, finalAfterMs: number): BillMonth[] {
  const months: BillMonth[] = [];
  const [year = 0, month = 0] = beijingDate(from).split('-').map(Number);
  for (let at = month; midnight(year, at) < Math.min(to, now); at += 1) {
    const start = midnight(year, at);
    const end = midnight(year, at + 1);
    // An ended month would count as closed, and an unfinished bill would then win over what was metered.
    if (end <= now && now < end + finalAfterMs) continue;
    months.push({ name: beijingDate(start).slice(0, 7), start, end });
  }
  return months;
}
