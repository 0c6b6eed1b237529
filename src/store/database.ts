/**
 * The access to PostgreSQL: opens a pool, runs transactions and COPY, listens; migrating.ts changes the schema. Knows
 * no domain. The classes beside it contain the SQL; nothing outside this room sees a connection.
 *
 * The invariant: code that holds a connection never requests a second one, so that nobody waits for a connection that
 * only the waiter could free. Such a request is refused at once, whatever the pool's size. A failure that may pass is a
 * Failure of kind `unavailable` (trouble.ts); a transaction that the database asks to repeat is repeated here.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type ClientBase, type ClientConfig, type PoolClient, type QueryConfig } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { assert, invalid, unavailable } from '../core/errors.js';
import { Listening, LISTENING } from './listening.js';
import { migrateDatabase, migrationsPending } from './migrating.js';
import { isFull, rowsOf, type Queryable } from './statements.js';
import { isConnectionLost, isToBeRepeated, troubleOf } from './trouble.js';

export type { Queryable } from './statements.js';

/** How long the database is waited for, in milliseconds. */
export interface Patience {
  /** For a connection of the pool to be free, or a new one to be made. */
  readonly connection: number;
  /** For a statement: then the server gives it up. */
  readonly statement: number;
  /** After that, for the server to say so: one that does not is taken for gone. */
  readonly silence: number;
}

const PATIENCE: Patience = { connection: 10_000, statement: 120_000, silence: 5000 };

/** A transaction that the database asks to be run again is run so often at most. */
const MOST_RUNS = 8;

const BEGIN_SNAPSHOT = 'begin isolation level repeatable read, read only';
/**
 * One waits for the others, idle in its transaction: a limit of the database's own does not end that. They are side by
 * side already: further processes of each would take more of the server than they give.
 */
const BEGIN_TOGETHER = `${BEGIN_SNAPSHOT}; set local idle_in_transaction_session_timeout = 0; set local max_parallel_workers_per_gather = 0`;
const EXPORT_SNAPSHOT = 'select pg_export_snapshot() as id';

/** So long others are waited for that read of the same moment. */
const FREE_MILLISECONDS = 250;

/** A pool that others use at the same time may lend another session than the one used last. */
const SESSION_CHECKS = 3;

/** One open transaction on one connection. */
export class Transaction implements Queryable {
  private readonly endings: (() => Promise<void>)[] = [];

  constructor(
    private readonly client: PoolClient,
    private readonly patience: Patience,
  ) {}

  /** Has that done after everything else of the transaction, right before its commit. */
  beforeCommit(ending: () => Promise<void>): void {
    this.endings.push(ending);
  }

  /** Executes the work left for the end; the code that commits calls it. */
  async end(): Promise<void> {
    for (const ending of this.endings) await ending();
  }

  async query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return ask<Row>(this.client, this.patience, sql, parameters);
  }

  /** COPY in text form. `rows` yields whole lines, each ending in a newline; see copyText. */
  async copy(table: string, columns: readonly string[], rows: Iterable<string>): Promise<void> {
    const source = Readable.from(chunks(rows));
    let own: Error | null = null;
    source.once('error', (error) => (own = error));
    try {
      await pipeline(source, this.client.query(copyFrom(`copy ${table} (${columns.join(', ')}) from stdin`)), {
        signal: AbortSignal.timeout(this.patience.statement + this.patience.silence),
      });
    } catch (error) {
      throw error === own ? error : troubleOf(error);
    }
  }
}

async function ask<Row>(
  client: PoolClient,
  { statement, silence }: Patience,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  try {
    return await rowsOf<Row>(client, sql, parameters, statement + silence);
  } catch (error) {
    throw troubleOf(error);
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

/** One of several that read of one moment: its statements run one after the other, whoever hands them in. */
class Reader implements Queryable {
  private last: Promise<unknown> = Promise.resolve();
  private isOpen = true;

  constructor(private readonly transaction: Transaction) {}

  query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const rows = this.last.then(() => {
      assert(this.isOpen, 'whoever reads goes on after its moment has ended');
      return this.transaction.query<Row>(sql, parameters);
    });
    this.last = rows.catch(ignore);
    return rows;
  }

  /** After the statement at hand; those that come later fail. */
  async close(): Promise<void> {
    this.isOpen = false;
    await this.last;
  }
}

/** A transaction that reads of the moment of another, and its connection. */
interface Joined {
  readonly client: PoolClient;
  readonly transaction: Transaction;
}

/** Whether the running transaction still holds its connection. */
const HELD = new AsyncLocalStorage<{ isOpen: boolean }>();

export class Database implements Queryable {
  /** One connection beside the pool, for the sign that a process is alive: it waits behind nothing else. */
  readonly aside: Queryable = {
    query: (sql, parameters) =>
      repeating(() => this.lent(this.single, (client) => ask(client, this.patience, sql, parameters))),
  };

  private constructor(
    private readonly url: string,
    private readonly pool: Pool,
    private readonly single: Pool,
    private readonly patience: Patience,
  ) {}

  /**
   * @param connections the pool's size: one is enough for everything to go on
   * @throws Failure unavailable if the server cannot be reached.
   */
  static async open(url: string, connections = 10, patience: Partial<Patience> = {}): Promise<Database> {
    const whole = { ...PATIENCE, ...patience };
    const options = { ...clientOptions(url, whole), onConnect: (client: ClientBase) => applySettings(client, whole) };
    const pool = new Pool({ ...options, max: connections });
    const single = new Pool({ ...options, max: 1 });
    // For an idle connection: the pool has already removed it.
    for (const one of [pool, single]) one.on('error', ignore);
    try {
      (await pool.connect()).release();
      return new Database(url, pool, single, whole);
    } catch (cause) {
      await pool.end();
      throw unavailable(
        `the database cannot be reached: ${cause instanceof Error ? cause.message : 'no reason given'}`,
        cause,
      );
    }
  }

  async query<Row = Record<string, unknown>>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return repeating(() => this.lent(this.pool, (client) => ask<Row>(client, this.patience, sql, parameters)));
  }

  /**
   * Runs `work` in one transaction; an error rolls all of it back. Where the database asks for it (a deadlock, a
   * serialization failure), `work` is run again from its start: what it hands out, it hands out as its result.
   */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.between('begin', work);
  }

  /** Runs statements that only read, all of one moment: none of them sees what is committed after the first began. */
  async snapshot<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.between(BEGIN_SNAPSHOT, work);
  }

  /**
   * The same by several readers side by side. They share connections if not so many are free at once: nobody who holds
   * one waits for another. One that cannot read of the same moment is done without: it broke, or an address that stands
   * for several servers led to another.
   */
  async snapshots<T>(count: number, work: (readers: readonly Queryable[]) => Promise<T>): Promise<T> {
    return this.between(BEGIN_TOGETHER, async (first) => {
      const others = await this.joined(first, await this.borrowFree(count - 1));
      const readers = [first, ...others.map(({ transaction }) => transaction)].map((one) => new Reader(one));
      let isLost = false;
      try {
        return await work(Array.from({ length: count }, (_, at) => readers[at % readers.length] ?? first));
      } catch (error) {
        isLost = isConnectionLost(error);
        throw error;
      } finally {
        await Promise.all(readers.map((reader) => reader.close()));
        await Promise.all(others.map(({ client }) => this.giveBack(client, isLost)));
      }
    });
  }

  /** Those that read as the first does, which exports its moment (PostgreSQL, "SET TRANSACTION"). */
  private async joined(first: Transaction, clients: readonly PoolClient[]): Promise<Joined[]> {
    if (clients.length === 0) return [];
    let moment: string | null = null;
    try {
      moment = (await first.query<{ id: string }>(EXPORT_SNAPSHOT))[0]?.id ?? null;
    } finally {
      if (moment === null) for (const client of clients) handBack(client, false);
    }
    const tried = await Promise.all(clients.map((client) => this.join(client, moment ?? '')));
    return tried.flatMap((one) => (one === null ? [] : [one]));
  }

  private async join(client: PoolClient, moment: string): Promise<Joined | null> {
    try {
      await ask(client, this.patience, BEGIN_TOGETHER);
      await ask(client, this.patience, `set transaction snapshot '${moment}'`);
      return { client, transaction: new Transaction(client, this.patience) };
    } catch {
      handBack(client, true);
      return null;
    }
  }

  /**
   * As many connections as are lent without anybody giving one back, and so many at most. One that is still to be made
   * is not waited for for long: a pooler in between may have none until somebody gives one back.
   */
  private async borrowFree(most: number): Promise<PoolClient[]> {
    const { idleCount, totalCount, waitingCount, options } = this.pool;
    const free = Math.max(0, idleCount + options.max - totalCount - waitingCount);
    const found: PoolClient[] = [];
    let isLate = false;
    const take = async (): Promise<void> => {
      const client = await this.pool.connect();
      // At once: one that breaks while another is being made would end the process.
      client.on('error', ignore);
      if (isLate) handBack(client, false);
      else found.push(client);
    };
    const taken = Array.from({ length: Math.min(most, free) }, () => take().catch(ignore));
    const enough = new AbortController();
    await Promise.race([Promise.all(taken), pause(FREE_MILLISECONDS, undefined, enough).catch(ignore)]);
    enough.abort();
    isLate = true;
    return found;
  }

  /**
   * After a loss none is asked for anything again: a network that is silent is so to all, and for as long once more.
   */
  private async giveBack(client: PoolClient, isLost: boolean): Promise<void> {
    const isPutAway =
      isLost ||
      (await ask(client, this.patience, 'rollback').then(
        () => false,
        () => true,
      ));
    handBack(client, isPutAway);
  }

  private async between<T>(begin: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return repeating(() =>
      this.lent(this.pool, async (client) => {
        await ask(client, this.patience, begin);
        try {
          const transaction = new Transaction(client, this.patience);
          const result = await work(transaction);
          await transaction.end();
          await ask(client, this.patience, 'commit');
          return result;
        } catch (error) {
          // A connection that cannot even roll back is put away, and the server rolls back.
          if (!isConnectionLost(error)) await ask(client, this.patience, 'rollback');
          throw error;
        }
      }),
    );
  }

  /** Lends a connection for as long as `use` runs. */
  private async lent<T>(pool: Pool, use: (client: PoolClient) => Promise<T>): Promise<T> {
    assert(
      HELD.getStore()?.isOpen !== true,
      'whoever holds a connection to the database asks for a second one: what runs in a transaction runs on it',
    );
    const client = await this.borrow(pool);
    const held = { isOpen: true };
    // Whatever breaks while it is lent, the statement at hand fails by it.
    client.on('error', ignore);
    let lost = false;
    try {
      return await HELD.run(held, () => use(client));
    } catch (error) {
      lost = isConnectionLost(error);
      throw error;
    } finally {
      held.isOpen = false;
      client.off('error', ignore);
      client.release(lost || isFull(client));
    }
  }

  private async borrow(pool: Pool): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (cause) {
      const { totalCount, options } = pool;
      throw unavailable(
        totalCount >= options.max
          ? `all ${options.max} connections to the database were in use for ${this.patience.connection / 1000} s`
          : `the database cannot be reached: ${cause instanceof Error ? cause.message : 'no reason given'}`,
        cause,
      );
    }
  }

  /**
   * Runs the migrations that have not run; returns their names. If several processes start at once, one of them runs
   * them.
   */
  migrate(): Promise<string[]> {
    return migrateDatabase(this.url);
  }

  pendingMigrations(): Promise<boolean> {
    return migrationsPending(this);
  }

  /**
   * Whether the server has room for what this process may open. @throws Failure invalid naming the setting
   * @param otherConnections connections that the process opens apart from the pool: it listens, and the queue has its
   * own
   */
  async checkRoom(otherConnections: number): Promise<void> {
    const wanted = this.pool.options.max + 1 + otherConnections;
    const [row] = await this.query<{ room: number }>(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as room`,
    );
    if (row !== undefined && wanted > row.room)
      throw invalid(
        `this process may open ${wanted} connections to the database, and the server takes ${row.room} from everybody together`,
        [
          {
            path: 'BURSAR_DATABASE_CONNECTIONS',
            message: `is too large: at most ${Math.max(1, row.room - 1 - otherConnections)}`,
          },
        ],
      );
  }

  /**
   * Whether each connection keeps a session of the server to itself, which locks and notices of a session need.
   * PgBouncer with `pool_mode = transaction` lends the session of one that is at rest to another, the one that was used
   * last first.
   * @throws Failure invalid if it was seen to be lent
   */
  async checkSessions(): Promise<void> {
    const session = 'select pg_backend_pid() as pid';
    for (let attempt = 0; attempt < SESSION_CHECKS; attempt++) {
      const [own] = await this.aside.query<{ pid: number }>(session);
      const [other] = await this.transaction((tx) => tx.query<{ pid: number }>(session));
      if (own !== undefined && own.pid === other?.pid)
        throw invalid('connections to the database share its sessions: set the connection pooler to session mode', [
          { path: 'DATABASE_URL', message: 'leads to a pool that lends per transaction: set pool_mode = session' },
        ]);
    }
  }

  /**
   * Calls back on every notification of the channel, and once after it could not be heard for a while; returns the way
   * to stop.
   */
  async listen(channel: string, heard: () => void): Promise<() => Promise<void>> {
    const prepare = (client: ClientBase): Promise<void> => applySettings(client, this.patience);
    const listening = new Listening(clientOptions(this.url, this.patience), prepare, channel, heard);
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
    if (!this.pool.ending) await Promise.all([this.pool.end(), this.single.end()]);
  }
}

/** Several statements that read of one moment; within a transaction that is open, as that one reads. */
export const inSnapshot = <T>(db: Queryable, work: (db: Queryable) => Promise<T>): Promise<T> =>
  db instanceof Database ? db.snapshot(work) : work(db);

/** The same by several readers, for statements that run side by side. */
export const inSnapshots = <T>(
  db: Queryable,
  count: number,
  work: (readers: readonly Queryable[]) => Promise<T>,
): Promise<T> => (db instanceof Database ? db.snapshots(count, work) : work(Array.from({ length: count }, () => db)));

const ignore = (): void => undefined;

/** One that `borrowFree` lent. */
const handBack = (client: PoolClient, isPutAway: boolean): void =>
  client.off('error', ignore).release(isPutAway || isFull(client));

/**
 * Runs work again, after a moment, for as long as the database asks for it. PostgreSQL detects a deadlock after a
 * second (deadlock_timeout): pauses of that length let the other transaction pass.
 */
async function repeating<T>(work: () => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    try {
      return await work();
    } catch (error) {
      if (run === MOST_RUNS || !isToBeRepeated(error)) throw error;
      await pause(Math.random() * Math.min(2000, 50 * 2 ** run));
    }
  }
}

function clientOptions(url: string, { connection }: Patience): ClientConfig {
  return {
    connectionString: url,
    application_name: 'bursar',
    connectionTimeoutMillis: connection,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
  };
}

/**
 * What holds for every statement of a connection. It is set after connecting: a pool in between (PgBouncer) refuses
 * such settings at the start of a connection (PgBouncer's documentation, "ignore_startup_parameters").
 *
 * The server checks after ten seconds of silence whether the client is there, so that the locks of a machine that has
 * gone are free again soon (PostgreSQL's documentation, "Connections and Authentication", "TCP Settings").
 */
async function applySettings(client: ClientBase, { connection, statement }: Patience): Promise<void> {
  const settings = {
    timezone: 'UTC',
    jit: 'off',
    work_mem: '16MB',
    statement_timeout: statement,
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 2,
    // One connection to each node of a cluster: a transaction reads what it wrote. PostgreSQL alone takes no notice.
    'citus.multi_shard_modify_mode': 'sequential',
  };
  const text = Object.entries(settings)
    .map(([name, value]) => `set ${name} = '${value}'`)
    .join('; ');
  // A pooler that has no session to lend takes the connection and is silent then. The library's types leave
  // `query_timeout` out.
  const statementOfAll: QueryConfig & { readonly query_timeout: number } = { text, query_timeout: connection };
  await client.query(statementOfAll);
}

/** Opens, migrates and closes. */
export const migrate = (url: string): Promise<string[]> => migrateDatabase(url);
