/**
 * Connections to the database: nobody waits for one while holding another, what the database or the network cut short
 * is tried again, and whoever asks the API meanwhile is told when to come back.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { Runner } from '../../src/pipeline/runner.js';
import type { StageCall } from '../../src/pipeline/stage.js';
import { Failure } from '../../src/core/errors.js';
import { Database, type Queryable } from '../../src/store/database.js';
import { enqueue, WorkTable } from '../../src/store/work.js';
import { endpoints } from '../../src/web/web.module.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { HOUR, metered, MONDAY } from '../support/records.js';
import { tcpProxy, type Cut, type TcpProxy } from '../support/tcp-proxy.js';
import { testApi } from '../support/web.js';

const QUICK = { connection: 2000, statement: 500, silence: 200 };

/** What a call came to: its kind, where it was a Failure. */
const kindOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof Failure ? error.kind : error),
  );

describe('whoever holds a connection', async () => {
  const { db } = await testBursar();

  it('is refused a second one, however many are free, and goes on with the first', async () => {
    await db.transaction(async (tx) => {
      await expect(db.query('select 1')).rejects.toThrow(/asks for a second one/);
      await expect(db.transaction(async () => 1)).rejects.toThrow(/asks for a second one/);
      expect(await tx.query('select 2 as n')).toEqual([{ n: 2 }]);
    });
  });

  it('may leave something behind that asks for one later', async () => {
    const later = await db.transaction(async () => {
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      return { asked: gate.then(() => db.query('select 3 as n')), go };
    });
    later.go();
    expect(await later.asked).toEqual([{ n: 3 }]);
  });
});

describe('several that read of one moment', async () => {
  const { db, url } = await testBursar();
  await db.query('create table moment (n int not null)');
  await db.query('insert into moment values (0)');
  const numbers = (readers: readonly Queryable[]): Promise<number[]> =>
    Promise.all(readers.map(async (one) => (await one.query<{ n: number }>('select n from moment'))[0]?.n ?? NaN));
  const sessions = (readers: readonly Queryable[]): Promise<Set<unknown>> =>
    Promise.all(readers.map((one) => one.query('select pg_backend_pid() as pid'))).then(
      (rows) => new Set(rows.map(([row]) => row?.['pid'])),
    );
  const other = new Client({ connectionString: url });
  await other.connect();

  it.each([
    [1, 1],
    [2, 2],
    [10, 3],
  ])('see nothing that is committed meanwhile, in a pool of %i by %i connections', async (size, connections) => {
    const pool = await Database.open(url, size);
    await pool.snapshots(3, async (readers) => {
      expect(readers).toHaveLength(3);
      const [before] = await numbers(readers.slice(0, 1));
      await other.query('update moment set n = n + 1');
      expect(await numbers(readers)).toEqual([before, before, before]);
      expect((await sessions(readers)).size).toBe(connections);
    });
    await pool.close();
  });

  it('wait for nobody with a connection in hand: as many ask at once as there are connections', async () => {
    const pool = await Database.open(url, 3, { connection: 2000 });
    const asked = Array.from({ length: 9 }, () =>
      pool.snapshots(3, async (readers) => {
        await Promise.all(readers.map((one) => one.query('select pg_sleep(0.02)')));
        return sessions(readers);
      }),
    );
    for (const { size } of await Promise.all(asked)) expect(size).toBeLessThanOrEqual(3);
    await pool.close();
  });

  it('leave no statement behind if one fails, and none comes after', async () => {
    const pool = await Database.open(url, 3);
    let late: Promise<unknown> = Promise.resolve();
    const failed = pool.snapshots(3, async ([one, two]) => {
      late = (async () => {
        await two?.query('select pg_sleep(0.2)');
        await two?.query('select 1');
      })();
      late.catch(() => undefined);
      await one?.query('select nonsense');
    });
    await expect(failed).rejects.toMatchObject({ code: '42703' });
    await expect(late).rejects.toThrow(/after its moment has ended/);
    expect(
      await pool.query(
        `select state from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
      ),
    ).toEqual([]);
    expect((await pool.snapshots(3, numbers)).length).toBe(3);
    await pool.close();
    await other.end();
  });
});

/** The address of a server that takes connections and never says a word. */
async function silentServer(): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => open.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `postgresql://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('several that read of one moment, where connections break', async () => {
  const { url } = await testBursar();
  const operator = new Client({ connectionString: url });
  await operator.connect();
  afterAll(() => operator.end());
  const sessions = async (readers: readonly Queryable[]): Promise<number[]> => {
    const rows = await Promise.all(readers.map((one) => one.query<{ pid: number }>('select pg_backend_pid() as pid')));
    return [...new Set(rows.map(([row]) => row?.pid ?? 0))];
  };
  const several = async (db: Database, count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => db.query('select pg_sleep(0.02)')));
  };

  it('wait a moment only for one that is still to be made', async () => {
    const proxy = await tcpProxy(url);
    const db = await Database.open(proxy.url, 3, QUICK);
    await several(db, 2);
    proxy.leadTo(await silentServer());
    const since = performance.now();
    expect((await db.snapshots(3, sessions)).length).toBe(2);
    expect(performance.now() - since).toBeLessThan(1000);
    await db.close();
  });

  it('go on with what is left if one breaks before it has joined, and the process lives', async () => {
    const proxy = await tcpProxy(url);
    const db = await Database.open(proxy.url, 3, QUICK);
    const uncaught: unknown[] = [];
    const caught = (error: unknown): void => void uncaught.push(error);
    const own = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException').on('uncaughtException', caught);
    try {
      await several(db, 2);
      proxy.leadTo(await silentServer());
      const asked = db.snapshots(3, sessions);
      await pause(60);
      await operator.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'bursar' and state = 'idle'`,
      );
      expect((await asked).length).toBe(1);
      expect(uncaught).toEqual([]);
    } finally {
      process.off('uncaughtException', caught);
      for (const one of own) process.on('uncaughtException', one);
      await db.close();
    }
  });

  it('ask one that is silent nothing more', async () => {
    const proxy = await tcpProxy(url);
    const db = await Database.open(proxy.url, 3, QUICK);
    await several(db, 3);
    const since = performance.now();
    const asked = db.snapshots(3, async (readers) => {
      await sessions(readers);
      proxy.cut('silence');
      await readers[1]?.query('select 1');
    });
    expect(await kindOf(asked)).toBe('unavailable');
    expect(performance.now() - since).toBeLessThan(1.5 * (QUICK.statement + QUICK.silence));
    await db.close();
  });

  it('wait no longer for one that falls silent before its plans are forgotten', async () => {
    const proxy = await tcpProxy(url);
    const db = await Database.open(proxy.url, 1, QUICK);
    await db.query('select $1::int', [1]);
    proxy.cut('silence');
    const since = Date.now();
    const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6000);
    expect(await kindOf(db.query('select $1::int', [2])).finally(() => later.mockRestore())).toBe('unavailable');
    expect(Date.now() - since).toBeLessThan(1.5 * (QUICK.statement + QUICK.silence));
    await db.close();
  });

  it('outlive a wait for each other that the database ends by default', async () => {
    const name = new URL(url).pathname.slice(1);
    await operator.query(`alter database ${name} set idle_in_transaction_session_timeout = 100`);
    const db = await Database.open(url, 3);
    await several(db, 3);
    const asked = db.snapshots(3, async (readers) => {
      await Promise.all(readers.map((one, place) => one.query(`select pg_sleep(${place * 0.2})`)));
      return sessions(readers);
    });
    expect((await asked).length).toBe(3);
    await db.close();
    await operator.query(`alter database ${name} reset idle_in_transaction_session_timeout`);
  });
});

describe('a pool of one', async () => {
  const api = await testApi({ connections: 1 });
  const batch = (n: number) => ({
    records: [
      {
        id: `new-${n}`,
        provider: 'AWS',
        sku: `never-seen-${n}`,
        gpus: 1,
        start: new Date(MONDAY).toISOString(),
        end: new Date(MONDAY + HOUR).toISOString(),
      },
    ],
  });

  it('takes batches that come at once, of one source and of several, and answers others meanwhile', async () => {
    const replies = await Promise.all([
      ...Array.from({ length: 12 }, (_, n) => api.call('POST', '/v1/usage', { body: batch(n) })),
      ...Array.from({ length: 6 }, (_, n) => api.call('POST', `/v1/usage?source=meter-${n}`, { body: batch(100 + n) })),
      api.call('GET', '/v1/budgets'),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    const [row] = await api.stores.db.query(`select sum(records)::int as n from usage_hour`);
    expect(row).toEqual({ n: 18 });
  });

  it('is enough for every endpoint that reads', async () => {
    const paths = endpoints()
      .filter(({ method, path }) => method === 'GET' && !path.includes('{'))
      // A stream of events has no end.
      .filter(({ answer }) => !('media' in answer) || answer.media !== 'text/event-stream')
      .map(({ path }) => path);
    expect(paths.length).toBeGreaterThan(40);
    const replies = await Promise.all(paths.map(async (path) => [path, (await api.call('GET', path)).status] as const));
    expect(replies.filter(([, status]) => status >= 500)).toEqual([]);
  });
});

describe('a pool of one', async () => {
  const bursar = await testBursar({ poolSize: 1 });

  it('is enough for the line, from a batch to its cost', async () => {
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('one', { start: MONDAY, end: MONDAY + HOUR })]);
    await enqueue(
      bursar.db,
      'default',
      ['alert.make', 'anomaly.find'].map((stage) => ({ stage, partition: 'alerts', key: 'alerts' })),
    );
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('98.320000000');
    expect(await bursar.stores.work.parked('default')).toEqual([]);
  });
});

describe('a pool that is full', async () => {
  const api = await testApi({ connections: 1, patience: { connection: 300 } });

  it('is a 503 that says when to come back, and no more', async () => {
    await api.stores.db.transaction(async () => {
      const { status, headers, body } = await api.call('GET', '/v1/budgets');
      expect([status, headers.get('retry-after'), headers.get('content-type')]).toEqual([
        503,
        '5',
        'application/problem+json; charset=utf-8',
      ]);
      expect(body).toMatchObject({ title: 'Service Unavailable' });
    });
    expect((await api.call('GET', '/v1/budgets')).status).toBe(200);
  });
});

describe('what the database asks to be run again', async () => {
  const { db } = await testBursar();

  it('is run again: two transactions that wait for each other both come through', async () => {
    await db.query(`create table two (id int primary key, n int not null)`);
    await db.query(`insert into two values (1, 0), (2, 0)`);
    let runs = 0;
    let meet = (): void => undefined;
    const both = new Promise<void>((resolve) => (meet = resolve));
    const cross = (first: number, second: number): Promise<number> =>
      db.transaction(async (tx) => {
        await tx.query(`update two set n = n + 1 where id = $1`, [first]);
        if (++runs >= 2) meet();
        await both;
        await tx.query(`update two set n = n + 1 where id = $1`, [second]);
        return first;
      });
    expect(await Promise.all([cross(1, 2), cross(2, 1)])).toEqual([1, 2]);
    expect(runs).toBe(3);
    expect(await db.query(`select n from two order by id`)).toEqual([{ n: 2 }, { n: 2 }]);
  });
});

describe('a connection that is cut', async () => {
  const bursar = await testBursar();
  const proxy = await tcpProxy(bursar.url);
  const db = await Database.open(proxy.url, 2, QUICK);
  const work = new WorkTable(db);
  const key = 'red/2026-10-01';
  const workItem = { stage: 'cost.price', partition: 'red', key };

  /** A line of one stage that meets with trouble at its first run. */
  const line = (trouble: (call: StageCall) => Promise<unknown>) => {
    let runs = 0;
    const run = async (call: StageCall) => {
      if (++runs === 1) await trouble(call);
      await call.tx.query('select 1');
      return [];
    };
    const runner = new Runner(db, work, bursar.clock, [{ name: 'cost.price', most: 1, run }]);
    return { runner, runs: () => runs };
  };

  const isTriedAgain = async (trouble: (call: StageCall) => Promise<unknown>): Promise<void> => {
    const { runner, runs } = line(trouble);
    await enqueue(bursar.db, 'default', [workItem]);
    await runner.drain();
    expect(runs()).toBe(1);
    expect(await bursar.stores.work.parked('default')).toEqual([]);
    expect(await bursar.db.query(`select attempts from work where key = $1 and done < wanted`, [key])).toEqual([
      { attempts: 1 },
    ]);
    bursar.clock.at += 10_000;
    await runner.drain();
    expect(runs()).toBe(2);
    expect(await bursar.db.query(`select done = wanted as done, attempts from work where key = $1`, [key])).toEqual([
      { done: true, attempts: 0 },
    ]);
  };

  it.each<Cut>(['FIN', 'RST', 'silence'])(
    'by %s in the middle of a day parks nothing: it is tried again',
    async (way) => isTriedAgain(async () => proxy.cut(way)),
  );

  it('by the server that shuts down parks nothing', async () =>
    isTriedAgain(async ({ tx }) => {
      const [own] = await tx.query<{ pid: number }>(`select pg_backend_pid() as pid`);
      const operator = new Client({ connectionString: bursar.url });
      await operator.connect();
      await operator.query(`select pg_terminate_backend($1::int)`, [own?.pid]);
      await operator.end();
    }));

  it('leads elsewhere where the server has become a standby: it is not used again', async () => {
    const one = await Database.open(proxy.url, 1, QUICK);
    try {
      const pid = async (): Promise<unknown> => (await one.query(`select pg_backend_pid() as pid`))[0]?.['pid'];
      const before = await pid();
      // What a server says that was the primary when the connection was made.
      await one.query(`set default_transaction_read_only = on`);
      const write = (): Promise<unknown> => one.query(`update organisation set name = name`);
      expect(await kindOf(write())).toBe('unavailable');
      expect(await kindOf(write())).toBe('done');
      expect(await pid()).not.toBe(before);
    } finally {
      await one.close();
    }
  });

  it('leaves a statement that is wrong what it is', async () => {
    await expect(db.query('select nonsense')).rejects.toMatchObject({ code: '42703' });
    expect(await kindOf(db.query('select pg_sleep(5)'))).toBe('unavailable');
    await db.close();
  });
});

describe('a database that is away', async () => {
  let proxy: Pick<TcpProxy, 'isAway' | 'cut'> = { isAway: false, cut: () => undefined };
  const api = await testApi({
    connections: 2,
    patience: QUICK,
    through: async (url) => {
      const made = await tcpProxy(url);
      proxy = made;
      return made.url;
    },
  });

  it.each<Cut>(['FIN', 'RST', 'silence'])(
    'is a 503 by the API where it was cut by %s, and well again after it',
    async (way) => {
      expect((await api.call('GET', '/v1/budgets')).status).toBe(200);
      proxy.isAway = true;
      proxy.cut(way);
      const reply = await api.call('GET', '/v1/budgets');
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '5']);
      proxy.isAway = false;
      await expect.poll(async () => (await api.call('GET', '/v1/budgets')).status, { timeout: 10_000 }).toBe(200);
    },
  );
});
