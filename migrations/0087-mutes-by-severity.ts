/**
 * The highest severity that a mute covers: the button under a warning must not silence the critical message. Null, as of
 * all that are there: any. Expands only: the version before makes mutes of any severity.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MutesBySeverity1764000000087 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table alert_mute add column up_to text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table alert_mute drop column up_to`);
  }
}
