/**
 * usage.collect of a connection: metered usage since the watermark and the bill of the current months become usage in
 * the store. Each reading begins before the watermark, so that late records are found; records that were read before
 * are recognised by their id and change nothing. A bill is read for whole months, and the newest reading replaces the
 * previous statement. A reading is saved together with its watermark, or not at all.
 */
import { RecordedRead } from '../core/partial-read.js';
import type { ProviderConnection } from '../core/ports.js';
import { DAY_MS, dayOf, HOUR_MS, hourOf, periodOf } from '../core/time.js';
import type { RecordBatch } from '../core/usage.js';
import type { Transaction } from '../store/database.js';
import type { ImportRequest } from '../store/usage/intake.js';
import { Spool } from '../store/usage/spool.js';
import type { Stores } from '../store/stores.js';
import { againSoon, askingAgain, opened, whatOf } from './collecting.js';
import { reachingStage, type ApartWork, type Stage } from './stage.js';

/** How far back the first reading of a connection goes. */
const FIRST_MS = 14 * DAY_MS;
/** How far back every reading searches for late records; the first reading of a day searches farther. */
const OVERLAP_MS = 3 * HOUR_MS;
const DAILY_OVERLAP_MS = 3 * DAY_MS;
/** A month's bill is still being changed so long after its end. */
const BILL_SETTLES_MS = 10 * DAY_MS;

type Needed = Pick<Stores, 'db' | 'organisations' | 'intake' | 'collections'>;
type Call = Parameters<ApartWork>[0];
type Save = Awaited<ReturnType<ApartWork>>;

export function collectUsageStage(stores: Needed, connections: ReadonlyMap<string, ProviderConnection>): Stage {
  return reachingStage('usage.collect', async (call) => {
    const connection = opened(connections, call.partition);
    const what = whatOf(call.key) === 'bill' ? 'bill' : 'usage';
    return askingAgain(stores, { ...call, what }, () =>
      what === 'bill' ? collectBill(stores, connection, call) : collectUsage(stores, connection, call),
    );
  });
}

async function collectUsage(stores: Needed, connection: ProviderConnection, call: Call): Promise<Save> {
  if (connection.usage === undefined) return nothing;
  const { organisation, partition, now } = call;
  const { to, lacking } = await stores.collections.collectedBefore(stores.db, organisation, {
    connection: partition,
    what: 'usage',
  });
  const from = usageFrom(to, now);
  const partial = new RecordedRead(lacking, to, (readTo) => Math.max(readTo ?? 0, dayOf(now - FIRST_MS)));
  return saveOf(stores, 'usage', call, await Spool.from(connection.usage(from, now, to, partial)), partial);
}

/** On a whole hour, so that no record is cut by where a reading begins. */
function usageFrom(before: number | null, now: number): number {
  if (before === null) return dayOf(now - FIRST_MS);
  return hourOf(before - (dayOf(before) === dayOf(now) ? OVERLAP_MS : DAILY_OVERLAP_MS));
}

async function collectBill(stores: Needed, connection: ProviderConnection, call: Call): Promise<Save> {
  if (connection.bill === undefined) return nothing;
  const { start } = periodOf('month', call.now - BILL_SETTLES_MS, 'UTC');
  const partial = new RecordedRead([], null, () => start);
  return saveOf(stores, 'bill', call, await Spool.from(connection.bill(start, call.now, partial)), partial);
}

const nothing: Save = async () => [];

/** The intake itself enqueues the work for the days that it changes. */
const saveOf =
  (
    stores: Needed,
    what: 'usage' | 'bill',
    { organisation, partition, now }: Call,
    spool: Spool,
    partial: RecordedRead,
  ): Save =>
  async (tx) => {
    await takeRecords(stores, tx, organisation, partition, what, now, spool.batches());
    await stores.collections.saveCollected(
      tx,
      organisation,
      { connection: partition, what },
      now,
      now,
      partial.lacking,
    );
    return againSoon({ connection: partition, what }, partial, now);
  };

/** Takes records of a connection in; `what` names the delivery for people. */
export async function takeRecords(
  { organisations, intake }: Pick<Stores, 'organisations' | 'intake'>,
  tx: Transaction,
  organisation: string,
  connection: string,
  what: string,
  now: number,
  batches: Iterable<RecordBatch>,
): Promise<void> {
  const rules = await organisations.rules(tx, organisation);
  const trackedTags = await organisations.trackedTags(tx, organisation);
  const request: ImportRequest = {
    organisation,
    source: connection,
    strict: false,
    dryRun: false,
    by: `connection:${connection}`,
    now,
    teamOf: (record) => rules.teamOf(record),
    rulesVersion: rules.version,
    trackedTags,
  };
  await intake.importWithin(tx, request, {
    name: `${what} of ${connection}`,
    format: 'provider',
    batches: async function* () {
      yield* batches;
    },
  });
}
