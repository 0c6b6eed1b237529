/**
 * Locks by a name, which a transaction keeps until its end (PostgreSQL's documentation, "Advisory Locks"): the only
 * mechanism that separates processes where no row does. Within a process keyed-mutex.ts comes first, because a caller
 * that waits here holds a connection. Two versions share the hash of a name during a rollout, so it never changes.
 */
import type { Queryable } from './database.js';

const SEPARATOR = '\u0001';

/** Waits until nobody else has the name. @param name one text, or parts of one */
export async function waitForLock(tx: Queryable, ...name: readonly string[]): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [name.join(SEPARATOR)]);
}

/** As `waitForLock`, of a subject of an organisation, under the older hash of the two. */
export async function waitForSubject(tx: Queryable, subject: string, organisation: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtext($1), hashtext($2))`, [subject, organisation]);
}

/** Takes the name unless another process has it; does not wait. */
export async function takesLock(tx: Queryable, ...name: readonly string[]): Promise<boolean> {
  const [lock] = await tx.query<{ taken: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as taken`,
    [name.join(SEPARATOR)],
  );
  return lock?.taken === true;
}
