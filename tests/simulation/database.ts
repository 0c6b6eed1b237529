/**
 * The database of simulations: a test database in which tables that only grow are held to it, and from which an
 * organisation can be taken out whole.
 *
 * Call `simulationDatabase` where `freshDatabase` may be called: at the top of a file or of a describe block.
 */
import { afterAll } from 'vitest';
import { Database, type Transaction } from '../../src/store/database.js';
import { freshDatabase } from '../support/database.js';

const APPEND_ONLY = [
  'action_event',
  'audit',
  'counterfactual',
  'policy_backtest',
  'price_event',
  'rule_set',
  'saving_line',
  'usage_id',
];

const SETUP = `
create function only_added() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'usage_id' and coalesce(current_setting('simulation.undoes', true), '') = 'on' then return null; end if;
  if coalesce(current_setting('simulation.forgets', true), '') <> 'on' then raise exception 'append-only: % of %', tg_op, tg_table_name; end if;
  return null;
end $$;
create function forget(gone text) returns void language plpgsql as $$
declare one regclass;
begin
  perform set_config('simulation.forgets', 'on', true);
  -- The audit's own triggers know no exception.
  perform set_config('session_replication_role', 'replica', true);
  for one in select attrelid::regclass from pg_attribute a join pg_class c on c.oid = a.attrelid where attname = 'organisation' and relkind = 'r' and relnamespace = 'public'::regnamespace
  loop execute format('delete from %s where organisation = $1', one) using gone; end loop;
  delete from organisation where id = gone;
end $$;`;

/**
 * Within the transaction an import may be taken back: what it was known by goes with it. And small deliveries may be
 * merged: what they were known by moves.
 */
export async function mayUndo(tx: Transaction): Promise<void> {
  await tx.query(`select set_config('simulation.undoes', 'on', true)`);
}

export async function simulationDatabase(): Promise<Database> {
  const { url } = await freshDatabase();
  const db = await Database.open(url, 6);
  afterAll(() => db.close());
  await db.query(SETUP);
  for (const table of APPEND_ONLY)
    await db.query(
      `create trigger only_added before update or delete on ${table} for each statement execute function only_added()`,
    );
  // What was told stays as it was told; under which plan it holds, and when it ceased to, is noted beside it. What held
  // no more before anybody was told goes: that none is missing which holds, the laws ask (laws.ts).
  await db.query(
    `create trigger only_added before update of organisation, budget, period_start, kind, ratio, round
     on crossing for each statement execute function only_added()`,
  );
  await db.query(
    `create trigger only_untold before delete on crossing for each row when (old.rearmed_at is not null)
     execute function only_added()`,
  );
  return db;
}

/** Takes a simulated organisation out, with all that it has. */
export async function forget(db: Database, organisation: string): Promise<void> {
  await db.query(`select forget($1)`, [organisation]);
}
