/**
 * Events since the last check that may be worth an alert: thresholds, steps of actions, health findings, anomalies,
 * differing bills, reports.
 *
 * Reads only, except for its own mark. A check also covers a short time before the last check, so that late commits are
 * found. Events that are already kept are left out before anything more is read about them, because checks run every
 * few seconds and a new month brings a report for every team.
 */
import {
  crossingIdentity,
  digestIdentity,
  identityOf,
  together,
  type ApprovalNews,
  type BudgetNews,
  type DigestNews,
  type HealthNews,
  type News,
  type VarianceNews,
} from '../../core/alert/alert.js';
import { exhaustionDayOf } from '../../core/budget/exhaustion.js';
import { holdsStill, type Budget } from '../../core/budget/budget.js';
import { addDecimal, formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { nanosOf } from '../../core/money.js';
import type { Report } from '../../core/report/report.js';
import { DAY_MS, formatInstant, MINUTE_MS, periodName } from '../../core/time.js';
import type { BudgetStateJson } from '../budget/budgets.js';
import type { Queryable } from '../database.js';
import type { HealthFinding } from '../../core/fleet/health.js';
import { actionNews, type Answered } from './action-news.js';
import { explained, type Explaining } from './budget-explained.js';
import type { FoundAnomaly } from './anomalies.js';
import type { Stores } from '../stores.js';

type Needs = Pick<Stores, 'alerts' | 'actions'> & Explaining;

/** How far back the first check goes. */
const FIRST_MS = 7 * DAY_MS;
/** No transaction that writes news takes longer. */
const OVERLAP_MS = 15 * MINUTE_MS;
const MARK = 'news';

export interface Happened {
  readonly news: readonly News[];
  /** Answers to requests for approval, by the identity of the request. */
  readonly answers: readonly Answered[];
  /** Thresholds that are no longer reached before anybody was notified: they count as not crossed. */
  readonly passed: readonly BudgetNews[];
}

/** From when on a check tells, in epoch milliseconds. */
async function newsSince(db: Queryable, organisation: string, now: number): Promise<number> {
  const [row] = await db.query<{ at: Date | null }>(`select at from alert_mark where organisation = $1 and name = $2`, [
    organisation,
    MARK,
  ]);
  return row?.at ? row.at.getTime() - OVERLAP_MS : now - FIRST_MS;
}

/** Notes that everything up to now was looked at. */
export async function saveMark(tx: Queryable, organisation: string, now: number): Promise<void> {
  await tx.query(
    `insert into alert_mark (organisation, name, at) values ($1, $2, $3) on conflict (organisation, name) do update set at = greatest(alert_mark.at, excluded.at)`,
    [organisation, MARK, formatInstant(now)],
  );
}

/**
 * The time since which each channel is connected, epoch milliseconds, by name; a channel that is seen for the first
 * time, without earlier alerts, counts from now on.
 */
export async function connectedSince(
  tx: Queryable,
  organisation: string,
  channels: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const names = channels.map((channel) => `channel:${channel}`);
  await tx.query(
    `insert into alert_mark (organisation, name, at) select $1, 'channel:' || name, coalesce((select min(intended_at) from alert_delivery where organisation = $1 and channel = name), $3)
     from unnest($2::text[]) as name on conflict do nothing`,
    [organisation, channels, formatInstant(now)],
  );
  const rows = await tx.query<{ name: string; at: Date }>(
    `select name, at from alert_mark where organisation = $1 and name = any($2::text[])`,
    [organisation, names],
  );
  return new Map(rows.map(({ name, at }) => [name.slice('channel:'.length), at.getTime()]));
}

/** Whether a check would find anything that may be new. Cheap: it is asked every few seconds. */
export async function hasNews(db: Queryable, organisation: string, now: number): Promise<boolean> {
  const since = formatInstant(await newsSince(db, organisation, now));
  const [row] = await db.query<{ any: boolean }>(
    `select exists (select 1 from alert where organisation = $1 and state = 'new') or exists (select 1 from crossing where organisation = $1 and crossed_at > $2)
       or exists (select 1 from action_event where organisation = $1 and at > $2) or exists (select 1 from health_finding where organisation = $1 and opened_at > $2)
       or exists (select 1 from anomaly where organisation = $1 and found_at > $2)
       or exists (select 1 from variance_finding where organisation = $1 and seen_at > $2) or exists (select 1 from report where organisation = $1 and announced_at > $2) as any`,
    [organisation, since],
  );
  return row?.any ?? false;
}

/** Everything since the last check that is not kept yet. */
export async function happened(stores: Needs, tx: Queryable, organisation: string, now: number): Promise<Happened> {
  const since = formatInstant(await newsSince(tx, organisation, now));
  const { news: ofActions, answers } = await actionNews(stores, tx, organisation, since);
  const crossings = await crossed(stores, tx, organisation, since);
  const light = [
    ...crossings.filter(stillHolds),
    ...ofActions,
    ...(await unwell(tx, organisation, since)),
    ...(await unusual(tx, organisation, since)),
    ...(await differing(tx, organisation, since, now)),
    ...(await reported(stores, tx, organisation, since)),
  ];
  const known = await stores.alerts.known(tx, organisation, light.map(identityOf));
  const fresh = [...new Map(light.map((news) => [identityOf(news), news])).values()].filter(
    (news) => !known.has(identityOf(news)),
  );
  const news: News[] = [];
  for (const one of together(fresh))
    news.push(
      one.kind === 'budget' && one.within === undefined
        ? await explained(stores, tx, organisation, one, now)
        : one.kind === 'approval'
          ? await justified(stores, tx, organisation, one)
          : one,
    );
  return { news, answers, passed: crossings.filter((one) => !stillHolds(one)) };
}

/** The rows whose news are not kept yet. */
async function unkept<Row>(
  { alerts }: Needs,
  db: Queryable,
  organisation: string,
  rows: readonly Row[],
  identity: (row: Row) => string,
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const known = await alerts.known(db, organisation, rows.map(identity));
  return rows.filter((row) => !known.has(identity(row)));
}

/**
 * A budget that somebody has just set is evaluated first: its state, and what it crossed, may be of one of that name
 * before.
 */
async function crossed(stores: Needs, db: Queryable, organisation: string, since: string): Promise<BudgetNews[]> {
  const all = await db.query<{
    team: string;
    budget: string;
    reached_in: Date;
    kind: 'actual' | 'forecast';
    ratio: string;
    round: number;
  }>(
    `select b.team, c.budget, ${REACHED_IN} as reached_in, c.kind, trim_scale(c.ratio)::text as ratio, c.round from crossing c join budget b on b.organisation = c.organisation and b.id = c.budget
     where c.organisation = $1 and c.crossed_at > $2 and not exists (
       select 1 from work w where w.organisation = $1 and w.lane = c.budget and w.stage = 'budget.weigh' and w.urgent
         and w.done < w.wanted and w.parked_at is null)`,
    [organisation, since],
  );
  const fresh = await unkept(stores, db, organisation, all, ({ team, budget, reached_in, kind, ratio, round }) =>
    crossingIdentity({ team, budget, periodStart: reached_in.toISOString(), threshold: { kind, ratio }, round }),
  );
  if (fresh.length === 0) return [];
  const rows = await db.query<CrossingRow>(
    `${CROSSING} and c.crossed_at > $2 and c.budget = any($3::text[]) order by c.crossed_at, c.budget, c.kind, c.ratio`,
    [organisation, since, fresh.map(({ budget }) => budget)],
  );
  return rows.map(budgetNews);
}

/** Where a budget's zone was changed: the beginning that its period had when the threshold was reached. */
const REACHED_IN = `coalesce((c.value->>'reachedIn')::timestamptz, c.period_start)`;

interface CrossingRow {
  readonly spec: Budget;
  readonly start: Date;
  readonly reached_in: Date;
  readonly until: Date;
  readonly kind: 'actual' | 'forecast';
  readonly ratio: string;
  readonly round: number;
  readonly state: BudgetStateJson;
}

const CROSSING = `select b.spec, c.period_start as start, ${REACHED_IN} as reached_in, s.period_end as until, c.kind, trim_scale(c.ratio)::text as ratio, c.round, s.state
     from crossing c join budget b on b.organisation = c.organisation and b.id = c.budget
     join budget_state s on s.organisation = c.organisation and s.budget = c.budget and s.period_start = c.period_start
     where c.organisation = $1`;

const budgetNews = ({ spec, start, reached_in, until, kind, ratio, round, state }: CrossingRow): BudgetNews => ({
  kind: 'budget',
  team: spec.team,
  budget: spec.id,
  periodStart: formatInstant(start.getTime()),
  periodEnd: formatInstant(until.getTime()),
  period: periodName({ start: start.getTime(), end: until.getTime() }, spec.zone),
  threshold: { kind, ratio },
  ...(round === 1 ? {} : { round }),
  ...(reached_in.getTime() === start.getTime() ? {} : { reachedIn: formatInstant(reached_in.getTime()) }),
  currency: state.currency,
  planned: state.planned ?? '0',
  spent: state.spent,
  forecast:
    state.forecast === null ? null : { mean: state.forecast.mean, low: state.forecast.low, high: state.forecast.high },
  exhaustionAt: state.exhaustionAt,
  exhaustionDay: exhaustionDayOf(state),
  unpricedGpuHours: state.unpricedGpuHours,
  setAside: state.setAside ?? [],
  unpriced: state.unpriced ?? [],
  unconverted: state.unconverted.map((currency) => ({ currency, amount: null })),
  unstated: (state.unstated ?? []).map(({ currency, amount }) => ({ currency, amount })),
  unnamed: (state.unnamed ?? []).map(({ currency, amount }) => ({ currency, amount })),
  drivers: [],
  nextStep: null,
});

/** Whether the threshold is reached still, as the budget was evaluated last. */
export function stillHolds({ threshold, planned, spent, forecast }: BudgetNews): boolean {
  const nanos = (text: string): bigint => nanosOf(parseDecimal(text) ?? ZERO) ?? 0n;
  return holdsStill(threshold, {
    planned: nanos(planned),
    spent: nanos(spent),
    forecast: forecast === null ? null : nanos(forecast.mean),
  });
}

/**
 * News of a threshold as its budget stands now; null: the budget is gone, or is not planned any more, and they stand
 * as they are.
 */
export async function restated(
  stores: Explaining,
  db: Queryable,
  organisation: string,
  news: BudgetNews,
  now: number,
): Promise<BudgetNews | null> {
  const { budget, periodStart, threshold, round = 1 } = news;
  const [row] = await db.query<CrossingRow>(
    `${CROSSING} and c.budget = $2 and c.period_start = $3 and c.kind = $4 and c.ratio = $5 and c.round = $6`,
    [organisation, budget, periodStart, threshold.kind, threshold.ratio, round],
  );
  if (row === undefined || row.state.status !== 'planned' || row.spec.team !== news.team) return null;
  const { also, soFar, drivers, nextStep } = news;
  const current = { ...budgetNews(row), ...(also === undefined ? {} : { also }), soFar, drivers, nextStep };
  return current.spent === news.spent && current.currency === news.currency
    ? current
    : explained(stores, db, organisation, current, now);
}

async function justified(
  { actions, recommendations }: Needs,
  db: Queryable,
  organisation: string,
  news: ApprovalNews,
): Promise<ApprovalNews> {
  const action = await actions.get(db, organisation, news.action);
  const found = action?.recommendation ? await recommendations.get(organisation, action.recommendation, db) : null;
  return found === null
    ? news
    : {
        ...news,
        because: {
          title: found.title,
          monthlySavings: found.estimatedMonthlySavings,
          monthlySavingsLow: found.estimatedMonthlySavingsLow,
          monthlySavingsHigh: found.estimatedMonthlySavingsHigh,
          monthlyCost: found.estimatedMonthlyCost,
          currency: found.currency,
          risk: found.risk.note,
          evidence: found.evidence,
          computation: found.computation,
        },
      };
}

async function unwell(db: Queryable, organisation: string, since: string): Promise<News[]> {
  const rows = await db.query<{
    body: HealthFinding;
    source: string;
    team: string;
    workload: string | null;
    opened: Date;
  }>(
    `select body, source, team, workload, opened_at as opened from health_finding where organisation = $1 and opened_at > $2 and severity <> 'notice' order by id`,
    [organisation, since],
  );
  return rows.map(
    ({ body, source, team, workload, opened }): HealthNews => ({
      kind: 'health',
      team,
      rule: body.rule,
      severity: body.severity,
      source,
      resource: body.resource,
      gpu: body.gpu,
      migInstance: body.migInstance,
      workload,
      title: body.title,
      numbers: body.numbers,
      evidence: body.evidence,
      openedAt: formatInstant(opened.getTime()),
    }),
  );
}

async function unusual(db: Queryable, organisation: string, since: string): Promise<News[]> {
  return (
    await db.query<{ news: FoundAnomaly }>(
      `select news from anomaly where organisation = $1 and found_at > $2 order by id`,
      [organisation, since],
    )
  ).map(({ news }) => news);
}

/** Most parts of a bill that are named. */
const MOST_PARTS = 5;

interface VarianceRow {
  team: string;
  source: string;
  month: string;
  currency: string;
  provider: string;
  sku: string | null;
  accrued: string | null;
  compared: string | null;
  amount: string;
}

/** The differences of each team's part of a bill, once its month is over: before that the bill is still growing. */
async function differing(db: Queryable, organisation: string, since: string, now: number): Promise<News[]> {
  const rows = await db.query<VarianceRow>(
    `select f.team, f.source, f.month, f.currency, f.provider, f.sku, f.accrued::text as accrued, f.compared::text as compared, f.amount::text as amount from variance_finding f
     where f.organisation = $1 and f.resolved_at is null and f.month < $3
       and exists (select 1 from variance_finding g where g.organisation = f.organisation and g.team = f.team and g.source = f.source and g.month = f.month and g.seen_at > $2)
     order by f.team, f.source, f.month, f.currency, abs(f.amount) desc, f.id`,
    [organisation, since, formatInstant(now).slice(0, 7)],
  );
  const groups = new Map<string, VarianceRow[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.team, row.source, row.month, row.currency]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].flatMap((own): VarianceNews[] => {
    const [first] = own;
    if (first === undefined) return [];
    const { team, source, month, currency } = first;
    return [
      {
        kind: 'variance',
        team,
        source,
        month,
        currency,
        billed: sumOf(own.map(({ compared }) => compared)),
        expected: sumOf(own.map(({ accrued }) => accrued)),
        difference: sumOf(own.map(({ amount }) => amount)) ?? '0',
        parts: own
          .slice(0, MOST_PARTS)
          .map(({ provider, sku, amount }) => ({ name: sku === null ? provider : `${provider} ${sku}`, amount })),
        findings: own.length,
      },
    ];
  });
}

/** Null if a part is unknown. */
function sumOf(texts: readonly (string | null)[]): string | null {
  const amounts = texts.map((text) => (text === null ? null : parseDecimal(text)));
  return amounts.some((amount) => amount === null)
    ? null
    : formatDecimal(amounts.reduce<Decimal>((sum, amount) => addDecimal(sum, amount ?? ZERO), ZERO));
}

async function reported(stores: Needs, db: Queryable, organisation: string, since: string): Promise<News[]> {
  const all = await db.query<{ team: string; month: string }>(
    `select team, month from report where organisation = $1 and announced_at > $2`,
    [organisation, since],
  );
  const fresh = await unkept(stores, db, organisation, all, digestIdentity);
  if (fresh.length === 0) return [];
  const rows = await db.query<{ body: Report }>(
    `select body from report r join unnest($2::text[], $3::text[]) as fresh(team, month) using (team, month) where r.organisation = $1 order by team, month`,
    [organisation, fresh.map(({ team }) => team), fresh.map(({ month }) => month)],
  );
  return rows.map(({ body }) => digestOf(body));
}

/** A month in short. */
export const digestOf = (body: Report): DigestNews => ({
  kind: 'digest',
  team: body.team,
  teamName: body.teamName,
  month: body.month,
  currency: body.currency,
  total: body.spend.total,
  before: body.spend.before,
  unpricedGpuHours: body.spend.unpricedGpuHours,
  setAside: body.spend.setAside ?? [],
  unpriced: body.spend.unpriced ?? [],
  unconverted: body.spend.unconverted,
  budgets: body.budgets.map(({ budget, spent, planned, currency, ratio, lacking = [] }) => ({
    budget,
    spent,
    planned,
    currency,
    ratio,
    lacking,
  })),
  verified: body.savings.verified,
  measured: body.savings.measured,
  forecast:
    body.forecast.known === null
      ? null
      : { mean: body.forecast.known.mean, low: body.forecast.known.low, high: body.forecast.known.high },
  nextSoFar:
    body.nextMonthSoFar === undefined || body.nextMonthSoFar === null
      ? null
      : { days: body.nextMonthSoFar.days, total: body.nextMonthSoFar.total },
  nextSteps: body.nextSteps.map((one) => ({
    title: one.title,
    monthlySavings: one.estimatedMonthlySavings,
    monthlySavingsLow: one.estimatedMonthlySavingsLow,
    monthlySavingsHigh: one.estimatedMonthlySavingsHigh,
    currency: one.currency,
  })),
});
