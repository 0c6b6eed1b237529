/**
 * Until when a process keeps a key of the work table to itself while it holds no transaction. Adds a column without a
 * default, which rewrites nothing; who does not know it never looks at it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Leases1764000000031 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work add column leased_until timestamptz`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work drop column leased_until`);
  }
}
