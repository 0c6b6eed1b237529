/** The harness itself: each file gets its own migrated copy, and each queue backend its own room. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freshDatabase } from '../support/database.js';
import { describeQueues } from '../support/queues.js';

const database = await freshDatabase();

describe('freshDatabase', () => {
  const client = new Client({ connectionString: database.url });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  it('is a copy that already holds the migrations', async () => {
    const { rows } = await client.query<{ name: string; migrations: string }>(
      'select current_database() as name, (select count(*) from migration) as migrations',
    );
    expect(rows[0]?.name).toBe(database.name);
    expect(Number(rows[0]?.migrations)).toBeGreaterThan(0);
  });

  it('gives a second copy that does not see the first', async () => {
    await client.query('create table mine (id int)');
    const { rows } = await client.query<{ found: string | null }>("select to_regclass('mine')::text as found");
    expect(rows[0]?.found).toBe('mine');
    const template = new URL(inject('serverUrl'));
    template.pathname = `/${inject('templateName')}`;
    expect(template.href).not.toBe(database.url);
  });
});

describeQueues('queue backends', (backend) => {
  it('get an address of their own', async () => {
    const urls = [await backend.redisUrl(), await backend.redisUrl()];
    if (backend.name === 'postgresql') expect(urls).toEqual([null, null]);
    else expect(new Set(urls).size).toBe(2);
  });
});
