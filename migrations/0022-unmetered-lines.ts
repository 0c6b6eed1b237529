/**
 * Lines of bills that count before the bill is final although a meter stands for their SKU: their own machines are not
 * metered (src/core/bill/unmetered.ts). Expands only: `hour_line` adds them while their SKU is set aside.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table unmetered_line (
  organisation text not null, team text not null, hour timestamptz not null, dimension bigint not null,
  delivery bigint not null, no int not null, until timestamptz, billed numeric not null,
  primary key (organisation, team, hour, dimension, delivery, no)
);
create index unmetered_line_delivery on unmetered_line (organisation, delivery);`;

/** As 0021 wrote `set_aside`, with the names of the meter: they say whose resources are to be looked at. */
const SET_ASIDE_BY = `
create view set_aside_by as
select distinct v.organisation, v.id as delivery, d.id as dimension, p.day,
  array[p.provider, p.account, p.sub_account, p.sku, p.gpu_model, p.region, p.market] as names
from delivery v
join bill_claim b on b.organisation = v.organisation and b.provider = v.provider
  and b.bill = coalesce(v.account, '') and b.since < v.period_end and b.until > v.period_start
join metered_day p on p.organisation = b.organisation and p.provider = b.provider
  and p.account = b.account and p.sub_account = b.sub_account and p.priced
  and p.day >= (greatest(b.since, v.period_start) at time zone 'UTC')::date
  and p.day::timestamp at time zone 'UTC' < least(b.until, v.period_end)
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
  and (coalesce(d.sub_account, '') = '' or case when p.account in ('', coalesce(v.account, '')) then p.sub_account
    else p.account end in ('', d.sub_account))
where v.scope is not null and not v.closed`;

const SET_ASIDE = `
create or replace view set_aside as select distinct organisation, delivery, dimension, day from set_aside_by`;

/** As 0021 left them. */
const SET_ASIDE_BEFORE = `
create or replace view set_aside as
select distinct v.organisation, v.id as delivery, d.id as dimension, p.day
from delivery v
join bill_claim b on b.organisation = v.organisation and b.provider = v.provider
  and b.bill = coalesce(v.account, '') and b.since < v.period_end and b.until > v.period_start
join metered_day p on p.organisation = b.organisation and p.provider = b.provider
  and p.account = b.account and p.sub_account = b.sub_account and p.priced
  and p.day >= (greatest(b.since, v.period_start) at time zone 'UTC')::date
  and p.day::timestamp at time zone 'UTC' < least(b.until, v.period_end)
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
  and (coalesce(d.sub_account, '') = '' or case when p.account in ('', coalesce(v.account, '')) then p.sub_account
    else p.account end in ('', d.sub_account))
where v.scope is not null and not v.closed`;

const LINES_BEFORE = `
create or replace view hour_line as
select u.organisation, u.team, u.hour, u.dimension, d.currency, u.records, u.gpu_part_ms,
  0::numeric as unpriced_part_ms, 0 as unpriced_lines, null::numeric as accrued,
  case when a.dimension is null and (u.until is null or v.closed or not exists (
      select 1 from set_aside s where s.organisation = u.organisation and s.delivery = u.delivery
        and s.dimension = u.dimension and s.day >= (u.hour at time zone 'UTC')::date
        and s.day::timestamp at time zone 'UTC' < u.until)) then u.billed end as actual,
  u.billed, u.effective, u.list, null::numeric as doubtful, 0::numeric as stated_part_ms, 0 as stated_lines
from usage_hour u
join dimension d on d.organisation = u.organisation and d.id = u.dimension
join delivery v on v.organisation = u.organisation and v.id = u.delivery
left join set_aside a on a.organisation = u.organisation and a.delivery = u.delivery and a.dimension = u.dimension
  and a.day = (u.hour at time zone 'UTC')::date
union all
select c.organisation, c.team, c.hour, c.dimension, c.currency, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int, c.nanos * 0.000000001,
  case when f.reaches is null then c.nanos * 0.000000001 end, null, null, null,
  case when b.provider is not null and b.bill is null then c.nanos * 0.000000001 end,
  case when f.reaches and c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  case when f.reaches and c.unpriced_reason <> '' then 1 else 0 end
from cost_hour c
join dimension d on d.organisation = c.organisation and d.id = c.dimension
left join bill_claim b on b.organisation = c.organisation and b.provider = d.provider
  and b.account = coalesce(d.account, '') and b.sub_account = coalesce(d.sub_account, '')
  and b.since <= c.hour and b.until > c.hour
left join lateral (
  select true as reaches from delivery v where v.organisation = b.organisation and v.scope is not null and v.closed
    and v.provider = b.provider and coalesce(v.account, '') = b.bill and v.period_start <= c.hour
    and v.period_end > c.hour and coalesce(v.reach @> c.hour, true) limit 1
) f on true`;

/**
 * As before, but a line is looked up among those that are set aside by its own bill, dimension and days. A scalar
 * query keeps it so: joined, or as `exists`, all that is set aside in the organisation is worked out for every day.
 */
const LINES = `
create or replace view hour_line as
select u.organisation, u.team, u.hour, u.dimension, d.currency, u.records, u.gpu_part_ms,
  0::numeric as unpriced_part_ms, 0 as unpriced_lines, null::numeric as accrued,
  case when v.closed or (
      select true from set_aside s where s.organisation = u.organisation and s.delivery = u.delivery
        and s.dimension = u.dimension and s.day >= (u.hour at time zone 'UTC')::date
        and (s.day = (u.hour at time zone 'UTC')::date or s.day::timestamp at time zone 'UTC' < u.until) limit 1
    ) is null then u.billed end as actual,
  u.billed, u.effective, u.list, null::numeric as doubtful, 0::numeric as stated_part_ms, 0 as stated_lines
from usage_hour u
join dimension d on d.organisation = u.organisation and d.id = u.dimension
join delivery v on v.organisation = u.organisation and v.id = u.delivery
union all
select c.organisation, c.team, c.hour, c.dimension, c.currency, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int, c.nanos * 0.000000001,
  case when f.reaches is null then c.nanos * 0.000000001 end, null, null, null,
  case when b.provider is not null and b.bill is null then c.nanos * 0.000000001 end,
  case when f.reaches and c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  case when f.reaches and c.unpriced_reason <> '' then 1 else 0 end
from cost_hour c
join dimension d on d.organisation = c.organisation and d.id = c.dimension
left join bill_claim b on b.organisation = c.organisation and b.provider = d.provider
  and b.account = coalesce(d.account, '') and b.sub_account = coalesce(d.sub_account, '')
  and b.since <= c.hour and b.until > c.hour
left join lateral (
  select true as reaches from delivery v where v.organisation = b.organisation and v.scope is not null and v.closed
    and v.provider = b.provider and coalesce(v.account, '') = b.bill and v.period_start <= c.hour
    and v.period_end > c.hour and coalesce(v.reach @> c.hour, true) limit 1
) f on true
union all
select n.organisation, n.team, n.hour, n.dimension, d.currency, 0, null, 0, 0, null, n.billed, null, null, null, null,
  0, 0
from unmetered_line n
join dimension d on d.organisation = n.organisation and d.id = n.dimension
join delivery v on v.organisation = n.organisation and v.id = n.delivery and not v.closed
where (
  select true from set_aside s where s.organisation = n.organisation and s.delivery = n.delivery
    and s.dimension = n.dimension and s.day >= (n.hour at time zone 'UTC')::date
    and (s.day = (n.hour at time zone 'UTC')::date or s.day::timestamp at time zone 'UTC' < n.until) limit 1)`;

export class UnmeteredLines1764000000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [EXPAND, SET_ASIDE_BY, SET_ASIDE, LINES]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of [LINES_BEFORE, SET_ASIDE_BEFORE]) await runner.query(statement);
    await runner.query(`drop view set_aside_by`);
    await runner.query(`drop table unmetered_line`);
  }
}
