/**
 * Holds tables that only grow to it: in the simulation's database a row of them that is changed or removed is an error of the statement that tries.
 */
import type { Database } from '../../src/store/database.js';

const APPEND_ONLY = ['action_event', 'audit', 'counterfactual', 'crossing', 'policy_backtest', 'price_event', 'rule_set', 'saving_line', 'usage_id'];

export async function holdAppendOnly(db: Database): Promise<void> {
  await db.query(`create function only_added() returns trigger language plpgsql as $$ begin raise exception 'append-only: % of %', tg_op, tg_table_name; end $$`);
  for (const table of APPEND_ONLY) await db.query(`create trigger only_added before update or delete on ${table} for each statement execute function only_added()`);
}
