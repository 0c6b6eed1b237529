/**
 * A recommendation: one action on one target, what it would save by which numbers, and on what evidence.
 *
 * The saving is an estimate with an interval and the numbers that it was made of, never an assumed percentage. Field names
 * follow AWS Cost Optimization Hub where they fit (estimatedMonthlySavings, implementationEffort, rollbackPossible,
 * restartNeeded). The same view gives the same recommendation, and the same id.
 */

/** Actions, after Cost Optimization Hub's ActionType where it has the word. */
export type RecommendedAction = 'Stop' | 'Rightsize' | 'ScaleIn' | 'PurchaseReservedInstances' | 'PurchaseSavingsPlans' | 'MoveToSpot' | 'MoveToOffPeak';

export interface Recommendation {
  /** Stable: made of team, policy, action and target. */
  readonly id: string;
  readonly team: string;
  readonly policy: string;
  readonly policyVersion: number;
  readonly action: RecommendedAction;
  /** What is acted on: a resource, or `provider/region/sku` for a purchase. */
  readonly target: string;
  readonly title: string;
  /** Decimal strings in `currency`; the low and high ends of an 80 % interval. */
  readonly estimatedMonthlySavings: string;
  readonly estimatedMonthlySavingsLow: string;
  readonly estimatedMonthlySavingsHigh: string;
  /** The same estimate in nanos, as a decimal string. */
  readonly estimatedMonthlySavingsNanos: string;
  readonly currency: string;
  /** The numbers used, by name with unit. */
  readonly computation: Readonly<Record<string, string | number>>;
  readonly evidence: readonly Evidence[];
  readonly risk: { readonly interruption: 'None' | 'Low' | 'Medium' | 'High'; readonly note: string };
  readonly restartNeeded: boolean;
  readonly implementationEffort: 'VeryLow' | 'Low' | 'Medium' | 'High';
  readonly rollbackPossible: boolean;
  /** ISO 8601: after this the evidence is too old to act on. */
  readonly expiresAt: string;
}

export interface Evidence {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  /** Seconds between the newest evidence and the look. */
  readonly ageSeconds: number;
}
