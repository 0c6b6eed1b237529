/**
 * A bill's line of whole days is kept at the dates that the bill names, and its bill's midnights may be none of UTC's:
 * such a day lies on two days of UTC, and what was metered on either stands for the line.
 *
 * Expands only: `set_aside_by` has the days of UTC in a column of their own, and the lines of open bills whose midnights
 * are not UTC's are summed anew by the settling of bills and the comparison, which this enqueues.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ABOUT, setAsideBy, UNREACHED } from './0034-late-lines.js';

const PLAIN = setAsideBy(ABOUT, UNREACHED, (name) => `account_key(${name})`);
/** From the bills on. */
const JOINED = PLAIN.slice(PLAIN.indexOf('\nfrom delivery v'));
const NAMES = 'array[p.provider, p.account, p.sub_account, p.sku, p.gpu_model, p.region, p.market]';

/**
 * How the other date lies of which a part is on a day of UTC: 1 the date after, east of Greenwich; -1 the date before;
 * 0 where midnights are UTC's. A period begins with a month, wherever; as `aheadAt` in core/cost/dating.ts says it.
 */
export const OTHER_DATE = `case
  when extract(epoch from v.period_start)::bigint % 86400 = 0 then 0
  when extract(day from (v.period_start at time zone 'UTC')::date + 1) = 1 then 1
  when extract(day from (v.period_start at time zone 'UTC')::date) = 1 then -1
  when extract(epoch from v.period_start)::bigint % 86400 < 36000 then -1
  else 1 end`;

export const BY_DATES = `
create or replace view set_aside_by as
select distinct organisation, delivery, dimension, day, names, metered_on from (
select v.organisation, v.id as delivery, d.id as dimension, p.day, ${NAMES} as names, p.day as metered_on${JOINED}
union all
select v.organisation, v.id, d.id, p.day + ${OTHER_DATE}, ${NAMES}, p.day${JOINED}
  and d.civil and ${OTHER_DATE} <> 0
) s`;

/** Days of lines whose bills are not final and count by other midnights. */
const ENQUEUE = `
insert into work (organisation, lane, stage, key, wanted)
select distinct u.organisation, u.team, 'cost.rollup', u.team || '/' || to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD'), 1
from delivery v join usage_hour u on u.organisation = v.organisation and u.delivery = v.id
where v.scope is not null and not v.closed and extract(epoch from v.period_start)::bigint % 86400 <> 0
on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, parked_at = null, attempts = 0`;

export class CivilDays1764000000059 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(BY_DATES);
    await runner.query(ENQUEUE);
  }

  async down(runner: QueryRunner): Promise<void> {
    // A view loses no column: what is built on it is made anew as it was.
    const views = await runner.query(
      `select pg_get_viewdef('set_aside'::regclass) as aside, pg_get_viewdef('hour_line'::regclass) as lines`,
    );
    const [{ aside, lines }] = views as [{ aside: string; lines: string }];
    await runner.query(`drop view hour_line, set_aside, set_aside_by`);
    await runner.query(PLAIN);
    await runner.query(`create view set_aside as ${aside}`);
    await runner.query(`create view hour_line as ${lines}`);
  }
}
