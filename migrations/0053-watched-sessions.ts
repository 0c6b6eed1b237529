/**
 * What a session is listed, ended and asked again by: when and from where it was used last, what the provider's claims
 * said, the provider's own session, a refresh token that only the browser's cookie opens; and the logout tokens that
 * were taken, so that none is taken twice. Expands only.
 *
 * A process of the version before leaves the new columns empty: such a session has been used when it began, and stands
 * as it was written down.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `alter table session add column last_seen_at timestamptz, add column address text, add column agent text,
     add column claimed_groups text[], add column claimed_teams text[], add column directory_name text,
     add column provider_session text, add column refresh bytea, add column checked_at timestamptz,
     add column asking_until timestamptz`,
  `create index session_user_id on session (organisation, user_id) where user_id is not null`,
  `create table logout_token (
     organisation text not null, jti text not null, expires_at timestamptz not null,
     primary key (organisation, jti)
   )`,
];

const DOWN = [
  `drop table logout_token`,
  `drop index session_user_id`,
  `alter table session drop column last_seen_at, drop column address, drop column agent, drop column claimed_groups,
     drop column claimed_teams, drop column directory_name, drop column provider_session, drop column refresh,
     drop column checked_at, drop column asking_until`,
];

export class WatchedSessions1764000000053 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
