/**
 * The load at the minute when a replica ordered now would begin to serve, as a distribution, learned online.
 *
 * Knows only what `observe` was given: it never reads ahead, keeps no clock, and needs no training beforehand. Works on
 * the square root of the load, which makes the noise of a count nearly independent of its level (Bartlett 1936).
 *
 * Three parts. A direct forecast by recursive least squares with forgetting (Ljung and Soderstrom 1983) over short and
 * long averages, the slope, and the same minute of yesterday and of last week where they are known. A follower, an average that starts anew when the
 * load leaves its band, for loads that jump. The distribution is empirical: past errors of the direct forecast, those
 * weighted most that were made when the last minute deviated from its hour as it does now; where history is short, a
 * wide prior stands in and fades.
 */

import { Distribution } from './distribution.js';
import { SlidingLevels } from './levels.js';

const HALF_LIVES = [1, 3, 8, 20] as const;
const HOUR_HALF_LIFE = 60;
const SEASONS = [1440, 10_080] as const;
const FEATURES = HALF_LIVES.length + 1 + SEASONS.length;
/** Weight of each feature before anything is learned: mostly the short averages, pulled a third towards the hour. */
const PRIOR_WEIGHTS = [0.1, 0.25, 0.35, 0, 0, 0, 0] as const;
const FORGETTING = 0.9995;
const SPREAD_HALF_LIFE = 120;
const MAXIMUM_ERRORS = 4000;
const SLOPE_WINDOW = 30;
const SCORE_FORGETTING = 0.99;
const SCORE_SHARPNESS = 40;
/** Normal quantiles at (i + 1/2) / 16. */
const NORMAL_16 = [-1.863, -1.318, -1.01, -0.776, -0.579, -0.402, -0.237, -0.078, 0.078, 0.237, 0.402, 0.579, 0.776, 1.01, 1.318, 1.863];
const MARGINAL_MINUTES = 240;

export interface LoadForecast {
  /** Direct forecast and the standard deviation of its errors, both in square roots of replicas. */
  readonly direct: number;
  readonly directSpread: number;
  /** Level and spread of the follower, in square roots of replicas. */
  readonly followed: number;
  readonly followedSpread: number;
  /** Level without its surges, in replicas. */
  readonly calm: number;
  /** Expected load beyond k replicas where the load had no memory, in replicas; k from 0 to the maximum fleet. */
  readonly marginal: Float64Array;
  /** Expected load beyond k replicas, both views weighed by how well they foretold so far. */
  readonly shortfall: Float64Array;
}

interface Pending {
  readonly features: Float64Array;
  readonly hour: number;
  readonly direct: number;
  readonly deviation: number;
  readonly conditional: Distribution;
  readonly marginal: Distribution;
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
  private readonly errors: number[] = [];
  private readonly deviations: number[] = [];
  private readonly directSpread = new Spread(0.08, 2);
  private readonly followedSpread = new Spread(0.08, 2);
  private conditionalScore = 0;
  private marginalScore = 0;
  private followedSum = 0;
  private followedWeight = 0;
  private calm = 0;
  /** Squares of the relative change from minute to minute: how wide the prior must be. */
  private changeSum = 0.0512;
  private changeWeight = 2;

  /** @param bootMinutes lead of the forecast; @param maxReplicas the largest fleet that `shortfall` covers. */
  constructor(private readonly bootMinutes: number, private readonly maxReplicas: number) {
    for (let i = 0; i < FEATURES; i++) this.inverse[i * FEATURES + i] = 1;
  }

  /** Takes the load of the minute that just ended, in replicas. Call once per minute, in order. */
  observe(load: number): void {
    const root = Math.sqrt(load);
    if (this.pending.length > this.bootMinutes) this.learn(this.pending.shift()!, root);
    if (this.levels.count > 0) {
      const change = (root - this.levels.at(1)) / Math.max(this.levels.at(HALF_LIVES.length), 0.5);
      this.changeSum += Math.min(1, change * change);
      this.changeWeight += 1;
    }
    this.follow(root);
    this.levels.add(root);
  }

  /** The forecast for the minute `bootMinutes` after the next one. Call at most once between two observations. */
  predict(): LoadForecast {
    const hour = Math.max(this.levels.at(HALF_LIVES.length), 0.3);
    const features = this.features(hour);
    let relative = 1;
    for (let i = 0; i < FEATURES; i++) relative += this.weights[i]! * features[i]!;
    const direct = hour * Math.min(5, Math.max(0.02, relative));
    const deviation = this.levels.last / hour - 1;
    const conditional = this.conditional(direct, hour, deviation);
    const marginal = this.marginal(hour);
    this.pending.push({ features, hour, direct, deviation, conditional, marginal });
    const trust = this.trustInConditional();
    const beyondMarginal = marginal.shortfall();
    const followed = this.followedSum / this.followedWeight;
    return {
      direct,
      directSpread: this.directSpread.deviation * widen(direct),
      followed,
      followedSpread: this.followedSpread.deviation * widen(followed),
      calm: this.calm * this.calm,
      marginal: beyondMarginal,
      shortfall: conditional.shortfall().map((value, k) => trust * value + (1 - trust) * beyondMarginal[k]!),
    };
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

  /** One step of recursive least squares, and the error of the forecast kept for the distribution. */
  private learn(made: Pending, root: number): void {
    const { features, hour, direct } = made;
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
    const load = root * root;
    this.conditionalScore = this.conditionalScore * SCORE_FORGETTING + made.conditional.score(load);
    this.marginalScore = this.marginalScore * SCORE_FORGETTING + made.marginal.score(load);
    this.directSpread.add((root - direct) / widen(direct));
    this.deviations.push(made.deviation);
    this.errors.push((root - direct) / widen(Math.max(direct, 0.25 * hour)));
  }

  /** Weight of the conditional view against the marginal one: exponential in their scores so far. */
  private trustInConditional(): number {
    const least = Math.max(1e-9, Math.min(this.conditionalScore, this.marginalScore));
    return 1 / (1 + Math.exp(SCORE_SHARPNESS * ((this.conditionalScore - this.marginalScore) / least)));
  }

  private follow(root: number): void {
    const level = this.followedWeight > 0 ? this.followedSum / this.followedWeight : root;
    const error = root - level;
    const band = 3 * this.followedSpread.deviation * widen(level);
    if (Math.abs(error) > band) {
      this.followedSum = 0;
      this.followedWeight = 0;
    }
    if (this.levels.count > 0) this.followedSpread.add(error / widen(level));
    const keep = 0.5 ** (1 / 6);
    this.followedSum = this.followedSum * keep + root;
    this.followedWeight = this.followedWeight * keep + 1;
    if (this.levels.count === 0) {
      this.calm = root;
      return;
    }
    const rate = Math.max(1 - 0.5 ** (1 / 10), 1 / (this.levels.count + 1));
    const cut = 2.5 * this.followedSpread.deviation * widen(this.calm);
    this.calm += rate * Math.min(cut, Math.max(-cut, root - this.calm));
  }

  /** The direct forecast with its past errors around it. */
  private conditional(direct: number, hour: number, deviation: number): Distribution {
    const distribution = new Distribution(this.maxReplicas);
    const count = this.errors.length;
    const first = Math.max(0, count - MAXIMUM_ERRORS);
    const everyone = Math.min(1, 8 / Math.max(1, count - first));
    const reach = 0.12 * (1 + Math.abs(deviation));
    const scale = widen(Math.max(direct, 0.25 * hour));
    for (let i = first; i < count; i++) {
      const distance = Math.abs(this.deviations[i]! - deviation) / reach;
      distribution.add(direct + this.errors[i]! * scale, everyone + (distance < 1 ? 1 - distance : 0));
    }
    this.addPrior(distribution, direct, hour);
    return distribution;
  }

  /** The loads of the last hours as they were, for a load without memory. */
  private marginal(hour: number): Distribution {
    const distribution = new Distribution(this.maxReplicas);
    for (let ago = 0; ago < Math.min(this.levels.count, MARGINAL_MINUTES); ago++) distribution.add(this.levels.ago(ago), 1);
    this.addPrior(distribution, this.levels.mean(this.levels.count - MARGINAL_MINUTES, this.levels.count), hour);
    return distribution;
  }

  private addPrior(distribution: Distribution, centre: number, hour: number): void {
    const spread = Math.sqrt(this.changeSum / this.changeWeight) * 1.8 * hour;
    addPrior(distribution, centre, spread, 8 * Math.exp(-this.levels.count / 300));
  }
}

/** Normal around the forecast, and with a twelfth of its weight a surge to between 1 and 2.5 times of it. */
function addPrior(distribution: Distribution, centre: number, spread: number, weight: number): void {
  for (const quantile of NORMAL_16) distribution.add(centre + quantile * spread, weight / NORMAL_16.length);
  for (let i = 0; i < 8; i++) distribution.add(centre * Math.sqrt(1 + ((i + 0.5) / 8) * 1.5), (weight * 0.08) / 8);
}

/**
 * The forecast before anything was observed: the fleet that is there is taken to be sized for its load, with the
 * prior's spread around it.
 */
export function priorForecast(replicas: number, maxReplicas: number): LoadForecast {
  const distribution = new Distribution(maxReplicas);
  const centre = Math.sqrt(Math.max(replicas - 0.5, 0.25));
  const spread = 0.16 * centre;
  addPrior(distribution, centre, spread, 1);
  const shortfall = distribution.shortfall();
  return { direct: centre, directSpread: spread, followed: centre, followedSpread: spread, calm: centre * centre, marginal: shortfall, shortfall };
}
