/**
 * A recommendation: one action on one target, what it would save by which numbers, and on what evidence.
 *
 * The saving is an estimate with an interval and the numbers that it was made of, never an assumed percentage; where it
 * cannot be known it is null, which is not zero. Field names follow AWS Cost Optimization Hub where they fit
 * (estimatedMonthlySavings, estimatedMonthlyCost, estimatedSavingsPercentage, implementationEffort, rollbackPossible,
 * restartNeeded). The same view gives the same recommendation, and the same id.
 */
import { compareDecimal, parseDecimal, type Decimal } from '../decimal.js';
import type { Evidence } from '../evidence.js';

/**
 * Actions, after Cost Optimization Hub's ActionType where it has the word (Stop, ScaleIn, Rightsize, the purchases).
 * `Release` ends an allocation, `Replace` ends a resource whose GPU is lost and brings another, `Keep` forbids others
 * to resize, `RefuseLaunches` lets what runs run on, `Notify` only tells.
 */
export const ACTIONS = [
  'Stop',
  'Release',
  'Replace',
  'Keep',
  'ScaleIn',
  'MoveToOnDemand',
  'MoveToSpot',
  'MoveToOffPeak',
  'Rightsize',
  'ScaleOut',
  'Start',
  'PurchaseReservedInstances',
  'PurchaseSavingsPlans',
  'RefuseLaunches',
  'Notify',
] as const;
export type RecommendedAction = (typeof ACTIONS)[number];

export type PolicyMode = 'observe' | 'recommend' | 'approve' | 'enforce';

/** What an action sets, by name with unit: `replicas`, `term`, `sku`, `units`. */
export type Change = Readonly<Record<string, string | number | boolean>>;

/** When a saving happens: every month, or once (that of a single job). */
export type SavingRecurrence = 'monthly' | 'once';

/** Where a commitment serves. */
export interface PurchasePlace {
  /** FOCUS ProviderName. */
  readonly provider: string;
  /** Null: any. */
  readonly region: string | null;
  /** The machine; null: it names none. */
  readonly sku: string | null;
  /** Whose machines it is to serve; null or absent: nobody says. */
  readonly account?: string | null;
}

export interface Recommendation {
  /** Stable: made of team, policy, action and target. */
  readonly id: string;
  readonly team: string;
  readonly policy: string;
  readonly policyVersion: number;
  /** The policy document that asked for it, and its mode. */
  readonly document: string;
  readonly mode: PolicyMode;
  readonly action: RecommendedAction;
  /** What is acted on: a resource; of a purchase a name for reading, whose parts are in `place`. */
  readonly target: string;
  /** Of a purchase; null: it is none. Absent in what was written before it was kept, unless its migration filled it. */
  readonly place?: PurchasePlace | null;
  readonly title: string;
  /** Decimal strings in `currency`; the low and high ends of an 80 % interval. Null: unknown. */
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  /** The same estimate in nanos, as a decimal string. */
  readonly estimatedMonthlySavingsNanos: string | null;
  /** Whether the estimate is of a month, or the whole of a saving that happens once. Absent: as `monthly`. */
  readonly savingRecurs?: SavingRecurrence;
  /**
   * What the target costs untouched over the time that the saving is of, a decimal string in `currency`: a month; the
   * whole of a job or run that saves once; of a purchase what the usage that it would cover costs on demand. Null:
   * unknown.
   * After Cost Optimization Hub's field of this name, which is the present resource's cost a month, and for
   * reservations and savings plans that of the usage that is eligible for them (AWS Billing and Cost Management API
   * Reference, CostOptimizationHub_Recommendation).
   */
  readonly estimatedMonthlyCost: string | null;
  /**
   * The saving as a share of that cost, in percent with one decimal (ibid., `estimatedSavingsPercentage`); null: either
   * is unknown, or the cost is 0.
   */
  readonly estimatedSavingsPercentage: number | null;
  readonly currency: string;
  /** Made for another reason than a saving. */
  readonly protective: boolean;
  readonly change: Change;
  /** The numbers used, by name with unit. */
  readonly computation: Readonly<Record<string, string | number>>;
  readonly evidence: readonly Evidence[];
  /** What other policies proposed on the same subject, and lost. */
  readonly insteadOf: readonly Displaced[];
  readonly risk: { readonly interruption: 'None' | 'Low' | 'Medium' | 'High'; readonly note: string };
  readonly restartNeeded: boolean;
  readonly implementationEffort: 'VeryLow' | 'Low' | 'Medium' | 'High';
  readonly rollbackPossible: boolean;
  /** ISO 8601: after this the evidence is too old to act on. */
  readonly expiresAt: string;
}

export interface Displaced {
  readonly document: string;
  readonly policy: string;
  readonly action: RecommendedAction;
  readonly target: string;
  readonly estimatedMonthlySavings: string | null;
  /** The rule by which it lost. */
  readonly because: 'action' | 'priority' | 'saving' | 'name' | 'group';
}

/** A saving by its ends. */
export type Estimated = Pick<Recommendation, 'estimatedMonthlySavings' | 'estimatedMonthlySavingsLow'>;

const decimalOf = (text: string | null | undefined): Decimal | null =>
  text === null || text === undefined ? null : parseDecimal(text);

/** Whether all of the interval says that it saves: one that may cost more than it saves is nothing to begin with. */
export function surelySaves({ estimatedMonthlySavings, estimatedMonthlySavingsLow }: Estimated): boolean {
  const [mean, low] = [decimalOf(estimatedMonthlySavings), decimalOf(estimatedMonthlySavingsLow)];
  return mean !== null && low !== null && mean.unscaled > 0n && low.unscaled >= 0n;
}

/** In the order of what is surely saved, the low end of the interval: the most first, what nobody knows last. */
export function byLowEnd(a: Estimated, b: Estimated): number {
  for (const name of ['estimatedMonthlySavingsLow', 'estimatedMonthlySavings'] as const) {
    const [x, y] = [decimalOf(a[name]), decimalOf(b[name])];
    if (x === null && y === null) continue;
    if (x === null) return 1;
    if (y === null) return -1;
    const order = compareDecimal(y, x);
    if (order !== 0) return order;
  }
  return 0;
}
