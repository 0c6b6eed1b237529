/**
 * A process that may die: between any two commits, and on either side of a call that acts.
 *
 * What a simulated process does goes through a `Life`. At every commit, and at every call that acts, the fuse burns on;
 * when it has burnt down the process is dead, and whatever it tries from then on fails, so that nothing which it had
 * not committed is ever seen. A hiccup is milder: one transaction is rolled back, as PostgreSQL does when it asks to
 * try again, and the process lives on with whatever it remembers.
 */
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Database, Transaction } from '../../src/store/database.js';

/** The process is gone. Nothing catches it for good: every later step of the process throws it again. */
export class Crash extends Error {}

/** A transaction is rolled back: PostgreSQL's serialization_failure. */
export class Hiccup extends Error {
  readonly code = '40001';
}

/** What disturbs a process, and after how many steps. */
export interface Fuse {
  readonly kind: 'crash' | 'hiccup';
  readonly steps: number;
}

export class Life {
  private fuse: { kind: Fuse['kind']; left: number } | null = null;
  private isDead = false;

  /**
   * @param between what the rest of the world does after a commit of the process, before the process goes on
   * @param hiccuped called when a transaction was rolled back
   */
  constructor(
    private readonly between: () => Promise<void>,
    private readonly hiccuped: () => void,
  ) {}

  /** Lights a fuse in place of the one that burns. Null: nothing happens from here on. */
  light(fuse: Fuse | null): void {
    this.fuse = fuse === null ? null : { kind: fuse.kind, left: fuse.steps };
  }

  /** @throws Crash where the process is dead. */
  check(): void {
    if (this.isDead) throw new Crash('the process is dead');
  }

  /** @throws Crash where the process dies here, or is dead. */
  step(): void {
    this.check();
    if (!this.burnsDown('crash')) return;
    this.isDead = true;
    throw new Crash('the process dies');
  }

  /** @throws Crash, Hiccup where the transaction is rolled back. */
  beforeCommit(): void {
    this.step();
    if (!this.burnsDown('hiccup')) return;
    this.hiccuped();
    throw new Hiccup('could not serialize access');
  }

  async afterCommit(): Promise<void> {
    await this.between();
    this.step();
  }

  private burnsDown(kind: Fuse['kind']): boolean {
    if (this.fuse?.kind !== kind || --this.fuse.left > 0) return false;
    this.fuse = null;
    return true;
  }
}

/** The database as a process of this life has it. */
export function mortal(db: Database, life: Life): Database {
  const alive: Pick<Database, 'query' | 'transaction'> = {
    async query<Row>(sql: string, parameters: readonly unknown[] = []) {
      life.check();
      const rows = await db.query<Row>(sql, parameters);
      life.step();
      return rows;
    },
    async transaction<T>(work: (tx: Transaction) => Promise<T>) {
      life.check();
      const result = await db.transaction(async (tx) => {
        const done = await work(tx);
        life.beforeCommit();
        return done;
      });
      await life.afterCommit();
      return result;
    },
  };
  return Object.assign(Object.create(db) as Database, alive);
}

/**
 * A connection as a process of this life has it: it may die before the provider hears of an effect, and before it hears
 * the answer.
 */
export function mortalConnection(connection: ProviderConnection, life: Life): ProviderConnection {
  const apply: NonNullable<ProviderConnection['apply']> = async (effect, token, before) => {
    life.step();
    const answer = await connection.apply?.(effect, token, before);
    life.step();
    return answer ?? { kind: 'unknown', detail: 'it cannot act' };
  };
  return Object.assign(Object.create(connection) as ProviderConnection, { apply });
}
