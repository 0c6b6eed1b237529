/**
 * When recommendations of a team were last made, so that whoever asks why there is none can be told. Expands only. A
 * small table: a reference table on Citus.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const CITUS = `
do $$
begin
  if exists (select 1 from pg_extension where extname = 'citus') then
    perform create_reference_table('team_look');
  end if;
end $$;`;

export class TeamLooks1764000000036 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table team_look (
         organisation text not null, team text not null, at timestamptz not null, primary key (organisation, team))`,
    );
    await runner.query(CITUS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table team_look`);
  }
}
