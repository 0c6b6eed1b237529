/**
 * The queue says which worker does the due work: one small job per partition, on BullMQ over PostgreSQL or Redis. A job
 * carries only the name of a partition. Losing the queue or a job, or doing a job twice, loses and changes nothing,
 * because the work table records what is due.
 */
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createPostgresBackend, Queue, Worker, type Job, type JobType } from 'bullmq';
import { Redis } from 'ioredis';
import type { DuePartition } from '../store/work.js';
import type { Runner } from './runner.js';

const QUEUE = 'bursar-line';
/** The braces keep all keys of the queue on one node of a Redis cluster. */
const PREFIX = '{bursar}';

/**
 * How long the jobs in progress are waited for when a process ends: `docker stop` gives ten seconds. A longer job loses
 * its lock and its lease with the process, and another process repeats it.
 */
const CLOSE_MS = 8000;

type Partition = Omit<DuePartition, 'due'>;

/** `lane` is the partition: processes of an older version that share the queue read it by that name. */
interface JobData {
  readonly organisation: string;
  readonly stage: string;
  readonly lane: string;
}

const partitionOf = ({ organisation, stage, lane }: JobData): Partition => ({ organisation, stage, partition: lane });

export interface QueueSettings {
  readonly databaseUrl: string;
  /** Null: the queue is in PostgreSQL. */
  readonly redisUrl: string | null;
  /** Jobs done at a time by this process; 0: it only hands out. */
  readonly concurrency: number;
  /** Within so many seconds a job of a process that has died is done by another. */
  readonly stallSeconds: number;
}

/** The database connections of a queue in PostgreSQL: for handing out jobs, and for working on them. */
const POSTGRES_CONNECTIONS = 4;
export const QUEUE_CONNECTIONS = 2 * POSTGRES_CONNECTIONS;

/**
 * How BullMQ finds the jobs of a worker that has died (docs.bullmq.io, "Stalled Jobs"): its lock expires, and a check
 * by any other worker (one check per interval for all of them) puts back jobs without a lock. The first check only
 * marks the job, so the third check at the latest finds it; three checks and their jitter fit into the configured time.
 * A job that was put back too often only leaves the queue; the due work is handed out again.
 */
export const stallOptions = (seconds: number) => ({
  lockDuration: Math.round(seconds * 400),
  lockRenewTime: Math.round(seconds * 100),
  stalledInterval: Math.round(seconds * 250),
  maxStalledCount: 10,
  // A worker that has lost its connection looks again soon.
  runRetryDelay: 1000,
});

/**
 * A worker's error, with what it means where BullMQ does not say so: a lock that was not renewed in time belongs to a
 * process that had no time for its timers, or whose database did not answer.
 */
export function explained(error: Error): Error {
  if (!error.message.startsWith('could not renew lock')) return error;
  return new Error(
    `${error.message}: this process or the queue's server was too busy to say in time that the job is still worked on. ` +
      'The job may be done a second time, which changes nothing. If it comes often, give the worker more processor, ' +
      'lower BURSAR_CONCURRENCY, or raise BURSAR_STALL_SECONDS',
    { cause: error },
  );
}

/**
 * Stages that price days or read weeks run after all other due work, so that a priced day reaches the budgets before
 * the days of all other teams are priced. They do not wait for ever, because the work before them is enqueued by them
 * or at intervals. Work that its own stage has put back waits for such work and runs after it. BullMQ runs jobs without
 * a priority first, then those with lower numbers.
 */
const AFTER_ALL_ELSE: ReadonlySet<string> = new Set([
  'sample.pack',
  'sample.purge',
  'usage.allocate',
  'usage.merge',
  'cost.price',
  'recommendation.make',
  'saving.verify',
  'bill.reconcile',
  'anomaly.find',
  'report.send',
  'backtest.run',
]);

/** The little that the line needs of a queue, whichever backend is behind it. */
interface Handles {
  add(
    jobs: {
      name: string;
      data: JobData;
      opts: { jobId: string; removeOnComplete: true; removeOnFail: true; priority?: number };
    }[],
  ): Promise<unknown>;
  waiting(): Promise<number>;
  whenDone(done: (job: JobData) => void): void;
  close(): Promise<void>;
}

export class LineQueue {
  private constructor(
    private readonly handles: Handles,
    readonly kind: 'postgresql' | 'redis',
  ) {}

  /** Calls back when a job of this process is done: what came to its partition meanwhile has no job yet. */
  whenDone(done: (partition: Partition) => void): void {
    this.handles.whenDone((job) => done(partitionOf(job)));
  }

  static async open(settings: QueueSettings, runner: Runner, failed: (error: Error) => void): Promise<LineQueue> {
    const work = async (job: Job<JobData>): Promise<void> => void (await runner.runPartition(partitionOf(job.data)));
    const handles =
      settings.redisUrl === null
        ? await overPostgres(settings, work, failed)
        : await overRedis(settings.redisUrl, settings, work, failed);
    return new LineQueue(handles, settings.redisUrl === null ? 'postgresql' : 'redis');
  }

  /** One job per partition. A partition that has a job already gets no second one. */
  async handOut(partitions: readonly Partition[]): Promise<void> {
    if (partitions.length === 0) return;
    await this.handles.add(
      partitions.map(({ organisation, stage, partition, putBack }) => ({
        name: stage,
        data: { organisation, stage, lane: partition },
        opts: {
          jobId: jobId({ organisation, stage, partition }),
          removeOnComplete: true as const,
          removeOnFail: true as const,
          ...(putBack === true || AFTER_ALL_ELSE.has(stage) ? { priority: 1 } : {}),
        },
      })),
    );
  }

  /** Jobs that wait in the queue. */
  waiting(): Promise<number> {
    return this.handles.waiting();
  }

  /** Finishes the jobs in progress, within a few seconds, and closes. */
  close(): Promise<void> {
    return this.handles.close();
  }
}

/** BullMQ refuses `:` and numbers as ids; names of teams may hold anything. */
function jobId(partition: Partition): string {
  return `lane-${hash('md5', `${partition.organisation}\u0001${partition.stage}\u0001${partition.partition}`)}`;
}

type Work = (job: Job<JobData>) => Promise<void>;

async function overPostgres(
  { databaseUrl, concurrency, stallSeconds }: QueueSettings,
  work: Work,
  failed: (error: Error) => void,
): Promise<Handles> {
  const connection = { connectionString: databaseUrl, max: POSTGRES_CONNECTIONS };
  const queue = new Queue(QUEUE, { connection: { ...connection, migrate: true } }, createPostgresBackend);
  queue.on('error', failed);
  await queue.waitUntilReady();
  const worker =
    concurrency === 0
      ? null
      : new Worker(QUEUE, work, { connection, concurrency, ...stallOptions(stallSeconds) }, createPostgresBackend);
  worker?.on('error', (error) => failed(explained(error)));
  worker?.on('failed', (_, error) => failed(error));
  return handlesOf(queue, worker, async () => undefined);
}

async function overRedis(
  redisUrl: string,
  { concurrency, stallSeconds }: QueueSettings,
  work: Work,
  failed: (error: Error) => void,
): Promise<Handles> {
  const connect = (): Redis => new Redis(redisUrl, { maxRetriesPerRequest: null }).on('error', failed);
  const forQueue = connect();
  const queue = new Queue(QUEUE, { connection: forQueue, prefix: PREFIX });
  queue.on('error', failed);
  await queue.waitUntilReady();
  const forWorker = concurrency === 0 ? null : connect();
  const worker =
    forWorker === null
      ? null
      : new Worker(QUEUE, work, { connection: forWorker, concurrency, prefix: PREFIX, ...stallOptions(stallSeconds) });
  worker?.on('error', (error) => failed(explained(error)));
  worker?.on('failed', (_, error) => failed(error));
  return handlesOf(queue, worker, async () => {
    await Promise.all([forQueue.quit(), forWorker?.quit()]);
  });
}

interface Closable {
  close(): Promise<void>;
}

type Working = Closable & { on(event: 'completed', listener: (job: Job<JobData>) => void): unknown };

function handlesOf(
  queue: Closable & { addBulk: Handles['add']; getJobCountByTypes(...types: JobType[]): Promise<number> },
  worker: Working | null,
  after: () => Promise<void>,
): Handles {
  return {
    add: (jobs) => queue.addBulk(jobs),
    waiting: () => queue.getJobCountByTypes('waiting', 'prioritized'),
    whenDone: (done) => void worker?.on('completed', ({ data }) => done(data)),
    async close() {
      const patience = new AbortController();
      const late = pause(CLOSE_MS, null, { signal: patience.signal }).catch(() => null);
      await Promise.race([worker?.close(), late]);
      patience.abort();
      await queue.close();
      await after();
    },
  };
}
