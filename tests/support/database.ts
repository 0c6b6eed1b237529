/**
 * A database of its own for a test file, copied from the migrated template (or empty) and dropped after the file.
 * It never hands out the template or another file's copy.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { copyDatabase, databaseOf, dropDatabase } from './cluster.js';

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
  return copyOf(inject('emptyName'));
}

async function copyOf(template: string): Promise<FreshDatabase> {
  const nodes = inject('nodes');
  if (!nodes)
    throw new Error(
      'This folder of tests has no database: move the file to one of the system folders of vitest.config.ts.',
    );
  const name = `bursar_test_${randomBytes(6).toString('hex')}`;
  afterAll(() => dropDatabase(nodes, name));
  await copyDatabase(nodes, name, template);
  return { url: databaseOf(nodes[0], name), name };
}
