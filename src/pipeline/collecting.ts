/**
 * Collecting from providers: which data is collected how often, and what the three stages share. This file only
 * enqueues; the stages ask the providers. If a provider does not answer, its key fails: the runner retries it, and so
 * does the next interval, for as long as it takes. Known data is not lost in the meantime; it only ages.
 */
import { Failure, unavailable } from '../core/errors.js';
import type { RecordedRead } from '../core/partial-read.js';
import type { ProviderConnection } from '../core/ports.js';
import { COLLECTED, type Collected, type DueCollection } from '../store/operation/collections.js';
import type { Stores } from '../store/stores.js';
import { enqueue, type WorkItem } from '../store/work.js';
import { lastPart } from './keys.js';

/** Seconds between two readings. */
export interface CollectingIntervals {
  readonly fleet: number;
  readonly usage: number;
  readonly bill: number;
  readonly prices: number;
  readonly spot: number;
}

export const COLLECTING_INTERVALS: CollectingIntervals = {
  fleet: 60,
  usage: 300,
  bill: 6 * 3600,
  prices: 86_400,
  spot: 600,
};

const STAGES: Readonly<Record<Collected, string>> = {
  fleet: 'fleet.collect',
  usage: 'usage.collect',
  bill: 'usage.collect',
  prices: 'price.collect',
  spot: 'price.collect',
};

/** For example `fake/usage`. The kind of data never contains a slash, so the last slash ends the connection's name. */
export const collectingKey = ({ connection, what }: DueCollection): WorkItem => ({
  stage: STAGES[what],
  partition: connection,
  key: `${connection}/${what}`,
});

export function whatOf(key: string): Collected | undefined {
  return COLLECTED.find((what) => what === lastPart(key));
}

/** Whether a connection offers this kind of data. */
function canCollect(connection: ProviderConnection, what: Collected): boolean {
  switch (what) {
    case 'fleet':
      return connection.fleet !== undefined;
    case 'usage':
      return connection.usage !== undefined;
    case 'bill':
      return connection.bill !== undefined;
    case 'prices':
      return connection.prices !== undefined || connection.offers !== undefined;
    case 'spot':
      return connection.spotHistory !== undefined;
  }
}

/**
 * Enqueues the due collections of an organisation's connections once per interval, however many processes call it and
 * how often.
 */
export class CollectingSchedule {
  readonly name = 'collecting';
  /** An idle process should not spend its time asking the database for due work more than once a second. */
  readonly everyMs = 1000;
  private readonly wanted: readonly (DueCollection & { readonly everyMs: number })[];

  constructor(
    private readonly stores: Pick<Stores, 'db' | 'collections'>,
    private readonly organisation: string,
    connections: ReadonlyMap<string, ProviderConnection>,
    intervals: CollectingIntervals,
  ) {
    this.wanted = [...connections].flatMap(([name, connection]) =>
      COLLECTED.filter((what) => canCollect(connection, what)).map((what) => ({
        connection: name,
        what,
        everyMs: intervals[what] * 1000,
      })),
    );
  }

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    if (this.wanted.length === 0) return;
    await this.stores.db.transaction(async (tx) => {
      const due = await this.stores.collections.takeDue(tx, this.organisation, this.wanted, now);
      await enqueue(tx, this.organisation, due.map(collectingKey));
    });
  }
}

/** @throws Failure unavailable if no such connection is open in this process: another one may have it. */
export function opened(connections: ReadonlyMap<string, ProviderConnection>, name: string): ProviderConnection {
  const connection = connections.get(name);
  if (connection === undefined) throw unavailable(`the connection ${name} is not open in this process`);
  return connection;
}

/** A repetition, soon, where something of it was away: as a collection is tried again that was away whole. */
export const againSoon = (collection: DueCollection, { againAfterMs }: RecordedRead, now: number): WorkItem[] =>
  againAfterMs === null ? [] : [{ ...collectingKey(collection), notBefore: now + againAfterMs }];

/**
 * Collects; what fails for good (a permission that is missing, an answer in no known shape) is asked for again within
 * the hour, though its interval be a day. @throws what `collect` throws
 */
export async function askingAgain<T>(
  { db, collections }: Pick<Stores, 'db' | 'collections'>,
  call: { readonly organisation: string; readonly partition: string; readonly now: number; readonly what: Collected },
  collect: () => Promise<T>,
): Promise<T> {
  const { organisation, partition: connection, now, what } = call;
  try {
    return await collect();
  } catch (failure) {
    if (failure instanceof Failure && failure.kind !== 'unavailable')
      await collections.askAgain(db, organisation, { connection, what }, now);
    throw failure;
  }
}
