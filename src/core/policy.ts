/**
 * What a policy is, and what it sees: one team at one instant, and nothing of the future.
 *
 * A policy is a pure function from a view to proposals. Live, in recommend mode and in a backtest it is the same call; the
 * same view gives the same proposals. Money is in nanos; what is not known is null, and null is never taken for zero.
 */
import type { ZodType } from 'zod';
import type { Budget, BudgetState } from './budget.js';
import type { Evidence, Recommendation, RecommendedAction } from './recommendation.js';
import { formatDecimal } from './decimal.js';
import { divideHalfEven, type Rate } from './money.js';
import type { Upfront } from './price.js';
import { formatInstant, DAY_MS } from './time.js';
import type { Term } from './usage.js';

/** Hours in a month, as price lists and clouds count them (365 x 24 / 12). */
export const HOURS_PER_MONTH = 730;

/** Whole hours of one kind of GPU at one place, as metered. */
export interface DemandSeries {
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  /** First millisecond of the first hour. */
  readonly from: number;
  /** GPUs held on average in each hour, oldest first. */
  readonly gpus: Float64Array;
  /** What an hour of one GPU costs now, in the view's currency; null: it has no price. */
  readonly onDemand: Rate | null;
  readonly reserved: readonly ReservedOffer[];
}

/** A price for committed GPUs, converted to the view's currency. */
export interface ReservedOffer {
  readonly term: Term;
  readonly upfront: Upfront;
  readonly termHours: number;
  readonly rate: Rate;
  readonly source: string;
}

/** One reading of a resource's GPUs; null where it was not measured or the reading was blank. */
export interface Reading {
  readonly at: number;
  readonly gpuUtilisationRatio: number | null;
  readonly memoryUsedRatio: number | null;
  readonly requestsPerSecond: number | null;
}

export interface ResourceView {
  readonly resource: string;
  /** `training`, `inference`, `notebook`, ...; null: nobody said. */
  readonly workload: string | null;
  readonly gpus: number | null;
  readonly gpuModel: string | null;
  /** What an hour of the whole resource costs; null: it has no price. */
  readonly hourlyNanos: bigint | null;
  /** Oldest first, none after the view's instant. */
  readonly readings: readonly Reading[];
}

export interface PolicyView {
  readonly organisation: string;
  readonly team: string;
  /** The instant as of which everything is seen, epoch milliseconds. */
  readonly asOf: number;
  /** ISO 4217 code of every amount here. */
  readonly currency: string;
  readonly demand: readonly DemandSeries[];
  readonly resources: readonly ResourceView[];
  readonly budgets: readonly { readonly budget: Budget; readonly state: BudgetState }[];
}

export interface Proposal {
  readonly action: RecommendedAction;
  readonly target: string;
  readonly title: string;
  /** Nanos per month of 730 hours; low and high are the ends of an 80 % interval. */
  readonly monthlySavings: { readonly mean: bigint; readonly low: bigint; readonly high: bigint };
  /** The numbers used, by name with unit. */
  readonly computation: Readonly<Record<string, string | number>>;
  readonly evidence: readonly Evidence[];
  readonly risk: Recommendation['risk'];
  readonly restartNeeded: boolean;
  readonly implementationEffort: Recommendation['implementationEffort'];
  readonly rollbackPossible: boolean;
  readonly validDays: number;
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
  evaluate(view: PolicyView, params: Params): readonly Proposal[];
  readonly examples: readonly PolicyExample<Params>[];
}

const money = (nanos: bigint): string => formatDecimal({ unscaled: divideHalfEven(nanos, 10_000_000n), scale: 2 });

/** A proposal as the recommendation that people see. Its id is the same as long as it proposes the same. */
export function recommendationOf(view: PolicyView, policy: Pick<Policy, 'name' | 'version'>, proposal: Proposal): Recommendation {
  const { monthlySavings, validDays, ...rest } = proposal;
  return {
    ...rest,
    id: stableId([view.team, policy.name, proposal.action, proposal.target].join('\u0001')),
    team: view.team, policy: policy.name, policyVersion: policy.version, currency: view.currency,
    estimatedMonthlySavings: money(monthlySavings.mean), estimatedMonthlySavingsLow: money(monthlySavings.low),
    estimatedMonthlySavingsHigh: money(monthlySavings.high), estimatedMonthlySavingsNanos: String(monthlySavings.mean),
    expiresAt: formatInstant(view.asOf + validDays * DAY_MS),
  };
}

/** `rec-` and 16 hexadecimal digits of a 64-bit FNV-1a hash: short, stable, and made without a library. */
function stableId(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at++) hash = ((hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n) & 0xffffffffffffffffn;
  return `rec-${hash.toString(16).padStart(16, '0')}`;
}
