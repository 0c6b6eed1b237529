/**
 * A read replica that streams from a real PostgreSQL: questions about costs are asked there, an answer of one that is
 * behind says of when it is, and what is relied on is never read from it then. When it takes over, work goes on there.
 */
import { describe, expect, it, vi } from 'vitest';
import { Database, migrate, type Queryable } from '../../src/store/database.js';
import { ReadSide } from '../../src/store/reading.js';
import { settleRestore } from '../../src/application/action/after-restore.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { findPostgres, startPostgres } from '../support/postgres-server.js';
import { HOUR, metered } from '../support/records.js';
import { tcpProxy } from '../support/tcp-proxy.js';
import { testApi } from '../support/web.js';

const programs = findPostgres();
const NAME = 'a read replica';
const MONDAY = Date.UTC(2026, 9, 5);

describe.skipIf(programs === null)(programs === null ? `${NAME} [needs postgresql]` : NAME, async () => {
  if (programs === null) return;
  const server = await startPostgres(programs);
  for (const name of ['bursar', 'another']) await server.sql('postgres', `create database ${name}`);
  await migrate(server.url('bursar'));
  const replica = await server.replica();
  const address = { url: replica.url('bursar'), connections: 2 };
  const api = await testApi({ through: async () => server.url('bursar'), replica: address });

  const isReplica = async (db: Queryable): Promise<boolean> =>
    (await db.query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers'))[0]?.recovers === true;
  interface Answer {
    total: string | null;
    warnings: string[];
    asOf?: string;
  }
  const costs = async (): Promise<Answer> =>
    (await api.call<Answer & Record<string, unknown>>('GET', '/v1/costs')).body;
  const spend = (nanos: number) =>
    api.stores.db.query(
      `insert into cost_day (organisation, team, day, dimension, currency, records, accrued, actual)
       select 'default', 'lab', '2026-10-05', id, 'USD', 1, $1, $1 from dimension`,
      [nanos],
    );

  it('answers in the place of the database, and says no time while it has everything', async () => {
    await api.stores.db.query(
      `insert into dimension (organisation, key, kind, provider, category) values ('default', '\\x01', 'metered', 'AWS', 'Usage')`,
    );
    await spend(7);
    await vi.waitFor(async () => {
      const { db, asOf } = await api.stores.reading.current();
      expect([await isReplica(db), asOf]).toEqual([true, null]);
    });
    expect(await isReplica(await api.stores.reading.whole())).toBe(true);
    await vi.waitFor(async () => expect(await costs()).toMatchObject({ total: '7' }));
  });

  it('that is behind says of when its answers are, and is not asked what is relied on', async () => {
    const { reading, db: primary } = api.stores;
    await replica.sql('bursar', 'select pg_wal_replay_pause()');
    await vi.waitFor(async () => {
      const { db } = await reading.current();
      const [row] = await db.query<{ state: string }>('select pg_get_wal_replay_pause_state() as state');
      expect(row?.state).toBe('paused');
    });
    const [before] = await primary.query<{ now: Date }>('select now()');
    await primary.query('update cost_day set accrued = 9, actual = 9');
    const answer = await costs();
    expect(answer.total).toBe('7');
    expect(answer.warnings[0]).toContain(`what was committed after ${answer.asOf} is not included`);
    expect(Date.parse(answer.asOf ?? '')).toBeLessThanOrEqual(before?.now.getTime() ?? NaN);
    for (const path of ['/v1/costs/breakdown', '/v1/costs/bridge', '/v1/costs/resources'])
      expect((await api.call('GET', path)).body, path).toMatchObject({ asOf: answer.asOf });
    const whole = await reading.whole(100);
    expect(await isReplica(whole)).toBe(false);
    expect(await whole.query('select actual::int as actual from cost_day')).toEqual([{ actual: 9 }]);
    await replica.sql('bursar', 'select pg_wal_replay_resume()');
    await vi.waitFor(async () => {
      const { total, asOf } = await costs();
      expect([total, asOf]).toEqual(['9', undefined]);
    });
  });

  it('of several behind one address, one that has not the moment of the first is done without', async () => {
    const balancer = await tcpProxy(replica.url('bursar'));
    const db = await Database.open(balancer.url, 3);
    balancer.leadTo(server.url('bursar'));
    const all = await db.snapshots(3, (readers) => Promise.all(readers.map(isReplica)));
    expect(all).toEqual([true, true, true]);
    await db.close();
  });

  it('is refused where it is none, or one of another database', async () => {
    const check = (url: string): Promise<void> => {
      const side = new ReadSide(api.stores.db, { url, connections: 1 });
      return side.check().finally(() => side.close());
    };
    await expect(check(server.url('bursar'))).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'DATABASE_READ_URL', message: 'is not a replica: it accepts writes' }],
    });
    await vi.waitFor(() =>
      expect(check(replica.url('another'))).rejects.toMatchObject({
        problems: [{ path: 'DATABASE_READ_URL', message: 'is a replica of another database' }],
      }),
    );
  });

  it('takes over: what was committed is there, the line goes on there, and what acts knows of it', async () => {
    await migrate(server.url('another'));
    const proxy = await tcpProxy(server.url('another'));
    const bursar = await testBursar({ url: proxy.url });
    await settleRestore(bursar.stores, 'default', 0);
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('before', { start: MONDAY, end: MONDAY + HOUR })]);
    await bursar.runner.drain();
    await bursar.take([metered('waits', { start: MONDAY + HOUR, end: MONDAY + 2 * HOUR })]);
    const [at] = await bursar.db.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
    const there = await Database.open(replica.url('another'), 1);
    await vi.waitFor(async () =>
      expect(await there.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as whole', [at?.lsn])).toEqual([
        { whole: true },
      ]),
    );
    await there.close();
    await replica.sql('another', 'select pg_promote()');
    proxy.leadTo(replica.url('another'));
    proxy.cut('RST');
    await vi.waitFor(() => bursar.runner.drain());
    await bursar.take([metered('after', { start: MONDAY + 2 * HOUR, end: MONDAY + 3 * HOUR })]);
    await bursar.runner.drain();
    expect((await bursar.spend({})).total).toBe('294.960000000');
    expect(await bursar.stores.work.parked('default')).toEqual([]);
    expect(await bursar.stores.home.moved(bursar.db, 'default')).toContain('timeline');
    const old = await Database.open(server.url('another'), 1);
    const [{ raw } = { raw: -1 }] = await old.query<{ raw: number }>('select count(*)::int as raw from delivery');
    expect(raw).toBe(2);
    await old.close();
  });

  it('that was promoted is asked no more', async () => {
    const { db, asOf } = await api.stores.reading.current();
    expect([db === api.stores.db, asOf]).toEqual([true, null]);
    expect(await api.stores.reading.whole()).toBe(api.stores.db);
  });

  it('that has gone is answered for by the database', async () => {
    await replica.stop();
    const { db, asOf } = await api.stores.reading.current();
    expect([await isReplica(db), asOf]).toEqual([false, null]);
    expect((await costs()).total).toBe('9');
    const late = new ReadSide(api.stores.db, address);
    await late.check();
    expect(await isReplica(await late.whole())).toBe(false);
    await late.close();
  });

  it('is none where no address is given', async () => {
    const db = await Database.open(server.url('bursar'), 1);
    expect((await new ReadSide(db).current()).db).toBe(db);
    await db.close();
  });
});
