/**
 * The storage form of raw records: a block of some thousands of records as one row, by column.
 *
 * A block is a table of groups (the common fields of the records, once) and, per record, a group number, an interval,
 * quantities and identity. Reading a block returns exactly the records. Knows no SQL and no team.
 */
import { formatDecimal, parseDecimal, type Decimal } from '../../core/decimal.js';
import { assert, conflict } from '../../core/errors.js';
import type { Charge, UsageRecord } from '../../core/usage.js';

/** Records in a full block. Fixed, because a delivery's digest is taken over its blocks. */
export const BLOCK_RECORDS = 16_384;
/** A block of very long texts is full before: it is one JSON text, of which there is none of 512 MiB. */
const MOST_BLOCK_CHARACTERS = 64 << 20;

type Shared = Omit<UsageRecord, 'id' | 'start' | 'end' | 'gpuParts' | 'storageMib' | 'networkBytes' | 'charge'> & {
  readonly charge: Pick<Charge, 'category' | 'currency' | 'periodStart' | 'periodEnd' | 'machineHours'> | null;
};

interface Head {
  readonly groups: Shared[];
  readonly ids: string[];
  readonly billed: string[];
  readonly effective: string[];
  readonly list: string[];
  /** Of the few records that state one: their place, and the revision and instant. */
  versions?: [at: number, revision: number | null, updatedAt: number | null][];
  /** Of the few that correct another: their place, and its id. */
  corrects?: [at: number, id: string][];
}

/** A stored block, and which of its records do not count. */
export interface StoredBlock {
  readonly payload: Buffer;
  /** Places of records in whose stead a later statement counts. */
  readonly set_aside: readonly number[];
}

const NUMBERS = ['start', 'end', 'gpuParts', 'storageMib', 'networkBytes'] as const;

/** Collects records; `encode` gives the block's bytes. `group` numbers must be equal exactly where groups are. */
export class BlockBuilder {
  private readonly groups = new Map<number, number>();
  private readonly shared: Shared[] = [];
  private readonly head: Head = { groups: this.shared, ids: [], billed: [], effective: [], list: [] };
  private readonly groupOf = new Uint32Array(BLOCK_RECORDS);
  private readonly numbers = NUMBERS.map(() => new Float64Array(BLOCK_RECORDS));
  private count = 0;
  /** Of the ids and tags. */
  private characters = 0;
  /** Places of records that do not count. */
  readonly setAside: number[] = [];
  firstStart = Number.MAX_SAFE_INTEGER;
  lastEnd = Number.MIN_SAFE_INTEGER;

  get records(): number {
    return this.count;
  }

  get full(): boolean {
    return this.count === BLOCK_RECORDS || this.characters > MOST_BLOCK_CHARACTERS;
  }

  add(group: number, record: UsageRecord): void {
    let index = this.groups.get(group);
    if (index === undefined) {
      index = this.shared.length;
      this.groups.set(group, index);
      this.shared.push(sharedOf(record));
      for (const key in record.tags) this.characters += key.length + (record.tags[key]?.length ?? 0);
    }
    const at = this.count++;
    this.groupOf[at] = index;
    const [starts, ends, parts, storage, network] = this.numbers as [
      Float64Array,
      Float64Array,
      Float64Array,
      Float64Array,
      Float64Array,
    ];
    starts[at] = record.start;
    ends[at] = record.end;
    parts[at] = record.gpuParts ?? NaN;
    storage[at] = record.storageMib ?? NaN;
    network[at] = record.networkBytes ?? NaN;
    this.head.ids.push(record.id);
    this.characters += record.id.length;
    if (record.charge !== null) this.addAmounts(record.charge);
    if (record.version !== undefined) {
      const { revision, updatedAt } = record.version;
      (this.head.versions ??= []).push([at, revision, updatedAt]);
    }
    if (record.corrects !== undefined) (this.head.corrects ??= []).push([at, record.corrects]);
    if (record.start < this.firstStart) this.firstStart = record.start;
    if (record.end > this.lastEnd) this.lastEnd = record.end;
  }

  private addAmounts({ billed, effective, list }: Charge): void {
    const { head } = this;
    const text = formatDecimal(billed);
    head.billed.push(text);
    // Readers hand on one decimal where a line has one text for several.
    head.effective.push(effective === billed ? text : textOf(effective));
    head.list.push(list === billed ? text : textOf(list));
  }

  encode(): Buffer {
    const head = Buffer.from(JSON.stringify(this.head));
    const sizes = Buffer.alloc(8);
    sizes.writeUInt32LE(this.count, 0);
    sizes.writeUInt32LE(head.length, 4);
    const columns = [
      bytesOf(this.groupOf, this.count),
      ...this.numbers.flatMap((column) => packed(column.subarray(0, this.count))),
    ];
    return Buffer.concat([sizes, head, ...columns]);
  }
}

/** How a column of numbers is written: not at all, as offsets of 32 bits from a base, or as they are. */
const EMPTY = 0;
const OFFSETS = 1;
const PLAIN = 2;
/** The offset that means null. */
const NO_OFFSET = 0xffffffff;

/** Nine bytes that say how (and the base), then the column. NaN is null. */
function packed(column: Float64Array): Buffer[] {
  let [least, most, whole] = [Infinity, -Infinity, true];
  // By index: an iterator of a typed array makes an object for every number.
  for (let at = 0; at < column.length; at += 1) {
    const value = column[at] as number;
    if (Number.isNaN(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    whole &&= Number.isSafeInteger(value);
  }
  const how = Buffer.alloc(9);
  if (least > most) return [how];
  if (!whole || most - least >= NO_OFFSET) {
    how.writeUInt8(PLAIN, 0);
    return [how, bytesOf(column, column.length)];
  }
  how.writeUInt8(OFFSETS, 0);
  how.writeDoubleLE(least, 1);
  const offsets = new Uint32Array(column.length);
  for (let at = 0; at < column.length; at += 1) {
    const value = column[at] as number;
    offsets[at] = Number.isNaN(value) ? NO_OFFSET : value - least;
  }
  return [how, bytesOf(offsets, offsets.length)];
}

/** Reads what `packed` wrote; passes on the column and where the next one begins. */
function unpacked(payload: Buffer, at: number, count: number): { column: Float64Array; next: number } {
  const how = payload.readUInt8(at);
  const base = payload.readDoubleLE(at + 1);
  const body = at + 9;
  if (how === EMPTY) return { column: new Float64Array(count).fill(NaN), next: body };
  if (how === PLAIN) return { column: new Float64Array(copied(payload, body, 8 * count)), next: body + 8 * count };
  const offsets = new Uint32Array(copied(payload, body, 4 * count));
  return {
    column: Float64Array.from(offsets, (offset) => (offset === NO_OFFSET ? NaN : base + offset)),
    next: body + 4 * count,
  };
}

/** A copy, because a typed array must begin at a multiple of its element's size. */
function copied(payload: Buffer, at: number, length: number): ArrayBuffer {
  return Uint8Array.prototype.slice.call(payload, at, at + length).buffer as ArrayBuffer;
}

function sharedOf(r: UsageRecord): Shared {
  const { provider, account, subAccount, resource, namespace, service, sku, region, term, gpuModel, tags, charge } = r;
  return {
    provider,
    account,
    subAccount,
    resource,
    namespace,
    service,
    sku,
    region,
    term,
    gpuModel,
    tags,
    charge:
      charge === null
        ? null
        : {
            category: charge.category,
            currency: charge.currency,
            periodStart: charge.periodStart,
            periodEnd: charge.periodEnd,
            // Absent if nothing is said, so that blocks of before keep their digests.
            ...(charge.machineHours === undefined ? {} : { machineHours: charge.machineHours }),
          },
  };
}

function textOf(decimal: Decimal | null): string {
  return decimal === null ? '' : formatDecimal(decimal);
}

function bytesOf(column: Uint32Array | Float64Array, count: number): Buffer {
  return Buffer.from(column.buffer, column.byteOffset, count * column.BYTES_PER_ELEMENT);
}

function decimalOf(text: string | undefined): Decimal | null {
  return text === undefined || text === '' ? null : parseDecimal(text);
}

function known(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function chargeOf(
  { category, currency, periodStart, periodEnd, machineHours }: NonNullable<Shared['charge']>,
  billed: Decimal,
  effective: Decimal | null,
  list: Decimal | null,
): Charge {
  const charge: { -readonly [K in keyof Charge]: Charge[K] } = {
    category,
    currency,
    billed,
    effective,
    list,
    periodStart,
    periodEnd,
  };
  if (machineHours !== undefined) charge.machineHours = machineHours;
  return charge;
}

/** Used instead of the number of records if they are in an archive. */
const ARCHIVED = 0xffffffff;

/** The content of a block's row while its records are in an archive: the month under which it is filed. */
export function archivedPayload(month: string): Buffer {
  const sizes = Buffer.alloc(4);
  sizes.writeUInt32LE(ARCHIVED, 0);
  return Buffer.concat([sizes, Buffer.from(month)]);
}

/** How a message begins that says that records lie in an archive: work that met it is tried again when they are back. */
export const ARCHIVED_WORDS = 'the raw records that are needed are in the archive';

/** The number of records in a block, and the group of each. */
export function groupsOf(payload: Buffer): Uint32Array {
  return new Uint32Array(copied(payload, 8 + payload.readUInt32LE(4), 4 * payload.readUInt32LE(0)));
}

/** The records of a block, in their order. @throws Failure conflict if they lie in an archive */
export function decodeBlock(payload: Buffer): UsageRecord[] {
  const count = payload.readUInt32LE(0);
  if (count === ARCHIVED) {
    const month = payload.toString('utf8', 4);
    throw conflict(`${ARCHIVED_WORDS}, of ${month}: read them back first (bursar archive restore ${month})`);
  }
  const headLength = payload.readUInt32LE(4);
  const head = JSON.parse(payload.toString('utf8', 8, 8 + headLength)) as Head;
  const groupOf = new Uint32Array(copied(payload, 8 + headLength, 4 * count));
  let next = 8 + headLength + 4 * count;
  const numbers = NUMBERS.map(() => {
    const read = unpacked(payload, next, count);
    next = read.next;
    return read.column;
  });
  const [starts, ends, parts, storage, network] = numbers as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const records = Array.from({ length: count }, (_, at): UsageRecord => {
    const shared = head.groups[groupOf[at] ?? 0];
    const id = head.ids[at];
    assert(shared !== undefined && id !== undefined, 'a block names the group and the id of every record');
    const billed = decimalOf(head.billed[at]);
    const { provider, account, subAccount, resource, namespace, service, sku, region, term, gpuModel, tags } = shared;
    // Field by field: records that all have one shape are read many times faster than copies of parsed JSON.
    return {
      id,
      provider,
      account,
      subAccount,
      resource,
      namespace,
      service,
      sku,
      region,
      term,
      gpuModel,
      tags,
      start: starts[at] ?? 0,
      end: ends[at] ?? 0,
      gpuParts: known(parts[at]),
      storageMib: known(storage[at]),
      networkBytes: known(network[at]),
      charge:
        shared.charge === null || billed === null
          ? null
          : chargeOf(shared.charge, billed, decimalOf(head.effective[at]), decimalOf(head.list[at])),
    };
  });
  for (const [at, revision, updatedAt] of head.versions ?? [])
    records[at] = { ...(records[at] as UsageRecord), version: { revision, updatedAt } };
  for (const [at, corrects] of head.corrects ?? []) records[at] = { ...(records[at] as UsageRecord), corrects };
  return records;
}

/** The records of a block that count, in their order. */
export function countedRecords({ payload, set_aside }: StoredBlock): UsageRecord[] {
  return countedOf(decodeBlock(payload), set_aside);
}

/** Those of a block's records that count. */
export function countedOf(records: UsageRecord[], setAside: StoredBlock['set_aside']): UsageRecord[] {
  if (setAside.length === 0) return records;
  const aside = new Set(setAside);
  return records.filter((_, at) => !aside.has(at));
}
