/**
 * A real PgBouncer between Bursar and PostgreSQL: one that lends a session is as good as the server itself, and one
 * that lends a transaction is refused at the start (PgBouncer's documentation, "Pooling modes").
 */
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, expect, it, vi } from 'vitest';
import { Database, migrate } from '../../src/store/database.js';
import { enqueue, ENQUEUED_CHANNEL } from '../../src/store/work.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { emptyDatabase } from '../support/database.js';
import { describeWith } from '../support/programs.js';
import { HOUR, metered } from '../support/records.js';

const MONDAY = Date.UTC(2026, 9, 5);
const MODES = ['session', 'transaction'] as const;
/** So many sessions it has to lend by its narrow address. */
const FEW = 4;
type Addresses = Readonly<Record<(typeof MODES)[number] | 'narrow', string>>;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The same database through a PgBouncer of each mode. Settings are its defaults, but for addresses and who comes in. */
async function through(program: string, url: string): Promise<Addresses> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-pgbouncer-'));
  await chmod(folder, 0o755);
  const own = await freePort();
  const database = pathname.slice(1);
  const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
  const server = `host=${hostname} port=${port} dbname=${database} user=${decodeURIComponent(username)}${secret}`;
  const lines = [
    '[databases]',
    ...MODES.map((mode) => `${mode} = ${server} pool_mode=${mode}`),
    `narrow = ${server} pool_mode=session pool_size=${FEW}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'unix_socket_dir =',
    'auth_type = any',
  ];
  const file = path.join(folder, 'pgbouncer.ini');
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  const isRoot = process.getuid?.() === 0;
  const bouncer = spawn(program, [...(isRoot ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => bouncer.once('exit', resolve));
  afterAll(async () => {
    bouncer.kill('SIGTERM');
    bouncer.kill('SIGINT');
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
    bouncer.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const at = (mode: string): string => `postgresql://anybody@127.0.0.1:${own}/${mode}`;
  await vi.waitFor(async () => (await Database.open(at('session'), 1)).close(), { timeout: 20_000, interval: 100 });
  return { session: at('session'), transaction: at('transaction'), narrow: at('narrow') };
}

describeWith('pgbouncer', 'behind PgBouncer', async (program) => {
  const url = await through(program, (await emptyDatabase()).url);

  it('that lends a session the schema is made, hours are priced, and notices are heard', async () => {
    expect((await migrate(url.session)).length).toBeGreaterThan(0);
    const bursar = await testBursar({ url: url.session });
    const db = await Database.open(url.session, 2);
    await db.checkSessions();
    expect(
      await db.query(`select current_setting('timezone') as zone, current_setting('statement_timeout') as most`),
    ).toEqual([{ zone: 'UTC', most: '2min' }]);
    let heard = 0;
    const stop = await db.listen(ENQUEUED_CHANNEL, () => (heard += 1));
    expect(await db.isHeard(ENQUEUED_CHANNEL)).toBe(true);
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('one', { start: MONDAY, end: MONDAY + HOUR })]);
    await enqueue(bursar.db, 'default', [{ stage: 'alert.make', partition: 'alerts', key: 'alerts' }]);
    await vi.waitFor(() => expect(heard).toBeGreaterThan(0));
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('98.320000000');
    expect(await bursar.stores.work.parked('default')).toEqual([]);
    await stop();
    await db.close();
  });

  it('that has fewer sessions than the pool has connections, who holds one waits for no other', async () => {
    const db = await Database.open(url.narrow, 3 * FEW, { connection: 3000 });
    const since = performance.now();
    const asked = Array.from({ length: FEW }, () =>
      db.snapshots(3, ([one]) => one?.query('select 1 as n') ?? Promise.resolve([])),
    );
    expect(await Promise.all(asked)).toEqual(asked.map(() => [{ n: 1 }]));
    expect(performance.now() - since).toBeLessThan(2500);
    await db.close();
  });

  it('that has no session to lend says so in time', async () => {
    const holders = Array.from({ length: FEW }, () => new Client({ connectionString: url.narrow }));
    for (const holder of holders) await holder.connect().then(() => holder.query('select 1'));
    const since = performance.now();
    await expect(Database.open(url.narrow, 1, { connection: 500 })).rejects.toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - since).toBeLessThan(3000);
    for (const holder of holders) await holder.end();
  });

  it('that lends a transaction it is refused, and the setting is named', async () => {
    const db = await Database.open(url.transaction, 2);
    await expect(db.checkSessions()).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'DATABASE_URL', message: expect.stringContaining('pool_mode = session') }],
    });
    await db.close();
  });
});
