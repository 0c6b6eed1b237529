/**
 * Functions that run with the rights of the tables' owner look names up in pg_temp last: what the caller makes there
 * does not stand for a table of Bursar's (PostgreSQL's documentation, "Writing SECURITY DEFINER Functions Safely").
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FUNCTIONS = ['seal_audit()', 'sample_hour_day(date)', 'drop_sample_hours(timestamptz)'];

export class DefinerPaths1764000000083 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [row] = (await runner.query(`select quote_ident(current_schema()) as schema`)) as { schema: string }[];
    for (const name of FUNCTIONS)
      await runner.query(`alter function ${name} set search_path = ${row?.schema ?? 'public'}, pg_temp`);
  }

  async down(runner: QueryRunner): Promise<void> {
    // As `from current` does, which a Citus cluster refuses for functions that are on all of its nodes.
    const [row] = (await runner.query(`select current_setting('search_path') as path`)) as { path: string }[];
    for (const name of FUNCTIONS)
      await runner.query(`alter function ${name} set search_path = ${row?.path ?? 'public'}`);
  }
}
