/**
 * Starts what the system tests share, once per run, and stops everything that it started: the compiled product in
 * dist/, one PostgreSQL (embedded, or the one that TEST_DATABASE_URL names) with a migrated template database, and
 * one Redis where `redis-server` is on the PATH.
 *
 * It never touches a database that it did not make.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { createDatabase, databaseOf, dropDatabase, nodesOf, sealDatabase, type Nodes } from './cluster.js';
import { findProgram } from './programs.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server's maintenance database: tests never write to it, they take a copy by freshDatabase(). */
    serverUrl: string;
    /** The same for each node of a cluster. */
    nodes: Nodes;
    /** The migrated database that freshDatabase() copies. */
    templateName: string;
    /** The empty one that emptyDatabase() copies. */
    emptyName: string;
    /** The shared Redis, or null where no redis-server was found; take a database of it by freshRedis(). */
    redisUrl: string | null;
  }
}

const ROOT = path.resolve(import.meta.dirname, '../..');

interface Shared {
  readonly context: ProvidedContext;
  stop(): Promise<void>;
}

/** One for the process, whichever project comes first: each loads this file for itself. */
const global = globalThis as { bursarTests?: { users: number; shared: Promise<Shared> } };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const own = (global.bursarTests ??= { users: 0, shared: start() });
  own.users += 1;
  const { context, stop } = await own.shared;
  for (const [name, value] of Object.entries(context))
    project.provide(name as keyof ProvidedContext & string, value as never);
  return async () => {
    own.users -= 1;
    if (own.users === 0) await stop();
  };
}

async function start(): Promise<Shared> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-test-'));
  // What is started goes on top; stopping takes from the top.
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (let last = stops.pop(); last; last = stops.pop()) await last();
  };
  try {
    await build();
    const serverUrl = await startPostgres(folder, stops);
    const nodes: Nodes = process.env['TEST_CITUS_URL'] ? await nodesOf(process.env['TEST_CITUS_URL']) : [serverUrl];
    const templateName = await makeTemplate(nodes, stops);
    const emptyName = nodes.length === 1 ? 'template0' : await makeEmpty(nodes, stops);
    return { context: { serverUrl, nodes, templateName, emptyName, redisUrl: await startRedis(folder, stops) }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Child processes of tests run dist/. Types are not looked at here: `npm run typecheck` is where a wrong one fails. */
async function build(): Promise<void> {
  const tsc = path.join(ROOT, 'node_modules/typescript-7/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: ROOT }).catch(
    (error: { stdout: string }) => {
      process.stderr.write(`The build reports errors; the tests run on what it wrote:\n${error.stdout}`);
    },
  );
  await promisify(execFile)(process.execPath, ['scripts/build-dashboard.mjs'], { cwd: ROOT });
}

async function startPostgres(folder: string, stops: (() => Promise<unknown>)[]): Promise<string> {
  const given = process.env['TEST_CITUS_URL'] ?? process.env['TEST_DATABASE_URL'];
  if (given) return given;
  const { startEmbedded } = await product<typeof import('../../src/store/embedded/embedded.js')>(
    'src/store/embedded/embedded.js',
  );
  // Nothing here outlives the run, so nothing needs to reach the disk, and no log is kept for a second server.
  const settings = {
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_wal_size: '1GB',
    checkpoint_timeout: '1h',
    max_connections: '200',
  };
  const database = await startEmbedded({ dataDir: path.join(folder, 'database'), log: () => undefined, settings });
  stops.push(() => database.stop());
  return database.url;
}

async function makeTemplate(nodes: Nodes, stops: (() => Promise<unknown>)[]): Promise<string> {
  const name = await makeDatabase(nodes, stops);
  const { migrate } = await product<{ migrate(url: string): Promise<unknown> }>('src/store/database.js');
  await migrate(databaseOf(nodes[0], name));
  await sealDatabase(nodes, name);
  return name;
}

async function makeEmpty(nodes: Nodes, stops: (() => Promise<unknown>)[]): Promise<string> {
  const name = await makeDatabase(nodes, stops);
  await sealDatabase(nodes, name);
  return name;
}

async function makeDatabase(nodes: Nodes, stops: (() => Promise<unknown>)[]): Promise<string> {
  const name = `bursar_template_${randomBytes(4).toString('hex')}`;
  stops.push(() => dropDatabase(nodes, name));
  await createDatabase(nodes, name);
  return name;
}

async function startRedis(folder: string, stops: (() => Promise<unknown>)[]): Promise<string | null> {
  const program = findProgram('redis-server');
  if (program === null) {
    process.stderr.write('redis-server was not found on the PATH: the tests that need it are skipped.\n');
    return null;
  }
  const port = await freePort();
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
    '--databases',
    '4096',
  ];
  const server = spawn(program, settings, { stdio: 'ignore' });
  stops.push(() => end(server));
  for (let pauses = 0; !(await accepts(port)); pauses += 1) {
    if (server.exitCode !== null || pauses > 250)
      throw new Error(`redis-server (${program}) did not start on port ${port}`);
    await sleep(20);
  }
  return `redis://127.0.0.1:${port}`;
}

const product = async <T>(file: string): Promise<T> =>
  (await import(/* @vite-ignore */ pathToFileURL(path.join(ROOT, 'dist', file)).href)) as T;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('connect', () => socket.destroy());
  });
