/**
 * What a verb asks Bursar to do, wherever that is done: on this machine's database, or through an API.
 *
 * The two doors answer alike; a verb reads flags, asks its door and prints.
 */
import type { AllocationRule } from '../core/cost/allocation.js';
import type { Budget } from '../core/budget/budget.js';
import type { FxRate } from '../core/price/fx.js';
import type { CreditSpec } from '../core/cost/credit.js';
import type { PeakRule } from '../core/price/peak.js';
import type { CreditView } from '../store/cost/credits.js';
import type { LeaseJson, LeaseTerms } from '../store/workload/leases.js';
import type { ImportedFile, ImportedPrices } from '../core/ports.js';
import type { AuditEntry, AuditFilter } from '../store/audit.js';
import type { BudgetPeriod, BudgetStateJson, StoredState } from '../store/budget/budgets.js';
import type { Team } from '../store/access/organisation.js';
import type { TeamChange } from '../application/access/set-team.js';
import type { RulePreview } from '../store/cost/preview.js';
import type { PriceVersion } from '../store/price/price-version.js';
import type { StoredFxRate } from '../store/price/prices.js';
import type { RecommendationStatus, StoredRecommendation } from '../store/policy/recommendations.js';
import type { StoredImport, StoredReject } from '../store/usage/rejects.js';
import type { UndoneImport } from '../store/usage/undo.js';
import type { FxChange } from '../application/price/set-rates.js';
import type { CostsAnswer } from '../store/usage/doubts.js';
import type { SpendQuery } from '../store/cost/spend.js';
import type { ActionDoor } from './actions-door.js';
import type { AccessDoor } from './access-door.js';
import type { AlertDoor } from './alerts-door.js';
import type { AdmissionDoor } from './admissions-door.js';
import type { BillDoor } from './bills-door.js';
import type { FleetDoor } from './fleet-door.js';
import type { PolicyDoor } from './policies-door.js';
import type { ReconciliationDoor } from './reconciliation-door.js';
import type { QuoteDoor } from './quotes-door.js';
import type { ReportDoor } from './reports-door.js';
import type { SavingDoor } from './savings-door.js';
import type { ThroughputDoor } from './throughput-door.js';

export interface PriceFilter {
  readonly provider?: string;
  readonly sku?: string;
}

export interface FilesToImport {
  readonly paths: readonly string[];
  /** A format's name, or `auto`. */
  readonly format: string;
  readonly source: string;
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Bills: what another source has delivered is replaced. */
  readonly replace?: boolean;
  /** Whether to return only when the line has drained. */
  readonly wait: boolean;
}

/** A price list's counts; its rejects are listed with all others. */
export type PricesCount = Omit<ImportedPrices, 'rejects'>;

export const countOf = ({ file, format, rows, accepted, rejected, unchanged }: ImportedPrices): PricesCount => ({
  file,
  format,
  rows,
  accepted,
  rejected,
  unchanged,
});

/** A budget as it was set, with its newest weighed period; nulls before the first weighing. */
export type BudgetView = Budget & {
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly weighedAt: string | null;
  readonly state: BudgetStateJson | null;
  /** What that period crossed. */
  readonly crossings: readonly { readonly kind: string; readonly ratio: string; readonly crossedAt: string }[];
};

export interface RuleSetView {
  readonly version: number;
  readonly rules: readonly AllocationRule[];
}

/** The view of a budget and what the store or the API says of its newest period. */
export function budgetView(
  budget: Budget,
  stored: StoredState | null,
  crossings: readonly (BudgetView['crossings'][number] & { readonly periodStart: string })[],
): BudgetView {
  return {
    ...budget,
    periodStart: stored?.periodStart ?? null,
    periodEnd: stored?.periodEnd ?? null,
    weighedAt: stored?.weighedAt ?? null,
    state: stored?.state ?? null,
    crossings: crossings
      .filter(({ periodStart }) => periodStart === stored?.periodStart)
      .map(({ kind, ratio, crossedAt }) => ({ kind, ratio, crossedAt })),
  };
}

/** Every method throws Failure for what it cannot do. */
export interface Door {
  readonly policies: PolicyDoor;
  readonly savings: SavingDoor;
  readonly access: AccessDoor;
  readonly alerts: AlertDoor;
  readonly reports: ReportDoor;
  readonly reconciliation: ReconciliationDoor;
  readonly bills: BillDoor;
  readonly actions: ActionDoor;
  readonly quotes: QuoteDoor;
  readonly throughputs: ThroughputDoor;
  readonly fleet: FleetDoor;
  readonly admissions: AdmissionDoor;
  importUsage(request: FilesToImport): Promise<readonly ImportedFile[]>;
  importPrices(request: FilesToImport): Promise<readonly PricesCount[]>;
  /** Newest first. */
  imports(limit: number): Promise<readonly StoredImport[]>;
  /** Takes an import back, whole. */
  undoImport(id: string): Promise<UndoneImport>;
  /** Of one import, or of all, newest import first. */
  rejects(importId: string | null, limit: number): Promise<readonly StoredReject[]>;
  /** Statements of prices, taken back ones too. */
  prices(filter: PriceFilter): Promise<readonly PriceVersion[]>;
  /** Takes the statement of a price back, or restores it. */
  setPriceWithdrawn(id: string, isWithdrawn: boolean): Promise<PriceVersion>;
  costs(query: SpendQuery): Promise<CostsAnswer>;
  budgets(): Promise<readonly BudgetView[]>;
  saveBudget(budget: Budget): Promise<BudgetView>;
  /** Newest first. */
  budgetPeriods(id: string): Promise<readonly BudgetPeriod[]>;
  removeBudget(id: string): Promise<void>;
  teams(): Promise<readonly Team[]>;
  saveTeam(change: TeamChange): Promise<Team>;
  removeTeam(id: string): Promise<void>;
  rules(): Promise<RuleSetView>;
  saveRules(rules: readonly AllocationRule[]): Promise<RuleSetView>;
  /** What each team's costs are and would be. */
  previewRules(rules: readonly AllocationRule[]): Promise<RulePreview>;
  /** Exchange rates by day, of one currency or of all. */
  fx(currency: string | null): Promise<readonly StoredFxRate[]>;
  /** Adds or corrects rates; `source` says where they come from. */
  saveFx(rates: readonly FxRate[], source: string): Promise<FxChange>;
  leases(team: string | null): Promise<readonly LeaseJson[]>;
  giveLease(id: string, terms: LeaseTerms): Promise<LeaseJson>;
  renewLease(id: string, expiresAt: number): Promise<LeaseJson>;
  endLease(id: string): Promise<LeaseJson>;
  credits(): Promise<readonly CreditView[]>;
  /** Replaces all credits. */
  saveCredits(credits: readonly CreditSpec[]): Promise<readonly CreditView[]>;
  peak(): Promise<readonly PeakRule[]>;
  savePeak(rules: readonly PeakRule[]): Promise<readonly PeakRule[]>;
  recommendations(filter: {
    readonly team: string | null;
    readonly status: RecommendationStatus;
  }): Promise<readonly StoredRecommendation[]>;
  /** Newest first. */
  audit(limit: number, filter?: AuditFilter): Promise<readonly AuditEntry[]>;
}
