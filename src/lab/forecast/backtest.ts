/**
 * How good a forecast is: rolling origins over recorded periods, errors of the period's total and of its days, coverage
 * and score of the interval.
 *
 * A forecaster sees the days before its origin and nothing else. Pooled: errors of all origins over spend of all
 * origins.
 */
import { forecastDaily, forecastPeriodEnd } from '../../planning/forecast/forecast.js';
import type { DailyForecaster } from './opponents.js';

export interface BacktestOptions {
  /** Days in a period. */
  readonly periodDays: number;
  /** Where in the series the first period begins; several start days give several cuts. */
  readonly firstDays: readonly number[];
}

export interface ForecastScore {
  /** Number of origins. */
  readonly count: number;
  /** Mean absolute error of a period's total. */
  readonly meanAbsoluteError: number;
  /** Weighted absolute percentage error of the period's total, a fraction: sum of errors over sum of totals. */
  readonly totalError: number;
  /** The same of single days ahead. */
  readonly dailyError: number;
  /** Share of period totals inside the interval; null for forecasters without one. */
  readonly coverage: number | null;
  /** Mean interval score over the mean period's total, lower is better; null for forecasters without an interval. */
  readonly intervalScore: number | null;
}

interface Origin {
  readonly history: readonly number[];
  readonly ahead: readonly number[];
  readonly daysIntoPeriod: number;
  readonly periodTotal: number;
}

/** Every day of every whole period after the series' first day. */
function originsOf(series: readonly number[], { periodDays, firstDays }: BacktestOptions): Origin[] {
  const origins: Origin[] = [];
  for (const first of firstDays) {
    for (let start = first; start + periodDays <= series.length; start += periodDays) {
      const periodTotal = series.slice(start, start + periodDays).reduce((sum, value) => sum + value, 0);
      for (let day = Math.max(start, 1); day < start + periodDays; day += 1) {
        origins.push({
          history: series.slice(0, day),
          ahead: series.slice(day, start + periodDays),
          daysIntoPeriod: day - start,
          periodTotal,
        });
      }
    }
  }
  return origins;
}

interface Said {
  readonly sum: number;
  readonly days: readonly number[];
  readonly interval: { readonly low: number; readonly high: number; readonly coverage: number } | null;
}

/**
 * The width, and for a miss 2 / (1 - coverage) times what it misses by: least in the mean for the true quantiles
 * (Gneiting and Raftery 2007, 6.2).
 */
function intervalScore({ low, high, coverage }: NonNullable<Said['interval']>, actual: number): number {
  return high - low + (2 / (1 - coverage)) * Math.max(0, low - actual, actual - high);
}

function score(
  seriesList: readonly (readonly number[])[],
  options: BacktestOptions,
  say: (origin: Origin) => Said,
): ForecastScore {
  let [count, totalMiss, totals, dayMiss, dayTotals, held, intervals, scores] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (const origin of seriesList.flatMap((series) => originsOf(series, options))) {
    const said = say(origin);
    const actual = origin.ahead.reduce((sum, value) => sum + value, 0);
    count += 1;
    totalMiss += Math.abs(said.sum - actual);
    totals += origin.periodTotal;
    origin.ahead.forEach((value, index) => (dayMiss += Math.abs(value - (said.days[index] ?? 0))));
    dayTotals += actual;
    if (said.interval === null) continue;
    intervals += 1;
    scores += intervalScore(said.interval, actual);
    // A nano of slack: a flat history makes an interval of no width.
    const slack = 1e-9 * Math.max(1, said.sum);
    if (said.interval.low - slack <= actual && actual <= said.interval.high + slack) held += 1;
  }
  return {
    count,
    meanAbsoluteError: totalMiss / count,
    totalError: totalMiss / totals,
    dailyError: dayMiss / dayTotals,
    coverage: intervals === 0 ? null : held / intervals,
    intervalScore: intervals === 0 ? null : scores / totals,
  };
}

/** Scores an opponent: its sum is the sum of its days. */
export function scoreOpponent(
  series: readonly (readonly number[])[],
  options: BacktestOptions,
  forecaster: DailyForecaster,
): ForecastScore {
  return score(series, options, ({ history, ahead, daysIntoPeriod }) => {
    const days = forecaster(history, ahead.length, daysIntoPeriod);
    return { days, sum: days.reduce((sum, value) => sum + value, 0), interval: null };
  });
}

/** Scores Bursar's own forecast at the end of each day, at the interval's coverage. */
export function scoreForecast(
  series: readonly (readonly number[])[],
  options: BacktestOptions,
  coverage = 0.8,
): ForecastScore {
  return score(series, options, ({ history, ahead }) => {
    const { mean, low, high } = forecastPeriodEnd([...history, 0], 0, ahead.length - 1, { coverage });
    return { sum: mean, days: forecastDaily(history, ahead.length), interval: { low, high, coverage } };
  });
}
