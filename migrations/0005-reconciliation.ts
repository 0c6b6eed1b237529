/**
 * What bills say beside what was metered: the variance per team, SKU and day, its findings, the periods that are closed
 * and since when, and the rates that bills taught. A cost line keeps what it would be without such a rate
 * (`list_nanos`; null: no rate bears on it). Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table cost_hour add column list_nanos bigint;
create table variance (
  organisation text not null, team text not null, source text not null, month text not null, day date not null, id text not null,
  provider text not null, account text, sku text, gpu_model text, region text, term text, billed_terms text[] not null, component text,
  category text not null, currency text not null, billed_currency text, matched_by text,
  accrued numeric, accrued_list numeric, billed numeric, effective numeric, list numeric, compared numeric, basis text, amount numeric, ratio numeric,
  quantity_amount numeric, rate_amount numeric, metered_part_ms numeric, billed_part_ms numeric, unpriced_part_ms numeric not null default 0,
  reasons text[] not null,
  primary key (organisation, team, source, month, day, id)
);
create index variance_day on variance (organisation, day, id);
create index variance_month on variance (organisation, source, month);
create table variance_finding (
  organisation text not null, team text not null, source text not null, month text not null, id text not null,
  provider text not null, account text, sku text, gpu_model text, region text, term text, component text, currency text not null,
  accrued numeric, compared numeric, amount numeric not null, ratio numeric, days int not null, reasons text[] not null,
  found_at timestamptz not null, seen_at timestamptz not null, resolved_at timestamptz,
  primary key (organisation, team, source, month, id)
);
create table bill_period (
  organisation text not null, provider text not null, account text not null, period_start timestamptz not null, period_end timestamptz not null,
  closed_at timestamptz not null,
  primary key (organisation, provider, account, period_start, period_end)
);
create table learned_rate (
  organisation text not null, id text not null, source text not null, month text not null,
  provider text not null, account text, sku text not null, region text, term text,
  period_start timestamptz not null, period_end timestamptz not null, applies_from timestamptz not null,
  numerator numeric, denominator numeric, trusted boolean not null, distrust text[] not null, metered_part_ms numeric not null, evidence jsonb not null,
  learned_at timestamptz not null, withdrawn_at timestamptz, withdrawn_by text,
  primary key (organisation, id), check (not trusted or numerator is not null)
);
create index learned_rate_month on learned_rate (organisation, source, month);`;

export class Reconciliation1764000000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table learned_rate, bill_period, variance_finding, variance`);
    await runner.query(`alter table cost_hour drop column list_nanos`);
  }
}
