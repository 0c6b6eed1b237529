/**
 * Answers to writes, kept for 48 hours under the caller's Idempotency-Key, so that a request sent twice works once.
 *
 * The key is claimed before the work begins. The process renews its claim while it works, without holding a connection.
 * So a claim that a crash left behind is free again after ten seconds, within which a repeat waits. A process that was
 * silent for that long may still live: its transaction is rolled back if another process has the claim by then. A
 * failed request keeps nothing and may be sent again under the same key.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { conflict, unavailable, UnderWay } from '../core/errors.js';
import type { Database, Queryable, Transaction } from './database.js';
import { HOUR_MS } from '../core/time.js';

export interface OnceRequest {
  readonly organisation: string;
  /** The caller's key, made unique among callers. */
  readonly key: string;
  /** SHA-256 of method, address and body. */
  readonly requestHash: Uint8Array;
}

export interface Answer<T> {
  readonly body: T;
  /** The answer kept for a repeat, if it differs from the body: a secret is never stored. */
  readonly kept?: T;
}

export interface Answered<T> {
  readonly body: T;
  /** Whether it is the answer of an earlier request. */
  readonly repeated: boolean;
}

interface Kept {
  readonly request: OnceRequest;
  readonly answer: Answer<unknown>;
}

const KEPT_HOURS = 48;
/** A claim that nobody has renewed for so long is anybody's. */
const STALE_SECONDS = 10;
/** The same of a process of the previous version, which renews it every fifteen seconds and says no name. */
const UNCLAIMED_SECONDS = 60;
const RENEW_MILLISECONDS = 2500;
/** Longer than a claim outlives its process, so that a repeat after a crash gets its answer, and no conflict. */
const PATIENCE_MILLISECONDS = 20_000;
const POLL_MILLISECONDS = 100;
const PRUNE_MILLISECONDS = HOUR_MS;

export class Idempotency {
  private prunedAt = -Infinity;
  /** The claim by which each running request of this process holds its key. */
  private readonly claims = new WeakMap<OnceRequest, string>();

  /** @param patienceMilliseconds how long a second request waits for the first one's answer */
  constructor(
    private readonly db: Database,
    private readonly patienceMilliseconds = PATIENCE_MILLISECONDS,
  ) {}

  /**
   * Runs work that has transactions of its own, and can be repeated without harm should the process die before its
   * answer is kept. @throws Failure conflict for the same key with another request, or while the first is still at
   * work.
   */
  async idempotent<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    return this.claimed(request, async () => {
      const answer = await work();
      // The work is done: if another process has taken the request over meanwhile, that process' answer is kept.
      await this.keepAll(this.db, [{ request, answer }]);
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
          await this.keepInTransaction(tx, [{ request, answer }]);
          return answer;
        }),
      ),
    );
  }

  /**
   * Runs work that keeps its answer itself, by `keepInTransaction`, in a transaction that it shares with others. Throws as
   * `idempotent`.
   */
  async keeping<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    return this.claimed(request, work);
  }

  private async claimed<T>(request: OnceRequest, work: () => Promise<Answer<T>>): Promise<Answered<T>> {
    await this.prune();
    const earlier = await this.claim<T>(request);
    if (earlier !== null) return { body: earlier.body, repeated: true };
    const { organisation, key } = request;
    const claim = this.claims.get(request);
    const ofMine = `where organisation = $1 and key = $2 and claim = $3 and status is null`;
    const renewal = setInterval(() => {
      this.db
        .query(`update idempotency set created_at = now() ${ofMine}`, [organisation, key, claim])
        .catch(() => undefined);
    }, RENEW_MILLISECONDS);
    renewal.unref();
    try {
      return { body: (await work()).body, repeated: false };
    } catch (error) {
      await this.db.query(`delete from idempotency ${ofMine}`, [organisation, key, claim]).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Null if the key is ours now, otherwise the answer that is kept under it. The claim does not wait for the disk: what
   * is committed after it (the work, the answer) lies behind it in the log, so that a crash which loses the claim has
   * lost the work too (PostgreSQL's documentation, "Asynchronous Commit").
   */
  private async claim<T>(request: OnceRequest): Promise<{ body: T } | null> {
    const { organisation, key, requestHash } = request;
    const claim = randomUUID();
    const until = performance.now() + this.patienceMilliseconds;
    for (;;) {
      const [ours] = await this.db.query(
        `insert into idempotency (organisation, key, request_hash, claim) select $1, $2, $3, $5 from (select set_config('synchronous_commit', 'off', true)) as unhurried
         on conflict (organisation, key) do update set request_hash = excluded.request_hash, claim = excluded.claim, created_at = now()
           where idempotency.status is null and idempotency.created_at < now() - make_interval(secs => case when idempotency.claim is null then $6::float8 else $4::float8 end)
         returning 1 as claimed`,
        [organisation, key, requestHash, STALE_SECONDS, claim, UNCLAIMED_SECONDS],
      );
      if (ours !== undefined) {
        this.claims.set(request, claim);
        return null;
      }
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
        throw new UnderWay('the first request with this Idempotency-Key is still being worked on: ask again later', [
          { path: 'Idempotency-Key', message: 'is in use' },
        ]);
      }
      await pause(POLL_MILLISECONDS);
    }
  }

  /**
   * Keeps the answers to claimed requests, in the transaction of their work.
   * @throws Failure unavailable if another has taken one of them up meanwhile: then nothing of it may be committed
   */
  async keepInTransaction(tx: Transaction, all: readonly Kept[]): Promise<void> {
    if ((await this.keepAll(tx, all)) < all.length)
      throw unavailable('this process was silent for so long that another process took over the request');
  }

  /** How many claims were still held. */
  private async keepAll(db: Queryable, all: readonly Kept[]): Promise<number> {
    // As one JSON text inside the JSON: jsonb itself would reorder fields and refuse a NUL.
    const held = await db.query(
      `update idempotency i set status = 200, body = to_jsonb(k.body), created_at = now() from unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) as k(organisation, key, body, claim)
       where i.organisation = k.organisation and i.key = k.key and i.claim = k.claim returning 1 as held`,
      [
        all.map(({ request }) => request.organisation),
        all.map(({ request }) => request.key),
        all.map(({ answer }) => JSON.stringify(answer.kept ?? answer.body)),
        all.map(({ request }) => this.claims.get(request) ?? null),
      ],
    );
    return held.length;
  }

  /** Once an hour is often enough. */
  private async prune(): Promise<void> {
    if (performance.now() - this.prunedAt < PRUNE_MILLISECONDS) return;
    this.prunedAt = performance.now();
    await this.db.query(`delete from idempotency where created_at < now() - make_interval(hours => $1)`, [KEPT_HOURS]);
  }
}
