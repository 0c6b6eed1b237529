/**
 * Runs one statement on one connection. Frequent statements keep a name there, so that PostgreSQL parses them once and
 * plans them rarely: planning is most of the work of a small statement.
 *
 * Knows texts, not their meaning. Never names statements whose text a request could vary without bound, and never keeps
 * a plan for long.
 */
import type { PoolClient, QueryConfig } from 'pg';

/** Anything that runs a statement: the pool, or one transaction. */
export interface Queryable {
  query<Row = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/** Beyond so many texts none gets a name: what a request shapes cannot fill the server's memory. */
const MOST_NAMES = 1000;
/**
 * `$3::text is null or ...`: a condition that falls away with its value. The plan for all values reads what the plan
 * for these ones need not.
 */
const OPTIONAL_CONDITION = /\$\d+(?:::\w+(?:\[\])?)? is (?:not )?null\b/;
/** By text; null: it has none. */
const names = new Map<string, string | null>();

/**
 * A kept plan suits the tables as they were: one that was made for an empty table reads all of it, until the server
 * next analyses what has grown since.
 */
const PLANS_MILLISECONDS = 5000;
const plannedSince = new WeakMap<PoolClient, number>();

/**
 * The rows that it gives; none if the text is several statements, which cannot have parameters. After so many
 * milliseconds without an answer the client library gives the connection up.
 */
export async function rowsOf<Row>(
  client: PoolClient,
  sql: string,
  parameters: readonly unknown[],
  milliseconds: number,
): Promise<Row[]> {
  const name = nameOf(sql, parameters);
  if (name !== null) await forgetOldPlans(client);
  // The library's types leave `query_timeout` out.
  const statement: QueryConfig & { readonly query_timeout: number } = {
    text: sql,
    query_timeout: milliseconds,
    ...(parameters.length > 0 ? { values: [...parameters] } : {}),
    ...(name === null ? {} : { name }),
  };
  const result: unknown = await client.query(statement);
  return isOneResult(result) ? (result.rows as Row[]) : [];
}

/** Several statements give a list of results. */
function isOneResult(result: unknown): result is { readonly rows: unknown[] } {
  return typeof result === 'object' && result !== null && 'rows' in result;
}

/** PostgreSQL chooses between a kept plan and a new one (its documentation, "PREPARE", "Notes"). */
function nameOf(sql: string, parameters: readonly unknown[]): string | null {
  if (parameters.length === 0) return null;
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known ?? null;
  const name = OPTIONAL_CONDITION.test(sql) ? null : `bursar-${names.size}`;
  names.set(sql, name);
  return name;
}

async function forgetOldPlans(client: PoolClient): Promise<void> {
  const now = performance.now();
  const since = plannedSince.get(client);
  if (since !== undefined && now - since < PLANS_MILLISECONDS) return;
  plannedSince.set(client, now);
  if (since !== undefined) await client.query('discard plans');
}
