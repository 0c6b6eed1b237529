/**
 * How far off a forecast may be: the quantiles of the errors that it made before.
 *
 * Split conformal prediction (Vovk, Gammerman, Shafer 2005) with two additions for short pasts. Errors are taken relative to
 * a scale that is known when the forecast is made, so that those of a day and of a month, of calm and of busy weeks compare;
 * and beside the own errors stand those of other series, so that the largest error is not the largest of the few seen here.
 * Never reads ahead.
 */
import type { Weighing } from './weighing.js';
import { WEEK_DAYS } from './week.js';

/** A relative error beyond this says only that the level was near nothing. */
const MOST_ERROR = 3;
/** Relative error of a day before any is known, and how many known ones weigh as much. */
const PRIOR_ERROR = 0.235;
const PRIOR_DAYS = 1.5;
/** How many errors of a week's sum weigh as much as the day's mean error: they overlap, by the days that they sum. */
const PRIOR_WEEKS = 1.2;
/** The longer the days ahead beside those that are known, the less these say. */
const REACH_POWER = 0.4;
const LEAST_SCALE = 0.003;
/**
 * Errors over scale, forty of equal weight: the quantiles of such errors on other series (how these were made and measured:
 * docs/decisions-quality/forecast.md), and how many independent own errors weigh as much as all of them.
 */
const OTHERS: readonly number[] = [
  -2.71, -1.46, -1.07, -0.86, -0.72, -0.6, -0.51, -0.42, -0.35, -0.29, -0.22, -0.16, -0.11, -0.07, -0.03, 0, 0, 0, 0.03, 0.07,
  0.11, 0.16, 0.21, 0.26, 0.32, 0.39, 0.47, 0.56, 0.65, 0.76, 0.89, 1.04, 1.19, 1.36, 1.58, 1.87, 2.28, 2.93, 4.2, 9.2,
];
const OTHERS_WEIGHT = 6;

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

/** Mean error to expect of a sum of `days`, per day and relative to the level; after each day, from the errors due by then. */
function scales(ofDay: readonly number[], ofWeek: readonly number[], weekDays: number, days: number, count: number): number[] {
  let [day, week] = [0, 0];
  return Array.from({ length: count }, (_, today) => {
    if (today >= 1) day += Math.abs(ofDay[today - 1] ?? 0);
    if (today >= weekDays) week += Math.abs(ofWeek[today - weekDays] ?? 0);
    const daily = (day + PRIOR_DAYS * PRIOR_ERROR) / (today + PRIOR_DAYS);
    const prior = PRIOR_WEEKS * weekDays;
    const weekly = weekDays === 1 ? daily : (week + prior * daily) / (Math.max(0, today + 1 - weekDays) + prior);
    return weekly * (1 + days / (today + 1)) ** REACH_POWER + LEAST_SCALE;
  });
}

/**
 * The interval about the last forecast of a weighing, in currency units; never below zero, and it holds the forecast.
 * @param coverage share of cases that it should hold, between 0 and 1
 */
export function intervalOf(history: readonly number[], { tracks }: Weighing, coverage: number): Interval {
  const [ofDay, asked] = [tracks[0], tracks.at(-1)];
  if (ofDay === undefined || asked === undefined) throw new Error('a weighing has a track for each of its horizons');
  const ofWeek = tracks[Math.min(1, tracks.length - 1)] ?? ofDay;
  const level = levels(history);
  const relative = (errors: readonly number[]): number[] => errors.map((error, day) => clamped(error / (level[day] ?? 1), MOST_ERROR));
  const scale = scales(relative(ofDay.errors), relative(ofWeek.errors), ofWeek.days, asked.days, history.length);
  const own = relative(asked.errors).map((error, day) => error / (scale[day] ?? 1));
  const last = history.length - 1;
  const mean = asked.forecasts[last] ?? 0;
  const unit = (level[last] ?? 0) * asked.days * (scale[last] ?? 0);
  const [below, above] = quantiles(own, asked.days, [(1 - coverage) / 2, (1 + coverage) / 2]);
  return { low: Math.max(0, mean + Math.min(0, unit * (below ?? 0))), high: mean + Math.max(0, unit * (above ?? 0)) };
}

/** Own errors overlap by the days that they sum: so many of them are worth one. */
function quantiles(own: readonly number[], days: number, shares: readonly number[]): number[] {
  const weighted = [
    ...OTHERS.map((error) => ({ error, weight: OTHERS_WEIGHT / OTHERS.length })),
    ...own.map((error) => ({ error, weight: 1 / days })),
  ].sort((a, b) => a.error - b.error);
  const total = OTHERS_WEIGHT + own.length / days;
  return shares.map((share) => quantile(weighted, share * total));
}

/** Each error stands at the middle of its weight; between two of them the quantile is on their line. */
function quantile(weighted: readonly { readonly error: number; readonly weight: number }[], goal: number): number {
  let [reached, before, found] = [0, -Infinity, weighted[0]?.error ?? 0];
  for (const { error, weight } of weighted) {
    const middle = reached + weight / 2;
    if (middle >= goal) return before === -Infinity ? error : found + ((error - found) * (goal - before)) / (middle - before);
    [found, before, reached] = [error, middle, reached + weight];
  }
  return found;
}
