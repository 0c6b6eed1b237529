/**
 * The input of a monthly report, as loaded: sums, entries and samples of one team's month, nothing rounded and nothing
 * judged.
 *
 * Types only. Amounts of spend are exact decimals in the report's currency; nanos elsewhere; times in epoch
 * milliseconds; null is unknown.
 */
import type { UnpricedUsage } from '../cost/unpriced.js';
import type { Reason } from '../action/action.js';
import type { Decimal } from '../decimal.js';
import type { Rate } from '../money.js';
import type { ChanceState, ComparedDays, ReportBudget, Stated, VarianceLine } from './report.js';
import type { LedgerState } from '../saving/saving.js';
import type { Interval } from '../time.js';
import type { ChargeCategory, Term } from '../usage.js';

/** The spend of one team in a month on one SKU of a provider under one term, in one charge category. */
export interface MonthCell {
  readonly team: string;
  readonly provider: string;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  readonly category: ChargeCategory;
  /** Null: nothing of it has a price. */
  readonly amount: Decimal | null;
  /** GPU part-milliseconds metered, unpriced ones too; null: no quantity is stated. */
  readonly quantity: bigint | null;
  /** The part of the quantity without a price. */
  readonly unpriced: bigint;
}

export interface MonthFacts {
  readonly cells: readonly MonthCell[];
  /** By currency: what has no exchange rate on its day. */
  readonly unconverted: ReadonlyMap<string, Decimal>;
  /** By currency: the amounts of open bills that meters cover. */
  readonly setAside?: ReadonlyMap<string, Decimal>;
  /** Storage, traffic and what has no quantity, without a price. */
  readonly unpriced?: readonly UnpricedUsage[];
}

export interface DayAmount {
  /** `YYYY-MM-DD` of the report's zone. */
  readonly day: string;
  readonly amount: Decimal;
}

/** An entry of the savings ledger, and what of it lies in the month. */
export interface SavingFacts {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effect: string;
  readonly policy: string | null;
  readonly state: LedgerState;
  readonly reason: string | null;
  readonly appliedAt: string;
  readonly counterfactual: string;
  readonly currency: string;
  /** Nanos, of all hours so far. */
  readonly savedToDate: bigint;
  /** Its monthly estimate before it was carried out; null: unknown, and so are the ends of an interval. */
  readonly estimate: { readonly mean: bigint; readonly low: bigint | null; readonly high: bigint | null } | null;
  /** Its action was taken back: what it was expected to save does not come any more. */
  readonly rolledBack: boolean;
  readonly month: {
    readonly counterfactual: bigint;
    readonly actual: bigint;
    readonly measured: bigint;
    readonly verified: bigint;
    readonly unverifiableHours: number;
  };
}

export interface RefusalFacts {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effect: string;
  readonly state: string;
  readonly at: number;
  readonly reasons: readonly Reason[];
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  readonly currency: string;
}

export interface ChanceFacts {
  readonly recommendation: string;
  readonly team: string;
  readonly title: string;
  readonly policy: string;
  readonly state: ChanceState;
  readonly estimate: { readonly mean: bigint; readonly low: string | null; readonly high: string | null } | null;
  /** The target's cost without the change; null: unknown. */
  readonly estimatedMonthlyCost: string | null;
  readonly currency: string;
  readonly effort: string;
  readonly obstacle: string | null;
}

/** GPUs of one kind at one place, hour by hour over the month. */
export interface DemandFacts {
  readonly provider: string;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  /** GPUs used on demand in each hour, and those that commitments served. What ran on spot is in neither. */
  readonly onDemandGpus: Float64Array;
  readonly committedGpus: Float64Array;
  /** Null: no price. */
  readonly onDemand: Rate | null;
  /** The cheapest commitment of a year or less on offer; null: none. */
  readonly offer: { readonly term: Term; readonly termHours: number; readonly rate: Rate } | null;
}

/** Samples of the month's GPUs of one kind, in GPU-minutes: a sample vouches for its minute and no other. */
export interface SampleFacts {
  readonly gpuModel: string | null;
  readonly sampled: number;
  readonly measured: number;
  readonly low: number;
  /** Summed over the measured ones. */
  readonly utilisation: number;
}

export interface ReportFacts {
  readonly team: string;
  readonly teamName: string;
  readonly teams: readonly string[];
  readonly month: string;
  readonly zone: string;
  readonly currency: string;
  readonly period: Interval;
  readonly asOf: number;
  readonly madeAt: number;
  readonly spend: MonthFacts;
  /** Of the days that the month is compared with. */
  readonly before: MonthFacts;
  /** These days; null: all of the month before. */
  readonly comparedDays: ComparedDays | null;
  /** The whole days of the month after it that were over when the report was made; null: none. */
  readonly after?: (MonthFacts & ComparedDays) | null;
  /** Days with an amount from the history before the month until its end, or until `asOf`. */
  readonly days: readonly DayAmount[];
  readonly budgets: readonly ReportBudget[];
  readonly savings: readonly SavingFacts[];
  readonly refusals: readonly RefusalFacts[];
  readonly refusedLaunches: Stated<number>;
  readonly chances: readonly ChanceFacts[];
  readonly demand: readonly DemandFacts[];
  readonly lowUtilisation: number;
  readonly samples: readonly SampleFacts[];
  readonly variance: Stated<readonly VarianceLine[]>;
}
