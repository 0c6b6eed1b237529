/**
 * usage.collect of a connection: metered usage since the watermark and the bill of the months at hand become usage in
 * the store.
 *
 * Each look begins before the watermark, so that late records are found; what came before is known by its id and
 * changes nothing. A bill is asked for whole months, and the newest one replaces what it stated before. All of a look
 * is there or nothing, its watermark with it.
 */
import type { ProviderConnection } from '../core/ports.js';
import { DAY_MS, dayOf, HOUR_MS, hourOf, periodOf } from '../core/time.js';
import type { RecordBatch } from '../core/usage.js';
import type { Transaction } from '../store/database.js';
import type { ImportRequest } from '../store/usage/intake.js';
import type { Stores } from '../store/stores.js';
import { opened, whatOf } from './collecting.js';
import type { Stage, StageCall } from './stage.js';

/** How far back a connection is asked first. */
const FIRST_MS = 14 * DAY_MS;
/** Late records are looked for so far back at every look, and so much farther at the first look of a day. */
const OVERLAP_MS = 3 * HOUR_MS;
const DAILY_OVERLAP_MS = 3 * DAY_MS;
/** A month's bill is still being changed so long after its end. */
const BILL_SETTLES_MS = 10 * DAY_MS;

type Needed = Pick<Stores, 'organisations' | 'intake' | 'collections'>;

export function collectUsageStage(stores: Needed, connections: ReadonlyMap<string, ProviderConnection>): Stage {
  return {
    name: 'usage.collect',
    most: 1,
    reachesOut: true,
    async run(call) {
      const connection = opened(connections, call.lane);
      for (const key of call.keys)
        await (whatOf(key) === 'bill' ? collectBill(stores, connection, call) : collectUsage(stores, connection, call));
      // The intake itself wakes what it touches.
      return [];
    },
  };
}

async function collectUsage(
  stores: Needed,
  connection: ProviderConnection,
  { organisation, lane, now, tx }: StageCall,
): Promise<void> {
  if (connection.usage === undefined) return;
  const collection = { connection: lane, what: 'usage' as const };
  const before = await stores.collections.collectedTo(tx, organisation, collection);
  await takeRecords(stores, tx, organisation, lane, 'usage', now, connection.usage(usageFrom(before, now), now));
  await stores.collections.saveCollected(tx, organisation, collection, now, now);
}

/** On a whole hour, so that no record is cut by where a look begins. */
function usageFrom(before: number | null, now: number): number {
  if (before === null) return dayOf(now - FIRST_MS);
  return hourOf(before - (dayOf(before) === dayOf(now) ? OVERLAP_MS : DAILY_OVERLAP_MS));
}

async function collectBill(
  stores: Needed,
  connection: ProviderConnection,
  { organisation, lane, now, tx }: StageCall,
): Promise<void> {
  if (connection.bill === undefined) return;
  const { start } = periodOf('month', now - BILL_SETTLES_MS, 'UTC');
  await takeRecords(stores, tx, organisation, lane, 'bill', now, connection.bill(start, now));
  await stores.collections.saveCollected(tx, organisation, { connection: lane, what: 'bill' }, now, now);
}

/** Takes records of a connection in; `what` names the delivery for people. */
export async function takeRecords(
  { organisations, intake }: Pick<Stores, 'organisations' | 'intake'>,
  tx: Transaction,
  organisation: string,
  connection: string,
  what: string,
  now: number,
  batches: AsyncIterable<RecordBatch> | readonly RecordBatch[],
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
