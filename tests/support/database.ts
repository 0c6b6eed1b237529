/**
 * A database of its own for a test file, copied from the migrated template (or empty) and dropped after the file.
 * It never hands out the template or another file's copy.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, inject } from 'vitest';

export interface FreshDatabase {
  readonly url: string;
  readonly name: string;
}

/**
 * Makes one copy of the template. Call it at the top of a file or of a describe block:
 * `const database = await freshDatabase();`. It is dropped when that file or block ends, open connections included.
 */
export function freshDatabase(): Promise<FreshDatabase> {
  return copyOf(inject('templateName'));
}

/** The same with nothing in it, for tests of the migrations themselves. */
export function emptyDatabase(): Promise<FreshDatabase> {
  return copyOf('template0');
}

async function copyOf(template: string): Promise<FreshDatabase> {
  const serverUrl = inject('serverUrl');
  if (!serverUrl)
    throw new Error(
      'This folder of tests has no database: move the file to one of the system folders of vitest.config.ts.',
    );
  const name = `bursar_test_${randomBytes(6).toString('hex')}`;
  afterAll(() => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, name };
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
