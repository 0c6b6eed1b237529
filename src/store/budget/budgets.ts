/**
 * Budgets, their states and the thresholds that they crossed.
 *
 * A crossing is written once per (budget, period, kind, ratio) by the table's own key, whoever finds it. Spend is read
 * from the sums: per UTC day where the budget's zone is UTC, else per hour (shared costs, split per UTC day, count at
 * that day's first hour).
 */
import { formatDecimal, parseDecimal, tenTo, type Decimal } from '../../core/decimal.js';
import { periodAt, type Budget, type BudgetState, type Crossing, type SpendPoint } from '../../core/budget/budget.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import { dayLabel, formatInstant, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { wake } from '../work.js';

export interface StoredState {
  readonly budget: string;
  readonly team: string;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly weighedAt: string;
  readonly state: BudgetStateJson;
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
}

export interface BudgetSpend {
  readonly points: SpendPoint[];
  readonly unconverted: string[];
}

interface PointRow {
  at: Date;
  currency: string;
  category: string;
  amount: string | null;
  unpriced: string;
}

/** Days of history before a period that its forecast may use. */
const HISTORY_MS = 91 * 86_400_000;

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

  /** Adds or changes a budget. The caller has checked it (checkBudget) and wakes its weighing. */
  async save(tx: Queryable, organisation: string, budget: Budget): Promise<void> {
    await tx.query(
      `insert into budget (organisation, id, team, spec) values ($1, $2, $3, $4)
       on conflict (organisation, id) do update set team = excluded.team, spec = excluded.spec, updated_at = now()`,
      [organisation, budget.id, budget.team, JSON.stringify(budget)],
    );
  }

  async remove(tx: Queryable, organisation: string, id: string): Promise<boolean> {
    await tx.query(`delete from budget_state where organisation = $1 and budget = $2`, [organisation, id]);
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
    const rows = await db.query<PointRow>(budget.zone === 'UTC' ? DAILY : HOURLY, [
      organisation,
      teams,
      formatInstant(period.start - HISTORY_MS),
      formatInstant(period.end),
      budget.filters.provider ?? null,
      budget.filters.sku ?? null,
      budget.filters.term ?? null,
      budget.filters.tag === undefined ? null : budget.filters.tag.map((t) => JSON.stringify({ [t.key]: t.value })),
    ]);
    const unconverted = new Set<string>();
    const unknown = (currency: string, at: number): bigint => {
      // What lies before the period is history for the forecast, not spend of the period.
      if (at >= period.start) unconverted.add(currency);
      return 0n;
    };
    const points = rows.map((row): SpendPoint => {
      const at = row.at.getTime();
      const amount = row.amount === null ? null : parseDecimal(row.amount);
      const nanos =
        amount === null ? 0n : (inCurrency(amount, row.currency, budget.currency, at, fx) ?? unknown(row.currency, at));
      const credit = row.category === 'Credit';
      return {
        at,
        nanos: credit ? 0n : nanos,
        creditNanos: credit ? nanos : 0n,
        unpricedQuantity: BigInt(row.unpriced),
      };
    });
    return { points, unconverted: [...unconverted] };
  }

  async saveState(
    tx: Queryable,
    organisation: string,
    state: BudgetState,
    unconverted: readonly string[],
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
        JSON.stringify(stateJson(state, unconverted, reserved)),
        formatInstant(now),
      ],
    );
  }

  /** Ids of what a budget has crossed in a period. */
  async crossed(db: Queryable, organisation: string, budget: string, period: Interval): Promise<Set<string>> {
    const rows = await db.query<{ kind: string; ratio: string }>(
      `select kind, trim_scale(ratio)::text as ratio from crossing where organisation = $1 and budget = $2 and period_start = $3`,
      [organisation, budget, formatInstant(period.start)],
    );
    return new Set(rows.map((row) => `${budget}/${formatInstant(period.start)}/${row.kind}/${row.ratio}`));
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
        `insert into crossing (organisation, budget, period_start, kind, ratio, crossed_at, value) values ($1,$2,$3,$4,$5,$6,$7)
         on conflict do nothing returning 1 as written`,
        [
          organisation,
          crossing.budget,
          formatInstant(crossing.periodStart),
          crossing.kind,
          crossing.ratio,
          formatInstant(now),
          JSON.stringify({ nanos: String(crossing.nanos), planned: String(crossing.planned) }),
        ],
      );
      if (rows.length > 0) fresh.push(crossing);
    }
    return fresh;
  }

  async crossings(
    organisation: string,
    budget: string | null,
  ): Promise<{ budget: string; periodStart: string; kind: string; ratio: string; crossedAt: string }[]> {
    const rows = await this.db.query<{ budget: string; period: Date; kind: string; ratio: string; at: Date }>(
      `select budget, period_start as period, kind, trim_scale(ratio)::text as ratio, crossed_at as at from crossing
       where organisation = $1 and ($2::text is null or budget = $2) order by period_start desc, budget, kind, ratio limit 1000`,
      [organisation, budget],
    );
    return rows.map((r) => ({
      budget: r.budget,
      periodStart: r.period.toISOString(),
      kind: r.kind,
      ratio: r.ratio,
      crossedAt: r.at.toISOString(),
    }));
  }

  /** The newest weighed period of each budget (or of one), as of `at`. */
  async states(organisation: string, at: number, budget: string | null = null): Promise<StoredState[]> {
    const rows = await this.db.query<{
      budget: string;
      team: string;
      start: Date;
      until: Date;
      weighed: Date;
      state: BudgetStateJson;
    }>(
      `select distinct on (s.budget) s.budget, b.team, s.period_start as start, s.period_end as until, s.weighed_at as weighed, s.state
       from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget
       where s.organisation = $1 and s.period_start <= $2 and ($3::text is null or s.budget = $3) order by s.budget, s.period_start desc`,
      [organisation, formatInstant(at), budget],
    );
    return rows.map((r) => ({
      budget: r.budget,
      team: r.team,
      periodStart: r.start.toISOString(),
      periodEnd: r.until.toISOString(),
      weighedAt: r.weighed.toISOString(),
      state: r.state,
    }));
  }

  /** Wakes every period that has been weighed and ends after an instant: what its spend is made of has changed. */
  async wakeWeighed(tx: Queryable, organisation: string, after = -Infinity): Promise<void> {
    const rows = await tx.query<{ spec: Budget; start: Date }>(
      `select b.spec, s.period_start as start from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget
       where s.organisation = $1 and s.period_end > $2`,
      [organisation, after === -Infinity ? '-infinity' : formatInstant(after)],
    );
    await wake(
      tx,
      organisation,
      rows.map(({ spec, start }) => ({
        stage: 'budget.weigh',
        lane: spec.id,
        key: `${spec.id}/${periodLabel(spec, start.getTime())}`,
      })),
    );
  }

  /** Budgets of the given teams and of every team above them. */
  async over(db: Queryable, organisation: string, teams: ReadonlySet<string>): Promise<Budget[]> {
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

const FILTERS = `($5::text[] is null or d.provider = any($5::text[])) and ($6::text[] is null or d.sku = any($6::text[]))
  and ($7::text[] is null or d.term = any($7::text[])) and ($8::jsonb[] is null or d.tags @> any($8::jsonb[]))`;
const DAILY = `
select c.day::timestamp at time zone 'UTC' as at, c.currency, d.category, sum(c.actual)::text as amount, sum(c.unpriced_part_ms)::text as unpriced
from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
where c.organisation = $1 and c.team = any($2::text[]) and c.day >= ($3::timestamptz at time zone 'UTC')::date and c.day < ($4::timestamptz at time zone 'UTC')::date and ${FILTERS}
group by 1, 2, 3 order by 1, 2, 3`;
const HOURLY = `
select at, currency, category, sum(amount)::text as amount, sum(unpriced)::text as unpriced from (
  select l.hour as at, coalesce(l.currency, '') as currency, d.category, l.actual as amount, l.unpriced_part_ms as unpriced
  from hour_line l join dimension d on d.organisation = l.organisation and d.id = l.dimension
  where l.organisation = $1 and l.team = any($2::text[]) and l.hour >= $3 and l.hour < $4 and ${FILTERS}
  union all
  select c.day::timestamp at time zone 'UTC', c.currency, d.category, c.actual, c.unpriced_part_ms
  from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
  where c.organisation = $1 and c.team = any($2::text[]) and c.shared_from <> '' and c.day::timestamp at time zone 'UTC' >= $3 and c.day::timestamp at time zone 'UTC' < $4 and ${FILTERS}
) as point group by 1, 2, 3 order by 1, 2, 3`;

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

function stateJson(state: BudgetState, unconverted: readonly string[], reserved: bigint): BudgetStateJson {
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
  };
}
