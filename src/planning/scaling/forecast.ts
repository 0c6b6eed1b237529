/**
 * The calm load at the minute when a replica ordered now would begin to serve, forecast from the minutes so far.
 *
 * Knows only what `observe` was given: it never reads ahead, keeps no clock, and needs no training beforehand. Works on
 * the square root of the load, which makes the noise of a count nearly independent of its level (Bartlett 1936).
 *
 * A direct forecast by recursive least squares with forgetting (Ljung and Soderstrom 1983) over short and
 * long averages, the slope, and the same minute of yesterday and of last week where they are known.
 */

import { SlidingLevels } from './levels.js';

const HALF_LIVES = [1, 3, 8, 20] as const;
const HOUR_HALF_LIFE = 60;
const SEASONS = [1440, 10_080] as const;
const FEATURES = HALF_LIVES.length + 1 + SEASONS.length;
/** Weight of each feature before anything is learned: mostly the short averages, pulled a third towards the hour. */
const PRIOR_WEIGHTS = [0.1, 0.25, 0.35, 0, 0, 0, 0] as const;
const FORGETTING = 0.9995;
const SPREAD_HALF_LIFE = 120;
const SLOPE_WINDOW = 30;

/** A forecast of the load's square root, in square roots of replicas, and the standard deviation of its errors. */
export interface CalmForecast {
  readonly root: number;
  readonly deviation: number;
}

interface Pending {
  readonly features: Float64Array;
  readonly hour: number;
  readonly root: number;
}

/** A second moment with forgetting whose samples are cut at three deviations, so that surges do not widen the band. */
class Spread {
  private sum: number;
  private weight: number;
  constructor(deviation: number, weight: number) {
    this.sum = deviation * deviation * weight;
    this.weight = weight;
  }
  get deviation(): number {
    return Math.sqrt(this.sum / this.weight);
  }
  add(error: number): void {
    const keep = 0.5 ** (1 / SPREAD_HALF_LIFE);
    const cut = 9 * (this.sum / this.weight);
    this.sum = this.sum * keep + Math.min(error * error, cut);
    this.weight = this.weight * keep + 1;
  }
}

/** Spread in square-root scale grows with the square root of the level, between a count's and a proportional noise. */
const widen = (level: number): number => Math.sqrt(Math.max(level, 0.3));

export class LoadForecaster {
  private readonly levels = new SlidingLevels([...HALF_LIVES, HOUR_HALF_LIFE]);
  private readonly weights = Float64Array.from(PRIOR_WEIGHTS);
  private readonly inverse = new Float64Array(FEATURES * FEATURES);
  private readonly pending: Pending[] = [];
  private readonly spread = new Spread(0.08, 2);

  /** @param bootMinutes lead of the forecast. */
  constructor(private readonly bootMinutes: number) {
    for (let i = 0; i < FEATURES; i++) this.inverse[i * FEATURES + i] = 1;
  }

  /** Takes the load of the minute that just ended, in replicas. Call once per minute, in order. */
  observe(load: number): void {
    const root = Math.sqrt(load);
    if (this.pending.length > this.bootMinutes) this.learn(this.pending.shift()!, root);
    this.levels.add(root);
  }

  /** The forecast for the minute `bootMinutes` after the next one. Call at most once between two observations. */
  predict(): CalmForecast {
    const hour = Math.max(this.levels.at(HALF_LIVES.length), 0.3);
    const features = this.features(hour);
    let relative = 1;
    for (let i = 0; i < FEATURES; i++) relative += this.weights[i]! * features[i]!;
    const root = hour * Math.min(5, Math.max(0.02, relative));
    this.pending.push({ features, hour, root });
    return { root, deviation: this.spread.deviation * widen(root) };
  }

  private features(hour: number): Float64Array {
    const features = new Float64Array(FEATURES);
    const now = this.levels.count;
    for (let i = 0; i < HALF_LIVES.length; i++) features[i] = this.levels.at(i) / hour - 1;
    const half = SLOPE_WINDOW / 2;
    if (now >= SLOPE_WINDOW) {
      const slope = (this.levels.mean(now - half, now) - this.levels.mean(now - SLOPE_WINDOW, now - half)) / half;
      features[HALF_LIVES.length] = (slope * (half / 2 + this.bootMinutes)) / hour;
    }
    SEASONS.forEach((season, i) => {
      if (now < season + 60) return;
      const then = now + this.bootMinutes - season;
      const expected = this.levels.mean(then - 8, Math.min(then + 9, now));
      const growth = this.levels.mean(now - 60, now) / Math.max(this.levels.mean(now - 60 - season, now - season), 0.3);
      features[HALF_LIVES.length + 1 + i] = Math.min(2, Math.max(-1, (expected * growth) / hour - 1));
    });
    return features;
  }

  /** One step of recursive least squares, and the error of the forecast for its spread. */
  private learn(made: Pending, root: number): void {
    const { features, hour } = made;
    let predicted = 0;
    let denominator = FORGETTING;
    const gain = new Float64Array(FEATURES);
    for (let i = 0; i < FEATURES; i++) {
      predicted += this.weights[i]! * features[i]!;
      for (let j = 0; j < FEATURES; j++) gain[i] = gain[i]! + this.inverse[i * FEATURES + j]! * features[j]!;
      denominator += gain[i]! * features[i]!;
    }
    const error = Math.min(1, Math.max(-1, root / hour - 1 - predicted));
    for (let i = 0; i < FEATURES; i++) {
      this.weights[i] = this.weights[i]! + (gain[i]! / denominator) * error;
      for (let j = 0; j < FEATURES; j++) {
        const entry = (this.inverse[i * FEATURES + j]! - (gain[i]! * gain[j]!) / denominator) / FORGETTING;
        // Without the bound, features that stay zero for long would let the matrix grow without limit.
        this.inverse[i * FEATURES + j] = Math.min(1000, entry);
      }
    }
    this.spread.add((root - made.root) / widen(made.root));
  }
}

/** The forecast before anything was observed: the fleet that is there is taken to be sized for its load. */
export function priorForecast(replicas: number): CalmForecast {
  const root = Math.sqrt(Math.max(replicas - 0.5, 0.25));
  return { root, deviation: 0.16 * root };
}
