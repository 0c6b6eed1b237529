/**
 * The spend that a budget covers, read from the sums: per UTC day if the budget's zone is UTC, otherwise per hour.
 * Amounts of civil dates (whole days of a bill, shared costs, credits) count on these dates in any zone.
 */
import { addDecimal, formatDecimal, parseDecimal, tenTo, ZERO, type Decimal } from '../../core/decimal.js';
import type { Budget, BudgetBasis, SpendPoint } from '../../core/budget/budget.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import { DAY_MS, dayLabel, formatInstant, parseDay, startOfLocalDay, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { filterParameter, passes } from './filters.js';

/** A decimal string. */
export interface CurrencyAmount {
  readonly currency: string;
  readonly amount: string;
}

export interface UnstatedAmount extends CurrencyAmount {
  /** Lines of bills, which may bill nothing; absent in states of before they were counted. */
  readonly lines?: number;
}

export interface BudgetSpend {
  readonly points: SpendPoint[];
  /** Only of the period, like the next field. */
  readonly unconverted: string[];
  readonly unstated: readonly UnstatedAmount[];
  readonly setAside: readonly CurrencyAmount[];
}

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

/** A row with its instant and what it is in the budget's currency; null: there is no exchange rate. */
interface SpentRow {
  readonly row: PointRow;
  readonly at: number;
  readonly nanos: bigint | null;
}

/** Days of history before a period that its forecast may use. */
const HISTORY_MS = 91 * DAY_MS;

/** The spend of these teams: the period and the history before it, in the budget's currency. */
export async function spendOf(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  budget: Budget,
  period: Interval,
  fx: FxTable,
): Promise<BudgetSpend> {
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
  const spent = rows.map((row): SpentRow => {
    const at = row.at?.getTime() ?? startOfLocalDay(zone, parseDay(row.day ?? '') ?? 0);
    const amount = row.amount === null ? null : parseDecimal(row.amount);
    return { row, at, nanos: amount === null ? 0n : inCurrency(amount, row.currency, budget.currency, at, fx) };
  });
  const points = spent.map(({ row, at, nanos }): SpendPoint => {
    const credit = row.category === 'Credit';
    return {
      at,
      nanos: credit ? 0n : (nanos ?? 0n),
      creditNanos: credit ? (nanos ?? 0n) : 0n,
      unpricedQuantity: BigInt(row.unpriced),
    };
  });
  // Earlier spend is history for the forecast, not spend of the period.
  return { points, ...missingFrom(spent.filter(({ at }) => at >= period.start)) };
}

/** The amount that a row of a basis counts, and its unstated part. Of a bill, only actual lines count. */
const AMOUNTS: Readonly<Record<BudgetBasis, (row: string) => { readonly amount: string; readonly unstated: string }>> =
  {
    actual: (row) => ({ amount: `${row}.actual`, unstated: 'null::numeric' }),
    accrued: (row) => ({ amount: `${row}.accrued`, unstated: 'null::numeric' }),
    effective: (row) => ({
      amount: `case when d.kind = 'metered' then ${row}.actual when ${row}.actual is not null then ${row}.effective end`,
      unstated: `case when d.kind = 'billed' and ${row}.effective is null then ${row}.actual end`,
    }),
  };

/**
 * Of the teams, a day to each side. Read apart, so that no planner reads all lines once for each dimension; a Citus
 * cluster joins their view with nothing.
 */
const HOURS = `with lines as materialized (
  select organisation, hour, dimension, currency, records, accrued, actual, billed, effective, unpriced_part_ms, stated_part_ms
  from hour_line where organisation = $1 and team = any($2::text[])
    and hour >= $3::timestamptz - interval '1 day' and hour < $4::timestamptz + interval '1 day')
`;

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
  const whole = zone === 'UTC' && basis !== 'effective';
  const lines = whole
    ? `${days} and $3::timestamptz < $4::timestamptz`
    : `${select('l', 'case when not d.civil then l.hour end', `case when d.civil then (l.hour at time zone 'UTC')::date end`)}
  from lines l join dimension d on d.organisation = l.organisation and d.id = l.dimension
  where case when d.civil then (l.hour at time zone 'UTC')::date >= $5::date and (l.hour at time zone 'UTC')::date < $6::date
      else l.hour >= $3 and l.hour < $4 end and ${passes('$7')}
  union all
  ${days} and c.shared_from <> ''`;
  return `${whole ? '' : HOURS}
select at, day::text as day, currency, category, sum(amount)::text as amount, sum(unpriced)::text as unpriced, sum(unstated)::text as unstated,
  sum(lines)::text as lines, sum(aside)::text as aside
from (${lines}) as point group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
}

/** By currency, what of the rows is not in the spend: no exchange rate, no amortised cost, not final yet. */
function missingFrom(rows: readonly SpentRow[]): Omit<BudgetSpend, 'points'> {
  const unconverted = new Set<string>();
  const unstated = new Map<string, { amount: Decimal; lines: number }>();
  const setAside = new Map<string, Decimal>();
  for (const { row, nanos } of rows) {
    if (nanos === null) unconverted.add(row.currency);
    const without = row.unstated === null ? null : parseDecimal(row.unstated);
    if (without !== null) {
      const known = unstated.get(row.currency) ?? { amount: ZERO, lines: 0 };
      unstated.set(row.currency, { amount: addDecimal(known.amount, without), lines: known.lines + Number(row.lines) });
    }
    const aside = row.aside === null ? null : parseDecimal(row.aside);
    if (aside !== null && aside.unscaled !== 0n)
      setAside.set(row.currency, addDecimal(setAside.get(row.currency) ?? ZERO, aside));
  }
  return {
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

/** Nanos in another currency by the rate of the day; null if there is none. */
export function inCurrency(amount: Decimal, from: string, to: string, at: number, fx: FxTable): bigint | null {
  const nanos =
    amount.scale <= 9
      ? amount.unscaled * tenTo(9 - amount.scale)
      : divideHalfEven(amount.unscaled, tenTo(amount.scale - 9));
  if (from === to || nanos === 0n) return nanos;
  const used = fx.rate(from, to, at);
  return used === null ? null : divideHalfEven(nanos * used.rate.numerator, used.rate.denominator);
}
