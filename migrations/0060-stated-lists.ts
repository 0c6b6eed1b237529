/**
 * What a price list stated: the number of its statement, and which prices it stated again that an earlier list had
 * stated, so that the list can be taken back whole. Expands only; lists from before keep none.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StatedLists1764000000060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table import add column price_statement jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table import drop column price_statement`);
  }
}
