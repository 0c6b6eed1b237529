/**
 * One forecast of a sum of days out of many: the weighted median of the experts, each weighted by its past errors.
 *
 * Walks through the days once; at each, the errors that have just come due change the weights of that day's forecast.
 * Never reads ahead. It also passes on the earlier errors of the same forecast, from which the interval is made.
 * What moving each of the constants would change: `node tests/backtest/forecast-constants.mjs`.
 */
import { expectSum, type Expert } from './experts.js';
import { WEEK_DAYS } from './week.js';

/** Share of the errors' weight that is kept per day. */
const KEEPING = 0.99;
/** Origins at the best expert's mean error that each expert starts from: few errors tell little. */
const PRIOR_ORIGINS = 3;
const LEAST_LOSS = 0.02;
/** A relative error beyond this says only that the level was near nothing. */
const MOST_ERROR = 3;

/** How sharply a smaller past error raises an expert's weight. */
function eighth(ratio: number): number {
  const fourth = ratio * ratio * (ratio * ratio);
  return fourth * fourth;
}

/** Forecasts of the sum of the next `days` days, one after each day of the past. */
export interface Track {
  readonly days: number;
  readonly forecasts: Float64Array;
  /** Actual less forecast per day ahead, in currency units, by the day of the origin; as many as are due. */
  readonly errors: readonly number[];
}

export interface Weighting {
  /** By how many days ahead; ascending, the last one is the horizon asked for. */
  readonly tracks: readonly Track[];
  /** Weights of the experts for that horizon, after the last day. */
  readonly weights: Float64Array;
}

/** The past of one horizon. */
class Horizon {
  readonly errors: number[] = [];
  readonly forecasts: Float64Array;
  /** Sums of the experts' relative errors, and how many origins they are of; both forget. */
  readonly losses: Float64Array;
  origins = 0;
  private readonly said: Float64Array;

  constructor(
    readonly days: number,
    private readonly experts: readonly Expert[],
    length: number,
  ) {
    this.forecasts = new Float64Array(length);
    this.losses = new Float64Array(experts.length);
    this.said = new Float64Array(length * experts.length);
  }

  /** What the experts say after a day. */
  ask(day: number): Float64Array {
    const from = day * this.experts.length;
    this.experts.forEach(({ states }, index) => {
      const state = states[day];
      this.said[from + index] = state === undefined ? 0 : expectSum(state, this.days);
    });
    return this.said.subarray(from, from + this.experts.length);
  }

  /** The sum of the days after `origin` is known now. */
  learn(origin: number, actual: number, mean: number): void {
    const from = origin * this.experts.length;
    const scale = mean * this.days;
    for (let index = 0; index < this.losses.length; index += 1) {
      const miss = Math.abs((this.said[from + index] ?? 0) - actual) / scale;
      this.losses[index] = (this.losses[index] ?? 0) * KEEPING + Math.min(miss, MOST_ERROR);
    }
    this.origins = this.origins * KEEPING + 1;
    this.errors.push((actual - (this.forecasts[origin] ?? 0)) / this.days);
  }
}

/**
 * @param history spend per day, oldest first, at least one
 * @param experts of that history
 * @param days how many days ahead are summed, 1 or more
 */
export function weightExperts(history: readonly number[], experts: readonly Expert[], days: number): Weighting {
  const horizons = [...new Set([1, Math.min(WEEK_DAYS, days), days])].map(
    (ahead) => new Horizon(ahead, experts, history.length),
  );
  const totals = new Float64Array(history.length + 1);
  history.forEach((value, day) => (totals[day + 1] = (totals[day] ?? 0) + value));
  let weights: Float64Array = new Float64Array(experts.length);
  history.forEach((_, day) => {
    for (const horizon of horizons) {
      const origin = day - horizon.days;
      if (origin < 0) continue;
      // Relative to the mean of the days that were known then: of a series that grows, the later errors are the larger
      // ones.
      const mean = Math.max((totals[origin + 1] ?? 0) / (origin + 1), 1e-9);
      horizon.learn(origin, (totals[day + 1] ?? 0) - (totals[origin + 1] ?? 0), mean);
    }
    horizons.forEach((horizon, index) => {
      weights = weightsOf(horizons.slice(0, index + 1), experts);
      horizon.forecasts[day] = Math.max(0, weightedMedian(horizon.ask(day), weights));
    });
  });
  return { tracks: horizons, weights };
}

/** By the errors at this horizon and at the shorter ones, of which more are known. */
function weightsOf(horizons: readonly Horizon[], experts: readonly Expert[]): Float64Array {
  const weights = new Float64Array(experts.length);
  let origins = 0;
  for (const horizon of horizons) {
    origins += horizon.origins;
    for (let index = 0; index < weights.length; index += 1)
      weights[index] = (weights[index] ?? 0) + (horizon.losses[index] ?? 0);
  }
  let least = Infinity;
  for (const loss of weights) least = Math.min(least, loss);
  const start = LEAST_LOSS + PRIOR_ORIGINS * (origins > 0 ? least / origins : 1);
  for (let index = 0; index < weights.length; index += 1) {
    weights[index] = (experts[index]?.prior ?? 0) * eighth((least + start) / ((weights[index] ?? 0) + start));
  }
  return weights;
}

/** The smallest value that half of the weight does not exceed. */
export function weightedMedian(values: ArrayLike<number>, weights: ArrayLike<number>): number {
  // Sorted by insertion: a dozen values, asked for at every day of the past.
  const order = new Uint8Array(values.length);
  let total = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? 0;
    let place = index;
    for (; place > 0 && (values[order[place - 1] ?? 0] ?? 0) > value; place -= 1) order[place] = order[place - 1] ?? 0;
    order[place] = index;
    total += weights[index] ?? 0;
  }
  let reached = 0;
  for (const index of order) {
    reached += weights[index] ?? 0;
    if (reached >= total / 2) return values[index] ?? 0;
  }
  return values[order.at(-1) ?? 0] ?? 0;
}
