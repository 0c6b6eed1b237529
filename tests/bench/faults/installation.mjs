/**
 * An installation of several processes that can be killed one by one: PostgreSQL (the embedded package's, in a folder
 * of its own, behind a proxy that cuts connections), Redis where it is asked for, an API and two workers of dist/.
 *
 * Every process is ended by its own id, and nothing of it is left when the run is over. The product's settings are its
 * defaults, so that what is measured is what an installation would see.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbedded } from '../../../dist/src/store/embedded/embedded.js';
import { isRunning } from '../../../dist/src/store/embedded/lock.js';
import { chooseRunAs, findBinaries, spawnAs } from '../../../dist/src/store/embedded/user.js';
import { startProxy } from './proxy.mjs';

const MAIN = path.join(import.meta.dirname, '../../../dist/src/main.js');
const FLAGS = ['--max-semi-space-size=64', '--no-allocation-site-pretenuring'];

export async function startInstallation({ withRedis = false, environment = {}, log }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-faults-'));
  const postgres = await startPostgres(path.join(folder, 'data'));
  const redis = withRedis ? await startRedis(folder) : null;
  const apiPort = await freePort();
  const settings = {
    PATH: process.env.PATH,
    HOME: folder,
    DATABASE_URL: postgres.url,
    BURSAR_DATA_DIR: path.join(folder, 'unused'),
    BURSAR_EXAMPLE: 'off',
    BURSAR_FIRST_KEY: 'off',
    ...environment,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
  };
  const running = new Map();
  const logged = { api: '', 'worker-1': '', 'worker-2': '' };
  let endedAtStart = 0;
  let isOver = false;
  const begin = (name, argv, extra = {}) => {
    const child = spawn(process.execPath, [...FLAGS, MAIN, ...argv], {
      cwd: folder,
      env: { ...settings, ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
    const one = { child, ended, out: '', isOver: false, isMeant: false, isReady: false };
    child.stdout.on('data', (text) => (one.out += text));
    child.stderr.on('data', (text) => (logged[name] = `${logged[name] ?? ''}${text}`.slice(-400_000)));
    child.stderr.on('data', (text) => (one.isReady ||= /Bursar is ready|Bursar works/.test(String(text))));
    child.once('close', (code, signal) => {
      one.isOver = true;
      if (one.isMeant || argv[0] !== 'serve') return;
      const what = `${name} ended by itself (${signal ?? `code ${code}`})`;
      log(`${what}:\n${logged[name].slice(-500)}`);
      // One that loses its database while it starts says so and ends: whoever supervises it starts it again.
      if (one.isReady || code !== 1) one.diedBy = what;
      else {
        endedAtStart += 1;
        setTimeout(() => running.get(name) === one && !isOver && start(name), 1000);
      }
    });
    return one;
  };
  const run = async (argv) => {
    const one = begin('command', argv);
    const { code } = await one.ended;
    if (code !== 0) throw new Error(`bursar ${argv.join(' ')} ended with ${code}: ${logged.command}`);
    return one.out;
  };
  const start = (name) => {
    const role = name === 'api' ? 'api' : 'worker';
    running.set(name, begin(name, ['serve', '--role', role], { PORT: String(name === 'api' ? apiPort : 0) }));
  };
  await run(['migrate']);
  const key = JSON.parse(await run(['keys', 'create', 'harness', '--role', 'admin', '--json'])).key.text;
  return {
    key,
    url: `http://127.0.0.1:${apiPort}`,
    postgres,
    redis,
    logged,
    start,
    pidOf: (name) => running.get(name)?.child.pid ?? null,
    /** Who ended without having been killed. */
    died: () => [...running.values()].flatMap((one) => (one.diedBy === undefined ? [] : [one.diedBy])),
    /** How many lost the database while they started, and were started again. */
    endedAtStart: () => endedAtStart,
    /** Kills it and waits until it is gone. */
    async kill(name) {
      const one = running.get(name);
      one.isMeant = true;
      one.child.kill('SIGKILL');
      await one.ended;
    },
    async stop() {
      isOver = true;
      for (const one of running.values()) {
        one.isMeant = true;
        one.child.kill('SIGTERM');
      }
      const late = setTimeout(() => {
        for (const one of running.values()) if (!one.isOver) one.child.kill('SIGKILL');
      }, 20_000);
      await Promise.all([...running.values()].map((one) => one.ended));
      clearTimeout(late);
      await redis?.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The embedded PostgreSQL as the product starts it (fsync on). After a crash it is started again by the same command, at
 * the same port: one that comes back elsewhere is taken for a copy of it, and rightly so.
 */
async function startPostgres(dataDir) {
  const server = await startEmbedded({ dataDir, log: () => undefined });
  const cluster = path.join(dataDir, 'postgres');
  const binaries = await findBinaries();
  const way = await chooseRunAs(binaries, dataDir, cluster);
  // Its own note of how it was started: the program, then its arguments in quotes.
  const opts = await readFile(path.join(cluster, 'postmaster.opts'), 'utf8');
  const argv = [...opts.matchAll(/"([^"]*)"/g)].map(([, one]) => one);
  const proxy = await startProxy(server.port);
  const through = new URL(server.url);
  through.port = String(proxy.port);
  const connect = async () => {
    const client = new Client({ connectionString: server.url, application_name: 'harness' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  return {
    url: through.href,
    proxy,
    connect,
    /** One statement of the harness, past the proxy, on a connection of its own. */
    async ask(sql, values = []) {
      const client = await connect();
      try {
        return (await client.query(sql, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    /** PostgreSQL's immediate shutdown: what was not committed is lost, what was committed is replayed. */
    async crash() {
      const pid = Number((await readFile(path.join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      while (await isRunning(pid)) await pause(10);
    },
    async startAgain() {
      spawnAs(way, binaries.postgres, argv, { detached: true, stdio: 'ignore' }).unref();
      while (
        !(await connect().then(
          (one) => one.end().then(() => true),
          () => false,
        ))
      )
        await pause(20);
    },
    async stop() {
      await proxy.stop();
      await server.stop();
    },
  };
}

/** A Redis that keeps nothing: each kill empties the queue. */
async function startRedis(folder) {
  const [port, dir] = [await freePort(), path.join(folder, 'redis')];
  await mkdir(dir);
  let server = null;
  const start = async () => {
    const flags = ['--port', port, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
    server = spawn('redis-server', flags.map(String), { stdio: 'ignore' });
    while (!(await accepts(port))) await pause(20);
  };
  const kill = async () => {
    const ended = new Promise((resolve) => server.once('close', resolve));
    server.kill('SIGKILL');
    await ended;
  };
  await start();
  return { url: `redis://127.0.0.1:${port}`, start, kill, stop: kill };
}

const accepts = (port) =>
  new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.once('error', () => resolve(false)).once('connect', () => resolve(socket.destroy() !== undefined));
  });

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
