/**
 * The evidence of a judgement: the observed facts, the period, and the age of the newest fact at the evaluation. Types
 * only.
 */
export interface Evidence {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  /** Seconds between the newest evidence and the evaluation. */
  readonly ageSeconds: number;
}
