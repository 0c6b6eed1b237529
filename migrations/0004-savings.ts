/**
 * What the savings ledger needs: the counterfactual of every applied action, the lines of its hours, and the state of
 * each entry.
 *
 * `counterfactual` and `saving_line` are only ever added to. `saving` is their summary, and can be made again from
 * them. `team` is in every key and is the distribution column, beside the facts that the lines come from
 * (docs/decisions/0002-distribution.md). Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table counterfactual (
  organisation text not null, team text not null, action text not null, chain text not null, connection text not null, target text not null,
  from_at timestamptz not null, until_at timestamptz not null, policy text, policy_version int, recommendation text, currency text not null,
  spec jsonb not null, written_at timestamptz not null,
  primary key (organisation, team, action)
);
create index counterfactual_chain on counterfactual (organisation, team, chain);
create index counterfactual_time on counterfactual (organisation, team, until_at);
create table saving_line (
  organisation text not null, team text not null, action text not null, hour timestamptz not null, no int not null, recorded_at timestamptz not null,
  state text not null check (state in ('measured', 'verified', 'unverifiable', 'withdrawn')), reason text, currency text not null,
  claimed_ms bigint not null, counterfactual_nanos numeric not null, actual_nanos numeric not null, links jsonb not null,
  primary key (organisation, team, action, hour, no)
);
create table saving (
  organisation text not null, team text not null, action text not null, from_at timestamptz not null, state text not null, reason text,
  counterfactual_nanos numeric not null, actual_nanos numeric not null, measured_nanos numeric not null, verified_nanos numeric not null, predicted_nanos numeric,
  claimed_ms bigint not null, hours jsonb not null, reasons jsonb not null, is_over boolean not null, checked_at timestamptz not null,
  primary key (organisation, team, action)
);
create index saving_time on saving (organisation, from_at, action);`;

export class Savings1764000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table saving, saving_line, counterfactual`);
  }
}
