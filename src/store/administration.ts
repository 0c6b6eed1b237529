/**
 * What administrators ask of the database: facts about the server, and taking a team away.
 *
 * Never touches spend: what a removed team spent stays under its id.
 */
import { conflict, missing } from '../core/errors.js';
import type { Queryable } from './database.js';

export interface ServerFacts {
  /** As PostgreSQL states it: `18.1`. */
  readonly version: string;
  /** The server's clock, epoch milliseconds. */
  readonly now: number;
  readonly databaseBytes: number;
}

export async function serverFacts(db: Queryable): Promise<ServerFacts> {
  const [row] = await db.query<{ version: string; now: Date; bytes: string }>(
    `select current_setting('server_version') as version, clock_timestamp() as now, pg_database_size(current_database())::text as bytes`);
  if (row === undefined) throw new Error('broken invariant: a select without a table gives a row');
  return { version: row.version, now: row.now.getTime(), databaseBytes: Number(row.bytes) };
}

/**
 * Removes what is known of a team, not its spend.
 * @throws Failure missing where there is no such team, conflict while teams lie below it or budgets are set for it.
 */
export async function removeTeam(tx: Queryable, organisation: string, id: string): Promise<void> {
  const [team] = await tx.query(`select 1 from team where organisation = $1 and id = $2 for update`, [organisation, id]);
  if (team === undefined) throw missing(`team ${id} does not exist`);
  const holders = await tx.query<{ what: string }>(
    `select 'team ' || id as what from team where organisation = $1 and parent = $2
     union all select 'budget ' || id from budget where organisation = $1 and team = $2 order by 1 limit 20`, [organisation, id]);
  if (holders.length > 0) {
    throw conflict(`team ${id} is still needed: remove or move what hangs on it first`, holders.map(({ what }) => ({ path: null, message: `${what} hangs on it` })));
  }
  await tx.query(`delete from team where organisation = $1 and id = $2`, [organisation, id]);
}
