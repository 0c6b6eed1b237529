/**
 * Metered usage that can be corrected and taken back, and runs that are billed as one. Expands only.
 *
 * `carried_run`: what a team's day hands on to the next, the runs that reach midnight. `delivery.import` and
 * `import.taken_with`: which imports made a delivery. `block.set_aside`: records of a block that do not count, because a
 * later statement of the same id does. `usage_statement`: where each statement of an id lies that was stated more than
 * once. `source.forgot`: the version at which ids were last taken back, so that no process remembers them.
 * `delivery_replaced`: bills that another took the place of, so that they can come back. `import.undone_at`, `_by`.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const RUNS = `
create table carried_run (
  organisation text not null, team text not null, day date not null, runs jsonb not null,
  primary key (organisation, team, day)
);`;

const STATEMENTS = `
alter table block add column set_aside int[] not null default '{}';
alter table source add column forgot bigint not null default 0;
alter table import add column taken_with bigint, add column undone_at timestamptz, add column undone_by text,
  add column warnings jsonb not null default '[]';
alter table delivery add column import bigint;
create index delivery_import on delivery (organisation, import);
create table usage_statement (
  organisation text not null, source text not null, key bytea not null, delivery bigint not null, hour timestamptz not null,
  primary key (organisation, source, key, delivery, hour)
);
create index usage_statement_delivery on usage_statement (organisation, source, delivery);
create table delivery_replaced (
  organisation text not null, id bigint not null, source text not null, scope text not null, replaced_by bigint not null, import bigint, bill jsonb not null,
  primary key (organisation, id)
);
create index delivery_replaced_by on delivery_replaced (organisation, replaced_by);
create index delivery_replaced_import on delivery_replaced (organisation, import);`;

export class CorrectedUsage1764000000024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(RUNS);
    await runner.query(STATEMENTS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table carried_run, usage_statement, delivery_replaced`);
    await runner.query(`drop index delivery_import`);
    await runner.query(`alter table delivery drop column import`);
    await runner.query(
      `alter table import drop column taken_with, drop column undone_at, drop column undone_by, drop column warnings`,
    );
    await runner.query(`alter table source drop column forgot`);
    await runner.query(`alter table block drop column set_aside`);
  }
}
