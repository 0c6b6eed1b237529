/**
 * How far off a forecast may be: the quantiles of the errors that it made before.
 *
 * Split conformal prediction (Vovk, Gammerman, Shafer 2005) with three additions for short pasts. Errors are taken
 * relative to a scale that is known when the forecast is made, so that those of a day and of a month, of calm and of
 * busy weeks compare.
 * Beside the own errors stand those of other series, so that the largest error is not the largest of the few seen here.
 * And a bound is never nearer than it would be if half of the own errors had gone the other way: a past that only rose
 * says how far a series moves, and little about the way that it takes next. Never reads ahead.
 * What moving each of the constants would change: `node tests/backtest/forecast-constants.mjs`.
 */
import type { Weighting } from './weighting.js';
import { WEEK_DAYS } from './week.js';

/** A relative error beyond this says only that the level was near nothing. */
const MOST_ERROR = 3;
/** Relative error of a day before any is known, and how many known ones count as much. */
const PRIOR_ERROR = 0.235;
const PRIOR_DAYS = 1.5;
/** How many errors of a week's sum count as much as the day's mean error: they overlap, by the days that they sum. */
const PRIOR_WEEKS = 1.2;
/**
 * What the last days' errors count from day to day, how many of all days' count as much, and how far they move the
 * scale.
 */
const KEEPING = 0.9;
const RECENT_PRIOR_DAYS = 2;
const RECENT_POWER = 0.3;
/** The longer the days ahead, alone and beside those that are known, the less these say. */
const LENGTH_POWER = 0.1;
const REACH_POWER = 0.4;
/** Days below this share of the level are still; a series that is still half of the time deviates further. */
const STILL_SHARE = 0.25;
const STILL_RATE = 1.2;
/** What may break that never has, relative to the level: the less likely, the more such stretches of days are known. */
const BREAK = 0.4;
const LEAST_SCALE = 0.003;
/**
 * Errors over scale, forty of equal weight: the quantiles of such errors on other series (how these were made and
 * measured:
 * docs/decisions-quality/forecast.md), and how many independent own errors count as much as all of them.
 */
const OTHERS: readonly number[] = [
  -1.4, -0.89, -0.69, -0.57, -0.48, -0.39, -0.33, -0.27, -0.22, -0.18, -0.14, -0.12, -0.09, -0.06, -0.04, -0.01, 0, 0,
  0.01, 0.04, 0.06, 0.09, 0.12, 0.15, 0.19, 0.22, 0.27, 0.32, 0.36, 0.42, 0.49, 0.57, 0.68, 0.8, 0.98, 1.2, 1.49, 1.94,
  2.84, 6.88,
];
const OTHERS_WEIGHT = 6;
/** An own error beyond so many scales says no more than that. */
const MOST_OWN = 4;
/** Errors below are as much smaller than errors above. */
const BELOW = 0.7;

export interface Interval {
  readonly low: number;
  readonly high: number;
}

const clamped = (value: number, most: number): number => Math.max(-most, Math.min(most, value));

/** Currency units per day: half the last week's mean, half that of all days; after each day. */
function levels(history: readonly number[]): number[] {
  let [all, week] = [0, 0];
  return history.map((value, day) => {
    all += value;
    week += value - (history[day - WEEK_DAYS] ?? 0);
    return Math.max((all / (day + 1) + week / Math.min(day + 1, WEEK_DAYS)) / 2, 1e-9);
  });
}

/** Share of the days so far that were still; after each day. */
function stills(history: readonly number[], level: readonly number[]): number[] {
  let still = 0;
  return history.map((value, day) => {
    if (value <= STILL_SHARE * (level[day] ?? 0)) still += 1;
    return still / (day + 1);
  });
}

/** Relative errors of one horizon, by the day of the origin. */
interface Errors {
  readonly days: number;
  readonly relative: readonly number[];
}

/**
 * Size of the error to expect of a sum of `days`, per day and relative to the level; after each day, from the errors
 * due by then.
 */
function scales(ofDay: Errors, ofWeek: Errors, days: number, still: readonly number[]): number[] {
  let [day, week, recent, recentWeight] = [0, 0, 0, 0];
  const prior = PRIOR_WEEKS * ofWeek.days;
  return still.map((share, today) => {
    if (today >= 1) {
      const error = Math.abs(ofDay.relative[today - 1] ?? 0);
      day += error;
      recent = recent * KEEPING + error;
      recentWeight = recentWeight * KEEPING + 1;
    }
    if (today >= ofWeek.days) week += Math.abs(ofWeek.relative[today - ofWeek.days] ?? 0);
    const daily = (day + PRIOR_DAYS * PRIOR_ERROR) / (today + PRIOR_DAYS);
    const lately = (recent + RECENT_PRIOR_DAYS * daily) / (recentWeight + RECENT_PRIOR_DAYS);
    const weekly = ofWeek.days === 1 ? daily : (week + prior * daily) / (Math.max(0, today + 1 - ofWeek.days) + prior);
    const known = (weekly + LEAST_SCALE) * ((lately + LEAST_SCALE) / (daily + LEAST_SCALE)) ** RECENT_POWER;
    const reach = days ** LENGTH_POWER * (1 + days / (today + 1)) ** REACH_POWER;
    // Laplace's rule of succession: of (today + 1) / days stretches none broke, so the next one does in one case of so
    // many and one.
    return known * reach * Math.exp(STILL_RATE * share) + (BREAK * days) / (days + today + 1);
  });
}

/**
 * The interval about the last forecast of a weighting, in currency units; never below zero, and it holds the forecast.
 * @param coverage share of cases that it should hold, between 0 and 1
 */
export function intervalOf(history: readonly number[], { tracks }: Weighting, coverage: number): Interval {
  const [ofDay, asked] = [tracks[0], tracks.at(-1)];
  if (ofDay === undefined || asked === undefined) throw new Error('a weighting has a track for each of its horizons');
  const ofWeek = tracks[Math.min(1, tracks.length - 1)] ?? ofDay;
  const level = levels(history);
  const errorsOf = ({ days, errors }: { readonly days: number; readonly errors: readonly number[] }): Errors => ({
    days,
    relative: errors.map((error, day) => clamped(error / (level[day] ?? 1), MOST_ERROR)),
  });
  const scale = scales(errorsOf(ofDay), errorsOf(ofWeek), asked.days, stills(history, level));
  const own = errorsOf(asked).relative.map((error, day) => clamped(error / (scale[day] ?? 1), MOST_OWN));
  const last = history.length - 1;
  const mean = asked.forecasts[last] ?? 0;
  const unit = (level[last] ?? 0) * asked.days * (scale[last] ?? 0);
  const { low, high } = bounds(own, asked.days, coverage);
  return { low: Math.max(0, mean + Math.min(0, unit * low)), high: mean + Math.max(0, unit * high) };
}

interface Weighted {
  readonly error: number;
  readonly weight: number;
}

/** The further of the own errors as they were and as they would be, had half of each gone the other way. */
function bounds(own: readonly number[], days: number, coverage: number): Interval {
  const shares = [(1 - coverage) / 2, (1 + coverage) / 2] as const;
  // Own errors overlap by the days that they sum: so many of them are worth one.
  const weight = 1 / days;
  const turned = own.flatMap((error) => [
    { error, weight: weight / 2 },
    { error: error > 0 ? -error * BELOW : -error / BELOW, weight: weight / 2 },
  ]);
  const pools = [own.map((error) => ({ error, weight })), turned].map((pool) => {
    const all = [...OTHERS.map((error) => ({ error, weight: OTHERS_WEIGHT / OTHERS.length })), ...pool].sort(
      (a, b) => a.error - b.error,
    );
    return shares.map((share) => quantile(all, share * (OTHERS_WEIGHT + own.length * weight)));
  });
  return { low: Math.min(...pools.map(([low]) => low ?? 0)), high: Math.max(...pools.map(([, high]) => high ?? 0)) };
}

/** Each error stands at the middle of its weight; between two of them the quantile is on their line. */
function quantile(weighted: readonly Weighted[], goal: number): number {
  let [reached, before, found] = [0, -Infinity, weighted[0]?.error ?? 0];
  for (const { error, weight } of weighted) {
    const middle = reached + weight / 2;
    if (middle >= goal)
      return before === -Infinity ? error : found + ((error - found) * (goal - before)) / (middle - before);
    [found, before, reached] = [error, middle, reached + weight];
  }
  return found;
}
