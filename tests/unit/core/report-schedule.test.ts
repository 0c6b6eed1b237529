/** When the report of a month is due: in every zone, after short months, and on the days on which the clocks change. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_REPORT_TIME, dueAt, newestDueMonth, type ReportTime } from '../../../src/core/report/schedule.js';

const due = (month: string, zone: string, time: ReportTime = DEFAULT_REPORT_TIME): string =>
  new Date(dueAt(month, zone, time)).toISOString().slice(0, 16);

describe('the report of a month', () => {
  it.each([
    ['2026-10', 'UTC', DEFAULT_REPORT_TIME, '2026-11-04T00:00'],
    ['2026-12', 'Asia/Kolkata', { day: 1, hour: 9 }, '2027-01-01T03:30'],
    ['2027-01', 'UTC', { day: 28, hour: 23 }, '2027-02-28T23:00'],
    ['2027-02', 'America/New_York', { day: 6, hour: 9 }, '2027-03-06T14:00'],
    // The clocks went back on 1 November, within the three days: it is midnight all the same.
    ['2026-10', 'America/Los_Angeles', DEFAULT_REPORT_TIME, '2026-11-04T08:00'],
    // 02:00 is left out on 28 March, and comes twice on 25 October: the moment of the jump, and the first.
    ['2027-02', 'Europe/Berlin', { day: 28, hour: 2 }, '2027-03-28T01:00'],
    ['2026-09', 'Europe/Berlin', { day: 25, hour: 2 }, '2026-10-25T00:00'],
  ])('%s in %s at %o is due at %s', (month, zone, time, at) => expect(due(month, zone, time)).toBe(at));

  it.each(['UTC', 'Europe/Berlin', 'Pacific/Apia'])('is the newest in %s from that instant on', (zone) => {
    for (const time of [DEFAULT_REPORT_TIME, { day: 1, hour: 0 }, { day: 28, hour: 23 }]) {
      const at = dueAt('2027-02', zone, time);
      expect([newestDueMonth(zone, at - 1, time), newestDueMonth(zone, at, time)]).toEqual(['2027-01', '2027-02']);
    }
  });
});
