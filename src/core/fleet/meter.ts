/**
 * Meters machines from two readings of a fleet, for clouds without their own meter.
 *
 * Only proven time counts: between two readings that both saw the same machine running, since one start. A machine that
 * began between two readings counts from its own start; one that ended between them counts up to the earlier reading,
 * so that the meter is at most one reading short and never long. A bill, once it arrives, is the truth. Records are
 * made once and never changed.
 */
import type { FleetReading, FleetTarget } from './fleet.js';
import { formatInstant, MINUTE_MS } from '../time.js';
import { GPU_PARTS, type UsageRecord } from '../usage.js';

/** Readings farther apart prove nothing of the time between them, unless the machine says since when it runs. */
const MOST_GAP_MS = 15 * MINUTE_MS;

/** The known state of a fleet before a reading. */
export interface FleetSnapshot {
  /** Epoch milliseconds of the last reading; null: there was none. */
  readonly readAt: number | null;
  readonly targets: ReadonlyMap<string, { readonly seen: FleetTarget; readonly seenAt: number }>;
}

/** The usage that a reading proves, one record per running machine that has GPUs or may have. */
export function meterFleet(before: FleetSnapshot, reading: FleetReading): UsageRecord[] {
  const { readAt, targets } = before;
  if (readAt === null || readAt >= reading.at) return [];
  return reading.targets.flatMap((target) => {
    if (target.kind !== 'instance' || target.state !== 'running' || target.gpus === 0) return [];
    const start = provedSince(target, targets.get(target.target) ?? null, readAt, reading.at);
    return start === null || start >= reading.at ? [] : [recordOf(target, start, reading.at)];
  });
}

function provedSince(
  target: FleetTarget,
  earlier: { readonly seen: FleetTarget; readonly seenAt: number } | null,
  readAt: number,
  at: number,
): number | null {
  const { launchedAt } = target;
  const ranThen =
    earlier !== null &&
    earlier.seen.state === 'running' &&
    earlier.seen.launchedAt === launchedAt &&
    (launchedAt === null || launchedAt <= earlier.seenAt);
  if (ranThen) return launchedAt !== null || at - earlier.seenAt <= MOST_GAP_MS ? earlier.seenAt : null;
  // It started after its last reading, at the time that the cloud states.
  return launchedAt !== null && launchedAt >= readAt && launchedAt <= at ? launchedAt : null;
}

function recordOf(target: FleetTarget, start: number, end: number): UsageRecord {
  return {
    id: `${target.target}@${formatInstant(start)}`,
    provider: target.provider,
    account: target.account,
    subAccount: null,
    resource: target.target.slice(target.target.lastIndexOf('/') + 1),
    namespace: null,
    service: null,
    sku: target.sku,
    region: target.region,
    term: target.term,
    gpuModel: target.gpuModel,
    tags: Object.keys(target.labels).length === 0 ? null : target.labels,
    start,
    end,
    gpuParts: target.gpus === null ? null : Math.round(target.gpus * GPU_PARTS),
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}
