/**
 * The monthly report of a team: one model that every format shows, so that no two formats can differ. Plain JSON.
 *
 * Amounts are decimal strings, exact; shares and ratios are numbers; times ISO 8601 in UTC; days `YYYY-MM-DD` of the
 * report's zone. An unknown value is null and has its reason as a code; it is never zero. A report covers the team and
 * every team below it, as its budgets do. This file contains the types; bridge.ts, spend.ts and model.ts compute the
 * figures.
 */
import type { UnpricedUsage } from '../cost/unpriced.js';
import type { Reason } from '../action/action.js';
import type { EffectName } from './bridge.js';
import type { ChargeCategory, Term } from '../usage.js';

/** A value, or the reason why it is unknown. */
export type Stated<T> =
  | { readonly known: T; readonly reason: null }
  | { readonly known: null; readonly reason: string };

export const stated = <T>(known: T): Stated<T> => ({ known, reason: null });
export const notStated = (reason: string): { readonly known: null; readonly reason: string } => ({
  known: null,
  reason,
});

export interface ReportAmount {
  readonly currency: string;
  readonly amount: string;
}

export interface SpendLine {
  /** Null: not known (a bill that names no GPU kind, a meter that names no term). */
  readonly name: string | null;
  /** Null: nothing here has a price. */
  readonly amount: string | null;
  /** Of the compared days of the previous month; null: nothing at all was recorded, or nothing of this had a price. */
  readonly before: string | null;
  /** Share of the month's total; null if that is zero or this has no price. */
  readonly share: number | null;
  readonly gpuHours: string | null;
  readonly unpricedGpuHours: string;
}

export interface ReportDay {
  readonly day: string;
  readonly amount: string;
}

export interface ReportSpend {
  /** Null: nothing has a price. */
  readonly total: string | null;
  /** Of the compared days of the previous month; null: nothing is recorded. */
  readonly before: string | null;
  /** Zero or below; part of the total. */
  readonly credits: string;
  readonly gpuHours: string | null;
  readonly unpricedGpuHours: string;
  /** Amounts of the month that have no exchange rate: they are in no other figure. */
  readonly unconverted: readonly ReportAmount[];
  /**
   * The lines of bills that are not final and that meters cover until then: in no other figure. Older reports lack it.
   */
  readonly setAside?: readonly ReportAmount[];
  /** Storage, traffic and what has no quantity, without a price: in no other figure. Lacking likewise. */
  readonly unpriced?: readonly UnpricedUsage[];
  readonly byProvider: readonly SpendLine[];
  readonly byGpuModel: readonly SpendLine[];
  readonly byTerm: readonly SpendLine[];
  readonly byTeam: readonly SpendLine[];
  readonly byDay: readonly ReportDay[];
}

export interface ReportBudget {
  readonly budget: string;
  readonly team: string;
  readonly periodStart: string;
  readonly periodEnd: string;
  /** Its name in the budget's zone: 2026-10. Older reports lack it. */
  readonly period?: string;
  readonly status: 'planned' | 'not-planned';
  readonly currency: string;
  readonly planned: string | null;
  readonly spent: string;
  readonly committed: string;
  readonly ratio: number | null;
  /** Null: there was nothing to forecast from. */
  readonly forecast: { readonly mean: string; readonly low: string; readonly high: string } | null;
  readonly exhaustionAt: string | null;
  /** Its day in the budget's zone. Older reports lack it. */
  readonly exhaustionDay?: string | null;
  readonly unpricedGpuHours: string;
  /**
   * The other amounts that it lacks: spend without an exchange rate, bills without an amortised cost, lines that are
   * set aside, and metered usage that does not state a filtered field.
   */
  readonly lacking?: readonly { readonly currency: string; readonly amount: string | null }[];
  readonly crossings: readonly { readonly kind: string; readonly ratio: string; readonly crossedAt: string }[];
}

type EffectTexts = Readonly<Record<EffectName, string>>;

export interface ReportBridgeCell {
  readonly provider: string;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  readonly category: ChargeCategory;
  readonly before: string;
  readonly after: string;
  readonly effects: EffectTexts;
}

export interface ReportBridge {
  readonly before: string;
  readonly after: string;
  readonly change: string;
  readonly effects: EffectTexts;
  /** The cells with the largest changes. */
  readonly cells: readonly ReportBridgeCell[];
  /** All others, summed; null: there are none. */
  readonly rest: {
    readonly cells: number;
    readonly before: string;
    readonly after: string;
    readonly effects: EffectTexts;
  } | null;
  /** GPU-hours without a price: in no amount of either month. */
  readonly unpricedGpuHours: { readonly before: string; readonly after: string };
}

export interface ReportSaving {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effect: string;
  readonly policy: string | null;
  readonly state: string;
  /** Why it, or hours of it, cannot be verified. */
  readonly reason: string | null;
  readonly appliedAt: string;
  /** The kind of the counterfactual world (core/saving/counterfactual.ts). */
  readonly counterfactual: string;
  readonly currency: string;
  /** Of the month's claimed hours. */
  readonly counterfactualCost: string;
  readonly actualCost: string;
  readonly measured: string;
  readonly verified: string;
  readonly unverifiableHours: number;
  /** All that it has saved since it was applied, until the report was made. */
  readonly savedToDate: string;
  readonly estimatedMonthlySavings: string | null;
  /** The ends of its interval. Older reports lack them. */
  readonly estimatedMonthlySavingsLow?: string | null;
  readonly estimatedMonthlySavingsHigh?: string | null;
}

export interface ReportSavings {
  /** Actions whose saving is an estimate so far. */
  readonly estimated: {
    readonly count: number;
    readonly monthly: readonly ReportAmount[];
    /** Rolled back before any hour was measured: in no sum. Older reports lack it. */
    readonly rolledBack?: number;
    readonly unknown: number;
    /** The sums of the low and of the high ends, where all are known. Older reports lack them. */
    readonly monthlyLow?: readonly ReportAmount[];
    readonly monthlyHigh?: readonly ReportAmount[];
  };
  /** Sums over the month's hours, by the state of each hour: nothing is in both. */
  readonly measured: readonly ReportAmount[];
  readonly verified: readonly ReportAmount[];
  /** Measured and verified together. Older reports lack it. */
  readonly proven?: readonly ReportAmount[];
  readonly unverifiable: {
    readonly count: number;
    readonly reasons: readonly { readonly reason: string; readonly count: number }[];
  };
  readonly actions: readonly ReportSaving[];
}

export interface ReportRefusal {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effect: string;
  readonly state: string;
  readonly at: string;
  readonly reasons: readonly Reason[];
  readonly estimatedMonthlySavings: string | null;
  /** Older reports lack them. */
  readonly estimatedMonthlySavingsLow?: string | null;
  readonly estimatedMonthlySavingsHigh?: string | null;
  readonly currency: string;
}

export interface ReportRefused {
  readonly total: number;
  readonly byReason: readonly { readonly reason: string; readonly count: number }[];
  readonly actions: readonly ReportRefusal[];
  /** Launches that the admission refused. */
  readonly launches: Stated<number>;
}

export const CHANCE_STATES = ['open', 'rejected', 'expired'] as const;
export type ChanceState = (typeof CHANCE_STATES)[number];

/** A recommendation that saves nothing, because nobody took it up. */
export interface ReportChance {
  readonly recommendation: string;
  readonly team: string;
  readonly title: string;
  readonly policy: string;
  readonly state: ChanceState;
  /** Null: unknown. */
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  /** The target's cost without the change; null: unknown. Older reports lack it. */
  readonly estimatedMonthlyCost?: string | null;
  readonly currency: string;
  readonly effort: string;
  /** Why nothing carries it out; null: it waits for a decision. */
  readonly obstacle: string | null;
}

export interface ReportChances {
  readonly byState: readonly {
    readonly state: ChanceState;
    readonly count: number;
    readonly unknown: number;
    readonly monthly: readonly ReportAmount[];
    /** The sums of the low and of the high ends of their intervals. Older reports lack them. */
    readonly monthlyLow?: readonly ReportAmount[];
    readonly monthlyHigh?: readonly ReportAmount[];
  }[];
  /** Those that surely save the most. */
  readonly chances: readonly ReportChance[];
}

/** Pending decisions: open recommendations by their intervals. */
export interface ReportDecisions {
  /** All of the interval saves: how many, and the sums of their means and ends, by currency. */
  readonly sure: {
    readonly count: number;
    readonly monthly: readonly ReportAmount[];
    readonly monthlyLow: readonly ReportAmount[];
    readonly monthlyHigh: readonly ReportAmount[];
  };
  /** The interval reaches to where they cost more than they save, or the mean does not save. */
  readonly unsure: number;
  /** The number with an unknown saving. */
  readonly unknown: number;
}

export interface ReportOptimumPlace {
  readonly provider: string;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly term: Term;
  readonly gpuHours: string;
  /** The same hours all on demand, as they were bought, and as somebody who had known them would have bought them. */
  readonly onDemandCost: string;
  readonly actualCost: string;
  readonly optimumCost: string;
  /** Null: even the optimum saves nothing here. */
  readonly share: number | null;
}

export interface ReportOptimum {
  /** Share of the clairvoyant's savings, pooled over the places; null: it would have saved nothing. */
  readonly share: number | null;
  readonly saved: string;
  readonly possible: string;
  readonly places: readonly ReportOptimumPlace[];
  /** GPU-hours of on-demand and committed use without a price or an offer to compare with. */
  readonly leftOutGpuHours: string;
}

export interface UtilisationLine {
  readonly gpuModel: string | null;
  /** GPU-hours that samples vouch for, minute by minute. */
  readonly sampledGpuHours: string;
  /** The GPU-hours with a reported utilisation. */
  readonly measuredGpuHours: string;
  readonly lowGpuHours: string;
  readonly meanUtilisation: number | null;
  /** Sampled over metered GPU-hours; null: none were metered under this name. */
  readonly coverage: number | null;
  /** lowGpuHours at what an hour of this kind cost on average; null: it had no price. */
  readonly lowCost: string | null;
}

export interface ReportUtilisation {
  readonly threshold: number;
  readonly coverage: number | null;
  readonly lowGpuHours: string;
  readonly lowCost: string | null;
  readonly lines: readonly UtilisationLine[];
}

export interface VarianceLine {
  readonly provider: string;
  readonly currency: string;
  readonly accrued: string;
  readonly billed: string;
  /** billed - accrued, where both are known. */
  readonly amount: string;
  readonly ratio: number | null;
  readonly openFindings: number;
}

export interface ReportForecast {
  /** First and last day of the next month. */
  readonly from: string;
  readonly to: string;
  readonly mean: string;
  readonly low: string;
  readonly high: string;
  readonly coverage: number;
  readonly method: string;
  readonly historyDays: number;
}

export interface ReportSoFar extends ComparedDays {
  readonly days: number;
  /** Null: unknown. */
  readonly total: string | null;
}

/** `YYYY-MM-DD`, both in it. */
export interface ComparedDays {
  readonly first: string;
  readonly last: string;
}

export interface Report {
  readonly version: 1;
  readonly team: string;
  readonly teamName: string;
  /** The team and those below it. */
  readonly teams: readonly string[];
  /** `2026-10` */
  readonly month: string;
  /** IANA name: where the month's days begin. */
  readonly zone: string;
  readonly from: string;
  readonly to: string;
  /** Nothing later is in it. */
  readonly asOf: string;
  readonly isOver: boolean;
  /**
   * The days of the month before that this month is compared with; null: all. Older reports lack it: they compared even
   * a month that was not over with the whole month before.
   */
  readonly comparedDays?: ComparedDays | null;
  readonly madeAt: string;
  readonly currency: string;
  readonly spend: ReportSpend;
  readonly budgets: readonly ReportBudget[];
  readonly bridge: Stated<ReportBridge>;
  readonly savings: ReportSavings;
  readonly refused: ReportRefused;
  readonly leftOnTable: ReportChances;
  readonly optimum: Stated<ReportOptimum>;
  readonly utilisation: Stated<ReportUtilisation>;
  readonly billVariance: Stated<readonly VarianceLine[]>;
  readonly forecast: Stated<ReportForecast>;
  /**
   * What the days of the month after it that were over at `madeAt` have come to, beside the forecast, which uses nothing
   * of them; null: none was over. Older reports lack it.
   */
  readonly nextMonthSoFar?: ReportSoFar | null;
  /** The open recommendations that surely save the most, at most three; none whose interval reaches below zero. */
  readonly nextSteps: readonly ReportChance[];
  /** Older reports lack it. */
  readonly decisions?: ReportDecisions;
}
