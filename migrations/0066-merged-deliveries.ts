/**
 * Small deliveries of a source and day that are kept as one (docs/decisions/0018-merged-deliveries.md). Expands only.
 *
 * `delivery.merged_day` and `.members`: of one that was made of others its day and what their rows were. `block.members`
 * and `.counts`: which of them its records are of, in runs, in the order of the records; `usage_id` has the same of its
 * digests, and `first_version`, the oldest version in them (`version` is the newest).
 *
 * Taking the migration back leaves the sums and what is known of ids as they are; imports that were merged can no
 * longer be taken back one by one.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MergedDeliveries1764000000066 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table delivery add column merged_day date, add column members jsonb`);
    await runner.query(`alter table block add column members bigint[], add column counts int[]`);
    await runner.query(
      `alter table usage_id add column members bigint[], add column counts int[], add column first_version bigint`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table usage_id drop column members, drop column counts, drop column first_version`);
    await runner.query(`alter table block drop column members, drop column counts`);
    await runner.query(`alter table delivery drop column merged_day, drop column members`);
  }
}
