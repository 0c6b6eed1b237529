/**
 * The API requests of the verbs, over HTTP or in this process on this machine's database. It decides nothing itself.
 * Every method throws Failure if it cannot do its work.
 */
import { Failure } from '../../core/errors.js';
import { flagOf, type SpendQuery } from '../../core/cost/spend-query.js';
import type {
  AllocationRule,
  AuditEntry,
  AuditFilter,
  Budget,
  BudgetPeriod,
  BudgetState,
  BudgetStateJson,
  CostBreakdown,
  CostBridge,
  Costs,
  Credit,
  CreditView,
  FxChange,
  FxRate,
  FxRates,
  Lease,
  LeaseTerms,
  PeakRule,
  Recommendation,
  RecommendationStatus,
  RulePreview,
  RuleSet,
  Team,
  TeamChange,
} from '../answers.js';
import { AccessClient } from './access.js';
import { ActionClient } from './actions.js';
import { AdmissionClient } from './admissions.js';
import { AlertClient } from './alerts.js';
import { at, type Api, type QueryParameters } from './api.js';
import { BacktestClient } from './backtests.js';
import { BillClient } from './bills.js';
import { ConfigurationClient } from './configuration.js';
import { FleetClient } from './fleet.js';
import { ImportClient } from './imports.js';
import { Line, UP_TO_EVALUATION, type LineParts } from './line.js';
import { PolicyClient } from './policies.js';
import { QuoteClient } from './quotes.js';
import { ReconciliationClient } from './reconciliation.js';
import { ReportClient } from './reports.js';
import { SavingClient } from './savings.js';
import { SignInClient } from './sign-in.js';
import { ThroughputClient } from './throughput.js';

/** A budget as it was set, with its newest evaluated period; nulls before the first evaluation. */
export type BudgetView = Budget & {
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly weighedAt: string | null;
  readonly state: BudgetStateJson | null;
  /** The crossings of that period. */
  readonly crossings: readonly Pick<BudgetState['crossings'][number], 'kind' | 'ratio' | 'crossedAt' | 'holds'>[];
};

/** So many budgets are asked for at a time. */
const AT_ONCE = 8;

export class Client {
  readonly policies: PolicyClient;
  readonly savings: SavingClient;
  readonly access: AccessClient;
  readonly alerts: AlertClient;
  readonly reports: ReportClient;
  readonly reconciliation: ReconciliationClient;
  readonly bills: BillClient;
  readonly actions: ActionClient;
  readonly quotes: QuoteClient;
  readonly throughputs: ThroughputClient;
  readonly fleet: FleetClient;
  readonly admissions: AdmissionClient;
  readonly imports: ImportClient;
  readonly signIn: SignInClient;
  readonly configuration: ConfigurationClient;
  readonly backtests: BacktestClient;
  /** For who asks what no method here does. */
  readonly api: Api;
  private readonly line: Line;

  constructor(parts: LineParts) {
    const { api, note, progress } = parts;
    const line = new Line(parts);
    const wait = (): Promise<void> => line.wait();
    this.api = api;
    this.line = line;
    this.policies = new PolicyClient(api, wait);
    this.reports = new ReportClient(api, wait, note);
    this.savings = new SavingClient(api);
    this.access = new AccessClient(api);
    this.alerts = new AlertClient(api, wait);
    this.reconciliation = new ReconciliationClient(api, wait);
    this.bills = new BillClient(api, progress, wait);
    this.fleet = new FleetClient(api);
    this.admissions = new AdmissionClient(api);
    this.quotes = new QuoteClient(api, wait);
    this.configuration = new ConfigurationClient(api, wait);
    this.signIn = new SignInClient(api);
    this.backtests = new BacktestClient(api, parts.clock);
    this.throughputs = new ThroughputClient(api);
    this.actions = new ActionClient(api, line, note);
    this.imports = new ImportClient({ api, bills: this.bills, progress, note, wait, isLocal: parts.local !== null });
  }

  costs(query: SpendQuery): Promise<Costs> {
    return this.api.call('GET', '/v1/costs', { query: wordsOf(query) });
  }

  /** The breakdown of costs, and their changes. */
  costBreakdown(query: SpendQuery): Promise<CostBreakdown> {
    return this.api.call('GET', '/v1/costs/breakdown', { query: { ...wordsOf(query), limit: '5000' } });
  }

  /** Why they changed. */
  costBridge(query: SpendQuery): Promise<CostBridge> {
    return this.api.call('GET', '/v1/costs/bridge', { query: wordsOf({ ...query, groupBy: [] }) });
  }

  async budgets(): Promise<readonly BudgetView[]> {
    const budgets = await this.api.list<Budget>('/v1/budgets');
    const views: BudgetView[] = [];
    while (views.length < budgets.length) {
      const some = budgets.slice(views.length, views.length + AT_ONCE);
      views.push(...(await Promise.all(some.map((budget) => this.viewOf(budget)))));
    }
    return views;
  }

  async saveBudget({ id, ...settings }: Budget): Promise<BudgetView> {
    const saved = await this.api.call<Budget>('PUT', at('budgets', id), { json: settings });
    await this.line.wait(UP_TO_EVALUATION);
    return this.viewOf(saved);
  }

  /** Newest first. */
  budgetPeriods(id: string): Promise<readonly BudgetPeriod[]> {
    return this.api.list<BudgetPeriod>(`${at('budgets', id)}/periods`);
  }

  async removeBudget(id: string): Promise<void> {
    await this.api.call('DELETE', at('budgets', id));
  }

  teams(): Promise<readonly Team[]> {
    return this.api.list('/v1/teams');
  }

  saveTeam({ id, name, parent, zone, currency }: TeamChange): Promise<Team> {
    return this.write('PUT', at('teams', id), { name, parent, zone, currency });
  }

  async removeTeam(id: string): Promise<void> {
    await this.write('DELETE', at('teams', id));
  }

  rules(): Promise<RuleSet> {
    return this.api.call('GET', '/v1/rules');
  }

  saveRules(rules: readonly AllocationRule[]): Promise<RuleSet> {
    return this.write('PUT', '/v1/rules', { rules });
  }

  /** Each team's present costs, and the costs under other rules. */
  previewRules(rules: readonly AllocationRule[]): Promise<RulePreview> {
    return this.api.call('POST', '/v1/rules/preview', { json: { rules } });
  }

  /** Exchange rates by day, of one currency or of all. */
  fx(currency: string | null): Promise<readonly FxRate[]> {
    return this.api.list('/v1/fx', Infinity, { currency });
  }

  /** Adds or corrects rates; `source` says where they come from. */
  saveFx(rates: FxRates['rates'], source: string): Promise<FxChange> {
    return this.write('PUT', '/v1/fx', { rates, source });
  }

  leases(team: string | null): Promise<readonly Lease[]> {
    return this.api.list('/v1/leases', Infinity, { team });
  }

  giveLease(id: string, terms: LeaseTerms): Promise<Lease> {
    return this.api.call('PUT', at('leases', id), { json: terms });
  }

  renewLease(id: string, expiresAt: string): Promise<Lease> {
    return this.api.call('POST', `${at('leases', id)}/renew`, { json: { expiresAt } });
  }

  endLease(id: string): Promise<Lease> {
    return this.api.call('DELETE', at('leases', id));
  }

  async credits(): Promise<readonly CreditView[]> {
    return (await this.api.call<{ credits: CreditView[] }>('GET', '/v1/credits')).credits;
  }

  /** Replaces all credits. */
  async saveCredits(credits: readonly Credit[]): Promise<readonly CreditView[]> {
    await this.write('PUT', '/v1/credits', { credits });
    return this.credits();
  }

  async peak(): Promise<readonly PeakRule[]> {
    return (await this.api.call<{ rules: PeakRule[] }>('GET', '/v1/peak')).rules;
  }

  async savePeak(rules: readonly PeakRule[]): Promise<readonly PeakRule[]> {
    return (await this.write<{ rules: PeakRule[] }>('PUT', '/v1/peak', { rules })).rules;
  }

  recommendations({
    team,
    status,
  }: {
    readonly team: string | null;
    readonly status: RecommendationStatus;
  }): Promise<readonly Recommendation[]> {
    return this.api.list('/v1/recommendations', Infinity, { team, status });
  }

  /** Newest first. */
  audit(limit: number, filter: AuditFilter = {}): Promise<readonly AuditEntry[]> {
    return this.api.list('/v1/audit', limit, filter);
  }

  /** Changes something, and waits for what follows from it. */
  private async write<T>(method: 'PUT' | 'DELETE', path: string, json?: unknown): Promise<T> {
    const written = await this.api.call<T>(method, path, json === undefined ? {} : { json });
    await this.line.wait();
    return written;
  }

  private async viewOf(budget: Budget): Promise<BudgetView> {
    const stored = await this.api
      .call<BudgetState>('GET', `${at('budgets', budget.id)}/state`)
      .catch((error: unknown) => {
        // Not evaluated yet.
        if (error instanceof Failure && error.kind === 'missing') return null;
        throw error;
      });
    return {
      ...budget,
      periodStart: stored?.periodStart ?? null,
      periodEnd: stored?.periodEnd ?? null,
      weighedAt: stored?.weighedAt ?? null,
      state: stored?.state ?? null,
      crossings: (stored?.crossings ?? [])
        .filter(({ periodStart }) => periodStart === stored?.periodStart)
        .map(({ kind, ratio, crossedAt, holds }) => ({ kind, ratio, crossedAt, holds })),
    };
  }
}

/** A question about costs as the API has it. */
function wordsOf({ from, to, groupBy, basis, currency, teams, zone, filters = {} }: SpendQuery): QueryParameters {
  return {
    from,
    to,
    'group-by': groupBy.length === 0 ? null : groupBy.join(','),
    basis,
    currency,
    zone,
    team: teams,
    ...Object.fromEntries(Object.entries(filters).map(([name, values]) => [flagOf(name), values])),
  };
}
