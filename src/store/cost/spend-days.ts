/**
 * Sums of each day of a few groups, and of all other groups together. Reads only. For a thousand teams a day is nine
 * figures here, instead of many thousand; PostgreSQL adds them exactly. Amounts stay in their own currency.
 */
import type { GroupKey } from '../../core/cost/spend-query.js';
import type { Dimension } from '../../core/cost/rollup.js';
import type { Queryable } from '../database.js';
import { daySource } from './local-days.js';
import { ASKED, isOfDimension, LINES, type Figure, type SumsQuery } from './spend-sums.js';

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
  if (isOfDimension(key)) return ['c.dimension', 'bigint'];
  return [key === 'team' ? 'c.team' : 'c.shared_from', 'text'];
}

/** The values of the column for a name. */
function valuesOf({ key, named }: NamedGroups, name: string | null): string[] {
  if (!isOfDimension(key)) return [name ?? ''];
  return [...named].flatMap(([id, dimension]) => (dimension[key] === name ? [id] : []));
}
