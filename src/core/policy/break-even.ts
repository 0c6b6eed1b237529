/**
 * From where on a recommendation pays: of a commitment the share of its hours that must be used, and when it is paid
 * back; of a move to spot the share of time that spot must be there.
 *
 * Pure: reckoned from the numbers that the recommendation was made of (`computation`), so that it says what the estimate
 * says. Null where it has no such point, or its numbers do not tell; never a guess.
 */
import type { Recommendation } from './recommendation.js';

export interface BreakEven {
  /** What the ratio is of: hours of a commitment that are used, or time in which there is spot. */
  readonly of: 'use' | 'spot';
  /** From this on it pays. 1 is always; above 1 it never does. */
  readonly ratio: number;
  /** The share expected from the evidence; null: unknown. For several GPUs, that of the least used one. */
  readonly expected: number | null;
  /**
   * For a commitment: days of the expected use after which on-demand usage would have cost as much as the whole
   * commitment. Null: not within its term, or unknown.
   */
  readonly paidBackAfterDays: number | null;
}

type Numbers = Pick<Recommendation, 'action' | 'computation'>;

export function breakEvenOf({ action, computation }: Numbers): BreakEven | null {
  switch (action) {
    case 'PurchaseReservedInstances':
    case 'PurchaseSavingsPlans':
      return commitmentPoint(computation);
    case 'MoveToSpot':
      return spotPoint(computation);
    default:
      return null;
  }
}

/** A number, or a decimal text; null: it is neither. */
function numberOf(value: string | number | undefined): number | null {
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value);
  return value !== undefined && Number.isFinite(number) ? number : null;
}

/**
 * A commitment costs `ratio` of its hours' on-demand price whether they are used or not: it pays where more of them are
 * used, and is paid back when as much would have been spent on demand.
 */
function commitmentPoint(computation: Recommendation['computation']): BreakEven | null {
  const ratio = numberOf(computation['breakEvenUseRatio']);
  if (ratio === null || ratio <= 0) return null;
  const [expected, termHours] = [
    numberOf(computation['expectedUseRatioOfLastGpu']),
    numberOf(computation['termHours']),
  ];
  const isPaidBack = expected !== null && termHours !== null && expected > 0 && expected >= ratio;
  return {
    of: 'use',
    ratio,
    expected,
    paidBackAfterDays: isPaidBack ? Math.ceil(((ratio / expected) * termHours) / 24) : null,
  };
}

/**
 * A GPU on spot saves the difference of the prices while there is spot, and loses a restart at either price by each
 * interruption (policies/estimating/spot.ts): the share of time at which the two are alike.
 */
function spotPoint(computation: Recommendation['computation']): BreakEven | null {
  const [onDemand, spot, restartHours, perHour] = [
    numberOf(computation['onDemandPerGpuHour']),
    numberOf(computation['spotPerGpuHour']),
    numberOf(computation['restartHours']),
    numberOf(computation['interruptionsPerHour']),
  ];
  if (onDemand === null || spot === null || restartHours === null || perHour === null || onDemand <= spot) return null;
  return {
    of: 'spot',
    ratio: (perHour * restartHours * (onDemand + spot)) / (onDemand - spot),
    expected: numberOf(computation['spotAvailableShare']),
    paidBackAfterDays: null,
  };
}
