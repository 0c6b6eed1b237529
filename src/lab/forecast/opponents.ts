/**
 * What the forecast has to beat: last month carried forward, seasonal naive, Holt-Winters; and two plain ones beside
 * them.
 *
 * Each takes the complete days so far and predicts the days ahead. None reads ahead; none goes below zero.
 */
import { runHoltWinters } from '../../planning/forecast/holt-winters.js';
import { WEEK_DAYS } from '../../planning/forecast/week.js';

/**
 * @param history complete days, oldest first, at least one
 * @param horizon days to forecast
 * @param daysIntoPeriod how many of the last days belong to the current period
 */
export type DailyForecaster = (history: readonly number[], horizon: number, daysIntoPeriod: number) => number[];

const MONTH_DAYS = 30;
const last = (history: readonly number[]): number => history.at(-1) ?? 0;
const flat = (value: number, horizon: number): number[] => new Array<number>(horizon).fill(value);
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Each coming day is the mean day of the thirty before the period (of all days so far, where there are none). */
export const lastMonth: DailyForecaster = (history, horizon, daysIntoPeriod) => {
  const start = history.length - daysIntoPeriod;
  const month = history.slice(Math.max(0, start - MONTH_DAYS), Math.max(0, start));
  return flat(mean(month.length > 0 ? month : history), horizon);
};

/** Each coming day is the latest same day of the week (Hyndman and Athanasopoulos, FPP3, 5.2). */
export const seasonalNaive: DailyForecaster = (history, horizon) => {
  if (history.length < WEEK_DAYS) return flat(last(history), horizon);
  return Array.from({ length: horizon }, (_, ahead) => history[history.length - WEEK_DAYS + (ahead % WEEK_DAYS)] ?? 0);
};

/** Each coming day is the last day. */
export const naive: DailyForecaster = (history, horizon) => flat(last(history), horizon);

/** Each coming day is the mean day of the current period (what a burn-rate line on a dashboard shows). */
export const burnRate: DailyForecaster = (history, horizon, daysIntoPeriod) =>
  flat(daysIntoPeriod > 0 ? mean(history.slice(-daysIntoPeriod)) : last(history), horizon);

/** Holt-Winters (holt-winters.ts), its trend carried on; seasonal naive before two weeks are known. */
export const holtWinters: DailyForecaster = (history, horizon, daysIntoPeriod) => {
  const fit = runHoltWinters(history).at(-1) ?? null;
  if (fit === null) return seasonalNaive(history, horizon, daysIntoPeriod);
  const { level, trend, season } = fit;
  return Array.from({ length: horizon }, (_, index) =>
    Math.max(0, level + (index + 1) * trend + (season[(history.length + index) % WEEK_DAYS] ?? 0)),
  );
};

export const OPPONENTS: Readonly<Record<string, DailyForecaster>> = {
  'last-month': lastMonth,
  'seasonal-naive': seasonalNaive,
  'holt-winters': holtWinters,
  naive,
  'burn-rate': burnRate,
};
