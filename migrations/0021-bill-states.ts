/**
 * Which rows count: bills with a state, the accounts and the time that they reach, and the meters that stand for their
 * lines while they are not final. Expands only: what an old process writes has no reach, and counts as it did.
 *
 * `hour_line` follows the table of src/core/bill/counting.ts: a bill's line counts, but for usage that a meter stands
 * for while the bill is not final; a metered hour counts, unless a final bill reaches its account and time.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table delivery add column reach tstzmultirange, add column sub_accounts text[] not null default '{}',
  add column says_final boolean not null default false, add column has_usage boolean not null default true,
  add column has_rejects boolean not null default false, add column final_at timestamptz, add column bundle bigint,
  add column teams text[] not null default '{}', add column long_days date[] not null default '{}';
alter table usage_hour add column until timestamptz;
alter table cost_day add column stated_part_ms numeric not null default 0,
  add column stated_lines int not null default 0;
create index delivery_final on delivery (organisation, provider, (coalesce(account, '')), period_start)
  where scope is not null and closed;
create index dimension_billed_usage on dimension (organisation, provider, sku)
  where kind = 'billed' and category = 'Usage';
create table metered_day (
  organisation text not null, team text not null, day date not null, provider text not null, account text not null,
  sub_account text not null, sku text not null, gpu_model text not null, region text not null, market text not null,
  priced boolean not null,
  primary key (organisation, team, day, provider, account, sub_account, sku, gpu_model, region, market)
);
create index metered_day_provider on metered_day (organisation, provider, day);
create table bill_claim (
  organisation text not null, provider text not null, account text not null, sub_account text not null,
  since timestamptz not null, until timestamptz not null, bill text,
  primary key (organisation, provider, account, sub_account, since)
);
create table bill_name (
  organisation text not null, delivery bigint not null, sku text not null, meter_sku text not null,
  meter_gpu_model text not null,
  primary key (organisation, delivery, sku, meter_sku, meter_gpu_model)
);`;

/** What is metered already. A name that is unknown is an empty text. */
const BACKFILL = `
insert into metered_day (organisation, team, day, provider, account, sub_account, sku, gpu_model, region, market, priced)
select c.organisation, c.team, (c.hour at time zone 'UTC')::date, d.provider, coalesce(d.account, ''),
  coalesce(d.sub_account, ''), coalesce(d.sku, ''), coalesce(d.gpu_model, ''), coalesce(d.region, ''),
  case when d.term is null then '' when d.term = 'spot' then 'spot' else 'other' end, bool_or(c.nanos is not null)
from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`;

/** Bills are read once more, for their reach; and then placed. */
const WAKE = `
insert into work (organisation, lane, stage, key, wanted)
select organisation, source, 'usage.allocate', source || '/' || id, 1 from delivery where scope is not null
union all select distinct organisation, 'bills', 'bill.settle', 'bills', 1 from delivery where scope is not null
on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, not_before = '-infinity'`;

/**
 * Usage of bills that are not final, by day, which a meter with a price stands for: the same SKU, a SKU that the
 * comparison of bills knows to be the same (bill_name), or the same GPU where one side names no SKU; where both name
 * the sub-account, the region or the market, it is the same. A metered account is a sub-account of the bill's payer
 * unless it is the payer.
 */
const SET_ASIDE = `
create view set_aside as
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

const LINES = `
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

/** As 0017 left it. */
const LINES_BEFORE = `
create view hour_line as
select u.organisation, u.team, u.hour, u.dimension, d.currency, u.records, u.gpu_part_ms, 0::numeric as unpriced_part_ms,
  0 as unpriced_lines, null::numeric as accrued,
  case when v.closed or (m.provider is null and n.provider is null and s.provider is null) then u.billed end as actual, u.billed, u.effective, u.list, null::numeric as doubtful
from usage_hour u
join dimension d on d.organisation = u.organisation and d.id = u.dimension
join delivery v on v.organisation = u.organisation and v.id = u.delivery
left join (select distinct organisation, provider, coalesce(account, '') as account from dimension where kind = 'metered') m
  on m.organisation = u.organisation and m.provider = d.provider and m.account = coalesce(d.account, '')
left join (select distinct organisation, provider, account, start, until from unnamed_account where account is not null) n
  on n.organisation = u.organisation and n.provider = d.provider and n.account = coalesce(d.account, '') and n.start <= u.hour and n.until > u.hour
left join (select distinct organisation, provider, start, until from nameless_bill) s
  on s.organisation = u.organisation and s.provider = case when coalesce(d.account, '') = '' then d.provider end and s.start <= u.hour and s.until > u.hour
union all
select c.organisation, c.team, c.hour, c.dimension, c.currency, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int, c.nanos * 0.000000001,
  case when not exists (select 1 from delivery v where v.organisation = c.organisation and v.scope is not null and v.closed and v.provider = d.provider
    and coalesce(v.account, '') = case when s.account is not null then '' else coalesce(o.account, d.account, '') end and c.hour >= v.period_start and c.hour < v.period_end)
    then c.nanos * 0.000000001 end,
  null, null, null, case when o.account is null and o.candidates > 1 then c.nanos * 0.000000001 end
from cost_hour c
join dimension d on d.organisation = c.organisation and d.id = c.dimension
left join unnamed_account o on o.organisation = c.organisation and o.provider = case when coalesce(d.account, '') = '' then d.provider end
  and o.sub_account = coalesce(d.sub_account, '') and o.start <= c.hour and o.until > c.hour
left join nameless_bill s on s.organisation = c.organisation and s.provider = d.provider and s.account = d.account and s.start <= c.hour and s.until > c.hour`;

export class BillStates1764000000021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [EXPAND, BACKFILL, WAKE, SET_ASIDE, LINES]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view hour_line`);
    await runner.query(`drop view set_aside`);
    await runner.query(LINES_BEFORE);
    await runner.query(`drop table bill_name, bill_claim, metered_day`);
    await runner.query(`drop index dimension_billed_usage, delivery_final`);
    await runner.query(`alter table cost_day drop column stated_lines, drop column stated_part_ms`);
    await runner.query(`alter table usage_hour drop column until`);
    await runner.query(
      `alter table delivery drop column long_days, drop column teams, drop column bundle, drop column final_at,
         drop column has_rejects, drop column has_usage, drop column says_final, drop column sub_accounts, drop column reach`,
    );
  }
}
