/**
 * Runs: which metered records follow each other without a gap, so that a seller's increment and minimum are counted
 * once for each run and not for each record of it.
 *
 * A run is the records of one resource and one dimension (provider, account, SKU, region, term, ...) each of which
 * begins at the instant at which the one before it ends. Of several that end at one instant the one with as many GPUs
 * goes on, else the longest. The answer does not depend on the order of the records. Knows days only by what is carried
 * from one to the next: how long a run had been going on when a record of it began.
 */
import { billableMs } from './cost.js';
import type { Price } from '../price/price.js';
import type { UsageRecord } from '../usage.js';

/** A record's place in its run. */
export interface Linked {
  readonly record: UsageRecord;
  /** How long the run had been going on when the record began, milliseconds. */
  readonly beforeMs: number;
  /** Whether another record goes on where this one ends. */
  continues: boolean;
}

type Terms = Pick<Price, 'incrementSeconds' | 'minimumSeconds'>;

/** Names a record among those of its dimension. */
export const recordKey = ({ id, start, end }: UsageRecord): string => `${start}|${end}|${id}`;

/** What runs: the resource, or where none is named all that the record says of itself apart from its dimension. */
function runnerOf({ resource, namespace, tags }: UsageRecord): string {
  if (resource !== null) return resource;
  const named = Object.entries(tags ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return JSON.stringify([null, namespace, named]);
}

function compareRecords(a: UsageRecord, b: UsageRecord): number {
  return (
    a.start - b.start ||
    a.end - b.end ||
    (a.gpuParts ?? 0) - (b.gpuParts ?? 0) ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  );
}

/**
 * The runs among records of one dimension. What has no length, no GPU or (a correction) less than none is in no run.
 * @param carried by `recordKey`: how long the run had been going on at the beginning of a record whose run began before
 *   the records at hand
 */
export function linkRuns(records: readonly UsageRecord[], carried: ReadonlyMap<string, number> = new Map()): Linked[] {
  const linked: Linked[] = [];
  /** Runs by what runs and by where they end. */
  const open = new Map<string, Linked[]>();
  for (const record of [...records].sort(compareRecords)) {
    if (record.gpuParts === null || record.gpuParts <= 0 || record.end <= record.start) continue;
    const runner = runnerOf(record);
    const before = takeLongest(open.get(`${record.start} ${runner}`), record.gpuParts);
    if (before !== null) before.continues = true;
    const own = before === null ? 0 : before.beforeMs + before.record.end - before.record.start;
    const one: Linked = { record, beforeMs: carried.get(recordKey(record)) ?? own, continues: false };
    linked.push(one);
    const place = `${record.end} ${runner}`;
    const others = open.get(place);
    if (others === undefined) open.set(place, [one]);
    else others.push(one);
  }
  return linked;
}

function takeLongest(ends: Linked[] | undefined, parts: number): Linked | null {
  if (ends === undefined || ends.length === 0) return null;
  const rank = ({ record, beforeMs }: Linked): readonly [number, number] => [
    record.gpuParts === parts ? 1 : 0,
    beforeMs + record.end - record.start,
  ];
  let best = 0;
  for (let at = 1; at < ends.length; at++) {
    const [one, other] = [rank(ends[at] as Linked), rank(ends[best] as Linked)];
    if (one[0] > other[0] || (one[0] === other[0] && one[1] > other[1])) best = at;
  }
  return ends.splice(best, 1)[0] ?? null;
}

/** Milliseconds that the seller adds where the run ends with this record. */
export function addedMs({ record, beforeMs }: Pick<Linked, 'record' | 'beforeMs'>, price: Terms): number {
  const duration = beforeMs + record.end - record.start;
  return billableMs(duration, price) - duration;
}

/**
 * The shortest length that counts as the given one does: as many milliseconds into an increment, and below the minimum
 * exactly where it is. So a run that has lasted for a month is carried as one that has lasted for a minute.
 */
export function countedMs(lengthMs: number, { incrementSeconds, minimumSeconds }: Terms): number {
  const [increment, minimum] = [incrementSeconds * 1000, minimumSeconds * 1000];
  if (lengthMs < minimum) return lengthMs;
  return (lengthMs % increment) + Math.ceil(minimum / increment) * increment;
}

/** A run that reaches midnight, as the next day has to know it. */
export interface CarriedRun {
  readonly dimension: string;
  /** The record that reaches midnight. */
  readonly record: string;
  readonly beforeMs: number;
  /**
   * The seller would add something if nothing but the record followed, or the next day's record is no whole increment.
   */
  readonly matters: boolean;
  /** Whether a record goes on at midnight, as the day before knew it. */
  readonly continues: boolean;
}

/** What a day hands on: the runs of one dimension that reach its end. */
export function carriedOver(
  dimension: string,
  linked: readonly Linked[],
  dayEnd: number,
  priceAt: (instant: number) => Terms | null,
): CarriedRun[] {
  return linked.flatMap((one) => {
    const { record, beforeMs, continues } = one;
    const price = record.start < dayEnd && record.end >= dayEnd ? priceAt(dayEnd - 1) : null;
    if (price === null) return [];
    const ends = record.end === dayEnd;
    const matters = ends ? addedMs(one, price) > 0 : beforeMs % (price.incrementSeconds * 1000) > 0;
    if (!matters && beforeMs === 0) return [];
    return [
      {
        dimension,
        record: recordKey(record),
        beforeMs: countedMs(beforeMs, price),
        matters,
        continues: ends && matters && continues,
      },
    ];
  });
}
