/**
 * The tick decides when to check for due work: whenever work is enqueued (PostgreSQL notifies), and every few seconds
 * in case a notification was lost. It only hands partitions to the queue. Once an hour it also enqueues work that
 * becomes due by the calendar (a period that turns, a forecast that ages).
 *
 * Its parts are independent: if one fails, the others and the handing out still run, and the readiness check reports
 * the failure.
 */
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { HOUR_MS, type Clock } from '../core/time.js';
import { WatchedParts } from '../core/watched.js';
import { periodLabel } from '../store/budget/budgets.js';
import type { Stores } from '../store/stores.js';
import { SETTLE } from '../store/bill/counting.js';
import { mergeItem } from '../store/usage/merging.js';
import { enqueue, ENQUEUED_CHANNEL, type DuePartition, type WorkItem } from '../store/work.js';
import type { LineQueue } from './queue.js';

type Partition = Pick<DuePartition, 'organisation' | 'stage' | 'partition'>;

/** A burst of work items is answered once. */
const PAUSE_MS = 20;
/** Where much is due, an answer takes long: the pause before the next is so many times as long, and a second at most. */
const PAUSE_SHARE = 4;
const LONGEST_PAUSE_MS = 1000;
/**
 * A partition gets a job at most this often: otherwise a meter that sends without pause would have the same day priced
 * with every batch. Recommendations read weeks of data, so they may wait longer.
 */
const PARTITION_PAUSE_MS = 1000;
const RECOMMENDING_PAUSE_MS = 60_000;
/**
 * Alerts go to few places, each a partition, and cost little. So the pause only collects alerts that arrive at the same
 * time.
 */
const ALERTING_PAUSE_MS = 100;
/**
 * A partition whose job is not known to be done gets another in case it was lost; most of these find that the job is
 * still waiting. So that they stay few where thousands of partitions wait, each rests so long for each that is due.
 */
const PAUSE_MS_PER_PARTITION = 5;

/** Work that is due by its own schedule. */
export interface Schedule {
  readonly name: string;
  /** The pause after a success; absent: it is checked at every tick. */
  readonly everyMs?: number;
  /** @param now epoch milliseconds */
  enqueueDue(now: number): Promise<void>;
}

@Injectable()
export class Tick implements OnApplicationBootstrap, OnApplicationShutdown {
  private stopListening: (() => Promise<void>) | null = null;
  private answering: Promise<void> | null = null;
  private again = false;
  /** From then on nothing is asked or timed: the last jobs are still being done, and each end of one asks for more. */
  private isOver = false;
  private lastHour = 0;
  /** By schedule, when it is asked again. */
  private readonly restsUntil = new Map<string, number>();
  /** When each partition got its last job, in the process' own milliseconds, as long as it rests. */
  private readonly handedAt = new Map<string, number>();
  /** Of these, the partitions whose job is done, in this process. */
  private readonly done = new Set<string>();
  /** How long the last check took. */
  private tookMs = 0;
  private later: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly stores: Pick<Stores, 'db' | 'work' | 'budgets' | 'organisations' | 'merging'>,
    private readonly queue: LineQueue,
    private readonly clock: Clock,
    private readonly seconds: number,
    private readonly registry: SchedulerRegistry,
    private readonly failed: (error: Error) => void,
    /**
     * Work that never ends (sources that are read repeatedly): enqueued at the start and every hour, whatever happened
     * to it.
     */
    private readonly standing: readonly {
      readonly organisation: string;
      readonly workItems: readonly WorkItem[];
    }[] = [],
    private readonly schedules: readonly Schedule[] = [],
    private readonly parts = new WatchedParts(),
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.queue.whenDone((partition) => {
      if (this.handedAt.has(nameOf(partition))) this.done.add(nameOf(partition));
      this.poll();
    });
    this.stopListening = await this.stores.db.listen(ENQUEUED_CHANNEL, () => this.poll());
    this.registry.addInterval(
      'line.tick',
      setInterval(() => this.poll(), this.seconds * 1000),
    );
    this.poll();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isOver = true;
    if (this.registry.doesExist('interval', 'line.tick')) this.registry.deleteInterval('line.tick');
    if (this.later !== null) clearTimeout(this.later);
    await this.stopListening?.();
    await this.answering;
  }

  /** Hands out due work soon; several calls at once count as one. */
  poll(): void {
    if (this.isOver) return;
    if (this.answering !== null) {
      this.again = true;
      return;
    }
    this.answering = this.answer()
      .catch((error: unknown) => this.failed(errorOf(error)))
      .finally(() => {
        this.answering = null;
        if (this.again) {
          this.again = false;
          this.poll();
        }
      });
  }

  private async answer(): Promise<void> {
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, PAUSE_SHARE * this.tookMs));
    await new Promise((resolve) => setTimeout(resolve, pause));
    const begun = performance.now();
    const now = this.clock.now();
    await this.part('calendar', now, async () => {
      if (Math.floor(now / HOUR_MS) === this.lastHour) return;
      await this.enqueueByCalendar(now);
      this.lastHour = Math.floor(now / HOUR_MS);
    });
    for (const schedule of this.schedules)
      if (now >= (this.restsUntil.get(schedule.name) ?? -Infinity)) await this.ask(schedule, now);
    await this.part('handing out', now, async () =>
      this.queue.handOut(this.rested(await this.stores.work.duePartitions(now))),
    );
    this.tookMs = performance.now() - begun;
  }

  private ask(schedule: Schedule, now: number): Promise<void> {
    const { name, everyMs = 0 } = schedule;
    return this.part(name, now, async () => {
      await schedule.enqueueDue(now);
      this.restsUntil.set(name, now + everyMs);
    });
  }

  /** One part of a check; its failure is its own. */
  private async part(name: string, now: number, run: () => Promise<void>): Promise<void> {
    try {
      await run();
      this.parts.succeeded(name);
    } catch (error) {
      const { message } = errorOf(error);
      this.parts.failed(name, message, now);
      this.failed(new Error(`the tick's ${name}: ${message}`, { cause: error }));
    }
  }

  /** The partitions whose pause is over; the others are checked again when theirs ends. */
  private rested(partitions: readonly DuePartition[]): DuePartition[] {
    const now = performance.now();
    for (const [partition, at] of this.handedAt)
      if (at + RECOMMENDING_PAUSE_MS <= now) {
        this.handedAt.delete(partition);
        this.done.delete(partition);
      }
    const repeatMs = Math.min(RECOMMENDING_PAUSE_MS, PAUSE_MS_PER_PARTITION * partitions.length);
    const rested: DuePartition[] = [];
    let next = Infinity;
    for (const partition of partitions) {
      const name = nameOf(partition);
      const pause = Math.max(pauseOf(partition), this.done.has(name) ? 0 : repeatMs);
      const until = (this.handedAt.get(name) ?? -Infinity) + pause;
      if (until > now) {
        next = Math.min(next, until);
        continue;
      }
      rested.push(partition);
      this.handedAt.set(name, now);
      this.done.delete(name);
    }
    if (next < Infinity && !this.isOver) {
      if (this.later !== null) clearTimeout(this.later);
      this.later = setTimeout(
        () => {
          this.later = null;
          this.poll();
        },
        next - now + 1,
      );
    }
    return rested;
  }

  /**
   * Every budget's current period, those that have ended since, sources with small deliveries, and deliveries that were
   * allocated under older rules.
   */
  private async enqueueByCalendar(now: number): Promise<void> {
    const { db, budgets, organisations, merging } = this.stores;
    for (const organisation of await organisations.ids(db)) {
      const asOf = await organisations.asOf(db, organisation, now);
      const all = await budgets.list(db, organisation);
      await enqueue(db, organisation, [
        ...all.map((budget) => ({
          stage: 'budget.weigh',
          partition: budget.id,
          key: `${budget.id}/${periodLabel(budget, asOf)}`,
        })),
        // Once more when the period is over, since its last usage has then arrived.
        ...(await budgets.ended(db, organisation, asOf)),
        // Bills settle by time; and what an older process took in beside this one is in no claim yet.
        SETTLE,
        ...(await merging.sources(db, organisation)).map((source) => mergeItem(source)),
      ]);
      await organisations.enqueueStale(db, organisation);
    }
    for (const { organisation, workItems } of this.standing) await enqueue(db, organisation, workItems);
  }
}

const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Urgent work (a lost card) waits no longer than the usual pause, whatever its stage. */
const pauseOf = ({ stage, urgent }: DuePartition): number =>
  stage === 'recommendation.make' && urgent !== true
    ? RECOMMENDING_PAUSE_MS
    : stage.startsWith('alert.')
      ? ALERTING_PAUSE_MS
      : PARTITION_PAUSE_MS;

const nameOf = ({ organisation, stage, partition }: Partition): string =>
  `${organisation}\u0001${stage}\u0001${partition}`;
