/**
 * A threshold that was told can be told again in the same period, once its budget was raised so far that the spend is
 * below it: `round` counts the tellings, and `rearmed_at` is when the last one stopped holding, `plan_nanos` the highest plan under which it held. What was told stays, as
 * it was told. Expands: a process of before writes round 1, and takes a threshold that was told for told.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const KEY = 'organisation, budget, period_start, kind, ratio';

export class ToldAgain1764000000026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `alter table crossing add column round int not null default 1, add column rearmed_at timestamptz, add column plan_nanos numeric`,
    );
    await runner.query(`alter table crossing drop constraint crossing_pkey`);
    await runner.query(`alter table crossing add primary key (${KEY}, round)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`delete from crossing where round > 1`);
    await runner.query(`alter table crossing drop constraint crossing_pkey`);
    await runner.query(`alter table crossing drop column round, drop column rearmed_at, drop column plan_nanos`);
    await runner.query(`alter table crossing add primary key (${KEY})`);
  }
}
