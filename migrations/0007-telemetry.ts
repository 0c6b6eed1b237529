/**
 * What evidence about GPUs needs: one row per GPU (or MIG instance) and minute, how far each source was read, findings
 * about health, and a mark on work that must not wait for its pause. Expands only, but for the key of `sample`, which
 * gains the GPU.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table sample drop constraint sample_pkey;
alter table sample add column gpu text not null default '';
alter table sample add column mig_instance text not null default '';
alter table sample add column partitioned boolean not null default false;
alter table sample add column workload_id text;
alter table sample add column seen_at timestamptz;
alter table sample add column namespace text;
alter table sample add column pod text;
alter table sample add column exporter text;
alter table sample add column memory_used_mib real;
alter table sample add column temperature_celsius real;
alter table sample add column pcie_replays bigint;
alter table sample add column network_latency_seconds double precision;
alter table sample add column fault text;
alter table sample add constraint sample_pkey primary key (organisation, source, resource, at, gpu, mig_instance);
create index sample_team on sample (organisation, team, at);
create index sample_newest on sample (organisation, source, at);
create table telemetry_source (
  organisation text not null, name text not null, read_to timestamptz not null, coverage real, exporters_up text[],
  problems text[] not null default '{}', read_at timestamptz not null,
  primary key (organisation, name)
);
create table health_finding (
  organisation text not null, id bigint generated always as identity, source text not null, team text not null, rule text not null,
  severity text not null, resource text not null, gpu text not null, mig_instance text not null default '', workload text,
  body jsonb not null, opened_at timestamptz not null, seen_at timestamptz not null, cleared_at timestamptz, cleared_because text,
  primary key (organisation, id)
);
create unique index health_finding_open on health_finding (organisation, source, rule, resource, gpu, mig_instance) where cleared_at is null;
create index health_finding_team on health_finding (organisation, team, opened_at);
alter table work add column urgent boolean not null default false;`;

/** Two GPUs of one resource and minute have one place in the older key: the first stays. */
const CONTRACT = `
alter table work drop column urgent;
drop table health_finding, telemetry_source;
drop index sample_newest, sample_team;
alter table sample drop constraint sample_pkey;
delete from sample s using sample o where o.organisation = s.organisation and o.source = s.source and o.resource = s.resource and o.at = s.at
  and (o.gpu, o.mig_instance) < (s.gpu, s.mig_instance);
alter table sample drop column fault, drop column network_latency_seconds, drop column pcie_replays, drop column temperature_celsius, drop column memory_used_mib,
  drop column exporter, drop column pod, drop column namespace, drop column seen_at, drop column workload_id, drop column partitioned, drop column mig_instance, drop column gpu;
alter table sample add constraint sample_pkey primary key (organisation, source, resource, at);`;

export class Telemetry1764000000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(CONTRACT);
  }
}
