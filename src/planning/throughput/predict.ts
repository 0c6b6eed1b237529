/**
 * The throughput of an unmeasured configuration, with an interval, and the time and cost of finishing with it.
 *
 * It reads the measured rows, the background and the requested configuration; never a value that it should predict.
 * Every answer contains an interval; without any measurement it is wide, not absent.
 */
import { invalid, type Problem } from '../../core/errors.js';
import { costOf, type Money, type Rate } from '../../core/money.js';
import { encode } from './features.js';
import { learnThroughput, priorOf, type Knowledge, type Learned } from './hierarchy.js';
import { varianceAlong } from './linear-algebra.js';
import type { Configuration, Measurement } from '../../core/workload/measurement.js';
import { evaluate, fitsOf, gradient, logThroughput, noiseScale, pointOf, type Fit } from './step-time.js';

/**
 * How many measurements the belief that a model is as noisy as the others is worth; also the t distribution's base
 * freedom.
 */
const SCALE_STRENGTH = 8;

export interface ThroughputEstimate {
  /** The value with the least expected absolute percentage error. */
  readonly samplesPerSecond: number;
  /** Ends of the interval that holds the true value nine times in ten. */
  readonly low: number;
  readonly high: number;
}

export interface ThroughputQuery extends Configuration {
  /** Samples until the work is done. */
  readonly samples?: number;
  /** Price of a GPU, per GPU-second; the cost needs `samples` too. */
  readonly rate?: Rate;
}

export interface Range<T> {
  readonly expected: T;
  readonly low: T;
  readonly high: T;
}

export interface ThroughputPrediction extends ThroughputEstimate {
  /** Present where the query says how many samples. */
  readonly secondsToFinish?: Range<number>;
  /**
   * Present where the query also has a rate: all its GPUs for that long, before a seller's increment and peak factor.
   */
  readonly cost?: Range<Money>;
}

/** Thirty orders of magnitude to each side: whatever lies beyond is as good as unknown. */
const MOST_LOG = 30 * Math.LN10;

/** Upper limit of a logarithm, so that an interval with almost no knowledge stays finite. */
const rateOf = (log: number): number => Math.exp(Math.max(-MOST_LOG, Math.min(MOST_LOG, log)));

/**
 * Predicts one configuration from measured rows of the same model and background rows of others.
 * @param measured rows of the query's model; none is allowed.
 * @param learn as `learnThroughput`, or what has kept it
 * @throws Failure `invalid` naming every number that is not above 0, and every measured row of another model.
 */
export function predictThroughput(
  measured: readonly Measurement[],
  background: readonly Measurement[],
  query: ThroughputQuery,
  learn = learnThroughput,
): ThroughputPrediction {
  const problems = [
    ...measured.flatMap((row, i) => [
      ...problemsOf(row, `measured/${i}`),
      ...(row.model === query.model
        ? []
        : [{ path: `measured/${i}/model`, message: 'is not the model that is asked about' }]),
    ]),
    ...background.flatMap((row, i) => problemsOf(row, `background/${i}`)),
    ...problemsOf(query, 'query'),
  ];
  if (problems.length > 0) throw invalid('the throughput cannot be predicted', problems);
  const [estimate] = predictWith(learn(background, [...measured, query]), measured, [query]);
  return { ...estimate!, ...finish(estimate!, query) };
}

/** Time and cost at that throughput, as far as the query has samples and a rate. */
export function finish(
  estimate: ThroughputEstimate,
  { samples, rate, gpuCount }: ThroughputQuery,
): Pick<ThroughputPrediction, 'secondsToFinish' | 'cost'> {
  if (samples === undefined) return {};
  const secondsToFinish = {
    expected: samples / estimate.samplesPerSecond,
    low: samples / estimate.high,
    high: samples / estimate.low,
  };
  if (rate === undefined) return { secondsToFinish };
  const costFor = (seconds: number): Money =>
    costOf(BigInt(Math.round(seconds * 1000)) * BigInt(gpuCount), 1000n, rate);
  return {
    secondsToFinish,
    cost: {
      expected: costFor(secondsToFinish.expected),
      low: costFor(secondsToFinish.low),
      high: costFor(secondsToFinish.high),
    },
  };
}

/** The problems with the numbers of a row. */
function problemsOf(
  row: Configuration & { readonly samplesPerSecond?: number; readonly samples?: number; readonly rate?: Rate },
  path: string,
): Problem[] {
  const above: readonly (readonly [name: string, value: number | null | undefined])[] = [
    ['batch', row.batch],
    ['samplesPerSecond', row.samplesPerSecond],
    ['params', row.params],
    ['size', row.size],
    ['samples', row.samples],
  ];
  const counts: readonly (readonly [name: string, value: number | null])[] = [
    ['gpuCount', row.gpuCount],
    ['nodes', row.nodes],
  ];
  return [
    ...above
      .filter(([, value]) => value !== null && value !== undefined && !(Number.isFinite(value) && value > 0))
      .map(([name]) => ({ path: `${path}/${name}`, message: 'is not above 0' })),
    ...counts
      .filter(([, value]) => value !== null && !(Number.isSafeInteger(value) && value > 0))
      .map(([name]) => ({ path: `${path}/${name}`, message: 'is not a whole number above 0' })),
    ...(row.rate !== undefined && row.rate.unit !== 'gpu-second'
      ? [{ path: `${path}/rate`, message: 'is not per GPU-second' }]
      : []),
  ];
}

/** Predictions for several configurations of one model, from its measured rows and what was learned before. */
export function predictWith(
  knowledge: Knowledge,
  measured: readonly Measurement[],
  queries: readonly Configuration[],
): ThroughputEstimate[] {
  if (queries.length === 0) return [];
  const rows = [...measured, ...queries];
  const fitted = knowledge.flatMap((learned) => {
    const { space, noise, evidence } = learned;
    const points = measured.map((row) => pointOf(space, row));
    return fitsOf(space, points, priorOf(learned, rows), noise).map((fit) => ({
      learned,
      fit,
      scale: noiseScale(space, points, fit, noise, SCALE_STRENGTH),
      evidence: evidence + fit.evidence,
    }));
  });
  const most = Math.max(...fitted.map(({ evidence }) => evidence));
  const sum = fitted.reduce((total, { evidence }) => total + Math.exp(evidence - most), 0);
  const weighted = fitted.map((one) => ({ ...one, weight: Math.exp(one.evidence - most) / sum }));
  return queries.map((query) => estimateOf(weighted, measured.length, query));
}

/** One explanation of the measured rows: a reading of `batch`, and which curve is the longer where. */
interface WeightedFit {
  readonly learned: Learned;
  readonly fit: Fit;
  /** Of its noise, for this model. */
  readonly scale: number;
  /** All weights sum to 1. */
  readonly weight: number;
}

/** Mean and variance over all explanations. */
function estimateOf(fitted: readonly WeightedFit[], measured: number, query: Configuration): ThroughputEstimate {
  let [middle, square, around] = [0, 0, 0];
  for (const { learned, fit, scale, weight } of fitted) {
    const { space, noise } = learned;
    const x = encode(space, query);
    const at = evaluate(space, fit.coefficients, x, noise);
    const log = logThroughput(space, query, at.logSeconds);
    middle += weight * log;
    square += weight * log ** 2;
    around += weight * scale * (at.noise + varianceAlong(fit.factor, gradient(space, x, at.shares)));
  }
  const variance = around + Math.max(0, square - middle ** 2);
  const reach = studentQuantile95(SCALE_STRENGTH + measured) * Math.sqrt(variance);
  // E|guess / y - 1| of a log-normal y is least at exp(mean - variance), below the median; a wide belief stops at its
  // interval.
  return {
    samplesPerSecond: rateOf(middle - Math.min(variance, reach)),
    low: rateOf(middle - reach),
    high: rateOf(middle + reach),
  };
}

/** 95th percentile of Student's t for 4 or more degrees of freedom (expansion of Abramowitz and Stegun, 26.7.5). */
export function studentQuantile95(freedom: number): number {
  const z = 1.6448536269514722;
  const g1 = (z ** 3 + z) / 4;
  const g2 = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const g3 = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + g1 / freedom + g2 / freedom ** 2 + g3 / freedom ** 3;
}
