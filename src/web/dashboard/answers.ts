/**
 * What the API answers, as far as the dashboard reads it. Types only; amounts are decimal strings and null is unknown.
 */
import type { ActionState, EffectJson, Reason } from '../../core/action/action.js';
import type { Alert as CoreAlert } from '../../core/alert/alert.js';
import type { BacktestReport } from '../../core/policy/backtest.js';
import type { Budget as BudgetSettings } from '../../core/budget/budget.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { BreakdownRest, BreakdownRow, BreakdownSeries } from '../../core/report/breakdown.js';
import type { ReportBridge } from '../../core/report/report.js';
import type { BreakEven } from '../../core/policy/break-even.js';
import type { Recommendation } from '../../core/policy/recommendation.js';
import type { Scope } from '../../core/scopes.js';
import type { ReservationState } from '../../core/budget/reservation.js';
import type { LedgerState } from '../../core/saving/saving.js';

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface SignedIn {
  readonly kind: 'key' | 'user';
  readonly id: string;
  readonly name: string;
  /** Null: a key that was given its scopes one by one. */
  readonly role: string | null;
  readonly scopes: readonly Scope[];
  readonly teams: readonly string[] | null;
}

/** A session that holds, whoever's. */
export interface StandingSession {
  readonly id: string;
  readonly principal: string;
  readonly name: string;
  readonly startedAt: string;
  readonly lastUsedAt: string;
  readonly endsAt: string;
  readonly address: string | null;
  readonly agent: string | null;
  readonly isCurrent: boolean;
}

export interface Session {
  readonly signedIn: SignedIn | null;
  readonly oidc: boolean;
}

/** Why something is proposed or left alone. */
export interface Explained {
  readonly asked: string;
  readonly kind: 'team' | 'budget' | 'target' | 'measured' | 'ambiguous';
  readonly target: string;
  readonly team: string;
  readonly known: readonly string[];
  readonly recommended: { readonly at: string | null; readonly message: string };
  readonly looks: readonly ExplainedPolicy[];
}

export interface ExplainedPolicy {
  readonly document: string | null;
  readonly policy: string;
  readonly target: string;
  readonly saw: readonly string[];
  readonly proposes: readonly string[];
  readonly leftAlone: { readonly code: string; readonly message: string; readonly toAct: string } | null;
  readonly recommendation: {
    readonly id: string;
    readonly status: string;
    readonly decidedBy: string | null;
    readonly because: string | null;
  } | null;
}

export interface Money {
  readonly currency: string;
  readonly amount: string;
}

export interface BudgetState {
  readonly status: 'planned' | 'not-planned';
  readonly currency: string;
  readonly planned: string | null;
  readonly spent: string;
  readonly committed: string;
  readonly forecast: {
    readonly mean: string;
    readonly low: string;
    readonly high: string;
    readonly method: string;
  } | null;
  readonly exhaustionAt: string | null;
  readonly exhaustionDay?: string | null;
  readonly unpricedGpuHours: string;
  readonly ratio: number | null;
  readonly unconverted: readonly string[];
  /** On the basis effective: billed amounts whose bill states no amortised cost. */
  readonly unstated?: readonly { readonly currency: string; readonly amount: string; readonly lines?: number }[];
  /** Of bills that are not final, what meters stand for. */
  readonly setAside?: readonly { readonly currency: string; readonly amount: string }[];
  /** Metered usage that does not state what a filter asks for. */
  readonly unnamed?: readonly {
    readonly currency: string;
    readonly amount: string | null;
    readonly fields: readonly string[];
  }[];
  readonly unpriced?: readonly UnpricedUsage[];
}

/** Metered usage without a price that is no GPU time. */
export interface UnpricedUsage {
  readonly provider: string;
  readonly sku: string | null;
  readonly component: string;
  readonly quantity: string | null;
  readonly hours: number;
}

export interface Standing {
  readonly budget: string;
  readonly team: string;
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly state: BudgetState | null;
}

/** A bill of which lines may be in actual cost. */
export interface Bill {
  readonly source: string;
  readonly provider: string;
  readonly account: string | null;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly state: 'open' | 'settling' | 'final';
  readonly finalAt: string | null;
}

export interface Overview {
  readonly asOf: string;
  readonly month: string;
  readonly monthEnd: string;
  readonly spend: readonly {
    readonly currency: string;
    readonly month: string;
    readonly monthBefore: string | null;
    readonly forecast: {
      readonly mean: string;
      readonly low: string;
      readonly high: string;
      readonly method: string;
    } | null;
    readonly days: readonly { readonly day: string; readonly cost: string }[];
  }[];
  readonly unpricedGpuHours: string;
  readonly setAside: readonly { readonly currency: string; readonly cost: string }[];
  readonly unpriced: readonly UnpricedUsage[];
  readonly bills: readonly Bill[];
  readonly budgets: {
    readonly count: number;
    readonly over: number;
    readonly forecastOver: number;
    readonly notPlanned: number;
    readonly notWeighed: number;
    readonly items: readonly Standing[];
  };
}

export interface BurnDown {
  readonly budget: string;
  readonly currency: string;
  /** IANA name: where its days begin. */
  readonly zone: string;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly planned: string | null;
  readonly days: readonly {
    readonly day: string;
    readonly spent: string;
    readonly total: string;
    readonly unpricedGpuHours: string;
  }[];
}

export interface Team {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly zone: string;
  readonly currency: string;
}

export interface Lease {
  readonly lease: string;
  readonly target: string;
  readonly holder: string | null;
  readonly gpus: number | null;
  readonly startedAt: string;
  readonly expiresAt: string | null;
  readonly active: boolean | null;
}

export type CostRow = Readonly<Record<string, string | null>> & {
  readonly cost: string | null;
  readonly currency: string;
  readonly unpricedQuantity: string;
};

export interface Costs {
  readonly rows: readonly CostRow[];
  readonly total: string | null;
  readonly totals: readonly { readonly currency: string; readonly cost: string }[];
  readonly unpricedQuantity: string;
  readonly lacking: {
    readonly setAside: readonly { readonly currency: string; readonly cost: string }[];
    readonly unpriced: readonly UnpricedUsage[];
  };
}

export interface StoredRecommendation extends Recommendation {
  readonly status: string;
  readonly madeAt: string;
  readonly decidedBy: string | null;
  readonly actionId: string | null;
  readonly actionState: ActionState | null;
  readonly obstacle: Reason | null;
  readonly breakEven: BreakEven | null;
  readonly may: { readonly approve: Refusal; readonly reject: Refusal };
}

/** What a recommendation rests on, as a series. */
export interface RecommendationEvidence {
  readonly measure: 'gpus' | 'utilisation' | null;
  readonly points: readonly { readonly at: string; readonly value: number | null }[];
  readonly threshold: number | null;
}

/** Why the reader may not; null: they may. */
export type Refusal = { readonly code: string; readonly message: string } | null;

/** What the recommendation of an action expects it to save. */
export interface ExpectedSaving {
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  readonly currency: string;
  readonly protective: boolean;
}

export interface Action {
  readonly saves: ExpectedSaving | null;
  readonly may: { readonly approve: Refusal; readonly reject: Refusal; readonly rollback: Refusal };
  readonly id: string;
  readonly team: string;
  readonly connection: string;
  readonly target: string;
  readonly effect: EffectJson;
  readonly state: ActionState;
  readonly mode: string;
  readonly recommendation: string | null;
  readonly policy: string | null;
  readonly rollbackOf: string | null;
  readonly takenBackBy: string | null;
  readonly next: { readonly effect: EffectJson; readonly notBefore: string; readonly expiresAt: string } | null;
  readonly follows: string | null;
  readonly proposedBy: string;
  readonly approvedBy: string | null;
  readonly proposedAt: string;
  readonly expiresAt: string;
  readonly endedAt: string | null;
  readonly askedAt: string | null;
  readonly before: Omit<FleetTarget, 'launch'> | null;
  readonly after: Omit<FleetTarget, 'launch'> | null;
  readonly reasons: readonly Reason[];
}

export interface ActionStory extends Action {
  readonly events: readonly {
    readonly no: number;
    readonly at: string;
    readonly from: ActionState | null;
    readonly to: ActionState;
    readonly actor: string;
    readonly code: string;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];
}

export interface Saving {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effectKind: string;
  readonly policy: string | null;
  readonly state: LedgerState;
  readonly reason: string | null;
  readonly currency: string;
  readonly from: string;
  readonly until: string;
  readonly rolledBack: boolean;
  readonly counterfactualCost: string;
  readonly actualCost: string;
  readonly saved: string;
  readonly measured: string;
  readonly verified: string;
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  readonly hours: { readonly measured: number; readonly verified: number; readonly unverifiable: number };
}

export interface SavingTotals {
  readonly estimated: {
    readonly count: number;
    readonly unknown: number;
    readonly rolledBack: number;
    readonly monthly: readonly Money[];
    readonly monthlyLow: readonly Money[];
    readonly monthlyHigh: readonly Money[];
  };
  readonly measured: { readonly count: number; readonly saved: readonly Money[] };
  readonly verified: { readonly count: number; readonly saved: readonly Money[] };
  readonly unverifiable: {
    readonly count: number;
    readonly reasons: readonly { readonly reason: string; readonly count: number }[];
  };
}

export interface SavingDetail extends Saving {
  readonly counterfactual: { readonly world: Readonly<Record<string, unknown>> & { readonly kind: string } };
  readonly sharedWith: readonly string[];
  readonly ledger: Page<{
    readonly hour: string;
    readonly state: string;
    readonly reason: string | null;
    readonly currency: string;
    readonly counterfactual: string;
    readonly actual: string;
    readonly saved: string;
  }>;
}

/** JSON Schema, as far as parameters of policies use it. */
type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly format?: string;
  readonly const?: unknown;
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly pattern?: string;
  readonly minItems?: number;
}

export interface PolicyKind {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly parameters: Schema;
  readonly examples: readonly {
    readonly title: string;
    readonly params: unknown;
    readonly proposes: readonly { readonly action: string; readonly target: string }[];
  }[];
}

export interface PolicyDocument {
  readonly name: string;
  readonly policy: string;
  readonly teams: readonly string[] | '*';
  readonly mode: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly priority: number;
  readonly isDefault: boolean;
  readonly paused: boolean;
  readonly version: number;
  readonly updatedAt: string | null;
  readonly updatedBy: string | null;
}

export interface Imported {
  readonly file: string;
  readonly format: string;
  readonly rows: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unchanged: number;
}

export interface StoredImport extends Imported {
  readonly id: string;
  readonly source: string;
  readonly importedAt: string;
  readonly importedBy: string;
}

export interface Reject {
  readonly import: string;
  readonly no: number;
  readonly file: string;
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
  readonly raw: string;
}

export interface Backtest {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'done' | 'failed';
  /** Share of the work that is done. */
  readonly progress: number;
  readonly document: { readonly name: string; readonly policy: string };
  readonly teams: readonly string[] | '*';
  readonly from: string;
  readonly to: string;
  readonly madeBy: string;
  readonly madeAt: string;
  readonly error: {
    readonly message: string;
    readonly problems: readonly { readonly path: string | null; readonly message: string }[];
  } | null;
}

export type BacktestResult = BacktestReport;

/** A budget as it is set. */
export type { BudgetSettings };

export interface BudgetPeriod {
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly label: string;
  readonly isOver: boolean;
  readonly state: BudgetState;
}

/** Its newest evaluated period. */
export interface EvaluatedBudget extends Standing {
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly weighedAt: string;
  readonly state: BudgetState & {
    readonly credits: string;
    readonly reserved?: string;
    readonly burnRatePerDay: string | null;
  };
  readonly crossings: readonly {
    readonly periodStart: string;
    readonly kind: string;
    readonly ratio: string;
    readonly crossedAt: string;
  }[];
}

export interface Reservation {
  readonly id: string;
  readonly team: string;
  readonly state: ReservationState;
  readonly amount: string;
  readonly currency: string;
  readonly reason: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly holds: readonly {
    readonly budget: string;
    readonly held: string;
    readonly used: string;
    readonly remaining: string;
    readonly currency: string;
  }[];
}

/** An alert as the API shows it; its title is in English, its news are the facts. */
export interface Alert extends Omit<CoreAlert, 'identity' | 'revision'> {
  readonly title: string;
}

export interface AlertStory extends Alert {
  readonly deliveries: readonly {
    readonly channel: string;
    readonly address: string | null;
    readonly part: 'message' | 'picture';
    readonly level: number;
    readonly state: 'waiting' | 'sent' | 'unknown' | 'failed' | 'dropped';
    readonly intendedAt: string;
    readonly sentAt: string | null;
    readonly problem: string | null;
  }[];
}

/** Amounts, a currency each. */
type Sums = readonly { readonly currency: string; readonly cost: string }[];

/** What is in no total, apart from GPU-hours without a price. */
export interface CostLacking {
  readonly unstated: readonly { readonly currency: string; readonly cost: string; readonly lines: number }[];
  readonly unbilled: Sums;
  readonly setAside: Sums;
  readonly unconverted: Sums;
  readonly unpriced: readonly UnpricedUsage[];
}

export interface CostSpan {
  readonly from: string;
  readonly to: string;
  readonly totals: Sums;
  readonly unpricedGpuHours: string;
  readonly lacking: CostLacking;
}

export interface CostBreakdown {
  readonly zone: string;
  /** Where a read replica answered that is behind. */
  readonly asOf?: string;
  readonly groupBy: readonly string[];
  readonly now: CostSpan;
  readonly before: CostSpan | null;
  readonly rows: readonly BreakdownRow[];
  readonly rest: readonly BreakdownRest[];
  readonly days: readonly string[];
  readonly series: readonly BreakdownSeries[];
  readonly daysBefore: readonly Pick<BreakdownSeries, 'currency' | 'values'>[];
  readonly anomalies: readonly {
    readonly team: string;
    readonly day: string;
    readonly what: string;
    readonly currency: string;
    readonly observed: string;
    readonly expected: { readonly low: string; readonly mean: string; readonly high: string };
  }[];
}

export interface CostBridge {
  readonly now: CostSpan;
  readonly before: CostSpan;
  readonly bridges: readonly {
    readonly currency: string;
    readonly reason: string | null;
    readonly bridge: ReportBridge | null;
  }[];
}

export interface CostView {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly isOwn: boolean;
  readonly shared: boolean;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly changedAt: string;
}

/** What each resource cost of a team's use. */
export interface CostResources {
  readonly rows: readonly {
    readonly resource: string | null;
    readonly team: string;
    readonly currency: string;
    readonly cost: string | null;
    readonly share: number | null;
    readonly gpuHours: string | null;
  }[];
  readonly more: number;
}
