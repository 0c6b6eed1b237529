/**
 * The work table: outbox, watermark, back-fill and retry list of the line in one. To enqueue is to add 1 to `wanted` in
 * the caller's transaction; to finish is to set `done` to the `wanted` that was read. So a crash repeats work and never
 * loses it, and a bulk load enqueues each key once. Knows nothing of a stage's work.
 *
 * No transaction waits for another because of this table, except for the moment of a commit: one statement at the very
 * end of a transaction writes all items that it enqueues and finishes, in one order for everybody, so that no two
 * transactions can wait for each other. A worker on a partition holds a lock of that name, which is only ever tried.
 */
import { context, isSpanContextValid, trace, TraceFlags, type SpanContext } from '@opentelemetry/api';
import { Transaction, type Queryable } from './database.js';
import { takesLock, waitForLock } from './locks.js';

/**
 * One work item: the partition is the first part of the key (a team, a source), and the unit in which jobs are handed
 * out. Its column is called `lane`: by that name Citus distributes the table.
 */
export interface WorkItem {
  readonly stage: string;
  readonly partition: string;
  readonly key: string;
  /**
   * Not before this instant, in epoch milliseconds; absent: now. Work that is due already is never put off by it, and a
   * work item without an instant makes it due at once.
   */
  readonly notBefore?: number;
  /** It does not wait for its partition's pause. */
  readonly urgent?: boolean;
  /**
   * What is put back by its own stage, since other work has to be done first: it is due after so many milliseconds, so
   * that a partition that waits keeps nobody busy. Where the line is drained it is due when the others have had their
   * turn.
   */
  readonly pauseMs?: number;
  /** Of what is put back: now. It is kept until the key is done, or finished without being put back. */
  readonly pausedAt?: number;
}

export interface DuePartition {
  readonly organisation: string;
  readonly stage: string;
  readonly partition: string;
  readonly due: number;
  /** Something in it does not wait for the partition's pause. */
  readonly urgent?: boolean;
  /** All of it was put back by its own stage, since other work has to be done first. */
  readonly putBack?: boolean;
}

export interface ClaimedWork {
  readonly key: string;
  readonly wanted: string;
  readonly attempts: number;
  /** The trace in which it was enqueued last; null: in none. */
  readonly traceparent: string | null;
  /** The work that follows from it does not wait for its partition's pause either. */
  readonly urgent: boolean;
  /** Since when its stage puts it back; null: it did not. */
  readonly pausedAt: Date | null;
}

export interface ParkedWork {
  readonly stage: string;
  readonly key: string;
  readonly attempts: number;
  readonly reason: string;
}

/** Notified in the transaction that enqueues; the process that hands out jobs listens. */
export const ENQUEUED_CHANNEL = 'bursar_waking';

/** After this many failures a key is parked, with its reason, until somebody enqueues it again. */
export const MOST_ATTEMPTS = 6;

/** The change of one key: it is wanted again, it is done, or both. */
interface Change extends Required<Pick<WorkItem, 'partition' | 'stage' | 'key' | 'notBefore' | 'urgent'>> {
  readonly organisation: string;
  readonly isWanted: boolean;
  /** Up to which `wanted`; 0: it is not finished. */
  readonly done: string;
  readonly traceparent: string | null;
  readonly pausedAt: number | null;
}

/** The work that a transaction leaves for its end. */
interface Ending {
  readonly changes: Change[];
  readonly afterwards: (() => Promise<void>)[];
}

const ENDINGS = new WeakMap<Transaction, Ending>();

function endingOf(tx: Transaction): Ending {
  const known = ENDINGS.get(tx);
  if (known !== undefined) return known;
  const ending: Ending = { changes: [], afterwards: [] };
  ENDINGS.set(tx, ending);
  tx.beforeCommit(async () => {
    await write(tx, ending.changes);
    // This waits for nobody, so it may come after the order.
    for (const expedited of ending.afterwards) await expedited();
  });
  return ending;
}

/** In a transaction it is written right before the commit. */
export async function enqueue(db: Queryable, organisation: string, workItems: readonly WorkItem[]): Promise<void> {
  const traceparent = currentTraceparent();
  const changes = workItems.map(
    ({ partition, stage, key, notBefore = -Infinity, urgent = false, pausedAt = null }): Change => ({
      organisation,
      partition,
      stage,
      key,
      notBefore,
      urgent,
      traceparent,
      pausedAt,
      isWanted: true,
      done: '0',
    }),
  );
  if (db instanceof Transaction) endingOf(db).changes.push(...changes);
  else await write(db, changes);
}

/** Each key once, in an order that is the same for everybody. */
async function write(db: Queryable, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = [...merged(changes)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
  await db.query(
    `with changed as (
       insert into work (organisation, lane, stage, key, wanted, done, not_before, urgent, waker, woken_at, paused_at)
       select organisation, lane, stage, key, done + wanted, done, coalesce(not_before, '-infinity'), urgent, waker, now(), paused_at
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::boolean[], $9::text[], $12::timestamptz[])
         as w(organisation, lane, stage, key, wanted, done, not_before, urgent, waker, paused_at)
       on conflict (organisation, lane, stage, key) do update
       set wanted = work.wanted + excluded.wanted - excluded.done, done = greatest(work.done, excluded.done), attempts = 0,
         last_error = case when ${FINISHED} then null else work.last_error end,
         leased_until = case when ${FINISHED} then null else work.leased_until end,
         paused_at = case when not ${FINISHED} then work.paused_at when excluded.paused_at is null then null else coalesce(work.paused_at, excluded.paused_at) end,
         parked_at = case when ${WANTED} then null else work.parked_at end,
         woken_at = case when ${WANTED} then excluded.woken_at else work.woken_at end,
         waker = case when ${WANTED} then excluded.waker else work.waker end,
         urgent = excluded.urgent or work.urgent and not (${FINISHED} and work.wanted <= excluded.done),
         not_before = case when not ${WANTED} then work.not_before
           when greatest(work.done, excluded.done) < work.wanted and work.parked_at is null and (work.attempts = 0 or ${FINISHED}) then least(work.not_before, excluded.not_before)
           else excluded.not_before end)
     select pg_notify($10, organisation) from unnest($11::text[]) as enqueued(organisation)`,
    [
      rows.map(({ organisation }) => organisation),
      rows.map(({ partition }) => partition),
      rows.map(({ stage }) => stage),
      rows.map(({ key }) => key),
      rows.map(({ isWanted }) => (isWanted ? 1 : 0)),
      rows.map(({ done }) => done),
      rows.map(({ notBefore }) => (Number.isFinite(notBefore) ? new Date(notBefore) : null)),
      rows.map(({ urgent }) => urgent),
      rows.map(({ traceparent }) => traceparent),
      ENQUEUED_CHANNEL,
      [...new Set(rows.filter(({ isWanted }) => isWanted).map(({ organisation }) => organisation))],
      rows.map(({ pausedAt }) => (pausedAt === null ? null : new Date(pausedAt))),
    ],
  );
}

/** Of a row that conflicts: what is written says that it is done, that it is wanted once more. */
const FINISHED = '(excluded.done > 0)';
const WANTED = '(excluded.wanted > excluded.done)';

/**
 * Enqueues what a person has just asked for, who waits for it: neither it nor what follows from it waits for its
 * partition's pause.
 */
export const enqueueUrgent = (db: Queryable, organisation: string, workItems: readonly WorkItem[]): Promise<void> =>
  enqueue(
    db,
    organisation,
    workItems.map((workItem) => ({ ...workItem, urgent: true })),
  );

/** The items that a run enqueues, as urgent as the item that caused the run. Postponed items are not urgent. */
export function following(claimed: readonly ClaimedWork[], workItems: readonly WorkItem[]): readonly WorkItem[] {
  if (!claimed.some(({ urgent }) => urgent)) return workItems;
  return workItems.map((workItem) => (workItem.notBefore === undefined ? { ...workItem, urgent: true } : workItem));
}

/**
 * Makes items due at once that wait for a later time. Items that another transaction is writing are skipped, so that
 * nobody waits.
 */
export async function expedite(
  db: Queryable,
  organisation: string,
  stage: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  if (db instanceof Transaction) endingOf(db).afterwards.push(() => expediteNow(db, organisation, stage, keys));
  else await expediteNow(db, organisation, stage, keys);
}

async function expediteNow(db: Queryable, organisation: string, stage: string, keys: readonly string[]): Promise<void> {
  await db.query(
    `with expedited as (
       update work w set not_before = '-infinity', urgent = true
       from (select lane, key from work where organisation = $1 and stage = $2 and key = any($3::text[]) and done < wanted and parked_at is null order by lane, key for update skip locked) idle
       where w.organisation = $1 and w.stage = $2 and w.lane = idle.lane and w.key = idle.key)
     select pg_notify($4, $1)`,
    [organisation, stage, keys, ENQUEUED_CHANNEL],
  );
}

/**
 * The span that is active now, as W3C's traceparent has it (w3.org, "Trace Context", 3.2); null: there is none that is
 * kept.
 */
function currentTraceparent(): string | null {
  const span = trace.getSpanContext(context.active());
  if (span === undefined || !isSpanContextValid(span) || (span.traceFlags & TraceFlags.SAMPLED) === 0) return null;
  return `00-${span.traceId}-${span.spanId}-01`;
}

/** The span in which work was enqueued. */
export function enqueuedIn(traceparent: string | null): SpanContext | null {
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(traceparent ?? '') ?? [];
  return traceId === undefined || spanId === undefined
    ? null
    : { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Merges several changes of a key into one: due as early, and as urgent, as any of them. */
function merged(changes: readonly Change[]): Map<string, Change> {
  const found = new Map<string, Change>();
  for (const change of changes) {
    const name = [change.organisation, change.partition, change.stage, change.key].join('\u0001');
    const other = found.get(name) ?? change;
    found.set(name, {
      ...change,
      isWanted: change.isWanted || other.isWanted,
      done: change.done === '0' ? other.done : change.done,
      notBefore: Math.min(change.notBefore, other.notBefore),
      urgent: change.urgent || other.urgent,
      traceparent: change.traceparent ?? other.traceparent,
      pausedAt: change.pausedAt ?? other.pausedAt,
    });
  }
  return found;
}

/** The lock of a worker on a partition, or of the holder of a lease on one of its keys. */
const lockOf = ({ organisation, stage, partition }: Omit<DuePartition, 'due'>, key = ''): readonly string[] => [
  'bursar.work',
  organisation,
  stage,
  partition,
  key,
];

/** Neither failed nor due at $1: it waits by its stage's own wish. */
export const DEFERRED = '(attempts = 0 and not_before > $1)';

/** The committed rows show no work on it at that time. */
const free = (at: string): string => `(leased_until is null or leased_until <= ${at})`;

export class WorkTable {
  constructor(private readonly db: Queryable) {}

  /** Partitions with due work, so that each gets one job. */
  async duePartitions(at: number): Promise<DuePartition[]> {
    return this.db.query<DuePartition>(
      `select organisation, stage, lane as partition, count(*)::int as due, bool_or(urgent) as urgent, bool_and(paused_at is not null) as "putBack" from work
       where done < wanted and parked_at is null and not_before <= $1 and ${free('$1')} group by 1, 2, 3 order by 1, 2, 3`,
      [new Date(at)],
    );
  }

  /**
   * Takes up to `most` due keys of a partition, and the partition until the transaction ends; none if somebody else is
   * at work on it.
   */
  async claim(tx: Transaction, partition: Omit<DuePartition, 'due'>, at: number, most: number): Promise<ClaimedWork[]> {
    // A statement of its own, so that the next one sees what the last one to hold the lock committed.
    if (!(await takesLock(tx, ...lockOf(partition)))) return [];
    return tx.query<ClaimedWork>(
      `select key, wanted::text as wanted, attempts, waker as traceparent, urgent, paused_at as "pausedAt" from work
       where organisation = $1 and lane = $2 and stage = $3 and done < wanted and parked_at is null and not_before <= $4
         and ${free('$4')} order by key limit $5`,
      [partition.organisation, partition.partition, partition.stage, new Date(at), most],
    );
  }

  /**
   * Takes one due key of a partition and keeps it from others until an instant, without a transaction: for work that
   * takes minutes or asks somebody else. Who does it renews that.
   */
  async lease(partition: Omit<DuePartition, 'due'>, at: number, until: number): Promise<ClaimedWork[]> {
    return this.db.query<ClaimedWork>(
      // An array is made once; rows of a joined subquery could be looked for again, and more than one be taken.
      `update work set leased_until = $5
       where organisation = $1 and lane = $2 and stage = $3 and key = any(array(
         select key from work where organisation = $1 and lane = $2 and stage = $3 and done < wanted
           and parked_at is null and not_before <= $4 and ${free('$4')} order by key limit 1 for update skip locked))
       returning key, wanted::text as wanted, attempts, waker as traceparent, urgent, paused_at as "pausedAt"`,
      [partition.organisation, partition.partition, partition.stage, new Date(at), new Date(until)],
    );
  }

  async renew(
    db: Queryable,
    partition: Omit<DuePartition, 'due'>,
    claimed: readonly ClaimedWork[],
    until: number,
  ): Promise<void> {
    await db.query(
      `update work set leased_until = $5 where organisation = $1 and lane = $2 and stage = $3
         and key = any($4::text[]) and leased_until is not null`,
      [partition.organisation, partition.partition, partition.stage, claimed.map((c) => c.key), new Date(until)],
    );
  }

  /**
   * Whether leased keys are still to be finished: where a lease ran out, another process may have been faster. It stays
   * so until the transaction ends.
   */
  async isOpen(
    tx: Transaction,
    partition: Omit<DuePartition, 'due'>,
    claimed: readonly ClaimedWork[],
  ): Promise<boolean> {
    for (const { key } of claimed) await waitForLock(tx, ...lockOf(partition, key));
    const rows = await tx.query(
      `select 1 from work w join unnest($4::text[], $5::bigint[]) as c(key, wanted) on c.key = w.key
       where w.organisation = $1 and w.lane = $2 and w.stage = $3 and w.done < c.wanted`,
      [
        partition.organisation,
        partition.partition,
        partition.stage,
        claimed.map((c) => c.key),
        claimed.map((c) => c.wanted),
      ],
    );
    return rows.length === claimed.length;
  }

  /** Written right before the commit, with what is enqueued. */
  finish(
    tx: Transaction,
    { organisation, partition, stage }: Omit<DuePartition, 'due'>,
    claimed: readonly ClaimedWork[],
  ): void {
    for (const { key, wanted } of claimed)
      endingOf(tx).changes.push({
        organisation,
        partition,
        stage,
        key,
        notBefore: Infinity,
        urgent: false,
        traceparent: null,
        pausedAt: null,
        isWanted: false,
        done: wanted,
      });
  }

  /** Notes a failure: tried again at `retryAt`, or parked where that is null. */
  async fail(
    partition: Omit<DuePartition, 'due'>,
    keys: readonly string[],
    reason: string,
    retryAt: number | null,
    at: number,
  ): Promise<void> {
    await this.db.query(
      `update work set attempts = attempts + 1, last_error = $5, not_before = coalesce($6, not_before), leased_until = null,
         parked_at = case when $6::timestamptz is null then $7::timestamptz end
       where organisation = $1 and lane = $2 and stage = $3 and key = any($4::text[])`,
      [
        partition.organisation,
        partition.partition,
        partition.stage,
        keys,
        reason,
        retryAt === null ? null : new Date(retryAt),
        new Date(at),
      ],
    );
  }

  async parked(organisation: string): Promise<ParkedWork[]> {
    return this.db.query<ParkedWork>(
      `select stage, key, attempts, coalesce(last_error, '') as reason from work
       where organisation = $1 and parked_at is not null order by stage, key limit 1000`,
      [organisation],
    );
  }

  /** Keys waiting, whether or not their time has come. */
  async waiting(at: number | null = null): Promise<number> {
    return (await this.waitingByStage(at)).reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** The same by stage; with `at` without those that a stage itself put off beyond it. */
  waitingByStage(at: number | null): Promise<WaitingStage[]> {
    return this.db.query<WaitingStage>(
      `select stage, count(*)::int as waiting, (count(*) filter (where urgent))::int as urgent from work
       where done < wanted and parked_at is null and not ${DEFERRED} group by stage order by stage`,
      [at === null ? 'infinity' : new Date(at)],
    );
  }
}

/** How much of a stage waits, and how much of that a person waits for. */
export interface WaitingStage {
  readonly stage: string;
  readonly waiting: number;
  readonly urgent: number;
}
