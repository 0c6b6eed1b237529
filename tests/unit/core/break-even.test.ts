/** From where on a recommendation pays: reckoned by hand for a commitment and for spot, and null where nothing tells. */
import { describe, expect, it } from 'vitest';
import { breakEvenOf } from '../../../src/core/policy/break-even.js';

describe('where a commitment pays', () => {
  const numbers = { breakEvenUseRatio: 0.6, expectedUseRatioOfLastGpu: 0.8, termHours: 8760 };

  it('is at its price over that on demand, and it is paid back when as much would have been spent', () => {
    // 0.6 x 8,760 hours on demand are spent after 6,570 hours of which 80 % are used: 273.75 days.
    expect(breakEvenOf({ action: 'PurchaseReservedInstances', computation: numbers })).toEqual({
      of: 'use',
      ratio: 0.6,
      expected: 0.8,
      paidBackAfterDays: 274,
    });
  });

  it('is never paid back by less use than that', () => {
    const little = { ...numbers, expectedUseRatioOfLastGpu: 0.59 };
    expect(breakEvenOf({ action: 'PurchaseSavingsPlans', computation: little })?.paidBackAfterDays).toBeNull();
    const just = { ...numbers, expectedUseRatioOfLastGpu: 0.6 };
    expect(breakEvenOf({ action: 'PurchaseSavingsPlans', computation: just })?.paidBackAfterDays).toBe(365);
  });

  it('is not known from numbers that are not there', () => {
    const { breakEvenUseRatio: ratio } = numbers;
    expect(breakEvenOf({ action: 'PurchaseSavingsPlans', computation: {} })).toBeNull();
    expect(breakEvenOf({ action: 'PurchaseSavingsPlans', computation: { breakEvenUseRatio: ratio } })).toEqual({
      of: 'use',
      ratio: 0.6,
      expected: null,
      paidBackAfterDays: null,
    });
  });
});

describe('where spot pays', () => {
  const numbers = {
    onDemandPerGpuHour: '10.00',
    spotPerGpuHour: '4.00',
    restartHours: 0.5,
    interruptionsPerHour: 0.03,
    spotAvailableShare: 0.9,
  };

  it('is where it saves what its interruptions cost', () => {
    // 0.03 x 0.5 h x (10 + 4) are 0.21 an hour; while there is spot, 6 an hour are saved.
    const found = breakEvenOf({ action: 'MoveToSpot', computation: numbers });
    expect(found).toMatchObject({ of: 'spot', expected: 0.9, paidBackAfterDays: null });
    expect(found?.ratio).toBeCloseTo(0.035, 12);
  });

  it('is not known where nobody recorded interruptions, or spot is no cheaper', () => {
    const unknown = { ...numbers, interruptionsPerHour: 'not recorded' };
    expect(breakEvenOf({ action: 'MoveToSpot', computation: unknown })).toBeNull();
    const dear = { ...numbers, spotPerGpuHour: '10.00' };
    expect(breakEvenOf({ action: 'MoveToSpot', computation: dear })).toBeNull();
  });
});

it('is nowhere where nothing is paid in advance', () => {
  expect(breakEvenOf({ action: 'Stop', computation: { breakEvenUseRatio: 0.6 } })).toBeNull();
});
