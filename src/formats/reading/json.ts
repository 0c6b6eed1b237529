/**
 * JSON records from a stream: an array, an object whose first field `records` is one, one object, or JSON lines.
 *
 * Never parses more than one record at a time, so that a record that is not JSON is one reject and the file continues.
 * An object that spans several lines is read as a whole, within a limit.
 */
import { isUtf8 } from 'node:buffer';
import { Failure, invalid, type Problem } from '../../core/errors.js';
import { measured, MOST_DEPTH } from '../../core/json-size.js';
import type { Input } from '../../core/ports.js';
import type { RecordBatch, UsageRecord } from '../../core/usage.js';
import { MOST_ROW_BYTES, rawText } from './csv.js';
import { HEAD_BYTES } from './input.js';
import { BATCH_BYTES, BATCH_ROWS, rejectOf } from './table.js';

export const MOST_OBJECT_BYTES = 64 << 20;

/** A record needs about 20 bytes a value. */
const LEAST_BYTES_PER_VALUE = 6;

/** Reads a record (or some) from a parsed value, or names its problems. `line` is its line or its number. */
export type ValueReader = (
  value: unknown,
  path: string,
  problems: Problem[],
  line: number,
) => UsageRecord | readonly UsageRecord[] | null;

const LF = 10;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const RECORDS = /^\s*\{\s*"records"\s*:\s*\[/;

/** The first bytes as text, without a byte order mark. */
function headText(input: Input): string {
  return Buffer.from(input.head)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
}

/**
 * What an input that may hold JSON records begins with: its first value where that fits in the head, for recognising.
 */
export function looksLikeJson(input: Input, field: RegExp): boolean {
  const text = headText(input).trimStart();
  return (text.startsWith('{') || text.startsWith('[')) && field.test(text);
}

/**
 * Reads every record of the input, by whichever of the four forms it has.
 * @param parse JSON.parse, or parseExactly where a record holds amounts
 */
export async function* readJsonRecords(
  input: Input,
  read: ValueReader,
  parse: (text: string) => unknown = JSON.parse,
): AsyncGenerator<RecordBatch> {
  const text = headText(input);
  const batches = new Batches(read, parse);
  if (text.trimStart() === '') throw invalid(`${input.name}: the file is empty`);
  if (text.trimStart().startsWith('[')) yield* readElements(input, batches, /^\s*\[/);
  else if (RECORDS.test(text)) yield* readElements(input, batches, RECORDS);
  else if (firstLineIsWhole(text, input.head.length >= HEAD_BYTES)) yield* readLines(input, batches);
  else yield* readObject(input, batches);
  yield* batches.remainingBatch();
}

function firstLineIsWhole(text: string, headIsFull: boolean): boolean {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  // Longer than the head: a long first line of many, unless it lists its records.
  if (line.length === text.trimStart().length && headIsFull) return !/"records"\s*:\s*\[/.test(line);
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    // A first line that ends as an object does is a bad record of many; another one begins an object of several lines.
    return line.trimEnd().endsWith('}');
  }
}

/** Collects records and rejects into batches of bounded size. */
class Batches {
  private batch: RecordBatch = { records: [], rejects: [] };
  private bytes = 0;
  private problems: Problem[] = [];

  constructor(
    private readonly read: ValueReader,
    readonly parse: (text: string) => unknown,
  ) {}

  /** Reads the record in the bytes; `line` is its line or its number. */
  addBytes(bytes: Buffer, line: number): void {
    this.bytes += bytes.length;
    if (bytes.length > MOST_ROW_BYTES)
      return this.reject(line, `the record is longer than ${MOST_ROW_BYTES} bytes`, bytes);
    if (!isUtf8(bytes)) return this.reject(line, 'the record is not UTF-8', bytes);
    let value: unknown;
    try {
      value = this.parse(bytes.toString('utf8'));
    } catch (error) {
      return this.reject(
        line,
        `the record is not JSON (${error instanceof Error ? error.message : String(error)})`,
        bytes,
      );
    }
    this.addValue(value, line, () => bytes);
  }

  addValue(value: unknown, line: number, bytes: () => Buffer): void {
    const read = this.read(value, '', this.problems, line);
    if (read !== null) {
      if ('id' in read) this.batch.records.push(read);
      else this.batch.records.push(...read);
      return;
    }
    this.batch.rejects.push(rejectOf(line, this.problems.map(unrooted), rawText(bytes())));
    this.problems = [];
  }

  reject(line: number, reason: string, bytes: Buffer): void {
    this.batch.rejects.push(
      rejectOf(line, [{ path: null, message: reason.replaceAll('\0', '\uFFFD') }], rawText(bytes)),
    );
  }

  *full(): Generator<RecordBatch> {
    const rows = this.batch.records.length + this.batch.rejects.length;
    if (rows >= BATCH_ROWS || this.bytes >= BATCH_BYTES) yield* this.remainingBatch();
  }

  *remainingBatch(): Generator<RecordBatch> {
    if (this.batch.records.length + this.batch.rejects.length === 0) return;
    yield this.batch;
    this.batch = { records: [], rejects: [] };
    this.bytes = 0;
  }
}

const unrooted = ({ path, message }: Problem): Problem => ({
  path: path === '' ? null : path,
  message: path === '' ? `the record ${message}` : message,
});

async function* readLines(input: Input, batches: Batches): AsyncGenerator<RecordBatch> {
  let left: Buffer = Buffer.alloc(0);
  let line = 0;
  let first = true;
  let skipping = false;
  const take = (bytes: Buffer): void => {
    line++;
    if (bytes.some((byte) => byte > 32)) batches.addBytes(bytes, line);
  };
  for await (const chunk of input.stream()) {
    let block =
      left.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([left, chunk]);
    if (first && block.length >= 3) {
      first = false;
      if (block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf) block = block.subarray(3);
    }
    let at = 0;
    for (let end = block.indexOf(LF); end >= 0; end = block.indexOf(LF, at)) {
      if (!skipping) take(block.subarray(at, end));
      skipping = false;
      at = end + 1;
      yield* batches.full();
    }
    // A line that is too long is refused where that shows, and the rest of it is passed over.
    if (!skipping && block.length - at > MOST_ROW_BYTES) {
      take(block.subarray(at));
      skipping = true;
    }
    left = skipping ? Buffer.alloc(0) : Buffer.from(block.subarray(at));
  }
  if (left.length > 0) take(left);
}

/**
 * The value of a text that was read whole.
 * @throws Failure invalid if it is deeper than a record, or holds more values than records of its length; SyntaxError
 */
export function parseWithin(name: string, bytes: Buffer, parse: (text: string) => unknown = JSON.parse): unknown {
  const most = Math.max(1000, Math.floor(bytes.length / LEAST_BYTES_PER_VALUE));
  const { depth, values } = measured(bytes, most);
  if (depth > MOST_DEPTH) throw invalid(`${name}: the JSON is nested deeper than ${MOST_DEPTH}`);
  if (values > most) throw invalid(`${name}: the JSON holds more values than a file of its size does`);
  return parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
}

async function* readObject(input: Input, batches: Batches): AsyncGenerator<RecordBatch> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input.stream()) {
    parts.push(chunk);
    size += chunk.length;
    if (size > MOST_OBJECT_BYTES)
      throw invalid(
        `${input.name}: the object is longer than ${MOST_OBJECT_BYTES} bytes; write JSON lines, or put "records" first`,
      );
  }
  const bytes = Buffer.concat(parts);
  let value: unknown;
  try {
    value = parseWithin(input.name, bytes, batches.parse);
  } catch (error) {
    if (error instanceof Failure) throw error;
    batches.reject(1, `the record is not JSON (${error instanceof Error ? error.message : String(error)})`, bytes);
    return;
  }
  const records = typeof value === 'object' && value !== null && 'records' in value ? value.records : null;
  const items: unknown[] = Array.isArray(records) ? records : [value];
  for (const [index, item] of items.entries()) {
    batches.addValue(item, index + 1, () => Buffer.from(JSON.stringify(item)));
    yield* batches.full();
  }
}

/** Reads the elements of the array that opens where `opening` ends. What follows the array is not read. */
async function* readElements(input: Input, batches: Batches, opening: RegExp): AsyncGenerator<RecordBatch> {
  const mark = input.head[0] === 0xef ? 3 : 0;
  const skip = mark + Buffer.byteLength(opening.exec(headText(input))?.[0] ?? '');
  const splitter = new ElementSplitter(skip);
  let number = 0;
  for await (const chunk of input.stream()) {
    splitter.push(chunk);
    for (let element = splitter.next(); element !== null; element = splitter.next()) {
      number++;
      batches.addBytes(element, number);
      yield* batches.full();
    }
    if (splitter.closed) return;
    if (splitter.waiting.length > MOST_OBJECT_BYTES)
      throw invalid(`${input.name}: record ${number + 1} is longer than ${MOST_OBJECT_BYTES} bytes`);
  }
  batches.reject(number + 1, 'the array is not closed: the file is cut short', splitter.waiting);
}

/** Cuts the elements of an array apart by brackets, braces and quotes; what is inside them is not looked at. */
class ElementSplitter {
  closed = false;
  private block: Buffer = Buffer.alloc(0);
  /** Where the element begins, and how far it was scanned. */
  private start = 0;
  private at = 0;
  private depth = 0;
  private inText = false;

  constructor(private skip: number) {}

  push(chunk: Uint8Array): void {
    const skipped = Math.min(this.skip, chunk.length);
    this.skip -= skipped;
    this.block = Buffer.concat([this.block.subarray(this.start), chunk.subarray(skipped)]);
    this.at -= this.start;
    this.start = 0;
  }

  /** Bytes of the element that has begun. */
  get waiting(): Buffer {
    return this.block.subarray(this.start);
  }

  /** The bytes of the next whole element, or null if more bytes are needed or the array is closed. */
  next(): Buffer | null {
    if (this.closed) return null;
    const { block } = this;
    let { at, depth, inText } = this;
    let element: Buffer | null = null;
    while (element === null && at < block.length) {
      const byte = block[at];
      if (inText) {
        if (byte === BACKSLASH) {
          if (at + 1 >= block.length) break;
          at++;
        } else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (depth > 0 && (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) depth--;
      else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        this.closed = byte === CLOSE_BRACKET;
        element = block.subarray(this.start, at);
        this.start = at + 1;
      }
      at++;
    }
    this.at = at;
    this.depth = depth;
    this.inText = inText;
    // An empty array has no element; an empty place between commas is a bad one.
    return element !== null && this.closed && element.every((byte) => byte <= 32) ? null : element;
  }
}
