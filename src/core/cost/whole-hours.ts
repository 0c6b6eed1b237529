/**
 * Usage is kept by whole hours of UTC, while the days of some zones begin within one: whoever reads sums over such days
 * is told how the hour is counted. Every sum by days counts it alike.
 */
import { DAY_MS, HOUR_MS, offsetAt } from '../time.js';

/** Whether a zone's clocks stand beside whole hours at one of the instants: its days then begin within an hour. */
export const isWithinHour = (zone: string, instants: readonly number[]): boolean =>
  instants.some((at) => offsetAt(zone, at) % HOUR_MS !== 0);

/** Clocks change some months apart. */
const STEP_MS = 30 * DAY_MS;

/** What to know before relying on the sums of a period. */
export const aboutHours = (zone: string, { start, end }: { readonly start: number; readonly end: number }): string[] =>
  isWithinHour(zone, [
    ...Array.from({ length: Math.max(0, Math.ceil((end - start) / STEP_MS)) }, (_, n) => start + n * STEP_MS),
    end,
  ])
    ? [
        `days of ${zone} begin within an hour of UTC, and usage is kept by whole hours: that whole hour counts for the day in which it begins`,
      ]
    : [];
