/** The API's answers about settings, as far as the pages read them. Types only. */
import type { RuleMatch } from '../../../core/cost/allocation.js';
import type { Scope } from '../../../core/scopes.js';

/** What a budget plans and watches, as the API writes it. */
export interface BudgetPlan {
  readonly planned: { readonly default?: string | null; readonly periods?: Readonly<Record<string, string>> };
  readonly thresholds: readonly { readonly kind: string; readonly ratio: string }[];
}

/** What another configuration would change. */
export interface ConfigurationChange {
  readonly section: string;
  readonly id: string | null;
  readonly kind: 'add' | 'change' | 'remove';
  readonly before: unknown;
  readonly after: unknown;
}

export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly role: string | null;
  readonly scopes: readonly Scope[];
  readonly teams: readonly string[] | null;
  readonly owner: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
}

export interface Mute {
  readonly id: string;
  readonly team: string | null;
  readonly kind: string | null;
  readonly upTo: string | null;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
}

export interface Stops {
  readonly stops: readonly {
    readonly scope: 'all' | 'team' | 'provider';
    readonly name: string;
    readonly reason: string;
    readonly setAt: string;
    readonly setBy: string;
  }[];
}

export interface RuleCandidates {
  readonly from: string;
  readonly to: string;
  readonly rows: readonly {
    readonly match: RuleMatch;
    readonly currency: string;
    readonly cost: string | null;
    readonly gpuHours: string | null;
  }[];
}

export interface RulePreview {
  readonly teams: readonly {
    readonly team: string;
    readonly currency: string;
    readonly before: string | null;
    readonly after: string | null;
    readonly unpricedBefore: string;
    readonly unpricedAfter: string;
  }[];
}
