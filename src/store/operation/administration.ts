/**
 * Facts about the database server for administrators. Reads only.
 */
import type { Queryable } from '../database.js';

export interface ServerFacts {
  /** As PostgreSQL states it: `18.1`. */
  readonly version: string;
  /** The server's clock, epoch milliseconds. */
  readonly now: number;
  readonly databaseBytes: number;
}

export async function serverFacts(db: Queryable): Promise<ServerFacts> {
  const [row] = await db.query<{ version: string; now: Date; bytes: string }>(
    `select current_setting('server_version') as version, clock_timestamp() as now, pg_database_size(current_database())::text as bytes`,
  );
  if (row === undefined) throw new Error('broken invariant: a select without a table gives a row');
  return { version: row.version, now: row.now.getTime(), databaseBytes: Number(row.bytes) };
}
