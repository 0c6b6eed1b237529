/**
 * People and groups that an identity provider tells of by SCIM (RFC 7643), and who is in which group. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `create table scim_user (
     organisation text not null, id text not null, user_name text not null, external_id text, active boolean not null,
     subjects text[] not null default '{}', attributes jsonb not null, created_at timestamptz not null, updated_at timestamptz not null,
     primary key (organisation, id)
   )`,
  `create unique index scim_user_name on scim_user (organisation, lower(user_name))`,
  `create index scim_user_external on scim_user (organisation, external_id)`,
  `create table scim_group (
     organisation text not null, id text not null, display_name text not null, external_id text,
     created_at timestamptz not null, updated_at timestamptz not null,
     primary key (organisation, id)
   )`,
  `create unique index scim_group_name on scim_group (organisation, lower(display_name))`,
  `create table scim_member (
     organisation text not null, group_id text not null, user_id text not null,
     primary key (organisation, group_id, user_id)
   )`,
  `create index scim_member_user on scim_member (organisation, user_id)`,
];

export class Directory1764000000054 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['scim_member', 'scim_group', 'scim_user']) await runner.query(`drop table ${table}`);
  }
}
