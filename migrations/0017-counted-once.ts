/**
 * What is counted once: metered usage that names an account, beside a bill of its provider that names none; and the
 * GPUs of a reservation, which pods that were let in on it have taken before any of them is metered. Adds a view and a
 * table, and changes what another view answers, not its columns: who does not know them loses nothing.
 *
 * `hour_line` as before: `actual` is, per account and hour, the bill once its period is closed, else the accrual; an
 * account that nobody meters has its bill. New is the bill that names no account: it is that of every metered account
 * of its provider that has no bill of its own in the hour. Bills are looked for among bills (`scope is not null`, as
 * their index has it), not among the deliveries of meters, of which there are many more.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * By provider, account and stretch of time between two ends of bill periods: metered accounts without a bill of their
 * own where a bill names none. Small, and made once per question: it reads no fact, and nothing more where no bill
 * lacks its account. It is grouped so that it stays made where a plan asks for it again and again.
 */
const NAMELESS = `
create view nameless_bill as
select p.organisation, p.provider, a.account, g.start, g.until
from (select distinct organisation, provider from delivery where scope is not null and coalesce(account, '') = '') p
join lateral (select distinct d.account from dimension d where d.organisation = p.organisation and d.provider = p.provider and d.kind = 'metered' and d.account <> '') a on true
join lateral (
  select e.at as start, lead(e.at) over (order by e.at) as until
  from (select v.period_start as at from delivery v where v.organisation = p.organisation and v.provider = p.provider and v.scope is not null
    union select v.period_end from delivery v where v.organisation = p.organisation and v.provider = p.provider and v.scope is not null) e
) g on true
where g.until is not null
  and exists (select 1 from delivery v where v.organisation = p.organisation and v.scope is not null and v.provider = p.provider and coalesce(v.account, '') = ''
    and v.period_start <= g.start and v.period_end >= g.until)
  and not exists (select 1 from delivery v where v.organisation = p.organisation and v.scope is not null and v.provider = p.provider and v.account = a.account
    and v.period_start <= g.start and v.period_end >= g.until)
group by 1, 2, 3, 4, 5`;

/** One row a pod. */
const PODS = `
create table reservation_pod (
  organisation text not null, reservation text not null, pod text not null, cluster text not null, namespace text not null, name text not null,
  gpu_parts bigint not null check (gpu_parts >= 0), let_in_at timestamptz not null,
  primary key (organisation, reservation, cluster, pod)
);`;

const LINES = `
create or replace view hour_line as
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

/** As the witnesses left it. */
const LINES_BEFORE = `
create or replace view hour_line as
select u.organisation, u.team, u.hour, u.dimension, d.currency, u.records, u.gpu_part_ms, 0::numeric as unpriced_part_ms,
  0 as unpriced_lines, null::numeric as accrued,
  case when v.closed or (m.provider is null and n.provider is null) then u.billed end as actual, u.billed, u.effective, u.list, null::numeric as doubtful
from usage_hour u
join dimension d on d.organisation = u.organisation and d.id = u.dimension
join delivery v on v.organisation = u.organisation and v.id = u.delivery
left join (select distinct organisation, provider, coalesce(account, '') as account from dimension where kind = 'metered') m
  on m.organisation = u.organisation and m.provider = d.provider and m.account = coalesce(d.account, '')
left join (select distinct organisation, provider, account, start, until from unnamed_account where account is not null) n
  on n.organisation = u.organisation and n.provider = d.provider and n.account = coalesce(d.account, '') and n.start <= u.hour and n.until > u.hour
union all
select c.organisation, c.team, c.hour, c.dimension, c.currency, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int, c.nanos * 0.000000001,
  case when not exists (select 1 from delivery v where v.organisation = c.organisation and v.closed and v.provider = d.provider
    and coalesce(v.account, '') = coalesce(o.account, d.account, '') and c.hour >= v.period_start and c.hour < v.period_end)
    then c.nanos * 0.000000001 end,
  null, null, null, case when o.account is null and o.candidates > 1 then c.nanos * 0.000000001 end
from cost_hour c
join dimension d on d.organisation = c.organisation and d.id = c.dimension
left join unnamed_account o on o.organisation = c.organisation and o.provider = case when coalesce(d.account, '') = '' then d.provider end
  and o.sub_account = coalesce(d.sub_account, '') and o.start <= c.hour and o.until > c.hour`;

export class CountedOnce1764000000017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(NAMELESS);
    await runner.query(LINES);
    await runner.query(PODS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table reservation_pod`);
    await runner.query(LINES_BEFORE);
    await runner.query(`drop view nameless_bill`);
  }
}
