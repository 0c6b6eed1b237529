/**
 * What joins GPU readings to the fleet: on each sample the target that it is of and the term that it runs under; and
 * per measured resource how its series call it, what it was joined to, or why it was not. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table sample add column connection text;
alter table sample add column target text;
alter table sample add column term text;
create table measured (
  organisation text not null, source text not null, resource text not null, called jsonb not null, gpus int not null,
  team text not null, connection text, target text, provider text, because text, detail text,
  first_seen_at timestamptz not null, seen_at timestamptz not null,
  primary key (organisation, source, resource)
);
create index measured_target on measured (organisation, target);`;

export class EvidenceMeetsTheFleet1764000000032 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table measured`);
    await runner.query(`alter table sample drop column term, drop column target, drop column connection`);
  }
}
