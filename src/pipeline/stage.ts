/**
 * The interface of a stage of the line. A stage loads, calls a pure function, saves, and returns what it enqueues. It
 * saves and enqueues in one transaction, and enqueues only stages to its right.
 */
import type { Clock } from '../core/time.js';
import type { Transaction } from '../store/database.js';
import type { WorkItem } from '../store/work.js';

export interface StageCall {
  readonly organisation: string;
  /** Team, source or day: the first part of every key of this call. */
  readonly partition: string;
  readonly keys: readonly string[];
  /** Epoch milliseconds: when the run began. */
  readonly now: number;
  /** The running clock, for work that waits for others within the run. */
  readonly clock: Clock;
  readonly tx: Transaction;
  /**
   * Since when the stage, in any process, puts a key back instead of doing it (WorkItem.pauseMs); null: it does not.
   */
  pausedSince(key: string): number | null;
}

interface Named {
  /** noun.verb: the noun is what it writes. */
  readonly name: string;
  /** Keys taken in one transaction. */
  readonly most: number;
  /**
   * It asks providers or tells people: a process that serves does it, with its connections and channels, the command
   * line never.
   */
  readonly reachesOut?: true;
}

/** Its work is done in the transaction that takes its keys: it asks nobody but the database, and on that connection. */
interface AtOnce extends Named {
  readonly apart?: undefined;
  run(call: StageCall): Promise<readonly WorkItem[]>;
}

/**
 * The work may take minutes, or calls another system. It runs without a connection to the database; a lease keeps the
 * key from others until it is done. The lease of a dead process expires, and the work starts again.
 */
interface Apart extends Named {
  readonly run?: undefined;
  readonly apart: ApartWork;
}

export type Stage = AtOnce | Apart;

/**
 * The returned function saves the result in one transaction; it is not called if another process has finished the key
 * in the meantime. @returns the function that saves, which receives the current time.
 */
export type ApartWork = (
  call: Omit<StageCall, 'tx' | 'keys' | 'pausedSince'> & { readonly key: string },
) => Promise<(tx: Transaction, now: number) => Promise<readonly WorkItem[]>>;

/** A stage whose work is done apart. */
export const apartStage = (name: string, apart: ApartWork): Stage => ({ name, most: 1, apart });

/** A stage that asks providers or tells people. */
export const reachingStage = (name: string, apart: ApartWork): Stage => ({ name, most: 1, reachesOut: true, apart });
