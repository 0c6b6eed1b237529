/**
 * The experts behind the forecast: ways to carry a daily series forward, and weights by how each has done so far.
 *
 * An expert is a level (the last value, or smoothed), a damped drift (none, half, all of the last four weeks'), with or
 * without the week's shape. Never reads ahead: what stands at day t was made from days 0..t alone. Forecasts are never
 * below zero.
 */

export const WEEK_DAYS = 7;
/** Days over which the drift is taken; drifts are damped (Gardner and McKenzie 1985: trends rarely last). */
const DRIFT_DAYS = 28;
const DAMPING = 0.97;
const LEAST_DRIFT_DAYS = 3;
const LEAST_SEASON_DAYS = 2 * WEEK_DAYS;
const SEASON_DAYS = 8 * WEEK_DAYS;
/** A falling drift stops above zero: the damped sum of a drift of level / 40 takes at most 32 / 40 of the level. */
const STEEPEST_FALL = 1 / 40;

const SMOOTHING = [1, 0.3] as const;
const DRIFT_SHARES = [0, 0.5, 1] as const;

/** An expert's state after a day. */
export interface ExpertState {
  readonly level: number;
  readonly drift: number;
  /** By day of the week, counted from the series' first day; null for an expert without seasons. */
  readonly season: Float64Array | null;
  /** Index of the day, so that `season` finds the days after it. */
  readonly day: number;
}

const damped = (days: number): number => (DAMPING * (1 - DAMPING ** days)) / (1 - DAMPING);
/** Sum of the damping factors of 1..days, kept for a year: a forecast asks for them a million times. */
const DAMPED = Float64Array.from({ length: 400 }, (_, days) => damped(days));
const dampedDays = (days: number): number => DAMPED[days] ?? damped(days);

/** What the expert expects `ahead` (1, 2, ...) days after its state's day. */
export function expectDay(state: ExpertState, ahead: number): number {
  const plain = state.level + state.drift * dampedDays(ahead);
  return plain * (state.season?.[(state.day + ahead) % WEEK_DAYS] ?? 1);
}

/** What the expert expects in all of the next `days` days. */
export function expectSum(state: ExpertState, days: number): number {
  if (state.season !== null) {
    let sum = 0;
    for (let ahead = 1; ahead <= days; ahead += 1) {
      sum += (state.level + state.drift * dampedDays(ahead)) * (state.season[(state.day + ahead) % WEEK_DAYS] ?? 1);
    }
    return sum;
  }
  // The sum over h of dampedDays(h), in closed form.
  const drifted = (DAMPING / (1 - DAMPING)) * (days - dampedDays(days));
  return state.level * days + state.drift * drifted;
}

/** States of all experts after every day: `states[expert][day]`. */
export function runExperts(history: readonly number[]): ExpertState[][] {
  const seasons = runSeasons(history);
  const experts: ExpertState[][] = [];
  for (const seasonal of [false, true]) {
    const series = history.map((value, day) => {
      const factor = seasonal ? (seasons[day]?.[day % WEEK_DAYS] ?? 1) : 1;
      return value / factor;
    });
    for (const smoothing of SMOOTHING) {
      const levels = smooth(series, smoothing);
      for (const share of DRIFT_SHARES) {
        experts.push(levels.map((level, day) => ({ level, drift: share * driftAt(levels, day), season: seasonal ? (seasons[day] ?? null) : null, day })));
      }
    }
  }
  return experts;
}

function smooth(series: readonly number[], share: number): number[] {
  let level = series[0] ?? 0;
  return series.map((value) => (level = share * value + (1 - share) * level));
}

function driftAt(levels: readonly number[], day: number): number {
  const days = Math.min(DRIFT_DAYS, day);
  if (days < LEAST_DRIFT_DAYS) return 0;
  const level = levels[day] ?? 0;
  return Math.max((level - (levels[day - days] ?? 0)) / days, -level * STEEPEST_FALL);
}

/**
 * The week's shape after each day: per weekday the median ratio of a day to the mean of the seven days up to it, over
 * eight weeks. Null before two weeks are known. Whether there is a shape at all is for the weights to say.
 */
function runSeasons(history: readonly number[]): (Float64Array | null)[] {
  const ratios = history.map((value, day) => {
    if (day < WEEK_DAYS - 1) return null;
    let sum = 0;
    for (let back = 0; back < WEEK_DAYS; back += 1) sum += history[day - back] ?? 0;
    return sum > 0 ? (value * WEEK_DAYS) / sum : null;
  });
  return history.map((_, day) => {
    if (day + 1 < LEAST_SEASON_DAYS) return null;
    const season = new Float64Array(WEEK_DAYS);
    for (let weekday = 0; weekday < WEEK_DAYS; weekday += 1) {
      const own: number[] = [];
      for (let at = day - ((day - weekday) % WEEK_DAYS); at >= Math.max(0, day - SEASON_DAYS + 1); at -= WEEK_DAYS) {
        const ratio = ratios[at];
        if (ratio !== null && ratio !== undefined) own.push(ratio);
      }
      season[weekday] = own.length === 0 ? 1 : median(own);
    }
    const mean = season.reduce((sum, factor) => sum + factor, 0) / WEEK_DAYS;
    return season.map((factor) => Math.max(factor / mean, 0.05));
  });
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
