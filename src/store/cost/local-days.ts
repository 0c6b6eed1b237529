/**
 * Sums by the days of a zone, computed from the sums per UTC day and a few hours. Reads only.
 *
 * A local day is the UTC day of the same date, minus the hours that the zone has on another date, plus the hours of
 * other UTC days that the zone has on this date: two of 24 for Berlin in summer. If the question does not group by day,
 * an hour stays on its UTC day as long as both days are within the range; only the hours at the ends of the range move.
 * An hour belongs to the local day on which it begins, by PostgreSQL's zones: a UTC hour that contains local midnight
 * belongs to the day before.
 *
 * The invariant: every figure equals the sum over the hours of the local days. Two cases cannot be computed by
 * subtraction, and are summed from their hours: a figure of which nothing is left, which may be unknown or zero; and a
 * day with usage that was priced and not summed yet. Lines of civil dates (whole days of a bill, shared costs, credits)
 * keep their dates in every zone.
 *
 * Questions about all teams read sums that are made beforehand (sums.ts) where nothing has changed since: whole weeks
 * of each team, if the question does not ask day by day; and days of all teams together, where only their sum is
 * wanted. Of a day that has changed, and of which each hour so far moves to the same local day, the sum moves: west of
 * UTC all of today is yesterday for some hours.
 */
import type { Basis } from '../../core/cost/spend-query.js';
import { civilFromDays, formatDay, parseDay } from '../../core/time.js';
import type { Queryable } from '../database.js';
import {
  computedLines,
  computing,
  dividedLines,
  lateLines,
  localDays,
  ONE_BY_ONE,
  OF_BASIS,
  otherDays,
  daysAndWeeks,
  isIn,
  summedBeforehand,
  summedDays,
  oneByOne,
  summedUp,
  wholeLines,
  civilLines,
  wholeDays,
  type Columns,
  type ListIn,
  type Part,
  type Weeks,
} from './local-day-lines.js';
import { daysWithTotals, staleDays, summedIn, WAITING, weekOf } from './sums.js';

/** A question about sums per day. */
export interface DaysAsked {
  /** Inclusive day of the zone; null: from the first known day. */
  readonly from: string | null;
  /** Exclusive day of the zone; null: no end. */
  readonly to: string | null;
  readonly teams: readonly string[] | null;
  /** IANA name of the zone of the days. */
  readonly zone: string;
  /** Only these dimensions, by their ids; null or absent: all. */
  readonly dimensions?: readonly string[] | null;
}

/** Sums per day as a table expression, and the parameters of its statement: `$1` to `$5` are those of `ASKED`. */
export interface DaySource {
  readonly table: string;
  readonly params: unknown[];
  /** Something is priced and not summed yet, and days of a zone have it: sums of a whole range do not. */
  readonly isAhead?: boolean;
}

const paramsOf = (organisation: string, { from, to, teams, dimensions = null }: DaysAsked): unknown[] => [
  organisation,
  from,
  to,
  teams,
  dimensions,
];

/** The finest unit of the answer: each day, each month; null: only the sum over the range. */
export type DayUnit = 'day' | 'month' | null;

/**
 * Several statements say which sums and hours to read: they and the one that reads belong into one snapshot.
 * @param basis selects the columns; `actual` includes `billed`
 */
export async function daySource(
  db: Queryable,
  organisation: string,
  asked: DaysAsked,
  basis: Basis,
  unit: DayUnit,
): Promise<DaySource> {
  const columns = OF_BASIS[basis];
  const params = paramsOf(organisation, asked);
  const readsWeeks = asked.teams === null && unit !== 'day';
  const stale = readsWeeks || asked.zone !== 'UTC' ? await staleDays(db, organisation) : null;
  const all = await movedHours(db, organisation, asked, basis, unit, stale);
  const waiting = all.hours.length === 0 ? [] : await waitingDays(db, organisation);
  const open = stale === null ? NONE : new Set([...stale, ...waiting]);
  const source = { ...ONE_BY_ONE, waits: waiting.length > 0 };
  const moved = await withLines(db, organisation, all, open);
  const weeks = stale === null || !readsWeeks ? null : await wholeWeeks(db, organisation, asked, unit, moved, stale);
  if (moved.hours.length === 0)
    return weeks === null
      ? { table: 'cost_day', params }
      : { table: `(${daysAndWeeks(columns, weeks, params)})`, params };
  const touched = touchedBy(moved);
  const divided =
    stale === null ? new Map<string, boolean>() : await summedIn(db, organisation, asked.zone, touched, open);
  const { whole } = moved;
  // Today changes all the time, and west of UTC its first hours are of yesterday: they are read, the other days not.
  const read = moved.hours.filter((hour) => !divided.has(utcDayOf(hour)) && !whole.has(utcDayOf(hour)));
  params.push(asked.zone, touched, ...(read.length > 0 ? [read] : []));
  const untouched = weeks === null ? otherDays(columns, 'cost_day') : daysAndWeeks(columns, weeks, params);
  if (read.length === moved.hours.length) return { table: localDays(columns, source, untouched), params };
  const list = listIn(params);
  const computed = [...new Set(read.map(utcDayOf))];
  // Lines of one state answer each by itself as they do together.
  const isAlone = (day: string): boolean => unit === null && !moved.mixed.has(day);
  const parts = partsOf(moved, divided.keys(), asked);
  const others = touched.filter((day) => !divided.has(day) && !computed.includes(day) && !whole.has(day));
  const civil = [...divided].flatMap(([day, hasCivil]) => (hasCivil ? [day] : []));
  const [alone = [], together = []] = [true, false].map((is) => {
    const [ofParts, ofDays] = [
      parts.filter(({ target }) => isAlone(target) === is),
      others.filter((day) => isAlone(day) === is),
    ];
    return [
      ...dividedLines(columns, ofParts, list),
      ...wholeDays(columns, ofDays, list),
      ...civilLines(columns, is === (unit === null) ? civil : [], list),
    ];
  });
  const late = await movedDays(db, organisation, columns, moved, list);
  const added = [...together, ...late, ...(read.length > 0 ? [computedLines(columns, source)] : [])];
  const lines = [
    ...(alone.length > 0 ? [oneByOne(alone)] : []),
    ...(added.length > 0 ? [summedUp(columns, added.join(' union all '))] : []),
    untouched,
  ];
  const before = read.length > 0 ? computing(columns, { ...source, computed: list(computed) }) : '';
  return { table: `(${before} select * from (${lines.join(' union all ')}) day where ${HAVE_TYPES})`, params };
}

/** Not each statement uses both, and the server asks of what type they are. */
const HAVE_TYPES = `$6::text is not null and $7::date[] is not null`;

const listIn =
  (params: unknown[]): ListIn =>
  (values, type = 'date') =>
    `$${params.push([...values])}::${type}[]`;

/** The lines of days that move as a whole. */
async function movedDays(
  db: Queryable,
  organisation: string,
  columns: Columns,
  { hours, whole }: MovedLines,
  list: ListIn,
): Promise<string[]> {
  if (whole.size === 0) return [];
  const keys = await waitingOn(db, organisation, whole.keys());
  const late = list(keys, 'text');
  const sums = wholeLines(columns, [list(whole.keys()), list(whole.values())], late);
  if (keys.length === 0) return [sums];
  const teams = keys.map((key) => key.slice(0, -11));
  const moved = hours.filter((hour) => whole.has(utcDayOf(hour)));
  return [sums, lateLines(columns, late, list(teams, 'text'), list(moved, 'timestamptz'))];
}

const NONE: ReadonlySet<string> = new Set();

/** Moved hours, and days of which each hour moves to the same local day. */
interface MovedLines extends Moved {
  /** By the UTC day. */
  readonly whole: ReadonlyMap<string, string>;
}

/** Of the hours on some days only those that have any line: today's later ones have none. */
async function withLines(
  db: Queryable,
  organisation: string,
  { hours, locals, mixed }: Moved,
  days: ReadonlySet<string>,
): Promise<MovedLines> {
  const doubtful = [...new Set(hours.map(utcDayOf))].filter((day) => days.has(day));
  if (doubtful.length === 0) return { hours, locals, mixed, whole: new Map() };
  const rows = await db.query<{ hour: string }>(
    `select to_char(h at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"') as hour from unnest($2::timestamptz[]) as h
     where ${['usage_hour', 'cost_hour', 'unmetered_line'].map((table) => `exists (select 1 from ${table} l where l.organisation = $1 and l.hour = h)`).join(' or ')}`,
    [organisation, hoursOf(doubtful)],
  );
  const found = new Set(rows.map(({ hour }) => hour));
  const kept = hours.flatMap((hour, at) => (days.has(utcDayOf(hour)) && !found.has(hour) ? [] : [at]));
  const localOf = new Map(hours.map((hour, at) => [hour, locals[at] ?? '']));
  const whole = doubtful.flatMap((day) => {
    const to = new Set([...found].filter((hour) => utcDayOf(hour) === day).map((hour) => localOf.get(hour)));
    const [local, ...others] = to;
    return local === undefined || others.length > 0 ? [] : ([[day, local]] as const);
  });
  return {
    hours: kept.map((at) => hours[at] ?? ''),
    locals: kept.map((at) => locals[at] ?? ''),
    mixed,
    whole: new Map(whole),
  };
}

/** Days whose totals are there, and a source of all others. */
export interface Totals {
  readonly days: readonly string[];
  readonly others: DaySource;
}

/** The same where nobody asks for dimensions: of most days their totals by hour. Null: of none. */
export async function totalsByDay(
  db: Queryable,
  organisation: string,
  asked: DaysAsked,
  basis: Basis,
): Promise<Totals | null> {
  if (asked.teams !== null || (asked.dimensions ?? null) !== null || basis === 'accrued') return null;
  const stale = await staleDays(db, organisation);
  const span = await spanOf(db, organisation, asked);
  if (stale === null || span === null || span.last - span.first > LONG_DAYS) return null;
  const [first, last] = [formatDay(span.first - 1), formatDay(span.last + 1)];
  const known = await daysWithTotals(db, organisation, first, last);
  const open = new Set([...stale, ...(asked.zone === 'UTC' ? [] : await waitingDays(db, organisation))]);
  const days = known.flatMap(({ day, totals }) => (totals && !open.has(day) ? [day] : []));
  const without = known.flatMap(({ day, totals }) => (totals ? [] : [day]));
  const rest = new Set([...[...open].filter((day) => day >= first && day <= last), ...without]);
  if (rest.size === 0)
    return { days, others: { table: '(select * from cost_day where false)', params: paramsOf(organisation, asked) } };
  const others = await allTeamsByDay(db, organisation, asked, basis, 'day', rest);
  return others === null ? null : { days, others };
}

/**
 * Sums of all teams together, day by day: a team is '' where they were summed beforehand. Null: teams are asked for by
 * name, or nothing is summed beforehand. On `accrued` a sum of lines with and without a billed amount would hide those
 * without.
 *
 * @param unit null: only what the days of the range add up to matters, and only hours at its ends are read
 * @param only what is on these UTC days; null: on all
 */
export async function allTeamsByDay(
  db: Queryable,
  organisation: string,
  asked: DaysAsked,
  basis: Basis,
  unit: 'day' | null = 'day',
  only: ReadonlySet<string> | null = null,
): Promise<DaySource | null> {
  if (asked.teams !== null || basis === 'accrued') return null;
  const stale = await staleDays(db, organisation);
  if (stale === null) return null;
  const all = hoursWithin(only, await movedHours(db, organisation, asked, basis, unit, stale));
  const waiting = all.hours.length === 0 ? [] : await waitingDays(db, organisation);
  const open = new Set([...stale, ...waiting]);
  const moved = await withLines(db, organisation, all, open);
  const columns = OF_BASIS[basis];
  const params = paramsOf(organisation, asked);
  const list = listIn(params);
  if (moved.hours.length === 0) {
    const days = summedDays(columns, list(open));
    return { table: only === null ? `(${days})` : `(${daysOf(days, list(only))})`, params };
  }
  const read = moved.hours.filter((hour) => !moved.whole.has(utcDayOf(hour)));
  const touched = only === null ? touchedBy(moved) : [...new Set(moved.hours.map(utcDayOf))];
  params.push(asked.zone, touched, read, [...open]);
  const late = read.filter((hour) => open.has(utcDayOf(hour)));
  const others = hoursOf(late.map(utcDayOf)).filter((hour) => !late.includes(hour));
  const source = {
    ...summedBeforehand(
      columns,
      '$9::date[]',
      late.length === 0 ? null : { moved: list(late, 'timestamptz'), others: list(others, 'timestamptz') },
      waiting.length > 0,
    ),
    waits: waiting.length > 0,
    computed: list(touched.filter((day) => !moved.whole.has(day))),
  };
  const whole = await movedDays(db, organisation, columns, moved, list);
  const days = only === null ? source.days : `(${daysOf(source.days, list(only))})`;
  return { table: localDays(columns, source, otherDays(columns, days), whole), params, isAhead: source.waits };
}

const daysOf = (days: string, only: string): string => `select * from (${days}) day where day.day = any(${only})`;

/** The hours of some UTC days. */
function hoursWithin(days: ReadonlySet<string> | null, { hours, locals, mixed }: Moved): Moved {
  if (days === null) return { hours, locals, mixed };
  const at = hours.flatMap((hour, place) => (days.has(utcDayOf(hour)) ? [place] : []));
  return { hours: at.map((place) => hours[place] ?? ''), locals: at.map((place) => locals[place] ?? ''), mixed };
}

/** The hours whose local day is not their UTC day, if that matters for the question. */
interface Moved {
  /** Their first instants, in UTC. */
  readonly hours: readonly string[];
  /** The local day of each. */
  readonly locals: readonly string[];
  /** Local days of which some hours may count and others not. */
  readonly mixed: ReadonlySet<string>;
}

const utcDayOf = (hour: string): string => hour.slice(0, 10);

/** All hours of some UTC days. */
const hoursOf = (days: readonly string[]): string[] =>
  [...new Set(days)].flatMap((day) =>
    Array.from({ length: 24 }, (_, hour) => `${day} ${String(hour).padStart(2, '0')}:00Z`),
  );

/** The days that lie in the range, of those that summed days are divided into: each with the day it is counted on. */
function partsOf({ hours, locals }: Moved, divided: Iterable<string>, { from, to }: DaysAsked): Part[] {
  const moved = new Set(hours.map((hour, at) => `${utcDayOf(hour)} ${locals[at] ?? ''}`));
  return [...divided].flatMap((day) =>
    // No zone is a day ahead or behind.
    [-1, 0, 1].flatMap((days) => {
      const local = formatDay((parseDay(day) ?? 0) + days);
      const target = moved.has(`${day} ${local}`) ? local : day;
      return (from === null || target >= from) && (to === null || target < to) ? [{ day, local, target }] : [];
    }),
  );
}

/** Their UTC days and their local days. */
const touchedBy = ({ hours, locals }: Moved): string[] => [...new Set([...hours.map(utcDayOf), ...locals])];

/** The hours from the day `$5` up to the day `$6`. */
const ALL_HOURS = `
  hours as (
    select h from generate_series($5::date::timestamp at time zone 'UTC', $6::date::timestamp at time zone 'UTC', interval '1 hour') h
  )`;

/** Those of the days of the teams `$7` that are known, and of the days beside them. */
const HOURS_OF_KNOWN_DAYS = `
  known as materialized (
    select distinct x.day from cost_day x
    where x.organisation = $1 and x.day between $5::date and $6::date and ($7::text[] is null or x.team = any($7::text[]))
  ), hours as (
    select distinct h from known, generate_series((known.day - 1)::timestamp at time zone 'UTC',
      (known.day + 2)::timestamp at time zone 'UTC', interval '1 hour') h
  )`;

/** @param stale UTC days whose sums are not to be read; null: none are */
async function movedHours(
  db: Queryable,
  organisation: string,
  asked: DaysAsked,
  basis: Basis,
  unit: DayUnit,
  stale: ReadonlySet<string> | null,
): Promise<Moved> {
  const span = asked.zone === 'UTC' ? null : await spanOf(db, organisation, asked);
  if (span === null) return { hours: [], locals: [], mixed: NONE };
  // Of a range of many years only the days that are known: one record may lie decades away from all others.
  const isLong = span.last - span.first > LONG_DAYS;
  const splits = unit !== 'day' && (basis === 'actual' || basis === 'accrued');
  // Accrued are meters' lines alone, whatever a bill says.
  const ofBills =
    basis === 'accrued' ? [] : [stale === null ? OF_OPEN_BILLS : mixedDays(isLong ? '$8::date[]' : '$7::date[]')];
  const matters = [
    unit === 'day' ? 'true' : `(${isIn('local')}) <> (${isIn('day')})`,
    ...(unit === 'month' ? [`date_trunc('month', local) <> date_trunc('month', day)`] : []),
    ...(splits ? ['local in (select day from split where is_local)', 'day in (select day from split)'] : []),
  ];
  const [row] = await db.query<{ hours: string[] | null; locals: string[] | null; mixed: string[] | null }>(
    `with ${isLong ? HOURS_OF_KNOWN_DAYS : ALL_HOURS}, hour as (
       select h, (h at time zone $4)::date as local, (h at time zone 'UTC')::date as day from hours
     )${splits ? `, split as materialized (${[ENDS, ...ofBills].join(' union ')})` : ''}, moved as (
       select h, local, day from hour where local <> day and (${isIn('local')} or ${isIn('day')}) and (${matters.join(' or ')})
     )
     select array_agg(to_char(h at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"') order by h) as hours,
       array_agg(local::text order by h) as locals,
       ${splits ? `(select array_agg(distinct day::text) from split where is_local)` : 'null::text[]'} as mixed
     from moved where $1::text is not null`,
    [
      organisation,
      asked.from,
      asked.to,
      asked.zone,
      formatDay(span.first - 2),
      formatDay(span.last + 2),
      ...(isLong ? [asked.teams] : []),
      ...(splits && basis === 'actual' && stale !== null ? [[...stale]] : []),
    ],
  );
  return { hours: row?.hours ?? [], locals: row?.locals ?? [], mixed: new Set(row?.mixed ?? []) };
}

/** Up to this length the ends of the range are used as they are; beyond it they are limited to the known days. */
const LONG_DAYS = 4000;

/** First and last day of the range, in days since 1970; null: no day is known. */
async function spanOf(
  db: Queryable,
  organisation: string,
  { from, to, teams }: DaysAsked,
): Promise<{ readonly first: number; readonly last: number } | null> {
  const [first, last] = [from === null ? null : parseDay(from), to === null ? null : parseDay(to)];
  if (first !== null && last !== null && last - first <= LONG_DAYS) return { first, last };
  const [known] = await db.query<{ first: string | null; last: string | null }>(
    `select min(day)::text as first, max(day)::text as last from cost_day
     where organisation = $1 and ($2::text[] is null or team = any($2::text[]))`,
    [organisation, teams],
  );
  const [begin, end] = [parseDay(known?.first ?? ''), parseDay(known?.last ?? '')];
  if (begin === null || end === null) return null;
  return { first: Math.max(first ?? begin, begin), last: Math.min(last ?? end, end) };
}

/** Null: there are none. If months are asked for, a week counts that lies in one. */
async function wholeWeeks(
  db: Queryable,
  organisation: string,
  asked: DaysAsked,
  unit: DayUnit,
  moved: Moved,
  stale: ReadonlySet<string>,
): Promise<Weeks | null> {
  const span = await spanOf(db, organisation, asked);
  if (span === null || span.last - span.first > LONG_DAYS) return null;
  const touched = new Set(touchedBy(moved));
  // A range without an end includes its last known day.
  const end = span.last + 1;
  const monthOf = (day: number): number => civilFromDays(day).month;
  const isWhole = (monday: number): boolean =>
    monday >= span.first &&
    monday + 7 <= (asked.to === null ? end : Math.min(end, parseDay(asked.to) ?? end)) &&
    (unit !== 'month' || monthOf(monday) === monthOf(monday + 6)) &&
    Array.from({ length: 7 }, (_, at) => formatDay(monday + at)).every((day) => !stale.has(day) && !touched.has(day));
  const mondays = new Set<number>();
  for (let monday = weekOf(span.first + 6); monday < end; monday += 7) if (isWhole(monday)) mondays.add(monday);
  if (mondays.size === 0) return null;
  const days: string[] = [];
  for (let day = span.first; day < end; day++)
    if (!mondays.has(weekOf(day)) && !touched.has(formatDay(day))) days.push(formatDay(day));
  return { mondays: [...mondays].map(formatDay), days };
}

/**
 * UTC days and local days (`is_local`) of which some hours may count in `actual` and others not: within them the period
 * of a final bill begins or ends, or the payer of a meter changes. A line of a day counts if any of its hours does, so
 * these days need exact hours: those of such a UTC day go to their local days, and a local day has its own hours alone.
 * On all others the hours count all or none, so a part of a day gives the same answer as the day. A change within an
 * hour is one before it and one after it.
 */
const ENDS = `
  select day, is_local from (
    select unnest(array[c.since, c.until]) as t from bill_claim c where c.organisation = $1
    union select unnest(array[v.period_start, v.period_end]) from delivery v where v.organisation = $1 and v.scope is not null and v.closed
    union select unnest(array[lower(r), upper(r)]) from delivery v, unnest(v.reach) r
      where v.organisation = $1 and v.scope is not null and v.closed
  ) change, unnest(array[date_trunc('hour', t, 'UTC'), date_trunc('hour', t + interval '1 hour' - interval '1 microsecond', 'UTC')]) as h,
    unnest(
      array[(h at time zone 'UTC')::date, (h at time zone $4)::date],
      array[((h - interval '1 hour') at time zone 'UTC')::date, ((h - interval '1 hour') at time zone $4)::date],
      array[false, true]) as d(day, before, is_local)
  where isfinite(t) and day = before`;

const IS_OPEN = `v.organisation = $1 and v.scope is not null and not v.closed
    and exists (select 1 from dimension i where i.organisation = $1 and i.kind = 'billed' and not i.civil)`;

/**
 * The days that bills tell of which are not final, and have lines of hours. A line that refunds something may begin
 * before those, and end on one of them.
 */
const OPEN_BILLS_DAYS = `
  select d::date as day from delivery v, generate_series(
    greatest((least(v.period_start, lower(v.reach)) at time zone 'UTC')::date - 1, $5::date)::timestamp,
    least((greatest(v.period_end, upper(v.reach)) at time zone 'UTC')::date + 1, $6::date)::timestamp, interval '1 day') d
  where ${IS_OPEN}
  union
  select begins + beside from delivery v, unnest(v.long_days) begins, generate_series(-1, 1) beside
  where begins between $5::date and $6::date and ${IS_OPEN}`;

/** All of them. */
const OF_OPEN_BILLS = `select o.day, is_local from (${OPEN_BILLS_DAYS}) o, unnest(array[false, true]) as is_local`;

/**
 * Of those the days that matter: GPU time that does not count yet stands beside hours that do, on a day or the day
 * after. What is not known of a day (its sums are `stale`, or of the version before) may matter.
 */
const mixedDays = (stale: string): string => `
  select both_days.day, both_days.is_local from (
    with open as materialized (select distinct o.day from (${OPEN_BILLS_DAYS}) o), state as materialized (
      select s.day, s.dimension, bool_or(coalesce(s.has_counted, true)) as counted, bool_or(coalesce(s.has_open, true)) as open
      from spend_day s join dimension i on i.organisation = $1 and i.id = s.dimension and i.kind = 'billed' and not i.civil
      where s.organisation = $1 and s.day in (select open.day from open) and s.day <> all(${stale})
      group by 1, 2
    ), unknown as materialized (
      select o.day from open o where o.day = any(${stale}) and exists (
        select 1 from cost_day x join dimension i on i.organisation = $1 and i.id = x.dimension and i.kind = 'billed'
          and not i.civil where x.organisation = $1 and x.day = o.day)
    ), pair as materialized (
      select a.day as one, b.day as other from state a join state b on b.dimension = a.dimension
        and b.day in (a.day - 1, a.day, a.day + 1) where a.counted and b.open
      union select u.day, u.day from unknown u
    )
    select unnest(array[p.one, p.other]) as day, true as is_local from pair p
    union
    select unnest(array[p.one - 1, p.one + 1]), true from pair p where p.one = p.other
    union
    select p.one, false from pair p where p.one = p.other
  ) both_days`;

/** Days of UTC of which an hour was priced and not summed yet, whatever the team. */
async function waitingDays(db: Queryable, organisation: string): Promise<string[]> {
  const rows = await db.query<{ day: string }>(`with ${WAITING} select distinct right(key, 10) as day from waiting`, [
    organisation,
  ]);
  return rows.map(({ day }) => day);
}

/** Those of some days, each by its team and its day: red/2026-10-05. */
async function waitingOn(db: Queryable, organisation: string, days: Iterable<string>): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    `with ${WAITING} select key from waiting where right(key, 10) = any($2::text[])`,
    [organisation, [...days]],
  );
  return rows.map(({ key }) => key);
}
