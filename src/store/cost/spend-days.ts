/**
 * Sums of each day of a few groups, and of all other groups together. Reads only. For a thousand teams a day is nine
 * figures here, instead of many thousand; PostgreSQL adds them exactly. Amounts stay in their own currency.
 */
import { addDecimal, negateDecimal, type Decimal } from '../../core/decimal.js';
import type { Basis, GroupKey } from '../../core/cost/spend-query.js';
import type { Dimension } from '../../core/cost/rollup.js';
import { formatDay, parseDay } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { allTeamsByDay, daySource, totalsByDay } from './local-days.js';
import { ASKED, isOfDimension, LINES, SET_ASIDE, valueOf, type Figure, type SumsQuery } from './spend-sums.js';

/** Groups that are distinguished by their name and currency. */
export interface NamedGroups {
  readonly key: GroupKey;
  /** The first day of the daily sums; all earlier days are one sum. */
  readonly since: string;
  readonly groups: readonly { readonly name: string | null; readonly currency: string }[];
  /** Dimensions by their ids, as they are called: which of them a name is of. */
  readonly named: ReadonlyMap<string, Dimension>;
}

export interface DayGroup {
  readonly day: string;
  /** Null: all that is of no named group. */
  readonly name: { readonly value: string | null } | null;
  readonly currency: string;
  /** Null: nothing of it has a price. */
  readonly cost: Figure | null;
}

/** The sums of each day, and what bills that are not final state of usage that meters stand for (setAsideSums). */
export interface Daily<One> {
  readonly sums: readonly One[];
  readonly setAside: readonly { readonly day: string; readonly currency: string; readonly cost: string }[];
}

type TotalsQuery = Omit<SumsQuery, 'groupBy' | 'notIn'>;
type DaysQuery = TotalsQuery & NamedGroups;

/** @param totals of the same time and moment, if somebody else reads them; of teams only */
export async function daySums(
  db: Queryable,
  organisation: string,
  query: DaysQuery,
  totals: Promise<Daily<DaySum>> | null,
): Promise<Daily<DayGroup>> {
  if (query.key !== 'team') return daySumsByName(db, organisation, query);
  const named = await namedTeams(db, organisation, query);
  const { sums, setAside } = await (totals ?? dayTotals(db, organisation, query));
  return { sums: await daySumsOfTeams(db, organisation, query, sums, named), setAside };
}

/** The sums of each day of all teams that are asked for. */
export async function dayTotals(db: Queryable, organisation: string, query: TotalsQuery): Promise<Daily<DaySum>> {
  const { basis } = query;
  const totals = await totalsByDay(db, organisation, query, basis);
  const beforehand = totals?.others ?? (await allTeamsByDay(db, organisation, query, basis));
  const { table, params } = beforehand ?? (await daySource(db, organisation, query, basis, 'day'));
  const ofLines = `select c.day, c.currency, ${sumsOf(basis)}
     from ${table} c where ${ASKED} and ${linesOf(basis)} group by c.day, c.currency`;
  const rows = await db.query<WithAside<DaySum>>(
    `select day::text as day, currency, sum(cost)::text as cost, sum(lines)::int as lines, sum(known)::int as known,
       sum(aside)::text as aside
     from (${ofLines}${totals === null ? '' : ` union all ${totalsOf(basis, query.zone, totals.days, params)}`}) line
     where ($2::date is null or day >= $2::date) and ($3::date is null or day < $3::date) group by 1, 2`,
    params,
  );
  const daily = dailyOf(rows);
  return beforehand === null
    ? daily
    : { ...daily, sums: daily.sums.map((sum) => ({ ...sum, lines: null, known: null })) };
}

/** Nobody counts lines there, but whether any is. */
function totalsOf(basis: Basis, zone: string, days: readonly string[], params: unknown[]): string {
  const isActual = basis === 'actual';
  const day =
    zone === 'UTC'
      ? 't.day'
      : `case when t.part = 'hour' then (t.hour at time zone $${params.push(zone)}::text)::date else t.day end`;
  return `select ${day}, t.currency, t.${basis}, ${isActual ? 't.counts' : 't.is_billed'}::int, 0, ${isActual ? 't.set_aside' : 'null'}
     from spend_total t where t.organisation = $1 and t.day = any($${params.push(days)}::date[])
       and t.part ${zone === 'UTC' ? `= 'day'` : `in ('dates', 'hour')`}`;
}

type WithAside<Row> = Row & { readonly aside: string | null };

/** The lines that a basis counts, and those of bills that are set aside. */
const linesOf = (basis: Basis): string =>
  basis === 'actual' ? `(${LINES.actual} or c.billed is not null)` : LINES[basis];

const sumsOf = (basis: Basis): string => `sum(c.${basis}) as cost,
       count(*) filter (where ${LINES[basis]})::int as lines, count(c.${basis})::int as known,
       ${basis === 'actual' ? SET_ASIDE : 'null::numeric'} as aside`;

function dailyOf<Row extends { day: string; currency: string; lines: number | null }>(
  rows: readonly (Row & { readonly aside: string | null })[],
): Daily<Row> {
  return {
    sums: rows.filter(({ lines }) => lines !== 0),
    setAside: rows.flatMap(({ day, currency, aside }) => (aside === null ? [] : [{ day, currency, cost: aside }])),
  };
}

export interface DaySum {
  readonly day: string;
  readonly team?: string;
  readonly currency: string;
  readonly cost: string | null;
  /** Lines, and those of them that have a cost; null: nobody counted them. */
  readonly lines: number | null;
  readonly known: number | null;
}

/**
 * The named teams are read by their key, in a few milliseconds; the others are what is left of the sums of all, so that
 * nothing has to be compared with a list of names line by line. Of sums that were made beforehand nobody counts the
 * lines: where they leave nothing, the days are read again line by line, because nothing may be zero or unknown.
 */
async function daySumsOfTeams(
  db: Queryable,
  organisation: string,
  query: DaysQuery,
  all: readonly DaySum[],
  named: readonly DaySum[],
): Promise<DayGroup[]> {
  const left = all.map((sum) => leftOf(sum, named));
  const unclear = left.flatMap(({ day, cost, lines }) => (lines === null && isNothing(cost) ? [day] : [])).sort();
  const others = left.filter(({ day }) => !unclear.includes(day));
  const [first, last] = [unclear[0], unclear.at(-1)];
  if (first !== undefined && last !== undefined) {
    const counted = await sumsOfLines(db, organisation, {
      ...query,
      from: first,
      to: formatDay((parseDay(last) ?? 0) + 1),
    });
    others.push(...counted.filter(({ day }) => unclear.includes(day)).map((sum) => leftOf(sum, named)));
  }
  return [
    ...named.map(({ day, team = '', currency, cost }) => ({ day, name: { value: team }, currency, cost })),
    ...others.flatMap(({ day, currency, cost, lines, known }): DayGroup[] =>
      lines === 0 ? [] : [{ day, name: null, currency, cost: known === 0 ? null : cost }],
    ),
  ];
}

async function namedTeams(db: Queryable, organisation: string, query: DaysQuery): Promise<DaySum[]> {
  const { groups, since, teams } = query;
  const names = groups.flatMap(({ name }) => (name === null || teams?.includes(name) === false ? [] : [name]));
  const own = await sumsOfLines(db, organisation, { ...query, teams: names, from: since }, 'c.team');
  return own.filter(({ team, currency }) => groups.some((group) => group.name === team && group.currency === currency));
}

/** Each day in each currency, and by another column if one is named. */
async function sumsOfLines(
  db: Queryable,
  organisation: string,
  query: TotalsQuery,
  also?: 'c.team',
): Promise<DaySum[]> {
  const { basis } = query;
  const more = also === undefined ? '' : `, ${also}`;
  const { table, params } = await daySource(db, organisation, query, basis, 'day');
  return db.query<DaySum>(
    `select c.day::text as day, c.currency${more}, sum(c.${basis})::text as cost,
       count(*)::int as lines, count(c.${basis})::int as known
     from ${table} c where ${ASKED} and ${LINES[basis]} group by c.day, c.currency${more}`,
    params,
  );
}

/** A day's sum without those of the named teams. */
function leftOf(sum: DaySum, named: readonly DaySum[]): Omit<DaySum, 'cost'> & { readonly cost: Decimal } {
  const taken = named.filter(({ day, currency }) => day === sum.day && currency === sum.currency);
  const rest = (key: 'lines' | 'known'): number | null =>
    sum[key] === null ? null : taken.reduce((left, one) => left - (one[key] ?? 0), sum[key]);
  const cost = taken.reduce(
    (left, one) => addDecimal(left, negateDecimal(valueOf(one.cost ?? '0'))),
    valueOf(sum.cost ?? '0'),
  );
  return { ...sum, cost, lines: rest('lines'), known: rest('known') };
}

const isNothing = (amount: Decimal): boolean => amount.unscaled === 0n;

async function daySumsByName(db: Queryable, organisation: string, query: DaysQuery): Promise<Daily<DayGroup>> {
  const { key, groups, basis } = query;
  const { table, params } =
    (await allTeamsByDay(db, organisation, query, basis)) ?? (await daySource(db, organisation, query, basis, 'day'));
  const [column, type] = columnOf(key);
  const values = groups.flatMap((group, at) => valuesOf(query, group.name).map((value) => ({ ...group, value, at })));
  const lists = [
    `$${params.push(values.map(({ value }) => value))}::${type}[]`,
    `$${params.push(values.map(({ currency }) => currency))}::text[]`,
    `$${params.push(values.map(({ at }) => at))}::int[]`,
  ];
  const rows = await db.query<WithAside<{ at: number | null } & DaySum>>(
    `select day::text as day, at, currency, cost::text as cost, lines, known, aside::text as aside from (
     select c.day, g.at, c.currency, ${sumsOf(basis)}
     from ${table} c
     left join unnest(${lists.join(', ')}) as g(value, currency, at)
       on g.value = ${column} and g.currency = c.currency and c.day >= $${params.push(query.since)}::date
     where ${ASKED} and ${linesOf(basis)}
     group by c.day, g.at, c.currency) line`,
    params,
  );
  const { sums, setAside } = dailyOf(rows);
  return {
    sums: sums.map(({ at, day, currency, cost }) => ({
      day,
      currency,
      cost,
      name: at === null ? null : { value: groups[at]?.name ?? null },
    })),
    setAside,
  };
}

function columnOf(key: GroupKey): readonly [column: string, type: string] {
  return isOfDimension(key) ? ['c.dimension', 'bigint'] : ['c.shared_from', 'text'];
}

/** The values of the column for a name. */
function valuesOf({ key, named }: NamedGroups, name: string | null): string[] {
  if (!isOfDimension(key)) return [name ?? ''];
  return [...named].flatMap(([id, dimension]) => (dimension[key] === name ? [id] : []));
}
