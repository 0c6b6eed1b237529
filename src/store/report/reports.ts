/**
 * Monthly reports: their facts, the finished reports, and whether each was announced. There is one report per team and
 * month; a new one replaces the old one, because late usage and bills change a month. It is announced once, however
 * often it is made: the row records the first announcement. Computes nothing.
 */
import { exhaustionDayOf } from '../../core/budget/exhaustion.js';
import { digestIdentity, type Silence } from '../../core/alert/alert.js';
import { parseDecimal } from '../../core/decimal.js';
import { invalid, missing } from '../../core/errors.js';
import { nanosOf } from '../../core/money.js';
import type { ReportFacts, SavingFacts } from '../../core/report/facts.js';
import type { Report, ReportBudget } from '../../core/report/report.js';
import { DEFAULT_REPORT_TIME, dueAt, newestDueMonth, type ReportTime } from '../../core/report/schedule.js';
import { comparedWith, daysAfter } from '../../core/report/spend.js';
import { dayLabel, DAY_MS, monthOfLabel, periodName, plainZone, type Interval } from '../../core/time.js';
import type { AdmissionStore } from '../budget/admissions.js';
import { lackingOf, type BudgetStore } from '../budget/budgets.js';
import type { Queryable, Transaction } from '../database.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { PriceStore } from '../price/prices.js';
import {
  chanceFacts,
  demandFacts,
  refusalFacts,
  sampleFacts,
  setAsideFacts,
  unpricedFacts,
  spendFacts,
  varianceFacts,
  type FactsRequest,
} from './facts.js';
import type { SavingLedger, StoredSaving } from '../saving/ledger.js';
import { enqueueUrgent, type WorkItem } from '../work.js';

export const REPORT = 'report.send';
const SCHEDULE = 'report-schedule';

/** Below this a GPU-hour counts as little used. */
const LOW_UTILISATION = 0.3;
/** Days of history that a forecast may use, as for budgets. */
const HISTORY_MS = 91 * DAY_MS;
const PAGE = 500;

/** A report without its contents. */
export interface StoredReport {
  readonly team: string;
  /** `2026-10` */
  readonly month: string;
  readonly zone: string;
  readonly currency: string;
  /** Null: nothing has a price. */
  readonly total: string | null;
  readonly isOver: boolean;
  readonly madeAt: string;
  /** Null: it was not. */
  readonly announcedAt: string | null;
  /** Why its alert is silent; null: it is not, or there is none. */
  readonly silence: Silence | null;
}

export interface ReportFilter {
  readonly team?: string | null | undefined;
  readonly month?: string | null | undefined;
  /** Only of these; null: all. */
  readonly teams?: readonly string[] | null;
}

interface StoredRow {
  team: string;
  month: string;
  zone: string;
  currency: string;
  total: string | null;
  over: boolean;
  made: Date;
  announced: Date | null;
}

export interface ReportStores {
  readonly organisations: OrganisationStore;
  readonly prices: PriceStore;
  readonly budgets: BudgetStore;
  readonly savingLedger: SavingLedger;
  readonly admissions: AdmissionStore;
}

/** What makes a report; the partition is the team. */
const reportItem = (team: string, month: string): WorkItem => ({
  stage: REPORT,
  partition: team,
  key: `${team}/${month}`,
});

export class ReportStore {
  constructor(
    private readonly db: Queryable,
    private readonly stores: ReportStores,
  ) {}

  /**
   * Asks the line for a report. @throws Failure missing for a team that is unknown, invalid for a month that is none or
   * has not begun.
   */
  async request(tx: Queryable, organisation: string, team: string, month: string, now: number): Promise<void> {
    const known = await this.stores.organisations.team(tx, organisation, team);
    if (known === null) throw missing(`team ${team} does not exist`);
    checkMonth(month, known.zone, now);
    await enqueueUrgent(tx, organisation, [reportItem(team, month)]);
  }

  /** @throws Failure missing if nobody has made it. */
  async known(db: Queryable, organisation: string, team: string, month: string): Promise<Report> {
    const [row] = await db.query<{ body: Report }>(
      `select body from report where organisation = $1 and team = $2 and month = $3`,
      [organisation, team, month],
    );
    if (row === undefined)
      throw missing(`there is no report of ${team} for ${month} yet: POST /v1/reports asks for one`);
    return row.body;
  }

  /** A page, newest month first; `after` is the place of the last one seen. */
  async list(organisation: string, filter: ReportFilter, after: string | null, limit: number): Promise<StoredReport[]> {
    const [month, ...team] = after?.split(' ') ?? [];
    const rows = await this.db.query<StoredRow>(
      `select team, month, body->>'zone' as zone, body->>'currency' as currency, body->'spend'->>'total' as total, (body->>'isOver')::boolean as over, made_at as made, announced_at as announced from report
       where organisation = $1 and ($2::text is null or team = $2) and ($3::text is null or month = $3) and ($4::text[] is null or team = any($4::text[]))
         and ($5::text is null or month < $5 or (month = $5 and team > $6)) order by month desc, team limit $7`,
      [
        organisation,
        filter.team ?? null,
        filter.month ?? null,
        filter.teams ?? null,
        month ?? null,
        team.join(' '),
        limit,
      ],
    );
    const silences = await this.silences(organisation, rows);
    return rows.map(({ over, made, announced, ...row }) => ({
      ...row,
      isOver: over,
      madeAt: made.toISOString(),
      announcedAt: announced?.toISOString() ?? null,
      silence: silences.get(digestIdentity(row)) ?? null,
    }));
  }

  /** Why the alerts of these reports were sent to nobody, by their identity: of those alone that are silent. */
  private async silences(
    organisation: string,
    reports: readonly Pick<StoredReport, 'team' | 'month'>[],
  ): Promise<ReadonlyMap<string, Silence>> {
    const rows = await this.db.query<{ identity: string; silence: Silence }>(
      `select identity, silence from alert where organisation = $1 and identity = any($2::text[]) and silence is not null`,
      [organisation, reports.map(digestIdentity)],
    );
    return new Map(rows.map(({ identity, silence }) => [identity, silence]));
  }

  async save(tx: Transaction, organisation: string, report: Report, now: number): Promise<void> {
    await tx.query(
      `insert into report (organisation, team, month, body, made_at) values ($1, $2, $3, $4, $5)
       on conflict (organisation, team, month) do update set body = excluded.body, made_at = excluded.made_at`,
      [organisation, report.team, report.month, JSON.stringify(report), new Date(now)],
    );
  }

  /** Marks a report as announced, unless it was before: whoever tells looks for the mark. */
  async announce(tx: Transaction, organisation: string, team: string, month: string, now: number): Promise<void> {
    await tx.query(
      `update report set announced_at = $4 where organisation = $1 and team = $2 and month = $3 and announced_at is null`,
      [organisation, team, month, new Date(now)],
    );
  }

  /** When the reports of an organisation's teams are made. */
  async time(db: Queryable, organisation: string): Promise<ReportTime> {
    return (await this.stores.organisations.setting<ReportTime>(db, organisation, SCHEDULE)) ?? DEFAULT_REPORT_TIME;
  }

  async saveTime(tx: Transaction, organisation: string, time: ReportTime): Promise<void> {
    await this.stores.organisations.saveSetting(tx, organisation, SCHEDULE, time);
  }

  /** Of the teams those whose newest due month has no report that was made since it was due. */
  async due(db: Queryable, organisation: string, now: number): Promise<WorkItem[]> {
    const time = await this.time(db, organisation);
    const teams = await this.stores.organisations.teams(db, organisation);
    const months = teams.map(({ id, zone }) => ({ team: id, zone, month: newestDueMonth(zone, now, time) }));
    const made = await db.query<{ team: string; month: string; at: Date }>(
      `select team, month, made_at as at from report where organisation = $1 and month = any($2::text[])`,
      [organisation, [...new Set(months.map(({ month }) => month))]],
    );
    const madeAt = new Map(made.map(({ team, month, at }) => [`${month} ${team}`, at.getTime()]));
    return months
      .filter(({ team, zone, month }) => (madeAt.get(`${month} ${team}`) ?? -Infinity) < dueAt(month, zone, time))
      .map(({ team, month }) => reportItem(team, month));
  }

  /**
   * Everything that a report says of a team's month. @throws Failure missing for a team that is unknown, invalid for a
   * month that has not begun.
   */
  async facts(tx: Queryable, organisation: string, team: string, month: string, now: number): Promise<ReportFacts> {
    const { organisations, prices, budgets, admissions } = this.stores;
    const known = await organisations.team(tx, organisation, team);
    if (known === null) throw missing(`team ${team} does not exist`);
    const asOf = await organisations.asOf(tx, organisation, now);
    const period = checkMonth(month, known.zone, asOf);
    const { before, comparedDays } = comparedWith(period, known.zone, asOf);
    const request: FactsRequest = {
      organisation,
      teams: await budgets.teamsUnder(tx, organisation, team),
      zone: plainZone(known.zone),
      currency: known.currency,
    };
    const current = await prices.book(tx, organisation);
    const spend = {
      ...(await spendFacts(tx, request, period, current.fx)),
      setAside: await setAsideFacts(tx, request, period),
      unpriced: await unpricedFacts(tx, request, period),
    };
    const old = await spendFacts(tx, request, before, current.fx);
    const history = await spendFacts(tx, request, { start: before.start - HISTORY_MS, end: period.start }, current.fx);
    const next = daysAfter(period, known.zone, asOf);
    const seen = { start: period.start, end: Math.min(period.end, Math.max(period.start, asOf)) };
    return {
      team,
      teamName: known.name,
      teams: request.teams,
      month,
      zone: known.zone,
      currency: known.currency,
      period,
      asOf,
      madeAt: now,
      spend,
      before: old,
      comparedDays,
      after: next === null ? null : { ...(await spendFacts(tx, request, next.interval, current.fx)), ...next.days },
      days: [...history.days, ...spend.days],
      budgets: await this.budgetsOf(tx, organisation, request.teams, month, asOf),
      savings: await this.savingsOf(tx, organisation, request.teams, period),
      refusals: await refusalFacts(tx, request, period),
      refusedLaunches: await admissions.refused(tx, organisation, request.teams, period, known.zone),
      chances: await chanceFacts(tx, request, period, asOf),
      demand: await demandFacts(tx, request, seen, current),
      lowUtilisation: LOW_UTILISATION,
      samples: await sampleFacts(tx, request, period, LOW_UTILISATION),
      variance: await varianceFacts(tx, request, period),
    };
  }

  /**
   * The budgets of the teams, as they were evaluated in the period that holds the month's last day, or today while it
   * runs: of the month in the budget's own zone, whose periods begin and end with it, not in the team's.
   */
  private async budgetsOf(
    db: Queryable,
    organisation: string,
    teams: readonly string[],
    month: string,
    asOf: number,
  ): Promise<ReportBudget[]> {
    const { budgets } = this.stores;
    const specs = (await budgets.list(db, organisation))
      .filter(({ team }) => teams.includes(team))
      .toSorted((a, b) => teams.indexOf(a.team) - teams.indexOf(b.team));
    const found: ReportBudget[] = [];
    for (const spec of specs) {
      const own = monthOfLabel(month, spec.zone);
      if (own === null) continue;
      const at = Math.max(own.start, Math.min(own.end, asOf) - 1);
      const [stored] = await budgets.states(organisation, at, spec.id, db);
      if (stored === undefined || Date.parse(stored.periodEnd) <= at) continue;
      const { budget, team, periodStart, periodEnd, state } = stored;
      const crossings = (await budgets.crossings(organisation, budget, db)).filter(
        (one) => one.holds && one.periodStart === periodStart,
      );
      const { status, currency, planned, spent, committed, ratio, forecast, exhaustionAt, unpricedGpuHours } = state;
      found.push({
        budget,
        team,
        periodStart,
        periodEnd,
        period: periodName({ start: Date.parse(periodStart), end: Date.parse(periodEnd) }, spec.zone),
        status,
        currency,
        planned,
        spent,
        committed,
        ratio,
        forecast: forecast === null ? null : { mean: forecast.mean, low: forecast.low, high: forecast.high },
        exhaustionAt,
        exhaustionDay: exhaustionDayOf(state),
        unpricedGpuHours,
        lacking: lackingOf(state),
        crossings: crossings.map(({ kind, ratio: threshold, crossedAt }) => ({ kind, ratio: threshold, crossedAt })),
      });
    }
    return found;
  }

  /** Entries of the ledger whose time touches the month. */
  private async ledgerOf(
    db: Queryable,
    organisation: string,
    teams: readonly string[],
    { start, end }: Interval,
  ): Promise<StoredSaving[]> {
    const entries: StoredSaving[] = [];
    for (let after: string | null = null; ; ) {
      const page: StoredSaving[] = await this.stores.savingLedger.list(
        organisation,
        { teams, to: end },
        after,
        PAGE,
        db,
      );
      entries.push(...page.filter(({ until }) => Date.parse(until) >= start));
      after = page.at(-1)?.place ?? null;
      if (page.length < PAGE) return entries;
    }
  }

  /** Entries of the ledger whose time touches the month, with what their hours in it saved. */
  private async savingsOf(
    db: Queryable,
    organisation: string,
    teams: readonly string[],
    { start, end }: Interval,
  ): Promise<SavingFacts[]> {
    const entries = await this.ledgerOf(db, organisation, teams, { start, end });
    const actions = entries.map(({ action }) => action);
    const worlds = await db.query<{
      action: string;
      world: string;
      estimate: { mean: string; low: string; high: string } | null;
    }>(
      `select action, spec #>> '{world,kind}' as world, coalesce(spec -> 'promised', spec -> 'estimate') as estimate
       from counterfactual where organisation = $1 and team = any($2::text[]) and action = any($3::text[])`,
      [organisation, teams, actions],
    );
    const hours = await db.query<JudgedHours>(
      `select action, state, count(*)::int as hours, sum(counterfactual)::text as counterfactual, sum(actual)::text as actual from (
         select action, hour, (array_agg(state order by no desc))[1] as state, sum(counterfactual_nanos) as counterfactual, sum(actual_nanos) as actual from saving_line
         where organisation = $1 and team = any($2::text[]) and action = any($3::text[]) and hour >= $4 and hour < $5 group by action, hour) as hour_of_action
       where state <> 'withdrawn' group by action, state`,
      [organisation, teams, actions, new Date(start), new Date(end)],
    );
    return entries.map((entry) => {
      const { action, team, target, effectKind: effect, policy, state, reason, from: appliedAt, currency } = entry;
      const world = worlds.find((one) => one.action === action);
      return {
        action,
        team,
        target,
        effect,
        policy,
        state,
        reason,
        appliedAt,
        counterfactual: world?.world ?? 'unknown',
        currency,
        savedToDate: nanosFrom(entry.saved),
        estimate: estimateFrom(world?.estimate ?? null),
        rolledBack: entry.rolledBack,
        month: monthOf(hours.filter((one) => one.action === entry.action)),
      };
    });
  }
}

/** The hours of an action in the month that were judged alike. */
interface JudgedHours {
  action: string;
  state: string;
  hours: number;
  counterfactual: string;
  actual: string;
}

function monthOf(own: readonly JudgedHours[]): SavingFacts['month'] {
  const sum = (of: (row: JudgedHours) => bigint): bigint => own.reduce((total, row) => total + of(row), 0n);
  const saved = (state: string): bigint =>
    sum((row) => (row.state === state ? BigInt(row.counterfactual) - BigInt(row.actual) : 0n));
  return {
    counterfactual: sum((row) => BigInt(row.counterfactual)),
    actual: sum((row) => BigInt(row.actual)),
    measured: saved('measured'),
    verified: saved('verified'),
    unverifiableHours: own.find((row) => row.state === 'unverifiable')?.hours ?? 0,
  };
}

const estimateFrom = (
  json: { readonly mean: string; readonly low: string; readonly high: string } | null,
): SavingFacts['estimate'] => {
  if (json === null) return null;
  const { mean, low, high } = json;
  // An interval without a width is one that nobody stated.
  const end = (nanos: string): bigint | null => (low === high ? null : BigInt(nanos));
  return { mean: BigInt(mean), low: end(low), high: end(high) };
};

function nanosFrom(text: string): bigint {
  const decimal = parseDecimal(text);
  const nanos = decimal === null ? null : nanosOf(decimal);
  if (nanos === null) throw new Error(`broken invariant: a stored amount is a decimal of nanos (${text})`);
  return nanos;
}

/** The month's time in a zone. @throws Failure invalid if it is no month, or begins after `now`. */
function checkMonth(month: string, zone: string, now: number): Interval {
  const period = /^\d{4}-\d{2}$/.test(month) ? monthOfLabel(month, zone) : null;
  if (period === null)
    throw invalid('the report has 1 problem(s)', [{ path: 'month', message: 'is not a month: write 2026-10' }]);
  if (period.start > now)
    throw invalid('the report has 1 problem(s)', [
      { path: 'month', message: `begins on ${dayLabel(period.start, zone)}, which is still to come` },
    ]);
  return period;
}
