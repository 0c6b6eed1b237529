/**
 * Sums of the days of `cost_day` that questions about all teams read: of each team by week (`spend_week`), of all teams
 * together by day and by hour (`spend_day`, `spend_hour`), also of all dimensions (`spend_total`), and of each team by the parts of a UTC day that lie on one
 * day of a zone, in the zones of teams and of those who ask (`spend_local`; `spend_zone` names them). With a thousand
 * teams a month is sixty thousand rows of `cost_day`, and some hundred of all teams together.
 *
 * The invariant: a day that has no row in `spend_stale` has its sums in all of these tables; triggers note each change
 * of `cost_day`, in its own transaction, whoever makes it. What is stale is read from `cost_day` and its hours instead
 * (local-days.ts), so an answer never waits for a sum, and is never of another state than `cost_day`. On a Citus
 * cluster there are no triggers, and no sums.
 */
import { formatDay, formatInstant, parseDay } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import { waitForLock } from '../locks.js';

/** The figures of `cost_day`. */
const FIGURES = [
  'records',
  'gpu_part_ms',
  'unpriced_part_ms',
  'unpriced_lines',
  'accrued',
  'actual',
  'billed',
  'effective',
  'list',
  'stated_part_ms',
  'stated_lines',
].map((name) => ({ name, sum: `sum(l.${name})` }));
const NAMES = FIGURES.map(({ name }) => name).join(', ');
const SUMS = FIGURES.map(({ sum }) => sum).join(', ');

/** The days of the shared costs themselves are nobody's: their shares are. */
const OF_TEAMS = `l.organisation = $1 and l.team not like 'shared:%'`;

/**
 * Only lines that are alike in what any basis asks of a line are added, so that the sum answers as each of them does:
 * whether an amount is known, and whether anything has no price. What has no such line has no time without a price.
 */
const ALIKE = [
  'l.actual is null',
  'l.billed is null',
  'l.effective is null',
  'l.list is null',
  'l.unpriced_lines > l.stated_lines',
  'l.unpriced_part_ms = 0',
]
  .map((condition, bit) => `${2 ** bit} * (${condition})::int`)
  .join(' + ');

const REPLACE = [
  `delete from spend_day where organisation = $1 and day = any($2::date[])`,
  `insert into spend_day (organisation, day, dimension, currency, shared_from, has_totals, ${NAMES})
   select $1, l.day, l.dimension, l.currency, l.shared_from, true, ${SUMS}
   from cost_day l where ${OF_TEAMS} and l.day = any($2::date[]) group by 2, 3, 4, 5`,
];

/**
 * Days whose sums do not have all their hours yet. In a part of its own: `work` is on the coordinator of a Citus
 * cluster. Each half has an index of its own, of few rows.
 */
export const WAITING = `
  waiting as materialized (
    select w.key from work w
    where w.organisation = $1 and w.stage in ('cost.price', 'cost.rollup') and w.done < w.wanted and w.parked_at is null
    union all
    select w.key from work w
    where w.organisation = $1 and w.stage in ('cost.price', 'cost.rollup') and w.done < w.wanted
      and w.parked_at is not null
  )`;

/** What has no price has its team's. Asked only of such lines: a join would be made for every line of an hour. */
export const CURRENCY = `coalesce(l.currency,
  (select t.currency from team t where t.organisation = $1 and t.id = l.team), 'USD')`;

/** Whether a line counts on a basis, and what it states of usage that a meter stands for (spend-sums.ts). */
const TOTALS = `sum(l.actual), sum(l.billed), sum(l.effective), sum(l.list),
    sum(l.billed - coalesce(l.actual, 0)) filter (where l.dimension in (
      select i.id from dimension i where i.organisation = $1 and i.kind = 'billed')),
    bool_or(l.actual is not null or l.unpriced_lines > l.stated_lines), bool_or(l.billed is not null)`;
const INTO_TOTALS = `insert into spend_total
    (organisation, day, part, hour, currency, actual, billed, effective, list, set_aside, counts, is_billed)`;

/** Lines of civil dates keep their dates in every zone, and have no hours. */
const REPLACE_HOURS = [
  `delete from spend_hour where organisation = $1 and hour >= $2::date::timestamp at time zone 'UTC'
     and hour < ($2::date + 1)::timestamp at time zone 'UTC'`,
  `delete from spend_total where organisation = $1 and day = $2::date`,
  `delete from spend_local where organisation = $1 and day = $2::date`,
  `delete from spend_zone where organisation = $1 and day = $2::date`,
  `${INTO_TOTALS}
   select $1, $2::date, p.part, $2::date::timestamp at time zone 'UTC', l.currency, ${TOTALS}
   from cost_day l, (values ('day'), ('dates')) as p(part)
   where ${OF_TEAMS} and l.day = $2::date and (p.part = 'day' or l.shared_from <> ''
     or l.dimension in (select i.id from dimension i where i.organisation = $1 and i.civil))
   group by p.part, l.currency`,
];

/**
 * How a zone divides a UTC day: by how many days its date is another one in each hour. The rules of zones change with
 * the server's data, also for days that have passed.
 */
const partsBy = (day: string, zone: string): string => `(
  select string_agg(((h at time zone ${zone})::date - ${day})::text, ' ' order by h)
  from generate_series(${day}::timestamp at time zone 'UTC', (${day} + time '23:00') at time zone 'UTC', '1 hour') h)`;

/**
 * The hours may be ahead of the days. The roll-up that catches up is noted by the rows that it replaces; but a team's
 * first one may find its hours gone again, and nothing to write or to remove. So a day on which one is waiting stays
 * noted, as of the same snapshot that reads the hours.
 */
const HOURS = `
with ${WAITING.trim()}, noted as (
  insert into spend_stale (organisation, day) select $1, $2::date
  where exists (select 1 from waiting w where right(w.key, 10) = $2::date::text and not exists (
    select 1 from cost_day c where c.organisation = $1 and c.day = $2::date and c.team = left(w.key, -11)
      and c.shared_from = ''))
), line as materialized (
  select l.team, l.hour, l.dimension, ${CURRENCY} as currency, ${FIGURES.map(({ name, sum }) => `${sum} as ${name}`).join(', ')}
  from hour_line l
  where ${OF_TEAMS} and l.hour >= $2::date::timestamp at time zone 'UTC'
    and l.hour < ($2::date + 1)::timestamp at time zone 'UTC'
    and l.dimension not in (select i.id from dimension i where i.organisation = $1 and i.civil)
  group by 1, 2, 3, 4
), named as (
  insert into spend_zone (organisation, day, zone, parts)
  select $1, $2::date, zone, ${partsBy('$2::date', 'zone')} from unnest($3::text[]) as zone
), hours as (
  insert into spend_hour (organisation, hour, dimension, currency, ${NAMES})
  select $1, l.hour, l.dimension, l.currency, ${SUMS} from line l group by 2, 3, 4
), totals as (
  ${INTO_TOTALS}
  select $1, $2::date, 'hour', l.hour, l.currency, ${TOTALS} from line l group by l.hour, l.currency
), local as (
  insert into spend_local (organisation, day, zone, team, local, dimension, currency, ${NAMES})
  select $1, $2::date, z.zone, l.team, (l.hour at time zone z.zone)::date, l.dimension, l.currency, ${SUMS}
  from line l, unnest($3::text[]) as z(zone) group by 3, 4, 5, 6, 7
)
select l.dimension::text as dimension, bool_or(l.actual is not null) as counted,
  bool_or(l.actual is null and l.gpu_part_ms is not null) as open
from line l join dimension i on i.organisation = $1 and i.id = l.dimension and i.kind = 'billed' group by 1`;

/** Of the lines of bills: whether some hours of them count, and whether GPU time of others does not yet. */
const SAY_OF_BILLS = `
update spend_day s set has_counted = b.counted, has_open = b.open
from unnest($3::bigint[], $4::boolean[], $5::boolean[]) as b(dimension, counted, open)
where s.organisation = $1 and s.day = $2::date and s.dimension = b.dimension`;

/** A company has a few; each costs as much as the days themselves. */
const MOST_ZONES = 8;
/** Zones of readers where no team is. Whoever asks for one zone after another has no days summed by it. */
const MOST_ASKED = 4;
const UTC = `('UTC', 'Etc/UTC')`;
/** What a team was once given, and isZone refuses: one that PostgreSQL does not know would stop the sums of all. */
const UNKNOWN = `'^(SystemV/|US/Pacific-New$)'`;
const ZONES = `
(select zone from team where organisation = $1 and zone not in ${UTC} and zone ~ '/' and zone !~* ${UNKNOWN}
 group by zone order by count(*) desc, zone limit ${MOST_ZONES})
union select zone from spend_zone_asked where organisation = $1`;

const REPLACE_WEEK = [
  `delete from spend_week where organisation = $1 and week = $2::date`,
  `insert into spend_week (organisation, week, team, dimension, currency, shared_from, alike, ${NAMES})
   select $1, $2::date, l.team, l.dimension, l.currency, l.shared_from, ${ALIKE}, ${SUMS}
   from cost_day l where ${OF_TEAMS} and l.day >= $2::date and l.day < $2::date + 7 group by 3, 4, 5, 6, 7`,
];

const NOTE_ZONE = `
insert into spend_zone_asked (organisation, zone, asked_at)
select $1, $2, $3 where $2 not in ${UTC} and $3::timestamptz at time zone $2 is not null
  and not exists (select 1 from team t where t.organisation = $1 and t.zone = $2)
  and (select count(*) from spend_zone_asked a where a.organisation = $1 and a.zone <> $2) < ${MOST_ASKED}
on conflict (organisation, zone) do update set asked_at = excluded.asked_at
  where spend_zone_asked.asked_at < excluded.asked_at - interval '1 day'`;

/** Whether each change is noted: all five triggers are there. */
const IS_NOTED = `(select count(*) = 5 from pg_trigger
  where tgrelid = 'cost_day'::regclass and tgname like 'spend\\_%' and tgenabled in ('O', 'A'))`;

/** The Monday of a day's week, both in days since 1970 (a Thursday). */
export const weekOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7);

export class SpendSumStore {
  /**
   * The UTC days that have changed since they were summed, or lack a zone of the teams as it divides them now, of every
   * organisation.
   */
  stale(db: Queryable): Promise<{ organisation: string; days: string[] }[]> {
    return db.query(
      `select organisation, array_agg(distinct day::text) as days
       from (
         select organisation, day from spend_stale
         union all
         select organisation, day from spend_day where has_totals is not true
         union all
         select d.organisation, d.day from (select distinct organisation, day from spend_day) d,
           lateral (${ZONES.replaceAll('$1', 'd.organisation')}) t
         where not exists (
           select 1 from spend_zone z where z.organisation = d.organisation and z.day = d.day and z.zone = t.zone
             and z.parts = ${partsBy('d.day', 't.zone')})
       ) s where ${IS_NOTED} group by 1 order by 1`,
    );
  }

  /**
   * Somebody asks for the days of all teams in a zone: from then on, and until nobody has for a while, it is summed.
   * @throws if the database knows no such zone: a day is summed in all of them at once
   */
  async noteZone(db: Queryable, organisation: string, zone: string, now: number): Promise<void> {
    await db.query(NOTE_ZONE, [organisation, zone, formatInstant(now)]);
  }

  /**
   * Sums some days anew, and the weeks that they are in. Several at once wait for each other.
   * @param days UTC, as 2026-10-05
   */
  async replace(tx: Transaction, organisation: string, days: readonly string[]): Promise<void> {
    // A statement of its own, so that the next ones see what the last one to hold the lock committed: of two that sum
    // days of one week at once, neither would remove the other's rows.
    await waitForLock(tx, 'bursar.spend-sums', organisation);
    // The notes go first: a change that is committed from here on leaves one of its own.
    await tx.query(`delete from spend_stale where organisation = $1 and day = any($2::date[])`, [organisation, days]);
    for (const statement of REPLACE) await tx.query(statement, [organisation, days]);
    const zones = (await tx.query<{ zone: string }>(ZONES, [organisation])).map(({ zone }) => zone);
    for (const day of days) {
      for (const statement of REPLACE_HOURS) await tx.query(statement, [organisation, day]);
      const bills = await tx.query<{ dimension: string; counted: boolean; open: boolean }>(HOURS, [
        organisation,
        day,
        zones,
      ]);
      const each = (['dimension', 'counted', 'open'] as const).map((name) => bills.map((one) => one[name]));
      await tx.query(SAY_OF_BILLS, [organisation, day, ...each]);
    }
    const weeks = new Set(days.map((day) => formatDay(weekOf(parseDay(day) ?? 0))));
    for (const week of weeks) for (const statement of REPLACE_WEEK) await tx.query(statement, [organisation, week]);
  }
}

/**
 * Those of some UTC days that are summed by the days of a zone, each with whether it has lines of civil dates, which
 * are not divided; a day without any costs is summed.
 * @param open days that have changed since
 */
export async function summedIn(
  db: Queryable,
  organisation: string,
  zone: string,
  days: readonly string[],
  open: ReadonlySet<string>,
): Promise<ReadonlyMap<string, boolean>> {
  const rows = await db.query<{ day: string; civil: boolean }>(
    `select asked.day::text as day, exists (select 1 from spend_day s where s.organisation = $1 and s.day = asked.day
         and (s.shared_from <> '' or s.dimension in (
           select i.id from dimension i where i.organisation = $1 and i.civil))) as civil
     from unnest($3::date[]) as asked(day)
     where exists (select 1 from spend_zone z where z.organisation = $1 and z.day = asked.day and z.zone = $2
         and z.parts = ${partsBy('asked.day', '$2::text')})
       or not exists (select 1 from cost_day c where c.organisation = $1 and c.day = asked.day)`,
    [organisation, zone, days],
  );
  return new Map(rows.flatMap(({ day, civil }) => (open.has(day) ? [] : [[day, civil] as const])));
}

/** Of some UTC days that have costs of any team: whether their totals are there. */
export async function daysWithTotals(
  db: Queryable,
  organisation: string,
  first: string,
  last: string,
): Promise<{ day: string; totals: boolean }[]> {
  return db.query(
    `select day::text as day, totals from (
       select d::date as day, (select coalesce(s.has_totals, false) from spend_day s
         where s.organisation = $1 and s.day = d::date limit 1) as totals
       from generate_series($2::date::timestamp, $3::date::timestamp, interval '1 day') d
     ) known where totals is not null`,
    [organisation, first, last],
  );
}

/** UTC days whose sums are not to be read; null: none are. */
export async function staleDays(db: Queryable, organisation: string): Promise<ReadonlySet<string> | null> {
  const [row] = await db.query<{ noted: boolean; days: string[] | null }>(
    `select ${IS_NOTED} as noted,
       (select array_agg(distinct day::text) from spend_stale where organisation = $1) as days
     from (select $1::text) as asked`,
    [organisation],
  );
  return row?.noted === true ? new Set(row.days ?? []) : null;
}
