/**
 * In which trace a piece of work was woken, so that the run of a stage is linked to what caused it. Expands only: who
 * does not know the column leaves it null.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Wakers1764000000013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work add column waker text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work drop column waker`);
  }
}
