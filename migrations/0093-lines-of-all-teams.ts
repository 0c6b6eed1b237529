/**
 * The hours of all teams together as one view, `hour_line_of_all`: `hour_line` of rows that are added first, so that
 * what a bill says of an hour and a dimension is asked once, and not of each of a thousand teams. A team of which
 * something is not summed yet stands by itself.
 *
 * And `set_aside_by` says the same in one part instead of two of three each: PostgreSQL planned for 7 ms whatever reads
 * `hour_line`, as every roll-up of a team's day does, and does for 4.
 *
 * Expands only: the columns of `set_aside_by` stay, and the version before does not know the new view.
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

const SET_ASIDE_BY = `
create or replace view set_aside_by as
select distinct v.organisation, v.id as delivery, d.id as dimension, p.day + a.days as day,
  array[p.provider, p.account, p.sub_account, p.sku, p.gpu_model, p.region, p.market] as names, p.day as metered_on
from delivery v
join bill_claim b on b.organisation = v.organisation and b.provider = v.provider
  and b.bill = coalesce(v.account, '') and b.since < ${ABOUT.until} and b.until > ${ABOUT.from}${UNREACHED}
join metered_day p on p.organisation = b.organisation and p.provider = b.provider
  and p.account = b.account and p.sub_account = b.sub_account and p.priced
  and p.day >= (greatest(b.since, ${ABOUT.from}) at time zone 'UTC')::date
  and p.day::timestamp at time zone 'UTC' < least(b.until, ${ABOUT.until})
join dimension d on d.organisation = v.organisation and d.kind = 'billed' and d.category = 'Usage'
  and d.provider = v.provider and coalesce(d.account, '') = coalesce(v.account, '') and ${IS_MEANT}
  and (coalesce(d.region, '') = '' or p.region = '' or d.region = p.region)
  and (d.term is null or p.market = '' or (d.term = 'spot') = (p.market = 'spot'))
  and (coalesce(d.sub_account, '') = '' or ${KEY_OF_METER} in ('', account_key(d.sub_account)))
join lateral (
  select 0 as days
  union all select ${OTHER_DATE} where d.civil and ${OTHER_DATE} <> 0
) a on true
where v.scope is not null and not v.closed`;

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
    await runner.query(OF_ALL);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view hour_line_of_all`);
    await runner.query(BY_DATES);
  }
}
