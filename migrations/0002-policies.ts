/**
 * What policies need beyond demand and samples: when a document was changed and by whom, whether it is paused, the
 * backtests that vouch for it, and the facts that they look at (workloads, their metrics, leases, spot availability).
 * Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table policy add column paused boolean not null default false;
alter table policy add column version int not null default 1;
alter table policy add column updated_by text;
create table policy_backtest (
  organisation text not null, id bigint generated always as identity, fingerprint text not null, policy text not null, policy_version int not null,
  team text not null, from_at timestamptz not null, to_at timestamptz not null, result jsonb not null, made_at timestamptz not null, made_by text not null,
  primary key (organisation, id)
);
create index policy_backtest_of on policy_backtest (organisation, md5(fingerprint), team);
create table workload (
  organisation text not null, id text not null, team text not null, facts jsonb not null, seen_at timestamptz not null,
  primary key (organisation, id)
);
create index workload_team on workload (organisation, team);
create table workload_metric (
  organisation text not null, workload text not null, name text not null, at timestamptz not null, value double precision not null,
  primary key (organisation, workload, name, at)
);
create table lease (
  organisation text not null, id text not null, team text not null, target text not null, facts jsonb not null,
  started_at timestamptz not null, expires_at timestamptz, active boolean,
  primary key (organisation, id)
);
create index lease_team on lease (organisation, team);
create table spot_reading (
  organisation text not null, provider text not null, region text not null default '', gpu_model text not null, at timestamptz not null, available boolean not null,
  primary key (organisation, provider, region, gpu_model, at)
);`;

export class Policies1764000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table spot_reading, lease, workload_metric, workload, policy_backtest`);
    await runner.query(`alter table policy drop column updated_by, drop column version, drop column paused`);
  }
}
