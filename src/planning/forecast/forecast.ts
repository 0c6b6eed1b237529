/**
 * Spend to come: per day and until a period's end, with an interval, from the first day on.
 *
 * The mean is a weighted mean of experts (experts.ts), each weighted by its past errors at this very horizon; the
 * interval is conformal: the quantiles of the errors that the same weighing made before. A wide prior stands in for errors
 * not yet made. Never reads ahead and never says below zero. Works in currency units; the caller rounds to nanos.
 */
import { expectDay, expectSum, runExperts, WEEK_DAYS, type ExpertState } from './experts.js';

export interface ForecastOptions {
  /** Share of cases that the interval should hold, 0.8 unless told. */
  readonly coverage?: number;
}

/** Sums until the period's end, without what is already spent. */
export interface PeriodForecast {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** What it rests on: `prior`, `level-drift`, or `level-drift-week` once there are two weeks. */
  readonly method: 'prior' | 'level-drift' | 'level-drift-week';
}

export interface DailyForecast {
  readonly mean: number[];
  readonly low: number[];
  readonly high: number[];
}

const COVERAGE = 0.8;
/** Older days say little, and a weighing of many teams has to be quick. */
const MOST_DAYS = 120;
/** How sharply a smaller past error raises an expert's weight, and how fast errors are forgotten per day. */
const SHARPNESS = 8;
const FORGETTING = 0.98;
/** Relative errors of a period's sum before any are known, and how many known ones weigh as much. */
const PRIOR_ERROR = 0.5;
const PRIOR_WEIGHT = 2;
/** Weight of an error per day of its age. */
const AGEING = 0.97;
/** A relative error beyond this says only that the level was near nothing. */
const MOST_ERROR = 3;

/** A sum over `days`, or the single day `days` ahead. */
type Target = 'sum' | 'day';

interface Fit {
  /** The weighted mean from the last day. */
  readonly mean: number;
  /** Signed past errors of such a mean (actual less forecast) over the level that it started from. */
  readonly errors: number[];
  readonly level: number;
}

function expectation(state: ExpertState, days: number, target: Target): number {
  return target === 'sum' ? expectSum(state, days) : expectDay(state, days);
}

/** Walks through the days: at each, the experts' errors that have just come due change the weights of that day's forecast. */
function fit(history: readonly number[], experts: readonly ExpertState[][], days: number, target: Target): Fit {
  const count = history.length;
  const totals = new Float64Array(count + 1);
  for (let day = 0; day < count; day += 1) totals[day + 1] = (totals[day] ?? 0) + (history[day] ?? 0);
  // Errors at a horizon as long as the history allows stand in for those of a longer one.
  const errorDays = Math.max(1, Math.min(days, Math.floor(count / 3)));
  const horizons = [...new Set([1, 7, days].map((horizon) => Math.min(horizon, days)))];
  const levelAt = (day: number): number =>
    Math.max(((totals[day + 1] ?? 0) - (totals[Math.max(0, day + 1 - WEEK_DAYS)] ?? 0)) / Math.min(day + 1, WEEK_DAYS), 1e-9);
  const actual = (origin: number, ahead: number): number =>
    target === 'sum' ? (totals[origin + ahead + 1] ?? 0) - (totals[origin + 1] ?? 0) : (history[origin + ahead] ?? 0);
  const losses = new Float64Array(experts.length);
  const means: number[] = [];
  const errors: number[] = [];
  const unit = target === 'sum' ? errorDays : 1;
  for (let day = 0; day < count; day += 1) {
    for (let index = 0; index < losses.length; index += 1) losses[index] = (losses[index] ?? 0) * FORGETTING;
    for (const horizon of horizons) {
      const origin = day - horizon;
      if (origin < 0) continue;
      const scale = levelAt(origin) * (target === 'sum' ? horizon : 1);
      const truth = actual(origin, horizon);
      experts.forEach((states, index) => {
        const state = states[origin];
        if (state !== undefined) losses[index] = (losses[index] ?? 0) + Math.min(Math.abs(truth - expectation(state, horizon, target)) / scale, MOST_ERROR);
      });
    }
    const due = day - errorDays;
    if (due >= 0) errors.push(clamped((actual(due, errorDays) - (means[due] ?? 0)) / (levelAt(due) * unit)));
    means.push(weighted(experts, losses, day, errorDays, target));
  }
  const mean = errorDays === days ? (means[count - 1] ?? 0) : weighted(experts, losses, count - 1, days, target);
  const growth = Math.sqrt(days / errorDays);
  return { mean, errors: errors.map((error) => error * growth), level: levelAt(count - 1) * (target === 'sum' ? days : 1) };
}

const clamped = (error: number): number => Math.max(-MOST_ERROR, Math.min(MOST_ERROR, error));

function weighted(experts: readonly ExpertState[][], losses: Float64Array, day: number, days: number, target: Target): number {
  let best = Infinity;
  for (const loss of losses) best = Math.min(best, loss);
  let sum = 0;
  let weights = 0;
  experts.forEach((states, index) => {
    const state = states[day];
    if (state === undefined) return;
    const weight = ((best + 0.05) / ((losses[index] ?? 0) + 0.05)) ** SHARPNESS;
    sum += weight * expectation(state, days, target);
    weights += weight;
  });
  return Math.max(0, sum / weights);
}

/**
 * The smallest error that a share of the weight does not exceed; the weight of the errors falls with their age, and that
 * of one more, unseen and infinite, is kept back (Barber, Candes, Ramdas, Tibshirani 2023, nonexchangeable conformal).
 * The largest error stands in for the infinite one.
 */
function quantile(errors: readonly number[], share: number): number {
  const aged = errors.map((error, index) => ({ error, weight: AGEING ** (errors.length - 1 - index) })).sort((a, b) => a.error - b.error);
  const goal = share * aged.reduce((sum, { weight }) => sum + weight, 1);
  let reached = 0;
  for (const { error, weight } of aged) {
    reached += weight;
    if (reached >= goal) return error;
  }
  return aged.at(-1)?.error ?? 0;
}

function interval({ mean, errors, level }: Fit, coverage: number): { low: number; high: number } {
  const share = 1 - (1 - coverage) / 2;
  const blend = (known: number): number => (known * errors.length + PRIOR_ERROR * PRIOR_WEIGHT) / (errors.length + PRIOR_WEIGHT);
  const below = blend(quantile(errors.map((error) => -error), share));
  const above = blend(quantile(errors, share));
  return { low: Math.max(0, mean - Math.max(0, below) * level), high: mean + Math.max(0, above) * level };
}

/** The next `horizon` days, each with its own interval. At least one day of history. */
export function forecastDaily(history: readonly number[], horizon: number, options: ForecastOptions = {}): DailyForecast {
  const days = history.slice(-MOST_DAYS);
  const experts = runExperts(days);
  const result: DailyForecast = { mean: [], low: [], high: [] };
  for (let ahead = 1; ahead <= horizon; ahead += 1) {
    const found = fit(days, experts, ahead, 'day');
    const { low, high } = interval(found, options.coverage ?? COVERAGE);
    result.mean.push(found.mean);
    result.low.push(low);
    result.high.push(high);
  }
  return result;
}

const methodOf = (days: number): PeriodForecast['method'] =>
  days < WEEK_DAYS ? 'prior' : days < 2 * WEEK_DAYS ? 'level-drift' : 'level-drift-week';

/**
 * What will be spent from now until the period's end.
 *
 * Today counts as it goes: what is left of it is expected partly as the days before had it, partly at today's own rate,
 * the more the further the day is; the days after it are forecast from a today so completed.
 * @param dailySpend spend per day in currency units, oldest first, the last one today so far
 * @param elapsedFractionOfDay how much of today is over, 0 to 1
 * @param daysLeft whole days after today until the period ends
 */
export function forecastPeriodEnd(dailySpend: readonly number[], elapsedFractionOfDay: number, daysLeft: number, options: ForecastOptions = {}): PeriodForecast {
  const complete = dailySpend.slice(Math.max(0, dailySpend.length - 1 - MOST_DAYS), -1);
  const today = dailySpend.at(-1) ?? 0;
  const elapsed = Math.min(1, Math.max(0, elapsedFractionOfDay));
  const known = complete.length > 0 ? complete : [elapsed > 0 ? today / elapsed : today];
  const experts = runExperts(known);
  const whole = fit(known, experts, daysLeft + 1, 'sum');
  const { low, high } = interval(whole, options.coverage ?? COVERAGE);
  const usual = elapsed === 0 ? 0 : fit(known, experts, 1, 'day').mean;
  const mean = elapsed === 0 ? whole.mean : meanFromToday(complete, today, (1 - elapsed) * (today + (1 - elapsed) * usual), daysLeft);
  const left = (daysLeft + 1 - elapsed) / (daysLeft + 1);
  return {
    mean, low: Math.max(0, mean - (whole.mean - low) * left), high: mean + (high - whole.mean) * left, method: methodOf(complete.length),
  };
}

/** The rest of today and the days after it, forecast as if today were already over. */
function meanFromToday(complete: readonly number[], today: number, rest: number, daysLeft: number): number {
  if (daysLeft === 0) return rest;
  const days = [...complete, today + rest];
  return rest + fit(days, runExperts(days), daysLeft, 'sum').mean;
}
