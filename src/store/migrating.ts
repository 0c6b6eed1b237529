/**
 * Migrates the schema: runs the pending migrations in order, one transaction each.
 *
 * Of several processes one runs them and the others wait. A migration never waits long for a table's lock, because
 * every reader and writer of that table would queue behind it: it gives up after a moment, lets them through and tries
 * again. Never changes the result of a migration that has run.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type ClientBase } from 'pg';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations/index.js';
import { unavailable } from '../core/errors.js';
import { distribute } from './distribution.js';
import type { Queryable } from './statements.js';

/** Any number that no other program on the database uses. */
const MIGRATION_LOCK = 7_406_218_035;

/** Where TypeORM notes what has run. */
const JOURNAL = 'migration';

/** How long a migration waits for a lock, how often it tries, and how long it rests in between. */
const LOCK_MILLISECONDS = 3000;
const LOCK_TRIES = 20;
const LOCK_PAUSE_MILLISECONDS = 500;

/** How long another process that migrates is waited for: an index over a large table takes its time. */
const OTHERS_MILLISECONDS = 30 * 60_000;

const NO_LOCK = '55P03';

/** @returns the names of those that it ran */
export async function migrateDatabase(url: string): Promise<string[]> {
  const holder = new Client({ connectionString: url, application_name: 'bursar', keepAlive: true });
  // The statement at hand fails by it.
  holder.on('error', () => undefined);
  await holder.connect();
  try {
    await waitForOthers(holder);
    const ran = await runAll(url);
    await distribute(holder);
    return ran;
  } catch (error) {
    if (codeOf(error) !== NO_LOCK) throw error;
    throw unavailable('the schema is in use: another process migrates it, or a running process holds a table', error);
  } finally {
    await holder.end().catch(() => undefined);
  }
}

/** Asks again and again: an index that is made concurrently waits for every statement that runs, one that waits too. */
async function waitForOthers(holder: ClientBase): Promise<void> {
  for (let tries = OTHERS_MILLISECONDS / LOCK_PAUSE_MILLISECONDS; ; tries--) {
    const { rows } = await holder.query<{ taken: boolean }>(`select pg_try_advisory_lock($1) as taken`, [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.taken === true) return;
    if (tries <= 0) throw unavailable('the schema is in use: another process migrates it');
    await pause(LOCK_PAUSE_MILLISECONDS);
  }
}

async function runAll(url: string): Promise<string[]> {
  const source = await new DataSource({
    type: 'postgres',
    url,
    poolSize: 1,
    migrations,
    migrationsTableName: JOURNAL,
    migrationsTransactionMode: 'each',
    entities: [],
    logging: false,
    applicationName: 'bursar',
    extra: {
      keepAlive: true,
      onConnect: (client: ClientBase) =>
        client.query(`set timezone = 'UTC'; set jit = off; set lock_timeout = ${LOCK_MILLISECONDS}`),
    },
  }).initialize();
  try {
    const before = await ranIn(source);
    for (let attempt = 1; ; attempt++) {
      try {
        await source.runMigrations({ transaction: 'each' });
        return (await ranIn(source)).filter((name) => !before.includes(name));
      } catch (error) {
        if (codeOf(error) !== NO_LOCK || attempt === LOCK_TRIES) throw error;
        await pause(LOCK_PAUSE_MILLISECONDS);
      }
    }
  } finally {
    await source.destroy();
  }
}

async function ranIn(source: DataSource): Promise<string[]> {
  const [known] = await source.query<{ known: boolean }[]>(`select to_regclass('${JOURNAL}') is not null as known`);
  if (known?.known !== true) return [];
  return (await source.query<{ name: string }[]>(`select name from ${JOURNAL} order by id`)).map(({ name }) => name);
}

/** Whether there are migrations that have not run. */
export async function migrationsPending(db: Queryable): Promise<boolean> {
  const [known] = await db.query<{ known: boolean }>(`select to_regclass('${JOURNAL}') is not null as known`);
  if (known?.known !== true) return true;
  const ran = new Set((await db.query<{ name: string }>(`select name from ${JOURNAL}`)).map(({ name }) => name));
  return migrations.some(({ name }) => !ran.has(name));
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
