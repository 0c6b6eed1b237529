/**
 * Calibration: compares a policy's predictions with the realised savings, and corrects its next estimate.
 *
 * Pure; it reads no ledger. The rule is shrinkage towards 1: few cases hardly move an estimate, many do. Only the
 * policy's own estimate, before any calibration, is compared: otherwise a corrected estimate would look right and the
 * correction would be lost again.
 */
import { divideHalfEven } from '../money.js';
import type { Proposal, SavingsEstimate } from './policy.js';
import type { Calibration } from './view.js';

/** One action: nanos that the policy predicted (above zero) and nanos that were realised, over the same time. */
export interface CalibrationCase {
  readonly predicted: bigint;
  readonly realised: bigint;
}

/** The prior is worth as much as this many equal actions that saved exactly what was predicted ... */
const PRIOR_CASES = 10;
/** ... give or take this much, as a standard deviation of realised over predicted. */
const PRIOR_DEVIATION = 0.25;

/**
 * A correction never turns a saving into a loss, nor makes more than double of it: beyond that the policy is wrong, not
 * its scale.
 */
export const LEAST_RATIO = 0.05;
export const MOST_RATIO = 2;

/** Half the width of an 80 % interval, in standard deviations of a normal distribution. */
const EIGHTY_PERCENT = 1.2816;
const MILLIONTHS = 1_000_000n;

/**
 * Ratio of sums (realised over predicted), shrunk towards 1: ratio = (k + n x r) / (k + n), with k = PRIOR_CASES and n
 * the effective number of cases, (sum of p)^2 / (sum of p^2) (Kish, "Survey Sampling", 1965), so that one large action
 * among small ones does not count as many. The variance is pooled in the same way, k x PRIOR_DEVIATION^2 against the
 * spread of the cases around r, weighted by what they predicted; the interval is the mean's (normal-normal empirical
 * Bayes: Efron and Morris, "Data analysis using Stein's estimator", 1975). Null: no case at all.
 */
export function calibrationOf(cases: readonly CalibrationCase[]): Calibration | null {
  const usable = cases
    .filter(({ predicted }) => predicted > 0n)
    .map(({ predicted, realised }) => ({ predicted: Number(predicted), share: Number(realised) / Number(predicted) }));
  if (usable.length === 0) return null;
  const sum = usable.reduce((total, { predicted }) => total + predicted, 0);
  const n = sum ** 2 / usable.reduce((total, { predicted }) => total + predicted ** 2, 0);
  const mean = usable.reduce((total, { predicted, share }) => total + predicted * share, 0) / sum;
  const spread = usable.reduce((total, { predicted, share }) => total + predicted * (share - mean) ** 2, 0) / sum;
  const weight = PRIOR_CASES + n;
  const ratio = (PRIOR_CASES + n * mean) / weight;
  const half = EIGHTY_PERCENT * Math.sqrt((PRIOR_CASES * PRIOR_DEVIATION ** 2 + n * spread) / weight / weight);
  return { ratio: bounded(ratio), low: bounded(ratio - half), high: bounded(ratio + half), cases: usable.length };
}

/** Six digits, so that the same cases in another order give the same recommendation. */
const bounded = (ratio: number): number => Number(Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio)).toFixed(6));

export const calibrationKey = ({ name, version }: { readonly name: string; readonly version: number }): string =>
  `${name}@${version}`;

/**
 * An estimate corrected by the realised savings: the mean by the ratio, the ends by the ends of the ratio's interval,
 * outwards.
 */
export function calibrated(estimate: SavingsEstimate, { ratio, low, high }: Calibration): SavingsEstimate {
  const mean = times(estimate.mean, ratio);
  const ends = [
    times(estimate.low, low),
    times(estimate.low, high),
    times(estimate.high, low),
    times(estimate.high, high),
    mean,
  ];
  return { mean, low: ends.reduce((a, b) => (a < b ? a : b)), high: ends.reduce((a, b) => (a > b ? a : b)) };
}

const times = (nanos: bigint, ratio: number): bigint =>
  divideHalfEven(nanos * BigInt(Math.round(ratio * Number(MILLIONTHS))), MILLIONTHS);

/**
 * The computation's entries that a calibration adds; the last is the estimate as the policy made it, in nanos per
 * month: mean, low, high.
 */
const CALIBRATION_ENTRIES = {
  ratio: 'calibrationRatio',
  cases: 'calibrationCases',
  before: 'savingBeforeCalibrationNanos',
} as const;

/**
 * A proposal with its corrected saving, marked as corrected. Only savings are corrected: an added cost does not become
 * lower because other actions saved less.
 */
export function withCalibration(proposal: Proposal, calibration: Calibration | undefined): Proposal {
  const { monthlySavings, computation } = proposal;
  if (calibration === undefined || monthlySavings === null || monthlySavings.mean <= 0n) return proposal;
  const { ratio, cases, before } = CALIBRATION_ENTRIES;
  return {
    ...proposal,
    monthlySavings: calibrated(monthlySavings, calibration),
    computation: {
      ...computation,
      [ratio]: calibration.ratio,
      [cases]: calibration.cases,
      [before]: [monthlySavings.mean, monthlySavings.low, monthlySavings.high].join(' '),
    },
  };
}

/** The policy's own estimate of a recommendation; `now` is the shown estimate, corrected or not. */
export function estimateBefore(
  computation: Readonly<Record<string, string | number>>,
  now: SavingsEstimate | null,
): SavingsEstimate | null {
  const [mean, low, high] = String(computation[CALIBRATION_ENTRIES.before] ?? '').split(' ');
  if (now === null || mean === undefined || low === undefined || high === undefined || mean === '') return now;
  return { mean: BigInt(mean), low: BigInt(low), high: BigInt(high) };
}
