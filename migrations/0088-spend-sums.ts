/**
 * Sums of `cost_day` that questions about all teams read: of each team by week and by parts of days that zones divide,
 * and of all teams together by day and by hour (src/store/cost/sums.ts). A day whose `cost_day` has changed since it
 * was summed is in `spend_stale`.
 *
 * Triggers note the changes, because the version before, which may still run, knows nothing of these tables. They only
 * add rows, so that no transaction waits for another. Citus refuses triggers on tables that are spread: there they go
 * (src/store/distribution.ts), and nothing is read from these sums. The last trigger is made by the next migration,
 * when the days that are there have been noted: with fewer than all of them nothing is read from these sums either.
 *
 * Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Those of `cost_day`, of many of its rows: the counts are larger. */
const FIGURES = `records bigint not null, gpu_part_ms numeric, unpriced_part_ms numeric not null, unpriced_lines bigint not null,
  accrued numeric, actual numeric, billed numeric, effective numeric, list numeric,
  stated_part_ms numeric not null, stated_lines bigint not null`;

const UP = [
  `create table spend_week (
     organisation text not null, week date not null, team text not null, dimension bigint not null,
     currency text not null, shared_from text not null, alike smallint not null, ${FIGURES},
     primary key (organisation, week, team, dimension, currency, shared_from, alike))`,
  `create table spend_day (
     organisation text not null, day date not null, dimension bigint not null,
     currency text not null, shared_from text not null, ${FIGURES},
     primary key (organisation, day, dimension, currency, shared_from))`,
  `create table spend_hour (
     organisation text not null, hour timestamptz not null, dimension bigint not null, currency text not null, ${FIGURES},
     primary key (organisation, hour, dimension, currency))`,
  `create table spend_local (
     organisation text not null, day date not null, zone text not null, team text not null, local date not null,
     dimension bigint not null, currency text not null, ${FIGURES},
     primary key (organisation, day, zone, team, local, dimension, currency))`,
  `create table spend_zone (
     organisation text not null, day date not null, zone text not null, primary key (organisation, day, zone))`,
  `create table spend_stale (
     organisation text not null, day date not null, no bigint generated always as identity, primary key (organisation, day, no))`,
  `create function note_stale_spend() returns trigger language plpgsql as $$
   begin
     insert into spend_stale (organisation, day) select distinct organisation, day from changed;
     return null;
   end $$`,
];

/** After what happens to `cost_day`, and which of its rows say the day. */
const TRIGGERS = [
  ['inserted', 'insert', 'new'],
  ['deleted', 'delete', 'old'],
  ['updated', 'update', 'new'],
] as const;

export const noteAfter = (name: string, event: string, rows: string): string =>
  `create trigger spend_${name} after ${event} on cost_day
   referencing ${rows} table as changed for each statement execute function note_stale_spend()`;

/** Citus's documentation, "Citus Tables and Views". */
const SPREAD = `select 1 from pg_dist_partition where logicalrelid = 'cost_day'::regclass`;

/** Whether the table is on the nodes of a cluster. */
export async function isSpread(runner: QueryRunner): Promise<boolean> {
  const [found] = (await runner.query(`select to_regclass('pg_dist_partition') is not null as cluster`)) as [
    { cluster: boolean },
  ];
  return found.cluster && ((await runner.query(SPREAD)) as unknown[]).length > 0;
}

export class SpendSums1764000000088 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
    if (await isSpread(runner)) return;
    for (const [name, event, rows] of TRIGGERS) await runner.query(noteAfter(name, event, rows));
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name] of TRIGGERS) await runner.query(`drop trigger if exists spend_${name} on cost_day`);
    await runner.query(`drop function note_stale_spend()`);
    await runner.query(`drop table spend_stale, spend_zone, spend_local, spend_hour, spend_day, spend_week`);
  }
}
