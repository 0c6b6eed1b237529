/**
 * Answers to writes, kept for 48 hours under the caller's Idempotency-Key, so that a request sent twice works once.
 *
 * The key is claimed before the work begins. A claim is renewed while its process works on it, so that what a crash
 * left behind is free again after a minute and no connection is held meanwhile. A failed request keeps nothing: it may
 * be sent again under the same key.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { conflict } from '../core/errors.js';
import type { Database, Queryable, Transaction } from './database.js';

export interface OnceRequest {
  readonly organisation: string;
  /** The caller's key, made unique among callers. */
  readonly key: string;
  /** SHA-256 of method, address and body. */
  readonly requestHash: Uint8Array;
}

export interface Answer<T> {
  readonly body: T;
  /** What is kept for a repeat where it differs from the body: a secret is never stored. */
  readonly kept?: T;
}

export interface Answered<T> {
  readonly body: T;
  /** Whether it is the answer of an earlier request. */
  readonly repeated: boolean;
}

const KEPT_HOURS = 48;
const STALE_SECONDS = 60;
const RENEW_MILLISECONDS = 15_000;
const POLL_MILLISECONDS = 100;
const PRUNE_MILLISECONDS = 3_600_000;

export class Idempotency {
  private prunedAt = -Infinity;

  /** @param patienceMilliseconds how long a second request waits for the first one's answer */
  constructor(
    private readonly db: Database,
    private readonly patienceMilliseconds = 10_000,
  ) {}

  /**
   * Runs work that has transactions of its own, and can be repeated without harm should the process die before its
   * answer is kept. @throws Failure conflict for the same key with another request, or while the first is still at
   * work.
   */
  async idempotent<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    return this.claimed(request, async () => {
      const answer = await work();
      await this.keep(this.db, request, answer);
      return answer;
    });
  }

  /**
   * Runs work in one transaction together with its answer: both are there or neither. Throws as `idempotent`.
   * @param around runs the transaction, once the key is claimed
   */
  async inTransaction<T>(
    request: OnceRequest,
    work: (tx: Transaction) => Promise<Answer<T>>,
    around = (run: () => Promise<Answer<T>>): Promise<Answer<T>> => run(),
  ): Promise<Answered<T>> {
    return this.claimed(request, () =>
      around(() =>
        this.db.transaction(async (tx) => {
          const answer = await work(tx);
          await this.keep(tx, request, answer);
          return answer;
        }),
      ),
    );
  }

  /**
   * Runs work that keeps its answer itself, by `keepAll`, in a transaction that it shares with others. Throws as
   * `idempotent`.
   */
  async keeping<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    return this.claimed(request, work);
  }

  private async claimed<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    await this.prune();
    const earlier = await this.claim<T>(request);
    if (earlier !== null) return { body: earlier.body, repeated: true };
    const renewal = setInterval(() => {
      this.db
        .query(`update idempotency set created_at = now() where organisation = $1 and key = $2 and status is null`, [
          request.organisation,
          request.key,
        ])
        .catch(() => undefined);
    }, RENEW_MILLISECONDS);
    renewal.unref();
    try {
      return { body: (await work()).body, repeated: false };
    } catch (error) {
      await this.db
        .query(`delete from idempotency where organisation = $1 and key = $2 and status is null`, [
          request.organisation,
          request.key,
        ])
        .catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Null where the key is ours now, else the answer that is kept under it. The claim does not wait for the disk: what
   * is committed after it (the work, the answer) lies behind it in the log, so that a crash which loses the claim has
   * lost the work too (PostgreSQL's documentation, "Asynchronous Commit").
   */
  private async claim<T>({ organisation, key, requestHash }: OnceRequest): Promise<{ body: T } | null> {
    const until = performance.now() + this.patienceMilliseconds;
    for (;;) {
      const [ours] = await this.db.query(
        `insert into idempotency (organisation, key, request_hash) select $1, $2, $3 from (select set_config('synchronous_commit', 'off', true)) as unhurried
         on conflict (organisation, key) do update set request_hash = excluded.request_hash, created_at = now()
           where idempotency.status is null and idempotency.created_at < now() - make_interval(secs => $4)
         returning 1 as claimed`,
        [organisation, key, requestHash, STALE_SECONDS],
      );
      if (ours !== undefined) return null;
      const [row] = await this.db.query<{ hash: Buffer; status: number | null; body: string }>(
        `select request_hash as hash, status, body from idempotency where organisation = $1 and key = $2`,
        [organisation, key],
      );
      if (row !== undefined && !row.hash.equals(requestHash)) {
        throw conflict('this Idempotency-Key was used before with another request', [
          { path: 'Idempotency-Key', message: 'belongs to another request' },
        ]);
      }
      if (row !== undefined && row.status !== null) return { body: JSON.parse(row.body) as T };
      if (performance.now() > until) {
        throw conflict('the first request with this Idempotency-Key is still being worked on: ask again later', [
          { path: 'Idempotency-Key', message: 'is in use' },
        ]);
      }
      await pause(POLL_MILLISECONDS);
    }
  }

  private keep<T>(db: Queryable, request: OnceRequest, answer: Answer<T>): Promise<void> {
    return this.keepAll(db, [{ request, answer }]);
  }

  /** Keeps the answers to claimed requests, in the transaction of their work. */
  async keepAll(
    db: Queryable,
    all: readonly { readonly request: OnceRequest; readonly answer: Answer<unknown> }[],
  ): Promise<void> {
    // As one JSON text inside the JSON: jsonb itself would reorder fields and refuse a NUL.
    await db.query(
      `update idempotency i set status = 200, body = to_jsonb(k.body), created_at = now() from unnest($1::text[], $2::text[], $3::text[]) as k(organisation, key, body)
       where i.organisation = k.organisation and i.key = k.key`,
      [
        all.map(({ request }) => request.organisation),
        all.map(({ request }) => request.key),
        all.map(({ answer }) => JSON.stringify(answer.kept ?? answer.body)),
      ],
    );
  }

  /** Once an hour is often enough. */
  private async prune(): Promise<void> {
    if (performance.now() - this.prunedAt < PRUNE_MILLISECONDS) return;
    this.prunedAt = performance.now();
    await this.db.query(`delete from idempotency where created_at < now() - make_interval(hours => $1)`, [KEPT_HOURS]);
  }
}
