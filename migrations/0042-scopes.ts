/**
 * What a key may do beyond its role, who answers for it, until when it holds and which secret it had before; roles of an
 * organisation's own; the roles of a session. Expands only: columns are added empty.
 *
 * A process of the version before knows three roles and refuses what has another one, or none. It does not know that a
 * key has expired: expiry holds once every process is of this version.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `alter table api_key alter column role drop not null`,
  `alter table api_key add column scopes text[], add column owner text, add column expires_at timestamptz,
     add column previous_hash bytea, add column previous_until timestamptz`,
  `create table access_role (
     organisation text not null, name text not null, scopes text[] not null, description text,
     updated_at timestamptz not null, updated_by text not null,
     primary key (organisation, name)
   )`,
  `alter table session add column roles text[]`,
];

const DOWN = [
  `alter table session drop column roles`,
  `drop table access_role`,
  // The version before refuses a role that it does not know.
  `update api_key set role = 'none' where role is null`,
  `alter table api_key drop column scopes, drop column owner, drop column expires_at, drop column previous_hash,
     drop column previous_until`,
  `alter table api_key alter column role set not null`,
];

export class Scopes1764000000042 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
