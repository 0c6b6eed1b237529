/**
 * The experts behind the forecast: ways to carry a daily series forward.
 *
 * Most are as simple as the rules that the forecast has to beat: the last day, a smoothed level, the mean of a week or
 * of all days, the median of four weeks. Beside them stand a level that returns to the mean, damped drifts, and the
 * week. Never reads ahead: what stands at day t was made from days 0..t alone. Forecasts are never below zero for a
 * series that never was.
 *
 * The numbers were chosen on other series (docs/decisions-quality/forecast.md); what moving each of them would change:
 * `node tests/backtest/forecast-constants.mjs`.
 */
import { runHoltWinters } from './holt-winters.js';
import { middle, WEEK_DAYS, weekShapes } from './week.js';

/** Days over which a drift is taken; drifts are damped (Gardner and McKenzie 1985: trends rarely last). */
const DRIFT_DAYS = 28;
const LEAST_DRIFT_DAYS = 3;
const DAMPING = 0.97;
/** A falling drift stops above zero: the damped sum of a drift of level / 40 takes at most 32 / 40 of the level. */
const STEEPEST_FALL = 1 / 40;
const MEDIAN_DAYS = 28;
/** Share of the distance to the mean that is left each day. */
const RETURNS = [0.9, 0.97] as const;
const MEAN_DAYS = 60;
const TREND_DAMPING = 0.9;
const DRIFT_PRIOR = 0.5;

/**
 * Share of a drift or a distance that is kept per day, and its sums keep + keep^2 + ... + keep^days, made once for a
 * year.
 */
interface Keep {
  readonly share: number;
  readonly sums: Float64Array;
}

const sumOfPowers = (share: number, days: number): number => (share * (1 - share ** days)) / (1 - share);
const keeping = (share: number): Keep => ({
  share,
  sums: Float64Array.from({ length: 400 }, (_, days) => sumOfPowers(share, days)),
});
const DRIFT_KEEP = keeping(DAMPING);
const TREND_KEEP = keeping(TREND_DAMPING);
const RETURN_KEEPS = RETURNS.map(keeping);

/**
 * An expert's state after a day: `h` days ahead it expects `(level + slope (keep + keep^2 + ... + keep^h)) shape +
 * added`.
 */
export interface ExpertState {
  /** Index of the day, so that `shape` and `added` find the days after it. */
  readonly day: number;
  readonly level: number;
  readonly slope: number;
  readonly keep: Keep;
  /** By day of the week, counted from the series' first day; null for none. */
  readonly shape: Float64Array | null;
  readonly added: Float64Array | null;
}

export interface Expert {
  /** Weight before anything is known of how it does: a drift has to earn its trust. */
  readonly prior: number;
  /** After each day. */
  readonly states: readonly ExpertState[];
}

/** What the expert expects `ahead` (1, 2, ...) days after its state's day. */
export function expectDay({ day, level, slope, keep, shape, added }: ExpertState, ahead: number): number {
  const weekday = (day + ahead) % WEEK_DAYS;
  const plain = level + slope * (keep.sums[ahead] ?? sumOfPowers(keep.share, ahead));
  return Math.max(
    0,
    (shape === null ? plain : plain * (shape[weekday] ?? 1)) + (added === null ? 0 : (added[weekday] ?? 0)),
  );
}

/** What the expert expects in all of the next `days` days. */
export function expectSum(state: ExpertState, days: number): number {
  const { level, slope, keep, shape, added } = state;
  if (shape === null && added === null) {
    // The sum over h of keep + ... + keep^h, in closed form.
    const sums = (keep.share / (1 - keep.share)) * (days - (keep.sums[days] ?? sumOfPowers(keep.share, days)));
    return Math.max(0, level * days + slope * sums);
  }
  let sum = 0;
  for (let ahead = 1; ahead <= days; ahead += 1) sum += expectDay(state, ahead);
  return sum;
}

/** All experts with their states after every day. */
export function runExperts(history: readonly number[]): Expert[] {
  const shapes = weekShapes(history);
  const week = history.map((value, day) => value / (shapes[day]?.[day % WEEK_DAYS] ?? 1));
  const [half, thirdOfWeek] = [smooth(history, 0.5), smooth(week, 0.3)];
  const toMeans = means(history, MEAN_DAYS);
  return [
    level(history),
    level(smooth(history, 0.3)),
    level(smooth(history, 0.07)),
    level(means(history, WEEK_DAYS)),
    level(means(history, Infinity)),
    level(medians(history)),
    ...RETURN_KEEPS.map((keep) => returning(half, toMeans, keep)),
    drifting(smooth(week, 0.5), 0, shapes),
    drifting(history, 1, null),
    drifting(thirdOfWeek, 0.5, shapes),
    drifting(thirdOfWeek, 1, shapes),
    holtWintersDamped(history),
  ];
}

const flat = (day: number, value: number): ExpertState => ({
  day,
  level: value,
  slope: 0,
  keep: DRIFT_KEEP,
  shape: null,
  added: null,
});

const level = (levels: readonly number[]): Expert => ({
  prior: 1,
  states: levels.map((value, day) => flat(day, value)),
});

/**
 * Exponentially smoothed, with the weights of the days that are there brought to 1: no first day counts for more than
 * its own.
 */
function smooth(series: readonly number[], share: number): number[] {
  let [sum, weight] = [0, 0];
  return series.map((value) => {
    sum = (1 - share) * sum + share * value;
    weight = (1 - share) * weight + share;
    return sum / weight;
  });
}

/** The mean of the last `days` days. */
function means(series: readonly number[], days: number): number[] {
  let sum = 0;
  return series.map((value, day) => {
    sum += value - (day >= days ? (series[day - days] ?? 0) : 0);
    return sum / Math.min(day + 1, days);
  });
}

/** The median of the last four weeks. */
function medians(series: readonly number[]): number[] {
  const sorted: number[] = [];
  const placeOf = (value: number): number => {
    const place = sorted.findIndex((other) => other >= value);
    return place < 0 ? sorted.length : place;
  };
  return series.map((value, day) => {
    sorted.splice(placeOf(value), 0, value);
    if (day >= MEDIAN_DAYS) sorted.splice(placeOf(series[day - MEDIAN_DAYS] ?? 0), 1);
    return middle(sorted);
  });
}

/** A level that goes back to the mean: an autoregression of order one, its mean and pace given. */
function returning(levels: readonly number[], toMeans: readonly number[], keep: Keep): Expert {
  return {
    prior: 1,
    // level + (mean - level)(1 - keep^h), and 1 - keep^h is (1 / keep - 1) times keep + ... + keep^h.
    states: levels.map((from, day) => ({
      day,
      level: from,
      slope: ((toMeans[day] ?? from) - from) * (1 / keep.share - 1),
      keep,
      shape: null,
      added: null,
    })),
  };
}

/** A share of the last four weeks' drift, damped; with the week's shape where one is given. */
function drifting(levels: readonly number[], share: number, shapes: readonly (Float64Array | null)[] | null): Expert {
  return {
    prior: share === 0 ? 1 : DRIFT_PRIOR,
    states: levels.map((from, day) => ({
      day,
      level: from,
      slope: share * driftAt(levels, day),
      keep: DRIFT_KEEP,
      shape: shapes?.[day] ?? null,
      added: null,
    })),
  };
}

function driftAt(levels: readonly number[], day: number): number {
  const days = Math.min(DRIFT_DAYS, day);
  if (days < LEAST_DRIFT_DAYS) return 0;
  const now = levels[day] ?? 0;
  return Math.max((now - (levels[day - days] ?? 0)) / days, -now * STEEPEST_FALL);
}

/** Holt-Winters with its trend damped (FPP3, 8.3); the same day of last week before two weeks are known. */
function holtWintersDamped(history: readonly number[]): Expert {
  const fits = runHoltWinters(history);
  return {
    prior: 1,
    states: history.map((value, day) => {
      const fit = fits[day] ?? null;
      if (fit !== null)
        return { day, level: fit.level, slope: fit.trend, keep: TREND_KEEP, shape: null, added: fit.season };
      return day + 1 < WEEK_DAYS ? flat(day, value) : { ...flat(day, 0), added: lastWeek(history, day) };
    }),
  };
}

/** The last seven days, by day of the week. */
function lastWeek(history: readonly number[], day: number): Float64Array {
  const week = new Float64Array(WEEK_DAYS);
  for (let at = day - WEEK_DAYS + 1; at <= day; at += 1) week[at % WEEK_DAYS] = history[at] ?? 0;
  return week;
}
