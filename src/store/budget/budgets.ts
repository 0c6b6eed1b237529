/**
 * Budgets, their states and the thresholds that they crossed. The table's own key ensures that a crossing is written
 * once per (budget, period, kind, ratio, round), whoever finds it. It stays when its budget is removed.
 */
import { formatDecimal } from '../../core/decimal.js';
import {
  periodAt,
  type Budget,
  type BudgetState,
  type Crossing,
  type NotifiedCrossing,
} from '../../core/budget/budget.js';
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import { DAY_MS, dayLabel, formatInstant, periodName, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { enqueue, type WorkItem } from '../work.js';
import { spendOf, type BudgetSpend, type CurrencyAmount, type UnstatedAmount } from './spend.js';

export interface StoredState {
  readonly budget: string;
  readonly team: string;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly weighedAt: string;
  readonly state: BudgetStateJson;
}

/** The result of one period of a budget. */
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

/** The key of a crossing, as in its news. */
export interface NotificationOf {
  readonly budget: string;
  readonly periodStart: string;
  readonly threshold: { readonly kind: string; readonly ratio: string };
  readonly round?: number;
}

/** A notified threshold. */
export interface StoredCrossing {
  readonly budget: string;
  readonly periodStart: string;
  readonly kind: string;
  readonly ratio: string;
  readonly crossedAt: string;
  readonly round: number;
  /**
   * Whether it still stands: the budget was not raised above it, and, until its period is over, the budget has this
   * threshold.
   */
  readonly holds: boolean;
}

/** A BudgetState as people and callers read it: amounts as decimal strings, instants as ISO 8601. */
export interface BudgetStateJson {
  readonly status: BudgetState['status'];
  readonly currency: string;
  readonly planned: string | null;
  readonly spent: string;
  readonly credits: string;
  readonly committed: string;
  /** The part of `committed` that reservations held; absent in states from before reservations existed. */
  readonly reserved?: string;
  readonly forecast: {
    readonly mean: string;
    readonly low: string;
    readonly high: string;
    readonly method: string;
  } | null;
  readonly burnRatePerDay: string | null;
  readonly exhaustionAt: string | null;
  /** Its day in the budget's zone, `2026-11-20`; absent in older states. */
  readonly exhaustionDay?: string | null;
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
   * The lines of bills that are not final that meters stand for until then: they are not in `spent`. Absent in older
   * states.
   */
  readonly setAside?: readonly CurrencyAmount[];
  /** Metered usage that a filter leaves out since it does not say what the filter asks for. Absent likewise. */
  readonly unnamed?: readonly UnnamedAmount[];
  /** Storage, traffic and what has no quantity, without a price: it is not in `spent`. Absent likewise. */
  readonly unpriced?: readonly UnpricedUsage[];
}

/** Null amount: nothing of it has a price. */
export interface UnnamedAmount {
  readonly currency: string;
  readonly amount: string | null;
  /** Filters whose fields it leaves open: `service`, `tag`. */
  readonly fields: readonly string[];
}

/** The amounts that a state lacks, other than GPU-hours without a price. */
export type Lacking = Pick<BudgetSpend, 'unconverted' | 'unstated'> & {
  readonly setAside?: readonly CurrencyAmount[];
  readonly unnamed?: readonly UnnamedAmount[];
  readonly unpriced?: readonly UnpricedUsage[];
};

/** The other amounts that a state lacks, for any reason; null amount: unknown. */
export const lackingOf = (
  state: BudgetStateJson,
): readonly { readonly currency: string; readonly amount: string | null }[] => [
  ...state.unconverted.map((currency) => ({ currency, amount: null })),
  ...[...(state.unstated ?? []), ...(state.unnamed ?? [])].map(({ currency, amount }) => ({ currency, amount })),
];

const middleOf = ({ start, end }: Interval): number => start + (end - start) / 2;

/** Whether two periods are the same days, each in a zone of its own. */
const isAbout = (one: Interval, other: Interval): boolean =>
  Math.max(Math.abs(one.start - other.start), Math.abs(one.end - other.end)) < 2 * DAY_MS;

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
   * Removes the states of periods that a budget no longer has, because its zone or its length has changed, and returns
   * the periods that replace them, to be evaluated. Notifications of a period of the same name stay recorded.
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
       select organisation, budget, $4, kind, ratio, round, crossed_at,
         jsonb_build_object('reachedIn', period_start) || value, plan_nanos, rearmed_at
       from crossing where organisation = $1 and budget = $2 and period_start = $3 on conflict do nothing`,
      [organisation, budget, formatInstant(from), formatInstant(to)],
    );
  }

  /**
   * The results and crossings of its periods stay recorded: a budget that is made again notifies nothing twice, and
   * knows how its periods ended.
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
    return spendOf(db, organisation, await this.teamsUnder(db, organisation, budget.team), budget, period, fx);
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

  /** Saves the changes to notifications (core's `raised`); the sent content stays unchanged. */
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
   * A crossing that no longer held when its alert was to be sent. If no alert is kept, the crossing is removed and can
   * be found again. If an alert is kept, the crossing stays but no longer holds, and the next one is a new round.
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
    const rows = await db.query<Omit<StoredCrossing, 'periodStart' | 'crossedAt'> & { period: Date; at: Date }>(
      `select c.budget, c.period_start as period, c.kind, trim_scale(c.ratio)::text as ratio, c.crossed_at as at, c.round,
         c.rearmed_at is null and (coalesce(s.period_end <= s.weighed_at, false) or exists (
           select 1 from jsonb_array_elements(b.spec->'thresholds') as t
           where t->>'kind' = c.kind and (t->>'ratio')::numeric = c.ratio)) as holds
       from crossing c left join budget b on b.organisation = c.organisation and b.id = c.budget
         left join budget_state s
           on s.organisation = c.organisation and s.budget = c.budget and s.period_start = c.period_start
       where c.organisation = $1 and ($2::text is null or c.budget = $2)
       order by c.period_start desc, c.budget, c.kind, c.ratio, c.round limit 1000`,
      [organisation, budget],
    );
    return rows.map((r) => ({
      budget: r.budget,
      periodStart: r.period.toISOString(),
      kind: r.kind,
      ratio: r.ratio,
      crossedAt: r.at.toISOString(),
      round: r.round,
      holds: r.holds,
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

  /** Budgets whose period at an instant (epoch milliseconds) was never evaluated. */
  async withoutState(db: Queryable, organisation: string, at: number): Promise<Budget[]> {
    const rows = await db.query<{ spec: Budget }>(
      `select b.spec from budget b where b.organisation = $1 and not exists (
         select 1 from budget_state s where s.organisation = $1 and s.budget = b.id and s.period_start <= $2 and s.period_end > $2)
       order by b.id`,
      [organisation, formatInstant(at)],
    );
    return rows.map(({ spec }) => spec);
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
    exhaustionDay: state.exhaustionDay,
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
