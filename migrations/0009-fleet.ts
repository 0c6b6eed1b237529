/**
 * What collecting from providers needs: targets as they were last seen, each connection's last reading, commitments on
 * sale, and per connection what was collected up to when and when to look next. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table fleet_target (
  organisation text not null, connection text not null, target text not null, resource text not null, team text not null, body jsonb not null,
  first_seen_at timestamptz not null, seen_at timestamptz not null, changed_at timestamptz, missed int not null default 0, gone_at timestamptz,
  primary key (organisation, connection, target)
);
create index fleet_target_team on fleet_target (organisation, team, target);
create index fleet_target_name on fleet_target (organisation, target);
create index fleet_target_resource on fleet_target (organisation, resource);
create table fleet_reading (
  organisation text not null, connection text not null, at timestamptz not null, complete boolean not null, complete_at timestamptz,
  targets int not null, problems text[] not null default '{}',
  primary key (organisation, connection)
);
create table commitment_offer (
  organisation text not null, connection text not null, offer text not null, provider text not null, gpus_per_unit double precision, body jsonb not null,
  seen_at timestamptz not null,
  primary key (organisation, connection, offer)
);
create table collection (
  organisation text not null, connection text not null, what text not null, next_at timestamptz not null, collected_to timestamptz, collected_at timestamptz,
  primary key (organisation, connection, what)
);
alter table workload add column connection text;`;

export class Fleet1764000000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table workload drop column connection`);
    await runner.query(`drop table collection, commitment_offer, fleet_reading, fleet_target`);
  }
}
