/**
 * The forecast of each level of demand: in which share of the coming term the k-th GPU will be in use, judged by its
 * past alone.
 *
 * A regression with two hidden layers on the level's history (level-history.ts) and the length of the term. It was
 * fitted once, on SYNTHETIC demand drawn from a broad prior (tests/backtest/commitment-prior.mjs: seasons, trends,
 * steps, spells, queues of jobs, of every length and mixture), to the use that then followed, by
 * `tests/backtest/fit-commitment-forecast.mjs`; its output, a share, is the mean use under that prior given the
 * history, that is Bayes' forecast as far as the network can hold it ("amortised inference": Gershman and Goodman,
 * "Amortized Inference in Probabilistic Reasoning", 2014). It learns nothing from one tenant for another, and never
 * reads ahead. Invariant: the same history gives the same share, between 0 and 1.
 */
import { LEVEL_FEATURES, LevelHistory } from './level-history.js';
import { FORECAST_WEIGHTS } from './use-forecast-weights.js';

/** The fitted numbers: inputs are centred and scaled; each layer's weights are stored input by input. */
export interface ForecastWeights {
  readonly centre: readonly number[];
  readonly scale: readonly number[];
  readonly first: readonly number[];
  readonly firstBias: readonly number[];
  readonly second: readonly number[];
  readonly secondBias: readonly number[];
  readonly last: readonly number[];
  readonly lastBias: number;
}

/** Inputs of the regression: a level's history, and the logarithm of the term's hours. */
const FORECAST_INPUTS = LEVEL_FEATURES + 1;

export class UseForecast {
  private readonly history = new LevelHistory();
  private readonly inputs = new Float64Array(FORECAST_INPUTS);
  private readonly scaled = new Float64Array(FORECAST_INPUTS);
  private readonly hidden: Float64Array;
  private readonly deeper: Float64Array;

  constructor(
    termHours: number,
    private readonly weights: ForecastWeights = FORECAST_WEIGHTS,
  ) {
    this.inputs[LEVEL_FEATURES] = Math.log(termHours);
    this.hidden = new Float64Array(weights.firstBias.length);
    this.deeper = new Float64Array(weights.secondBias.length);
  }

  /** Takes the GPUs demanded in the next hour. */
  step(gpus: number): void {
    this.history.step(gpus);
  }

  /** The highest demand seen. */
  get peak(): number {
    return this.history.peak;
  }

  /** Expected share, 0 to 1, of the coming term's hours in which demand reaches `level` (1 or more). */
  expectedUse(level: number): number {
    const { weights, inputs, scaled, hidden, deeper } = this;
    this.history.describe(level, inputs);
    for (let input = 0; input < FORECAST_INPUTS; input++)
      scaled[input] = (inputs[input]! - weights.centre[input]!) / weights.scale[input]!;
    dense(scaled, weights.first, weights.firstBias, hidden);
    dense(hidden, weights.second, weights.secondBias, deeper);
    let sum = weights.lastBias;
    for (let unit = 0; unit < deeper.length; unit++) sum += deeper[unit]! * weights.last[unit]!;
    return 1 / (1 + Math.exp(-sum));
  }

  /**
   * The largest level up to `most` whose expected use exceeds `share`, by bisection: use falls with the level. 0 where
   * none does.
   */
  levelAbove(share: number, most: number): number {
    let [low, high] = [0, most];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.expectedUse(middle) > share) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** One layer of rectified linear units: `outputs` = max(0, bias + inputs x weights). */
function dense(inputs: Float64Array, weights: readonly number[], bias: readonly number[], outputs: Float64Array): void {
  outputs.set(bias);
  const width = outputs.length;
  for (let input = 0; input < inputs.length; input++) {
    const value = inputs[input]!;
    if (value === 0) continue;
    for (let output = 0; output < width; output++) outputs[output]! += value * weights[input * width + output]!;
  }
  for (let output = 0; output < width; output++) if (outputs[output]! < 0) outputs[output] = 0;
}
