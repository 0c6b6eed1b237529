/**
 * Sums of each day of a few groups, and of all other groups together. Reads only. For a thousand teams a day is nine
 * figures here, instead of many thousand; PostgreSQL adds them exactly. Amounts stay in their own currency.
 */
import { addDecimal, negateDecimal } from '../../core/decimal.js';
import type { GroupKey } from '../../core/cost/spend-query.js';
import type { Dimension } from '../../core/cost/rollup.js';
import type { Queryable } from '../database.js';
import { daySource, type DaySource } from './local-days.js';
import { ASKED, isOfDimension, LINES, valueOf, type Figure, type SumsQuery } from './spend-sums.js';

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

type DaysQuery = Omit<SumsQuery, 'groupBy' | 'notIn'> & NamedGroups;

export async function daySums(db: Queryable, organisation: string, query: DaysQuery): Promise<DayGroup[]> {
  return query.key === 'team' ? daySumsOfTeams(db, organisation, query) : daySumsByName(db, organisation, query);
}

interface DaySum {
  readonly day: string;
  readonly currency: string;
  readonly cost: string | null;
  /** Lines, and those of them that have a cost. */
  readonly lines: string;
  readonly known: string;
}

/**
 * The named teams are read by their key, in a few milliseconds; the others are what is left of the sums of all, so that
 * nothing has to be compared with a list of names line by line.
 */
async function daySumsOfTeams(db: Queryable, organisation: string, query: DaysQuery): Promise<DayGroup[]> {
  const { groups, since, basis, teams } = query;
  const names = groups.flatMap(({ name }) => (name === null || teams?.includes(name) === false ? [] : [name]));
  const figures = `sum(c.${basis})::text as cost, count(*)::text as lines, count(c.${basis})::text as known`;
  const asked = ({ table }: DaySource): string => `from ${table} c where ${ASKED} and ${LINES[basis]}`;
  const [ofAll, ofNamed] = await Promise.all([
    daySource(db, organisation, query, basis, 'day'),
    daySource(db, organisation, { ...query, teams: names, from: since }, basis, 'day'),
  ]);
  const [all, own] = await Promise.all([
    db.query<DaySum>(
      `select c.day::text as day, c.currency, ${figures} ${asked(ofAll)} group by c.day, c.currency`,
      ofAll.params,
    ),
    db.query<DaySum & { team: string }>(
      `select c.day::text as day, c.team, c.currency, ${figures} ${asked(ofNamed)} group by c.day, c.team, c.currency`,
      ofNamed.params,
    ),
  ]);
  const named = own.filter(({ team, currency }) =>
    groups.some((group) => group.name === team && group.currency === currency),
  );
  const others = all.flatMap((sum): DayGroup[] => {
    const { day, currency } = sum;
    const taken = named.filter((one) => one.day === day && one.currency === currency);
    const left = (key: 'lines' | 'known'): number =>
      taken.reduce((rest, one) => rest - Number(one[key]), Number(sum[key]));
    if (left('lines') === 0) return [];
    const cost = taken.reduce(
      (rest, one) => addDecimal(rest, negateDecimal(valueOf(one.cost ?? '0'))),
      valueOf(sum.cost ?? '0'),
    );
    return [{ day, name: null, currency, cost: left('known') === 0 ? null : cost }];
  });
  return [...named.map(({ day, team, currency, cost }) => ({ day, name: { value: team }, currency, cost })), ...others];
}

async function daySumsByName(db: Queryable, organisation: string, query: DaysQuery): Promise<DayGroup[]> {
  const { key, groups, basis } = query;
  const { table, params } = await daySource(db, organisation, query, basis, 'day');
  const [column, type] = columnOf(key);
  const values = groups.flatMap((group, at) => valuesOf(query, group.name).map((value) => ({ ...group, value, at })));
  const lists = [
    `$${params.push(values.map(({ value }) => value))}::${type}[]`,
    `$${params.push(values.map(({ currency }) => currency))}::text[]`,
    `$${params.push(values.map(({ at }) => at))}::int[]`,
  ];
  const rows = await db.query<{ day: string; at: number | null; currency: string; cost: string | null }>(
    `select c.day::text as day, g.at, c.currency, sum(c.${basis})::text as cost
     from ${table} c
     left join unnest(${lists.join(', ')}) as g(value, currency, at)
       on g.value = ${column} and g.currency = c.currency and c.day >= $${params.push(query.since)}::date
     where ${ASKED} and ${LINES[basis]}
     group by c.day, g.at, c.currency`,
    params,
  );
  return rows.map(({ at, ...row }) => ({ ...row, name: at === null ? null : { value: groups[at]?.name ?? null } }));
}

function columnOf(key: GroupKey): readonly [column: string, type: string] {
  return isOfDimension(key) ? ['c.dimension', 'bigint'] : ['c.shared_from', 'text'];
}

/** The values of the column for a name. */
function valuesOf({ key, named }: NamedGroups, name: string | null): string[] {
  if (!isOfDimension(key)) return [name ?? ''];
  return [...named].flatMap(([id, dimension]) => (dimension[key] === name ? [id] : []));
}
