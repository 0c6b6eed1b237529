/**
 * A PostgreSQL of the system's own packages, with pg_dump and pg_restore, which the embedded one comes without: its
 * cluster lies in a folder of its own, listens on loopback alone, and is stopped and removed after the file.
 */
import { accessSync, constants, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { chooseRunAs, giveTo, runAs, spawnAs } from '../../src/store/embedded/user.js';

const PROGRAMS = ['postgres', 'initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'pg_basebackup'];
const DEBIAN = '/usr/lib/postgresql';

/** The folder that holds them all: newest version first; null: there is none. */
export function findPostgres(): string | null {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  try {
    const versions = readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one));
    folders.unshift(...versions.map((version) => path.join(DEBIAN, version, 'bin')));
  } catch {
    // Another system than Debian.
  }
  return folders.find((folder) => PROGRAMS.every((name) => isProgram(path.join(folder, name)))) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface PostgresServer {
  url(database: string): string;
  /** Runs one of its programs against the server. */
  run(program: 'pg_dump' | 'pg_restore', args: readonly string[]): Promise<void>;
  sql(database: string, text: string): Promise<void>;
  /** Stops it and has it go on from its journal, as after a backup: a new timeline begins. */
  recover(): Promise<void>;
  /** A read replica that follows it. */
  replica(): Promise<Replica>;
  /** Stops it and starts a copy of its cluster as it is, as of a base backup that brings its journal; its port. */
  copied(): Promise<number>;
  readonly folder: string;
}

export interface Replica {
  url(database: string): string;
  sql(database: string, text: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(programs: string): Promise<PostgresServer> {
  const at = (name: string): string => path.join(programs, name);
  const binaries = { initdb: at('initdb'), postgres: at('postgres'), pgCtl: at('pg_ctl') };
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-postgres-'));
  const cluster = path.join(folder, 'cluster');
  await mkdir(cluster, { mode: 0o700 });
  const way = await chooseRunAs(binaries, folder, cluster);
  await giveTo(way, cluster);
  const made = await runAs(way, binaries.initdb, ['-D', cluster, '-U', 'bursar', '-A', 'trust', '-E', 'UTF8', '-N']);
  if (made.failed) throw new Error(made.output);
  const url = (database: string): string => `postgresql://bursar@127.0.0.1:${port}/${database}`;
  const settings = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  let server: ChildProcess | null = null;
  let port = await freePort();
  let data = cluster;
  const start = async (): Promise<void> => {
    const flags = [...settings, `port=${port}`].flatMap((one) => ['-c', one]);
    server = spawnAs(way, binaries.postgres, ['-D', data, ...flags], { stdio: 'ignore' });
    while (!(await answers(url('postgres')))) await pause(50);
  };
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => server?.once('exit', resolve));
    server?.kill('SIGINT');
    await ended;
  };
  await start();
  afterAll(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    url,
    folder,
    async run(program, args) {
      await promisify(execFile)(at(program), [...args], { env: { PATH: programs, LC_ALL: 'C' } });
    },
    sql: (database, text) => told(url(database), text),
    async replica() {
      const copy = path.join(folder, 'replica');
      const from = `postgresql://bursar@127.0.0.1:${port}/postgres`;
      await mkdir(copy, { mode: 0o700 });
      await giveTo(way, copy);
      const args = ['-D', copy, '-R', '-X', 'stream', '-c', 'fast', '-d', from];
      const copied = await runAs(way, at('pg_basebackup'), args);
      if (copied.failed) throw new Error(copied.output);
      const own = await freePort();
      const there = (database: string): string => `postgresql://bursar@127.0.0.1:${own}/${database}`;
      const flags = ['fsync=off', `port=${own}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
      const follower = spawnAs(way, binaries.postgres, ['-D', copy, ...flags.flatMap((one) => ['-c', one])], {
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => follower.once('exit', resolve));
      const stopIt = async (): Promise<void> => {
        follower.kill('SIGINT');
        await ended;
      };
      afterAll(stopIt);
      while (!(await answers(there('postgres'), true))) await pause(50);
      return { url: there, sql: (database, text) => told(there(database), text), stop: stopIt };
    },
    async recover() {
      await stop();
      await writeFile(path.join(cluster, 'recovery.signal'), '', { mode: 0o600 });
      await giveTo({ ...way }, cluster);
      settings.push('restore_command=false');
      await start();
    },
    async copied() {
      await stop();
      data = path.join(folder, 'copy');
      await cp(cluster, data, { recursive: true });
      await giveTo(way, data);
      port = await freePort();
      await start();
      return port;
    },
  };
}

async function told(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** Whether it takes writes, which one that recovers does not yet; of a replica, whether it can be asked. */
async function answers(url: string, isReplica = false): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ recovers: boolean }>(`select pg_is_in_recovery() as recovers`);
    return rows[0]?.recovers === isReplica;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
