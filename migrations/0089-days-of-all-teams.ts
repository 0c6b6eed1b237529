/**
 * Notes the days that are there as changed since they were summed, and makes the indexes by which the lines of all
 * teams are found by their time, and work that is given up. Begun again, it finishes what it began: the days are noted
 * again, which does no harm. The last trigger says that everything is noted (src/store/cost/sums.ts).
 *
 * Expands only, and holds up nobody: it runs in no transaction.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isSpread, noteAfter } from './0088-spend-sums.js';

const INDEXES = [
  ['cost_day_day', 'cost_day (organisation, day)'],
  ['usage_hour_hour', 'usage_hour (organisation, hour)'],
  ['cost_hour_hour', 'cost_hour (organisation, hour)'],
  ['work_parked', 'work (organisation, stage) where parked_at is not null'],
] as const;

export class DaysOfAllTeams1764000000089 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const [before] = (await runner.query(`select current_setting('lock_timeout') as timeout`)) as [{ timeout: string }];
    // It waits for transactions that run, and nobody waits for it.
    await runner.query(`set lock_timeout = 0`);
    for (const [name, columns] of INDEXES) {
      const valid = `select 1 from pg_index where indexrelid = to_regclass('${name}') and indisvalid`;
      if (((await runner.query(valid)) as unknown[]).length > 0) continue;
      // One that is not valid, of a migration that was interrupted. A plain `drop` would stop who reads the table.
      await runner.query(`drop index concurrently if exists ${name}`);
      await runner.query(`create index concurrently ${name} on ${columns}`);
    }
    await runner.query(`set lock_timeout = '${before.timeout}'`);
    await runner.query(`insert into spend_stale (organisation, day) select distinct organisation, day from cost_day`);
    if (await isSpread(runner)) return;
    await runner.query(`drop trigger if exists spend_moved on cost_day`);
    await runner.query(noteAfter('moved', 'update', 'old'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger if exists spend_moved on cost_day`);
    await runner.query(`drop index if exists ${INDEXES.map(([name]) => name).join(', ')}`);
    // Without that trigger not every change is noted: what is summed now would lack some once it is there again.
    await runner.query(`truncate spend_stale, spend_zone, spend_local, spend_hour, spend_day, spend_week`);
  }
}
