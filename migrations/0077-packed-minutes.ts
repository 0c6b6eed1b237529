/**
 * Beside the samples of a packed hour the minutes of its resources, as policies see them. Expands only: where a row has
 * none (the version before wrote it), its samples are read. It says nothing of its storage, which Citus would refuse of
 * a table that is spread: of a long row the samples, which are larger, go out of it first.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PackedMinutes1764000000077 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table sample_hour add column minutes bytea`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table sample_hour drop column minutes`);
  }
}
