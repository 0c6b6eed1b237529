/**
 * Runs: metered records that follow each other without a gap, so that a seller's increment and minimum count once for
 * each run and not for each record.
 *
 * A run is the records of one resource and one dimension (provider, account, SKU, region, term, ...), each of which
 * begins when the previous one ends. If several end at one time, the one with the same number of GPUs continues,
 * otherwise the longest. Usage that a correction takes back did not run: corrections cut a record into pieces, so that
 * the charge is what the records would cost without the corrected usage. The result does not depend on the order of the
 * records. Only the carried runs connect days: how long a run had lasted when one of its records began.
 */
import { billableMs } from './cost.js';
import type { Price } from '../price/price.js';
import type { UsageRecord } from '../usage.js';

/** A record's place in its run, or the place of a piece that corrections leave of it. */
export interface Linked {
  /** With the piece's time and GPUs. */
  readonly record: UsageRecord;
  /** The record of the piece: the piece itself if nothing was corrected. */
  readonly whole: UsageRecord;
  /** How long the run had been going on when the piece began, milliseconds. */
  readonly beforeMs: number;
  /** Whether another record continues at the end of this one. */
  continues: boolean;
}

type Terms = Pick<Price, 'incrementSeconds' | 'minimumSeconds'>;

/** Names a record among those of its dimension. */
export const recordKey = ({ id, start, end }: UsageRecord): string => `${start}|${end}|${id}`;

/** The identity of a run: the resource, or, if none is named, all other fields of the record outside its dimension. */
function runnerOf({ resource, namespace, tags }: UsageRecord): string {
  if (resource !== null) return resource;
  const named = Object.entries(tags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
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

interface Piece {
  readonly record: UsageRecord;
  readonly whole: UsageRecord;
}

/** The rest of records with GPUs after corrections: pieces of less time or of fewer GPUs, none if nothing is left. */
function piecesOf(records: readonly UsageRecord[]): Piece[] {
  const ran = records.filter(({ gpuParts, start, end }) => gpuParts !== null && gpuParts > 0 && end > start);
  const corrections = records.filter(({ corrects, gpuParts }) => corrects !== undefined && (gpuParts ?? 0) < 0);
  if (corrections.length === 0) return ran.map((record) => ({ record, whole: record }));
  const named = new Set(corrections.map(({ corrects }) => corrects));
  const own = new Map<UsageRecord, UsageRecord[]>();
  for (const record of [...ran].sort(compareRecords)) if (named.has(record.id)) own.set(record, []);
  for (const correction of corrections) {
    // Of two sources that have an id each: one that holds what is taken back.
    const held = [...own].find(([record]) => record.id === correction.corrects && holds(record, correction));
    held?.[1].push(correction);
  }
  return ran.flatMap((whole) => {
    const taken = own.get(whole) ?? [];
    return taken.length === 0 ? [{ record: whole, whole }] : piecesLeft(whole, taken);
  });
}

const holds = (record: UsageRecord, { start, end, resource }: UsageRecord): boolean =>
  record.start <= start && end <= record.end && record.resource === resource;

function piecesLeft(whole: UsageRecord, taken: readonly UsageRecord[]): Piece[] {
  const cuts = [...new Set([whole.start, whole.end, ...taken.flatMap(({ start, end }) => [start, end])])];
  const bounds = cuts.sort((a, b) => a - b);
  const pieces: UsageRecord[] = [];
  for (const [at, end] of bounds.slice(1).entries()) {
    const start = bounds[at] as number;
    const over = taken.filter((one) => one.start <= start && end <= one.end);
    const gpuParts = over.reduce((parts, one) => parts + (one.gpuParts ?? 0), whole.gpuParts ?? 0);
    const last = pieces.at(-1);
    if (last !== undefined && last.end === start && last.gpuParts === gpuParts)
      pieces[pieces.length - 1] = { ...last, end };
    else if (gpuParts > 0) pieces.push({ ...whole, start, end, gpuParts });
  }
  return pieces.map((record) => ({ record, whole }));
}

/**
 * The runs among records of one dimension. A record without length or GPUs, and a correction below zero, is in no run.
 * @param carried by `recordKey` of a whole record: how long its run had been going on when that record began, as the
 *   records before those at hand have it
 * @param midnight what is carried is of the pieces that hold this instant or end there
 */
export function linkRuns(
  records: readonly UsageRecord[],
  carried: ReadonlyMap<string, number> = new Map(),
  midnight = Infinity,
): Linked[] {
  const linked: Linked[] = [];
  /** Runs by what runs and by where they end. */
  const open = new Map<string, Linked[]>();
  for (const { record, whole } of piecesOf(records).sort((a, b) => compareRecords(a.record, b.record))) {
    const runner = runnerOf(record);
    const before = takeLongest(open.get(`${record.start} ${runner}`), record.gpuParts ?? 0);
    if (before !== null) before.continues = true;
    const own = before === null ? 0 : before.beforeMs + before.record.end - before.record.start;
    const known = record.start < midnight && midnight <= record.end ? carried.get(recordKey(whole)) : undefined;
    const beforeMs = known === undefined ? own : known + record.start - whole.start;
    const one: Linked = { record, whole, beforeMs, continues: false };
    linked.push(one);
    const place = `${record.end} ${runner}`;
    const others = open.get(place);
    if (others === undefined) open.set(place, [one]);
    else others.push(one);
  }
  return linked;
}

function takeLongest(ends: Linked[] | undefined, parts: number): Linked | null {
  if (ends === undefined) return null;
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
function countedMs(lengthMs: number, { incrementSeconds, minimumSeconds }: Terms): number {
  const [increment, minimum] = [incrementSeconds * 1000, minimumSeconds * 1000];
  if (lengthMs < minimum) return lengthMs;
  return (lengthMs % increment) + Math.ceil(minimum / increment) * increment;
}

/** A run that reaches midnight, as the next day has to know it. */
export interface CarriedRun {
  readonly dimension: string;
  /** The record that reaches midnight, or of which a piece does. */
  readonly record: string;
  /** At the beginning of the record; below zero where the run began later in it, after a correction. */
  readonly beforeMs: number;
  /**
   * The seller would add something if nothing but the record followed, or the next day's record is no whole increment.
   */
  readonly matters: boolean;
  /** Whether a record continues at midnight, as known on the day before. */
  readonly continues: boolean;
  /** The record continues and is corrected from midnight on, as known on the day before. */
  readonly stops?: true;
}

/** Whether a piece ends at an instant because its record was corrected from there on. */
export const stopsAt = ({ record, whole }: Linked, instant: number): boolean =>
  record.end === instant && whole.end > instant;

/** The state that a day passes on: the runs of one dimension that reach its end. */
export function carriedOver(
  dimension: string,
  linked: readonly Linked[],
  dayEnd: number,
  priceAt: (instant: number) => Terms | null,
): CarriedRun[] {
  return linked.flatMap((one) => {
    const { record, whole, beforeMs, continues } = one;
    const price = record.start < dayEnd && record.end >= dayEnd ? priceAt(dayEnd - 1) : null;
    if (price === null) return [];
    const ends = record.end === dayEnd;
    if (record !== whole) {
      const lengthMs = countedMs(beforeMs + dayEnd - record.start, price);
      const run = { dimension, record: recordKey(whole), beforeMs: lengthMs - (dayEnd - whole.start), matters: true };
      return [{ ...run, continues: ends && continues, ...(stopsAt(one, dayEnd) ? { stops: true as const } : {}) }];
    }
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
