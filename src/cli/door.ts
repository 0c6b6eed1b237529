/**
 * What a verb asks Bursar to do, wherever that is done: on this machine's database, or through an API.
 *
 * The two doors answer alike; a verb reads flags, asks its door and prints.
 */
import type { AllocationRule } from '../core/allocation.js';
import type { Budget } from '../core/budget.js';
import type { ImportedFile, ImportedPrices } from '../core/ports.js';
import type { AuditEntry } from '../store/audit.js';
import type { BudgetStateJson } from '../store/budgets.js';
import type { KeyRequest, StoredKey } from '../store/keys.js';
import type { Team } from '../store/organisation.js';
import type { RecommendationStatus, StoredRecommendation } from '../store/recommendations.js';
import type { StoredImport, StoredReject } from '../store/rejects.js';
import type { Spend, SpendQuery } from '../store/spend.js';

export interface FilesToImport {
  readonly paths: readonly string[];
  /** A format's name, or `auto`. */
  readonly format: string;
  readonly source: string;
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Whether to return only when the line has drained. */
  readonly wait: boolean;
}

/** A budget as it was set, with the state of its newest weighed period; null before the first weighing. */
export interface BudgetView {
  readonly budget: Budget;
  readonly period: { readonly start: string; readonly end: string; readonly weighedAt: string } | null;
  readonly state: BudgetStateJson | null;
  readonly crossings: readonly { readonly kind: string; readonly ratio: string; readonly crossedAt: string }[];
}

export interface QuoteRequest {
  readonly provider: string;
  readonly sku: string;
  readonly gpus: number;
  /** Decimal text, above 0. */
  readonly hours: string;
  readonly term: string;
  readonly region: string | null;
  readonly currency: string | null;
}

export interface RuleSetView {
  readonly version: number;
  readonly rules: readonly AllocationRule[];
}

export interface Door {
  importUsage(request: FilesToImport): Promise<readonly ImportedFile[]>;
  importPrices(request: FilesToImport): Promise<readonly Omit<ImportedPrices, 'rejects'>[]>;
  /** Newest first. */
  imports(limit: number): Promise<readonly StoredImport[]>;
  /** Of one import, or of all, newest import first. */
  rejects(importId: string | null, limit: number): Promise<readonly StoredReject[]>;
  costs(query: SpendQuery): Promise<Spend>;
  quote(request: QuoteRequest): Promise<Readonly<Record<string, unknown>>>;
  budgets(): Promise<readonly BudgetView[]>;
  saveBudget(budget: Budget): Promise<BudgetView>;
  removeBudget(id: string): Promise<void>;
  teams(): Promise<readonly Team[]>;
  saveTeam(team: Team): Promise<void>;
  removeTeam(id: string): Promise<void>;
  rules(): Promise<RuleSetView>;
  saveRules(rules: readonly AllocationRule[]): Promise<RuleSetView>;
  /** What the rules would move, per pair of teams. */
  previewRules(rules: readonly AllocationRule[]): Promise<Readonly<Record<string, unknown>>>;
  recommendations(filter: { readonly team: string | null; readonly status: RecommendationStatus | null }): Promise<readonly StoredRecommendation[]>;
  decide(id: string, decision: 'approved' | 'rejected'): Promise<StoredRecommendation>;
  keys(): Promise<readonly StoredKey[]>;
  createKey(request: KeyRequest): Promise<StoredKey & { readonly text: string }>;
  revokeKey(id: string): Promise<StoredKey>;
  /** Newest first. */
  audit(limit: number): Promise<readonly AuditEntry[]>;
}
