/**
 * Folds usage records into sums per (team, hour, dimension), on which pricing and reading work afterwards.
 *
 * A metered record is split at UTC hours so that its pieces sum to it exactly. A bill's line is not split: its amounts
 * belong to the hour in which its charge period starts, or, for whole days, to the first of its civil dates. Sums do
 * not depend on the order of the records. This file never prices, and never drops a record: a record that no given rule
 * matches is `unallocated`.
 */
import { own } from '../own.js';
import { DecimalSum } from '../decimal.js';
import type { Charge, ChargeCategory, Term, UsageRecord } from '../usage.js';
import { datingOf, type Dating } from './dating.js';
import { HOUR_MS } from '../time.js';

/** Above this a sum of part-milliseconds moves into a bigint, far below where numbers stop being exact. */
const SPILL = 2 ** 52;
/** Of the groups that are held, whose records take some times that. */
const MOST_GROUP_CHARACTERS = 128 << 20;

/** The key of a sum, in addition to team and hour. */
export interface Dimension {
  readonly kind: 'metered' | 'billed';
  readonly provider: string;
  readonly account: string | null;
  readonly subAccount: string | null;
  readonly service: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
  readonly gpuModel: string | null;
  readonly category: ChargeCategory;
  /** The bill's currency; null for metered usage, which has no money yet. */
  readonly currency: string | null;
  /** Only the tag keys that budgets filter by. */
  readonly tags: Readonly<Record<string, string>> | null;
  /** Whether its lines belong to civil dates of a bill (dating.ts): their hour is midnight UTC of the date. */
  readonly civil: boolean;
  /** Days that its lines reach over; 1 for metered usage. */
  readonly days: number;
  /** Amounts that the bill leaves out: where the billed one is known, these are unknown. */
  readonly unstated: readonly Unstated[];
}

/** An amount that a bill may leave out. */
export type Unstated = 'effective' | 'list';

/** Records that agree in everything but time, amount and identity. */
export interface Group {
  readonly index: number;
  /** A text that is equal exactly where the groups are. */
  readonly key: string;
  readonly team: string;
  readonly cell: Cell;
}

/** One (team, dimension). */
export interface Cell {
  readonly index: number;
  readonly team: string;
  readonly dimension: Dimension;
}

const SEPARATOR = '\u0001';

function tagText(tags: Readonly<Record<string, string>> | null): string {
  if (tags === null) return '';
  let text = '';
  // The length goes before each text, so that no two maps of tags look alike.
  for (const key in tags) text += `${key.length}:${key}${tags[key]?.length}:${tags[key]}`;
  return text;
}

function groupKey(r: UsageRecord): string {
  const charge =
    r.charge === null
      ? ''
      : r.charge.category +
        SEPARATOR +
        r.charge.currency +
        SEPARATOR +
        r.charge.periodStart +
        SEPARATOR +
        r.charge.periodEnd;
  return `${r.provider}\u0001${r.account}\u0001${r.subAccount}\u0001${r.resource}\u0001${r.namespace}\u0001${r.service}\u0001${r.sku}\u0001${r.region}\u0001${r.term}\u0001${r.gpuModel}\u0001${charge}\u0001${tagText(r.tags)}`;
}

/** What a line of a bill says apart from its words, as one number: two lines of one group have the same. */
function natureOf({ charge }: UsageRecord, dating: Dating | null): number {
  if (charge === null || dating === null) return 0;
  const hours = charge.machineHours === undefined ? 0 : charge.machineHours ? 8 : 16;
  const stated = (charge.effective === null ? 2 : 0) + (charge.list === null ? 1 : 0);
  return dating.days * 32 + hours + (dating.civil ? 4 : 0) + stated;
}

function sameTags(a: UsageRecord['tags'], b: UsageRecord['tags']): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  let keys = 0;
  for (const key in a) {
    if (a[key] !== b[key]) return false;
    keys += 1;
  }
  for (const _ in b) keys -= 1;
  return keys === 0;
}

function sameCharge(a: UsageRecord['charge'], b: UsageRecord['charge']): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.category === b.category &&
    a.currency === b.currency &&
    a.periodStart === b.periodStart &&
    a.periodEnd === b.periodEnd
  );
}

/** Whether two records are of one group: the same answer as comparing their keys, without making them. */
function sameGroup(a: UsageRecord, b: UsageRecord): boolean {
  return (
    a.provider === b.provider &&
    a.account === b.account &&
    a.subAccount === b.subAccount &&
    a.resource === b.resource &&
    a.namespace === b.namespace &&
    a.service === b.service &&
    a.sku === b.sku &&
    a.region === b.region &&
    a.term === b.term &&
    a.gpuModel === b.gpuModel &&
    sameTags(a.tags, b.tags) &&
    sameCharge(a.charge, b.charge)
  );
}

function dimensionOf(r: UsageRecord, dating: Dating | null, trackedTags: readonly string[]): Dimension {
  const kept = trackedTags.flatMap((key) => {
    const value = own(r.tags, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    kind: r.charge === null ? 'metered' : 'billed',
    provider: r.provider,
    account: r.account,
    subAccount: r.subAccount,
    service: r.service,
    sku: r.sku,
    region: r.region,
    term: r.term,
    gpuModel: r.gpuModel,
    category: r.charge?.category ?? 'Usage',
    currency: r.charge?.currency ?? null,
    tags: kept.length === 0 ? null : Object.fromEntries(kept),
    civil: dating?.civil ?? false,
    days: dating?.days ?? 1,
    unstated: r.charge === null ? [] : (['effective', 'list'] as const).filter((amount) => r.charge?.[amount] === null),
  };
}

/** A text that is equal exactly where two dimensions are. */
export function dimensionKey(d: Dimension): string {
  const tags = d.tags === null ? null : Object.entries(d.tags).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return JSON.stringify([
    d.kind,
    d.provider,
    d.account,
    d.subAccount,
    d.service,
    d.sku,
    d.region,
    d.term,
    d.gpuModel,
    d.category,
    d.currency,
    tags,
    // Absent for metered usage, so that existing dimensions keep their keys.
    ...(d.civil || d.days !== 1 || d.unstated.length > 0 ? [d.civil, d.days, d.unstated] : []),
  ]);
}

/** Numbers the groups and cells of a stream of records; asks the rules for a team once per group. */
export class Grouping {
  private readonly groups = new Map<string, Group>();
  private readonly cells = new Map<string, Cell>();
  /** The group seen last for each resource: records of one resource are nearly always of one group. */
  private readonly recent = new Map<
    string | null,
    { readonly record: UsageRecord; readonly nature: number; readonly group: Group }
  >();
  private numbered = 0;
  /** Of the keys of the groups. */
  private characters = 0;

  constructor(
    private readonly teamOf: (record: UsageRecord) => string,
    private readonly trackedTags: readonly string[],
  ) {}

  groupOf(record: UsageRecord): Group {
    const dating = record.charge === null ? null : datingOf(record, record.charge);
    const nature = natureOf(record, dating);
    const recent = this.recent.get(record.resource);
    if (recent !== undefined && recent.nature === nature && sameGroup(recent.record, record)) return recent.group;
    const key = nature === 0 ? groupKey(record) : `${groupKey(record)}${SEPARATOR}${nature}`;
    let group = this.groups.get(key);
    if (group === undefined) {
      const team = this.teamOf(record);
      group = {
        index: this.numbered++,
        key,
        team,
        cell: this.cellOf(team, dimensionOf(record, dating, this.trackedTags)),
      };
      this.groups.set(key, group);
      this.characters += key.length;
    }
    this.recent.set(record.resource, { record, nature, group });
    return group;
  }

  private cellOf(team: string, dimension: Dimension): Cell {
    const key = team + SEPARATOR + dimensionKey(dimension);
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = { index: this.cells.size, team, dimension };
      this.cells.set(key, cell);
    }
    return cell;
  }

  /** Forgets the groups (not the cells), to bound memory where every record is a group of its own. */
  trim(most: number): void {
    if (this.groups.size > most || this.characters > MOST_GROUP_CHARACTERS) {
      this.characters = 0;
      this.groups.clear();
      this.recent.clear();
    }
  }
}

/** The sums of one (team, hour, dimension). Null if no record stated the quantity. */
export class HourSum {
  records = 0;
  private gpuNumber = 0;
  private gpuSpilt = 0n;
  private gpuKnown = false;
  storageMibMs: bigint | null = null;
  networkBytes: bigint | null = null;
  /** Shortest run that ends here and greatest common divisor of their lengths: they tell whether a price's billing
   * minimum and increment change anything, see `isLinear`. */
  shortestMs = Number.MAX_SAFE_INTEGER;
  granuleMs = 0;
  billed: DecimalSum | null = null;
  effective: DecimalSum | null = null;
  list: DecimalSum | null = null;
  /** The end of the last of a bill's lines. */
  until = 0;

  constructor(
    readonly cell: Cell,
    readonly hour: number,
  ) {}

  get gpuPartMs(): bigint | null {
    return this.gpuKnown ? this.gpuSpilt + BigInt(this.gpuNumber) : null;
  }

  addGpu(partMs: number): void {
    this.gpuKnown = true;
    this.gpuNumber += partMs;
    if (this.gpuNumber > SPILL) {
      this.gpuSpilt += BigInt(this.gpuNumber);
      this.gpuNumber = 0;
    }
  }

  addCharge({ billed, effective, list }: Charge): void {
    (this.billed ??= new DecimalSum()).add(billed);
    if (effective !== null) (this.effective ??= new DecimalSum()).add(effective);
    if (list !== null) (this.list ??= new DecimalSum()).add(list);
  }

  addRun(durationMs: number): void {
    if (durationMs < this.shortestMs) this.shortestMs = durationMs;
    if (this.granuleMs === 0) this.granuleMs = durationMs;
    else if (durationMs % this.granuleMs !== 0) this.granuleMs = commonDivisor(this.granuleMs, durationMs);
  }
}

/** Greatest common divisor; of 0 and a number, the number. */
export function commonDivisor(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

/**
 * Whether billing increments and minimums leave every run unchanged, so that a sum can be priced instead of its runs.
 */
export function isLinear(
  shortestMs: number,
  granuleMs: number,
  incrementSeconds: number,
  minimumSeconds: number,
): boolean {
  return shortestMs >= minimumSeconds * 1000 && granuleMs % (incrementSeconds * 1000) === 0;
}

/** Whole units of `total` that lie before `part` of `whole`: floors whose differences sum to the total exactly. */
function shareBefore(total: bigint, part: number, whole: number): bigint {
  return whole === 0 ? 0n : (total * BigInt(part)) / BigInt(whole);
}

/** One (hour) piece of a metered record, as `splitAtHours` hands it on. */
export interface HourPiece {
  readonly hour: number;
  readonly durationMs: number;
  readonly networkBytes: bigint | null;
  /** The record's end lies in this piece. */
  readonly last: boolean;
}

/** The pieces of a metered record at UTC hours. A record without length is one piece of no duration. */
function* splitAtHours(record: UsageRecord): Generator<HourPiece> {
  const { start, end } = record;
  const network = record.networkBytes === null ? null : BigInt(record.networkBytes);
  let at = start;
  do {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const until = Math.min(end, hour + HOUR_MS);
    const last = until >= end;
    const bytes =
      network === null
        ? null
        : (last ? network : shareBefore(network, until - start, end - start)) -
          shareBefore(network, at - start, end - start);
    yield { hour, durationMs: until - at, networkBytes: bytes, last };
    at = until;
  } while (at < end);
}

/** Accumulates sums; `drain` hands them over and starts again, so that memory stays bounded. */
export class HourSums {
  private sums: HourSum[] = [];
  /** By hour, then by the cell's number. */
  private hours = new Map<number, HourSum[]>();
  /** The hour asked for last, and its sums: most records are of one. */
  private hour = Number.NaN;
  private ofHour: HourSum[] = [];

  get size(): number {
    return this.sums.length;
  }

  add(group: Group, record: UsageRecord): void {
    if (record.charge !== null) this.addCharge(group, record);
    else this.addMetered(group, record);
  }

  drain(): HourSum[] {
    const all = this.sums;
    this.sums = [];
    this.hours = new Map();
    this.hour = Number.NaN;
    return all;
  }

  private sumOf(cell: Cell, hour: number): HourSum {
    if (hour !== this.hour) {
      this.hour = hour;
      this.ofHour = this.hours.get(hour) ?? [];
      this.hours.set(hour, this.ofHour);
    }
    let sum = this.ofHour[cell.index];
    if (sum === undefined) {
      sum = new HourSum(cell, hour);
      this.ofHour[cell.index] = sum;
      this.sums.push(sum);
    }
    return sum;
  }

  private addCharge(group: Group, record: UsageRecord): void {
    const charge = record.charge;
    if (charge === null) return;
    const sum = this.sumOf(group.cell, datingOf(record, charge).hour);
    sum.records += 1;
    if (record.end > sum.until) sum.until = record.end;
    sum.addCharge(charge);
    if (record.gpuParts !== null) sum.addGpu(record.gpuParts * (record.end - record.start));
  }

  private addMetered(group: Group, record: UsageRecord): void {
    const { start, end, networkBytes } = record;
    const hour = Math.floor(start / HOUR_MS) * HOUR_MS;
    // Nearly every record of a meter is one piece.
    if (end <= hour + HOUR_MS)
      this.addPiece(group, record, hour, end - start, networkBytes === null ? null : BigInt(networkBytes), true);
    else
      for (const piece of splitAtHours(record))
        this.addPiece(group, record, piece.hour, piece.durationMs, piece.networkBytes, piece.last);
  }

  private addPiece(
    group: Group,
    record: UsageRecord,
    hour: number,
    durationMs: number,
    networkBytes: bigint | null,
    last: boolean,
  ): void {
    const sum = this.sumOf(group.cell, hour);
    if (record.gpuParts !== null) sum.addGpu(record.gpuParts * durationMs);
    if (record.storageMib !== null)
      sum.storageMibMs = (sum.storageMibMs ?? 0n) + BigInt(record.storageMib) * BigInt(durationMs);
    if (networkBytes !== null) sum.networkBytes = (sum.networkBytes ?? 0n) + networkBytes;
    // Only the records show what a correction leaves of a run.
    if (record.corrects !== undefined) sum.addRun(1);
    if (!last) return;
    sum.records += 1;
    if (record.corrects === undefined) sum.addRun(record.end - record.start);
  }
}
