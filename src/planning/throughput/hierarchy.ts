/**
 * What other models teach: how coefficients depend on a model's family and parameters, how far models differ, and how
 * noisy measurements are.
 *
 * A hierarchical regression, coefficient(model) = regression on (family, log parameters) + own deviation, fitted by
 * expectation-maximisation with Laplace's approximation for each model (Gelman et al., Bayesian Data Analysis, 3rd ed.,
 * chapters 5 and 13). It never sees the model that is asked about, unless the caller passes it as background.
 */
import { cholesky, dot, inverseFactored, solveFactored, varianceAlong } from './linear-algebra.js';
import {
  belief,
  CURVES,
  describeModel,
  featureSpace,
  type BatchMeaning,
  type Feature,
  type FeatureSpace,
} from './features.js';
import type { Configuration, Measurement } from '../../core/workload/measurement.js';
import { byModel } from './measurement.js';
import {
  evaluate,
  fit,
  fitsOf,
  gradient,
  pointOf,
  weightOf,
  type Fit,
  type Noise,
  type Point,
  type Prior,
} from './step-time.js';

/** Variances of log seconds before any measurement, and how many measurements that belief is worth. */
const BELIEVED_NOISE: Noise = { launch: 0.15 ** 2, compute: 0.05 ** 2, sync: 0.2 ** 2 };
const NOISE_STRENGTH = 8;
/** How many models the belief about the models' spread is worth. */
const SPREAD_STRENGTH = 4;
const ITERATIONS = 12;
/** Beyond these more background changes little and costs much; rows are thinned evenly. */
const MOST_ROWS_PER_MODEL = 64;
const MOST_MODELS = 60;

/** One coefficient's regression on describeModel. */
interface Regression {
  readonly weights: Float64Array;
  /** Factor of the precision matrix of the weights. */
  readonly factor: Float64Array;
  /** Variance of a model around the regression. */
  readonly variance: number;
}

/** Everything learned under one reading of `batch`. */
export interface Learned {
  readonly space: FeatureSpace;
  readonly regressions: readonly Regression[];
  readonly noise: Noise;
  /** Log probability of the background under this reading, up to a constant that does not depend on it. */
  readonly evidence: number;
}

/** What background measurements say, for every reading of `batch` that is possible. */
export type Knowledge = readonly Learned[];

interface BackgroundModel {
  readonly description: Float64Array;
  readonly points: readonly Point[];
}

/**
 * Learns from background measurements. `asked` are the configurations (not the values) that will be measured or asked:
 * their precisions, optimizers and GPU kinds get coefficients too. No background is allowed: the beliefs stand alone.
 */
export function learnThroughput(background: readonly Measurement[], asked: readonly Configuration[]): Knowledge {
  const all = [...background, ...asked];
  const meanings: readonly BatchMeaning[] = all.some(({ gpuCount }) => gpuCount !== 1)
    ? ['all-gpus', 'each-gpu']
    : ['all-gpus'];
  return meanings.map((meaning) => learnUnder(featureSpace(all, meaning), background));
}

function learnUnder(space: FeatureSpace, background: readonly Measurement[]): Learned {
  const models = [...byModel(background).values()]
    .slice(0, MOST_MODELS)
    .map(
      (rows): BackgroundModel => ({
        description: describeModel(space, rows),
        points: thinned(rows).map((row) => pointOf(space, row)),
      }),
    );
  let regressions = space.features.map((feature) => believed(feature, space.families));
  let noise = BELIEVED_NOISE;
  let evidence = 0;
  let fits: Fit[] = [];
  for (let iteration = 0; iteration < ITERATIONS && models.length > 0; iteration++) {
    const priors = models.map(({ description }) => priorFrom(regressions, description, iteration === 0));
    fits = models.map(({ points }, m) =>
      fits[m] === undefined || iteration % 4 === 0
        ? fitsOf(space, points, priors[m]!, noise)[0]!
        : fit(space, points, priors[m]!, noise, fits[m].coefficients),
    );
    const covariances = fits.map(({ factor, coefficients }) => inverseFactored(factor, coefficients.length));
    evidence = fits.reduce((sum, one) => sum + one.evidence, 0);
    noise = noiseOf(space, models, fits, covariances, noise);
    regressions = space.features.map((feature, k) =>
      regress(feature, k, space.families, models, fits, covariances, regressions[k]!.variance),
    );
  }
  return { space, regressions, noise, evidence };
}

function thinned(rows: readonly Measurement[]): readonly Measurement[] {
  if (rows.length <= MOST_ROWS_PER_MODEL) return rows;
  return Array.from(
    { length: MOST_ROWS_PER_MODEL },
    (_, i) => rows[Math.floor((i * rows.length) / MOST_ROWS_PER_MODEL)]!,
  );
}

/** The belief about a model's coefficients before its first measurement. */
export function priorOf({ space, regressions }: Learned, rows: readonly Configuration[]): Prior {
  return priorFrom(regressions, describeModel(space, rows), true);
}

/** `withWeights` adds that the regression itself is uncertain; inside the iterations it is held fixed. */
function priorFrom(regressions: readonly Regression[], description: Float64Array, withWeights: boolean): Prior {
  return {
    mean: Float64Array.from(regressions, ({ weights }) => dot(weights, description)),
    variance: Float64Array.from(
      regressions,
      ({ variance, factor }) => variance + (withWeights ? varianceAlong(factor, description) : 0),
    ),
  };
}

function believed(feature: Feature, families: readonly string[]): Regression {
  const { mean, deviation } = belief(feature, families);
  return {
    weights: mean,
    factor: cholesky(diagonalPrecision(deviation), mean.length),
    variance: feature.spread.model ** 2,
  };
}

function diagonalPrecision(deviation: Float64Array): Float64Array {
  const matrix = new Float64Array(deviation.length ** 2);
  deviation.forEach((value, i) => {
    matrix[i * deviation.length + i] = 1 / value ** 2;
  });
  return matrix;
}

/** Maximisation for coefficient k: ridge regression to the belief, then the spread around it. */
function regress(
  feature: Feature,
  k: number,
  families: readonly string[],
  models: readonly BackgroundModel[],
  fits: readonly Fit[],
  covariances: readonly Float64Array[],
  variance: number,
): Regression {
  const { mean, deviation } = belief(feature, families);
  const size = mean.length;
  const matrix = diagonalPrecision(deviation);
  const right = mean.map((value, i) => value / deviation[i]! ** 2);
  models.forEach(({ description }, m) => {
    for (let i = 0; i < size; i++) {
      right[i] = right[i]! + (description[i]! * fits[m]!.coefficients[k]!) / variance;
      for (let j = 0; j < size; j++)
        matrix[i * size + j] = matrix[i * size + j]! + (description[i]! * description[j]!) / variance;
    }
  });
  const factor = cholesky(matrix, size);
  const weights = solveFactored(factor, right);
  let sum = SPREAD_STRENGTH * feature.spread.model ** 2;
  models.forEach(({ description }, m) => {
    const { coefficients } = fits[m]!;
    sum += covariances[m]![k * coefficients.length + k]! + (coefficients[k]! - dot(weights, description)) ** 2;
  });
  return { weights, factor, variance: sum / (models.length + SPREAD_STRENGTH) };
}

/** Maximisation for the two noises: expected squared residuals, shared out by regime. */
function noiseOf(
  space: FeatureSpace,
  models: readonly BackgroundModel[],
  fits: readonly Fit[],
  covariances: readonly Float64Array[],
  noise: Noise,
): Noise {
  const sums = CURVES.map((curve) => NOISE_STRENGTH * BELIEVED_NOISE[curve]);
  const counts = CURVES.map(() => NOISE_STRENGTH);
  models.forEach(({ points }, m) => {
    for (const { x, logSeconds } of points) {
      const at = evaluate(space, fits[m]!.coefficients, x, noise);
      const residual = logSeconds - at.logSeconds;
      const square =
        residual ** 2 * weightOf(residual, at.noise) + quadratic(covariances[m]!, gradient(space, x, at.shares));
      at.shares.forEach((share, c) => {
        sums[c] = sums[c]! + share * square;
        counts[c] = counts[c]! + share;
      });
    }
  });
  const [compute, launch, sync] = sums.map((sum, c) => sum / counts[c]!);
  return { compute: compute!, launch: launch!, sync: sync! };
}

function quadratic(matrix: Float64Array, v: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < v.length; i++) {
    if (v[i] === 0) continue;
    for (let j = 0; j < v.length; j++) sum += v[i]! * matrix[i * v.length + j]! * v[j]!;
  }
  return sum;
}
