/**
 * By what a database knows that it is where it was, and no copy made anew from a backup: store/operation/home.ts.
 *
 * Expands only. The function reads what the server tells of itself; what a server does not tell is null, and nothing is
 * concluded from it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `row_version` is the transaction that wrote the row: one that was copied was written by another. */
const HOME = `
create table database_home (
  organisation text primary key,
  marks jsonb not null,
  row_version text not null,
  folder text,
  noted_at timestamptz not null
)`;

/** The timeline is what PostgreSQL counts on when a server goes on from a backup's journal, or a standby takes over. */
const MARKS = `
create function database_marks() returns jsonb language plpgsql as $$
declare
  server text;
  timeline text;
  place text;
begin
  begin
    server := (select system_identifier::text from pg_control_system());
  exception when others then server := null;
  end;
  begin
    timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  exception when others then timeline := null;
  end;
  -- Only a role that may read all settings is told.
  begin
    place := current_setting('data_directory') || ':' || current_setting('port');
  exception when others then place := null;
  end;
  return jsonb_build_object(
    'server', server,
    'database', (select oid::text from pg_database where datname = current_database()),
    'table', 'database_home'::regclass::oid::text,
    'timeline', timeline,
    'place', place);
end $$`;

export class DatabaseHome1764000000068 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(HOME);
    await runner.query(MARKS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop function database_marks()`);
    await runner.query(`drop table database_home`);
  }
}
