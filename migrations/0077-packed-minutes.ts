/**
 * Beside the samples of a packed hour the minutes of its resources, as policies see them. Expands only: where a row has
 * none (the version before wrote it), its samples are read.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PackedMinutes1764000000077 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table sample_hour add column minutes bytea`);
    // In the row, which the samples beside it are not: who reads minutes reads nothing else.
    await runner.query(`alter table sample_hour alter column minutes set storage main`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table sample_hour drop column minutes`);
  }
}
