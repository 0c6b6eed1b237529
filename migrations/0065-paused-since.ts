/** Since when a stage puts a key back without doing it, so that whoever runs it knows for how long. Expands only. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PausedSince1764000000065 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work add column paused_at timestamptz`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table work drop column paused_at`);
  }
}
