import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  calibrated,
  calibrationOf,
  estimateBefore,
  LEAST_RATIO,
  MOST_RATIO,
  withCalibration,
} from '../../../src/core/policy/calibration.js';
import type { Calibrations } from '../../../src/core/policy/view.js';
import { viewOf, type Policy, type Proposal } from '../../../src/core/policy/policy.js';
import { decide } from '../../../src/core/policy/decision.js';

const cases = (count: number, share: number, predicted = 1000) =>
  Array.from({ length: count }, () => ({ predicted: BigInt(predicted), realised: BigInt(predicted * share) }));

describe('what was realised against what was predicted', () => {
  it('moves little with few cases and much with many', () => {
    // (10 + 1 x 0.5) / 11 and (10 + 90 x 0.5) / 100, by hand.
    expect(calibrationOf(cases(1, 0.5))).toMatchObject({ ratio: 0.954545, cases: 1 });
    expect(calibrationOf(cases(90, 0.5))).toMatchObject({ ratio: 0.55, cases: 90 });
  });

  it('has an interval that narrows: 1.2816 x sqrt(10 x 0.0625 / 20) / sqrt(20) after ten exact cases', () => {
    const found = calibrationOf(cases(10, 1));
    expect(found?.ratio).toBe(1);
    expect(found?.low).toBeCloseTo(1 - (1.2816 * Math.sqrt(0.625)) / 20, 6);
    expect(calibrationOf(cases(100, 1))?.low ?? 0).toBeGreaterThan(found?.low ?? 1);
  });

  it('has a wider interval where the cases differ, by their spread around the mean', () => {
    const found = calibrationOf([...cases(5, 0.5), ...cases(5, 1.5)]);
    // Each case lies 0.5 off the mean of 1: 1.2816 x sqrt((10 x 0.0625 + 10 x 0.25) / 20) / sqrt(20), by hand.
    expect(found?.ratio).toBe(1);
    expect(found?.high).toBeCloseTo(1 + (1.2816 * Math.sqrt(3.125)) / 20, 6);
  });

  it('lets one giant among many count as little more than one', () => {
    const found = calibrationOf([...cases(50, 1, 10), ...cases(1, 0.1, 1_000_000)]);
    expect(found?.ratio).toBeGreaterThan(0.9);
  });

  it('says nothing without a case, and keeps losses within bounds', () => {
    expect(calibrationOf([])).toBeNull();
    expect(calibrationOf([{ predicted: 0n, realised: 5n }])).toBeNull();
    expect(calibrationOf(cases(1000, -3))?.ratio).toBe(LEAST_RATIO);
    expect(calibrationOf(cases(1000, 9))?.ratio).toBe(MOST_RATIO);
  });
});

describe('the next estimate', () => {
  it('is corrected exactly, its ends outwards', () => {
    expect(calibrated({ mean: 1000n, low: 800n, high: 1200n }, { ratio: 0.5, low: 0.4, high: 0.6, cases: 3 })).toEqual({
      mean: 500n,
      low: 320n,
      high: 720n,
    });
    expect(calibrated({ mean: 100n, low: -50n, high: 200n }, { ratio: 0.5, low: 0.4, high: 0.6, cases: 3 })).toEqual({
      mean: 50n,
      low: -30n,
      high: 120n,
    });
  });

  const proposal = (mean: bigint | null): Proposal => ({
    action: 'Stop',
    target: 't',
    title: '',
    monthlySavings: mean === null ? null : { mean, low: mean, high: mean },
    monthlyCost: 2_000_000_000_000n,
    computation: { gpus: 8 },
    evidence: [],
    risk: { interruption: 'Low', note: '' },
    restartNeeded: false,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  });
  const half = { ratio: 0.5, low: 0.4, high: 0.6, cases: 30 };

  it('says that it was corrected, and keeps what the policy said', () => {
    const corrected = withCalibration(proposal(1000n), half);
    expect(corrected.computation).toEqual({
      gpus: 8,
      calibrationRatio: 0.5,
      calibrationCases: 30,
      savingBeforeCalibrationNanos: '1000 1000 1000',
    });
    expect(estimateBefore(corrected.computation, corrected.monthlySavings)).toEqual({
      mean: 1000n,
      low: 1000n,
      high: 1000n,
    });
    expect(estimateBefore({}, { mean: 7n, low: 7n, high: 7n })).toEqual({ mean: 7n, low: 7n, high: 7n });
  });

  it('is part of the view: the same view gives the same recommendation, corrected', () => {
    const policy: Policy = {
      name: 'idle-stop',
      version: 3,
      description: '',
      params: z.looseObject({}),
      evaluate: () => [proposal(1_000_000_000_000n)],
      examples: [],
    };
    const document = {
      name: 'doc',
      policy: 'idle-stop',
      teams: ['red'],
      mode: 'recommend' as const,
      params: {},
      priority: 0,
    };
    const made = (calibrations: Calibrations) =>
      decide(viewOf({ team: 'red', asOf: 0, currency: 'USD', calibrations }), [document], [policy]).map(
        ({ recommendation }) => recommendation.estimatedMonthlySavings,
      );
    expect(made({ 'idle-stop@3': half })).toEqual(['500.00']);
    expect(made({ 'idle-stop@2': half })).toEqual(['1000.00']);
    expect(made({})).toEqual(['1000.00']);
  });

  it('leaves alone what is unknown, what costs, and what nobody has measured', () => {
    for (const one of [proposal(null), proposal(-5n)]) expect(withCalibration(one, half)).toBe(one);
    const saving = proposal(5n);
    expect(withCalibration(saving, undefined)).toBe(saving);
  });
});
