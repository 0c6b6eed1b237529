/** What is left of a job's work: hand-made runs, hours from its start. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tellsOf, workLeft, type JobWork, type MeteredRun } from '../../../src/core/workload/job-work.js';
import { GPU_PARTS, type UsageRecord } from '../../../src/core/usage.js';
import { metered } from '../../support/records.js';

const HOUR = 3_600_000;
const T = Date.UTC(2026, 10, 22);
const at = (hours: number): number => T + hours * HOUR;
/** Twenty hours of eight GPUs, from its start. */
const whole: JobWork = { target: 'instance/i-1', provider: 'AWS', hours: 20, since: T, isWhole: true };
/** Twenty hours, as the job has said while it ran. */
const said: JobWork = { ...whole, isWhole: false };
const run = (from: number, to: number, gpus: number | null = 8, resource = 'i-1'): MeteredRun => ({
  resource,
  start: at(from),
  end: at(to),
  gpuParts: gpus === null ? null : gpus * GPU_PARTS,
});
const left = (
  work: JobWork,
  runs: readonly MeteredRun[],
  asOf: number,
  restartHours: number | null = 0.5,
): number | null => workLeft(work, runs, { gpus: 8, restartHours, asOf: at(asOf) });

describe('work left', () => {
  it('goes down by what was metered, less the start', () => {
    expect(left(whole, [run(0, 4)], 4)).toBe(16.5);
    expect(left(whole, [run(2, 3), run(0, 1), run(1, 2)], 3)).toBe(17.5);
    // It ran before the job began, and its start still costs.
    expect(left(whole, [run(-3, 4)], 4)).toBe(16.5);
  });

  it('goes down from when it was said, and what ran on then has not started', () => {
    expect(left(said, [run(-1, 4)], 4)).toBe(16);
    // Metered by the hour: the record that ends right then tells that it ran.
    expect(left(said, [run(-1, 0), run(0, 4)], 4)).toBe(16);
    expect(left(said, [run(0, 4)], 4)).toBe(16.5);
  });

  it('does not go down by restarts, by a stop, or by what is metered later', () => {
    expect(left(whole, [run(0, 3), run(5, 8)], 8)).toBe(15);
    expect(left(whole, [run(0, 3), run(5, 5.25), run(6, 8)], 8)).toBe(16);
    expect(left(whole, [run(0, 3)], 8)).toBe(17.5);
    expect(left(whole, [run(0, 8)], 4)).toBe(16.5);
  });

  it('is never below nothing', () => {
    expect(left(whole, [run(0, 20.5)], 21)).toBe(0);
    expect(left(whole, [run(0, 30)], 30)).toBe(0);
  });

  it('is all that was said before its start', () => {
    expect(left(whole, [], 0)).toBe(20);
    expect(left(whole, [], -5, null)).toBe(20);
  });

  it('is not known where the meter is silent', () => {
    expect(left(whole, [], 4)).toBeNull();
    expect(left(said, [run(-1, 0)], 4)).toBeNull();
  });

  it('is not known where a start cost nobody knows how much', () => {
    expect(left(whole, [run(0, 4)], 4, null)).toBeNull();
    expect(left(said, [run(-1, 2), run(3, 4)], 4, null)).toBeNull();
    expect(left(said, [run(-1, 4)], 4, null)).toBe(16);
    expect(left(whole, [run(0, 4)], 4, 0)).toBe(16);
  });

  it('goes down in proportion with fewer GPUs, no faster with more, and not at all where nobody knows how many', () => {
    expect(left(said, [run(-1, 4, 4)], 4)).toBe(18);
    expect(left(said, [run(-1, 4, 16)], 4)).toBe(16);
    expect(left(said, [run(-1, 4, null)], 4)).toBe(20);
  });

  it('of machines side by side: one that comes up holds all of them up', () => {
    const first = run(-1, 4, 4, 'a');
    expect(left(said, [first, run(-1, 4, 4, 'b')], 4)).toBe(16);
    // Half as fast for two hours, half an hour lost, whole for one and a half.
    expect(left(said, [first, run(2, 4, 4, 'c')], 4)).toBe(17.5);
    // Both restart at once: that is lost once.
    expect(left(said, [run(-1, 1, 4, 'a'), run(-1, 1, 4, 'b'), run(2, 4, 4, 'c'), run(2, 4, 4, 'd')], 4)).toBe(17.5);
  });

  it('takes what two meters say of one machine once', () => {
    expect(left(said, [run(-1, 4, 4), run(1, 3, 4)], 4)).toBe(18);
  });

  it('is never less for a record that is missing, nor less than the hours that have passed leave', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 15 }), { minLength: 1 }),
        fc.nat(),
        fc.constantFrom(0, 0.25, 1.5),
        fc.boolean(),
        (hours, pick, restart, isWhole) => {
          const all = hours.map((hour) => run(hour, hour + 1));
          const work = { ...whole, isWhole };
          const [known, fewer] = [
            left(work, all, 16, restart),
            left(
              work,
              all.filter((_, n) => n !== pick % all.length),
              16,
              restart,
            ),
          ];
          expect(known).toBeGreaterThanOrEqual(4);
          expect(known).toBeGreaterThanOrEqual(20 - all.length);
          if (fewer !== null) expect(fewer).toBeGreaterThanOrEqual(known ?? 0);
        },
      ),
    );
  });
});

describe('metered usage tells of a job', () => {
  const record: UsageRecord = metered('1', {
    account: '1',
    resource: 'i-1',
    sku: null,
    term: null,
    start: at(0),
    end: at(1),
    gpuParts: 8 * GPU_PARTS,
  });
  it('by its target, its provider and its time; a bill tells nothing of when a machine ran', () => {
    expect(tellsOf(record, whole)).toBe(true);
    expect(tellsOf({ ...record, end: at(0) }, whole)).toBe(true);
    expect(tellsOf({ ...record, end: at(0) - 1 }, whole)).toBe(false);
    expect(tellsOf({ ...record, resource: 'i-2' }, whole)).toBe(false);
    expect(tellsOf({ ...record, provider: 'Fake Cloud' }, whole)).toBe(false);
    // What the machine sent in an hour does not say when it ran.
    expect(tellsOf({ ...record, gpuParts: null, networkBytes: 5 }, whole)).toBe(false);
    const amount = { unscaled: 1n, scale: 0 };
    expect(
      tellsOf(
        {
          ...record,
          charge: {
            category: 'Usage',
            currency: 'USD',
            billed: amount,
            effective: amount,
            list: amount,
            periodStart: T,
            periodEnd: at(24),
          },
        },
        whole,
      ),
    ).toBe(false);
  });

  it('of a cluster by its pods, under whichever cloud their nodes are', () => {
    const pod = { ...record, resource: 'pod/ml/trainer-6d4b75cb6d-x7k2p', tags: { 'pod-template-hash': '6d4b75cb6d' } };
    expect(tellsOf(pod, { ...whole, target: 'deployment/ml/trainer', provider: 'Kubernetes' })).toBe(true);
  });
});
