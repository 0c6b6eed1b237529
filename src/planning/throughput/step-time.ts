/**
 * The time of a training step for one model, and its most probable coefficients given measurements and a belief.
 *
 * log seconds = log((launch^p + compute^p + sync^p)^(1/p)), a smooth maximum of the curves of features.ts: computing and
 * exchanging overlap in part (Pollux, OSDI 2021, section 3.2). It learns from the rows that it is given and from nothing
 * else. Noise differs between the regimes: a host is less regular than a GPU, and a network than either.
 */
import { cholesky, solveFactored, varianceAlong } from './linear-algebra.js';
import { CURVES, encode, logStepSamples, type Curve, type FeatureSpace } from './features.js';
import type { Configuration, Measurement } from '../../core/workload/measurement.js';

/** Sharpness of the maximum: 1 would add the curves, a large number would let the longer hide the shorter. */
const SHARPNESS = 2.5;
/** Degrees of freedom of the noise (Student's t): few, so that one disturbed measurement does not bend the curve. */
const NOISE_FREEDOM = 5;
const MOST_STEPS = 30;
const SAME_FIT = 1e-3;

/** Variances of log seconds. */
export type Noise = Readonly<Record<Curve, number>>;

/** Independent Gaussians, one per feature. */
export interface Prior {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
}

/** A measurement as features and log seconds per step. */
export interface Point {
  readonly x: Float64Array;
  readonly logSeconds: number;
}

export interface Fit {
  readonly coefficients: Float64Array;
  /** Factor of the precision matrix at the most probable coefficients (Laplace's approximation). */
  readonly factor: Float64Array;
  /** -2 log posterior, up to a constant. */
  readonly deviance: number;
  /** Log probability of the points before they were seen (Laplace's approximation), up to a constant. */
  readonly evidence: number;
}

/** The curve at one configuration. */
export interface Evaluated {
  readonly logSeconds: number;
  /** How much of the step each of CURVES determines; they sum to 1. */
  readonly shares: Float64Array;
  /** Variance of the noise. */
  readonly noise: number;
}

export function pointOf(space: FeatureSpace, row: Measurement): Point {
  return {
    x: encode(space, row),
    logSeconds: logStepSamples(row, space.batchMeaning) - Math.log(row.samplesPerSecond),
  };
}

/** Log samples per second of a step that takes exp(logSeconds). */
export const logThroughput = (space: FeatureSpace, c: Configuration, logSeconds: number): number =>
  logStepSamples(c, space.batchMeaning) - logSeconds;

export function evaluate(space: FeatureSpace, coefficients: Float64Array, x: Float64Array, noise: Noise): Evaluated {
  const { curves, sync } = space;
  const shares = new Float64Array(3);
  for (let k = 0; k < x.length; k++) shares[curves[k]!] = shares[curves[k]!]! + coefficients[k]! * x[k]!;
  const [compute, launch] = [shares[0]!, shares[1]!];
  const waiting = sync >= 0 && x[sync] === 1 ? shares[2]! : -Infinity;
  const longest = Math.max(compute, launch, waiting);
  shares[0] = Math.exp(SHARPNESS * (compute - longest));
  shares[1] = Math.exp(SHARPNESS * (launch - longest));
  shares[2] = Math.exp(SHARPNESS * (waiting - longest));
  const sum = shares[0]! + shares[1]! + shares[2]!;
  for (let c = 0; c < 3; c++) shares[c] = shares[c]! / sum;
  return {
    logSeconds: longest + Math.log(sum) / SHARPNESS,
    shares,
    noise: noise.compute * shares[0]! + noise.launch * shares[1]! + noise.sync * shares[2]!,
  };
}

/** Derivative of log seconds by the coefficients. */
export function gradient(space: FeatureSpace, x: Float64Array, shares: Float64Array): Float64Array {
  return x.map((value, k) => value * shares[space.curves[k]!]!);
}

/** How much a residual counts: 1 for a Gaussian, less for an outlier. */
export const weightOf = (residual: number, variance: number): number =>
  (NOISE_FREEDOM + 1) / (NOISE_FREEDOM + (residual * residual) / variance);

/**
 * The fits that start from the prior's mean and from each curve alone holding the points, the most probable first:
 * where the belief has one curve far below the others, no small step raises it.
 */
export function fitsOf(space: FeatureSpace, points: readonly Point[], prior: Prior, noise: Noise): Fit[] {
  return [prior.mean, ...startsOf(space, points, prior)]
    .map((start) => fit(space, points, prior, noise, start))
    .sort((a, b) => a.deviance - b.deviance)
    .filter((one, i, all) => i === 0 || one.deviance > all[i - 1]!.deviance + SAME_FIT);
}

/** The prior's mean with the intercept of one curve so that half of the points last longer than that curve says. */
function startsOf(space: FeatureSpace, points: readonly Point[], prior: Prior): Float64Array[] {
  return CURVES.flatMap((curve, c) => {
    const intercept = space.features.findIndex(({ name }) => name === curve);
    const missing = points
      .filter(({ x }) => intercept >= 0 && x[intercept] === 1)
      .map(({ x, logSeconds }) =>
        x.reduce((left, value, k) => (space.curves[k] === c ? left - prior.mean[k]! * value : left), logSeconds),
      )
      .sort((a, b) => a - b);
    if (missing.length === 0) return [];
    return [prior.mean.map((value, k) => (k === intercept ? value + missing[missing.length >> 1]! : value))];
  });
}

/** Gauss-Newton with step halving. Without points it is the prior. */
export function fit(
  space: FeatureSpace,
  points: readonly Point[],
  prior: Prior,
  noise: Noise,
  start: Float64Array,
): Fit {
  let coefficients = start;
  let deviance = devianceOf(space, points, prior, noise, coefficients);
  let factor: Float64Array = new Float64Array(0);
  for (let step = 0; step < MOST_STEPS; step++) {
    const system = normalEquations(space, points, prior, noise, coefficients);
    factor = cholesky(system.matrix, coefficients.length);
    const direction = solveFactored(factor, system.right);
    let length = 1;
    let gain = -1;
    for (let halving = 0; halving < 8 && gain < 0; halving++, length /= 2) {
      const next = coefficients.map((value, k) => value + length * direction[k]!);
      const reached = devianceOf(space, points, prior, noise, next);
      if (reached > deviance) continue;
      gain = deviance - reached;
      coefficients = next;
      deviance = reached;
    }
    if (gain < 1e-9) break;
  }
  return { coefficients, factor, deviance, evidence: -deviance / 2 + logRoom(factor, prior) };
}

/** How much of the prior's room is left about a fit. */
function logRoom(factor: Float64Array, { variance }: Prior): number {
  const size = variance.length;
  return -variance.reduce((sum, value, k) => sum + Math.log(value) / 2 + Math.log(factor[k * size + k]!), 0);
}

function devianceOf(
  space: FeatureSpace,
  points: readonly Point[],
  prior: Prior,
  noise: Noise,
  coefficients: Float64Array,
): number {
  let sum = 0;
  for (let k = 0; k < coefficients.length; k++) sum += (coefficients[k]! - prior.mean[k]!) ** 2 / prior.variance[k]!;
  for (const { x, logSeconds } of points) {
    const at = evaluate(space, coefficients, x, noise);
    sum +=
      (NOISE_FREEDOM + 1) * Math.log1p((logSeconds - at.logSeconds) ** 2 / (at.noise * NOISE_FREEDOM)) +
      Math.log(at.noise);
  }
  return sum;
}

function normalEquations(
  space: FeatureSpace,
  points: readonly Point[],
  prior: Prior,
  noise: Noise,
  coefficients: Float64Array,
): { matrix: Float64Array; right: Float64Array } {
  const size = coefficients.length;
  const matrix = new Float64Array(size * size);
  const right = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    matrix[k * size + k] = 1 / prior.variance[k]!;
    right[k] = (prior.mean[k]! - coefficients[k]!) / prior.variance[k]!;
  }
  for (const { x, logSeconds } of points) {
    const at = evaluate(space, coefficients, x, noise);
    const residual = logSeconds - at.logSeconds;
    const weight = weightOf(residual, at.noise) / at.noise;
    const slope = gradient(space, x, at.shares);
    for (let i = 0; i < size; i++) {
      if (slope[i] === 0) continue;
      const scaled = weight * slope[i]!;
      right[i] = right[i]! + scaled * residual;
      for (let j = 0; j <= i; j++) matrix[i * size + j] = matrix[i * size + j]! + scaled * slope[j]!;
    }
  }
  return { matrix, right };
}

/**
 * Mean square of the points' standardised left-out residuals, pulled to 1 as if `strength` more had been 1: how much
 * noisier or quieter this model is than the others. Left-out residuals follow from leverages without fitting again.
 */
export function noiseScale(
  space: FeatureSpace,
  points: readonly Point[],
  { coefficients, factor }: Fit,
  noise: Noise,
  strength: number,
): number {
  let sum = strength;
  for (const { x, logSeconds } of points) {
    const at = evaluate(space, coefficients, x, noise);
    const residual = logSeconds - at.logSeconds;
    const variance = varianceAlong(factor, gradient(space, x, at.shares));
    const leverage = Math.min(0.95, (variance / at.noise) * weightOf(residual, at.noise));
    sum += (residual * residual) / (at.noise * (1 - leverage));
  }
  return sum / (strength + points.length);
}
