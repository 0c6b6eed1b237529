import { describe, expect, it } from 'vitest';
import type { FleetFacts, JobFacts } from '../../../src/core/policy/view.js';
import { jobsWithin, type SaidJob } from '../../../src/core/policy/recorded-jobs.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';

const MONDAY = Date.UTC(2026, 9, 5);
const at = (days: number): number => MONDAY + days * DAY_MS;
const fleet = (ready: number): FleetFacts => ({ ready, booting: 0, minReplicas: 0, maxReplicas: 4, changedAt: null });
const job = (startedAt: number | null): JobFacts => ({
  startedAt,
  deadline: null,
  workHours: null,
  workLeftHours: null,
  restartHours: 0.5,
  resizable: null,
});
/** What was said on a day of how many hours are left, and until when it was seen. */
const said = (
  workload: string,
  day: number,
  hours: number,
  more: { readonly startedAt?: number; readonly ready?: number; readonly seen?: number } = {},
): SaidJob => ({
  workload,
  job: job(more.startedAt ?? null),
  work: { target: workload, provider: 'AWS', hours, since: at(day), isWhole: false },
  fleet: fleet(more.ready ?? 1),
  seenAt: at(more.seen ?? day) + HOUR_MS,
});
/** A window of thirty days from a day on. */
const from = (day: number): { from: number; to: number } => ({ from: at(day), to: at(day + 30) });
const told = (jobs: readonly SaidJob[]): [string, number | undefined][] =>
  jobs.map(({ workload, work }) => [workload, work?.hours]);

describe('jobs of what was said of them', () => {
  it('are none where nothing was said, and none that was seen last before the window', () => {
    expect(jobsWithin([], from(1))).toEqual([]);
    const seenAt = at(1);
    expect(jobsWithin([{ ...said('a', 0, 10), seenAt }], from(1))).toHaveLength(1);
    expect(jobsWithin([{ ...said('a', 0, 10), seenAt: seenAt - 1 }], from(1))).toEqual([]);
  });

  it('of one job each: by its first word in the window, not by its last', () => {
    const words = [said('a', 4, 10), said('a', 1, 80), said('a', 0, 100), said('a', 2, 60)];
    expect(told(jobsWithin(words, from(1)))).toEqual([['a', 80]]);
    expect(told(jobsWithin(words, from(0)))).toEqual([['a', 100]]);
  });

  it('without a word in the window by the last before it, as long as it was seen then', () => {
    expect(told(jobsWithin([said('a', 0, 100), said('a', 1, 80, { seen: 6 })], from(3)))).toEqual([['a', 80]]);
    expect(jobsWithin([said('a', 0, 100), said('a', 1, 80)], from(3))).toEqual([]);
  });

  it('is not lost where its words stand before the window and after it, and is to come where all stand after it', () => {
    const words = [said('a', 0, 100), said('a', 9, 20)];
    expect(told(jobsWithin(words, { from: at(1), to: at(5) }))).toEqual([['a', 100]]);
    expect(told(jobsWithin([said('a', 8, 30), said('a', 9, 20)], { from: at(1), to: at(5) }))).toEqual([['a', 30]]);
    expect(told(jobsWithin([...words, said('a', 3, 60)], { from: at(1), to: at(5) }))).toEqual([['a', 60]]);
  });

  it('are several where the hours left rise, and where the starts differ', () => {
    expect(
      told(jobsWithin([said('a', 0, 100), said('a', 1, 20), said('a', 2, 50), said('a', 3, 40)], from(0))),
    ).toEqual([
      ['a', 100],
      ['a', 50],
    ]);
    const first = { startedAt: at(0) };
    expect(
      told(
        jobsWithin([said('a', 0, 10, first), said('a', 1, 30, first), said('a', 2, 5, { startedAt: at(2) })], from(0)),
      ),
    ).toEqual([
      ['a', 10],
      ['a', 5],
    ]);
    expect(told(jobsWithin([said('b', 0, 100), said('a', 0, 90)], from(0)))).toEqual([
      ['a', 90],
      ['b', 100],
    ]);
  });

  it('that stood still when their word came have the machines with which they ran later', () => {
    const [one] = jobsWithin(
      [said('a', 0, 100, { ready: 0 }), said('a', 1, 100, { ready: 3 }), said('a', 2, 50, { ready: 2 })],
      from(0),
    );
    expect(one?.fleet?.ready).toBe(3);
    expect(one?.seenAt).toBe(at(2) + HOUR_MS);
    expect(jobsWithin([said('a', 0, 100, { ready: 0 })], from(0))[0]?.fleet?.ready).toBe(0);
  });

  it('of which nobody said anything stand once', () => {
    const silent = { ...said('a', 0, 0), work: null };
    expect(
      jobsWithin([silent, { ...silent, seenAt: at(5) }], from(1)).map(({ work, seenAt }) => [work, seenAt]),
    ).toEqual([[null, at(5)]]);
  });
});
