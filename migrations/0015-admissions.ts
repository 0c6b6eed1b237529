/**
 * What the admission webhook refused or warned about, one row a team, workload and day with its counts; how many
 * launches it was asked about, so that none refused is known from nobody asked; and a version that rises with what
 * bills have taught, so that quotes know when to look again. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table organisation add column rate_version bigint not null default 0;
create table admission (
  organisation text not null, team text collate "C" not null, day date not null, cluster text collate "C" not null, namespace text collate "C" not null, workload text collate "C" not null,
  refused bigint not null default 0, warned bigint not null default 0, reasons text[] not null, message text not null, first_at timestamptz not null, last_at timestamptz not null,
  primary key (organisation, team, day, cluster, namespace, workload)
);
create index admission_newest on admission (organisation, day desc, team, cluster, namespace, workload);
create table admission_day (
  organisation text not null, day date not null, reviewed bigint not null,
  primary key (organisation, day)
);`;

export class Admissions1764000000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table admission_day, admission`);
    await runner.query(`alter table organisation drop column rate_version`);
  }
}
