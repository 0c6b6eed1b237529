/**
 * The verbs through an API: the same questions and writes, as whoever the key stands for. It decides nothing itself.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import type { AllocationRule } from '../core/cost/allocation.js';
import type { Budget } from '../core/budget/budget.js';
import { Failure, type Problem } from '../core/errors.js';
import type { FxRate } from '../core/price/fx.js';
import type { CreditSpec } from '../core/cost/credit.js';
import { formatInstant, type Clock } from '../core/time.js';
import type { PeakRule } from '../core/price/peak.js';
import type { CreditView } from '../store/cost/credits.js';
import type { LeaseJson, LeaseTerms } from '../store/workload/leases.js';
import type { ImportedFile, ImportedPrices } from '../core/ports.js';
import type { AuditFilter } from '../store/audit.js';
import type { BudgetPeriod, StoredState } from '../store/budget/budgets.js';
import type { Team } from '../store/access/organisation.js';
import type { TeamChange } from '../application/access/set-team.js';
import type { UndoneImport } from '../store/usage/undo.js';
import type { PriceVersion } from '../store/price/price-version.js';
import type { StoredFxRate } from '../store/price/prices.js';
import type { RecommendationStatus, StoredRecommendation } from '../store/policy/recommendations.js';
import type { StoredImport, StoredReject } from '../store/usage/rejects.js';
import type { FxChange } from '../application/price/set-rates.js';
import type { CostsAnswer } from '../store/usage/doubts.js';
import type { RulePreview } from '../store/cost/preview.js';
import type { SpendQuery } from '../store/cost/spend.js';
import {
  budgetView,
  countOf,
  type BudgetView,
  type Door,
  type FilesToImport,
  type PriceFilter,
  type PricesCount,
  type RuleSetView,
} from './door.js';
import { RemoteActions, type ActionDoor } from './actions-door.js';
import { RemotePolicies, type PolicyDoor } from './policies-door.js';
import { RemoteAdmissions, type AdmissionDoor } from './admissions-door.js';
import { RemoteFleet, type FleetDoor } from './fleet-door.js';
import { RemoteQuotes, type QuoteDoor } from './quotes-door.js';
import type { Progress } from './progress.js';
import type { Remote } from './remote.js';
import { RemoteBills, type BillDoor } from './bills-door.js';
import { RemoteReconciliation, type ReconciliationDoor } from './reconciliation-door.js';
import { RemoteReports, type ReportDoor } from './reports-door.js';
import { RemoteAccess, type AccessDoor } from './access-door.js';
import { RemoteAlerts, type AlertDoor } from './alerts-door.js';
import { RemoteSavings, type SavingDoor } from './savings-door.js';
import { RemoteThroughputs, type ThroughputDoor } from './throughput-door.js';
import { WrongUse } from './usage-error.js';
import { UP_TO_WEIGHING, waitForLine, type Left } from './waiting.js';

const LOOK_MILLISECONDS = 500;

const at = (list: string, id: string): string => `/v1/${list}/${encodeURIComponent(id)}`;

type StoredCrossing = BudgetView['crossings'][number] & { readonly periodStart: string };

export class RemoteDoor implements Door {
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

  constructor(
    private readonly remote: Remote,
    private readonly clock: Clock,
    private readonly progress: Progress,
    private readonly note: (text: string) => void,
  ) {
    this.policies = new RemotePolicies(remote, () => this.drained());
    this.reports = new RemoteReports(remote, () => this.drained(), note);
    this.savings = new RemoteSavings(remote);
    this.access = new RemoteAccess(remote);
    this.alerts = new RemoteAlerts(remote, () => this.drained());
    this.reconciliation = new RemoteReconciliation(remote, () => this.drained());
    this.bills = new RemoteBills(
      remote,
      (text) => this.progress.show(text),
      () => this.drained(),
    );
    this.fleet = new RemoteFleet(remote);
    this.admissions = new RemoteAdmissions(remote);
    this.quotes = new RemoteQuotes(remote);
    this.throughputs = new RemoteThroughputs(remote);
    this.actions = new RemoteActions(remote, () => this.drained());
  }

  async importUsage(request: FilesToImport): Promise<readonly ImportedFile[]> {
    // Several files are one delivery, as on this machine: all of it is imported, or nothing.
    return request.paths.length > 1 ? this.uploadTogether(request) : this.upload<ImportedFile>('/v1/imports', request);
  }

  async importPrices(request: FilesToImport): Promise<readonly PricesCount[]> {
    return (await this.upload<ImportedPrices>('/v1/prices', request)).map(countOf);
  }

  prices({ provider, sku }: PriceFilter): Promise<readonly PriceVersion[]> {
    return this.remote.list('/v1/prices', Infinity, { provider, sku });
  }

  async setPriceWithdrawn(id: string, isWithdrawn: boolean): Promise<PriceVersion> {
    const price = await this.remote.call<PriceVersion>(
      'POST',
      `${at('prices', id)}/${isWithdrawn ? 'withdraw' : 'restore'}`,
    );
    await this.drained();
    return price;
  }

  imports(limit: number): Promise<readonly StoredImport[]> {
    return this.remote.list('/v1/imports', limit);
  }

  async undoImport(id: string): Promise<UndoneImport> {
    const undone = await this.remote.call<UndoneImport>('POST', `${at('imports', id)}/undo`);
    await this.drained();
    return undone;
  }

  rejects(importId: string | null, limit: number): Promise<readonly StoredReject[]> {
    return this.remote.list(importId === null ? '/v1/rejects' : `${at('imports', importId)}/rejects`, limit);
  }

  costs({ from, to, groupBy, basis, currency, teams, zone }: SpendQuery): Promise<CostsAnswer> {
    if (teams !== null && teams.length > 1)
      throw new WrongUse('the API takes one --team at a time: leave it out and --group-by team');
    return this.remote.call('GET', '/v1/costs', {
      query: {
        from,
        to,
        'group-by': groupBy.length === 0 ? null : groupBy.join(','),
        basis,
        currency,
        zone,
        team: teams?.[0],
      },
    });
  }

  async budgets(): Promise<readonly BudgetView[]> {
    const views: BudgetView[] = [];
    for (const budget of await this.remote.list<Budget>('/v1/budgets')) views.push(await this.viewOf(budget));
    return views;
  }

  async saveBudget({ id, ...settings }: Budget): Promise<BudgetView> {
    const saved = await this.remote.call<Budget>('PUT', at('budgets', id), { json: settings });
    await this.drained(UP_TO_WEIGHING);
    return this.viewOf(saved);
  }

  budgetPeriods(id: string): Promise<readonly BudgetPeriod[]> {
    return this.remote.list<BudgetPeriod>(`${at('budgets', id)}/periods`);
  }

  async removeBudget(id: string): Promise<void> {
    await this.remote.call('DELETE', at('budgets', id));
  }

  teams(): Promise<readonly Team[]> {
    return this.remote.list('/v1/teams');
  }

  saveTeam({ id, name, parent, zone, currency }: TeamChange): Promise<Team> {
    return this.remote.call('PUT', at('teams', id), { json: { name, parent, zone, currency } });
  }

  async removeTeam(id: string): Promise<void> {
    await this.remote.call('DELETE', at('teams', id));
  }

  rules(): Promise<RuleSetView> {
    return this.remote.call('GET', '/v1/rules');
  }

  async saveRules(rules: readonly AllocationRule[]): Promise<RuleSetView> {
    const saved = await this.remote.call<RuleSetView>('PUT', '/v1/rules', { json: { rules } });
    await this.drained();
    return saved;
  }

  previewRules(rules: readonly AllocationRule[]): Promise<RulePreview> {
    return this.remote.call('POST', '/v1/rules/preview', { json: { rules } });
  }

  fx(currency: string | null): Promise<readonly StoredFxRate[]> {
    return this.remote.list('/v1/fx', Infinity, { currency });
  }

  async saveFx(rates: readonly FxRate[], source: string): Promise<FxChange> {
    const change = await this.remote.call<FxChange>('PUT', '/v1/fx', { json: { rates, source } });
    await this.drained();
    return change;
  }

  leases(team: string | null): Promise<readonly LeaseJson[]> {
    return this.remote.list('/v1/leases', Infinity, { team });
  }

  giveLease(id: string, { expiresAt, ...terms }: LeaseTerms): Promise<LeaseJson> {
    return this.remote.call('PUT', at('leases', id), {
      json: { ...terms, expiresAt: expiresAt === null ? null : formatInstant(expiresAt) },
    });
  }

  renewLease(id: string, expiresAt: number): Promise<LeaseJson> {
    return this.remote.call('POST', `${at('leases', id)}/renew`, { json: { expiresAt: formatInstant(expiresAt) } });
  }

  endLease(id: string): Promise<LeaseJson> {
    return this.remote.call('DELETE', at('leases', id));
  }

  async credits(): Promise<readonly CreditView[]> {
    return (await this.remote.call<{ credits: CreditView[] }>('GET', '/v1/credits')).credits;
  }

  async saveCredits(credits: readonly CreditSpec[]): Promise<readonly CreditView[]> {
    await this.remote.call('PUT', '/v1/credits', { json: { credits } });
    await this.drained();
    return this.credits();
  }

  async peak(): Promise<readonly PeakRule[]> {
    return (await this.remote.call<{ rules: PeakRule[] }>('GET', '/v1/peak')).rules;
  }

  async savePeak(rules: readonly PeakRule[]): Promise<readonly PeakRule[]> {
    const saved = await this.remote.call<{ rules: PeakRule[] }>('PUT', '/v1/peak', { json: { rules } });
    await this.drained();
    return saved.rules;
  }

  recommendations({
    team,
    status,
  }: {
    team: string | null;
    status: RecommendationStatus;
  }): Promise<readonly StoredRecommendation[]> {
    return this.remote.list('/v1/recommendations', Infinity, { team, status });
  }

  audit(limit: number, { from, to, ...filter }: AuditFilter = {}): ReturnType<Door['audit']> {
    const instants = {
      from: from === undefined ? null : formatInstant(from),
      to: to === undefined ? null : formatInstant(to),
    };
    return this.remote.list('/v1/audit', limit, { ...filter, ...instants });
  }

  private async uploadTogether({ paths, format, source, ...how }: FilesToImport): Promise<readonly ImportedFile[]> {
    await readable(paths);
    const name = `call-${randomUUID()}`;
    let open = false;
    try {
      await this.bills.deliver({ name, paths: [], format, source });
      open = true;
      await this.bills.deliver({ name, paths, format, source });
      const files = await this.bills.commit(name, how);
      open = how.dryRun;
      return files;
    } finally {
      this.progress.end();
      // A delivery of a call that failed is of no use; what says why it failed is not hidden by that.
      if (open) await this.bills.discard(name).catch(() => this.note(`the delivery ${name} is still open there`));
    }
  }

  /** One request per file: what came before a refused file stays. */
  private async upload<T>(
    route: string,
    { paths, format, source, strict, dryRun, replace, wait }: FilesToImport,
  ): Promise<T[]> {
    await readable(paths);
    const results: T[] = [];
    try {
      for (const file of paths) {
        this.progress.show(`sending ${path.basename(file)}`);
        const query = {
          filename: path.basename(file),
          format,
          source,
          strict,
          dryRun,
          ...(replace === true ? { replace } : {}),
        };
        const { files } = await this.remote.call<{ files: T[] }>('POST', route, {
          query,
          stream: createReadStream(file),
        });
        results.push(...files);
      }
    } catch (error) {
      if (results.length > 0)
        this.note(`${results.length} of ${paths.length} files were taken in before this one was refused`);
      throw error;
    } finally {
      this.progress.end();
    }
    if (wait && !dryRun) await this.drained();
    return results;
  }

  private async viewOf(budget: Budget): Promise<BudgetView> {
    try {
      const { crossings, ...state } = await this.remote.call<StoredState & { crossings: StoredCrossing[] }>(
        'GET',
        `${at('budgets', budget.id)}/state`,
      );
      return budgetView(budget, state, crossings);
    } catch (error) {
      // Not weighed yet.
      if (error instanceof Failure && error.kind === 'missing') return budgetView(budget, null, []);
      throw error;
    }
  }

  /**
   * Returns when what was asked for is done there, with all that follows from it.
   * @param stages those that are waited for; absent: all
   */
  private drained(stages?: readonly string[]): Promise<void> {
    return waitForLine({
      clock: this.clock,
      progress: this.progress,
      note: this.note,
      lookMilliseconds: LOOK_MILLISECONDS,
      otherwise: 'is a worker running?',
      left: async () =>
        leftIn(await this.remote.text('GET', '/metrics')).filter(({ stage }) => stages?.includes(stage) !== false),
    });
  }
}

/** What somebody waits for, by stage: bursar_work_urgent, or of a server that does not tell it bursar_work_waiting. */
export function leftIn(metrics: string): Left[] {
  const of = (name: string): Left[] =>
    [...metrics.matchAll(new RegExp(`^${name}\\{stage="([^"]*)"\\} (\\d+)$`, 'gm'))].map(([, stage = '', keys]) => ({
      stage,
      keys: Number(keys),
    }));
  const named = metrics.includes('# TYPE bursar_work_urgent') ? 'bursar_work_urgent' : 'bursar_work_waiting';
  return of(named).filter(({ keys }) => keys > 0);
}

/** @throws Failure missing, naming every file that cannot be read, before anything is sent. */
async function readable(paths: readonly string[]): Promise<void> {
  const problems: Problem[] = [];
  for (const file of paths) {
    await access(file).catch((error: NodeJS.ErrnoException) => {
      problems.push({
        path: null,
        message:
          error.code === 'ENOENT'
            ? `${file}: there is no such file`
            : `${file}: the file cannot be read (${error.code ?? error.message})`,
      });
    });
  }
  if (problems.length > 0) throw new Failure('missing', 'nothing was imported', problems);
}
