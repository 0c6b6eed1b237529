/**
 * Handles an account that the identity provider closes or removes: its sessions end, and its owner's keys are revoked.
 * Both are found by every name that the account has or had.
 *
 * The last key that may create keys is kept, and the result says so, so that closing an account never locks everybody
 * out.
 */
import { Failure } from '../../core/errors.js';
import { namesOfAccount } from '../../store/access/directory-names.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';

export interface Deprovisioned {
  readonly sessions: readonly string[];
  readonly keys: readonly string[];
  /** Keys that are theirs and hold still: each the last one that may make keys. */
  readonly kept: readonly string[];
}

/**
 * Ends what somebody has. Asked again, it ends what has come since.
 * @param id of the account in the directory @param now epoch milliseconds
 */
export async function deprovision(
  { sessionList, keys }: Pick<Stores, 'sessionList' | 'keys'>,
  tx: Transaction,
  organisation: string,
  id: string,
  now: number,
): Promise<Deprovisioned> {
  const names = await namesOfAccount(tx, organisation, id);
  const sessions = await sessionList.endOfPerson(tx, organisation, names);
  const [revoked, kept]: [string[], string[]] = [[], []];
  for (const key of await keys.ownedBy(tx, organisation, names)) {
    try {
      await keys.revoke(tx, organisation, key, now);
      revoked.push(key);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
      kept.push(key);
    }
  }
  return { sessions, keys: revoked, kept };
}
