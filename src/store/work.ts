/**
 * The work table: outbox, watermark, back-fill and retry list of the line in one.
 *
 * Enqueuing is `wanted + 1` in the transaction of whoever enqueues; doing sets `done` to the `wanted` that was read. So
 * a crash repeats work and never loses it, and a bulk load enqueues each key once. Knows nothing of what a stage does.
 */
import { context, isSpanContextValid, trace, TraceFlags, type SpanContext } from '@opentelemetry/api';
import type { Queryable, Transaction } from './database.js';

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
}

export interface DuePartition {
  readonly organisation: string;
  readonly stage: string;
  readonly partition: string;
  readonly due: number;
  /** Something in it does not wait for the partition's pause. */
  readonly urgent?: boolean;
}

export interface ClaimedWork {
  readonly key: string;
  readonly wanted: string;
  readonly attempts: number;
  /** The trace in which it was enqueued last; null: in none. */
  readonly traceparent: string | null;
  /** What follows from it does not wait for its partition's pause either. */
  readonly urgent: boolean;
}

export interface ParkedWork {
  readonly stage: string;
  readonly key: string;
  readonly attempts: number;
  readonly reason: string;
}

/** Notified in the transaction that enqueues; whoever hands out jobs listens. */
export const ENQUEUED_CHANNEL = 'bursar_waking';

/** After this many failures a key is parked, with its reason, until somebody enqueues it again. */
export const MOST_ATTEMPTS = 6;

export async function enqueue(db: Queryable, organisation: string, workItems: readonly WorkItem[]): Promise<void> {
  if (workItems.length === 0) return;
  const unique = soonest(workItems);
  unique.sort((a, b) => (a.partition + a.stage + a.key < b.partition + b.stage + b.key ? -1 : 1));
  await db.query(
    `with enqueued as (
       insert into work (organisation, lane, stage, key, wanted, not_before, urgent, waker)
       select $1, lane, stage, key, 1, coalesce(not_before, '-infinity'), urgent, $7::text from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[]) as w(lane, stage, key, not_before, urgent)
       on conflict (organisation, lane, stage, key) do update
       set wanted = work.wanted + 1, parked_at = null, attempts = 0, woken_at = now(), urgent = work.urgent or excluded.urgent, waker = excluded.waker,
         not_before = case when work.done < work.wanted and work.parked_at is null and work.attempts = 0 then least(work.not_before, excluded.not_before) else excluded.not_before end)
     select pg_notify($8, $1)`,
    [
      organisation,
      unique.map((w) => w.partition),
      unique.map((w) => w.stage),
      unique.map((w) => w.key),
      unique.map((w) => (w.notBefore === undefined ? null : new Date(w.notBefore))),
      unique.map((w) => w.urgent === true),
      currentTraceparent(),
      ENQUEUED_CHANNEL,
    ],
  );
}

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

/** What a run enqueues, as urgent as what it was enqueued by. What is put off is in no hurry. */
export function following(claimed: readonly ClaimedWork[], workItems: readonly WorkItem[]): readonly WorkItem[] {
  if (!claimed.some(({ urgent }) => urgent)) return workItems;
  return workItems.map((workItem) => (workItem.notBefore === undefined ? { ...workItem, urgent: true } : workItem));
}

/**
 * Makes due at once what waits for a later time. What somebody is at work on is left alone, so that nobody waits for
 * them.
 */
export async function expedite(
  db: Queryable,
  organisation: string,
  stage: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
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

/** Of several work items of a key the one that is due first; urgent where any of them is. */
function soonest(workItems: readonly WorkItem[]): WorkItem[] {
  const found = new Map<string, WorkItem>();
  for (const workItem of workItems) {
    const name = `${workItem.stage}\u0001${workItem.key}`;
    const other = found.get(name);
    const first =
      other === undefined || (workItem.notBefore ?? -Infinity) < (other.notBefore ?? -Infinity) ? workItem : other;
    found.set(name, workItem.urgent === true || other?.urgent === true ? { ...first, urgent: true } : first);
  }
  return [...found.values()];
}

/** Neither failed nor due at $1: it waits by its stage's own wish. */
export const DEFERRED = '(attempts = 0 and not_before > $1)';

/** Nobody is at work on it at that instant, by what is committed. */
const free = (at: string): string => `(leased_until is null or leased_until <= ${at})`;

export class WorkTable {
  constructor(private readonly db: Queryable) {}

  /** Partitions with due work, so that each gets one job. */
  async duePartitions(at: number): Promise<DuePartition[]> {
    return this.db.query<DuePartition>(
      `select organisation, stage, lane as partition, count(*)::int as due, bool_or(urgent) as urgent from work
       where done < wanted and parked_at is null and not_before <= $1 and ${free('$1')} group by 1, 2, 3 order by 1, 2, 3`,
      [new Date(at)],
    );
  }

  /** Takes up to `most` due keys of a partition; they stay locked until the transaction ends. */
  async claim(tx: Transaction, partition: Omit<DuePartition, 'due'>, at: number, most: number): Promise<ClaimedWork[]> {
    return tx.query<ClaimedWork>(
      `select key, wanted::text as wanted, attempts, waker as traceparent, urgent from work
       where organisation = $1 and lane = $2 and stage = $3 and done < wanted and parked_at is null and not_before <= $4
         and ${free('$4')} order by key limit $5 for update skip locked`,
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
       returning key, wanted::text as wanted, attempts, waker as traceparent, urgent`,
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

  /** Whether leased keys are still to be finished: where a lease ran out, another process may have been faster. */
  async isOpen(
    tx: Transaction,
    partition: Omit<DuePartition, 'due'>,
    claimed: readonly ClaimedWork[],
  ): Promise<boolean> {
    const rows = await tx.query(
      `select 1 from work w join unnest($4::text[], $5::bigint[]) as c(key, wanted) on c.key = w.key
       where w.organisation = $1 and w.lane = $2 and w.stage = $3 and w.done < c.wanted for update of w`,
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

  async finish(tx: Transaction, partition: Omit<DuePartition, 'due'>, claimed: readonly ClaimedWork[]): Promise<void> {
    await tx.query(
      `update work set done = c.wanted, attempts = 0, last_error = null, leased_until = null,
         urgent = urgent and work.wanted > c.wanted
       from unnest($4::text[], $5::bigint[]) as c(key, wanted)
       where organisation = $1 and lane = $2 and stage = $3 and work.key = c.key`,
      [
        partition.organisation,
        partition.partition,
        partition.stage,
        claimed.map((c) => c.key),
        claimed.map((c) => c.wanted),
      ],
    );
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
