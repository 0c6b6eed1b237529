/**
 * The rules that Bursar's prediction is held against: straight lines, fitted by least squares.
 *
 * They see what Bursar sees and no more. A line may predict a negative throughput; it is left as it is, since the rule
 * says so. A per-model fit can be read in several ways: each is here under its own name, and the best of them is the
 * one to beat.
 */
import { cholesky, dot, solveFactored } from '../../planning/throughput/linear-algebra.js';
import type { Configuration, Measurement } from '../../core/workload/measurement.js';
import { optimizerOf, precisionOf } from '../../planning/throughput/measurement.js';

/** Columns of a regression without the constant; null where a row does not state the value. */
export type Columns = (configuration: Configuration) => readonly (number | null)[];

/** Predicts the samples per second of a configuration. */
export type Line = (configuration: Configuration) => number;

/** Relative ridge that picks the smallest coefficients where columns cannot be told apart. */
const RIDGE = 1e-9;

/**
 * Ordinary least squares with a constant. Columns are centred and scaled; a value that is not stated is the column's
 * mean; a column that does not vary has no coefficient. `rows` are one or more.
 */
export function leastSquares(
  rows: readonly Measurement[],
  columns: Columns,
  valueOf: (row: Measurement) => number = (row) => row.samplesPerSecond,
): Line {
  const table = rows.map(columns);
  const width = table[0]!.length;
  const mean = new Float64Array(width);
  const scale = new Float64Array(width);
  for (let j = 0; j < width; j++) {
    const known = table.flatMap((row) => row[j] ?? []);
    mean[j] = known.reduce((a, b) => a + b, 0) / Math.max(1, known.length);
    scale[j] = Math.sqrt(known.reduce((sum, value) => sum + (value - mean[j]!) ** 2, 0));
  }
  const standard = (row: readonly (number | null)[]): Float64Array =>
    Float64Array.from(row, (value, j) =>
      value === null || scale[j]! <= 1e-12 * Math.abs(mean[j]!) ? 0 : (value - mean[j]!) / scale[j]!,
    );
  const level = rows.reduce((sum, row) => sum + valueOf(row), 0) / rows.length;
  const matrix = new Float64Array(width * width);
  const right = new Float64Array(width);
  for (let j = 0; j < width; j++) matrix[j * width + j] = RIDGE;
  table.forEach((row, r) => {
    const x = standard(row);
    for (let i = 0; i < width; i++) {
      right[i] = right[i]! + x[i]! * (valueOf(rows[r]!) - level);
      for (let j = 0; j < width; j++) matrix[i * width + j] = matrix[i * width + j]! + x[i]! * x[j]!;
    }
  });
  const weights = solveFactored(cholesky(matrix, width), right);
  return (configuration) => level + dot(weights, standard(columns(configuration)));
}

/** One line for all models: throughput = a x batch + b x log(params) + c x gpus + d. */
export function linearGlobal(measured: readonly Measurement[], background: readonly Measurement[]): Line {
  return leastSquares([...background, ...measured], ({ batch, params, gpuCount }) => [
    batch,
    params === null ? null : Math.log(params),
    gpuCount,
  ]);
}

/** The same form for one model, whose parameters are constant: a x batch + c x gpus + d. */
export function linearPerModel(measured: readonly Measurement[]): Line {
  return leastSquares(measured, ({ batch, gpuCount }) => [batch, gpuCount]);
}

/**
 * A per-model line read widely: batch, size, GPUs and an indicator per precision, optimizer and GPU kind that was
 * measured.
 */
export function linearPerModelFeatures(measured: readonly Measurement[]): Line {
  const indicators = indicatorsOf(measured);
  return leastSquares(measured, (c) => [c.batch, c.size, c.gpuCount, ...indicators(c)]);
}

/** A per-model power law: the logarithm of the throughput over the logarithm of the batch. */
export function logLinearPerModel(measured: readonly Measurement[]): Line {
  return exponential(leastSquares(measured, (c) => [Math.log(c.batch), Math.log(c.gpuCount)], logThroughput));
}

/** The power law with every feature: logarithms of batch, size and GPUs, and the indicators. */
export function logLinearPerModelFeatures(measured: readonly Measurement[]): Line {
  const indicators = indicatorsOf(measured);
  return exponential(
    leastSquares(
      measured,
      (c) => [Math.log(c.batch), c.size === null ? null : Math.log(c.size), Math.log(c.gpuCount), ...indicators(c)],
      logThroughput,
    ),
  );
}

const logThroughput = (row: Measurement): number => Math.log(row.samplesPerSecond);
const exponential =
  (line: Line): Line =>
  (configuration) =>
    Math.exp(line(configuration));

/** One column per precision, optimizer and GPU kind that was measured. */
function indicatorsOf(measured: readonly Measurement[]): (configuration: Configuration) => number[] {
  const gpuOf = ({ gpu }: Configuration): string => gpu;
  const columns = [precisionOf, optimizerOf, gpuOf].flatMap((of) =>
    [...new Set(measured.map(of))].sort().map((level) => ({ of, level })),
  );
  return (configuration) => columns.map(({ of, level }) => Number(of(configuration) === level));
}
