/**
 * What acting needs: actions with their events, the kill switch, and what a recommendation knows of its action.
 *
 * Two invariants are the database's own: one target has at most one live action (a rollback stands in the place of what
 * it takes back), and a recommendation has at most one open action. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table action (
  organisation text not null, id text not null, no bigint generated always as identity, team text not null, connection text not null, target text not null,
  effect jsonb not null, state text not null, state_at timestamptz not null, mode text not null, recommendation text, policy text, document text, subject jsonb,
  rollback_of text, taken_back_by text, under_stop boolean not null default false, token text,
  proposed_by text not null, proposed_at timestamptz not null, evidence_at timestamptz, expires_at timestamptz not null,
  approved_by text, approved_at timestamptz, intended_at timestamptz, asked_at timestamptz, applied_at timestamptz, confirmed_at timestamptz, ended_at timestamptz,
  gpus double precision, replicas double precision, before jsonb, before_at timestamptz, after jsonb, after_at timestamptz, reasons jsonb not null default '[]',
  primary key (organisation, id),
  check (state in ('proposed', 'approved', 'intended', 'applied', 'confirmed', 'measured', 'refused', 'failed', 'rolled-back', 'expired')),
  check ((token is null) = (intended_at is null)), check (asked_at is null or token is not null)
);
create unique index action_live on action (organisation, connection, target) where state in ('approved', 'intended', 'applied') and taken_back_by is null;
create unique index action_open on action (organisation, recommendation) where state in ('proposed', 'approved', 'intended', 'applied') and recommendation is not null;
create index action_team on action (organisation, team, state);
create index action_recent on action (organisation, intended_at) where intended_at is not null;
create index action_target on action (organisation, connection, target);
create index action_rollback on action (organisation, rollback_of) where rollback_of is not null;
create index action_of on action (organisation, recommendation, no) where recommendation is not null;
create table action_event (
  organisation text not null, action text not null, no int not null, at timestamptz not null, from_state text, to_state text not null, actor text not null,
  code text not null, detail jsonb not null default '{}',
  primary key (organisation, action, no)
);
create table kill_switch (
  organisation text not null, scope text not null check (scope in ('all', 'team', 'provider')), name text not null default '',
  reason text not null default '', set_at timestamptz not null, set_by text not null,
  primary key (organisation, scope, name), check ((scope = 'all') = (name = ''))
);
alter table recommendation add column lapsed_at timestamptz;
alter table recommendation add column obstacle jsonb;`;

export class Actions1764000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table recommendation drop column obstacle, drop column lapsed_at`);
    await runner.query(`drop table kill_switch, action_event, action`);
  }
}
