/**
 * Databases for tests on one server, or on every node of a Citus cluster that `CITUS_URL` names: a database of its
 * coordinator, which is only asked for the other nodes. A copy of a database there is a copy on every node: which shard
 * lies where is written by address, and so holds for the copy.
 *
 * Followed: Citus's documentation, "Creating a New Database" and "Citus Utility Functions".
 */
import { Client } from 'pg';

/** How long a test may take that has a limit of its own, in milliseconds: on a cluster each statement is several. */
export const limit = (milliseconds: number): number => milliseconds * (process.env['TEST_CITUS_URL'] ? 5 : 1);

/** The servers' maintenance databases, the coordinator first; one where it is no cluster. */
export type Nodes = readonly [string, ...string[]];

export async function nodesOf(coordinator: string): Promise<Nodes> {
  const rows = await onServer<{ host: string; port: number }>(
    coordinator,
    `select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' and groupid <> 0 order by 1, 2`,
  );
  return [
    maintenance(coordinator),
    ...rows.map(({ host, port }) => {
      const url = new URL(coordinator);
      url.hostname = host;
      url.port = String(port);
      return maintenance(url.href);
    }),
  ];
}

const maintenance = (url: string): string => databaseOf(url, 'postgres');

/** The address of a server's database. */
export function databaseOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** An empty database; on a cluster its nodes know each other. */
export async function createDatabase(nodes: Nodes, name: string): Promise<void> {
  const [coordinator, ...workers] = nodes;
  for (const node of nodes) await onServer(node, `create database ${name}`);
  if (workers.length === 0) return;
  for (const node of nodes) await onServer(databaseOf(node, name), `create extension citus`);
  const { hostname, port } = new URL(coordinator);
  const here = databaseOf(coordinator, name);
  await onServer(here, `select citus_set_coordinator_host($1, $2::int)`, [hostname, port || 5432]);
  for (const worker of workers) {
    const other = new URL(worker);
    await onServer(here, `select citus_add_node($1, $2::int)`, [other.hostname, other.port || 5432]);
  }
}

/** From now on it is only copied: whoever is connected, Citus's own upkeep among them, keeps it from being copied. */
export async function sealDatabase(nodes: Nodes, name: string): Promise<void> {
  if (nodes.length === 1) return;
  for (const node of nodes) {
    await onServer(node, `alter database ${name} with allow_connections false`);
    await onServer(node, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1`, [name]);
  }
}

/** File by file where no file has to reach the disk: page by page through the journal costs seven times as much. */
export async function copyDatabase(nodes: Nodes, name: string, template: string): Promise<void> {
  const copy = async (node: string): Promise<void> => {
    const [{ fsync } = { fsync: 'on' }] = await onServer<{ fsync: string }>(node, `show fsync`);
    const how = fsync === 'off' ? 'strategy file_copy' : '';
    await onServer(node, `create database ${name} template ${template} ${how}`);
  };
  await Promise.all(nodes.map(copy));
}

export async function dropDatabase(nodes: Nodes, name: string): Promise<void> {
  // The upkeep of the other nodes would connect again between the end of its connections and the drop.
  await sealDatabase(nodes, name).catch(() => undefined);
  await Promise.all(nodes.map((node) => onServer(node, `drop database if exists ${name} with (force)`)));
}

async function onServer<Row>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Row[];
  } finally {
    await client.end();
  }
}
