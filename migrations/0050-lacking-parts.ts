/**
 * What the last look at a connection could not read: regions and kinds, each with why and up to when it was read. The
 * rest of the look is kept without it. Expands only: old rows lack nothing.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LackingParts1764000000050 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table collection add column lacking jsonb not null default '[]'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table collection drop column lacking`);
  }
}
