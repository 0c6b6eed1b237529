/** Does a write once per Idempotency-Key, in one transaction with its audit entry and its answer. */
import { createHash } from 'node:crypto';
import { canonical } from '../core/changes.js';
import { invalid } from '../core/errors.js';
import type { Transaction } from '../store/database.js';
import type { Answered, OnceRequest } from '../store/idempotency.js';
import { waitForLock } from '../store/locks.js';
import type { Stores } from '../store/stores.js';
import { actorOf, principalOf, type Caller } from './caller.js';

/** The outcome of a write: its answer, and its audit entry. */
export interface Written<T> {
  readonly body: T;
  readonly target: string;
  /** If its `before` and `after` mean the same, nothing changed. */
  readonly detail?: Readonly<Record<string, unknown>>;
  /** Kept for a repeat instead of the body, where the body holds a secret. */
  readonly kept?: T;
  /** Nothing changed: the audit gets no entry. */
  readonly changedNothing?: boolean;
}

const KEY = /^[\u0020-\u007e]{1,200}$/;

/** Runs around the transaction of a write that is not a repeat: before it takes a connection, and after. */
export type Around = <T>(transaction: () => Promise<T>) => Promise<T>;

const atOnce: Around = (transaction) => transaction();

/**
 * Does `work` in a transaction, records `verb` in the audit, and returns the answer; a repeat gets the first answer.
 */
export async function write<T>(
  stores: Pick<Stores, 'audit' | 'db' | 'idempotency'>,
  caller: Caller,
  verb: string,
  work: (tx: Transaction) => Promise<Written<T>>,
  around: Around = atOnce,
): Promise<T> {
  const { organisation } = caller.principal;
  const all = async (tx: Transaction): Promise<Written<T>> => {
    // One after another: what `before` says is what this write replaces.
    if (caller.request.method === 'PUT') await waitForLock(tx, 'put', organisation);
    const written = await work(tx);
    if (!changedNothing(written))
      await stores.audit.audit(tx, organisation, actorOf(caller), verb, written.target, written.detail);
    return written;
  };
  const once = onceRequest(caller);
  if (once === null) return (await around(() => stores.db.transaction(all))).body;
  return answer(caller, await stores.idempotency.inTransaction(once, all, around));
}

function changedNothing({ changedNothing: said, detail = {} }: Written<unknown>): boolean {
  const isCompared = 'before' in detail && 'after' in detail;
  return said ?? (isCompared && canonical(detail['before']) === canonical(detail['after']));
}

/** Does work that has its own transactions and changes nothing when repeated (an import). */
export async function repeatable<T>(
  { idempotency }: Pick<Stores, 'idempotency'>,
  caller: Caller,
  work: () => Promise<T>,
): Promise<T> {
  const once = onceRequest(caller);
  if (once === null) return work();
  return answer(caller, await idempotency.idempotent(once, async () => ({ body: await work() })));
}

export function answer<T>({ request }: Caller, { body, repeated }: Answered<T>): T {
  request.repeated = repeated;
  return body;
}

/** Null where the caller sent no Idempotency-Key. Keys of different callers never meet. */
export function onceRequest({ principal, request }: Caller): OnceRequest | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw invalid('the request has 1 problem(s)', [
      { path: 'Idempotency-Key', message: 'is not a text of 1 to 200 printable ASCII characters' },
    ]);
  }
  const requestHash = createHash('sha256')
    .update(`${request.method} ${request.url}\n`)
    .update(request.bodyDigest ?? '')
    .digest();
  return { organisation: principal.organisation, key: `${principalOf(principal)}/${key}`, requestHash };
}
