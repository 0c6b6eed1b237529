/**
 * How each zone divided a day when it was summed: the rules of zones change, sometimes for days that have passed. What
 * was summed by other rules than those of now is not read. Null, as of all days that are there: not known.
 *
 * Expands only: the version before reads all that is there, as it did.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DividedByRules1764000000091 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table spend_zone add column parts text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table spend_zone drop column parts`);
  }
}
