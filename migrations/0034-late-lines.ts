/**
 * Bills are about the time that their usage lines speak of, also where that lies outside of their period; and a claim
 * says whether a final bill reaches it, so that the view `hour_line` need not look among the bills for every hour.
 *
 * Expands only. What an older process writes into `bill_claim` leaves `final` open, and counts as it did until the
 * claims are placed anew, within the hour. `reach` is cut to the periods, as it counted, until each bill is read once
 * more for the days outside of them, which this wakes.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const CUT = `
update delivery set reach = reach * tstzmultirange(tstzrange(period_start, period_end))
where scope is not null and reach is not null`;

const WAKE = `
insert into work (organisation, lane, stage, key, wanted)
select organisation, source, 'usage.allocate', source || '/' || id, 1 from delivery where scope is not null
on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, parked_at = null, attempts = 0`;

const PLAIN = (name: string): string => name;

/**
 * A meter whose usage a final bill has taken the place of stands for no line of another.
 * @param counts which claims are looked at
 * @param key by what accounts are told apart, of the SQL that names one
 */
export const setAsideBy = (
  about: { readonly from: string; readonly until: string },
  counts: string,
  key: (name: string) => string = PLAIN,
): string => `
create or replace view set_aside_by as
select distinct v.organisation, v.id as delivery, d.id as dimension, p.day,
  array[p.provider, p.account, p.sub_account, p.sku, p.gpu_model, p.region, p.market] as names
from delivery v
join bill_claim b on b.organisation = v.organisation and b.provider = v.provider
  and b.bill = coalesce(v.account, '') and b.since < ${about.until} and b.until > ${about.from}${counts}
join metered_day p on p.organisation = b.organisation and p.provider = b.provider
  and p.account = b.account and p.sub_account = b.sub_account and p.priced
  and p.day >= (greatest(b.since, ${about.from}) at time zone 'UTC')::date
  and p.day::timestamp at time zone 'UTC' < least(b.until, ${about.until})
join lateral (
  select p.sku, ''::text as gpu_model where p.sku <> ''
  union all select n.sku, '' from bill_name n where n.organisation = v.organisation and n.delivery = v.id
    and n.meter_sku = p.sku and (p.sku <> '' or n.meter_gpu_model = p.gpu_model)
  union all select '', p.gpu_model where p.gpu_model <> ''
) m on true
join dimension d on d.organisation = v.organisation and d.kind = 'billed' and d.category = 'Usage'
  and d.provider = v.provider and coalesce(d.account, '') = coalesce(v.account, '')
  and (d.sku = m.sku or (m.gpu_model <> '' and d.gpu_model = m.gpu_model and (coalesce(d.sku, '') = '' or p.sku = '')))
  and (coalesce(d.region, '') = '' or p.region = '' or d.region = p.region)
  and (d.term is null or p.market = '' or (d.term = 'spot') = (p.market = 'spot'))
  and (coalesce(d.sub_account, '') = '' or case when ${key('p.account')} in ('', ${key("coalesce(v.account, '')")})
    then ${key('p.sub_account')} else ${key('p.account')} end in ('', ${key('d.sub_account')}))
where v.scope is not null and not v.closed`;

/** A line's bill: joined, and whether it is final. */
const JOINED = {
  from: '\njoin delivery v on v.organisation = u.organisation and v.id = u.delivery',
  closed: 'v.closed',
};

/** Of what the view of lines is made, and how much a line of it stands for. */
export interface LineSources {
  readonly view: string;
  readonly usage: string;
  readonly cost: string;
  readonly unmetered: string;
  /** The currency of a line of a bill, and of what is metered; of a cost; of a line that is not metered. */
  readonly currencies: readonly [line: string, cost: string, unmetered: string];
  /** How many costs a row is. */
  readonly count: string;
}

const EACH: LineSources = {
  view: 'hour_line',
  usage: 'usage_hour',
  cost: 'cost_hour',
  unmetered: 'unmetered_line',
  currencies: ['d.currency', 'c.currency', 'd.currency'],
  count: '1',
};

/**
 * @param reaches of a metered hour, whether a final bill does
 * @param lookup what of the bills is looked at for it
 * @param meant which lines are looked for among those that are set aside
 * @param bill how a line's bill is found
 * @param effective the amortised cost of a line
 * @param of the rows that it reads
 */
export const lines = (
  reaches: string,
  lookup: string,
  meant: string,
  bill = JOINED,
  effective = 'u.effective',
  { view, usage, cost, unmetered, currencies, count }: LineSources = EACH,
): string => `
create or replace view ${view} as
select u.organisation, u.team, u.hour, u.dimension, ${currencies[0]} as currency, u.records, u.gpu_part_ms,
  0::numeric as unpriced_part_ms, 0 as unpriced_lines, null::numeric as accrued,
  case when ${meant}(${bill.closed} or (
      select true from set_aside s where s.organisation = u.organisation and s.delivery = u.delivery
        and s.dimension = u.dimension and s.day >= (u.hour at time zone 'UTC')::date
        and (s.day = (u.hour at time zone 'UTC')::date or s.day::timestamp at time zone 'UTC' < u.until) limit 1
    ) is null) then u.billed end as actual,
  u.billed, ${effective} as effective, u.list, null::numeric as doubtful, 0::numeric as stated_part_ms, 0 as stated_lines
from ${usage} u
join dimension d on d.organisation = u.organisation and d.id = u.dimension${bill.from}
union all
select c.organisation, c.team, c.hour, c.dimension, ${currencies[1]}, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int${count === '1' ? '' : ` * ${count}`}, c.nanos * 0.000000001,
  case when ${reaches} is null then c.nanos * 0.000000001 end, null, null, null,
  case when b.provider is not null and b.bill is null then c.nanos * 0.000000001 end,
  case when ${reaches} and c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  case when ${reaches} and c.unpriced_reason <> '' then ${count} else 0 end
from ${cost} c
join dimension d on d.organisation = c.organisation and d.id = c.dimension
left join bill_claim b on b.organisation = c.organisation and b.provider = d.provider
  and b.account = coalesce(d.account, '') and b.sub_account = coalesce(d.sub_account, '')
  and b.since <= c.hour and b.until > c.hour
left join lateral (
  select true as reaches from delivery v where ${lookup}v.organisation = b.organisation and v.scope is not null and v.closed
    and v.provider = b.provider and coalesce(v.account, '') = b.bill and v.period_start <= c.hour
    and v.period_end > c.hour and coalesce(v.reach @> c.hour, true) limit 1
) f on true
union all
select n.organisation, n.team, n.hour, n.dimension, ${currencies[2]}, 0, null, 0, 0, null, n.billed, null, null, null,
  null, 0, 0
from ${unmetered} n
join dimension d on d.organisation = n.organisation and d.id = n.dimension
join delivery v on v.organisation = n.organisation and v.id = n.delivery and not v.closed
where (
  select true from set_aside s where s.organisation = n.organisation and s.delivery = n.delivery
    and s.dimension = n.dimension and s.day >= (n.hour at time zone 'UTC')::date
    and (s.day = (n.hour at time zone 'UTC')::date or s.day::timestamp at time zone 'UTC' < n.until) limit 1)`;

/** Of claims: no final bill reaches it. */
export const UNREACHED = '\n  and b.final is not true';
/** Of metered hours by their claims, of lines by what is billed. */
export const LINES = [
  'coalesce(nullif(b.final, false), f.reaches)',
  'b.final is null and ',
  'u.billed is not null and ',
] as const;
export const ABOUT = { from: 'least(v.period_start, lower(v.reach))', until: 'greatest(v.period_end, upper(v.reach))' };
const PERIOD = { from: 'v.period_start', until: 'v.period_end' };

export class LateLines1764000000034 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table bill_claim add column final boolean`);
    await runner.query(CUT);
    await runner.query(WAKE);
    await runner.query(setAsideBy(ABOUT, UNREACHED));
    await runner.query(lines(...LINES));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(setAsideBy(PERIOD, ''));
    await runner.query(lines('f.reaches', '', ''));
    await runner.query(`alter table bill_claim drop column final`);
  }
}
