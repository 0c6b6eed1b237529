/**
 * Facts of bills that are kept apart by what they are: civil dates or instants, how many days a line reaches over, and
 * which amounts its bill leaves unstated. So a day of a bill is no hour of UTC, a month's fee is shared by the month's
 * use, and a sum of effective costs can say what is in none of it.
 *
 * Expands only: facts of before count as instants of one day with every amount stated, until the sums of each bill are
 * made again from its records, which this wakes.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table dimension add column civil boolean not null default false, add column days int not null default 1 check (days >= 1),
  add column unstated text[] not null default '{}';`;

export class DatedBills1764000000025 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
    const bills = (await runner.query(
      `select organisation, source, source || '/' || id as key from delivery where scope is not null`,
    )) as { organisation: string; source: string; key: string }[];
    await runner.query(
      `insert into work (organisation, lane, stage, key, wanted)
       select organisation, lane, 'usage.allocate', key, 1 from unnest($1::text[], $2::text[], $3::text[]) as w(organisation, lane, key)
       on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, parked_at = null, attempts = 0`,
      [bills.map((bill) => bill.organisation), bills.map((bill) => bill.source), bills.map((bill) => bill.key)],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table dimension drop column civil, drop column days, drop column unstated`);
  }
}
