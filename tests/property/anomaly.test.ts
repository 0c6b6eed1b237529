import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tailLimit, type Anomaly } from '../../src/planning/anomaly/anomaly.js';
import { detectPriceAnomalies, type PricePoint } from '../../src/planning/anomaly/prices.js';
import { detectSpendAnomalies, type SpendPoint } from '../../src/planning/anomaly/spend.js';

/** A level with noise, a few values far off and a few unknown: the detectors have something to say in most draws. */
const amounts = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.double({ min: 90, max: 110, noNaN: true }) },
    { weight: 2, arbitrary: fc.double({ min: 1, max: 2000, noNaN: true }) },
  ),
  { minLength: 30, maxLength: 90 },
);
const unknowns = fc.array(fc.integer({ min: 0, max: 89 }), { maxLength: 6 });
const spendOf = (values: readonly number[], missing: readonly number[] = []): SpendPoint[] =>
  values.map((spend, at) => ({ at, spend: missing.includes(at) ? null : spend }));
const pricesOf = (values: readonly number[]): PricePoint[] => values.map((price, at) => ({ at, price }));
const upTo = (found: readonly Anomaly[], now: number): Anomaly[] => found.filter(({ decidedAt }) => decidedAt <= now);

function shuffledAfter<T>(values: readonly T[], cut: number, order: readonly number[]): T[] {
  const future = values.slice(cut).map((value, index) => ({ value, key: order[index % order.length] ?? 0 }));
  return [...values.slice(0, cut), ...future.sort((a, b) => a.key - b.key).map(({ value }) => value)];
}

const order = fc.array(fc.nat(), { minLength: 5, maxLength: 90 });
const cuts = fc.integer({ min: 1, max: 60 });

describe('never reads ahead: another future leaves every past report as it was', () => {
  it('spend', () => {
    fc.assert(
      fc.property(amounts, unknowns, cuts, order, (values, missing, cut, keys) => {
        const one = detectSpendAnomalies(spendOf(values, missing), { falseAlarmRate: 0.05 });
        const other = detectSpendAnomalies(spendOf(shuffledAfter(values, cut, keys), missing), {
          falseAlarmRate: 0.05,
        });
        expect(upTo(other, cut - 1)).toEqual(upTo(one, cut - 1));
        expect(detectSpendAnomalies(spendOf(values, missing).slice(0, cut), { falseAlarmRate: 0.05 })).toEqual(
          upTo(one, cut - 1),
        );
      }),
    );
  });
  it('prices, and their peers', () => {
    fc.assert(
      fc.property(amounts, amounts, cuts, order, (values, peer, cut, keys) => {
        const detect = (own: readonly number[], others: readonly number[]): Anomaly[] =>
          detectPriceAnomalies(pricesOf(own), { peers: [pricesOf(others)] });
        const one = upTo(detect(values, peer), cut - 1);
        expect(upTo(detect(shuffledAfter(values, cut, keys), shuffledAfter(peer, cut, keys)), cut - 1)).toEqual(one);
        expect(detect(values.slice(0, cut), peer.slice(0, cut))).toEqual(one);
      }),
    );
  });
});

describe('what is reported', () => {
  const sound = (found: readonly Anomaly[], observedAt: (at: number) => number | null | undefined): void => {
    for (const { at, decidedAt, kind, expected, observed, score, evidence } of found) {
      expect(
        [expected.low, expected.mean, expected.high, observed, score, ...Object.values(evidence)].every(
          Number.isFinite,
        ),
      ).toBe(true);
      expect(expected.low).toBeLessThanOrEqual(expected.mean);
      expect(expected.mean).toBeLessThanOrEqual(expected.high);
      expect(at).toBeLessThanOrEqual(decidedAt);
      if (kind === 'spike') expect(observed).toBeGreaterThan(expected.high);
      if (kind === 'drop') expect(observed).toBeLessThan(expected.low);
      if (kind === 'spike' || kind === 'drop') expect(observed).toBe(observedAt(at));
      if (kind !== 'level-shift') expect(score).toBeGreaterThan(1);
    }
    expect(found.map(({ decidedAt }) => decidedAt)).toEqual(
      found.map(({ decidedAt }) => decidedAt).sort((a, b) => a - b),
    );
  };
  it('is finite, ordered and outside what was expected', () => {
    fc.assert(
      fc.property(amounts, unknowns, (values, missing) => {
        sound(detectSpendAnomalies(spendOf(values, missing)), (at) => values[at]);
        sound(detectPriceAnomalies(pricesOf(values)), (at) => values[at]);
      }),
    );
  });
  it('does not depend on the currency unit', () => {
    const shape = (found: readonly Anomaly[]) => found.map(({ at, decidedAt, kind }) => [at, decidedAt, kind]);
    fc.assert(
      fc.property(amounts, fc.constantFrom(0.0625, 4, 1024), (values, unit) => {
        const other = values.map((value) => value * unit);
        expect(shape(detectSpendAnomalies(spendOf(other)))).toEqual(shape(detectSpendAnomalies(spendOf(values))));
        expect(shape(detectPriceAnomalies(pricesOf(other)))).toEqual(shape(detectPriceAnomalies(pricesOf(values))));
      }),
    );
  });
  it('is nothing on a constant series, and stays finite on zeros, credits and wild numbers', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), fc.integer({ min: 1, max: 90 }), (value, count) => {
        expect(detectSpendAnomalies(spendOf(new Array<number>(count).fill(value)))).toEqual([]);
        expect(detectPriceAnomalies(pricesOf(new Array<number>(count).fill(value)))).toEqual([]);
      }),
    );
    const wild = fc.array(fc.oneof(fc.constant(0), fc.double({ min: -1e6, max: 1e12, noNaN: true })), {
      minLength: 20,
      maxLength: 80,
    });
    fc.assert(
      fc.property(wild, (values) => {
        for (const { expected, score } of detectSpendAnomalies(spendOf(values)))
          expect([expected.low, expected.mean, expected.high, score].every(Number.isFinite)).toBe(true);
      }),
    );
  });
});

describe('the limit of usual deviations', () => {
  const deviations = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 15, maxLength: 80 });
  it('falls as more false alarms are allowed, and lies at or above where the tail begins', () => {
    fc.assert(
      fc.property(deviations, fc.double({ min: 1e-4, max: 0.05, noNaN: true }), (values, rate) => {
        const [strict, loose] = [tailLimit(values, rate) ?? NaN, tailLimit(values, 2 * rate) ?? NaN];
        expect(strict).toBeGreaterThanOrEqual(loose);
        const start = [...values].sort((a, b) => a - b)[values.length - Math.floor(values.length * 0.2) - 1] ?? NaN;
        expect(loose).toBeGreaterThanOrEqual(start);
      }),
    );
  });
});
