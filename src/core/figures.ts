/**
 * Named numbers that people read: the words of each, and what it is counted in. Pure.
 *
 * A number whose unit is a noun is written without a unit: its words name it (held by
 * tests/unit/core/figures.test.ts).
 */
type Unit =
  /** An amount in the currency that stands beside it; `price`: with up to four digits. */
  | 'money'
  | 'price'
  /** Of one: 0.5 is 50 %. */
  | 'share'
  | 'instant'
  /** Words or a name, as they are. */
  | 'text'
  /** A word of the API, with hyphens. */
  | 'code'
  /** A threshold of a budget: `actual 0.8`. */
  | 'threshold'
  /** In the unit of the metric that the recommendation names. */
  | 'metric'
  | 'GPU'
  | 'replica'
  | 'hour'
  | 'minute'
  | 'second'
  | 'watt'
  | 'MiB'
  | 'GB'
  | '°C'
  | 'work'
  | 'interruption'
  | 'stop'
  | 'kind'
  | 'piece'
  | 'action'
  | 'reading'
  | 'replay'
  | 'restart'
  | 'scrape'
  | 'target';

export interface Figure {
  readonly words: string;
  readonly unit: Unit;
}

/** Amounts that are stored in nanos have it at the end of their name; three are the mean, low and high. */
export const NANOS = /Nanos$/;

/** A number with so many digits after the point; what rounds to zero has no sign. */
export const fixed = (value: number, digits: number): string => value.toFixed(digits).replace(/^-(0(\.0*)?)$/, '$1');

/**
 * A share in per cent, in one form everywhere: one digit, two below one per cent; below 0.01 % it says `less than`.
 * Null is unknown.
 */
export function shareText(ratio: number | null): string {
  if (ratio === null) return 'unknown';
  const [percent, sign] = [Math.abs(ratio) * 100, ratio < 0 ? '-' : ''];
  if (percent > 0 && percent < LEAST_PERCENT) return `less than ${LEAST_PERCENT} %`;
  return `${sign}${Number(percent.toFixed(percent < 1 ? 2 : 1))} %`;
}

const LEAST_PERCENT = 0.01;
