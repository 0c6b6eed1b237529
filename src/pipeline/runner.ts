/**
 * Does the line's due work: claims keys of a partition, runs their stage, enqueues the next ones, all in one
 * transaction. Work that takes minutes is done apart, under a lease.
 *
 * Any number of runners may run beside each other; a key is done by one at a time. A failure that may pass is tried
 * again later, any other parks the key with its reason. Knows no stage by name.
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

/** How long a process that died keeps its work from others, as a part of the time in which it is to be taken up. */
export const leaseMsOf = (stallSeconds: number): number => stallSeconds * 400;
/** A lease is renewed so often before it would run out. */
const RENEWALS = 5;

/** Between two checks of keys that another process holds. */
const OTHERS_PAUSE_MS = 50;

/** Work goes on until there is none. */
const NEVER = async (): Promise<boolean> => false;

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
   * Works until the partition has nothing due, or it is enough; returns the number of keys done.
   * @param pauses whether what a stage puts back waits for its time; else it is due at once
   */
  async runPartition(
    partition: Partition,
    isEnough: (done: number) => Promise<boolean> = NEVER,
    pauses = true,
  ): Promise<number> {
    let total = 0;
    while (true) {
      const done = await this.step(partition, pauses);
      total += done;
      if (done === 0 || (await isEnough(total))) return total;
    }
  }

  /**
   * Works, stage by stage from the left, until nothing of its stages is due. Needs no queue: the command line drains
   * the line so. What another process is doing is waited for; keys that wait for their next try are not.
   * @param isEnough asked after each step: whether to leave the rest to others, who may enqueue work for ever
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
          // A partition that enqueues itself has its turn again when the others have had theirs.
          const count = await this.runPartition(partition, async (keys) => keys >= partition.due || isEnough(), false);
          done += count;
          if (count > 0) progress?.(stage.name, count, partition.due);
        }
      }
      if (done === 0) await new Promise((resolve) => setTimeout(resolve, OTHERS_PAUSE_MS));
    }
  }

  private async step(partition: Partition, pauses: boolean): Promise<number> {
    const stage = this.stages.get(partition.stage);
    if (stage === undefined) return 0;
    let claimed: ClaimedWork[] = [];
    try {
      return await this.attempt(stage, partition, stage.most, pauses, (work) => (claimed = work));
    } catch (error) {
      if (claimed.length === 0) throw error;
      if (claimed.length === 1) return this.failed(partition, claimed, error);
      // One key of many may be to blame: each gets its own transaction, and its own verdict.
      return this.oneByOne(stage, partition, claimed.length, pauses);
    }
  }

  private async oneByOne(stage: Stage, partition: Partition, count: number, pauses: boolean): Promise<number> {
    let done = 0;
    for (let n = 0; n < count; n++) {
      let claimed: ClaimedWork[] = [];
      try {
        done += await this.attempt(stage, partition, 1, pauses, (work) => (claimed = work));
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
  ): Promise<number> {
    const since = this.clock.now();
    let claimed: readonly ClaimedWork[] = [];
    const taking = (work: ClaimedWork[]): void => took((claimed = work));
    const done = await (stage.apart === undefined
      ? this.attemptAtOnce(stage.run.bind(stage), partition, most, pauses, taking)
      : this.attemptApart(stage.apart, partition, taking));
    if (claimed.length > 0)
      this.watch({ kind: 'ran', ...runOf(partition, claimed), milliseconds: this.clock.now() - since });
    return done;
  }

  private attemptAtOnce(
    run: NonNullable<Stage['run']>,
    partition: Partition,
    most: number,
    pauses: boolean,
    took: (work: ClaimedWork[]) => void,
  ): Promise<number> {
    const now = this.clock.now();
    return this.db.transaction(async (tx) => {
      const claimed = await this.work.claim(tx, partition, now, most);
      took(claimed);
      if (claimed.length === 0) return 0;
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
        return claimed.length;
      });
    });
  }

  /** Claimed in one commit, done under a lease while no connection is held, saved and finished in another. */
  private async attemptApart(
    work: ApartWork,
    partition: Partition,
    took: (work: ClaimedWork[]) => void,
  ): Promise<number> {
    const now = this.clock.now();
    const claimed = await this.work.lease(partition, now, now + this.leaseMs);
    took(claimed);
    const [first] = claimed;
    if (first === undefined) return 0;
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
        return 1;
      });
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * On a connection that nothing else uses: a pool that is busy must not make a process look dead. A renewal that fails
   * is made up for by the next; where none succeeds the lease runs out, as it should.
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

/** What is put back, with the instant since when, and, where it is to wait, that from which on it is due. */
const paused = (workItems: readonly WorkItem[], now: number, waits: boolean): readonly WorkItem[] =>
  workItems.map((item) =>
    item.pauseMs === undefined
      ? item
      : { ...item, pausedAt: now, ...(waits ? { notBefore: now + item.pauseMs } : undefined) },
  );
