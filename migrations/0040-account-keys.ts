/**
 * One account under several spellings is one: the path that Microsoft's FOCUS export writes, capitals, and leading
 * zeros that a spreadsheet drops. `account_key` says the same as `accountKey` of core/bill/counting.ts.
 *
 * And the view `hour_line` looks up whether a line's bill is final instead of joining the bill: without statistics, as
 * after a first large import, a planner read all lines of the bill for each day of each team.
 *
 * Expands only. The claims of every provider with a bill are placed anew by the settling of bills, which this wakes.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ABOUT, lines, LINES, setAsideBy, UNREACHED } from './0034-late-lines.js';

const KEY = `
create function account_key(name text) returns text language sql immutable parallel safe as $$
  select case when id ~ '^0+[0-9]+$' then regexp_replace(id, '^0+(?=[0-9])', '') else id end
  from (select regexp_replace(lower(btrim(name)),
    '^/(subscriptions|providers/microsoft\\.billing/billingaccounts)/(.*/)?', '') as id) t
$$`;

export const LOOKED_UP = {
  from: '',
  closed: '(select v.closed from delivery v where v.organisation = u.organisation and v.id = u.delivery)',
};

const WAKE = `
insert into work (organisation, lane, stage, key, wanted)
select distinct organisation, 'bills', 'bill.settle', 'bills', 1 from delivery where scope is not null
on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, parked_at = null, attempts = 0`;

export class AccountKeys1764000000040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(KEY);
    await runner.query(setAsideBy(ABOUT, UNREACHED, (name) => `account_key(${name})`));
    await runner.query(lines(...LINES, LOOKED_UP));
    await runner.query(WAKE);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(lines(...LINES));
    await runner.query(setAsideBy(ABOUT, UNREACHED));
    await runner.query(`drop function account_key`);
  }
}
