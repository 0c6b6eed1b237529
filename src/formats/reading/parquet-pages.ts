/**
 * Checks the pages of a Parquet file against bounds before the library decodes them: a page's stated size, number of
 * values and runs are compared with its real bytes.
 *
 * A run of ten bytes may state that a value repeats a thousand million times, a few bytes unpack to as many megabytes,
 * and a short delta repeats a long text for every row: all of it is well-formed, and the library believes each of them.
 * Encodings as in Encodings.md of the Parquet format.
 *
 * Never decodes a value for use. A chunk that has passed decodes in memory and time bounded by MOST_DECODED_BYTES.
 */
import { brotliDecompressSync, unzipSync } from 'node:zlib';
import { decompress as unpackZstandard } from 'fzstd';
import type { ColumnMetaData, SchemaTree } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { Malformed, ThriftWalk, type Fields } from './thrift.js';

/** What one row group may take in memory while it is decoded. */
const MOST_DECODED_BYTES = 2 ** 30;
/** Bytes that a value takes: a place in two lists; a text, time or integer of its own, not shared by a dictionary. */
const PLACE_BYTES = 16;
const OWN_BYTES = 112;
/** Of one page header: its statistics may hold long texts. */
const MOST_HEADER_VALUES = 1000;
/** Runs may be padded to their group. */
const PADDING = 512;
const ZSTANDARD = 0xfd2fb528;
const MOST_INT32 = 2 ** 31 - 1;
/** One-shot compression cuts a page into blocks of up to 128 KiB. */
const zstandardBlocks = (size: number): number => 64 + size / 1024;

const [DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2] = [0, 2, 3];
const [PLAIN, PLAIN_DICTIONARY, RLE, DELTA, DELTA_LENGTH, DELTA_TEXT, RLE_DICTIONARY, STREAM_SPLIT] = [
  0, 2, 3, 5, 6, 7, 8, 9,
];

/** Counts what a row group takes when it is decoded. */
export class Room {
  private taken = 0;

  constructor(private readonly most = MOST_DECODED_BYTES) {}

  take(bytes: number): void {
    this.taken += bytes;
    if (this.taken > this.most)
      throw new Malformed(`it takes more than ${this.most} bytes in memory; write the file with smaller row groups`);
  }
}

interface Page {
  readonly unpackedSize: number;
  /** Holds the unpacked bytes against what the page's header says. */
  check(bytes: Uint8Array): void;
}

type Unpack = (bytes: Uint8Array, size: number) => Uint8Array;

/** A column chunk whose pages have been looked at. `unpack` looks at the insides of each as the library asks for it. */
export class ChunkCheck {
  /** Bytes of all pages, unpacked. */
  unpacked = 0;
  private readonly packed: Page[] = [];
  private readonly maxDefinition: number;
  private readonly maxRepetition: number;
  private readonly isFlat: boolean;

  constructor(
    private readonly chunk: ColumnMetaData,
    private readonly path: readonly SchemaTree[],
    private readonly room: Room,
  ) {
    this.maxDefinition = path.slice(1).filter(({ element }) => element.repetition_type !== 'REQUIRED').length;
    this.maxRepetition = path.filter(({ element }) => element.repetition_type === 'REPEATED').length;
    this.isFlat = path.length === 2 && this.maxRepetition === 0;
  }

  /** Walks over the chunk's pages. @throws Malformed */
  walk(bytes: Uint8Array, rows: number): void {
    let left = rows;
    for (let at = 0; at < bytes.length - 1 && (left > 0 || !this.isFlat); ) {
      const thrift = new ThriftWalk(bytes, at, MOST_HEADER_VALUES);
      const header = thrift.struct();
      const size = integer(header, 3);
      at = thrift.at + size;
      if (at > bytes.length) throw new Malformed('a page is longer than its column');
      const page = bytes.subarray(thrift.at, at);
      const values = this.page(header, page);
      if (this.isFlat && values > left) throw new Malformed('its pages hold more values than it has rows');
      left -= values;
    }
    if (this.isFlat && left > 0) throw new Malformed('its pages hold fewer values than it has rows');
  }

  /** Unpacks the next page, no further than its header says. */
  readonly unpack: Unpack = (bytes, size) => {
    const page = this.packed.shift();
    if (page === undefined || page.unpackedSize !== size) throw new Malformed('its pages are not as they were');
    const unpacked = unpackPage(this.chunk.codec, bytes, size);
    if (unpacked.length !== size) throw new Malformed('a page is not as long as its header says');
    page.check(unpacked);
    return unpacked;
  };

  /** Looks at one page; returns how many rows of a flat column it holds. */
  private page(header: Fields, bytes: Uint8Array): number {
    const size = integer(header, 2);
    this.unpacked += size;
    this.room.take(size);
    const type = integer(header, 1);
    if (type === DICTIONARY_PAGE) {
      const entries = integer(struct(header, 7), 1);
      this.room.take(entries * (PLACE_BYTES + OWN_BYTES));
      this.hold(bytes, { unpackedSize: size, check: () => undefined });
      return 0;
    }
    if (type === DATA_PAGE) {
      const facts = struct(header, 5);
      const values = integer(facts, 1);
      this.room.take(values * PLACE_BYTES);
      this.hold(bytes, { unpackedSize: size, check: (page) => this.dataPage(page, values, integer(facts, 2)) });
      return values;
    }
    if (type !== DATA_PAGE_V2) throw new Malformed(`a page has the unknown type ${type}`);
    return this.secondVersion(struct(header, 8), bytes, size);
  }

  private secondVersion(facts: Fields, bytes: Uint8Array, size: number): number {
    const values = integer(facts, 1);
    const present = values - integer(facts, 2);
    const [definition, repetition] = [integer(facts, 5), integer(facts, 6)];
    const levels = definition + repetition;
    if (present < 0 || levels > bytes.length || levels > size || (this.isFlat && integer(facts, 3) !== values))
      throw new Malformed('the counts of a page contradict each other');
    this.room.take(values * PLACE_BYTES);
    if (this.maxRepetition > 0) walkRuns(bytes, 0, widthOf(this.maxRepetition), values);
    if (this.maxDefinition > 0) walkRuns(bytes, repetition, widthOf(this.maxDefinition), values);
    const encoding = integer(facts, 4);
    const page = {
      unpackedSize: size - levels,
      check: (inside: Uint8Array) => this.values(inside, 0, present, encoding),
    };
    if (facts.get(7) === 0) page.check(bytes.subarray(levels));
    else this.hold(bytes.subarray(levels), page);
    return values;
  }

  private hold(bytes: Uint8Array, page: Page): void {
    if (this.chunk.codec === 'UNCOMPRESSED') page.check(bytes);
    else this.packed.push(page);
  }

  private dataPage(bytes: Uint8Array, values: number, encoding: number): void {
    let at = 0;
    let present = values;
    if (this.maxRepetition > 0) {
      walkRuns(bytes, at + 4, widthOf(this.maxRepetition), values);
      at += 4 + lengthAt(bytes, at);
    }
    if (this.maxDefinition > 0) {
      present = walkRuns(bytes, at + 4, widthOf(this.maxDefinition), values, this.maxDefinition);
      at += 4 + lengthAt(bytes, at);
    }
    this.values(bytes, at, present, encoding);
  }

  /** The values of a page, which begin at `at`; the library reads `count` of them. */
  private values(bytes: Uint8Array, at: number, count: number, encoding: number): void {
    const { type } = this.chunk;
    if (encoding === PLAIN_DICTIONARY || encoding === RLE_DICTIONARY || encoding === RLE) {
      if (type === 'BOOLEAN') walkRuns(bytes, at + 4, 1, count);
      else if (count > 0) walkRuns(bytes, at + 1, indexWidth(bytes, at), count);
      return;
    }
    this.room.take(count * OWN_BYTES);
    if (encoding === PLAIN) return;
    if (encoding === STREAM_SPLIT) {
      const length = type === 'FIXED_LEN_BYTE_ARRAY' ? (this.path.at(-1)?.element.type_length ?? 0) : 4;
      if (length < 1 || count * length > bytes.length - at) throw new Malformed('a page is cut short');
    } else if (encoding === DELTA || encoding === DELTA_LENGTH || encoding === DELTA_TEXT) {
      // Of texts that repeat their beginnings, the lengths of what is repeated come first.
      const { end, sum } = walkDelta(bytes, at, count, encoding === DELTA_TEXT);
      if (encoding === DELTA_TEXT) walkDelta(bytes, end, count, false);
      this.room.take(sum);
    } else throw new Malformed(`a page has the unknown encoding ${encoding}`);
  }
}

function unpackPage(codec: ColumnMetaData['codec'], bytes: Uint8Array, size: number): Uint8Array {
  if (size === 0 && bytes.length === 0) return bytes;
  // The library's own would go on for as long as the bytes say.
  if (codec === 'GZIP') return unzipSync(bytes, { maxOutputLength: Math.max(1, size) });
  if (codec === 'BROTLI') return brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, size) });
  if (codec === 'ZSTD') {
    walkZstandard(bytes, zstandardBlocks(size));
    return unpackZstandard(bytes, new Uint8Array(size));
  }
  const unpack = compressors[codec];
  if (unpack === undefined) throw new Malformed(`its compression ${codec} is not known`);
  return unpack(bytes, size);
}

/** Counts the blocks of a Zstandard frame (RFC 8878, 3.1.1). @throws Malformed where there are more, or two frames */
function walkZstandard(bytes: Uint8Array, most: number): void {
  if (lengthAt(bytes, 0) !== ZSTANDARD) throw new Malformed('the Zstandard data of a page is no frame');
  const descriptor = bytes[4] ?? 0;
  const isSingle = (descriptor & 32) !== 0;
  const sizeFlag = descriptor >> 6;
  let at = 5 + (isSingle ? 0 : 1) + (([0, 1, 2, 4] as const)[descriptor & 3] ?? 0);
  at += sizeFlag === 0 ? (isSingle ? 1 : 0) : 2 ** sizeFlag;
  for (let blocks = 1, isLast = false; !isLast; blocks++) {
    if (at + 3 > bytes.length) throw new Malformed('the Zstandard data of a page is cut short');
    if (blocks > most) throw new Malformed('the Zstandard data of a page has more blocks than its size needs');
    const block = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
    isLast = (block & 1) === 1;
    at += 3 + (((block >> 1) & 3) === 1 ? 1 : block >> 3);
  }
  if (at + ((descriptor & 4) === 0 ? 0 : 4) !== bytes.length)
    throw new Malformed('the Zstandard data of a page is not one frame');
}

function integer(fields: Fields, field: number): number {
  const value = fields.get(field);
  if (typeof value !== 'number' || value < 0 || value > MOST_INT32)
    throw new Malformed('a page header lacks a number, or has one that is out of bounds');
  return value;
}

function struct(fields: Fields, field: number): Fields {
  const value = fields.get(field);
  if (typeof value !== 'object') throw new Malformed('a page header lacks what its type needs');
  return value;
}

const widthOf = (most: number): number => 32 - Math.clz32(most);

function lengthAt(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw new Malformed('a page is cut short');
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
}

function indexWidth(bytes: Uint8Array, at: number): number {
  const width = bytes[at] ?? 33;
  if (width > 32) throw new Malformed('the indexes of a page are wider than 32 bits');
  return width;
}

/**
 * Walks over runs of the hybrid of run lengths and packed bits up to `count` values. Returns how many of them are
 * `sought`.
 * @throws Malformed where a run is longer than what is left
 */
function walkRuns(bytes: Uint8Array, start: number, width: number, count: number, sought = -1): number {
  const thrift = new ThriftWalk(bytes, start, 0);
  let [found, left] = [0, width === 0 && start >= bytes.length ? 0 : count];
  while (left > 0) {
    const head = thrift.unsigned();
    const isPacked = head % 2 === 1;
    const run = isPacked ? 8 * ((head - 1) / 2) : head / 2;
    if (run > left + PADDING) throw new Malformed('a run of values is longer than its page says');
    const taken = Math.min(run, left);
    if (sought >= 0)
      found += isPacked ? packedEqual(bytes, thrift.at, width, taken, sought) : bytes[thrift.at] === sought ? taken : 0;
    thrift.at += isPacked ? (run / 8) * width : (width + 7) >> 3;
    left -= taken;
  }
  return found;
}

/** How many of the packed values of at most eight bits are `sought`. */
function packedEqual(bytes: Uint8Array, at: number, width: number, count: number, sought: number): number {
  const mask = (1 << width) - 1;
  let found = 0;
  for (let index = 0; index < count; index++) {
    const bit = index * width;
    const place = at + (bit >> 3);
    const two = (bytes[place] ?? 0) | ((bytes[place + 1] ?? 0) << 8);
    if (((two >> (bit & 7)) & mask) === sought) found++;
  }
  return found;
}

/**
 * Walks over a delta-encoded list of `count` integers; where `summed`, adds them up, each of which must be a length.
 * @throws Malformed
 */
function walkDelta(
  bytes: Uint8Array,
  start: number,
  count: number,
  summed: boolean,
): { readonly end: number; readonly sum: number } {
  const thrift = new ThriftWalk(bytes, start, 0);
  const [block, miniblocks] = [thrift.unsigned(), thrift.unsigned()];
  thrift.unsigned();
  const values = block / miniblocks;
  if (!(miniblocks >= 1 && miniblocks <= 1024 && values >= 32 && values <= 1 << 20 && values % 32 === 0))
    throw new Malformed('the blocks of a delta-encoded page are out of bounds');
  let value = thrift.signed();
  let sum = 0;
  const add = (delta: number): void => {
    value = (value + delta) | 0;
    if (value < 0) throw new Malformed('a length is negative');
    sum += value;
  };
  if (summed && count > 0) add(0);
  for (let left = count - 1; left > 0; ) {
    const least = thrift.signed();
    const widths = bytes.subarray(thrift.at, thrift.at + miniblocks);
    thrift.at += miniblocks;
    for (let index = 0; index < miniblocks && left > 0; index++) {
      const width = widths[index] ?? 65;
      if (width > (summed ? 32 : 64)) throw new Malformed('the integers of a delta-encoded page are too wide');
      const taken = Math.min(values, left);
      const lengths = summed ? taken : 0;
      for (let one = 0; one < lengths; one++) add(least + bitsAt(bytes, thrift.at, one * width, width));
      thrift.at += (values * width) / 8;
      left -= taken;
    }
  }
  return { end: thrift.at, sum };
}

function bitsAt(bytes: Uint8Array, at: number, bit: number, width: number): number {
  let value = 0;
  for (let index = 0; index < width; index++) {
    const place = bit + index;
    value |= (((bytes[at + (place >> 3)] ?? 0) >> (place & 7)) & 1) << index;
  }
  return value;
}
