/**
 * Usage is kept by whole hours of UTC, while the days of some zones begin within one: whoever reads sums over such days
 * is told how the hour is counted. Every sum by days counts it alike.
 */
import { HOUR_MS, offsetAt } from '../time.js';

/** Whether a zone's clocks stand beside whole hours at one of the instants: its days then begin within an hour. */
export const isWithinHour = (zone: string, instants: readonly number[]): boolean =>
  instants.some((at) => offsetAt(zone, at) % HOUR_MS !== 0);

/** What to know before relying on the sums of a period. */
export const aboutHours = (zone: string, period: { readonly start: number; readonly end: number }): string[] =>
  isWithinHour(zone, [period.start, period.end])
    ? [
        `days of ${zone} begin within an hour of UTC, and usage is kept by whole hours: that whole hour counts for the day in which it begins`,
      ]
    : [];
