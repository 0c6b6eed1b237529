/**
 * The verbs on this machine's database. The command line is its administrator: nothing is refused for want of a role,
 * and every write is audited, in its own transaction, under the name of the operating system's user.
 *
 * It never prices, weighs or allocates: it saves, wakes the line, and waits until the line has done its work.
 */
import type { Clock } from '../core/time.js';
import type { AllocationRule } from '../core/cost/allocation.js';
import type { Budget } from '../core/budget/budget.js';
import { Failure, invalid, missing, type Problem } from '../core/errors.js';
import { quotesOfRates, type FxRate } from '../core/price/fx.js';
import type { CreditSpec } from '../core/cost/credit.js';
import { providerName } from '../core/price/price.js';
import type { PeakRule } from '../core/price/peak.js';
import { creditViews, type CreditView } from '../store/cost/credits.js';
import { endLease, giveLease, renewLease } from '../application/workload/set-lease.js';
import { leaseJson, type LeaseJson, type LeaseTerms, type StoredLease } from '../store/workload/leases.js';
import type { ImportedFile, ImportOptions, Input } from '../core/ports.js';
import type { Queryable, Transaction } from '../store/database.js';
import type { AuditFilter } from '../store/audit.js';
import type { BudgetPeriod } from '../store/budget/budgets.js';
import { isShared, type Team } from '../store/access/organisation.js';
import type { RecommendationStatus, StoredRecommendation } from '../store/policy/recommendations.js';
import { previewRules, type RulePreview } from '../store/cost/preview.js';
import { withWarnings, type CostsAnswer } from '../store/usage/doubts.js';
import type { SpendQuery } from '../store/cost/spend.js';
import { priceVersion, type PriceVersion } from '../store/price/price-version.js';
import type { StoredFxRate } from '../store/price/prices.js';
import { setBudget } from '../application/budget/set-budget.js';
import { setFx, setPeak, setPriceWithdrawn, type FxChange } from '../application/price/set-rates.js';
import { undoImport, type UndoneImport } from '../store/usage/undo.js';
import { changeTeam, removeTeam, type TeamChange } from '../application/access/set-team.js';
import type { Stores } from '../store/stores.js';
import { WAKING_CHANNEL } from '../store/work.js';
import type { LocalBursar } from './context.js';
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
import { LocalActions, type ActionDoor } from './actions-door.js';
import { LocalPolicies, type PolicyDoor } from './policies-door.js';
import { LocalAdmissions, type AdmissionDoor } from './admissions-door.js';
import { LocalFleet, type FleetDoor } from './fleet-door.js';
import { LocalQuotes, type QuoteDoor } from './quotes-door.js';
import { LocalBills, type BillDoor } from './bills-door.js';
import { LocalReconciliation, type ReconciliationDoor } from './reconciliation-door.js';
import { LocalReports, type ReportDoor } from './reports-door.js';
import { LocalAccess, type AccessDoor } from './access-door.js';
import { LocalAlerts, type AlertDoor } from './alerts-door.js';
import { LocalSavings, type SavingDoor } from './savings-door.js';
import { LocalThroughputs, type ThroughputDoor } from './throughput-door.js';
import type { Progress } from './progress.js';
import { grouped } from './table.js';
import { WrongUse } from './usage-error.js';
import { UP_TO_WEIGHING, waitForLine } from './waiting.js';

type OpenInput = Input & { close(): Promise<void> };

const LOOK_MILLISECONDS = 250;
const PAGE = 500;

export class LocalDoor implements Door {
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
  private readonly stores: Stores;
  private readonly organisation: string;

  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly progress: Progress,
    private readonly note: (text: string) => void,
  ) {
    this.stores = bursar.stores;
    this.organisation = bursar.organisation;
    this.policies = new LocalPolicies(bursar, clock, actor, () => this.drained());
    this.reports = new LocalReports(bursar, clock, actor, () => this.drained());
    this.savings = new LocalSavings(bursar.stores.savingLedger, bursar.organisation);
    this.access = new LocalAccess(bursar, clock, actor);
    this.alerts = new LocalAlerts(bursar, clock, actor, () => this.drained());
    this.reconciliation = new LocalReconciliation(bursar, clock, actor, () => this.drained());
    this.bills = new LocalBills(bursar, clock, actor, () => this.drained());
    this.fleet = new LocalFleet(bursar, clock);
    this.admissions = new LocalAdmissions(bursar);
    this.quotes = new LocalQuotes(bursar.stores, bursar.organisation, clock, actor, () => this.drained());
    this.throughputs = new LocalThroughputs(bursar.stores, bursar.organisation, clock, actor);
    this.actions = new LocalActions(bursar, clock, actor, () => this.drained(), note);
  }

  async importUsage(request: FilesToImport): Promise<readonly ImportedFile[]> {
    const { importer } = this.bursar;
    this.checkFormat(request.format, importer.usageFormats);
    const files = await this.withInputs(request.paths, (inputs) =>
      importer.files(inputs, this.options(request), (rows) => this.progress.show(`reading: ${grouped(rows)} rows`)),
    );
    if (request.dryRun) return files;
    const detail = { files: files.map(({ import: id, accepted, rejected }) => ({ import: id, accepted, rejected })) };
    await this.noteWrite(this.stores.db, 'usage.import', request.paths.join(' '), detail);
    if (request.wait) await this.drained();
    return files;
  }

  async importPrices(request: FilesToImport): Promise<readonly PricesCount[]> {
    const { importer } = this.bursar;
    this.checkFormat(request.format, importer.priceFormats);
    const lists = await this.withInputs(request.paths, (inputs) => importer.prices(inputs, this.options(request)));
    const counts = lists.map(countOf);
    if (request.dryRun) return counts;
    await this.noteWrite(this.stores.db, 'price.import', request.paths.join(' '), { lists: counts });
    if (request.wait) await this.drained();
    return counts;
  }

  async prices({ provider, sku }: PriceFilter): Promise<readonly PriceVersion[]> {
    const filter = { provider: provider === undefined ? undefined : providerName(provider), sku };
    const all: PriceVersion[] = [];
    for (let more = true; more; ) {
      const page = await this.stores.prices.list(this.organisation, filter, all.at(-1)?.id ?? null, PAGE);
      all.push(...page.map(priceVersion));
      more = page.length === PAGE;
    }
    return all;
  }

  async setPriceWithdrawn(id: string, isWithdrawn: boolean): Promise<PriceVersion> {
    const withdrawn = isWithdrawn ? { by: this.actor, at: this.clock.now() } : null;
    const price = await this.stores.db.transaction(async (tx) => {
      const made = await setPriceWithdrawn(this.stores, tx, this.organisation, id, withdrawn);
      await this.noteWrite(tx, isWithdrawn ? 'price.withdraw' : 'price.restore', id, {});
      return made;
    });
    await this.drained();
    return priceVersion(price);
  }

  imports(limit: number): ReturnType<Door['imports']> {
    return this.stores.rejects.imports(this.organisation, null, limit);
  }

  async undoImport(id: string): Promise<UndoneImport> {
    const undone = await this.stores.db.transaction(async (tx) => {
      const made = await undoImport(this.stores, tx, this.organisation, id, this.actor, this.clock.now());
      await this.noteWrite(tx, 'usage.undo', id, {});
      return made;
    });
    await this.drained();
    return undone;
  }

  rejects(importId: string | null, limit: number): ReturnType<Door['rejects']> {
    return this.stores.rejects.list(this.organisation, importId, null, limit);
  }

  async costs(query: SpendQuery): Promise<CostsAnswer> {
    const { fx } = await this.stores.prices.book(this.stores.db, this.organisation);
    const spend = await this.stores.spend.spend(this.organisation, query, fx);
    return withWarnings(this.stores, this.organisation, spend, query, this.clock.now());
  }

  async budgets(): Promise<readonly BudgetView[]> {
    return this.budgetViews(await this.stores.budgets.list(this.stores.db, this.organisation));
  }

  async saveBudget(budget: Budget): Promise<BudgetView> {
    await this.write('budget.save', budget.id, async (tx) => ({
      before: await setBudget(this.stores, tx, this.organisation, budget, this.clock.now()),
      after: budget,
    }));
    await this.drained(UP_TO_WEIGHING);
    const [view] = await this.budgetViews([budget]);
    return view ?? budgetView(budget, null, []);
  }

  async budgetPeriods(id: string): Promise<readonly BudgetPeriod[]> {
    const { db, organisations, budgets } = this.stores;
    const budget = await budgets.get(db, this.organisation, id);
    if (budget === null) throw missing(`budget ${id} does not exist`);
    return budgets.periods(
      this.organisation,
      budget,
      await organisations.asOf(db, this.organisation, this.clock.now()),
    );
  }

  async removeBudget(id: string): Promise<void> {
    await this.write('budget.remove', id, async (tx) => {
      const before = await this.stores.budgets.get(tx, this.organisation, id);
      if (before === null) throw missing(`budget ${id} does not exist`);
      await this.stores.budgets.remove(tx, this.organisation, id);
      return { before };
    });
  }

  teams(): Promise<readonly Team[]> {
    return this.stores.organisations.teams(this.stores.db, this.organisation);
  }

  async saveTeam(change: TeamChange): Promise<Team> {
    // The stand-ins of shared costs are not for people to give away.
    if (isShared(change.id)) throw invalid(`"${change.id}" is not a name for a team`);
    const team = await this.stores.db.transaction(async (tx) => {
      const saved = await changeTeam(this.stores, tx, this.organisation, change);
      await this.noteWrite(tx, 'team.save', change.id, { ...change });
      return saved;
    });
    await this.drained();
    return team;
  }

  async removeTeam(id: string): Promise<void> {
    await this.write('team.remove', id, async (tx) => {
      await removeTeam(this.stores, tx, this.organisation, id);
      return {};
    });
    await this.drained();
  }

  async rules(): Promise<RuleSetView> {
    const { version, rules } = await this.stores.organisations.rules(this.stores.db, this.organisation);
    return { version, rules };
  }

  async saveRules(rules: readonly AllocationRule[]): Promise<RuleSetView> {
    const saved = await this.stores.db.transaction(async (tx) => {
      const before = await this.stores.organisations.rules(tx, this.organisation);
      const { version } = await this.stores.organisations.saveRules(tx, this.organisation, rules, this.actor);
      await this.noteWrite(tx, 'rules.save', `rules/${version}`, { before: before.version, rules: rules.length });
      return { version, rules };
    });
    await this.drained();
    return saved;
  }

  previewRules(rules: readonly AllocationRule[]): Promise<RulePreview> {
    return previewRules(this.stores, this.organisation, rules);
  }

  async fx(currency: string | null): Promise<readonly StoredFxRate[]> {
    const all: StoredFxRate[] = [];
    for (let more = true; more; ) {
      const last = all.at(-1);
      const page = await this.stores.prices.listFx(
        this.organisation,
        currency,
        last === undefined ? null : `${last.day} ${last.currency}`,
        PAGE,
      );
      all.push(...page);
      more = page.length === PAGE;
    }
    return all;
  }

  async saveFx(rates: readonly FxRate[], source: string): Promise<FxChange> {
    const quotes = quotesOfRates(rates);
    const change = await this.stores.db.transaction(async (tx) => {
      const made = await setFx(this.stores, tx, this.organisation, quotes, source);
      await this.noteWrite(tx, 'fx.save', source, { ...made });
      return made;
    });
    await this.drained();
    return change;
  }

  async leases(team: string | null): Promise<readonly LeaseJson[]> {
    const { leases, db } = this.stores;
    const all = await allOf((after) =>
      leases.list(db, this.organisation, { teams: null, ...(team === null ? {} : { team }) }, after, PAGE),
    );
    return all.map(leaseJson);
  }

  async giveLease(id: string, terms: LeaseTerms): Promise<LeaseJson> {
    return this.lease('lease.give', id, (tx) =>
      giveLease(this.stores, tx, this.organisation, id, terms, this.clock.now()),
    );
  }

  async renewLease(id: string, expiresAt: number): Promise<LeaseJson> {
    return this.lease('lease.renew', id, (tx) => renewLease(this.stores, tx, this.organisation, id, expiresAt));
  }

  async endLease(id: string): Promise<LeaseJson> {
    return this.lease('lease.end', id, (tx) => endLease(this.stores, tx, this.organisation, id));
  }

  private async lease(verb: string, id: string, change: (tx: Transaction) => Promise<StoredLease>): Promise<LeaseJson> {
    return this.stores.db.transaction(async (tx) => {
      const lease = leaseJson(await change(tx));
      await this.noteWrite(tx, verb, id, { ...lease });
      return lease;
    });
  }

  credits(): Promise<readonly CreditView[]> {
    return creditViews(this.stores.credits, this.stores.db, this.organisation);
  }

  async saveCredits(credits: readonly CreditSpec[]): Promise<readonly CreditView[]> {
    await this.write('credits.save', 'credits', async (tx) => ({
      before: await this.stores.credits.save(tx, this.organisation, credits),
      after: credits,
    }));
    await this.drained();
    return this.credits();
  }

  peak(): Promise<readonly PeakRule[]> {
    return this.stores.organisations.peakRules(this.stores.db, this.organisation);
  }

  async savePeak(rules: readonly PeakRule[]): Promise<readonly PeakRule[]> {
    await this.write('peak.save', 'peak', async (tx) => ({
      before: await setPeak(this.stores, tx, this.organisation, rules),
      after: rules,
    }));
    await this.drained();
    return rules;
  }

  recommendations({
    team,
    status,
  }: {
    team: string | null;
    status: RecommendationStatus;
  }): Promise<readonly StoredRecommendation[]> {
    return allOf((after) => this.stores.recommendations.list(this.organisation, { team, status }, after, PAGE));
  }

  audit(limit: number, filter: AuditFilter = {}): ReturnType<Door['audit']> {
    return this.stores.audit.list(this.organisation, null, limit, filter);
  }

  private async budgetViews(budgets: readonly Budget[]): Promise<BudgetView[]> {
    const { db, organisations, budgets: store } = this.stores;
    const asOf = await organisations.asOf(db, this.organisation, this.clock.now());
    const states = new Map((await store.states(this.organisation, asOf)).map((state) => [state.budget, state]));
    return Promise.all(
      budgets.map(async (budget) =>
        budgetView(budget, states.get(budget.id) ?? null, await store.crossings(this.organisation, budget.id)),
      ),
    );
  }

  private options({ source, format, strict, dryRun, replace = false }: FilesToImport): ImportOptions {
    return { organisation: this.organisation, source, format, strict, dryRun, replace, by: this.actor };
  }

  private checkFormat(format: string, known: readonly { readonly name: string }[]): void {
    const names = ['auto', ...known.map(({ name }) => name)];
    if (!names.includes(format)) throw new WrongUse(`there is no format "${format}": it is one of ${names.join(', ')}`);
  }

  /**
   * Opens the files, hands them to `use`, and closes them whatever happens. The error names every file that cannot be
   * opened.
   */
  private async withInputs<T>(paths: readonly string[], use: (inputs: readonly Input[]) => Promise<T>): Promise<T> {
    const opened: OpenInput[] = [];
    const problems: Problem[] = [];
    try {
      for (const path of paths) {
        try {
          opened.push(await this.bursar.importer.openFile(path));
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          problems.push({ path: null, message: error.message });
        }
      }
      if (problems.length > 0) throw new Failure('missing', 'nothing was imported', problems);
      return await use(opened);
    } finally {
      this.progress.end();
      await Promise.all(opened.map((input) => input.close()));
    }
  }

  /** Runs `work` in one transaction with its entry in the audit; what it returns is the entry's detail. */
  private write(
    verb: string,
    target: string,
    work: (tx: Transaction) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<void> {
    return this.stores.db.transaction(async (tx) => this.noteWrite(tx, verb, target, await work(tx)));
  }

  private noteWrite(
    tx: Queryable,
    verb: string,
    target: string,
    detail: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    return this.stores.audit.audit(tx, this.organisation, this.actor, verb, target, detail);
  }

  /**
   * Returns when the line has nothing left to do, another process' part included. Where a `serve` lives its sources go
   * on for ever: then it returns when what was asked for is done, with what only `serve` does of it.
   * @param stages while one serves, those that are waited for; absent: all
   */
  private async drained(stages?: readonly string[]): Promise<void> {
    const { work, db } = this.stores;
    const isServed = await db.isHeard(WAKING_CHANNEL);
    const others = this.bursar.leaves ?? [];
    const matters = (stage: string): boolean =>
      isServed ? stages?.includes(stage) !== false : !others.includes(stage);
    await waitForLine({
      clock: this.clock,
      progress: this.progress,
      note: this.note,
      lookMilliseconds: LOOK_MILLISECONDS,
      otherwise: 'bursar doctor says more',
      left: async () =>
        (await work.waitingByStage(this.clock.now()))
          .map(({ stage, waiting, urgent }) => ({ stage, keys: isServed ? urgent : waiting }))
          .filter(({ stage, keys }) => keys > 0 && matters(stage)),
      work: (isEnough) =>
        this.bursar.drain(
          (stage, done, waiting) => this.progress.show(`${stage}: ${grouped(done)} of ${grouped(waiting)}`),
          isEnough,
        ),
    });
    const parked = await work.parked(this.organisation);
    if (parked.length > 0)
      this.note(`${parked.length} keys of the line are parked because of an error: bursar doctor lists them`);
  }
}

/** Every item of a list that comes in pages by id. */
async function allOf<T extends { readonly id: string }>(
  page: (after: string | null) => Promise<readonly T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const items = await page(all.at(-1)?.id ?? null);
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}
