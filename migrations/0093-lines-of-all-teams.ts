/**
 * The hours of all teams together as one view, `hour_line_of_all`: `hour_line` of rows that are added first, so that
 * what a bill says of an hour and a dimension is asked once, and not of each of a thousand teams. A team of which
 * something is not summed yet stands by itself.
 *
 * And what is set aside for meters is looked up in two ways. Whole bills are compared with the days of all meters
 * (`set_aside_by`): of a thousand teams in one account that use the same, each day was compared a thousand times with
 * each team's lines, until the statement ran out of time. An hour's line is looked up by its day (`set_aside`), by
 * fewer joins: PostgreSQL plans each statement that reads `hour_line`, as every roll-up of a team's day is, in less
 * time.
 *
 * Expands only: the columns of both views stay, and the version before does not know the new view.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ABOUT, lines, LINES, UNREACHED } from './0034-late-lines.js';
import { LOOKED_UP } from './0040-account-keys.js';
import { BY_DATES, OTHER_DATE } from './0059-civil-days.js';

const KEY_OF_METER = `case when account_key(p.account) in ('', account_key(coalesce(v.account, '')))
    then account_key(p.sub_account) else account_key(p.account) end`;

/** By the name of its meter, by a name that the bill itself gives a meter's, or by its GPU model. */
const IS_MEANT = `(p.sku <> '' and d.sku = p.sku
    or d.sku in (select n.sku from bill_name n where n.organisation = v.organisation and n.delivery = v.id
      and n.meter_sku = p.sku and (p.sku <> '' or n.meter_gpu_model = p.gpu_model))
    or p.gpu_model <> '' and d.gpu_model = p.gpu_model and (coalesce(d.sku, '') = '' or p.sku = ''))`;

/** What a bill that is not final says of usage that meters stand for. @param metered what meters have read */
const meant = (metered: string): string => `
from delivery v
join bill_claim b on b.organisation = v.organisation and b.provider = v.provider
  and b.bill = coalesce(v.account, '') and b.since < ${ABOUT.until} and b.until > ${ABOUT.from}${UNREACHED}
join ${metered} p on p.organisation = b.organisation and p.provider = b.provider
  and p.account = b.account and p.sub_account = b.sub_account
join dimension d on d.organisation = v.organisation and d.kind = 'billed' and d.category = 'Usage'
  and d.provider = v.provider and coalesce(d.account, '') = coalesce(v.account, '') and ${IS_MEANT}
  and (coalesce(d.region, '') = '' or p.region = '' or d.region = p.region)
  and (d.term is null or p.market = '' or (d.term = 'spot') = (p.market = 'spot'))
  and (coalesce(d.sub_account, '') = '' or ${KEY_OF_METER} in ('', account_key(d.sub_account)))`;

/** @param day one on which it has been read */
const isMeant = (day: string): string => `
where v.scope is not null and not v.closed
  and ${day} >= (greatest(b.since, ${ABOUT.from}) at time zone 'UTC')::date
  and ${day}::timestamp at time zone 'UTC' < least(b.until, ${ABOUT.until})`;

/**
 * Asked for whole bills: what a thousand teams use alike is one, with its days, before it meets the bill's lines. It is
 * added once: no planner can know how many rows these are.
 */
const SET_ASIDE_BY = `
create or replace view set_aside_by as
with unclosed as materialized (
  select v.organisation, v.provider, (min(${ABOUT.from}) at time zone 'UTC')::date as since,
    (max(${ABOUT.until}) at time zone 'UTC')::date as until
  from delivery v where v.scope is not null and not v.closed group by 1, 2
), metered as materialized (
  select m.organisation, m.provider, m.account, m.sub_account, m.sku, m.gpu_model, m.region, m.market,
    array_agg(distinct m.day) as days
  from unclosed o join metered_day m on m.organisation = o.organisation and m.provider = o.provider and m.priced
    and m.day >= o.since and m.day <= o.until
  group by 1, 2, 3, 4, 5, 6, 7, 8
)
select distinct v.organisation, v.id as delivery, d.id as dimension, q.day + a.days as day,
  array[p.provider, p.account, p.sub_account, p.sku, p.gpu_model, p.region, p.market] as names,
  q.day as metered_on${meant('metered')}
join lateral unnest(p.days) as q(day) on true
join lateral unnest(array[0, case when d.civil then ${OTHER_DATE} else 0 end]) as a(days) on true${isMeant('q.day')}`;

/** Asked for a line of an hour: by the day itself, which an index finds. */
const SET_ASIDE = `
create or replace view set_aside as
select v.organisation, v.id as delivery, d.id as dimension, p.day${meant('metered_day')}${isMeant('p.day')} and p.priced
union all
select v.organisation, v.id, d.id, p.day + ${OTHER_DATE}${meant('metered_day')}${isMeant('p.day')} and p.priced
  and d.civil and ${OTHER_DATE} <> 0`;

const SET_ASIDE_BEFORE = `
create or replace view set_aside as select distinct organisation, delivery, dimension, day from set_aside_by`;

/** The teams of which something waits to be priced or summed; each half has an index of its own, of few rows. */
const WAITING = ['null', 'not null']
  .map(
    (parked) => `
    select organisation, left(key, -11) from work
    where stage in ('cost.price', 'cost.rollup') and done < wanted and parked_at is ${parked}`,
  )
  .join(' union all');

const KEYS = (row: string): string => `${row}.organisation,
    case when (${row}.organisation, ${row}.team) in (${WAITING}) then ${row}.team else '' end as team,
    ${row}.hour, ${row}.dimension, coalesce(t.currency, 'USD') as usual`;

/** What has no currency has its team's. */
const OF_TEAMS = (row: string): string => `${row}
  left join team t on t.organisation = ${row}.organisation and t.id = ${row}.team
  where ${row}.team not like 'shared:%'`;

const USAGE = `(
  select ${KEYS('u')}, u.delivery, u.until, sum(u.records) as records, sum(u.gpu_part_ms) as gpu_part_ms,
    sum(u.billed) as billed, sum(u.effective) as effective, sum(u.list) as list
  from usage_hour ${OF_TEAMS('u')} group by 1, 2, 3, 4, 5, 6, 7, u.billed is null
)`;
const COST = `(
  select ${KEYS('c')}, c.component, c.unpriced_reason, c.currency, sum(c.quantity) as quantity, sum(c.nanos) as nanos,
    count(*) as lines
  from cost_hour ${OF_TEAMS('c')} group by 1, 2, 3, 4, 5, 6, 7, 8
)`;
const UNMETERED = `(
  select ${KEYS('n')}, n.delivery, n.until, sum(n.billed) as billed
  from unmetered_line ${OF_TEAMS('n')} group by 1, 2, 3, 4, 5, 6, 7
)`;

const OF_ALL = lines(...LINES, LOOKED_UP, 'u.effective', {
  view: 'hour_line_of_all',
  usage: USAGE,
  cost: COST,
  unmetered: UNMETERED,
  currencies: ['coalesce(d.currency, u.usual)', 'coalesce(c.currency, c.usual)', 'coalesce(d.currency, n.usual)'],
  count: 'c.lines',
});

export class LinesOfAllTeams1764000000093 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SET_ASIDE_BY);
    await runner.query(SET_ASIDE);
    await runner.query(OF_ALL);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view hour_line_of_all`);
    await runner.query(SET_ASIDE_BEFORE);
    await runner.query(BY_DATES);
  }
}
