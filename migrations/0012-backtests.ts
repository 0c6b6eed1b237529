/**
 * Backtests that were asked for: what is to be run, how far it is, and what came of it. Expands only.
 * `runs` counts the beginnings, so that a run that lost its lease cannot overwrite
 * the one that took over.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table backtest (
  organisation text not null, id bigint generated always as identity, document jsonb not null, teams text[], from_at timestamptz not null, to_at timestamptz not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'failed')),
  progress double precision not null default 0 check (progress between 0 and 1), runs int not null default 0,
  result jsonb, error jsonb, made_by text not null, made_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  primary key (organisation, id)
);
create index backtest_open on backtest (organisation) where status in ('queued', 'running');`;

export class Backtests1764000000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table backtest`);
  }
}
