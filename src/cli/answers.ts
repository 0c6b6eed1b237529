/**
 * What the API takes and answers, by the names that the command line uses. The types are those of the TypeScript
 * client, which is made of the API's document: nothing is copied here. Where the document leaves a value open (the
 * effect of an action, the news of an alert), the type that core writes it with is put in its place.
 */
import type * as Api from '../../clients/typescript/bursar.js';
import type { EffectJson } from '../core/action/action.js';
import type { AnomalyNews, News, PriceNews } from '../core/alert/alert.js';
import type { BacktestReport } from '../core/policy/backtest.js';

export type {
  Admission,
  AllocationRule,
  AuditCheck,
  AuditEntry,
  Backtest,
  BindingLimits,
  Budget,
  BudgetPeriod,
  BudgetState,
  BudgetVerdict,
  ConfigurationPlan,
  CostBreakdown,
  CostBridge,
  CreatedKey,
  Credit,
  Delivery,
  Explanation,
  FleetCoverage,
  FleetTarget,
  FxChange,
  FxRate,
  FxRates,
  HealthFinding,
  Import,
  ImportedFile,
  ImportedPrices,
  Key,
  KeyRequest,
  LearnedRate,
  Lease,
  LeaseTerms,
  Mute,
  MuteRequest,
  PeakRule,
  Placements,
  PolicyCheck,
  PolicyDescription,
  PriceVersion,
  Quote,
  QuoteRequest,
  Recommendation,
  Reject,
  ReportSchedule,
  Reservation,
  ReservationRequest,
  Role,
  RoleRequest,
  RulePreview,
  RuleSet,
  Saving,
  SavingDetail,
  SavingHour,
  SavingTotals,
  SlackUser,
  StandingSession,
  StoredPolicy,
  StoredReconciliationSettings,
  Team,
  TelemetrySource,
  ThroughputMeasurement,
  ThroughputPrediction,
  ThroughputQuestion,
  UndoneImport,
  Variance,
} from '../../clients/typescript/bursar.js';

/** The type `T` with other types for some of its names. */
type With<T, Known> = Omit<T, keyof Known> & Known;

interface KnownOfAction {
  readonly effect: EffectJson;
  readonly next: With<NonNullable<Api.Action['next']>, { readonly effect: EffectJson }> | null;
  /** As the fleet answers it. */
  readonly after: Api.FleetTarget | null;
}
export type Action = With<Api.Action, KnownOfAction>;
export type ActionStory = With<Api.ActionStory, KnownOfAction>;
export type Stop = Api.Stops['stops'][number];

export type Alert = With<Api.Alert, { readonly news: News }>;
export type AlertStory = With<Api.AlertStory, { readonly news: News }>;
export type Anomaly = With<Api.Anomaly, { readonly anomaly: AnomalyNews | PriceNews }>;
export type SlackPerson = Pick<Api.SlackUser, 'workspace' | 'user'>;

export type AuditFilter = Omit<NonNullable<Api.Input<'GET /v1/audit'>['query']>, 'limit' | 'cursor'>;
/** A line of the exported audit, which the document calls a text. */
export interface SealedEntry {
  /** From 1, without a gap. */
  readonly seq: string;
}

export type BudgetStateJson = Api.BudgetState['state'];
export type CreditView = Api.CreditsView['credits'][number];
export type ExplainedPolicy = Api.Explanation['looks'][number];
export type ExplainedRecommendation = NonNullable<ExplainedPolicy['recommendation']>;
export type NewMeasurement = Api.ThroughputMeasurements['measurements'][number];
export type NoQuote = NonNullable<Api.Problem['quote']>;
export type PlacedPart = NonNullable<Api.Placements['best']>['parts'][number];
export type PlacementQuestion = NonNullable<Api.QuoteRequest['placement']>;
export type RecommendationStatus = Api.Recommendation['status'];
export type SignedIn = NonNullable<Api.Session['signedIn']>;
export type TeamChange = Api.TeamSettings & Pick<Api.Team, 'id'>;
export type TeamPreview = Api.RulePreview['teams'][number];
export type VarianceTotal = Api.Answer<'GET /v1/reconciliation'>['totals'][number];
/** What another configuration would change. */
export type ConfigurationChange = Api.ConfigurationPlan['changes'][number];
export type CommitmentReport = Api.Answer<'GET /v1/commitments'>;
/** Of a row, the names that it is grouped by too. */
export type Costs = With<Api.Costs, { readonly rows: readonly CostRow[] }>;
type CostRow = Api.Costs['rows'][number] & Readonly<Record<string, string | null | undefined>>;
export type ReplacedBill = Api.ImportedFile['replaced'][number];
/** Its report as core writes it. */
export type BacktestDetail = With<Api.BacktestDetail, { readonly result: BacktestReport | null }>;
