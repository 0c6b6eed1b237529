/**
 * What the API answers, by the names that the dashboard uses. The types are those of the TypeScript client, which is
 * made of the API's document: nothing is copied here. Where the document leaves a value open (the news of an alert, the
 * parameters of a policy), the type that core writes it with is put in its place.
 */
import type * as Api from '../../../clients/typescript/bursar.js';
import type { EffectJson } from '../../core/action/action.js';
import type { AnomalyNews, News, PriceNews } from '../../core/alert/alert.js';
import type { BacktestReport } from '../../core/policy/backtest.js';
import type { Recommendation } from '../../core/policy/recommendation.js';
import type { ReportBridge } from '../../core/report/report.js';

export type {
  AuditCheck,
  AuditEntry,
  Backtest,
  Bill,
  Budget as BudgetSettings,
  BudgetPeriod,
  BudgetState as EvaluatedBudget,
  BudgetStanding as Standing,
  BudgetVerdict,
  BurnDown,
  CostBreakdown,
  CostResources,
  CostSpan,
  CostView,
  Explanation as Explained,
  FleetDetails,
  Found,
  Import as StoredImport,
  ImportedFile as Imported,
  Key as StoredKey,
  LearnedRate,
  Mute,
  Overview,
  Placements as Places,
  PolicyCheck,
  Quote,
  RecommendationEvidence,
  Reject,
  ReportEntry,
  Reservation,
  RuleCandidates,
  RulePreview,
  Saving,
  SavingDetail,
  SavingTotals,
  Session,
  StandingSession,
  Stops,
  StoredPolicy as PolicyDocument,
  StoredReconciliationSettings as ReconciliationSettings,
  Team,
  TeamLease as Lease,
  VarianceFinding,
  Waiting,
} from '../../../clients/typescript/bursar.js';

/** The type `T` with other types for some of its names. */
export type With<T, Known> = Omit<T, keyof Known> & Known;

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export type SignedIn = NonNullable<Api.Session['signedIn']>;
export type ExplainedPolicy = Api.Explanation['looks'][number];
export type BudgetState = Api.BudgetState['state'];
export type FleetDetail = Api.FleetDetails['items'][number];
export type UnpricedUsage = Api.Overview['unpriced'][number];
/** What the recommendation of an action expects it to save. */
export type ExpectedSaving = NonNullable<Api.Action['saves']>;
/** Why the reader may not; null: they may. */
export type Refusal = { readonly code: string; readonly message: string } | null;
/** What a budget plans and watches, as a request may write it. */
export interface BudgetPlan {
  readonly planned: Partial<Api.Budget['planned']>;
  readonly thresholds: Api.Budget['thresholds'];
}
/** What another configuration would change. */
export type ConfigurationChange = Api.ConfigurationPlan['changes'][number];

/** What the cheapest place of a workload is made of. */
export type PlacePart = NonNullable<Api.Placements['best']>['parts'][number];
/** A day's difference, as far as sums of days need it. */
export type Variance = Pick<
  Api.VarianceFinding,
  'team' | 'provider' | 'sku' | 'currency' | 'accrued' | 'compared' | 'reasons'
> &
  Pick<Api.Variance, 'variance'>;
export type VarianceTotals = Api.Answer<'GET /v1/reconciliation'>['totals'];
export type CostBridge = With<Api.CostBridge, { readonly bridges: readonly KnownBridge[] }>;
type KnownBridge = With<Api.CostBridge['bridges'][number], { readonly bridge: ReportBridge | null }>;

export type Costs = With<Api.Costs, { readonly rows: readonly CostRow[] }>;
/** Of what it is, by the names that it is grouped by. */
export type CostRow = Readonly<Record<string, string | null>> &
  Pick<Api.Costs['rows'][number], 'cost' | 'currency' | 'unpricedQuantity'>;

export type StoredRecommendation = Recommendation &
  Pick<
    Api.Recommendation,
    'status' | 'madeAt' | 'decidedBy' | 'actionId' | 'actionState' | 'obstacle' | 'breakEven' | 'may'
  >;

export type Action = With<Api.Action, KnownOfAction>;
export type ActionStory = With<Api.ActionStory, KnownOfAction>;
interface KnownOfAction {
  readonly effect: EffectJson;
  readonly next: With<NonNullable<Api.Action['next']>, { readonly effect: EffectJson }> | null;
  /** As the fleet answers it. */
  readonly before: Api.FleetTarget | null;
  readonly after: Api.FleetTarget | null;
}

/** An alert as the API shows it; its title is in English, its news are the facts. */
export type Alert = With<Api.Alert, { readonly news: News }>;
export type AlertStory = With<Api.AlertStory, { readonly news: News }>;
export type Anomaly = With<Api.Anomaly, { readonly anomaly: AnomalyNews | PriceNews }>;

export type PolicyKind = With<Api.PolicyDescription, { readonly parameters: Schema }>;
export type BacktestResult = BacktestReport;

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
