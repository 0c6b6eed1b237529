/**
 * When a rate that a bill taught is trusted: each limit at its two sides, and which of the bill's figures makes the
 * rate.
 */
import { describe, expect, it } from 'vitest';
import { isNear, judgeRate, type RateEvidence } from '../../../src/core/price/learned-rate.js';
import { PART_MS_PER_GPU_HOUR } from '../../../src/core/usage.js';

const HOURS = 100n * PART_MS_PER_GPU_HOUR;
const dollars = (unscaled: bigint): RateEvidence['charged'] => ({ unscaled, scale: 0 });

/** A week in which 100 GPU-hours of a list price of 400 were billed with 300: just enough to be trusted. */
const WEEK: RateEvidence = {
  key: { provider: 'aws', account: 'a1', sku: 'p5', region: 'eu-west-1', term: 'on-demand' },
  billedAccounts: ['a1'],
  periodStart: Date.UTC(2026, 9, 1),
  periodEnd: Date.UTC(2026, 10, 1),
  days: 7,
  meteredPartMs: HOURS,
  billedPartMs: HOURS,
  listNanos: 400_000_000_000n,
  charged: dollars(300n),
  billedList: null,
  currency: 'USD',
  hasUnpriced: false,
  lacksAmortisation: false,
};
const judged = (rest: Partial<RateEvidence>): ReturnType<typeof judgeRate> => judgeRate({ ...WEEK, ...rest });
const distrustOf = (rest: Partial<RateEvidence>): readonly string[] => judged(rest).distrust;

describe('a rate learned from a bill', () => {
  it('is trusted from seven days and a hundred GPU-hours on', () => {
    expect(judged({})).toEqual({ ratio: { numerator: 3n, denominator: 4n }, distrust: [] });
    expect(distrustOf({ days: 6 })).toEqual(['few-days']);
    expect(distrustOf({ meteredPartMs: HOURS - 1n })).toEqual(['little-usage']);
  });

  it('is the ratio of the two unit prices where the bill states a quantity', () => {
    // 105 GPU-hours billed with 300, of 100 that cost 400 by the list.
    expect(judged({ billedPartMs: (HOURS * 105n) / 100n })).toEqual({
      ratio: { numerator: 5n, denominator: 7n },
      distrust: [],
    });
    expect(distrustOf({ billedPartMs: (HOURS * 105n) / 100n + 1n })).toEqual(['quantity-differs']);
  });

  it('is that of the bill to its own list cost where it states no quantity', () => {
    expect(judged({ billedPartMs: null, billedList: dollars(420n) })).toEqual({
      ratio: { numerator: 5n, denominator: 7n },
      distrust: [],
    });
    expect(distrustOf({ billedPartMs: null, billedList: dollars(421n) })).toEqual(['quantity-differs']);
  });

  it('is shown and not trusted where the bill states neither, or nothing was billed', () => {
    expect(judged({ billedPartMs: null })).toEqual({
      ratio: { numerator: 3n, denominator: 4n },
      distrust: ['quantity-unknown'],
    });
    const ofList = { numerator: 3n, denominator: 4n };
    expect(judged({ billedPartMs: 0n })).toEqual({ ratio: ofList, distrust: ['quantity-differs'] });
    expect(judged({ billedPartMs: null, billedList: dollars(0n) })).toEqual({
      ratio: ofList,
      distrust: ['quantity-differs'],
    });
  });

  it('is none where nothing was metered or the list says nothing', () => {
    expect(judged({ meteredPartMs: 0n })).toEqual({
      ratio: null,
      distrust: ['little-usage', 'quantity-differs', 'no-accrual'],
    });
    expect(judged({ listNanos: 0n })).toEqual({ ratio: null, distrust: ['no-accrual'] });
  });

  it('is plausible from a discount of 95 % to twice the list', () => {
    expect(distrustOf({ charged: dollars(20n) })).toEqual([]);
    expect(distrustOf({ charged: dollars(19n) })).toEqual(['implausible']);
    expect(distrustOf({ charged: dollars(800n) })).toEqual([]);
    expect(distrustOf({ charged: dollars(801n) })).toEqual(['implausible']);
  });

  it('is not trusted beside what has no price or is not amortised', () => {
    expect(distrustOf({ hasUnpriced: true, lacksAmortisation: true })).toEqual(['unpriced', 'not-amortised']);
  });
});

it('a number is near another that differs by a part of it at most, above it or below, of credits too', () => {
  expect([95n, 105n].map((one) => isNear(100n, one, 20n))).toEqual([true, true]);
  expect([94n, 106n].map((one) => isNear(100n, one, 20n))).toEqual([false, false]);
  expect([-95n, -106n].map((one) => isNear(-100n, one, 20n))).toEqual([true, false]);
  expect([isNear(0n, 0n, 20n), isNear(0n, 1n, 20n)]).toEqual([true, false]);
});
