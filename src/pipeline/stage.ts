/**
 * What a stage of the line is. A stage loads, calls a pure function, saves, and says what it wakes; it runs in one
 * transaction and wakes only stages to its right.
 */
import type { Transaction } from '../store/database.js';
import type { Waking } from '../store/work.js';

export interface StageCall {
  readonly organisation: string;
  /** Team, source or day: the first part of every key of this call. */
  readonly lane: string;
  readonly keys: readonly string[];
  /** Epoch milliseconds. */
  readonly now: number;
  readonly tx: Transaction;
}

export interface Stage {
  /** noun.verb: the noun is what it writes. */
  readonly name: string;
  /** Keys taken in one transaction. */
  readonly most: number;
  run(call: StageCall): Promise<readonly Waking[]>;
}
