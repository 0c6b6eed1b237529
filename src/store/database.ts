/**
 * The door to PostgreSQL: opens a pool, migrates, runs transactions and COPY.
 *
 * Knows no domain. The classes beside it hold the SQL; nothing outside this room sees a connection.
 */
import { DataSource, type QueryRunner } from 'typeorm';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { migrations } from '../../migrations/index.js';
import { unavailable } from '../core/errors.js';
import { Listening, LISTENING } from './listening.js';
import { rowsOf } from './statements.js';

/** Any number that no other program on the database uses. */
const MIGRATION_LOCK = 7_406_218_035;

/** Anything that runs a statement: the pool, or one transaction. */
export interface Queryable {
  query<Row = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/** One open transaction on one connection. */
export class Transaction implements Queryable {
  constructor(private readonly runner: QueryRunner) {}

  async query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>((await this.runner.connect()) as PoolClient, sql, parameters);
  }

  /** COPY in text form. `rows` yields whole lines, each ending in a newline; see copyText. */
  async copy(table: string, columns: readonly string[], rows: Iterable<string>): Promise<void> {
    const client = (await this.runner.connect()) as PoolClient;
    await pipeline(
      Readable.from(chunks(rows)),
      client.query(copyFrom(`copy ${table} (${columns.join(', ')}) from stdin`)),
    );
  }
}

function* chunks(rows: Iterable<string>): Generator<string> {
  let pending = '';
  for (const row of rows) {
    pending += row;
    if (pending.length > 262_144) {
      yield pending;
      pending = '';
    }
  }
  if (pending !== '') yield pending;
}

/** One value for COPY's text form. */
export function copyText(value: string | number | bigint | null): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return String(value);
  return /[\\\n\r\t]/.test(value)
    ? value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/\t/g, '\\t')
    : value;
}

function dataSourceFor(url: string, poolSize: number): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    poolSize,
    migrations,
    migrationsTableName: 'migration',
    entities: [],
    logging: false,
    applicationName: 'bursar',
    extra: { options: '-c timezone=UTC -c jit=off -c work_mem=16MB', connectionTimeoutMillis: 10_000 },
  });
}

export class Database implements Queryable {
  private constructor(private readonly source: DataSource) {}

  /** @throws Failure unavailable where the server cannot be reached. */
  static async open(url: string, poolSize = 10): Promise<Database> {
    try {
      return new Database(await dataSourceFor(url, poolSize).initialize());
    } catch (cause) {
      throw unavailable(
        `the database cannot be reached: ${cause instanceof Error ? cause.message : 'no reason given'}`,
        cause,
      );
    }
  }

  async query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const runner = this.source.createQueryRunner();
    try {
      return await rowsOf<Row>((await runner.connect()) as PoolClient, sql, parameters);
    } finally {
      await runner.release();
    }
  }

  /** Runs `work` in one transaction; an error rolls all of it back. */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const runner = this.source.createQueryRunner();
    try {
      await runner.connect();
      await runner.startTransaction();
      const result = await work(new Transaction(runner));
      await runner.commitTransaction();
      return result;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }

  /** Runs the migrations that have not run; returns their names. Of several processes at once, one runs them. */
  async migrate(): Promise<string[]> {
    const runner = this.source.createQueryRunner();
    try {
      await runner.query(`select pg_advisory_lock($1)`, [MIGRATION_LOCK]);
      const done = await this.source.runMigrations({ transaction: 'all' });
      return done.map((migration) => migration.name);
    } finally {
      await runner.query(`select pg_advisory_unlock($1)`, [MIGRATION_LOCK]).catch(() => undefined);
      await runner.release();
    }
  }

  async pendingMigrations(): Promise<boolean> {
    return this.source.showMigrations();
  }

  /**
   * Calls back on every notification of the channel, and once after it could not be heard for a while; returns the way
   * to stop.
   */
  async listen(channel: string, heard: () => void): Promise<() => Promise<void>> {
    const listening = new Listening(this.source, channel, heard);
    await listening.open();
    return () => listening.stop();
  }

  /** Whether any process listens to the channel. */
  async isHeard(channel: string): Promise<boolean> {
    // pg_locks has the two halves of such a key as classid and objid, the second without its sign, and 2 as objsubid
    // (PostgreSQL, "pg_locks").
    const rows = await this.query(
      `select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 2 and classid = $1::oid and objid = (hashtext($2)::bigint & 4294967295)::oid
         and database = (select oid from pg_database where datname = current_database()) limit 1`,
      [LISTENING, channel],
    );
    return rows.length > 0;
  }

  async close(): Promise<void> {
    if (this.source.isInitialized) await this.source.destroy();
  }
}

/** Opens, migrates and closes. */
export async function migrate(url: string): Promise<string[]> {
  const database = await Database.open(url, 2);
  try {
    return await database.migrate();
  } finally {
    await database.close();
  }
}
