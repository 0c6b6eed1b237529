/**
 * Budgets, their states and the thresholds that they crossed.
 *
 * A crossing is written once per (budget, period, kind, ratio, round) by the table's own key, whoever finds it, and
 * stays when its budget is removed. Spend is read from the sums: per UTC day where the budget's zone is UTC, else per
 * hour; what is of civil dates (whole days of a bill, shared costs, credits) counts on these dates in any zone.
 */
import { addDecimal, formatDecimal, parseDecimal, tenTo, ZERO, type Decimal } from '../../core/decimal.js';
import {
  periodAt,
  type Budget,
  type BudgetBasis,
  type BudgetState,
  type Crossing,
  type SpendPoint,
  type NotifiedCrossing,
} from '../../core/budget/budget.js';
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import {
  DAY_MS,
  dayLabel,
  formatInstant,
  parseDay,
  periodName,
  startOfLocalDay,
  type Interval,
} from '../../core/time.js';
import type { Queryable } from '../database.js';
import { enqueue, type WorkItem } from '../work.js';
import { filterParameter, passes } from './filters.js';

export interface StoredState {
  readonly budget: string;
  readonly team: string;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly weighedAt: string;
  readonly state: BudgetStateJson;
}

/** What one period of a budget came to. */
export interface BudgetPeriod {
  /** ISO 8601. */
  readonly periodStart: string;
  readonly periodEnd: string;
  /** `2026-11`, `2026-Q4`, `2026` or `2026-11-02/14`, of the budget's zone. */
  readonly label: string;
  readonly isOver: boolean;
  readonly weighedAt: string;
  readonly state: BudgetStateJson;
  readonly crossings: readonly StoredCrossing[];
}

/** What names a crossing, as news of it do. */
export interface NotificationOf {
  readonly budget: string;
  readonly periodStart: string;
  readonly threshold: { readonly kind: string; readonly ratio: string };
  readonly round?: number;
}

/** A threshold that was told. */
export interface StoredCrossing {
  readonly budget: string;
  readonly periodStart: string;
  readonly kind: string;
  readonly ratio: string;
  readonly crossedAt: string;
  readonly round: number;
}

/** A BudgetState as people and callers read it: amounts as decimal strings, instants as ISO 8601. */
export interface BudgetStateJson {
  readonly status: BudgetState['status'];
  readonly currency: string;
  readonly planned: string | null;
  readonly spent: string;
  readonly credits: string;
  readonly committed: string;
  /** Of `committed`: what reservations held; absent in states of before there were any. */
  readonly reserved?: string;
  readonly forecast: {
    readonly mean: string;
    readonly low: string;
    readonly high: string;
    readonly method: string;
  } | null;
  readonly burnRatePerDay: string | null;
  readonly exhaustionAt: string | null;
  readonly unpricedGpuHours: string;
  readonly ratio: number | null;
  /** Currencies whose spend could not be converted and is not in `spent`. */
  readonly unconverted: readonly string[];
  /**
   * Billed amounts of a budget on the basis `effective` whose bill states no amortised cost: they are not in `spent`.
   * Absent in states of before there were any.
   */
  readonly unstated?: readonly UnstatedAmount[];
  /**
   * What bills that are not final state of usage that meters stand for until they are: it is not in `spent`. Absent in
   * states of before it was named.
   */
  readonly setAside?: readonly CurrencyAmount[];
  /** Metered usage that a filter leaves out since it does not say what the filter asks for. Absent likewise. */
  readonly unnamed?: readonly UnnamedAmount[];
  /** Storage, traffic and what has no quantity, without a price: it is not in `spent`. Absent likewise. */
  readonly unpriced?: readonly UnpricedUsage[];
}

/** A decimal string. */
export interface CurrencyAmount {
  readonly currency: string;
  readonly amount: string;
}

export interface UnstatedAmount extends CurrencyAmount {
  /** Lines of bills, which may bill nothing; absent in states of before they were counted. */
  readonly lines?: number;
}

/** Null amount: nothing of it has a price. */
export interface UnnamedAmount {
  readonly currency: string;
  readonly amount: string | null;
  /** Filters whose fields it leaves open: `service`, `tag`. */
  readonly fields: readonly string[];
}

export interface BudgetSpend {
  readonly points: SpendPoint[];
  /** Of the period alone, as the next. */
  readonly unconverted: string[];
  readonly unstated: readonly UnstatedAmount[];
  readonly setAside: readonly CurrencyAmount[];
}

/** What is in none of a state's amounts, apart from GPU-hours without a price. */
export type Lacking = Pick<BudgetSpend, 'unconverted' | 'unstated'> & {
  readonly setAside?: readonly CurrencyAmount[];
  readonly unnamed?: readonly UnnamedAmount[];
  readonly unpriced?: readonly UnpricedUsage[];
};

interface PointRow {
  /** Null: it is of a civil date. */
  at: Date | null;
  day: string | null;
  currency: string;
  category: string;
  amount: string | null;
  unpriced: string;
  unstated: string | null;
  lines: string;
  aside: string | null;
}

const middleOf = ({ start, end }: Interval): number => start + (end - start) / 2;

/** Whether two periods are the same days, each in a zone of its own. */
const isAbout = (one: Interval, other: Interval): boolean =>
  Math.max(Math.abs(one.start - other.start), Math.abs(one.end - other.end)) < 2 * DAY_MS;

/** Days of history before a period that its forecast may use. */
const HISTORY_MS = 91 * DAY_MS;

export class BudgetStore {
  constructor(private readonly db: Queryable) {}

  async list(db: Queryable, organisation: string): Promise<Budget[]> {
    const rows = await db.query<{ spec: Budget }>(`select spec from budget where organisation = $1 order by id`, [
      organisation,
    ]);
    return rows.map((row) => row.spec);
  }

  async get(db: Queryable, organisation: string, id: string): Promise<Budget | null> {
    const [row] = await db.query<{ spec: Budget }>(`select spec from budget where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    return row?.spec ?? null;
  }

  /** Adds or changes a budget. The caller has checked it (checkBudget) and enqueues its evaluation. */
  async save(tx: Queryable, organisation: string, budget: Budget): Promise<void> {
    await tx.query(
      `insert into budget (organisation, id, team, spec) values ($1, $2, $3, $4)
       on conflict (organisation, id) do update set team = excluded.team, spec = excluded.spec, updated_at = now()`,
      [organisation, budget.id, budget.team, JSON.stringify(budget)],
    );
  }

  /**
   * Takes out the states of periods that a budget no longer has, since its zone or its length is another, and returns
   * the periods that stand in their place, to be evaluated. What a period of the same name was told stays told.
   */
  async redefine(tx: Queryable, organisation: string, budget: Budget, now: number): Promise<Interval[]> {
    const rows = await tx.query<{ start: Date; until: Date }>(
      `select period_start as start, period_end as until from budget_state where organisation = $1 and budget = $2
       order by period_start`,
      [organisation, budget.id],
    );
    const others = rows
      .map(({ start, until }) => ({ start: start.getTime(), end: until.getTime() }))
      .filter(({ start, end }) => {
        const own = periodAt(budget, start);
        return own.start !== start || own.end !== end;
      });
    const instead = new Map<number, Interval>();
    for (const other of others) {
      // By its middle: in another zone a period begins some hours before or after.
      const named = periodAt(budget, middleOf(other));
      if (isAbout(named, other)) await this.copyNotified(tx, organisation, budget.id, other.start, named.start);
      instead.set(named.start, named);
      for (let one = periodAt(budget, other.start); one.start < other.end; one = periodAt(budget, one.end))
        if (other.start <= middleOf(one) && middleOf(one) < other.end) instead.set(one.start, one);
    }
    const starts = others.map(({ start }) => formatInstant(start));
    if (starts.length > 0)
      await tx.query(
        `delete from budget_state where organisation = $1 and budget = $2 and period_start = any($3::timestamptz[])`,
        [organisation, budget.id, starts],
      );
    return [...instead.values()].filter(({ start }) => start <= now);
  }

  private async copyNotified(
    tx: Queryable,
    organisation: string,
    budget: string,
    from: number,
    to: number,
  ): Promise<void> {
    await tx.query(
      `insert into crossing (organisation, budget, period_start, kind, ratio, round, crossed_at, value, plan_nanos, rearmed_at)
       select organisation, budget, $4, kind, ratio, round, crossed_at, value, plan_nanos, rearmed_at
       from crossing where organisation = $1 and budget = $2 and period_start = $3 on conflict do nothing`,
      [organisation, budget, formatInstant(from), formatInstant(to)],
    );
  }

  /**
   * What its periods came to and crossed stays on record: made anew, it tells nothing twice, and knows how it ended.
   */
  async remove(tx: Queryable, organisation: string, id: string): Promise<boolean> {
    return (
      (await tx.query(`delete from budget where organisation = $1 and id = $2 returning id`, [organisation, id]))
        .length > 0
    );
  }

  /** The team and every team below it. */
  async teamsUnder(db: Queryable, organisation: string, team: string): Promise<string[]> {
    const rows = await db.query<{ id: string }>(
      `with recursive under(id) as (
         select $2::text union select t.id from team t join under on t.parent = under.id where t.organisation = $1)
       select id from under`,
      [organisation, team],
    );
    return rows.map((row) => row.id);
  }

  /** Spend that a budget covers: its period and the history before it, in its currency. */
  async spend(
    db: Queryable,
    organisation: string,
    budget: Budget,
    period: Interval,
    fx: FxTable,
  ): Promise<BudgetSpend> {
    const teams = await this.teamsUnder(db, organisation, budget.team);
    const { zone, basis = 'actual' } = budget;
    const from = period.start - HISTORY_MS;
    const rows = await db.query<PointRow>(spendQuery(zone, basis), [
      organisation,
      teams,
      formatInstant(from),
      formatInstant(period.end),
      dayLabel(from, zone),
      dayLabel(period.end, zone),
      filterParameter(budget.filters),
    ]);
    const unconverted = new Set<string>();
    const unstated = new Map<string, { amount: Decimal; lines: number }>();
    const setAside = new Map<string, Decimal>();
    const points = rows.map((row): SpendPoint => {
      const at = row.at?.getTime() ?? startOfLocalDay(zone, parseDay(row.day ?? '') ?? 0);
      const amount = row.amount === null ? null : parseDecimal(row.amount);
      const nanos = amount === null ? 0n : inCurrency(amount, row.currency, budget.currency, at, fx);
      // What lies before the period is history for the forecast, not spend of the period.
      if (at >= period.start) {
        if (nanos === null) unconverted.add(row.currency);
        const without = row.unstated === null ? null : parseDecimal(row.unstated);
        if (without !== null) {
          const known = unstated.get(row.currency) ?? { amount: ZERO, lines: 0 };
          unstated.set(row.currency, {
            amount: addDecimal(known.amount, without),
            lines: known.lines + Number(row.lines),
          });
        }
        const aside = row.aside === null ? null : parseDecimal(row.aside);
        if (aside !== null && aside.unscaled !== 0n)
          setAside.set(row.currency, addDecimal(setAside.get(row.currency) ?? ZERO, aside));
      }
      const credit = row.category === 'Credit';
      return {
        at,
        nanos: credit ? 0n : (nanos ?? 0n),
        creditNanos: credit ? (nanos ?? 0n) : 0n,
        unpricedQuantity: BigInt(row.unpriced),
      };
    });
    return {
      points,
      unconverted: [...unconverted],
      unstated: [...unstated].map(([currency, { amount, lines }]) => ({
        currency,
        amount: formatDecimal(amount),
        lines,
      })),
      setAside: [...setAside]
        .filter(([, amount]) => amount.unscaled !== 0n)
        .map(([currency, amount]) => ({ currency, amount: formatDecimal(amount) })),
    };
  }

  async saveState(
    tx: Queryable,
    organisation: string,
    state: BudgetState,
    lacking: Lacking,
    now: number,
    reserved = 0n,
  ): Promise<void> {
    await tx.query(
      `insert into budget_state (organisation, budget, period_start, period_end, state, weighed_at) values ($1,$2,$3,$4,$5,$6)
       on conflict (organisation, budget, period_start) do update set period_end = excluded.period_end, state = excluded.state, weighed_at = excluded.weighed_at`,
      [
        organisation,
        state.budget,
        formatInstant(state.period.start),
        formatInstant(state.period.end),
        JSON.stringify(stateJson(state, lacking, reserved)),
        formatInstant(now),
      ],
    );
  }

  /** The last telling of each threshold of a budget in a period. */
  async notified(db: Queryable, organisation: string, budget: string, period: Interval): Promise<NotifiedCrossing[]> {
    const rows = await db.query<{
      kind: NotifiedCrossing['kind'];
      ratio: string;
      round: number;
      holds: boolean;
      planned: string;
    }>(
      `select distinct on (kind, ratio) kind, trim_scale(ratio)::text as ratio, round, rearmed_at is null as holds,
         coalesce(plan_nanos::text, value->>'planned') as planned
       from crossing where organisation = $1 and budget = $2 and period_start = $3 order by kind, ratio, round desc`,
      [organisation, budget, formatInstant(period.start)],
    );
    return rows.map(({ planned, ...row }) => ({ ...row, planned: BigInt(planned) }));
  }

  /** Notes what has become of tellings (core's `raised`); what was told stays as it was told. */
  async saveNotified(
    tx: Queryable,
    organisation: string,
    budget: string,
    period: Interval,
    notified: readonly NotifiedCrossing[],
    now: number,
  ): Promise<void> {
    for (const { kind, ratio, round, holds, planned } of notified)
      await tx.query(
        `update crossing set plan_nanos = $7, rearmed_at = $8
         where organisation = $1 and budget = $2 and period_start = $3 and kind = $4 and ratio = $5 and round = $6`,
        [
          organisation,
          budget,
          formatInstant(period.start),
          kind,
          ratio,
          round,
          String(planned),
          holds ? null : formatInstant(now),
        ],
      );
  }

  /** Writes crossings; returns those that were new: exactly one caller gets each. */
  async saveCrossings(
    tx: Queryable,
    organisation: string,
    crossings: readonly Crossing[],
    now: number,
  ): Promise<Crossing[]> {
    const fresh: Crossing[] = [];
    for (const crossing of crossings) {
      const rows = await tx.query(
        `insert into crossing (organisation, budget, period_start, kind, ratio, round, crossed_at, value)
         values ($1,$2,$3,$4,$5,$6,$7,$8) on conflict do nothing returning 1 as written`,
        [
          organisation,
          crossing.budget,
          formatInstant(crossing.periodStart),
          crossing.kind,
          crossing.ratio,
          crossing.round,
          formatInstant(now),
          JSON.stringify({ nanos: String(crossing.nanos), planned: String(crossing.planned) }),
        ],
      );
      if (rows.length > 0) fresh.push(crossing);
    }
    return fresh;
  }

  /**
   * A crossing that no longer held when somebody was to be told of it. Nobody was: it goes, and is found anew; some
   * were to be (an alert is kept): it stays, holds no more, and the next is a round of its own.
   */
  async passed(
    tx: Queryable,
    organisation: string,
    { budget, periodStart, threshold, round = 1 }: NotificationOf,
    wasKept: boolean,
    now: number,
  ): Promise<void> {
    const key = [organisation, budget, periodStart, threshold.kind, threshold.ratio, round];
    const which = `organisation = $1 and budget = $2 and period_start = $3 and kind = $4 and ratio = $5 and round = $6`;
    if (wasKept) await tx.query(`update crossing set rearmed_at = $7 where ${which}`, [...key, formatInstant(now)]);
    else await tx.query(`delete from crossing where ${which}`, key);
  }

  async crossings(organisation: string, budget: string | null, db: Queryable = this.db): Promise<StoredCrossing[]> {
    const rows = await db.query<{ budget: string; period: Date; kind: string; ratio: string; at: Date; round: number }>(
      `select budget, period_start as period, kind, trim_scale(ratio)::text as ratio, crossed_at as at, round from crossing
       where organisation = $1 and ($2::text is null or budget = $2) order by period_start desc, budget, kind, ratio, round limit 1000`,
      [organisation, budget],
    );
    return rows.map((r) => ({
      budget: r.budget,
      periodStart: r.period.toISOString(),
      kind: r.kind,
      ratio: r.ratio,
      crossedAt: r.at.toISOString(),
      round: r.round,
    }));
  }

  /** Every evaluated period of a budget that has begun by `at`, newest first, with what it came to. */
  async periods(organisation: string, budget: Budget, at: number): Promise<BudgetPeriod[]> {
    const rows = await this.db.query<{ start: Date; until: Date; evaluated: Date; state: BudgetStateJson }>(
      `select period_start as start, period_end as until, weighed_at as evaluated, state from budget_state
       where organisation = $1 and budget = $2 and period_start <= $3 order by period_start desc limit 1000`,
      [organisation, budget.id, formatInstant(at)],
    );
    const crossings = await this.crossings(organisation, budget.id);
    return rows.map(({ start, until, evaluated, state }) => ({
      periodStart: start.toISOString(),
      periodEnd: until.toISOString(),
      label: periodName({ start: start.getTime(), end: until.getTime() }, budget.zone),
      isOver: until.getTime() <= at,
      weighedAt: evaluated.toISOString(),
      state,
      crossings: crossings.filter(({ periodStart }) => periodStart === start.toISOString()),
    }));
  }

  /** Periods that have ended since they were evaluated last: as keys of their evaluation. */
  async ended(db: Queryable, organisation: string, now: number): Promise<WorkItem[]> {
    const rows = await db.query<{ spec: Budget; start: Date }>(
      `select b.spec, s.period_start as start from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget
       where s.organisation = $1 and s.period_end <= $2 and s.weighed_at < s.period_end`,
      [organisation, formatInstant(now)],
    );
    return rows.map(({ spec, start }) => ({
      stage: 'budget.weigh',
      partition: spec.id,
      key: `${spec.id}/${periodLabel(spec, start.getTime())}`,
    }));
  }

  /** The newest evaluated period of each budget (or of one), as of `at`. */
  async states(
    organisation: string,
    at: number,
    budget: string | null = null,
    db: Queryable = this.db,
  ): Promise<StoredState[]> {
    const rows = await db.query<{
      budget: string;
      team: string;
      start: Date;
      until: Date;
      evaluated: Date;
      state: BudgetStateJson;
    }>(
      `select distinct on (s.budget) s.budget, b.team, s.period_start as start, s.period_end as until, s.weighed_at as evaluated, s.state
       from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget
       where s.organisation = $1 and s.period_start <= $2 and ($3::text is null or s.budget = $3) order by s.budget, s.period_start desc`,
      [organisation, formatInstant(at), budget],
    );
    return rows.map((r) => ({
      budget: r.budget,
      team: r.team,
      periodStart: r.start.toISOString(),
      periodEnd: r.until.toISOString(),
      weighedAt: r.evaluated.toISOString(),
      state: r.state,
    }));
  }

  /** Enqueues every period that has been evaluated and ends after an instant: what its spend is made of has changed. */
  async enqueueEvaluated(tx: Queryable, organisation: string, after = -Infinity): Promise<void> {
    const rows = await tx.query<{ spec: Budget; start: Date }>(
      `select b.spec, s.period_start as start from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget
       where s.organisation = $1 and s.period_end > $2`,
      [organisation, after === -Infinity ? '-infinity' : formatInstant(after)],
    );
    await enqueue(
      tx,
      organisation,
      rows.map(({ spec, start }) => ({
        stage: 'budget.weigh',
        partition: spec.id,
        key: `${spec.id}/${periodLabel(spec, start.getTime())}`,
      })),
    );
  }

  /** Budgets of the given teams and of every team above them. */
  async budgetsOver(db: Queryable, organisation: string, teams: ReadonlySet<string>): Promise<Budget[]> {
    const rows = await db.query<{ spec: Budget }>(
      `with recursive above(id) as (
         select unnest($2::text[]) union select t.parent from team t join above on t.id = above.id where t.organisation = $1 and t.parent is not null)
       select b.spec from budget b where b.organisation = $1 and b.team in (select id from above) order by b.id`,
      [organisation, [...teams]],
    );
    return rows.map((row) => row.spec);
  }
}

/** The first local day of the budget's period that holds an instant: names the period in keys. */
export function periodLabel(budget: Budget, instant: number): string {
  return dayLabel(periodAt(budget, instant).start, budget.zone);
}

/** What a row of a basis counts, and what of it is not stated. Of a bill, only what is actual counts. */
const AMOUNTS: Readonly<Record<BudgetBasis, (row: string) => { readonly amount: string; readonly unstated: string }>> =
  {
    actual: (row) => ({ amount: `${row}.actual`, unstated: 'null::numeric' }),
    accrued: (row) => ({ amount: `${row}.accrued`, unstated: 'null::numeric' }),
    effective: (row) => ({
      amount: `case when d.kind = 'metered' then ${row}.actual when ${row}.actual is not null then ${row}.effective end`,
      unstated: `case when d.kind = 'billed' and ${row}.effective is null then ${row}.actual end`,
    }),
  };

/** Of the teams, a day to each side. An offset keeps a planner from reading all lines once for each dimension. */
const LINES = `(select organisation, hour, dimension, currency, records, accrued, actual, billed, effective, unpriced_part_ms, stated_part_ms
    from hour_line where organisation = $1 and team = any($2::text[])
      and hour >= $3::timestamptz - interval '1 day' and hour < $4::timestamptz + interval '1 day' offset 0)`;

/**
 * Metered usage is of instants; whole days of a bill, and what was shared or credited by the day, are of civil dates.
 */
function spendQuery(zone: string, basis: BudgetBasis): string {
  const select = (row: string, at: string, day: string): string => {
    const { amount, unstated } = AMOUNTS[basis](row);
    return `select ${at} as at, ${day} as day, coalesce(${row}.currency, '') as currency, d.category, ${amount} as amount,
       ${row}.unpriced_part_ms${basis === 'accrued' ? '' : ` - ${row}.stated_part_ms`} as unpriced, ${unstated} as unstated, case when ${unstated} is null then 0 else ${row}.records end as lines,
       ${basis === 'accrued' ? 'null::numeric' : `case when d.kind = 'billed' then coalesce(${row}.billed, 0) - coalesce(${row}.actual, 0) end`} as aside`;
  };
  const days = `${select('c', 'null::timestamptz', 'c.day')}
  from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
  where c.organisation = $1 and c.team = any($2::text[]) and c.day >= $5::date and c.day < $6::date and ${passes('$7')}`;
  // Lines of one bill may count or not, hour by hour: only the hours tell which of a day's amortised cost counts.
  const lines =
    zone === 'UTC' && basis !== 'effective'
      ? `${days} and $3::timestamptz < $4::timestamptz`
      : `${select('l', 'case when not d.civil then l.hour end', `case when d.civil then (l.hour at time zone 'UTC')::date end`)}
  from ${LINES} l join dimension d on d.organisation = l.organisation and d.id = l.dimension
  where case when d.civil then (l.hour at time zone 'UTC')::date >= $5::date and (l.hour at time zone 'UTC')::date < $6::date
      else l.hour >= $3 and l.hour < $4 end and ${passes('$7')}
  union all
  ${days} and c.shared_from <> ''`;
  return `
select at, day::text as day, currency, category, sum(amount)::text as amount, sum(unpriced)::text as unpriced, sum(unstated)::text as unstated,
  sum(lines)::text as lines, sum(aside)::text as aside
from (${lines}) as point group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
}

/** Nanos in another currency by the rate of the day; null where there is none. */
export function inCurrency(amount: Decimal, from: string, to: string, at: number, fx: FxTable): bigint | null {
  const nanos =
    amount.scale <= 9
      ? amount.unscaled * tenTo(9 - amount.scale)
      : divideHalfEven(amount.unscaled, tenTo(amount.scale - 9));
  if (from === to || nanos === 0n) return nanos;
  const used = fx.rate(from, to, at);
  return used === null ? null : divideHalfEven(nanos * used.rate.numerator, used.rate.denominator);
}

const money = (nanos: bigint): string => formatDecimal({ unscaled: nanos, scale: 9 });

function stateJson(
  state: BudgetState,
  { unconverted, unstated, setAside = [], unnamed = [], unpriced = [] }: Lacking,
  reserved: bigint,
): BudgetStateJson {
  const { forecast } = state;
  return {
    status: state.status,
    currency: state.currency,
    planned: state.planned === null ? null : money(state.planned),
    spent: money(state.spent),
    credits: money(state.credits),
    committed: money(state.committed),
    reserved: money(reserved),
    forecast:
      forecast === null
        ? null
        : { mean: money(forecast.mean), low: money(forecast.low), high: money(forecast.high), method: forecast.method },
    burnRatePerDay: state.burnRatePerDay === null ? null : money(state.burnRatePerDay),
    exhaustionAt: state.exhaustionAt === null ? null : formatInstant(state.exhaustionAt),
    unpricedGpuHours: formatDecimal({
      unscaled: divideHalfEven(state.unpricedQuantity * 1_000_000n, 25_200_000_000n),
      scale: 6,
    }),
    ratio: state.ratio,
    unconverted: [...unconverted],
    unstated,
    setAside,
    unnamed,
    unpriced,
  };
}
