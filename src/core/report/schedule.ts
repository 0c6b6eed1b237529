/** When the report of a month is made: on a day of the next month, at an hour of the team's own zone. */
import { DAY_MS, HOUR_MS, instantOfLocal, monthAfter, monthLabel, monthOfLabel, parseDay } from '../time.js';

export interface ReportTime {
  /** Of the month after the reported one, 1 to 28: every month has it. */
  readonly day: number;
  /** Of the day in the team's zone, 0 to 23. */
  readonly hour: number;
}

/** Late usage and bills come in the first days. */
export const DEFAULT_REPORT_TIME: ReportTime = { day: 4, hour: 0 };

/** When the report of a month (`2026-10`) is due in a zone. */
export function dueAt(month: string, zone: string, { day, hour }: ReportTime): number {
  const first = parseDay(`${monthAfter(month)}-01`) ?? 0;
  return instantOfLocal(zone, (first + day - 1) * DAY_MS + hour * HOUR_MS);
}

/** The newest month whose report is due in a zone, as `2026-10`. */
export function newestDueMonth(zone: string, now: number, time: ReportTime): string {
  const before = (month: string): string => monthLabel((monthOfLabel(month, zone)?.start ?? 0) - 1, zone);
  const last = before(monthLabel(now, zone));
  return dueAt(last, zone, time) <= now ? last : before(last);
}
