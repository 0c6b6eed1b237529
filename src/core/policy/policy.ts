/**
 * What a policy is: a pure function from a view of a team to proposals, with its parameters, its documentation and its
 * examples.
 *
 * Live, in recommend mode and in a backtest it is the same call; the same view gives the same proposals. A saving is
 * made of the view's numbers or is null: unknown is never zero, and never an assumed percentage.
 */
import type { ZodType } from 'zod';
import type { PolicyView } from './view.js';
import type { Evidence } from '../evidence.js';
import type { Change, PurchasePlace, Recommendation, RecommendedAction, SavingRecurrence } from './recommendation.js';
import { formatDecimal } from '../decimal.js';
import { divideHalfEven } from '../money.js';
import { formatInstant, DAY_MS } from '../time.js';

export * from './view.js';

/** Hours in a month, as price lists and clouds count them (365 x 24 / 12). */
export const HOURS_PER_MONTH = 730;

/** Nanos per month of 730 hours; low and high are the ends of an 80 % interval. */
export interface SavingsEstimate {
  readonly mean: bigint;
  readonly low: bigint;
  readonly high: bigint;
}

export interface Proposal {
  readonly action: RecommendedAction;
  readonly target: string;
  /**
   * What the proposal decides about, where that is wider than the target: proposals on one subject exclude each other.
   */
  readonly subject?: string;
  readonly title: string;
  /** Null: it cannot be known from the view, and `computation` says why. Below zero: it costs. */
  readonly monthlySavings: SavingsEstimate | null;
  /** `once`: the estimate is the whole of a saving that happens once. Absent: `monthly`. */
  readonly savingRecurs?: SavingRecurrence;
  /** Of a purchase: where it serves. */
  readonly place?: PurchasePlace;
  /**
   * Nanos that the target costs untouched, over the time that the saving is of: a month of 730 hours; the whole of a
   * job or a run whose saving happens once; of a purchase what the covered hours cost on demand. Null: it is not known,
   * and then no saving may be claimed (claim.ts).
   */
  readonly monthlyCost: bigint | null;
  /** Made for another reason than a saving (a limit, a deadline, a service level): kept also where it saves nothing. */
  readonly protective?: boolean;
  /** What the action sets, for whoever carries it out. */
  readonly change?: Change;
  /** The numbers used, by name with unit. */
  readonly computation: Readonly<Record<string, string | number>>;
  readonly evidence: readonly Evidence[];
  readonly risk: Recommendation['risk'];
  readonly restartNeeded: boolean;
  readonly implementationEffort: Recommendation['implementationEffort'];
  readonly rollbackPossible: boolean;
  readonly validDays: number;
}

/** What a policy made of one thing that it looked at. */
export interface TargetExplanation {
  /** A target, a workload, a group or a budget, as a proposal would name it. */
  readonly target: string;
  /** What it saw of it, as sentences. */
  readonly saw: readonly string[];
  /** Null: it proposes something. */
  readonly leftAlone: LeftAlone | null;
}

/** Why nothing is proposed, what was missing where something was, and what would make the policy act. */
export interface LeftAlone {
  readonly code: string;
  readonly message: string;
  readonly toAct: string;
  /**
   * Absent: it saw what there is to see. `late`: readings are not here, or say nothing, that may be either way: what
   * was proposed before stands, and nothing is proposed anew. `lost`: nothing was measured lately: what was proposed is
   * withdrawn, and what a person has rejected stays rejected.
   */
  readonly evidence?: 'late' | 'lost';
  /** Of a size that follows a load: it measures the load, or did lately, and wants no fewer than there are. */
  readonly holds?: true;
}

export interface PolicyExample<Params> {
  readonly title: string;
  readonly params: Partial<Params>;
  readonly view: PolicyView;
  /** What is proposed: action and target of each, in order. */
  readonly proposes: readonly { readonly action: RecommendedAction; readonly target: string }[];
}

export interface Policy<Params = unknown> {
  readonly name: string;
  /** Raised whenever the same view may give other proposals. */
  readonly version: number;
  readonly description: string;
  /** Validates the parameters and fills in defaults: makes the API's check, the documentation and the form. */
  readonly params: ZodType<Params>;
  /**
   * True: what it does to a workload holds only as long as it goes on proposing it, and is undone when it no longer
   * does (a brake). Absent: it holds until something else is done.
   */
  readonly holdsWhileProposed?: boolean;
  /**
   * True: it sets sizes by a load. Of several such documents over one workload the one that wants most decides, and
   * replicas are taken away only where none of them holds the size (as Kubernetes' autoscaler takes the largest of its
   * metrics, and scales in by none while one cannot be read).
   */
  readonly followsLoad?: boolean;
  /** True: it looks at the view's `instances` and `ownStops`, which are read for nobody else. */
  readonly needsInstances?: boolean;
  /** @param document the name of the document that asks; absent: none does (a backtest) */
  evaluate(view: PolicyView, params: Params, document?: string): readonly Proposal[];
  /**
   * What it saw of each thing that it looked at, and why it leaves alone what it proposes nothing for. Absent: of this
   * policy only what it proposes is known.
   */
  explain?(view: PolicyView, params: Params, document?: string): readonly TargetExplanation[];
  /**
   * When time alone may change what it proposes of the same view, in epoch milliseconds; null: never. Absent: it is
   * asked when something else has happened.
   */
  nextEvaluationAt?(view: PolicyView, params: Params): number | null;
  readonly examples: readonly PolicyExample<Params>[];
}

/** What the policy document adds to a proposal of its policy. */
export interface Provenance {
  readonly document: string;
  readonly mode: Recommendation['mode'];
  readonly insteadOf: Recommendation['insteadOf'];
}

const money = (nanos: bigint): string => formatDecimal({ unscaled: divideHalfEven(nanos, 10_000_000n), scale: 2 });

/** Whether a proposal is worth making: it saves, or nobody knows what it saves, or it is made for another reason. */
export const isWorthwhile = ({ monthlySavings, protective }: Proposal): boolean =>
  protective === true || monthlySavings === null || monthlySavings.mean > 0n;

/**
 * Share of the cost that is saved, in percent with one decimal, ties to even; null where either is unknown, or there is
 * no cost to take a share of.
 */
const percentageOf = (monthlySavings: SavingsEstimate | null, monthlyCost: bigint | null): number | null =>
  monthlySavings === null || monthlyCost === null || monthlyCost <= 0n
    ? null
    : Number(divideHalfEven(monthlySavings.mean * 1000n, monthlyCost)) / 10;

/** A proposal as the recommendation that people see. Its id is the same as long as it proposes the same. */
export function recommendationOf(
  view: PolicyView,
  policy: Pick<Policy, 'name' | 'version'>,
  proposal: Proposal,
  provenance?: Provenance,
): Recommendation {
  const { monthlySavings, monthlyCost, validDays, subject: _, ...rest } = proposal;
  const amount = (end: keyof SavingsEstimate): string | null =>
    monthlySavings === null ? null : money(monthlySavings[end]);
  return {
    ...rest,
    id: stableId([view.team, policy.name, proposal.action, proposal.target].join('\u0001')),
    team: view.team,
    policy: policy.name,
    policyVersion: policy.version,
    currency: view.currency,
    protective: proposal.protective ?? false,
    change: proposal.change ?? {},
    place: proposal.place ?? null,
    savingRecurs: proposal.savingRecurs ?? 'monthly',
    document: provenance?.document ?? policy.name,
    mode: provenance?.mode ?? 'recommend',
    insteadOf: provenance?.insteadOf ?? [],
    estimatedMonthlySavings: amount('mean'),
    estimatedMonthlySavingsLow: amount('low'),
    estimatedMonthlySavingsHigh: amount('high'),
    estimatedMonthlySavingsNanos: monthlySavings === null ? null : String(monthlySavings.mean),
    estimatedMonthlyCost: monthlyCost === null ? null : money(monthlyCost),
    estimatedSavingsPercentage: percentageOf(monthlySavings, monthlyCost),
    expiresAt: formatInstant(view.asOf + validDays * DAY_MS),
  };
}

/** `rec-` and 16 hexadecimal digits of a 64-bit FNV-1a hash: short, stable, and made without a library. */
function stableId(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at++)
    hash = ((hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n) & 0xffffffffffffffffn;
  return `rec-${hash.toString(16).padStart(16, '0')}`;
}
