/**
 * Tells surges from the calm load under them, minute by minute, and learns how surges come, how high, and when they
 * end.
 *
 * Knows only what `observe` was given. Works on the square root of the load, in which the noise of a count does not
 * depend on its level (Bartlett 1936).
 *
 * A switching filter with two regimes (Hamilton 1989, its mixtures collapsed after every minute as Kim 1994 does). A
 * minute is calm, goes on with the surge of the minute before, or begins a surge, of a height unknown. The probability
 * of each follows from how well it explains the load; the levels, the noise, the chance of an onset, the chance of an
 * end and the heights of surges are learned from the minutes, each in proportion to its probability. What the priors
 * say counts as much as a day of minutes, or a few surges.
 */

import type { CalmForecast } from './forecast.js';
import { addShortfall, normalDensity } from './normal.js';

/** Heights of surges over the calm load are kept as logarithms of the ratio of roots, up to 36 times the load. */
const HEIGHTS = 24;
const HIGHEST = Math.log(6);
const HEIGHT_STEP = HIGHEST / HEIGHTS;
/** Before any is seen: heights fall off exponentially, as if three minutes of surges had been seen. */
const PRIOR_HEIGHT = 0.3;
const PRIOR_HEIGHT_MINUTES = 3;
const PRIOR_ONSET_MINUTES = 1440;
const PRIOR_SURGE_MINUTES = 10;
const PRIOR_ENDS = 3;
const PRIOR_NOISE = 0.08;
const PRIOR_NOISE_MINUTES = 4;
/** The chances of onset and end fade with this half-life, in minutes; the noise much faster. */
const CHANCE_HALF_LIFE = 20_000;
const NOISE_HALF_LIFE = 300;
/** Minutes that the calm level averages, and that the level of a surge does. */
const CALM_MINUTES = 8;
const SURGE_MINUTES = 3;
/**
 * A lasting surge is slowly absorbed into the calm load: by a deviation in so many minutes, and by a share of its
 * height.
 */
const DEVIATION_MINUTES = 60;
const ADAPTATION_MINUTES = 600;
/** This many consecutive minutes, this far below the calm load, mean that the load has fallen to a new level. */
const FALLEN_MINUTES = 3;
const FALLEN_DEVIATIONS = 4;
const LEAST_ROOT = 0.2;

const heightAt = (i: number): number => Math.exp((i + 0.5) * HEIGHT_STEP);

export class RegimeFilter {
  private calm = 0;
  private calmWeight = 1;
  private surge = 0;
  private surgeWeight = 0;
  private surgeProbability = 0;
  private onsets = 1;
  private minutes = PRIOR_ONSET_MINUTES;
  private ends = PRIOR_ENDS;
  private surgeMinutes = PRIOR_ENDS * PRIOR_SURGE_MINUTES;
  private readonly heights = new Float64Array(HEIGHTS);
  private heightSum = 0;
  private noiseSum = PRIOR_NOISE * PRIOR_NOISE * PRIOR_NOISE_MINUTES;
  private noiseWeight = PRIOR_NOISE_MINUTES;
  private minutesFallen = 0;
  private started = false;

  constructor() {
    const scale = (PRIOR_HEIGHT_MINUTES * HEIGHT_STEP) / PRIOR_HEIGHT;
    for (let i = 0; i < HEIGHTS; i++) this.addHeight(i, scale * Math.exp((-(i + 0.5) * HEIGHT_STEP) / PRIOR_HEIGHT));
  }

  /**
   * Takes the load of the minute that just ended, in replicas; returns it without its surge. Call once per minute, in
   * order.
   */
  observe(load: number): number {
    const root = Math.sqrt(load);
    if (!this.started) {
      this.started = true;
      this.calm = root;
      this.surge = root;
      return load;
    }
    const calm = Math.max(this.calm, LEAST_ROOT);
    const deviation = this.deviationAt(calm) * Math.sqrt(1 + 1 / Math.min(this.calmWeight, CALM_MINUTES));
    const { isCalm, goesOn, begins } = this.explain(root, calm, deviation);
    this.learnSurge(root, calm, goesOn, begins);
    this.learnCalm(root - calm, root, isCalm, deviation);
    const cleaned = isCalm * root + (1 - isCalm) * this.calm;
    return cleaned * cleaned;
  }

  /**
   * Expected load beyond k replicas, k from 0 to `maxReplicas`, so many minutes after the next one.
   *
   * @param calm forecast of the load without surges for that minute.
   */
  shortfall(calm: CalmForecast, leadMinutes: number, maxReplicas: number): Float64Array {
    const shortfall = new Float64Array(maxReplicas + 1);
    const steps = leadMinutes + 1;
    const onset = this.onsets / this.minutes;
    const end = Math.max(0.005, this.ends / this.surgeMinutes);
    const turnover = Math.min(0.95, onset + end);
    const newSurge = (onset / (onset + end)) * (1 - (1 - turnover) ** steps);
    const sameSurge = this.surgeProbability * (1 - end) ** steps * (1 - newSurge);
    const part = (weight: number, mean: number, deviation: number): void => {
      if (weight > 1e-9) addShortfall(shortfall, weight, mean, deviation);
    };
    part(sameSurge, this.surge, 1.1 * calm.deviation * Math.sqrt(Math.max(1, this.surge / Math.max(calm.root, 0.3))));
    for (let i = 0; i < HEIGHTS; i++) {
      part(
        (newSurge * this.heights[i]!) / this.heightSum,
        calm.root * heightAt(i),
        calm.deviation * Math.sqrt(heightAt(i)),
      );
    }
    part(1 - newSurge - sameSurge, calm.root, calm.deviation);
    return shortfall;
  }

  /**
   * Level of the load as it is now, as a square root: the surge's while there probably is one, otherwise the forecast
   * calm.
   */
  present(calm: CalmForecast): number {
    return this.surgeProbability > 0.5 ? this.surge : calm.root;
  }

  /**
   * Noise of a minute around a level, both as square roots: it grows with the square root of the level, between a
   * count's and a proportional one.
   */
  private deviationAt(level: number): number {
    return Math.sqrt((this.noiseSum / this.noiseWeight) * Math.max(level, 0.3));
  }

  /** Probabilities of the three ways in which this minute can have come about; learns the chances of onset and end. */
  private explain(root: number, calm: number, deviation: number): { isCalm: number; goesOn: number; begins: number } {
    const onset = this.onsets / this.minutes;
    const end = this.ends / this.surgeMinutes;
    const before = this.surgeProbability;
    const calmBefore = (1 - before) * (1 - onset) + before * end;
    const goesOnBefore = before * (1 - end) * (1 - onset);
    const beginsBefore = onset * (1 - before * end);
    const density = (level: number, spread: number): number => normalDensity((root - level) / spread) / spread;
    const surgeDeviation =
      this.deviationAt(this.surge) * Math.sqrt(1.3 + 1 / Math.min(Math.max(this.surgeWeight, 1), SURGE_MINUTES));
    const height = Math.log(Math.max(root, 1e-3) / calm);
    const heightDensity =
      height > 0 ? this.heights[binOf(height)]! / this.heightSum / HEIGHT_STEP / Math.max(root, 0.1) : 0;
    const asCalm = calmBefore * Math.max(density(calm, deviation), 1e-12);
    // A surge that has come down to the calm is over, and a load that fell at once is none: taken for one it would keep
    // the calm where it was for hours.
    const stands = this.surgeWeight > 0 && this.surge > calm + this.deviationAt(calm);
    const asGoesOn = stands ? goesOnBefore * density(this.surge, surgeDeviation) : 0;
    const asBegins = beginsBefore * heightDensity;
    const all = asCalm + asGoesOn + asBegins;
    const isCalm = asCalm / all;
    const keep = 0.5 ** (1 / CHANCE_HALF_LIFE);
    this.ends = this.ends * keep + ((before * end) / calmBefore) * isCalm;
    this.surgeMinutes = this.surgeMinutes * keep + before;
    this.onsets = this.onsets * keep + asBegins / all;
    this.minutes = this.minutes * keep + 1;
    return { isCalm, goesOn: asGoesOn / all, begins: asBegins / all };
  }

  private learnSurge(root: number, calm: number, goesOn: number, begins: number): void {
    const surging = goesOn + begins;
    if (surging > 1e-6) {
      const weight = Math.min(this.surgeWeight, SURGE_MINUTES - 1) + 1;
      const share = goesOn / surging;
      this.surge = share * (this.surge + (root - this.surge) / weight) + (1 - share) * root;
      this.surgeWeight = share * weight + (1 - share);
    }
    if (surging < 0.01) this.surgeWeight = 1;
    this.surgeProbability = surging;
    if (root <= calm || surging <= 0.2) return;
    const bin = binOf(Math.log(root / calm));
    this.addHeight(bin - 1, 0.25 * surging);
    this.addHeight(bin, 0.5 * surging);
    this.addHeight(bin + 1, 0.25 * surging);
  }

  private learnCalm(error: number, root: number, isCalm: number, deviation: number): void {
    this.minutesFallen = error < -FALLEN_DEVIATIONS * deviation ? this.minutesFallen + 1 : 0;
    if (this.minutesFallen >= FALLEN_MINUTES) {
      this.calm = root;
      this.calmWeight = 1;
      this.minutesFallen = 0;
    } else {
      this.calmWeight = Math.min(this.calmWeight + isCalm, CALM_MINUTES);
      const adapted =
        (Math.sign(error) * Math.min(Math.abs(error), deviation)) / DEVIATION_MINUTES + error / ADAPTATION_MINUTES;
      this.calm = root - error + (isCalm * error) / this.calmWeight + (1 - isCalm) * adapted;
    }
    const keep = 1 - isCalm * (1 - 0.5 ** (1 / NOISE_HALF_LIFE));
    const noise = this.noiseSum / this.noiseWeight;
    this.noiseSum = this.noiseSum * keep + isCalm * noise * Math.min(9, (error / deviation) ** 2);
    this.noiseWeight = this.noiseWeight * keep + isCalm;
  }

  private addHeight(bin: number, weight: number): void {
    if (bin < 0 || bin >= HEIGHTS) return;
    this.heights[bin] = this.heights[bin]! + weight;
    this.heightSum += weight;
  }
}

/** The bin of a logarithm of a ratio of roots, above 0. */
const binOf = (height: number): number => Math.min(HEIGHTS - 1, Math.floor(height / HEIGHT_STEP));
