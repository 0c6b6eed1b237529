/**
 * The time at which a bill's line counts, and the days that it covers.
 *
 * A line of whole days (a day, a month, a year) follows the calendar: it belongs to the civil dates that the bill
 * names, whatever the zone of the bill and of the reader. An hour's line has an exact time, as metered usage has. Pure;
 * knows no zone database: the beginning and end of a bill's period show the bill's own midnights. The invariant: each
 * civil day of a bill lies in the month that the bill gives it, read in any zone.
 */
import { civilFromDays, DAY_MS, HOUR_MS, hourOf } from '../time.js';
import type { Charge } from '../usage.js';

export interface Dating {
  /**
   * The hour in which its amounts are kept: the UTC hour of its start; for civil dates, midnight UTC of the first date.
   */
  readonly hour: number;
  /** Whether it belongs to civil dates, not to a time. */
  readonly civil: boolean;
  /** Days that its charge period reaches over, 1 at least. */
  readonly days: number;
}

/** Bills write the last second of a day, or its last minute, where they mean its end. */
const LAST_MINUTE_MS = 60_000;
/** The shortest day of the year has an hour less, and may want its last minute. */
const SHORTEST_DAY_MS = 23 * HOUR_MS - LAST_MINUTE_MS;
/** As far as civil time is ahead of UTC anywhere (Kiritimati). */
const MOST_AHEAD_MS = 14 * HOUR_MS;

/** How far a bill's clock is ahead of UTC where one of its periods begins (or ends, as the next one begins there). */
function aheadAt(periodEdge: number): number {
  const east = (DAY_MS - (((periodEdge % DAY_MS) + DAY_MS) % DAY_MS)) % DAY_MS;
  const west = east - DAY_MS;
  const isFirst = (ahead: number): boolean => civilFromDays((periodEdge + ahead) / DAY_MS).day === 1;
  if (east === 0 || isFirst(east)) return east;
  return isFirst(west) || east > MOST_AHEAD_MS ? west : east;
}

const sinceMidnight = (instant: number, ahead: number): number => (((instant + ahead) % DAY_MS) + DAY_MS) % DAY_MS;

/** @param record a line of a bill: its charge period, and the billing period that it stands in */
export function datingOf(
  { start, end }: { readonly start: number; readonly end: number },
  { periodStart, periodEnd }: Pick<Charge, 'periodStart' | 'periodEnd'>,
): Dating {
  const length = end - start;
  if (length === 0 || length >= SHORTEST_DAY_MS) {
    // Two where summer time begins or ends within the period.
    const clocks = [aheadAt(periodStart), aheadAt(periodEnd)];
    const ahead = clocks.find((one) => sinceMidnight(start, one) === 0);
    const endsDay = clocks.some((one) => {
      const time = sinceMidnight(end, one);
      return time === 0 || time >= DAY_MS - LAST_MINUTE_MS;
    });
    if (ahead !== undefined && (length === 0 || endsDay))
      return { hour: start + ahead, civil: true, days: Math.max(1, Math.round(length / DAY_MS)) };
  }
  const days = Math.ceil(end / DAY_MS) - Math.floor(start / DAY_MS);
  return { hour: hourOf(start), civil: false, days: Math.max(1, days) };
}
