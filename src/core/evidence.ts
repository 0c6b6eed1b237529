/**
 * What a judgement goes by: what was seen, over which time, and how old the newest of it was when it was looked at.
 * Types only.
 */
export interface Evidence {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  /** Seconds between the newest evidence and the evaluation. */
  readonly ageSeconds: number;
}
