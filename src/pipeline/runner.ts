/**
 * Does the line's due work: claims keys of a partition, runs their stage, and enqueues the next ones, all in one
 * transaction. Work that takes minutes runs apart, under a lease. Any number of runners may run in parallel; only one
 * at a time works on a key. A failure that may pass is retried later; any other failure parks the key with its reason.
 * Knows no stage by name.
 */
import type { Clock } from '../core/time.js';
import { Failure } from '../core/errors.js';
import type { Database } from '../store/database.js';
import {
  following,
  MOST_ATTEMPTS,
  enqueue,
  type ClaimedWork,
  type DuePartition,
  type WorkItem,
  type WorkTable,
} from '../store/work.js';
import type { ApartWork, Stage } from './stage.js';
import { tracedRun } from './tracing.js';
import { NOBODY, type Watch } from './watch.js';

type Partition = Omit<DuePartition, 'due'>;

/** How long a dead process keeps its work from others, as a share of the time within which others must take it over. */
export const leaseMsOf = (stallSeconds: number): number => stallSeconds * 400;
/** A lease is renewed so often before it would run out. */
const RENEWALS = 5;

/** Between two checks of keys that another process holds. */
const OTHERS_PAUSE_MS = 50;

/** Work continues until there is none left. */
const NEVER = async (): Promise<boolean> => false;

/** One transaction's worth of a partition. */
interface Step {
  /** Keys done, or put off with a reason. */
  readonly done: number;
  /** Whether more of what was due may be left, or the stage goes on where it was. */
  readonly isMore: boolean;
}

const NOTHING: Step = { done: 0, isMore: false };

export interface Progress {
  (stage: string, done: number, waiting: number): void;
}

export class Runner {
  private readonly stages: ReadonlyMap<string, Stage>;

  constructor(
    private readonly db: Database,
    private readonly work: WorkTable,
    private readonly clock: Clock,
    private readonly line: readonly Stage[],
    private readonly watch: Watch = NOBODY,
    private readonly leaseMs = leaseMsOf(10),
  ) {
    this.stages = new Map(line.map((stage) => [stage.name, stage]));
  }

  /**
   * Works until what was due in the partition is done, or it is enough; returns the number of keys done. What others
   * enqueue meanwhile is left to the next job: a partition that never rests would keep all others waiting.
   * @param pauses whether what a stage puts back waits for its time; otherwise it is due at once
   */
  async runPartition(
    partition: Partition,
    isEnough: (done: number) => Promise<boolean> = NEVER,
    pauses = true,
  ): Promise<number> {
    let total = 0;
    while (true) {
      const { done, isMore } = await this.step(partition, pauses);
      total += done;
      if (done === 0 || !isMore || (await isEnough(total))) return total;
    }
  }

  /**
   * Works, stage by stage from the left, until none of its stages has due work. Needs no queue: the command line drains
   * the line in this way. It waits for work in progress in other processes, but not for keys that wait for their next
   * try. @param isEnough called after each step: whether to leave the rest to other processes, which may enqueue work
   * for ever
   */
  async drain(progress?: Progress, isEnough = NEVER): Promise<void> {
    while (!(await isEnough())) {
      const partitions = (await this.work.duePartitions(this.clock.now())).filter(({ stage }) =>
        this.stages.has(stage),
      );
      if (partitions.length === 0) return;
      let done = 0;
      for (const stage of this.line) {
        for (const partition of partitions.filter((l) => l.stage === stage.name)) {
          if (await isEnough()) return;
          // A partition that enqueues itself runs again after the other partitions.
          const count = await this.runPartition(partition, async (keys) => keys >= partition.due || isEnough(), false);
          done += count;
          if (count > 0) progress?.(stage.name, count, partition.due);
        }
      }
      if (done === 0) await new Promise((resolve) => setTimeout(resolve, OTHERS_PAUSE_MS));
    }
  }

  private async step(partition: Partition, pauses: boolean): Promise<Step> {
    const stage = this.stages.get(partition.stage);
    if (stage === undefined) return NOTHING;
    let claimed: ClaimedWork[] = [];
    try {
      return await this.attempt(stage, partition, stage.most, pauses, (work) => (claimed = work));
    } catch (error) {
      if (claimed.length === 0) throw error;
      // One key of many may be to blame: each gets its own transaction, and its own verdict.
      const done =
        claimed.length === 1
          ? await this.failed(partition, claimed, error)
          : await this.oneByOne(stage, partition, claimed.length, pauses);
      return { done, isMore: true };
    }
  }

  private async oneByOne(stage: Stage, partition: Partition, count: number, pauses: boolean): Promise<number> {
    let done = 0;
    for (let n = 0; n < count; n++) {
      let claimed: ClaimedWork[] = [];
      try {
        done += (await this.attempt(stage, partition, 1, pauses, (work) => (claimed = work))).done;
      } catch (error) {
        if (claimed.length === 0) throw error;
        done += await this.failed(partition, claimed, error);
      }
    }
    return done;
  }

  private async attempt(
    stage: Stage,
    partition: Partition,
    most: number,
    pauses: boolean,
    took: (work: ClaimedWork[]) => void,
  ): Promise<Step> {
    const since = this.clock.now();
    let claimed: readonly ClaimedWork[] = [];
    const taking = (work: ClaimedWork[]): void => took((claimed = work));
    const step = await (stage.apart === undefined
      ? this.attemptAtOnce(stage.run.bind(stage), partition, most, pauses, taking)
      : this.attemptApart(stage.apart, partition, taking));
    if (claimed.length > 0)
      this.watch({ kind: 'ran', ...runOf(partition, claimed), milliseconds: this.clock.now() - since });
    return step;
  }

  private attemptAtOnce(
    run: NonNullable<Stage['run']>,
    partition: Partition,
    most: number,
    pauses: boolean,
    took: (work: ClaimedWork[]) => void,
  ): Promise<Step> {
    const now = this.clock.now();
    return this.db.transaction(async (tx) => {
      const claimed = await this.work.claim(tx, partition, now, most);
      took(claimed);
      if (claimed.length === 0) return NOTHING;
      return tracedRun(partition, claimed, async () => {
        const workItems = await run({
          organisation: partition.organisation,
          partition: partition.partition,
          keys: claimed.map((c) => c.key),
          now,
          clock: this.clock,
          tx,
          pausedSince: (key) => claimed.find((one) => one.key === key)?.pausedAt?.getTime() ?? null,
        });
        this.work.finish(tx, partition, claimed);
        await enqueue(tx, partition.organisation, following(claimed, paused(workItems, now, pauses)));
        const goesOn = workItems.some(
          (item) => item.stage === partition.stage && item.partition === partition.partition,
        );
        return { done: claimed.length, isMore: goesOn || claimed.length === most };
      });
    });
  }

  /** Claimed in one commit, done under a lease while no connection is held, saved and finished in another. */
  private async attemptApart(
    work: ApartWork,
    partition: Partition,
    took: (work: ClaimedWork[]) => void,
  ): Promise<Step> {
    const now = this.clock.now();
    const claimed = await this.work.lease(partition, now, now + this.leaseMs);
    took(claimed);
    const [first] = claimed;
    if (first === undefined) return NOTHING;
    const renewal = this.renewing(partition, claimed);
    try {
      return await tracedRun(partition, claimed, async () => {
        const save = await work({
          organisation: partition.organisation,
          partition: partition.partition,
          key: first.key,
          now,
          clock: this.clock,
        });
        await this.db.transaction(async (tx) => {
          if (!(await this.work.isOpen(tx, partition, claimed))) return;
          const workItems = await save(tx, this.clock.now());
          this.work.finish(tx, partition, claimed);
          await enqueue(tx, partition.organisation, following(claimed, workItems));
        });
        return { done: 1, isMore: true };
      });
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Uses a separate connection, because a busy pool must not make a process look dead. The next renewal makes up for a
   * failed one; if none succeeds, the lease expires as intended.
   */
  private renewing(partition: Partition, claimed: readonly ClaimedWork[]): ReturnType<typeof setInterval> {
    const renew = (): Promise<void> =>
      this.work.renew(this.db.aside, partition, claimed, this.clock.now() + this.leaseMs).catch(() => undefined);
    return setInterval(() => void renew(), this.leaseMs / RENEWALS);
  }

  private async failed(partition: Partition, claimed: readonly ClaimedWork[], error: unknown): Promise<number> {
    const now = this.clock.now();
    const attempts = Math.max(...claimed.map((c) => c.attempts)) + 1;
    const again = isRetryable(error) && attempts < MOST_ATTEMPTS;
    const retryAt = again ? now + 1000 * 2 ** attempts : null;
    await this.work.fail(
      partition,
      claimed.map((c) => c.key),
      reasonOf(error),
      retryAt,
      now,
    );
    this.watch({ kind: 'failed', ...runOf(partition, claimed), attempts, reason: reasonOf(error), retryAt });
    return claimed.length;
  }
}

const runOf = ({ organisation, stage, partition }: Partition, { length: keys }: readonly ClaimedWork[]) => ({
  organisation,
  stage,
  partition,
  keys,
});

/** The clients of the database, the providers and the channels say so themselves. */
const isRetryable = (error: unknown): boolean => error instanceof Failure && error.kind === 'unavailable';

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 2000);
}

/** The items to put back, with the time since when, and, if they must wait, the time from which they are due. */
const paused = (workItems: readonly WorkItem[], now: number, waits: boolean): readonly WorkItem[] =>
  workItems.map((item) =>
    item.pauseMs === undefined
      ? item
      : { ...item, pausedAt: now, ...(waits ? { notBefore: now + item.pauseMs } : undefined) },
  );
