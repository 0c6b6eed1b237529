/**
 * What the forecast has to beat: last month carried forward, seasonal naive, Holt-Winters; and two plain ones beside them.
 *
 * Each takes the complete days so far and says the days ahead. None reads ahead; none goes below zero.
 */
import { WEEK_DAYS } from './experts.js';

/**
 * @param history complete days, oldest first, at least one
 * @param horizon days to forecast
 * @param daysIntoPeriod how many of the last days belong to the current period
 */
export type DailyForecaster = (history: readonly number[], horizon: number, daysIntoPeriod: number) => number[];

const MONTH_DAYS = 30;
const last = (history: readonly number[]): number => history.at(-1) ?? 0;
const flat = (value: number, horizon: number): number[] => new Array<number>(horizon).fill(value);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

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

const ALPHAS = [0.1, 0.3, 0.5, 0.8];
const BETAS = [0.01, 0.1, 0.3];
const GAMMAS = [0.05, 0.2, 0.5];

interface HoltWinters {
  readonly error: number;
  readonly level: number;
  readonly trend: number;
  readonly season: readonly number[];
}

/** One pass of the additive method with the first two weeks as its start; squared one-step errors. */
function fitHoltWinters(history: readonly number[], alpha: number, beta: number, gamma: number): HoltWinters {
  const first = history.slice(0, WEEK_DAYS);
  let level = mean(first);
  let trend = (mean(history.slice(WEEK_DAYS, 2 * WEEK_DAYS)) - level) / WEEK_DAYS;
  const season = first.map((value) => value - level);
  let error = 0;
  for (let day = WEEK_DAYS; day < history.length; day += 1) {
    const value = history[day] ?? 0;
    const seasonal = season[day % WEEK_DAYS] ?? 0;
    error += (value - level - trend - seasonal) ** 2;
    const next = alpha * (value - seasonal) + (1 - alpha) * (level + trend);
    trend = beta * (next - level) + (1 - beta) * trend;
    season[day % WEEK_DAYS] = gamma * (value - next) + (1 - gamma) * seasonal;
    level = next;
  }
  return { error, level, trend, season };
}

/**
 * Holt-Winters, additive, season of a week, its three constants by least squares on a grid (FPP3, 8.3); seasonal naive
 * before two weeks are known.
 */
export const holtWinters: DailyForecaster = (history, horizon, daysIntoPeriod) => {
  if (history.length < 2 * WEEK_DAYS) return seasonalNaive(history, horizon, daysIntoPeriod);
  let best: HoltWinters | null = null;
  for (const alpha of ALPHAS) for (const beta of BETAS) for (const gamma of GAMMAS) {
    const fit = fitHoltWinters(history, alpha, beta, gamma);
    if (best === null || fit.error < best.error) best = fit;
  }
  const { level, trend, season } = best ?? fitHoltWinters(history, 0.3, 0.1, 0.2);
  return Array.from({ length: horizon }, (_, index) =>
    Math.max(0, level + (index + 1) * trend + (season[(history.length + index) % WEEK_DAYS] ?? 0)));
};

export const OPPONENTS: Readonly<Record<string, DailyForecaster>> = {
  'last-month': lastMonth, 'seasonal-naive': seasonalNaive, 'holt-winters': holtWinters, naive, 'burn-rate': burnRate,
};
