/**
 * Sessions of the dashboard. Expands only.
 *
 * A session's text is in the browser's cookie alone; here is its SHA-256. Signed in with a key it names the key, and
 * ends with it; signed in at an identity provider it holds what the provider's claims allowed. They are
 * looked up without an organisation.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table session (
  organisation text not null, hash bytea not null,
  key_id text, user_id text, user_name text, role text, teams text[],
  created_at timestamptz not null, expires_at timestamptz not null,
  primary key (organisation, hash),
  check ((key_id is null) <> (user_id is null)),
  check (user_id is null or (user_name is not null and role is not null))
);
create index session_hash on session (hash);`;

export class Sessions1764000000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table session`);
  }
}
