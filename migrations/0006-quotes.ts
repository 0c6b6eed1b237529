/**
 * What quotes need: budget that is held for launches to come. A reservation holds an amount on each budget over its
 * team, in that budget's currency, and what usage with its tag has cost there is noted beside it by the weighing of
 * that budget. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table reservation (
  organisation text not null, id text not null, no bigint generated always as identity, team text not null, nanos numeric not null check (nanos >= 0), currency text not null,
  reason text not null default '', quote jsonb not null, created_at timestamptz not null, created_by text not null, expires_at timestamptz not null,
  released_at timestamptz, released_by text,
  primary key (organisation, id)
);
create index reservation_newest on reservation (organisation, no);
create table reservation_hold (
  organisation text not null, budget text not null, reservation text not null, at timestamptz not null, nanos numeric not null check (nanos >= 0),
  used_nanos numeric not null default 0, currency text not null, expires_at timestamptz not null,
  primary key (organisation, budget, reservation)
);
create index reservation_hold_live on reservation_hold (organisation, budget, expires_at);
create index reservation_hold_of on reservation_hold (organisation, reservation);
create index dimension_reservation on dimension (organisation, (tags->>'bursar.io/reservation')) where tags->>'bursar.io/reservation' is not null;`;

export class Quotes1764000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index dimension_reservation`);
    await runner.query(`drop table reservation_hold, reservation`);
  }
}
