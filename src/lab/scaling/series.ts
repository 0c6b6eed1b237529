/**
 * Seeded arrivals of days and weeks, for what no bundled trace covers. Synthetic: every report that uses them says so.
 *
 * Rule: the rate of a minute is `base` x day(minute) x week(day) x bursts x drift, and its requests are Poisson around
 * that rate. day is a raised cosine with a trough and a peak at a fixed hour, week lowers Saturday and Sunday; a burst
 * starts as a Poisson event, multiplies the rate by a drawn factor, and ends after an exponential time, at once or
 * decaying; drift is a slow lognormal walk. Reads no clock: the same seed gives the same series.
 */

import { mulberry32, type Random } from '../random.js';

export interface SeriesSettings {
  readonly minutes: number;
  /** Mean requests per minute before the patterns. */
  readonly base: number;
  /** Share of the rate that the daily wave takes away at its trough, 0..1. */
  readonly dailyDepth: number;
  /** Share of the rate that a weekend day lacks, 0..1. */
  readonly weekendDepth: number;
  readonly burstsPerDay: number;
  /** Mean length of a burst. */
  readonly burstMinutes: number;
  /** Largest factor of a burst; drawn evenly from 1 to this. */
  readonly burstFactor: number;
  /**
   * Standard deviation per minute of the logarithm of the rate's slow walk; it returns to 0 within about half a day.
   */
  readonly drift: number;
  readonly seed: number;
}

export const SERIES_DEFAULTS: SeriesSettings = {
  minutes: 7 * 1440,
  base: 300,
  dailyDepth: 0.7,
  weekendDepth: 0.3,
  burstsPerDay: 6,
  burstMinutes: 15,
  burstFactor: 3,
  drift: 0.01,
  seed: 1,
};

/** Requests of each minute of a seeded series. */
export function seededSeries(settings: SeriesSettings): Float64Array {
  const random = mulberry32(settings.seed);
  const requests = new Float64Array(settings.minutes);
  let burst = 1;
  let burstEnds = 0;
  let decays = false;
  let walk = 0;
  for (let minute = 0; minute < settings.minutes; minute++) {
    const hour = (minute % 1440) / 60;
    const day = Math.floor(minute / 1440) % 7;
    const daily = 1 - settings.dailyDepth * 0.5 * (1 + Math.cos(((hour - 2) / 24) * 2 * Math.PI));
    const weekly = day >= 5 ? 1 - settings.weekendDepth : 1;
    if (random() < settings.burstsPerDay / 1440) {
      burst = 1 + random() * (settings.burstFactor - 1);
      burstEnds = minute - settings.burstMinutes * Math.log(1 - random());
      decays = random() < 0.5;
    }
    if (minute >= burstEnds) burst = decays ? 1 + (burst - 1) * 0.8 : 1;
    walk = walk * 0.998 + settings.drift * normal(random);
    requests[minute] = poisson(settings.base * daily * weekly * burst * Math.exp(walk), random);
  }
  return requests;
}

/** A standard normal number (Box and Muller 1958). */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A Poisson number: by multiplication (Knuth) up to a mean of 30, by the rounded normal approximation above it. */
export function poisson(mean: number, random: Random): number {
  if (!(mean > 0)) return 0;
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
  const floor = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > floor; product *= random()) count++;
  return count;
}
