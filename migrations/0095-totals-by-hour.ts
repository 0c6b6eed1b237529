/**
 * What all teams and all dimensions cost together: with tracked tags a day has thousands of dimensions, and a question
 * about days needs none of them (src/store/cost/sums.ts). A `part` is a whole day (`day`), what of it has dates and no
 * hours (`dates`: lines of civil dates, shares), or one of its hours (`hour`). `spend_day.has_totals` says of which days this is there: of none yet; they are summed anew, and read by
 * dimension until then.
 *
 * Expands only: the version before, which may still run, sums days that do not have it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TotalsByHour1764000000095 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table spend_day add column has_totals boolean`);
    await runner.query(
      `create table spend_total (
         organisation text not null, day date not null, part text not null, hour timestamptz not null,
         currency text not null, actual numeric, billed numeric, effective numeric, list numeric, set_aside numeric,
         counts boolean not null, is_billed boolean not null,
         primary key (organisation, day, part, hour, currency))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table spend_total`);
    await runner.query(`alter table spend_day drop column has_totals`);
  }
}
