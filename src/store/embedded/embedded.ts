/**
 * The embedded PostgreSQL: initialises it in a data folder, starts it, attaches to it and stops it.
 *
 * It never installs an exit hook or a signal handler (stopping is the caller's work), never logs the password, and
 * never stops a server that another process uses: every user leaves a note in `users/`, and the last one to leave
 * stops the server. After kill -9 of Node the server lives on; the next start finds it by its own `postmaster.pid`
 * and uses it. Invariant: one server per folder, because starting, attaching and stopping happen under one mutex.
 *
 * A data folder holds: `postgres/` (the cluster), `postgres.log`, `password` (mode 0600), `users/`, `serve.lock`.
 */
import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Failure, unavailable } from '../../core/errors.js';
import { addUse, commandLine, countUses, dropUse, isRunning, withMutex } from './lock.js';
import {
  chooseRunAs,
  findBinaries,
  giveTo,
  giveToFolderOwner,
  runAs,
  spawnAs,
  type Binaries,
  type RunAs,
} from './user.js';

export { acquireServeLock, readServeLock, type ServeHolder, type ServeInfo, type ServeLock } from './lock.js';

export interface EmbeddedOptions {
  /** The data folder; created when it is not there. */
  readonly dataDir: string;
  /** Gets short sentences about what is being done; never a secret. */
  readonly log: (message: string) => void;
  /**
   * Server settings over the tuned ones, such as `fsync: 'off'` for tests. They count only when this call starts the
   * server.
   */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedDatabase {
  /** postgresql://... with the password: not for logs. */
  readonly url: string;
  readonly port: number;
  /** Tells the data folder from a copy of it; null if the file system does not. */
  readonly folder: string | null;
  /** True when this process started the server, or adopted one that nobody used any more. */
  readonly owned: boolean;
  /** Leaves the server; stops it (fast shutdown) when no other process uses it. Calling it again does nothing. */
  stop(): Promise<void>;
  /** Tells the server to end and waits for nothing: for a process that ends at once. */
  endAtOnce(): void;
}

interface Server {
  readonly pid: number;
  readonly port: number;
}

interface Folder {
  readonly dataDir: string;
  readonly cluster: string;
  readonly password: string;
  readonly logFile: string;
}

const NAME = 'bursar';
const PAUSE_MILLISECONDS = 20;
/** Crash recovery replays up to max_wal_size, minutes on a slow disk. */
const START_SECONDS = 600;
const STOP_SECONDS = 120;
const ANSWER_SECONDS = 30;

/** Settings for a small machine: two cores, a few GB, an SSD. Durability stays at PostgreSQL's defaults. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  synchronous_commit: 'on',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/**
 * Makes sure that the server of a data folder runs, and takes part in using it.
 * @throws Failure `unavailable`, saying what to do: programs missing, folder not writable, disk full, a server that
 * does not answer, a cluster that PostgreSQL refuses.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const dataDir = await openFolder(options.dataDir);
  try {
    return await withMutex(dataDir, START_SECONDS, async () => {
      const password = await readPassword(dataDir);
      const folder = {
        dataDir,
        cluster: path.join(dataDir, 'postgres'),
        logFile: path.join(dataDir, 'postgres.log'),
        password,
      };
      const used = (await countUses(dataDir)) > 0;
      const running = await findServer(folder, options.log);
      const server = running ?? (await startServer(folder, options));
      const note = await addUse(dataDir);
      if (running)
        options.log(`Using the PostgreSQL that runs in ${dataDir} (process ${server.pid}, port ${server.port}).`);
      return {
        url: urlOf(folder, server.port, NAME),
        port: server.port,
        folder: await folderMark(folder.cluster),
        owned: !running || !used,
        stop: once(() => leave(folder, note, options.log)),
        // On Windows a signal would kill it; the next start finds it there.
        endAtOnce: () => void (process.platform === 'win32' || process.kill(server.pid, 'SIGINT')),
      };
    });
  } catch (error) {
    throw explain(error, dataDir);
  }
}

/**
 * The number of the cluster's control file: PostgreSQL makes it once and writes it in place (controldata_utils.c),
 * while a copy of a folder gets a new one.
 */
export async function folderMark(cluster: string): Promise<string | null> {
  const { ino } = await stat(path.join(cluster, 'global', 'pg_control'), { bigint: true });
  return ino === 0n ? null : String(ino);
}

async function leave(folder: Folder, note: string, log: (message: string) => void): Promise<void> {
  await withMutex(folder.dataDir, STOP_SECONDS, async () => {
    await dropUse(note);
    const server = await readPostmaster(folder.cluster);
    if (!server || !(await isOurs(server.pid, folder.cluster))) return;
    if ((await countUses(folder.dataDir)) > 0) log('PostgreSQL keeps running: another process uses it.');
    else await stopServer(folder, server.pid);
  });
}

async function openFolder(wanted: string): Promise<string> {
  try {
    // One that is there keeps its mode: it may be shared on purpose.
    await mkdir(path.join(wanted, 'users'), { recursive: true, mode: 0o700 });
    const dataDir = await realpath(wanted);
    await giveToFolderOwner(dataDir, path.join(dataDir, 'users'));
    return dataDir;
  } catch (error) {
    throw explain(error, path.resolve(wanted));
  }
}

/** The password of this folder's server: made at random on first use, readable by the folder's owner only. */
async function readPassword(dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'password');
  const known = await readIfThere(file);
  if (known !== null) return known.trim();
  if (await isThere(path.join(dataDir, 'postgres'))) {
    throw unavailable(
      `The file ${file} is gone, and without it the database beside it cannot be opened. Put it back, or move ${dataDir} away to begin with an empty one.`,
    );
  }
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const password = randomBytes(24).toString('hex');
  await writeFile(draft, `${password}\n`, { mode: 0o600, flush: true });
  await giveToFolderOwner(dataDir, draft);
  await link(draft, file);
  await rm(draft);
  return password;
}

/** The live, answering server of the folder, or null. Waits while one is still recovering or stopping. */
async function findServer(folder: Folder, log: (message: string) => void): Promise<Server | null> {
  let silent = 0;
  for (;;) {
    const server = await readPostmaster(folder.cluster);
    if (!server) return null;
    const answer = await ask(folder, server.port);
    if (answer === 'ready') return server;
    if (!(await isRunning(server.pid)) || !(await isOurs(server.pid, folder.cluster))) {
      // A zombie, or the id went to another program: PostgreSQL would take it for a live server and refuse to start.
      // Sessions that outlived a killed server are still seen, by their shared memory.
      await rm(path.join(folder.cluster, 'postmaster.pid'), { force: true });
      return null;
    }
    silent += 1;
    const limitSeconds = answer === 'busy' ? START_SECONDS : ANSWER_SECONDS;
    if ((silent * PAUSE_MILLISECONDS) / 1000 > limitSeconds)
      throw unavailable(
        `The PostgreSQL of ${folder.dataDir} (process ${server.pid}) does not answer. Its log is ${folder.logFile}. Stop that process and try again.`,
      );
    if (silent === 50) log(`Waiting for the PostgreSQL of ${folder.dataDir} (process ${server.pid}).`);
    await sleep(PAUSE_MILLISECONDS);
  }
}

async function startServer(folder: Folder, options: EmbeddedOptions): Promise<Server> {
  const binaries = await findBinaries();
  const way = await chooseRunAs(binaries, folder.dataDir, folder.cluster);
  if (!(await isThere(folder.cluster))) {
    options.log(`Initialising PostgreSQL in ${folder.dataDir}.`);
    await initialise(folder, binaries, way, options.settings?.['fsync'] !== 'off');
  }
  await giveTo(way, folder.cluster);
  const settings = { ...SETTINGS, wal_compression: await walCompression(folder, binaries, way), ...options.settings };
  // Between finding a free port and binding it, another program may take it.
  for (let attempt = 1; ; attempt += 1) {
    try {
      const server = await launch(folder, binaries, way, { ...settings, port: String(await freePort()) }, options.log);
      options.log(`PostgreSQL runs (process ${server.pid}, port ${server.port}).`);
      return server;
    } catch (error) {
      // A process killed within its start may have left a server that we now met.
      const met = await findServer(folder, options.log);
      if (met) return met;
      if (attempt === 3 || !/could not bind|could not create any TCP|pre-existing shared memory/.test(String(error)))
        throw error;
      await sleep(500);
    }
  }
}

/** Builds the cluster beside its place and moves it there whole: an interrupted first start leaves no half cluster. */
async function initialise(folder: Folder, binaries: Binaries, way: RunAs, durable: boolean): Promise<void> {
  for (const name of await readdir(folder.dataDir)) {
    if (name.startsWith('postgres.new.')) await rm(path.join(folder.dataDir, name), { recursive: true, force: true });
  }
  // A name of its own: the initdb of a killed process may still be writing to the last one.
  const draft = `${folder.cluster}.new.${randomBytes(4).toString('hex')}`;
  const secret = `${draft}.password`;
  await mkdir(draft, { mode: 0o700 });
  await writeFile(secret, `${folder.password}\n`, { mode: 0o600 });
  try {
    await giveTo(way, draft);
    if (way.owner) await chown(secret, way.owner.uid, way.owner.gid);
    const initdb = await runAs(way, binaries.initdb, [
      `--pgdata=${draft}`,
      `--username=${NAME}`,
      `--pwfile=${secret}`,
      '--auth=scram-sha-256',
      '--no-instructions',
      // PostgreSQL's own C.UTF-8: the same order on every machine, whatever locales it has.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(durable ? [] : ['--no-sync']),
    ]);
    if (initdb.failed)
      throw unavailable(`PostgreSQL could not be initialised in ${folder.dataDir}:\n${lastLines(initdb.output)}`);
    await rename(draft, folder.cluster);
  } finally {
    await rm(secret, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

/** lz4 where the programs were built with it, otherwise PostgreSQL's own method. */
async function walCompression(folder: Folder, binaries: Binaries, way: RunAs): Promise<string> {
  const lz4 = await runAs(way, binaries.postgres, [
    '-D',
    folder.cluster,
    '-C',
    'wal_compression',
    '-c',
    'wal_compression=lz4',
  ]);
  return lz4.failed ? 'pglz' : 'lz4';
}

async function launch(
  folder: Folder,
  binaries: Binaries,
  way: RunAs,
  settings: Record<string, string>,
  log: (message: string) => void,
): Promise<Server> {
  const output = await open(folder.logFile, 'w', 0o600);
  let ended: string | null = null;
  try {
    await giveToFolderOwner(folder.dataDir, folder.logFile);
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // Its own session and a file for its log: it survives our terminal's Ctrl-C and our end, for others that use it.
    const child = spawnAs(way, binaries.postgres, ['-D', folder.cluster, ...flags], {
      detached: true,
      windowsHide: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    child.once('error', (error) => (ended = error.message));
    child.once('exit', (code, signal) => (ended = `it ended with ${signal ?? `code ${code}`}`));
    child.unref();
  } finally {
    await output.close();
  }
  for (let pauses = 0; (pauses * PAUSE_MILLISECONDS) / 1000 < START_SECONDS; pauses += 1) {
    if (ended !== null) {
      throw unavailable(
        `PostgreSQL did not start in ${folder.dataDir} (${ended}):\n${lastLines((await readIfThere(folder.logFile)) ?? '')}`,
      );
    }
    const server = await readPostmaster(folder.cluster);
    if (server?.port === Number(settings['port']) && (await ask(folder, server.port)) === 'ready') return server;
    if (pauses === 500) log('PostgreSQL is still starting; after a crash it first replays its write-ahead log.');
    await sleep(PAUSE_MILLISECONDS);
  }
  throw unavailable(`PostgreSQL did not get ready within ${START_SECONDS} s. Its log is ${folder.logFile}.`);
}

async function stopServer(folder: Folder, pid: number): Promise<void> {
  if (process.platform === 'win32') {
    const { pgCtl } = await findBinaries();
    await runAs({ name: 'directly', prefix: [], user: null, owner: null }, pgCtl, [
      'stop',
      '-D',
      folder.cluster,
      '-m',
      'fast',
      '-w',
    ]);
    return;
  }
  // SIGINT is PostgreSQL's fast shutdown: sessions are ended, a checkpoint is written.
  process.kill(pid, 'SIGINT');
  // Its last act is to remove postmaster.pid; the process itself may stay a zombie where nobody reaps it.
  for (let pauses = 0; (await readPostmaster(folder.cluster))?.pid === pid && (await isRunning(pid)); pauses += 1) {
    if ((pauses * PAUSE_MILLISECONDS) / 1000 > STOP_SECONDS)
      throw unavailable(
        `PostgreSQL (process ${pid}) did not stop within ${STOP_SECONDS} s. Its log is ${folder.logFile}.`,
      );
    await sleep(PAUSE_MILLISECONDS);
  }
}

/**
 * Asks the server for a sentence; makes the database on the first answer. Only our password opens it, so `ready` means
 * it is ours.
 */
async function ask(folder: Folder, port: number, database = NAME): Promise<'ready' | 'busy' | 'silent'> {
  const client = new Client({ connectionString: urlOf(folder, port, database), connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (database !== NAME) await client.query(`CREATE DATABASE ${NAME}`);
    return 'ready';
  } catch (error) {
    const { code } = error as { code?: unknown };
    // invalid_catalog_name, then cannot_connect_now and too_many_connections (PostgreSQL's appendix A).
    if (code === '3D000' && database === NAME) return ask(folder, port, 'postgres');
    return code === '57P03' || code === '53300' ? 'busy' : 'silent';
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Reads postmaster.pid: line 1 is the process, line 4 the port (PostgreSQL's miscadmin.h). */
async function readPostmaster(cluster: string): Promise<Server | null> {
  const lines = (await readIfThere(path.join(cluster, 'postmaster.pid')))?.split('\n') ?? [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port } : null;
}

async function isOurs(pid: number, cluster: string): Promise<boolean> {
  const command = await commandLine(pid);
  return command === null ? isRunning(pid) : command.includes(cluster);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Turns what the system says into what the user can do. */
function explain(error: unknown, dataDir: string): unknown {
  const text = error instanceof Error ? error.message : String(error);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (
    code === 'ENOSPC' ||
    code === 'EDQUOT' ||
    (/No space left on device|Check free disk space/.test(text) && !/shared memory/.test(text))
  ) {
    return unavailable(
      `The disk that holds ${dataDir} is full. Free some space, or name another folder in BURSAR_DATA_DIR.`,
      error,
    );
  }
  if (!(error instanceof Failure) && ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code)) {
    return unavailable(
      `The data folder ${dataDir} cannot be written by this user (${code}). Change its owner, or name another folder in BURSAR_DATA_DIR.`,
      error,
    );
  }
  return error;
}

const urlOf = (folder: Folder, port: number, database: string): string =>
  `postgresql://${NAME}:${folder.password}@127.0.0.1:${port}/${database}`;

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

const lastLines = (text: string): string => text.trim().split('\n').slice(-12).join('\n');

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}
