/**
 * Days of samples are dropped by a name that is known to hold a date. The condition of before could be asked of every
 * table that there is, since PostgreSQL chooses the order of conditions: with some months of days it failed, and nothing
 * of a tidying was deleted (PostgreSQL's documentation, "Expression Evaluation Rules").
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const DATED = `(to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= before`;
const CHECKED = `case when c.relname ~ '^sample_hour_[0-9]{8}$' then ${DATED} else false end`;

export class DroppedDays1764000000085 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await swap(runner, DATED, CHECKED);
  }

  async down(runner: QueryRunner): Promise<void> {
    await swap(runner, CHECKED, DATED);
  }
}

/** The function stays as it is but for this condition. */
async function swap(runner: QueryRunner, from: string, to: string): Promise<void> {
  const [row] = (await runner.query(
    `select pg_get_functiondef('drop_sample_hours(timestamptz)'::regprocedure) as text`,
  )) as { text: string }[];
  if (!row?.text.includes(from)) throw new Error(`drop_sample_hours(timestamptz) has no condition ${from}`);
  await runner.query(row.text.replace(from, () => to));
}
