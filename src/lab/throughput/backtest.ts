/**
 * The throughput backtest: each model in turn is known by a few of its rows, chosen at random, and the rest is
 * predicted.
 *
 * The rows of other models are background; the held-out values go to the scorer alone. A case is one held-out row in
 * one repetition. Its cost is the absolute percentage error, as a fraction; shares are of the saving of the
 * measurements themselves (error 0) over the global line.
 */
import {
  pooledShare,
  type BacktestCell,
  type BacktestProgress,
  type BacktestReport,
  type PolicyResult,
} from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { mulberry32, type Random } from '../random.js';
import { learnThroughput } from '../../planning/throughput/hierarchy.js';
import type { Configuration, Measurement } from '../../core/workload/measurement.js';
import { byModel, configurationOf } from '../../planning/throughput/measurement.js';
import {
  linearGlobal,
  linearPerModel,
  linearPerModelFeatures,
  logLinearPerModel,
  logLinearPerModelFeatures,
  type Line,
} from './opponents.js';
import { predictWith } from '../../planning/throughput/predict.js';

/** A model with fewer rows is background only. */
const FEWEST_ROWS = 12;
const MOST_REPETITIONS = 100;
const FEWEST_REPETITIONS = 5;
/** Repetitions shrink until a run predicts about this many rows. */
const MOST_CASES = 40_000;
const BASELINE = 'linear-global';

/** Sums over the cases of a cell, per policy. */
interface Tally {
  error: number;
  covered: number;
}

interface Scored {
  readonly model: string;
  readonly cases: number;
  readonly tallies: ReadonlyMap<string, Tally>;
}

/** Predictions of one policy for the held-out rows, with intervals where the policy has them. */
type Predictor = (
  measured: readonly Measurement[],
  queries: readonly Configuration[],
) => readonly { readonly samplesPerSecond: number; readonly low?: number; readonly high?: number }[];

const hasIntervals = (name: string): boolean => name === 'bursar';

/**
 * @param points rows of the model that a prediction may see.
 * @throws Failure `invalid` when `points` is not a whole number above 0 or no model has rows enough.
 */
export function throughputReport(
  measurements: readonly Measurement[],
  points: number,
  seed: number,
  described: Readonly<Record<string, unknown>> = {},
  progress: BacktestProgress = () => undefined,
): BacktestReport {
  const models = byModel(measurements);
  const fewest = Math.max(FEWEST_ROWS, points + 1);
  const tested = [...models.keys()].filter((model) => models.get(model)!.length >= fewest);
  const problems: Problem[] = [];
  if (!(Number.isSafeInteger(points) && points > 0))
    problems.push({ path: 'points', message: 'must be a whole number above 0' });
  else if (tested.length === 0)
    problems.push({ path: 'measurements', message: `no model has ${fewest} measured rows` });
  if (problems.length > 0) throw invalid('the backtest cannot be run', problems);
  const heldOut = tested.reduce((sum, model) => sum + models.get(model)!.length - points, 0);
  const repetitions = Math.max(FEWEST_REPETITIONS, Math.min(MOST_REPETITIONS, Math.floor(MOST_CASES / heldOut)));
  const scored = tested.map((model, i) => {
    progress(i / tested.length);
    return score(model, models.get(model)!, measurements, points, repetitions, mulberry32(seed + i));
  });
  return {
    problem: 'throughput',
    settings: {
      ...described,
      points,
      seed,
      repetitions,
      fewestRows: FEWEST_ROWS,
      models: models.size,
      rows: measurements.length,
      backgroundOnly: [...models.keys()].filter((model) => !tested.includes(model)),
      costUnit: 'absolute percentage error of samples per second, as a fraction',
      shareBaseline: BASELINE,
      background: 'all rows of the other models',
    },
    cells: scored.map(cellOf),
    mean: pooled(scored),
  };
}

function score(
  model: string,
  rows: readonly Measurement[],
  all: readonly Measurement[],
  points: number,
  repetitions: number,
  random: Random,
): Scored {
  const background = all.filter((row) => row.model !== model);
  const predictors = predictorsFor(background, rows);
  const tallies = new Map(
    [...predictors.keys(), 'clairvoyant'].map((name): [string, Tally] => [name, { error: 0, covered: 0 }]),
  );
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const order = shuffled(rows, random);
    const [measured, held] = [order.slice(0, points), order.slice(points)];
    const queries = held.map(configurationOf);
    for (const [name, predict] of predictors) {
      const tally = tallies.get(name)!;
      predict(measured, queries).forEach(({ samplesPerSecond, low = Infinity, high = -Infinity }, i) => {
        const truth = held[i]!.samplesPerSecond;
        tally.error += Math.abs(samplesPerSecond - truth) / truth;
        tally.covered += Number(low <= truth && truth <= high);
      });
    }
  }
  return { model, cases: repetitions * (rows.length - points), tallies };
}

/** `asked` lends its configurations, so that every level has a coefficient; its values are not read. */
function predictorsFor(background: readonly Measurement[], asked: readonly Configuration[]): Map<string, Predictor> {
  const knowledge = learnThroughput(background, asked.map(configurationOf));
  const along =
    (fit: (measured: readonly Measurement[]) => Line): Predictor =>
    (measured, queries) => {
      const line = fit(measured);
      return queries.map((query) => ({ samplesPerSecond: line(query) }));
    };
  return new Map<string, Predictor>([
    [BASELINE, along((measured) => linearGlobal(measured, background))],
    ['linear-per-model', along(linearPerModel)],
    ['linear-per-model-features', along(linearPerModelFeatures)],
    ['log-linear-per-model', along(logLinearPerModel)],
    ['log-linear-per-model-features', along(logLinearPerModelFeatures)],
    ['bursar', (measured, queries) => predictWith(knowledge, measured, queries)],
  ]);
}

/** Fisher and Yates. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

function cellOf({ model, cases, tallies }: Scored): BacktestCell {
  return { name: model, count: cases, policies: resultsOf(tallies, cases) };
}

function resultsOf(tallies: ReadonlyMap<string, Tally>, cases: number): PolicyResult[] {
  const baseline = tallies.get(BASELINE)!.error;
  return [...tallies].map(([name, { error, covered }]) => ({
    name,
    meanCost: error / cases,
    meanShare: pooledShare({ baseline, policy: error, optimum: 0 }),
    meanAbsolutePercentageError: error / cases,
    coverage90: hasIntervals(name) ? covered / cases : null,
  }));
}

/** Over all cases of all cells. */
function pooled(scored: readonly Scored[]): BacktestReport['mean'] {
  const sums = new Map<string, Tally>();
  for (const { tallies } of scored) {
    for (const [name, { error, covered }] of tallies) {
      const sum = sums.get(name) ?? { error: 0, covered: 0 };
      sums.set(name, { error: sum.error + error, covered: sum.covered + covered });
    }
  }
  const cases = scored.reduce((sum, cell) => sum + cell.cases, 0);
  return resultsOf(sums, cases).map(({ name, meanShare, meanAbsolutePercentageError, coverage90 }) => ({
    name,
    meanShare,
    meanAbsolutePercentageError: meanAbsolutePercentageError!,
    coverage90: coverage90!,
  }));
}
