/**
 * Jobs as they were said and seen, kept when their machine leaves the fleet: a backtest is of what ran, most of which
 * is gone. A row for each UTC day on which something new was said of a job's work, so that a job which says hourly what
 * is left of it is no longer known by its last word alone. Expands only; begins with what is known now.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table recorded_job (
  organisation text not null, workload text not null, started timestamptz not null, said_on date not null, team text not null, facts jsonb not null,
  first_seen_at timestamptz not null, seen_at timestamptz not null,
  primary key (organisation, workload, started, said_on)
);
create index recorded_job_team on recorded_job (organisation, team, seen_at);
insert into recorded_job
  select organisation, id, coalesce(to_timestamp((facts #>> '{job,startedAt}')::double precision / 1000), '-infinity'),
    coalesce((to_timestamp((facts #>> '{work,since}')::double precision / 1000) at time zone 'UTC')::date, '-infinity'), team, facts, seen_at, seen_at
  from workload where jsonb_typeof(facts -> 'job') = 'object';`;

export class RecordedJobs1764000000019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table recorded_job`);
  }
}
