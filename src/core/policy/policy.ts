/**
 * The interface of a policy: a pure function from a view of a team to proposals, with its parameters, its documentation
 * and its examples.
 *
 * Live, in recommend mode and in a backtest it is the same call; the same view gives the same proposals. A saving is
 * computed from the view's numbers or is null: unknown is never zero, and never an assumed percentage.
 */
import type { ZodType } from 'zod';
import type { Computation } from './computation.js';
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
  /** The subject of the proposal, if it is wider than the target: proposals on one subject exclude each other. */
  readonly subject?: string;
  readonly title: string;
  /** Null: it cannot be known from the view, and `computation` says why. Below zero: it costs. */
  readonly monthlySavings: SavingsEstimate | null;
  /** `once`: the estimate is the whole of a saving that happens once. Absent: `monthly`. */
  readonly savingRecurs?: SavingRecurrence;
  /** For a purchase: its scope. */
  readonly place?: PurchasePlace;
  /**
   * The cost in nanos of the target without the change, over the time of the saving: a month of 730 hours; the whole of
   * a job or a run whose saving happens once; for a purchase the on-demand cost of the covered hours. Null: unknown,
   * and then no saving may be claimed (claim.ts).
   */
  readonly monthlyCost: bigint | null;
  /** Made for another reason than a saving (a limit, a deadline, a service level): kept even if it saves nothing. */
  readonly protective?: boolean;
  /** The values that the action sets. */
  readonly change?: Change;
  /** The numbers used, by name with unit. */
  readonly computation: Computation;
  readonly evidence: readonly Evidence[];
  readonly risk: Recommendation['risk'];
  readonly restartNeeded: boolean;
  readonly implementationEffort: Recommendation['implementationEffort'];
  readonly rollbackPossible: boolean;
  readonly validDays: number;
}

/** A policy's evaluation of one target. */
export interface TargetExplanation {
  /** A target, a workload, a group or a budget, as a proposal would name it. */
  readonly target: string;
  /** The facts that it saw, as sentences. */
  readonly saw: readonly string[];
  /** Null: it proposes something. */
  readonly leftAlone: LeftAlone | null;
}

/** Why nothing is proposed, the missing evidence, if any, and the condition under which the policy would act. */
export interface LeftAlone {
  readonly code: string;
  readonly message: string;
  readonly toAct: string;
  /**
   * Absent: the evidence is complete. `late`: readings are missing or blank, and could change the result: earlier
   * proposals stand, and nothing new is proposed. `lost`: nothing was measured recently: proposals are withdrawn, and
   * recommendations that a person has rejected stay rejected.
   */
  readonly evidence?: 'late' | 'lost';
  /**
   * For a size that follows a load: the policy measures the load, or did recently, and wants no fewer replicas than
   * there are.
   */
  readonly holds?: true;
}

export interface PolicyExample<Params> {
  readonly title: string;
  readonly params: Partial<Params>;
  readonly view: PolicyView;
  /** The expected proposals: action and target of each, in order. */
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
   * True: its actions on a workload hold only as long as it continues to propose them, and are reversed when it stops
   * (a brake). Absent: they hold until another action.
   */
  readonly holdsWhileProposed?: boolean;
  /**
   * True: it sets sizes by a load. Of several such documents for one workload the one with the largest size decides,
   * and replicas are removed only if none of them holds the size (Kubernetes' autoscaler also uses the largest of its
   * metrics, and does not scale in while one cannot be read).
   */
  readonly followsLoad?: boolean;
  /** The ready replicas of a service below which no policy's action goes while its document acts. Absent: none. */
  promises?(params: Params): { readonly service: string; readonly replicas: number };
  /** True: it uses the view's `instances` and `ownStops`, which are loaded only for such policies. */
  readonly needsInstances?: boolean;
  /** @param document the name of the document that asks; absent: none does (a backtest) */
  evaluate(view: PolicyView, params: Params, document?: string): readonly Proposal[];
  /**
   * The evaluation of each target, with the reason for targets that it leaves alone. Absent: only the proposals of this
   * policy are known.
   */
  explain?(view: PolicyView, params: Params, document?: string): readonly TargetExplanation[];
  /**
   * The time at which its proposals on the same view may change, in epoch milliseconds; null: never. Absent: it is
   * evaluated only after other events.
   */
  nextEvaluationAt?(view: PolicyView, params: Params): number | null;
  readonly examples: readonly PolicyExample<Params>[];
}

/** The policy document's additions to a proposal of its policy. */
export interface Provenance {
  readonly document: string;
  readonly mode: Recommendation['mode'];
  readonly insteadOf: Recommendation['insteadOf'];
}

const money = (nanos: bigint): string => formatDecimal({ unscaled: divideHalfEven(nanos, 10_000_000n), scale: 2 });

/** Whether a proposal is worth making: it has a saving, an unknown saving, or another reason. */
export const isWorthwhile = ({ monthlySavings, protective }: Proposal): boolean =>
  protective === true || monthlySavings === null || monthlySavings.mean > 0n;

/**
 * Share of the cost that is saved, in percent with one decimal, ties to even; null if either is unknown, or there is no
 * cost to take a share of.
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
    // Stored recommendations may have names of earlier versions.
    computation: proposal.computation as Recommendation['computation'],
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
