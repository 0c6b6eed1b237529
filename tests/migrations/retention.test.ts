/** The page on retention names every table that there is, so that nothing is kept without a word about how long. */
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { freshDatabase } from '../support/database.js';

const { url } = await freshDatabase();

const asked = async (sql: string): Promise<Record<string, string>[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(sql)).rows;
  } finally {
    await client.end();
  }
};

it('every table has a row on the page on retention, and every row a table', async () => {
  const page = await readFile(new URL('../../docs/reference/retention.md', import.meta.url), 'utf8');
  const [, kept = ''] = page.split('## What is kept for how long');
  const rows =
    kept
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| ')) ?? [];
  const named = rows.flatMap((row) => [...(row.split('|')[2] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const tables = await asked(
    `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
       and relnamespace = 'public'::regnamespace order by 1`,
  );
  expect([...named].sort()).toEqual(tables.map(({ name }) => name));
});

it('nobody is let in as another organisation than the one that the installation serves', async () => {
  for (const statement of [
    `insert into api_key (organisation, id, name, role, hash) values ('other', 'a', 'a', 'admin', '\\x00')`,
    `insert into session (organisation, hash, key_id, created_at, expires_at) values ('other', '\\x00', 'a', now(), now())`,
    `insert into scim_group (organisation, id, display_name, created_at, updated_at) values ('other', 'a', 'a', now(), now())`,
  ])
    await expect(asked(statement)).rejects.toMatchObject({ code: '23514' });
});
