/**
 * Bursar on a test's own database: the product's stores, formats and line, with a clock that the test sets.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { Collector } from '../../src/pipeline/collect.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { Stage } from '../../src/pipeline/stage.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { ChannelConnection } from '../../src/core/alert/channel.js';
import type { Importer, PriceFormat, ProviderConnection, UsageFormat } from '../../src/core/ports.js';
import type { Price } from '../../src/core/price/price.js';
import type { Clock } from '../../src/core/time.js';
import type { Reject, UsageRecord } from '../../src/core/usage.js';
import { readRecord as readEvent } from '../../src/formats/cloudevents.js';
import { readRecord } from '../../src/formats/bursar.js';
import { openBytes, openFile, openStream } from '../../src/formats/reading/input.js';
import { Database } from '../../src/store/database.js';
import type { ImportRequest } from '../../src/store/usage/intake.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import type { Spend } from '../../src/store/cost/spend.js';
import { Stores } from '../../src/store/stores.js';
import type { TargetFinder } from '../../src/store/action/targets.js';
import { parseDecimal } from '../../src/core/decimal.js';
import { rateOf } from '../../src/core/money.js';
import { freshDatabase } from './database.js';
import { gpuPrice, importRequest } from './makers.js';

export interface TestBursar {
  readonly url: string;
  readonly db: Database;
  readonly stores: Stores;
  readonly importer: Importer;
  readonly runner: Runner;
  readonly line: readonly Stage[];
  /** Epoch milliseconds; a test sets it. */
  readonly clock: { at: number; now(): number };
  /** Takes records in as one batch of a source. */
  take(records: readonly UsageRecord[], over?: Partial<ImportRequest>, rejects?: readonly Reject[]): Promise<void>;
  setPrices(prices: readonly Price[]): Promise<void>;
  spend(question: Parameters<typeof parseSpendQuery>[0]): Promise<Spend>;
}

/** What takes files and batches in, with every format. */
export async function testCollector(stores: Stores, clock: Clock): Promise<Collector> {
  const formats = await loadParts<UsageFormat | PriceFormat>('formats', 'format', (part) =>
    lacksFunctions(part, 'recognises', 'read'),
  );
  const reading = {
    usageFormats: formats.filter((format) => format.kind === 'usage'),
    priceFormats: formats.filter((format) => format.kind === 'price'),
    readRecord,
    readEvent,
    openFile,
    openBytes,
    openStream,
  };
  return new Collector(stores, reading, clock);
}

/** Works at the line again and again, as a server does, until what it returns is called. */
export function keepDraining(runner: Runner): () => Promise<void> {
  const ending = new AbortController();
  const work = (async () => {
    while (!ending.signal.aborted) {
      await runner.drain();
      await pause(50);
    }
  })();
  return () => {
    ending.abort();
    return work;
  };
}

export async function testBursar(
  options: {
    policies?: readonly Policy[];
    now?: number;
    targets?: TargetFinder;
    connections?: ReadonlyMap<string, ProviderConnection>;
    channels?: ReadonlyMap<string, ChannelConnection>;
    /** Days after its period that a bill settles: none, unless the test is about that. */
    settlingDays?: number;
    /** Connections of the pool. */
    poolSize?: number;
    /** Of a database that is there and up to date; absent: a fresh one. */
    url?: string;
  } = {},
): Promise<TestBursar> {
  const url = options.url ?? (await freshDatabase()).url;
  const db = await Database.open(url, options.poolSize);
  afterAll(() => db.close());
  const stores = new Stores(db, options.targets);
  await stores.counting.saveSettling(db, 'default', { days: options.settlingDays ?? 0, providers: {} });
  const clock = { at: options.now ?? Date.UTC(2026, 10, 21), now: () => clock.at };
  const importer = await testCollector(stores, clock);
  const line = makeLine(stores, options.policies ?? [], [], options.connections, options.channels);
  const runner = new Runner(db, stores.work, clock, line);
  return {
    url,
    db,
    stores,
    importer,
    runner,
    line,
    clock,
    async take(records, over = {}, rejects = []) {
      const rules = await stores.organisations.rules(db, 'default');
      await stores.intake.import(
        importRequest({
          now: clock.now(),
          teamOf: (record) => rules.teamOf(record),
          rulesVersion: rules.version,
          trackedTags: await stores.organisations.trackedTags(db, 'default'),
          ...over,
        }),
        [
          {
            name: 'test',
            format: 'test',
            async *batches() {
              yield { records: [...records], rejects: [...rejects] };
            },
          },
        ],
      );
    },
    async setPrices(prices) {
      await db.transaction(async (tx) => {
        const fresh = await stores.prices.add(
          tx,
          'default',
          prices.map((price) => ({ kind: 'price', price })),
          'test',
        );
        const { enqueue } = await import('../../src/store/work.js');
        const days = await stores.prices.affected(tx, 'default', fresh);
        await enqueue(
          tx,
          'default',
          days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
        );
      });
    },
    async spend(question) {
      const { fx } = await stores.prices.book(db, 'default');
      return stores.spend.spend('default', parseSpendQuery(question), fx);
    },
  };
}

/** A price of an instance of some GPUs, per hour. */
export function instancePrice(perHour: string, over: Partial<Price> & { gpus?: number } = {}): Price {
  const amount = parseDecimal(perHour);
  if (amount === null) throw new Error(`not a price: ${perHour}`);
  const gpus = over.gpus ?? 8;
  return gpuPrice({
    rate: rateOf(amount, 'USD', BigInt(gpus) * 3600n, 'gpu-second'),
    effectiveFrom: Date.UTC(2020, 0, 1),
    ...over,
    gpus,
  });
}
