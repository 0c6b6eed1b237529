/**
 * Parquet by row group, with the same readers of a row as CSV.
 *
 * A DECIMAL becomes exactly the decimal it is: its annotation is taken off before decoding, because the decoder would
 * make a float of it. A DOUBLE becomes the shortest decimal that reads back as the same float64; the file holds no more
 * than that. One row group is in memory at a time; a larger one than the limit fails with its size.
 *
 * Never believes what a file says of itself: rows, sizes and places are compared with its bytes (`parquet-file.ts`),
 * and every page before it is decoded (`parquet-pages.ts`).
 */
import { parquetRead, type FileMetaData, type RowGroup } from 'hyparquet';
import type { Decimal } from '../../core/decimal.js';
import { Failure, invalid, type Problem } from '../../core/errors.js';
import type { Input } from '../../core/ports.js';
import { ByteMemo } from './byte-memo.js';
import { MOST_RAW_CHARACTERS, MOST_ROW_BYTES } from './csv.js';
import { Memo } from './memo.js';
import { decimalOf, decimalOfNumber } from './numbers.js';
import { checkGroup, footerOf, Unpacking, type Bytes } from './parquet-file.js';
import { BATCH_BYTES, BATCH_ROWS, Header, rejectOf, type Cells, type RowReader, type TableBatch } from './table.js';
import { isStorable } from './tags.js';

const MOST_ROW_GROUP_BYTES = 256 << 20;

/** Digits after the point; DECIMAL(76) is the widest that anybody writes. */
const MOST_SCALE = 76;
const MOST_DECIMAL_BYTES = 32;
/** Longer texts are looked up by the place in memory that a dictionary shares between rows, shorter ones by their bytes. */
const SHORT_BYTES = 1024;
/** What an entry of a list or a map takes as JSON beside its text. */
const PLACE_BYTES = 8;
/** JSON stays the text that it is: nothing is built of it here. */
const AS_IT_IS = { jsonFromBytes: (bytes: Uint8Array): Uint8Array => bytes };

/** Values of one column of a row group, by row. */
type Column = ArrayLike<unknown>;

/**
 * Reads a Parquet file. Rejects carry the record's number as their line. Fails: invalid where a row group is larger
 * than `mostRowGroupBytes` (uncompressed), where the file cannot be decoded, or where `prepare` does.
 */
export async function* readParquetTable<T>(
  input: Input,
  prepare: (header: Header) => RowReader<T>,
  mostRowGroupBytes = MOST_ROW_GROUP_BYTES,
): AsyncGenerator<TableBatch<T>> {
  const file = {
    byteLength: input.size,
    slice: (start: number, end?: number) => input.slice(start, end ?? input.size),
  };
  const metadata = await decoded(input.name, () => footerOf(input));
  const scales = takeDecimalScales(input.name, metadata);
  const unpacking = new Unpacking(
    input.size,
    metadata.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0),
  );
  const names = topLevelNames(metadata);
  const header = new Header(names, input.name);
  const readRecord = prepare(header);
  header.check();
  const table = new ParquetTable(header, scales, readRecord);
  let rowStart = 0;
  for (const [number, group] of metadata.row_groups.entries()) {
    refuseLarge(input.name, number, group, mostRowGroupBytes);
    const rowEnd = rowStart + Number(group.num_rows);
    const columns = await decoded(input.name, () =>
      readGroup({ file, metadata, names: table.names, group, number, unpacking }),
    );
    yield* table.read(columns, rowStart, rowEnd);
    rowStart = rowEnd;
  }
}

/** The names of a Parquet file's columns; none if it cannot be decoded (reading it says why). */
export async function columnsOfParquet(file: Bytes): Promise<string[]> {
  try {
    return topLevelNames(await footerOf(file));
  } catch {
    return [];
  }
}

async function decoded<R>(name: string, read: () => Promise<R>): Promise<R> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw invalid(
      `${name}: the Parquet data cannot be read (${error instanceof Error ? error.message : String(error)})`,
    );
  }
}

function refuseLarge(name: string, number: number, group: RowGroup, most: number): void {
  const stated = group.columns.reduce(
    (sum, { meta_data: facts }) => sum + Number(facts?.total_uncompressed_size ?? 0n),
    0,
  );
  const size = Math.max(stated, Number(group.total_byte_size));
  if (size > most)
    throw invalid(
      `${name}: row group ${number + 1} holds ${size} bytes, more than the limit of ${most}; write the file with smaller row groups`,
    );
}

/** Takes the annotation off every DECIMAL column, so that its raw integers come out; gives their scales by name. */
function takeDecimalScales(name: string, metadata: FileMetaData): Map<string, number> {
  const scales = new Map<string, number>();
  for (const element of metadata.schema) {
    const logical = element.logical_type;
    if (element.converted_type !== 'DECIMAL' && logical?.type !== 'DECIMAL') continue;
    const scale = logical?.type === 'DECIMAL' ? logical.scale : (element.scale ?? 0);
    if (!(scale >= 0 && scale <= MOST_SCALE))
      throw invalid(`${name}: ${element.name}: the scale of a DECIMAL is from 0 to ${MOST_SCALE}`);
    scales.set(element.name, scale);
    delete element.converted_type;
    delete element.logical_type;
  }
  return scales;
}

function topLevelNames(metadata: FileMetaData): string[] {
  const names: string[] = [];
  const { schema } = metadata;
  const skip = (at: number): number => {
    let next = at + 1;
    for (let child = 0; child < (schema[at]?.num_children ?? 0); child++) next = skip(next);
    return next;
  };
  for (let at = 1; at < schema.length; at = skip(at)) names.push(schema[at]?.name ?? '');
  return names;
}

interface GroupRequest {
  file: { byteLength: number; slice(start: number, end?: number): Promise<ArrayBuffer> };
  metadata: FileMetaData;
  names: string[];
  group: RowGroup;
  number: number;
  unpacking: Unpacking;
}

async function readGroup(request: GroupRequest): Promise<Map<string, Column>> {
  const { file, metadata, names, number, unpacking } = request;
  const columns = new Map<string, Column>();
  const texts = new Map<string, number>();
  const rows = Number(request.group.num_rows);
  if (rows === 0) return columns;
  const { group, compressors } = await checkGroup({ file, metadata, names, group: request.group, number, unpacking });
  // The library walks over all row groups for each that it reads.
  const own = { ...metadata, row_groups: [group] };
  // Column by column: while the library reads, it holds several times what a column is in the end.
  for (const name of names)
    await parquetRead({
      file,
      metadata: own,
      columns: [name],
      rowStart: 0,
      rowEnd: rows,
      compressors,
      utf8: false,
      parsers: AS_IT_IS,
      onChunk: ({ columnName, columnData, rowStart: first }) => {
        const isWhole = first === 0 && columnData.length === rows;
        const column = columns.get(columnName) ?? (isWhole ? columnData : new Array<unknown>(rows));
        columns.set(columnName, column);
        texts.set(columnName, (texts.get(columnName) ?? 0) + taken(column as unknown[], columnData, first));
      },
    });
  // Not in `onChunk`: nobody would catch what is thrown there.
  unpacking.addTexts(texts);
  return columns;
}

/** Puts values into a column, which may be they themselves; returns the bytes of their texts. */
function taken(column: unknown[], values: Column, first: number): number {
  let bytes = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (column !== values) column[first + i] = value;
    bytes += textBytes(value);
  }
  return bytes;
}

/** Of a text, or of the texts in a list, structure or map. */
function textBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Date) return 0;
  let bytes = 0;
  for (const one of Object.values(value)) bytes += PLACE_BYTES + textBytes(one);
  return bytes;
}

/** The rows of a file's row groups as Cells. */
class ParquetTable<T> implements Cells {
  line = 0;
  readonly names: string[];
  private row = 0;
  private readonly columns: (Column | undefined)[];
  private unusable = new Map<number, string>();
  /** Long texts that a dictionary shares between rows. */
  private readonly longTexts = new WeakMap<object, string>();
  private readonly longStorable = new Memo(isStorable);
  /** Of the long texts of the batch. */
  private batchBytes = 0;
  /** By column, for those whose values repeat. */
  private readonly repeats: (RepeatedTexts | null)[];
  private number = Number.NaN;
  private decimalOfLast: Decimal | undefined;

  constructor(
    private readonly header: Header,
    private readonly scales: ReadonlyMap<string, number>,
    private readonly readRecord: RowReader<T>,
  ) {
    this.names = header.used.map((position) => header.columns[position] ?? '');
    this.columns = new Array<Column | undefined>(header.columns.length);
    this.repeats = header.columns.map((name) => (scales.has(name) ? null : new RepeatedTexts()));
  }

  *read(columns: ReadonlyMap<string, Column>, rowStart: number, rowEnd: number): Generator<TableBatch<T>> {
    for (const position of this.header.used) this.columns[position] = columns.get(this.header.columns[position] ?? '');
    let batch: TableBatch<T> = { items: [], rejects: [] };
    for (let row = 0; row < rowEnd - rowStart; row++) {
      this.row = row;
      this.line = rowStart + row + 1;
      this.readRow(batch);
      if (batch.items.length + batch.rejects.length < BATCH_ROWS && this.batchBytes < BATCH_BYTES) continue;
      yield batch;
      batch = { items: [], rejects: [] };
      this.batchBytes = 0;
    }
    if (batch.items.length + batch.rejects.length > 0) yield batch;
  }

  text(column: number): string {
    const value = this.columns[column]?.[this.row];
    if (value === null || value === undefined) return '';
    const text = this.decimalText(column, value) ?? this.plainText(column, value);
    const isLong = text.length > SHORT_BYTES;
    if (isLong) this.batchBytes += text.length;
    if (!(isLong ? this.longStorable.valueOf(text) : isStorable(text)))
      this.unusable.set(column, 'the text is not UTF-8 or holds a NUL');
    return text === 'NULL' || text === 'null' ? '' : text;
  }

  repeated(column: number): string {
    const value = this.columns[column]?.[this.row];
    if (value === null || value === undefined) return '';
    return this.repeats[column]?.textOf(value) ?? this.text(column);
  }

  decimal(column: number): Decimal | null | undefined {
    const value = this.columns[column]?.[this.row];
    if (value === null || value === undefined || value === '') return null;
    const scale = this.scales.get(this.header.columns[column] ?? '');
    if (scale !== undefined) {
      const unscaled = integerOf(value);
      return unscaled === null ? undefined : { unscaled, scale };
    }
    if (typeof value === 'number') {
      // Many charges cost what they are billed and listed at: one decimal for all.
      if (value !== this.number) [this.number, this.decimalOfLast] = [value, decimalOfNumber(value)];
      return this.decimalOfLast;
    }
    const text = this.text(column).trim();
    return text === '' ? null : decimalOf(text);
  }

  private decimalText(column: number, value: unknown): string | null {
    if (!this.scales.has(this.header.columns[column] ?? '')) return null;
    return `${integerOf(value)}e-${this.scales.get(this.header.columns[column] ?? '')}`;
  }

  private plainText(column: number, value: unknown): string {
    const isBytes = value instanceof Uint8Array;
    const text = isBytes && value.length > MOST_ROW_BYTES ? null : this.wholeText(value);
    if (text !== null && text.length <= MOST_ROW_BYTES) return text;
    this.unusable.set(column, `the text is longer than ${MOST_ROW_BYTES} bytes`);
    return '';
  }

  private wholeText(value: unknown): string {
    if (typeof value !== 'object' || value === null || value instanceof Date) return textOf(value);
    if (value instanceof Uint8Array && value.length <= SHORT_BYTES) return textOf(value);
    const known = this.longTexts.get(value);
    if (known !== undefined) return known;
    const text = textOf(value);
    this.longTexts.set(value, text);
    return text;
  }

  private readRow(batch: TableBatch<T>): void {
    const problems: Problem[] = [];
    const before = batch.items.length;
    this.unusable.clear();
    this.readRecord(this, batch.items, problems);
    for (const [column, message] of this.unusable)
      problems.push({ path: this.header.columns[column] ?? null, message });
    if (problems.length === 0) return;
    batch.items.length = before;
    batch.rejects.push(rejectOf(this.line, problems, this.raw()));
  }

  /** The columns that were read, as JSON. */
  private raw(): string {
    const entries: [string, string][] = [];
    let length = 0;
    for (const column of this.header.used) {
      const text = this.text(column).slice(0, MOST_RAW_CHARACTERS);
      entries.push([this.header.columns[column] ?? '', text]);
      length += text.length;
      if (length > MOST_RAW_CHARACTERS) break;
    }
    return JSON.stringify(Object.fromEntries(entries)).replaceAll('\0', '\uFFFD').slice(0, MOST_RAW_CHARACTERS);
  }
}

/** The texts of a column that repeats a few instants, or texts that a dictionary may share between rows. */
class RepeatedTexts {
  private readonly texts = new ByteMemo();
  private readonly storable = new Memo(isStorable);
  private time = Number.NaN;
  private timeText = '';

  /** Null if the value is looked at in full: what is long, of another kind, or cannot be stored. */
  textOf(value: unknown): string | null {
    if (value instanceof Date) return this.textOfTime(value);
    if (!(value instanceof Uint8Array) || value.length > SHORT_BYTES) return null;
    const text = this.texts.decoded(value, 0, value.length, textOf);
    if (!this.storable.valueOf(text)) return null;
    return text === 'NULL' || text === 'null' ? '' : text;
  }

  private textOfTime(value: Date): string | null {
    const time = value.getTime();
    if (Number.isNaN(time)) return null;
    if (time !== this.time) [this.time, this.timeText] = [time, textOf(value)];
    return this.timeText;
  }
}

const fatal = new TextDecoder('utf-8', { fatal: true });

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'not a date' : value.toISOString();
  if (value instanceof Uint8Array) {
    try {
      return fatal.decode(value);
    } catch {
      return '\0';
    }
  }
  if (Array.isArray(value))
    return JSON.stringify(
      value.every(isPair) ? Object.fromEntries(value.map(({ key, value: held }) => [key, held])) : value,
    );
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** An entry of a Parquet MAP. */
function isPair(value: unknown): value is { key: string; value: unknown } {
  return typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string';
}

/** The unscaled integer of a DECIMAL: an INT32, an INT64, or big-endian two's complement bytes; null for others. */
function integerOf(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : null;
  if (!(value instanceof Uint8Array) || value.length > MOST_DECIMAL_BYTES) return null;
  let unsigned = 0n;
  for (const byte of value) unsigned = (unsigned << 8n) | BigInt(byte);
  return BigInt.asIntN(Math.max(8, 8 * value.length), unsigned);
}
