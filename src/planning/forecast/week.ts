/**
 * The weekly shape of a daily series. Never reads ahead: the shape at a day comes from the days up to it.
 */

export const WEEK_DAYS = 7;
const LEAST_DAYS = 2 * WEEK_DAYS;
const LOOK_BACK_DAYS = 8 * WEEK_DAYS;
/** No weekday is expected to cost nothing. */
const LEAST_FACTOR = 0.05;

/**
 * Factors by day of the week (counted from the series' first day, mean 1) after each day: the median ratio of such a
 * day to the mean of the seven days up to it, over eight weeks; 1 where no such mean was above zero. Null before two
 * weeks are known, and where credits leave no shape. Whether there is a week at all is for the experts' weights to say.
 */
export function weekShapes(history: readonly number[]): (Float64Array | null)[] {
  const ratios = history.map((value, day) => {
    if (day < WEEK_DAYS - 1) return null;
    let sum = 0;
    for (let back = 0; back < WEEK_DAYS; back += 1) sum += history[day - back] ?? 0;
    return sum > 0 ? (value * WEEK_DAYS) / sum : null;
  });
  const factors = new Float64Array(WEEK_DAYS).fill(1);
  return ratios.map((_, day) => {
    // Only the weekday that a day is can change with it, by a new ratio or by one that grows too old.
    if (day >= WEEK_DAYS - 1) factors[day % WEEK_DAYS] = shapeOf(ratios, day);
    if (day + 1 < LEAST_DAYS) return null;
    const mean = factors.reduce((sum, factor) => sum + factor, 0) / WEEK_DAYS;
    return mean > 0 ? factors.map((factor) => Math.max(factor / mean, LEAST_FACTOR)) : null;
  });
}

/** The median ratio of the weekday that a day is. */
function shapeOf(ratios: readonly (number | null)[], day: number): number {
  const own: number[] = [];
  for (let at = day; at >= Math.max(0, day - LOOK_BACK_DAYS + 1); at -= WEEK_DAYS) {
    const ratio = ratios[at] ?? null;
    if (ratio !== null) own.push(ratio);
  }
  return own.length === 0 ? 1 : middle(own.sort((a, b) => a - b));
}

/** The middle of sorted values, or the mean of the two in the middle; 0 of none. */
export function middle(sorted: ArrayLike<number>): number {
  const at = sorted.length >> 1;
  const upper = sorted[at] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[at - 1] ?? upper) + upper) / 2;
}
