/**
 * The distribution of the tables on a Citus cluster (docs/decisions/0002-distribution.md): the growing facts are spread
 * over its nodes, the tables that they join are on every node, and all others stay on the coordinator as plain
 * PostgreSQL tables. Without the extension this does nothing; if the extension is installed later, `bursar migrate`
 * distributes the existing tables.
 *
 * Followed: Citus's documentation, "Citus API", "Citus Utility Functions" (create_distributed_table,
 * create_reference_table) and "Citus Tables and Views" (pg_dist_partition).
 */

/** By the column that spreads them; those of one column lie together, so that one shard answers a join of them. */
export const SPREAD: Readonly<Record<string, readonly string[]>> = {
  team: ['usage_hour', 'cost_hour', 'cost_day', 'unmetered_line', 'carried_run'],
  source: ['block', 'usage_id', 'usage_statement', 'sample', 'sample_recent', 'sample_hour'],
  workload: ['workload_metric'],
};

/** The tables that the views join with the facts. A write to one is made on every node, in two phases. */
export const EVERYWHERE: readonly string[] = [
  'team',
  'dimension',
  'delivery',
  'bill_claim',
  'bill_name',
  'metered_day',
];

/** The functions that those views call. */
const FUNCTIONS = ['account_key(text)'];

/** They note which days the sums of all teams lack; without them nobody reads these sums (src/store/cost/sums.ts). */
const STALE_TRIGGERS = ['spend_inserted', 'spend_deleted', 'spend_updated', 'spend_moved', 'spend_emptied'];

interface Asked {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Spreads the tables that are not spread yet. @returns their names */
export async function distribute(client: Asked): Promise<string[]> {
  const { rows } = await client.query(`select 1 from pg_extension where extname = 'citus'`);
  if (rows.length === 0) return [];
  const made: string[] = [];
  for (const table of EVERYWHERE)
    if (await isPlain(client, table)) {
      await client.query(`select create_reference_table($1::text::regclass)`, [table]);
      made.push(table);
    }
  for (const [column, tables] of Object.entries(SPREAD))
    for (const table of tables)
      if (await isPlain(client, table)) {
        const group = table === tables[0] ? 'none' : tables[0];
        // Citus spreads no table that has triggers.
        if (table === 'cost_day')
          for (const name of STALE_TRIGGERS) await client.query(`drop trigger if exists ${name} on cost_day`);
        await client.query(`select create_distributed_table($1::text::regclass, $2::text, colocate_with => $3::text)`, [
          table,
          column,
          group,
        ]);
        made.push(table);
      }
  if (made.length > 0)
    for (const name of FUNCTIONS)
      await client.query(`select create_distributed_function($1::text::regprocedure)`, [name]);
  return made;
}

async function isPlain(client: Asked, table: string): Promise<boolean> {
  const { rows } = await client.query(
    `select 1 from pg_class where oid = to_regclass($1::text) and not exists (select 1 from pg_dist_partition where logicalrelid = pg_class.oid)`,
    [table],
  );
  return rows.length > 0;
}
