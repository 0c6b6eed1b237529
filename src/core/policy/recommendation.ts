/**
 * A recommendation: one action on one target, its saving with the numbers behind it, and its evidence.
 *
 * The saving is an estimate with an interval and its input numbers, never an assumed percentage; an unknown saving is
 * null, which is not zero. Field names follow AWS Cost Optimization Hub where they fit (estimatedMonthlySavings,
 * estimatedMonthlyCost, estimatedSavingsPercentage, implementationEffort, rollbackPossible, restartNeeded). The same
 * view gives the same recommendation, and the same id.
 */
import { compareDecimal, parseDecimal, type Decimal } from '../decimal.js';
import type { Evidence } from '../evidence.js';

/**
 * Actions, with Cost Optimization Hub's ActionType if it has the term (Stop, ScaleIn, Rightsize, the purchases).
 * `Release` ends an allocation, `Replace` ends a resource with a lost GPU and creates another, `Keep` prevents resizing
 * by others, `RefuseLaunches` lets running targets continue, `Notify` only notifies.
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

/** The values that an action sets, by name with unit: `replicas`, `term`, `sku`, `units`. */
export type Change = Readonly<Record<string, string | number | boolean>>;

/** When a saving happens: every month, or once (that of a single job). */
export type SavingRecurrence = 'monthly' | 'once';

/** The scope of a commitment. */
export interface PurchasePlace {
  /** FOCUS ProviderName. */
  readonly provider: string;
  /** Null: any. */
  readonly region: string | null;
  /** The machine; null: it names none. */
  readonly sku: string | null;
  /** The account whose machines it should cover; null or absent: unknown. */
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
  /** The target of the action: a resource; for a purchase a display name, whose parts are in `place`. */
  readonly target: string;
  /**
   * The scope of a purchase; null: it is not a purchase. Absent in rows from before it was stored, unless the migration
   * filled it.
   */
  readonly place?: PurchasePlace | null;
  readonly title: string;
  /** Decimal strings in `currency`; the low and high ends of an 80 % interval. Null: unknown. */
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  /** The same estimate in nanos, as a decimal string. */
  readonly estimatedMonthlySavingsNanos: string | null;
  /** Whether the estimate is monthly, or the whole of a saving that happens once. Absent: as `monthly`. */
  readonly savingRecurs?: SavingRecurrence;
  /**
   * The target's cost without the change over the time of the saving, a decimal string in `currency`: a month; the
   * whole of a job or run that saves once; for a purchase the on-demand cost of the usage that it would cover. Null:
   * unknown. After Cost Optimization Hub's field of this name, which is the present resource's cost a month, and for
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
  /** Losing proposals of other policies on the same subject. */
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

/** Whether the whole interval is a saving: an action that may cost more than it saves is not a good first step. */
export function surelySaves({ estimatedMonthlySavings, estimatedMonthlySavingsLow }: Estimated): boolean {
  const [mean, low] = [decimalOf(estimatedMonthlySavings), decimalOf(estimatedMonthlySavingsLow)];
  return mean !== null && low !== null && mean.unscaled > 0n && low.unscaled >= 0n;
}

/** Sorted by the certain saving, the low end of the interval: the largest first, unknown last. */
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
