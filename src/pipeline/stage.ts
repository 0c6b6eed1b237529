/**
 * What a stage of the line is. A stage loads, calls a pure function, saves, and says what it wakes; it runs in one
 * transaction and wakes only stages to its right.
 */
import type { Clock } from '../core/time.js';
import type { Transaction } from '../store/database.js';
import type { Waking } from '../store/work.js';

export interface StageCall {
  readonly organisation: string;
  /** Team, source or day: the first part of every key of this call. */
  readonly lane: string;
  readonly keys: readonly string[];
  /** Epoch milliseconds: when the run began. */
  readonly now: number;
  /** The time as it goes on, for what waits for others within the run. */
  readonly clock: Clock;
  readonly tx: Transaction;
}

export interface Stage {
  /** noun.verb: the noun is what it writes. */
  readonly name: string;
  /** Keys taken in one transaction. */
  readonly most: number;
  run(call: StageCall): Promise<readonly Waking[]>;
  /**
   * It asks providers or tells people: a process that serves does it, with its connections and channels, the command
   * line never.
   */
  readonly reachesOut?: true;
  /**
   * Present: the work of a key may take minutes. It is done outside of any transaction, and `run` is not called. Until
   * it is done a lease keeps the key from others; the lease of a process that died runs out, and the work is begun
   * anew. What it gives back saves, in one transaction.
   */
  readonly apart?: ApartWork;
}

/** @returns what saves it, told the time at which it does. */
export type ApartWork = (
  call: Omit<StageCall, 'tx' | 'keys' | 'clock'> & { readonly key: string },
) => Promise<(tx: Transaction, now: number) => Promise<readonly Waking[]>>;

/** A stage whose work is done apart. */
export function apartStage(name: string, apart: ApartWork): Stage {
  return {
    name,
    most: 1,
    apart,
    async run({ keys, tx, ...call }) {
      const wakings: Waking[] = [];
      for (const key of keys) wakings.push(...(await (await apart({ ...call, key }))(tx, call.now)));
      return wakings;
    },
  };
}
