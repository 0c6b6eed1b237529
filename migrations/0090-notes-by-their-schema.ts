/**
 * The function that notes changed days finds its table whatever the search path: `pg_restore --data-only` has none, and
 * lost the days. A `cost_day` that is emptied by `truncate` is noted too, since no other trigger sees that.
 *
 * Expands only: with one trigger more than it knows the version before reads nothing from the sums.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isSpread } from './0088-spend-sums.js';

const EMPTIED = `create function note_emptied_spend() returns trigger language plpgsql as $$
  begin
    insert into spend_stale (organisation, day) select distinct organisation, day from spend_day;
    return null;
  end $$`;

export class NotesByTheirSchema1764000000090 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [row] = (await runner.query(`select quote_ident(current_schema()) as schema`)) as { schema: string }[];
    await runner.query(EMPTIED);
    for (const name of ['note_stale_spend()', 'note_emptied_spend()'])
      await runner.query(`alter function ${name} set search_path = ${row?.schema ?? 'public'}, pg_temp`);
    if (await isSpread(runner)) return;
    await runner.query(`create trigger spend_emptied after truncate on cost_day
      for each statement execute function note_emptied_spend()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger if exists spend_emptied on cost_day`);
    await runner.query(`drop function note_emptied_spend()`);
    await runner.query(`alter function note_stale_spend() reset search_path`);
  }
}
