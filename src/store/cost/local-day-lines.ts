/**
 * The statements of sums by the days of a zone, as texts: where days, the hours that move and the rest are read, and
 * how the one is taken from the other. Which hours move, and what is summed beforehand, is found by local-days.ts.
 *
 * `$1` to `$5` are those of `ASKED` (spend-sums.ts); `$6` is the zone, `$7` the days that the moved hours touch, `$8`
 * the hours that are read.
 */
import type { Basis } from '../../core/cost/spend-query.js';
import { parseDay } from '../../core/time.js';
import { CURRENCY, WAITING } from './sums.js';

/** Figures that may be unknown, which is not zero. */
const OPEN = ['gpu_part_ms', 'accrued', 'actual', 'billed', 'effective', 'list'] as const;
const COUNTED = ['records', 'unpriced_part_ms', 'unpriced_lines', 'stated_part_ms', 'stated_lines'] as const;
type Column = (typeof OPEN)[number] | (typeof COUNTED)[number];
export type Columns = readonly Column[];

/** The columns that sums of a basis need. */
export const OF_BASIS: Readonly<Record<Basis, Columns>> = {
  actual: [...COUNTED, 'gpu_part_ms', 'actual', 'billed'],
  accrued: [...COUNTED, 'gpu_part_ms', 'accrued', 'billed'],
  billed: [...COUNTED, 'gpu_part_ms', 'billed'],
  effective: [...COUNTED, 'gpu_part_ms', 'effective', 'billed'],
  list: [...COUNTED, 'gpu_part_ms', 'list', 'billed'],
};

export const isIn = (day: string): string =>
  `($2::date is null or ${day} >= $2::date) and ($3::date is null or ${day} < $3::date)`;

/** Days of a question by how they are read; no day is in both. */
export interface Weeks {
  /** Mondays of weeks that lie in the range, and have their sums. */
  readonly mondays: readonly string[];
  /** All other days of the range of which no hour moves. */
  readonly days: readonly string[];
}

const eachOf = (columns: Columns, text: (column: Column) => string): string => columns.map(text).join(', ');
/**
 * Of one type wherever they come from: only then are the parts of a union planned each by itself, with the question's
 * conditions in it (PostgreSQL, prepjointree.c, is_simple_union_all).
 */
const typeOf = (column: Column): string =>
  ['records', 'unpriced_lines', 'stated_lines'].includes(column) ? '::bigint' : '';
const valuesOf = (columns: Columns, table: string): string =>
  eachOf(columns, (column) => `${table}.${column}${typeOf(column)} as ${column}`);
const sumsOf = (columns: Columns, table: string): string =>
  eachOf(columns, (column) => `sum(${table}.${column})${typeOf(column)} as ${column}`);
const inCurrency = (table: string): string => `coalesce(${table}.currency, t.currency, 'USD')`;

const askedOf = (table: string): string => `${table}.organisation = $1
      and ($4::text[] is null or ${table}.team = any($4::text[]))
      and ($5::bigint[] is null or ${table}.dimension = any($5::bigint[]))`;
const OF_HOURS = `l.dimension not in (select i.id from dimension i where i.organisation = $1 and i.civil)`;

/**
 * Where days, their moved hours, and other hours of theirs are read. The hours are named there once: a planner that finds
 * a condition twice expects few rows, and looks up the team of each.
 */
interface Source {
  readonly days: string;
  readonly moved: string;
  readonly hours: string;
  /** The days from which hours move. */
  readonly computed: string;
  /** Whether anything of them is priced and not summed yet: what deals with it is half of the statement. */
  readonly waits: boolean;
}

export const ONE_BY_ONE: Omit<Source, 'waits'> = {
  days: 'cost_day',
  moved: '(select * from hour_line where hour = any($8::timestamptz[]))',
  hours: 'hour_line',
  computed: '$7::date[]',
};

const keysOf = (team: string, rest: string): string => `organisation, ${team} as team, ${rest}, dimension, currency`;

const ALL_TEAMS = `''::text`;

/** The sums of all teams by day; those of the days `open` are made of their lines, perhaps of each `team`. */
export const summedDays = (columns: Columns, open: string, team = ALL_TEAMS): string => `
  select ${keysOf(ALL_TEAMS, 'day')}, shared_from, ${columns.join(', ')} from spend_day
  where organisation = $1 and ${isIn('day')} and day <> all(${open})
  union all
  select ${keysOf(team, 'day')}, shared_from, ${sumsOf(columns, 'cost_day')} from cost_day
  where organisation = $1 and ${isIn('day')} and day = any(${open}) and team not like 'shared:%'
  group by organisation, 2, day, shared_from, dimension, currency`;

/** A team of which something is not summed yet is read by itself, all others as one: as by `hour_line_of_all`. */
const WAITING_TEAM = `case when team in (select left(w.key, -11) from waiting w) then team else '' end`;

/**
 * The same of hours.
 *
 * @param late the moved hours of the days `open`, and their other hours; null: none moves
 */
export function summedBeforehand(
  columns: Columns,
  open: string,
  late: { readonly moved: string; readonly others: string } | null,
  waits: boolean,
): Omit<Source, 'computed' | 'waits'> {
  const ofAll = `select ${keysOf(ALL_TEAMS, 'hour')}, ${valuesOf(columns, 'spend_hour')} from spend_hour
    where organisation = $1 and (hour at time zone 'UTC')::date <> all(${open})`;
  const ofLate = (hours: string): string => `
    select ${keysOf('team', 'hour')}, ${valuesOf(columns, 'l')} from hour_line_of_all l
    where organisation = $1 and hour = any(${hours})`;
  const withLate = (known: string, hours: string | undefined): string =>
    hours === undefined ? `(${known})` : `(${known} union all ${ofLate(hours)})`;
  return {
    days: `(${summedDays(columns, open, waits ? WAITING_TEAM : ALL_TEAMS)})`,
    moved: withLate(`${ofAll} and hour = any($8::timestamptz[])`, late?.moved),
    hours: withLate(ofAll, late?.others),
  };
}

const IS_CIVIL = `(x.shared_from <> ''
  or x.dimension in (select i.id from dimension i where i.organisation = $1 and i.civil))`;

/** What a summed UTC day has on a local day, and the day on which that counts. */
export interface Part {
  readonly day: string;
  readonly local: string;
  readonly target: string;
}

/** Adds a list to the parameters of a statement. @returns its name there */
export type ListIn = (values: Iterable<string>, type?: string) => string;

/** A day and a local day beside it as one number: of three for each day. */
const numberOf = ({ day, local }: Part): number => {
  const [days = 0, locals = 0] = [day, local].map((one) => parseDay(one) ?? 0);
  return days * 3 + locals - days;
};
const NUMBER = `(p.day - date '1970-01-01') * 3 + (p.local - p.day)`;

/** Days that are summed by the parts that the zone `$6` divides them into. */
export function dividedLines(columns: Columns, parts: readonly Part[], list: ListIn): string[] {
  if (parts.length === 0) return [];
  const isOneOf = (some: readonly Part[]): string =>
    `${NUMBER} = any(${list(
      some.map((part) => String(numberOf(part))),
      'int',
    )})`;
  const moved = parts.filter(({ day, target }) => target !== day);
  const target = moved.length === 0 ? 'p.day' : `case when ${isOneOf(moved)} then p.local else p.day end`;
  return [
    `
  select p.team, ${target} as day, p.dimension, p.currency, '' as shared_from, ${valuesOf(columns, 'p')}
  from spend_local p
  where ${askedOf('p')} and p.zone = $6 and p.day = any(${list(new Set(parts.map(({ day }) => day)))}) and ${isOneOf(parts)}`,
  ];
}

const asTheyAre = (columns: Columns, days: string): string => `
  select x.team, x.day, x.dimension, x.currency, x.shared_from, ${valuesOf(columns, 'x')}
  from cost_day x where ${askedOf('x')} and x.day = any(${days}) and ${isIn('x.day')}`;

/** Touched days of which no hour leaves. */
export const wholeDays = (columns: Columns, days: readonly string[], list: ListIn): string[] =>
  days.length === 0 ? [] : [asTheyAre(columns, list(days))];

/** The lines of civil dates of divided days. */
export const civilLines = (columns: Columns, days: readonly string[], list: ListIn): string[] =>
  days.length === 0 ? [] : [`${asTheyAre(columns, list(days))} and ${IS_CIVIL}`];

/** Days of which each hour moves: their sums go to the local day, but of those that are `late`. */
export const wholeLines = (columns: Columns, pairs: readonly string[], late: string): string => `
  select x.team, case when ${IS_CIVIL} then x.day else w.local end as day, x.dimension, x.currency, x.shared_from,
    ${valuesOf(columns, 'x')}
  from cost_day x join unnest(${pairs.join(', ')}) as w(day, local) on w.day = x.day
  where ${askedOf('x')} and (${IS_CIVIL} or x.team || '/' || to_char(x.day, 'YYYY-MM-DD') <> all(${late}))`;

/** The moved hours of those. */
export const lateLines = (columns: Columns, late: string, teams: string, hours: string): string => `
  select l.team, (l.hour at time zone $6)::date, l.dimension, ${CURRENCY}, '', ${sumsOf(columns, 'l')}
  from hour_line l
  where ${askedOf('l')} and l.hour = any(${hours}) and ${OF_HOURS} and l.team = any(${teams})
    and l.team || '/' || to_char(l.hour at time zone 'UTC', 'YYYY-MM-DD') = any(${late})
  group by 1, 2, 3, 4`;

/** The days that no moved hour touches. */
export const otherDays = (columns: Columns, days: string): string => `
  select x.organisation, x.team, x.day, x.dimension, x.currency, x.shared_from, ${valuesOf(columns, 'x')} from ${days} x
  where ${askedOf('x')} and ${isIn('x.day')} and x.day <> all($7::date[])`;

/** A week stands on its Monday. */
export function daysAndWeeks(columns: Columns, { mondays, days }: Weeks, params: unknown[]): string {
  const [weeks, others] = [`$${params.push(mondays)}::date[]`, `$${params.push(days)}::date[]`];
  return `
  select ${keysOf('w.team', 'w.week as day')}, w.shared_from, ${valuesOf(columns, 'w')} from spend_week w
  where ${askedOf('w')} and w.week = any(${weeks})
  union all
  select ${keysOf('x.team', 'x.day')}, x.shared_from, ${valuesOf(columns, 'x')} from cost_day x
  where ${askedOf('x')} and x.day = any(${others})`;
}

/** The moved hours, summed by their UTC day and their local day. */
const movedHoursOf = (columns: Columns, { moved }: Source): string => `
  hours as materialized (
    select l.team, (l.hour at time zone 'UTC')::date as day, (l.hour at time zone $6)::date as local, l.dimension,
      l.currency, ${sumsOf(columns, 'l')}
    from ${moved} l
    where ${askedOf('l')} and ${OF_HOURS}
    group by 1, 2, 3, 4, 5
  ), moved as materialized (
    select h.team, h.day, h.local, h.dimension, ${inCurrency('h')} as currency, ${sumsOf(columns, 'h')}
    from hours h left join team t on t.organisation = $1 and t.id = h.team
    group by 1, 2, 3, 4, 5
  )`;

/**
 * The UTC days that they touch, minus them; torn: the rest of the day cannot be computed by subtraction. Late: the
 * hours of a team's day are ahead of its sums, so all of the day is read from its hours. One that moves may have a
 * currency, or a dimension, that its sum has not: taken one by one, the sum would be added to the hours.
 */
function daysWithoutThem(columns: Columns, { days, computed, waits }: Source): string {
  const figures = columns.filter((column) => (OPEN as readonly string[]).includes(column));
  const unclear = figures.map(
    (column) =>
      `sum(p.${column}) = sum(p.less_${column}) or sum(p.${column}) is null and sum(p.less_${column}) is not null`,
  );
  // A record counts in its last hour: if all have moved, other hours may still be left, and show in a figure.
  const left = figures.map((column) => `sum(p.${column}) <> coalesce(sum(p.less_${column}), 0)`);
  unclear.push(`sum(p.records) = sum(p.less_records) and (${left.join(' or ')}) is not true`);
  return `
  summed as materialized (
    select x.team, x.day, x.dimension, x.currency, x.shared_from, ${valuesOf(columns, 'x')} from ${days} x
    where ${askedOf('x')} and ${isIn('x.day')} and x.day = any(${computed})
  )${waits ? LATE : ''}, held as materialized (
    select p.team, p.day, p.dimension, p.currency,
      ${eachOf(columns, (column) => `sum(p.${column}) - coalesce(sum(p.less_${column}), 0) as ${column}`)},
      bool_or(p.is_less) and (bool_and(p.is_less) or (${unclear.join(' or ')}) is true)${waits ? OR_IS_LATE : ''} as is_torn
    from (
      select s.team, s.day, s.dimension, s.currency, false as is_less,
        ${eachOf(columns, (column) => `s.${column}, null::numeric as less_${column}`)}
      from summed s where s.shared_from = ''
      union all
      select m.team, m.day, m.dimension, m.currency, true, ${eachOf(columns, (column) => `null, m.${column}`)}
      from moved m where ${isIn('m.day')}
    ) p
    group by 1, 2, 3, 4
  )`;
}

const LATE = `, civil as materialized (
    select i.id from dimension i where i.organisation = $1 and i.civil
  ), late as materialized (
    select distinct m.team, m.day from moved m
    where m.team || '/' || to_char(m.day, 'YYYY-MM-DD') in (select waiting.key from waiting)
  )`;
const OR_IS_LATE = `
        or (p.team, p.day) in (select late.team, late.day from late) and p.dimension not in (select civil.id from civil)`;

/** The hours of torn days that are not moved. What `is true` is looked up by hash: a join compared each with each. */
const hoursOfTorn = (columns: Columns, { hours, waits }: Source): string => `
  rest as materialized (
    select l.team, (l.hour at time zone 'UTC')::date as day, l.dimension, l.currency, ${sumsOf(columns, 'l')}
    from ${hours} l
    where l.organisation = $1 and l.team = any(array(select distinct k.team from held k where k.is_torn))
      and l.hour >= (select min(k.day) from held k where k.is_torn)::timestamp at time zone 'UTC'
      and l.hour < ((select max(k.day) from held k where k.is_torn) + 1)::timestamp at time zone 'UTC'
      and (((l.team, (l.hour at time zone 'UTC')::date, l.dimension) in (
        select k.team, k.day, k.dimension from held k where k.is_torn)) is true${
          waits
            ? `
        or ((l.team, (l.hour at time zone 'UTC')::date) in (select late.team, late.day from late)) is true`
            : ''
        })
      and l.hour <> all($8::timestamptz[]) and ${OF_HOURS}
    group by 1, 2, 3, 4
  ), again as materialized (
    select r.team, r.day, r.dimension, ${inCurrency('r')} as currency, ${sumsOf(columns, 'r')}
    from rest r left join team t on t.organisation = $1 and t.id = r.team
    group by 1, 2, 3, 4
  )`;

/**
 * Days minus hours that move, and these hours. Hours and sums per day are read in separate parts: a Citus cluster
 * cannot join the view of hours. The dimensions of civil dates are a set in the condition, and subtraction is by
 * grouping: with joins, a planner without statistics reads one side once for each row of the other. The currency of a
 * team is joined to sums, not to lines.
 */
export const computing = (columns: Columns, source: Source): string =>
  `with ${source.waits ? `${WAITING}, ` : ''}${[movedHoursOf, daysWithoutThem, hoursOfTorn].map((part) => part(columns, source)).join(',')}`;

/** What comes of it. */
export const computedLines = (columns: Columns, { waits }: Source): string => `
  select s.team, s.day, s.dimension, s.currency, s.shared_from, ${valuesOf(columns, 's')}
  from summed s where s.shared_from <> ''
  union all
  select k.team, k.day, k.dimension, k.currency, '', ${valuesOf(columns, 'k')} from held k where not k.is_torn
  union all
  select m.team, m.local, m.dimension, m.currency, '', ${valuesOf(columns, 'm')} from moved m where ${isIn('m.local')}
  union all
  select a.team, a.day, a.dimension, a.currency, '', ${valuesOf(columns, 'a')} from again a
  where ((a.team, a.day, a.dimension, a.currency) in (
    select k.team, k.day, k.dimension, k.currency from held k where k.is_torn)) is true${
      waits
        ? `
    or ((a.team, a.day) in (select late.team, late.day from late)) is true`
        : ''
    }`;

/** Lines that need not be added up. */
export const oneByOne = (lines: readonly string[]): string =>
  `select $1::text as organisation, y.* from (${lines.join(' union all ')}) y`;

export const summedUp = (columns: Columns, lines: string): string => `
  select $1::text as organisation, y.team, y.day, y.dimension, y.currency, y.shared_from, ${sumsOf(columns, 'y')}
  from (${lines}) y where ${isIn('y.day')} group by 2, 3, 4, 5, 6`;

/** `$6` is the zone, `$7` the days that the moved hours touch, `$8` these hours; `untouched` reads all other days. */
export const localDays = (columns: Columns, source: Source, untouched: string, also: readonly string[] = []): string =>
  `(${computing(columns, source)} ${summedUp(columns, [computedLines(columns, source), ...also].join(' union all '))}
    union all ${untouched})`;
