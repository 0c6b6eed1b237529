/**
 * When a target of the fleet was last seen to start after it had stood still: tells whether somebody has started what
 * an action had stopped. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StartedTargets1764000000038 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table fleet_target add column started_at timestamptz`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table fleet_target drop column started_at`);
  }
}
