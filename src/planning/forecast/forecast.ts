/**
 * Forecasts spend per day and until a period's end, with an interval, from the first day on.
 *
 * The forecast is a weighted median of experts (experts.ts), each weighted by its past errors (weighting.ts); the
 * interval comes from the past errors of the same weighting (interval.ts). Never reads ahead and never forecasts below
 * zero. Works in currency units; the caller rounds to nanos.
 */
import { expectDay, runExperts } from './experts.js';
import { intervalOf } from './interval.js';
import { weightExperts, weightedMedian } from './weighting.js';
import { WEEK_DAYS } from './week.js';

export interface ForecastOptions {
  /** Share of cases that the interval should hold, 0.8 by default. */
  readonly coverage?: number;
}

/** Sums until the period's end, without what is already spent. */
export interface PeriodForecast {
  /** The expected amount: as likely too low as too high. */
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** Its basis: `prior`, `level-drift`, or `level-drift-week` once there are two weeks. */
  readonly method: 'prior' | 'level-drift' | 'level-drift-week';
}

const COVERAGE = 0.8;
/** Older days say little, and a weighting of many teams has to be quick. */
const MOST_DAYS = 120;

/** What the next `horizon` days will cost, each. At least one day of history. */
export function forecastDaily(history: readonly number[], horizon: number): number[] {
  const days = history.slice(-MOST_DAYS);
  const experts = runExperts(days);
  const { weights } = weightExperts(days, experts, horizon);
  const states = experts.flatMap((expert) => expert.states.at(-1) ?? []);
  return Array.from({ length: horizon }, (_, index) =>
    weightedMedian(
      states.map((state) => expectDay(state, index + 1)),
      weights,
    ),
  );
}

const methodOf = (days: number): PeriodForecast['method'] =>
  days < WEEK_DAYS ? 'prior' : days < 2 * WEEK_DAYS ? 'level-drift' : 'level-drift-week';

/**
 * Forecasts the spend from now until the end of the period.
 *
 * Today counts as it goes: what is left of it is expected partly as the days before had it, partly at today's own rate,
 * the more the further the day is; the days after it are forecast from a today so completed.
 * @param dailySpend spend per day in currency units, oldest first, the last one today so far
 * @param elapsedFractionOfDay how much of today is over, 0 to 1
 * @param daysLeft whole days after today until the period ends
 */
export function forecastPeriodEnd(
  dailySpend: readonly number[],
  elapsedFractionOfDay: number,
  daysLeft: number,
  options: ForecastOptions = {},
): PeriodForecast {
  const complete = dailySpend.slice(Math.max(0, dailySpend.length - 1 - MOST_DAYS), -1);
  const today = dailySpend.at(-1) ?? 0;
  const elapsed = Math.min(1, Math.max(0, elapsedFractionOfDay));
  const known = complete.length > 0 ? complete : [elapsed > 0 ? today / elapsed : today];
  const coverage = options.coverage ?? COVERAGE;
  const method = methodOf(complete.length);
  if (elapsed === 0) return { ...ahead(known, daysLeft + 1, coverage), method };
  const usual = ahead(known, 1, coverage);
  const rest = (1 - elapsed) * (today + (1 - elapsed) * usual.mean);
  // The rest of today is as uncertain as such a share of a whole day.
  if (daysLeft === 0) return { ...about(rest, usual, 1 - elapsed), method };
  const days = ahead([...complete, today + rest], daysLeft, coverage);
  return { ...about(rest + days.mean, days, (daysLeft + 1 - elapsed) / daysLeft), method };
}

interface Expected {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** The next `days` days after complete ones. */
function ahead(history: readonly number[], days: number, coverage: number): Expected {
  const weighting = weightExperts(history, runExperts(history), days);
  return { mean: weighting.tracks.at(-1)?.forecasts.at(-1) ?? 0, ...intervalOf(history, weighting, coverage) };
}

/** Another mean with so many times the interval of a forecast about it. */
const about = (mean: number, { mean: middle, low, high }: Expected, times: number): Expected => ({
  mean,
  low: Math.max(0, mean - (middle - low) * times),
  high: mean + (high - middle) * times,
});
