/**
 * When recommendations of a team were last made, so that whoever asks why there is none can be told. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TeamLooks1764000000036 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table team_look (
         organisation text not null, team text not null, at timestamptz not null, primary key (organisation, team))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table team_look`);
  }
}
