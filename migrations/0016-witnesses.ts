/**
 * What is needed to decide by more than one witness: what a source knows of exporters that fell silent, and whose bill
 * metered usage meets that names no account. And actions in pairs: what is to follow one, and which one an action
 * follows. Expands only: the view gains a column at its end, and who does not know the others leaves them empty.
 *
 * `hour_line` as before: `actual` is, per account and hour, the bill once its period is closed, else the accrual; an
 * account that nobody meters has its bill. New is the account of usage that names none: that of the bills of its
 * provider and hour which name none either; else the only one that is billed; else the only one whose bills name its
 * sub-account. Where several are left it keeps its accrual, and `doubtful` has it: the bills may state it again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table telemetry_source add column silent jsonb not null default '[]';
alter table telemetry_source add column started_at jsonb not null default '{}';
alter table action add column next jsonb;
alter table action add column follows text;
create unique index action_follows on action (organisation, follows) where follows is not null;
create index dimension_unnamed on dimension (organisation, provider, sub_account) where kind = 'metered' and coalesce(account, '') = '';
create index dimension_billed_sub_account on dimension (organisation, provider, sub_account, account) where kind = 'billed' and sub_account is not null;`;

/**
 * By provider, sub-account and stretch of time between two ends of bill periods: the account of metered usage that
 * names none (null: it cannot be told) and the number of accounts that it may be. Small, and made once per question: it
 * reads no fact.
 */
const ACCOUNTS = `
create view unnamed_account as
select g.organisation, g.provider, n.sub_account, g.start, g.until, count(distinct b.account) as candidates,
  case when bool_or(b.account = '') then '' when count(distinct b.account) = 1 then min(b.account)
    when count(distinct b.account) filter (where b.names_it) = 1 then min(b.account) filter (where b.names_it) end as account
from (
  select organisation, provider, at as start, lead(at) over (partition by organisation, provider order by at) as until
  from (select organisation, provider, period_start as at from delivery where scope is not null union select organisation, provider, period_end from delivery where scope is not null) e
) g
join (select distinct organisation, provider, coalesce(sub_account, '') as sub_account from dimension where kind = 'metered' and coalesce(account, '') = '') n
  on n.organisation = g.organisation and n.provider = g.provider
join lateral (
  select coalesce(v.account, '') as account, n.sub_account <> '' and exists (
    select 1 from dimension s where s.organisation = v.organisation and s.kind = 'billed' and s.provider = v.provider and s.sub_account = n.sub_account and s.account = v.account) as names_it
  from delivery v where v.organisation = g.organisation and v.scope is not null and v.provider = g.provider and v.period_start <= g.start and v.period_end >= g.until
) b on true
where g.until is not null
group by 1, 2, 3, 4, 5`;

const LINES = `
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

/** As the foundation made it. */
const LINES_BEFORE = `
create view hour_line as
select u.organisation, u.team, u.hour, u.dimension, d.currency, u.records, u.gpu_part_ms, 0::numeric as unpriced_part_ms,
  0 as unpriced_lines, null::numeric as accrued,
  case when v.closed or m.provider is null then u.billed end as actual, u.billed, u.effective, u.list
from usage_hour u
join dimension d on d.organisation = u.organisation and d.id = u.dimension
join delivery v on v.organisation = u.organisation and v.id = u.delivery
left join (select distinct organisation, provider, coalesce(account, '') as account from dimension where kind = 'metered') m
  on m.organisation = u.organisation and m.provider = d.provider and m.account = coalesce(d.account, '')
union all
select c.organisation, c.team, c.hour, c.dimension, c.currency, 0, null,
  case when c.unpriced_reason <> '' and c.component = 'gpu' then coalesce(c.quantity, 0) else 0 end,
  (c.unpriced_reason <> '')::int, c.nanos * 0.000000001,
  case when not exists (select 1 from delivery v where v.organisation = c.organisation and v.closed and v.provider = d.provider
    and coalesce(v.account, '') = coalesce(d.account, '') and c.hour >= v.period_start and c.hour < v.period_end)
    then c.nanos * 0.000000001 end,
  null, null, null
from cost_hour c
join dimension d on d.organisation = c.organisation and d.id = c.dimension`;

export class Witnesses1764000000016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
    await runner.query(ACCOUNTS);
    await runner.query(LINES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view hour_line`);
    await runner.query(LINES_BEFORE);
    await runner.query(`drop view unnamed_account`);
    await runner.query(`drop index dimension_billed_sub_account, dimension_unnamed, action_follows`);
    await runner.query(`alter table action drop column follows, drop column next`);
    await runner.query(`alter table telemetry_source drop column started_at, drop column silent`);
  }
}
