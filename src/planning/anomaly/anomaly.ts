/**
 * The definition of an anomaly, and how unusual a value must be to count as one: shared by spend and prices.
 *
 * Never reads ahead: a result with `decidedAt` T was decided only from the values up to T, and a later value may add a
 * report but never withdraws one. Decides nothing about money: the caller keeps a price or notifies a person.
 */

export type AnomalyKind = 'spike' | 'drop' | 'level-shift' | 'dirty-price';

export interface Anomaly {
  /** When the unusual value stands (the first one of a shift); the unit of the series. */
  readonly at: number;
  /**
   * When it could be detected: the same instant for a spike, a drop or a decimal slip; later for a shift and a price
   * that came back.
   */
  readonly decidedAt: number;
  readonly kind: AnomalyKind;
  /** What the values before it led to expect. Inside low..high nothing is reported. */
  readonly expected: { readonly low: number; readonly mean: number; readonly high: number };
  readonly observed: number;
  /**
   * How far out, in units of the distance at which a report begins: above 1, save for a shift, whose last value was,
   * and a repeat.
   */
  readonly score: number;
  /** The numbers that the decision used, by name. */
  readonly evidence: Readonly<Record<string, number>>;
}

/** Share of the past deviations that count as the tail. */
const TAIL_SHARE = 0.2;
/** Fewer tail values say nothing about a tail. */
const LEAST_TAIL = 3;

/**
 * The deviation that one value in `1 / rate` exceeds in normal operation, or null if the past is too short to tell.
 *
 * The largest fifth of the past deviations, less the point where that fifth begins, is taken as exponential (peaks over
 * threshold with shape 0: Siffer, Fouque, Termier, Largouet, KDD 2017). A new excess over the mean of k known ones then
 * follows an F distribution with 2 and 2k degrees of freedom, P(excess > s) = (1 + s / (k mean))^-k, so the answer is
 * wide while k is small. Exact for exponential tails up to the estimate of where the tail begins; wider than need be
 * for Gaussian ones, too narrow for heavier ones.
 * @param deviations past deviations, at least 0
 * @param rate share of values that may be reported in vain, below 0.2
 */
export function tailLimit(deviations: readonly number[], rate: number): number | null {
  const count = Math.floor(deviations.length * TAIL_SHARE);
  if (count < LEAST_TAIL) return null;
  const sorted = Float64Array.from(deviations).sort();
  const start = sorted[sorted.length - count - 1] ?? 0;
  let total = 0;
  for (let index = sorted.length - count; index < sorted.length; index += 1) total += (sorted[index] ?? 0) - start;
  return start + total * ((TAIL_SHARE / rate) ** (1 / count) - 1);
}

export type Direction = 1 | -1;

/** Unusual values in a row, all on the same side. */
export interface Episode {
  readonly first: number;
  readonly direction: Direction;
  readonly count: number;
}

/** The episode after a value that is unusual on one side, or usual (null). */
export function nextEpisode(episode: Episode | null, index: number, direction: Direction | null): Episode | null {
  if (direction === null) return null;
  if (episode?.direction !== direction) return { first: index, direction, count: 1 };
  return { ...episode, count: episode.count + 1 };
}

/** The middle value; 0 of none. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
