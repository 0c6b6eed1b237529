/** Which statements PostgreSQL keeps planned for a connection. */
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { Database } from '../../src/store/database.js';
import { freshDatabase } from '../support/database.js';

const { url } = await freshDatabase();
const db = await Database.open(url, 1);
afterAll(() => db.close());

afterEach(() => void vi.useRealTimers());

const kept = async (): Promise<string[]> =>
  (await db.query<{ statement: string }>(`select statement from pg_prepared_statements order by prepare_time`)).map(
    ({ statement }) => statement,
  );

it('keeps one whose values do not change which of its conditions hold, in transactions and outside', async () => {
  const text = `select $1::int + 1 as sum`;
  expect(await db.query(text, [1])).toEqual([{ sum: 2 }]);
  expect(await db.transaction((tx) => tx.query(text, [2]))).toEqual([{ sum: 3 }]);
  expect(await kept()).toEqual([text]);
});

it('plans one with conditions that may fall away for each of its values', async () => {
  const text = `select id from organisation where id = $1 and ($2::text[] is null or name = any($2::text[]))`;
  expect(await db.query(text, ['nobody', null])).toEqual([]);
  expect(await db.query(text, ['nobody', ['a']])).toEqual([]);
  expect(await kept()).not.toContain(text);
});

it('gives a text the same name on each connection, whichever came first there', async () => {
  const texts = ['select $1::int + 11 as sum', 'select $1::int + 22 as sum'];
  const names = async (order: readonly string[]): Promise<unknown> => {
    const other = await Database.open(url, 1);
    for (const text of order) await other.query(text, [1]);
    const rows = await other.query(
      `select name, statement from pg_prepared_statements where statement like '%as sum' order by statement`,
    );
    await other.close();
    return rows;
  };
  expect(await names(texts)).toEqual(await names(texts.toReversed()));
  expect(await names(texts)).toHaveLength(2);
});

it('keeps no long one', async () => {
  const text = `select $1::int as long -- ${'x'.repeat(3000)}`;
  expect(await db.query(text, [1])).toEqual([{ long: 1 }]);
  expect(await kept()).not.toContain(text);
});

it('gives up a connection that keeps much, and goes on with a new one', async () => {
  const small = await Database.open(url, 1);
  const pid = async (): Promise<unknown> => (await small.query(`select pg_backend_pid() as pid`))[0];
  try {
    const first = await pid();
    const ask = (n: number) => small.query(`select $1::int + ${n} as sum -- ${'x'.repeat(2900)}`, [1]);
    for (let n = 0; n < 130; n++) await ask(n);
    expect(await pid()).toEqual(first);
    for (let n = 130; n < 150; n++) expect(await ask(n)).toEqual([{ sum: n + 1 }]);
    expect(await pid()).not.toEqual(first);
  } finally {
    await small.close();
  }
});

it('gives the rows of what changes rows, and none of several statements at once', async () => {
  expect(await db.query(`insert into organisation (id, name) values ($1, $1) returning name`, ['one'])).toEqual([
    { name: 'one' },
  ]);
  expect(await db.query(`update organisation set name = $2 where id = $1 returning name`, ['one', 'two'])).toEqual([
    { name: 'two' },
  ]);
  expect(await db.query(`update organisation set name = $2 where id = $1`, ['one', 'three'])).toEqual([]);
  expect(await db.query(`select 1; select 2`)).toEqual([]);
});

it('forgets a plan that was made while a table was empty', async () => {
  // The clock that is put in its place begins at 0.
  const started = performance.now();
  vi.useFakeTimers({ toFake: ['performance'] });
  await db.query(`create table grown (id int primary key, said text) with (autovacuum_enabled = off)`);
  await db.query(`vacuum analyze grown`);
  const text = `select said from grown where id = $1`;
  for (let n = 0; n < 8; n++) await db.query(text, [n]);
  await db.query(`insert into grown select n, 'word' from generate_series(1, 50000) n`);
  const [found] = await db.query<{ name: string }>(`select name from pg_prepared_statements where statement = $1`, [
    text,
  ]);
  const plan = async (): Promise<string> => JSON.stringify(await db.query(`explain execute "${found?.name}" (7)`));
  expect(await plan()).toContain('Seq Scan');
  vi.advanceTimersByTime(started + 6000);
  expect(await db.query(text, [7])).toEqual([{ said: 'word' }]);
  expect(await plan()).toContain('grown_pkey');
});
