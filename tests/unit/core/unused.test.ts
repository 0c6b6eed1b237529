/** What GPUs cost that did nothing: between what surely was idle and all that no reading shows as used. */
import { describe, expect, it } from 'vitest';
import { unusedCost, unusedOfGroup, type UsedMinute } from '../../../src/core/fleet/unused.js';

const minutes = (count: number, gpu: number | null, rps: number | null = null): UsedMinute[] =>
  Array.from({ length: count }, () => ({ gpu, rps }));
const HOURLY = 60_000n;

describe('what is unused', () => {
  it('lies between surely idle minutes and all unused GPU time', () => {
    expect(unusedCost(HOURLY, [...minutes(30, 0), ...minutes(30, 0.5)], 60)).toEqual({ low: 30_000n, high: 45_000n });
  });

  it('counts a minute without a reading as used at the low end, and as unused at the high end', () => {
    expect(unusedCost(HOURLY, minutes(15, 0), 60)).toEqual({ low: 15_000n, high: 60_000n });
    expect(unusedCost(HOURLY, [...minutes(15, 1), ...minutes(15, null)], 60)).toEqual({ low: 0n, high: 45_000n });
  });

  it('leaves a service alone that is asked, however little its GPU does', () => {
    expect(unusedCost(HOURLY, minutes(60, 0.005, 2), 60)).toEqual({ low: 0n, high: 59_700n });
  });

  it('is not known without a price or a reading, which is not zero', () => {
    expect([
      unusedCost(null, minutes(60, 0), 60),
      unusedCost(HOURLY, [], 60),
      unusedCost(HOURLY, minutes(60, null), 60),
    ]).toEqual([null, null, null]);
  });

  it('never exceeds what it costs, and its low end never the high one', () => {
    for (const gpu of [0, 0.009, 0.3, 1, 1.2]) {
      const found = unusedCost(HOURLY, minutes(90, gpu), 60);
      expect(found !== null && found.low <= found.high && found.high <= HOURLY && found.low >= 0n).toBe(true);
    }
  });

  it('of a group is that of its machines: one without a reading counts as used at the low end only', () => {
    const read = { hourly: HOURLY, unused: { low: 10_000n, high: 20_000n } };
    const unread = { hourly: HOURLY, unused: null };
    expect([
      unusedOfGroup(2n * HOURLY, [read, read]),
      unusedOfGroup(2n * HOURLY, [read, unread]),
      unusedOfGroup(HOURLY, [unread]),
      unusedOfGroup(null, [read]),
    ]).toEqual([{ low: 20_000n, high: 40_000n }, { low: 10_000n, high: 80_000n }, null, null]);
  });
});
