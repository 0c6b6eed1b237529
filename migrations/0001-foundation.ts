/**
 * The first schema. Every row belongs to an organisation, in every key. The facts (usage_hour, cost_hour, cost_day,
 * work) carry `team` (work: `lane`) in every key, raw records carry `source`: by these a Citus cluster spreads them
 * (src/store/distribution.ts), so that no later migration has to rewrite a key.
 *
 * Hand-written SQL: expand first, contract later, never in one step.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const REFERENCE = `
create table organisation (
  id text primary key, name text not null, created_at timestamptz not null default now(),
  price_version bigint not null default 0
);
create table team (
  organisation text not null, id text not null, name text not null, parent text,
  zone text not null default 'UTC', currency text not null default 'USD',
  assigned_by text, created_at timestamptz not null default now(),
  primary key (organisation, id)
);
create table api_key (
  organisation text not null, id text not null, name text not null, role text not null, teams text[],
  hash bytea not null, created_at timestamptz not null default now(), revoked_at timestamptz, last_used_at timestamptz,
  primary key (organisation, id)
);
create table rule_set (
  organisation text not null, version int not null, rules jsonb not null,
  created_at timestamptz not null default now(), created_by text not null,
  primary key (organisation, version)
);
create table setting (
  organisation text not null, key text not null, value jsonb not null, updated_at timestamptz not null default now(),
  primary key (organisation, key)
);
create table price_event (
  organisation text not null, id bytea not null, provider text not null, sku text not null, at timestamptz not null,
  source text not null, event jsonb not null, recorded_at timestamptz not null default now(),
  primary key (organisation, id)
);
create table fx_rate (
  organisation text not null, day date not null, currency text not null, per_usd numeric not null check (per_usd > 0),
  source text not null,
  primary key (organisation, day, currency)
);
create table dimension (
  organisation text not null, id bigint generated always as identity, key bytea not null,
  kind text not null check (kind in ('metered', 'billed')),
  provider text not null, account text, sub_account text, service text, sku text, region text, term text,
  gpu_model text, category text not null, currency text, tags jsonb,
  primary key (organisation, id), unique (organisation, key)
);
create table source (
  organisation text not null, name text not null, version bigint not null default 0,
  primary key (organisation, name)
);
create table import (
  organisation text not null, id bigint generated always as identity, source text not null, file text not null,
  format text not null, rows bigint not null, accepted bigint not null, rejected bigint not null, unchanged bigint not null,
  unknown_columns text[] not null default '{}', billed jsonb not null, replaced jsonb not null default '[]',
  imported_at timestamptz not null, imported_by text not null,
  primary key (organisation, id)
);
create table reject (
  organisation text not null, import bigint not null, no int not null, file text not null, line bigint not null,
  column_name text, reason text not null, raw text not null,
  primary key (organisation, import, no)
);
create table delivery (
  organisation text not null, id bigint generated always as identity, source text not null, scope text,
  provider text, account text, period_start timestamptz, period_end timestamptz, closed boolean not null default false,
  digest bytea, records bigint not null, rules_version int not null, delivered_at timestamptz not null,
  primary key (organisation, id)
);
create unique index delivery_scope on delivery (organisation, source, scope) where scope is not null;
create index delivery_period on delivery (organisation, provider, account, period_start) where scope is not null;
create table budget (
  organisation text not null, id text not null, team text not null, spec jsonb not null,
  created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  primary key (organisation, id)
);
create index budget_team on budget (organisation, team);
create index team_parent on team (organisation, parent);
create table budget_state (
  organisation text not null, budget text not null, period_start timestamptz not null, period_end timestamptz not null,
  state jsonb not null, weighed_at timestamptz not null,
  primary key (organisation, budget, period_start)
);
create table crossing (
  organisation text not null, budget text not null, period_start timestamptz not null, kind text not null,
  ratio numeric not null, crossed_at timestamptz not null, value jsonb not null,
  primary key (organisation, budget, period_start, kind, ratio)
);
create table policy (
  organisation text not null, id text not null, spec jsonb not null, updated_at timestamptz not null default now(),
  primary key (organisation, id)
);
create table recommendation (
  organisation text not null, id text not null, team text not null, policy text not null, action text not null,
  target text not null, status text not null default 'open', estimated_monthly_nanos numeric, currency text,
  body jsonb not null, made_at timestamptz not null, expires_at timestamptz, decided_at timestamptz, decided_by text,
  primary key (organisation, id)
);
create index recommendation_team on recommendation (organisation, team, status);
create table idempotency (
  organisation text not null, key text not null, request_hash bytea not null, status int, body jsonb,
  created_at timestamptz not null default now(),
  primary key (organisation, key)
);
create table audit (
  organisation text not null, id bigint generated always as identity, at timestamptz not null default now(),
  actor text not null, verb text not null, target text not null, detail jsonb not null default '{}',
  primary key (organisation, id)
);`;

const RAW = `
create table block (
  organisation text not null, source text not null, delivery bigint not null, no int not null, records int not null,
  first_start timestamptz not null, last_end timestamptz not null, payload bytea not null,
  primary key (organisation, source, delivery, no)
);
alter table block alter column payload set storage external;
create table usage_id (
  organisation text not null, source text not null, hour timestamptz not null, delivery bigint not null, part int not null,
  version bigint not null, digests bytea not null,
  primary key (organisation, source, hour, delivery, part)
);
create index usage_id_version on usage_id (organisation, source, version);
alter table usage_id alter column digests set storage external;
create table sample (
  organisation text not null, source text not null, resource text not null, at timestamptz not null, team text not null,
  provider text, sku text, region text, gpu_model text, gpus int, workload text,
  gpu_utilisation_ratio real, memory_used_ratio real, requests_per_second real, power_watts real,
  primary key (organisation, source, resource, at)
);`;

const FACTS = `
create table usage_hour (
  organisation text not null, team text not null, hour timestamptz not null, dimension bigint not null,
  delivery bigint not null, part int not null, records int not null,
  gpu_part_ms numeric, storage_mib_ms numeric, network_bytes numeric,
  shortest_ms bigint not null, granule_ms bigint not null,
  billed numeric, effective numeric, list numeric,
  primary key (organisation, team, hour, dimension, delivery, part)
);
create index usage_hour_delivery on usage_hour (organisation, delivery);
create table cost_hour (
  organisation text not null, team text not null, hour timestamptz not null, dimension bigint not null,
  component text not null, unpriced_reason text not null default '', quantity numeric, nanos bigint, currency text, basis jsonb,
  primary key (organisation, team, hour, dimension, component, unpriced_reason),
  check ((unpriced_reason = '') = (nanos is not null))
);
create table cost_day (
  organisation text not null, team text not null, day date not null, dimension bigint not null,
  currency text not null, shared_from text not null default '', records int not null,
  gpu_part_ms numeric, unpriced_part_ms numeric not null default 0, unpriced_lines int not null default 0,
  accrued numeric, actual numeric, billed numeric, effective numeric, list numeric,
  primary key (organisation, team, day, dimension, currency, shared_from)
);
create table work (
  organisation text not null, lane text not null, stage text not null, key text not null,
  wanted bigint not null, done bigint not null default 0, not_before timestamptz not null default '-infinity',
  attempts int not null default 0, last_error text, parked_at timestamptz, woken_at timestamptz not null default now(),
  primary key (organisation, lane, stage, key)
);
create index work_due on work (organisation, stage, lane) where done < wanted and parked_at is null;`;

/**
 * Every line of every hour, metered and billed, with each basis. `actual` is, per account and hour, the bill once its
 * period is closed, else the accrual; an account that nobody meters has its bill.
 */
const LINES = `
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

export class Foundation1764000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(REFERENCE);
    await runner.query(RAW);
    await runner.query(FACTS);
    await runner.query(LINES);
    await runner.query(`insert into organisation (id, name) values ('default', 'Default organisation')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view hour_line`);
    await runner.query(`drop table work, cost_day, cost_hour, usage_hour, sample, usage_id, block, audit, idempotency,
      recommendation, policy, crossing, budget_state, budget, delivery, reject, import, source, dimension, fx_rate,
      price_event, setting, rule_set, api_key, team, organisation`);
  }
}
