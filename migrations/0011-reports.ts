/**
 * Monthly reports: one per team and month, as it was made last, and when it was announced. `team` is in the key and is
 * the distribution column (docs/decisions/0002-distribution.md). Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table report (
  organisation text not null, team text not null, month text not null check (month ~ '^[0-9]{4}-[0-9]{2}$'),
  body json not null, made_at timestamptz not null, announced_at timestamptz,
  primary key (organisation, team, month)
);
create index report_month on report (organisation, month desc, team);`;

export class Reports1764000000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table report`);
  }
}
