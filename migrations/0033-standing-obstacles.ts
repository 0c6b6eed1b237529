/**
 * All that stands against a recommendation, beside the first; and what a connection can carry out, as its last reading
 * of the fleet knew. Expands only: what is null is not known.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StandingObstacles1764000000033 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table recommendation add column obstacles jsonb`);
    await runner.query(`alter table fleet_reading add column effects text[]`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table fleet_reading drop column effects`);
    await runner.query(`alter table recommendation drop column obstacles`);
  }
}
