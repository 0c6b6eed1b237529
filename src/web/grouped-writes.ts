/**
 * Groups writes that would wait for the same locks: those that arrive while a group is at work form the next group, in
 * one transaction with their audit entries and answers. Each has its own outcome: a refused write does not affect the
 * others.
 *
 * Where a transaction fails as a whole, its writes are retried one by one, so that none fails because of another. Does
 * not depend on what is written.
 */
import { Failure } from '../core/errors.js';
import type { Transaction } from '../store/database.js';
import type { OnceRequest } from '../store/idempotency.js';
import type { Stores } from '../store/stores.js';
import type { KeyedMutex } from '../store/keyed-mutex.js';
import { actorOf, type Caller } from './caller.js';
import { answer, onceRequest, type Written } from './writes.js';

/** A transaction of this many is short, and its commit costs each of them next to nothing. */
const MOST = 50;

interface Waiting<Ask, W> {
  readonly caller: Caller;
  readonly once: OnceRequest | null;
  readonly ask: Ask;
  resolve(written: W): void;
  reject(error: unknown): void;
}

export class GroupedWrites<Ask, T, W extends Written<T>> {
  private readonly waiting = new Map<string, Waiting<Ask, W>[]>();

  /**
   * @param mutex shared with all others that take these locks
   * @param work does an organisation's writes in order, and returns the outcome of each
   */
  constructor(
    private readonly stores: Pick<Stores, 'audit' | 'db' | 'idempotency'>,
    private readonly verb: string,
    private readonly mutex: KeyedMutex,
    private readonly work: (
      tx: Transaction,
      organisation: string,
      asked: readonly Ask[],
    ) => Promise<readonly (W | Failure)[]>,
  ) {}

  /**
   * @param prepare work that needs no lock, done once the Idempotency-Key is claimed
   * @returns what was written; null where the answer is that of an earlier request
   */
  async write(caller: Caller, prepare: () => Promise<Ask>): Promise<{ readonly body: T; readonly written: W | null }> {
    const once = onceRequest(caller);
    let written: W | null = null;
    const join = async (): Promise<W> => (written = await this.join(caller, once, await prepare()));
    const body =
      once === null ? (await join()).body : answer<T>(caller, await this.stores.idempotency.keeping<T>(once, join));
    return { body, written };
  }

  private join(caller: Caller, once: OnceRequest | null, ask: Ask): Promise<W> {
    const { organisation } = caller.principal;
    return new Promise<W>((resolve, reject) => {
      const queue = this.waiting.get(organisation);
      const one = { caller, once, ask, resolve, reject };
      if (queue !== undefined) {
        queue.push(one);
        return;
      }
      this.waiting.set(organisation, [one]);
      void this.drain(organisation);
    });
  }

  private async drain(organisation: string): Promise<void> {
    const queue = this.waiting.get(organisation) ?? [];
    while (queue.length > 0) {
      try {
        await this.mutex.runExclusive(organisation, () => this.next(organisation, queue.splice(0, MOST)));
      } catch (error) {
        for (const one of queue.splice(0)) one.reject(error);
      }
    }
    this.waiting.delete(organisation);
  }

  private async next(organisation: string, group: readonly Waiting<Ask, W>[]): Promise<void> {
    const error = await this.together(organisation, group);
    if (error === null) return;
    if (group.length === 1) group[0]?.reject(error);
    else
      for (const one of group)
        await this.together(organisation, [one]).then((own) => (own === null ? undefined : one.reject(own)));
  }

  /** Null: each of them has its answer. */
  private async together(organisation: string, group: readonly Waiting<Ask, W>[]): Promise<unknown> {
    const { db, audit, idempotency } = this.stores;
    try {
      const results = await db.transaction(async (tx) => {
        const all = await this.work(
          tx,
          organisation,
          group.map(({ ask }) => ask),
        );
        const done = group.flatMap(({ caller, once }, at) => {
          const written = all[at];
          return written === undefined || written instanceof Failure ? [] : [{ caller, once, written }];
        });
        if (done.length > 0)
          await audit.auditAll(
            tx,
            organisation,
            this.verb,
            done.map(({ caller, written: { target, detail } }) => ({
              actor: actorOf(caller),
              target,
              ...(detail === undefined ? {} : { detail }),
            })),
          );
        const kept = done.flatMap(({ once, written }) => (once === null ? [] : [{ request: once, answer: written }]));
        if (kept.length > 0) await idempotency.keepInTransaction(tx, kept);
        return all;
      });
      group.forEach(({ resolve, reject }, at) => {
        const written = results[at];
        if (written === undefined || written instanceof Failure)
          reject(written ?? new Error(`${this.verb}: nothing was answered`));
        else resolve(written);
      });
      return null;
    } catch (error) {
      return error;
    }
  }
}
