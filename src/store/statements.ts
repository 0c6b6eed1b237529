/**
 * Runs one statement on one connection. Frequent statements keep a name there, so that PostgreSQL parses them once and
 * plans them rarely: planning is most of the work of a small statement.
 *
 * Knows texts, not their meaning. Never keeps more than a bounded part of the server's memory, and no plan for long.
 */
import { createHash } from 'node:crypto';
import type { PoolClient, QueryConfig } from 'pg';

/** Anything that runs a statement: the pool, or one transaction. */
export interface Queryable {
  query<Row = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/**
 * What a connection keeps takes the server some 160 bytes of memory for each character of its texts (245 questions of
 * the explorer, 8,000 characters each: 300 MB): one with more than this is closed when it is given back.
 */
const MOST_CHARACTERS = 400_000;
/** Longer ones are shaped by requests, in hundreds of ways, and parsing is little of their work. */
const LONGEST = 3000;
/**
 * `$3::text is null or ...`: a condition that falls away with its value. The plan for all values reads what the plan
 * for these ones need not.
 */
const OPTIONAL_CONDITION = /\$\d+(?:::\w+(?:\[\])?)? is (?:not )?null\b/;

interface Kept {
  readonly names: Map<string, string>;
  characters: number;
  plannedSince: number;
}

const keptBy = new WeakMap<PoolClient, Kept>();

/**
 * A kept plan suits the tables as they were: one that was made for an empty table reads all of it, until the server
 * next analyses what has grown since.
 */
const PLANS_MILLISECONDS = 5000;

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
  const name = parameters.length > 0 && isKept(sql) ? await nameOf(client, sql, milliseconds) : null;
  const statement: Limited = {
    text: sql,
    query_timeout: milliseconds,
    ...(parameters.length > 0 ? { values: [...parameters] } : {}),
    ...(name === null ? {} : { name }),
  };
  const result: unknown = await client.query(statement);
  return isOneResult(result) ? (result.rows as Row[]) : [];
}

/** The library's types leave it out. */
type Limited = QueryConfig & { readonly query_timeout: number };

/** Several statements give a list of results. */
function isOneResult(result: unknown): result is { readonly rows: unknown[] } {
  return typeof result === 'object' && result !== null && 'rows' in result;
}

/** Whether it keeps so much that another connection should take its place. */
export const isFull = (client: PoolClient): boolean => (keptBy.get(client)?.characters ?? 0) > MOST_CHARACTERS;

const isKept = (sql: string): boolean => sql.length <= LONGEST && !OPTIONAL_CONDITION.test(sql);

/**
 * PostgreSQL chooses between a kept plan and a new one (its documentation, "PREPARE", "Notes"). A name stands for one
 * text on every connection: a pooler that lends transactions is refused by a server, but not by a command, and there
 * the name of another text would run that text.
 */
async function nameOf(client: PoolClient, sql: string, milliseconds: number): Promise<string> {
  const now = performance.now();
  const kept = keptBy.get(client) ?? { names: new Map<string, string>(), characters: 0, plannedSince: now };
  keptBy.set(client, kept);
  if (now - kept.plannedSince >= PLANS_MILLISECONDS) {
    kept.plannedSince = now;
    const forget: Limited = { text: 'discard plans', query_timeout: milliseconds };
    await client.query(forget);
  }
  const known = kept.names.get(sql);
  if (known !== undefined) return known;
  const name = `bursar-${createHash('sha256').update(sql).digest('base64url')}`;
  kept.names.set(sql, name);
  kept.characters += sql.length;
  return name;
}
