/**
 * Handles an account that the identity provider closes or removes: its sessions end, and its owner's keys are revoked.
 *
 * The last key that may create keys is kept, and the result says so, so that closing an account never locks everybody
 * out.
 */
import { principalText } from '../../core/actor.js';
import { Failure } from '../../core/errors.js';
import type { DirectoryUser } from '../../store/access/directory.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';

export interface Deprovisioned {
  readonly sessions: readonly string[];
  readonly keys: readonly string[];
  /** Keys that are theirs and hold still: each the last one that may make keys. */
  readonly kept: readonly string[];
}

/** Ends what somebody has. Asked again, it ends what has come since. @param now epoch milliseconds */
export async function deprovision(
  { sessionList, keys }: Pick<Stores, 'sessionList' | 'keys'>,
  tx: Transaction,
  organisation: string,
  user: DirectoryUser,
  now: number,
): Promise<Deprovisioned> {
  const names = [user.userName, ...(user.externalId === null ? [] : [user.externalId])];
  const subjects = [...new Set([...user.subjects, ...names])];
  const sessions = await sessionList.endOfPerson(tx, organisation, { subjects, names });
  const owners = [...names, ...emailsOf(user), ...subjects.map((id) => principalText({ kind: 'user', id }))];
  const [revoked, kept]: [string[], string[]] = [[], []];
  for (const id of await keys.ownedBy(tx, organisation, owners)) {
    try {
      await keys.revoke(tx, organisation, id, now);
      revoked.push(id);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
      kept.push(id);
    }
  }
  return { sessions, keys: revoked, kept };
}

function emailsOf({ attributes }: DirectoryUser): string[] {
  const { emails } = attributes;
  return (Array.isArray(emails) ? (emails as unknown[]) : []).flatMap((one) =>
    typeof one === 'object' && one !== null && 'value' in one && typeof one.value === 'string' ? [one.value] : [],
  );
}
