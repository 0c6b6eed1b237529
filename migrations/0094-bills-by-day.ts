/**
 * Whether hours of a bill's lines count on a summed day, and whether GPU time of others does not yet: where both stand
 * side by side, it matters on which side of a midnight an hour is (src/store/cost/local-days.ts). Null, as of all days
 * that are there: not known. The days that bills which are not final tell of are summed anew.
 *
 * Expands only: what the version before sums has null.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BillsByDay1764000000094 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table spend_day add column has_counted boolean, add column has_open boolean`);
    await runner.query(
      `insert into spend_stale (organisation, day)
       select distinct s.organisation, s.day from spend_day s join delivery v on v.organisation = s.organisation
         and v.scope is not null and not v.closed
         and s.day >= (least(v.period_start, lower(v.reach)) at time zone 'UTC')::date - 1
         and s.day <= (greatest(v.period_end, upper(v.reach)) at time zone 'UTC')::date + 1`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table spend_day drop column has_counted, drop column has_open`);
  }
}
