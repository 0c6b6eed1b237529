/**
 * Who paused a policy document, beside who wrote it: pausing used to make its own author of whoever did it, and so lifted
 * the rule that an author may not approve. Adds columns that nobody has to know.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WhoPaused1764000000029 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table policy add column paused_at timestamptz, add column paused_by text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table policy drop column paused_at, drop column paused_by`);
  }
}
