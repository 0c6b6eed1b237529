/**
 * Chooses the database for large queries: a read replica if there is one, otherwise the database itself.
 *
 * The invariants: an answer from a replica carries the time of its data; and a query for a decision uses a replica only
 * once the replica has all earlier commits, so that no decision is made on old data. If any of this is unknown, the
 * database itself answers.
 *
 * Followed: PostgreSQL's documentation, "Recovery Information Functions" and "Backup Control Functions".
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, invalid } from '../core/errors.js';
import { Database, type Patience, type Queryable } from './database.js';

/** Where to ask. */
export interface Reading {
  readonly db: Queryable;
  /** The time of its data; null: now. */
  readonly asOf: Date | null;
}

/** How a replica is reached. */
export interface ReplicaAddress {
  readonly url: string;
  readonly connections: number;
  readonly patience?: Partial<Patience>;
}

/** A replica that could not be reached is not looked for again for so long. */
const REST_MS = 10_000;
/** The database itself answers rather than that anybody waits longer to be connected. */
const CONNECT_MS = 2000;
/** How long to wait for a replica to have what was committed. */
const CATCH_UP_MS = 5000;
const PAUSE_MS = 50;

interface State {
  readonly has: boolean | null;
  readonly at: Date | null;
}

export class ReadSide {
  private replica: Database | null = null;
  private opening: Promise<Database | null> | null = null;
  private restsUntil = 0;

  constructor(
    private readonly primary: Database,
    private readonly address: ReplicaAddress | null = null,
  ) {}

  /** @throws Failure invalid if what answers is no replica of the database; one that cannot be reached is no fault */
  async check(): Promise<void> {
    await this.opened();
  }

  /** For people who look: what there is, and of when. */
  async current(): Promise<Reading> {
    const now: Reading = { db: this.primary, asOf: null };
    const asked = await this.asked();
    if (asked === null) return now;
    const { replica, position } = asked;
    let { state } = asked;
    if (state.has === false) {
      // Recent writes of a busy database arrive in a moment.
      await pause(PAUSE_MS);
      state = await stateOf(replica, position).catch(() => state);
    }
    if (state.has === true) return { db: replica, asOf: null };
    return state.at === null ? now : { db: replica, asOf: state.at };
  }

  /** For what is relied on: all that is committed by now. @param waitMs how long a replica that is behind is waited for */
  async whole(waitMs = CATCH_UP_MS): Promise<Queryable> {
    const until = performance.now() + waitMs;
    for (let asked = await this.asked(); asked !== null; ) {
      if (asked.state.has === true) return asked.replica;
      if (asked.state.has === null || performance.now() > until) break;
      await pause(PAUSE_MS);
      const state = await stateOf(asked.replica, asked.position).catch(() => null);
      asked = state === null ? null : { ...asked, state };
    }
    return this.primary;
  }

  async close(): Promise<void> {
    await (await this.opening?.catch(() => null))?.close();
  }

  /** The present positions of the database and of the replica; null: there is none, or the position is unknown. */
  private async asked(): Promise<{ replica: Database; position: string; state: State } | null> {
    const replica = await this.opened().catch(() => null);
    if (replica === null) return null;
    try {
      const [row] = await this.primary.query<{ position: string }>(
        `select pg_current_wal_insert_lsn()::text as position`,
      );
      const position = row?.position ?? '';
      return { replica, position, state: await stateOf(replica, position) };
    } catch {
      return null;
    }
  }

  private async opened(): Promise<Database | null> {
    if (this.address === null || this.replica !== null) return this.replica;
    if (performance.now() < this.restsUntil) return null;
    this.opening ??= this.open(this.address);
    try {
      return (this.replica = await this.opening);
    } catch (error) {
      if (error instanceof Failure && error.kind !== 'unavailable') throw error;
      this.restsUntil = performance.now() + REST_MS;
      return null;
    } finally {
      if (this.replica === null) this.opening = null;
    }
  }

  private async open({ url, connections, patience }: ReplicaAddress): Promise<Database> {
    const replica = await Database.open(url, connections, { ...patience, connection: CONNECT_MS });
    const [here, there] = await Promise.all([identityOf(this.primary), identityOf(replica)]);
    const isReplica = there.recovering && here.system === there.system && here.database === there.database;
    if (isReplica) return replica;
    await replica.close();
    throw invalid('the configuration is wrong: DATABASE_READ_URL is not a read replica of DATABASE_URL', [
      {
        path: 'DATABASE_READ_URL',
        message: there.recovering ? 'is a replica of another database' : 'is not a replica: it accepts writes',
      },
    ]);
  }
}

interface Identity {
  readonly recovering: boolean;
  readonly system: string;
  readonly database: string;
}

async function identityOf(db: Queryable): Promise<Identity> {
  const [row] = await db.query<Identity>(
    `select pg_is_in_recovery() as recovering, system_identifier::text as system, current_database() as database
     from pg_control_system()`,
  );
  return row ?? { recovering: false, system: '', database: '' };
}

/**
 * Whether it has all before a position of the write-ahead log, and when what it has last was committed. One that has
 * been promoted is no replica any more, and says neither.
 */
async function stateOf(replica: Queryable, position: string): Promise<State> {
  const [row] = await replica.query<State>(
    `select pg_last_wal_replay_lsn() >= $1::pg_lsn as has, pg_last_xact_replay_timestamp() as at where pg_is_in_recovery()`,
    [position],
  );
  return row ?? { has: null, at: null };
}
