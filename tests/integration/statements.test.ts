/** Which statements PostgreSQL keeps planned for a connection. */
import { afterAll, expect, it } from 'vitest';
import { Database } from '../../src/store/database.js';
import { freshDatabase } from '../support/database.js';

const { url } = await freshDatabase();
const db = await Database.open(url, 1);
afterAll(() => db.close());

const kept = async (): Promise<string[]> => (await db.query<{ statement: string }>(`select statement from pg_prepared_statements order by prepare_time`)).map(({ statement }) => statement);

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

it('gives the rows of what changes rows, and none of several statements at once', async () => {
  expect(await db.query(`insert into organisation (id, name) values ($1, $1) returning name`, ['one'])).toEqual([{ name: 'one' }]);
  expect(await db.query(`update organisation set name = $2 where id = $1 returning name`, ['one', 'two'])).toEqual([{ name: 'two' }]);
  expect(await db.query(`update organisation set name = $2 where id = $1`, ['one', 'three'])).toEqual([]);
  expect(await db.query(`select 1; select 2`)).toEqual([]);
});
