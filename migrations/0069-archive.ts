/**
 * Raw records that lie in an archive: its files, and which blocks are in which. Expands only.
 *
 * A block that is archived keeps its row, so that whoever needs its records meets it and says so; its records do not lie
 * in the row any more.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const ARCHIVE = `
create table archive (
  organisation text not null, id bigint generated always as identity,
  source text not null, month text not null, path text not null, place text not null,
  blocks int not null, records bigint not null, counted bigint not null, bytes bigint not null, digest bytea not null,
  archived_at timestamptz not null, archived_by text not null, restored_at timestamptz, restored_by text,
  primary key (organisation, id)
)`;

export class Archive1764000000069 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ARCHIVE);
    await runner.query(`alter table block add column archive bigint`);
    await runner.query(`alter table delivery add column archived boolean, add column keep_until timestamptz`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table delivery drop column archived, drop column keep_until`);
    await runner.query(`alter table block drop column archive`);
    await runner.query(`drop table archive`);
  }
}
