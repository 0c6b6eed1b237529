/**
 * The metadata of a Parquet file, checked against its own bytes: the footer, the schema, rows, sizes and offsets.
 *
 * Never decodes a value. A footer of some kilobytes may state a million million rows, or thousands of columns that all
 * lie in the same bytes; metadata that has passed here describes no more than the file's bytes can hold.
 */
import {
  parquetMetadata,
  parquetSchema,
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  type RowGroup,
  type SchemaTree,
} from 'hyparquet';
import { ChunkCheck, Room } from './parquet-pages.js';
import { Malformed, ThriftWalk } from './thrift.js';

/** Of the structure at the end: a thousand row groups of a hundred columns are about this much. */
const MOST_FOOTER_BYTES = 16 << 20;
const MOST_FOOTER_VALUES = 4 << 20;
const MOST_SCHEMA_ELEMENTS = 10_000;
const MOST_SCHEMA_DEPTH = 16;
/** The schema is walked over for each row group. */
const MOST_GROUPS_BY_ELEMENTS = 32 << 20;
/** No row of a bill takes less than a byte; small files may state that many for nothing. */
const FREE_ROWS = 1 << 16;
/** Columns of bills pack to a tenth or a fiftieth. */
const MOST_UNPACKING_RATIO = 200;
const FREELY_UNPACKED_BYTES = 64 << 20;
/** What the texts of a row come to in a bill with many tags, however little of the file a dictionary takes for them. */
const TEXT_BYTES_PER_ROW = 2048;

export interface Bytes {
  readonly size: number;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

/** The file's structure, within bounds. @throws Malformed, and what the library throws */
export async function footerOf(file: Bytes): Promise<FileMetaData> {
  if (file.size < 12) throw new Malformed('the file is too short');
  const length = new DataView(await file.slice(file.size - 8, file.size)).getUint32(0, true);
  if (length > file.size - 8) throw new Malformed('its structure is longer than the file');
  if (length > MOST_FOOTER_BYTES) throw new Malformed(`its structure is longer than ${MOST_FOOTER_BYTES} bytes`);
  const bytes = new Uint8Array(await file.slice(file.size - 8 - length, file.size));
  new ThriftWalk(bytes, 0, MOST_FOOTER_VALUES).struct();
  const metadata = parquetMetadata(bytes, { geoparquet: false });
  checkSchema(metadata);
  checkPlaces(metadata, file.size);
  return metadata;
}

/** The elements must be a tree, written from its root. */
function checkSchema({ schema, row_groups: groups }: FileMetaData): void {
  if (schema.length > MOST_SCHEMA_ELEMENTS)
    throw new Malformed(`its schema has more than ${MOST_SCHEMA_ELEMENTS} elements`);
  if (schema.length * groups.length > MOST_GROUPS_BY_ELEMENTS)
    throw new Malformed('it has too many row groups for its columns; write the file with larger row groups');
  const left = [1];
  for (const { num_children: children = 0 } of schema) {
    while (left.at(-1) === 0) left.pop();
    if (left.length === 0 || left.length > MOST_SCHEMA_DEPTH || children < 0)
      throw new Malformed(`its schema is no tree of at most ${MOST_SCHEMA_DEPTH} levels`);
    left[left.length - 1] = (left.at(-1) ?? 0) - 1;
    left.push(children);
  }
  if (left.some((count) => count !== 0)) throw new Malformed('its schema is cut short');
}

/** Rows and columns must be no more than the bytes can hold, and no two columns the same bytes. */
function checkPlaces({ row_groups: groups }: FileMetaData, size: number): void {
  let [rows, bytes] = [0, 0];
  for (const { num_rows: count, columns } of groups) {
    if (count < 0n) throw new Malformed('a row group has a negative number of rows');
    rows += Number(count);
    for (const { meta_data: chunk } of columns) {
      if (chunk === undefined) throw new Malformed('a column is in another file');
      const { start, end } = placeOf(chunk);
      if (!(start >= 0 && end >= start && end <= size)) throw new Malformed('a column is not within the file');
      bytes += end - start;
    }
  }
  if (bytes > size) throw new Malformed('its columns are longer than the file');
  if (rows > FREE_ROWS + size) throw new Malformed(`it states ${rows} rows in ${size} bytes`);
}

function placeOf(chunk: ColumnMetaData): { readonly start: number; readonly end: number } {
  // As the library reads it: a place of zero is none.
  const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
  return { start, end: start + Number(chunk.total_compressed_size) };
}

/** Counts what a file unpacks to. */
export class Unpacking {
  private unpacked = 0;
  private readonly texts = new Map<string, number>();

  /** @param rows that the file states */
  constructor(
    private readonly size: number,
    private readonly rows: number,
  ) {}

  add(bytes: number): void {
    this.unpacked += bytes;
    if (this.unpacked > FREELY_UNPACKED_BYTES + MOST_UNPACKING_RATIO * this.size)
      throw new Malformed(`it unpacks to more than ${MOST_UNPACKING_RATIO} times its size`);
  }

  /**
   * Counts the bytes of the texts of a row group by column, each text as often as rows have it: a dictionary holds it
   * once, but every row of it is read, checked and stored.
   */
  addTexts(bytes: ReadonlyMap<string, number>): void {
    for (const [column, more] of bytes) this.texts.set(column, (this.texts.get(column) ?? 0) + more);
    const sum = [...this.texts.values()].reduce((a, b) => a + b, 0);
    const most = FREELY_UNPACKED_BYTES + MOST_UNPACKING_RATIO * this.size + TEXT_BYTES_PER_ROW * this.rows;
    if (sum <= most) return;
    const [longest] = [...this.texts].sort(([, a], [, b]) => b - a);
    throw new Malformed(
      `${longest?.[0]}: the texts of its rows come to ${sum} bytes, most of them in this column; the most for ${this.rows} rows in ${this.size} bytes is ${most}`,
    );
  }
}

interface Checked {
  /** With the columns that were asked for. */
  readonly group: RowGroup;
  /** One of its own for each column, which looks inside every page that it unpacks. */
  readonly compressors: Compressors;
}

/** Looks at every page of the named columns of a row group. @throws Malformed, which names the column */
export async function checkGroup({
  file,
  metadata,
  names,
  group,
  number,
  unpacking,
}: {
  readonly file: { slice(start: number, end: number): Promise<ArrayBuffer> };
  readonly metadata: FileMetaData;
  readonly names: readonly string[];
  readonly group: RowGroup;
  readonly number: number;
  readonly unpacking: Unpacking;
}): Promise<Checked> {
  const room = new Room();
  const tree = parquetSchema(metadata);
  const asked = new Set(names);
  const columns: RowGroup['columns'] = [];
  const unpackers: Record<string, ChunkCheck['unpack']> = {};
  const seen = new Set<string>();
  for (const column of group.columns) {
    const chunk = column.meta_data;
    if (chunk === undefined || !asked.has(chunk.path_in_schema[0] ?? '')) continue;
    const name = chunk.path_in_schema.join('.');
    try {
      if (seen.has(name)) throw new Malformed('the column is there twice');
      seen.add(name);
      const { start, end } = placeOf(chunk);
      const check = new ChunkCheck(chunk, pathOf(tree, chunk), room);
      check.walk(new Uint8Array(await file.slice(start, end)), Number(group.num_rows));
      unpacking.add(check.unpacked);
      const codec = chunk.codec === 'UNCOMPRESSED' ? chunk.codec : `column ${columns.length}`;
      unpackers[codec] = check.unpack;
      columns.push({ ...column, meta_data: { ...chunk, codec: codec as ColumnMetaData['codec'] } });
    } catch (error) {
      if (error instanceof Malformed) throw new Malformed(`row group ${number + 1}, ${name}: ${error.message}`);
      throw error;
    }
  }
  for (const leaf of leavesOf(tree, asked))
    if (!seen.has(leaf)) throw new Malformed(`row group ${number + 1}, ${leaf}: the column is missing`);
  return { group: { ...group, columns }, compressors: unpackers as Compressors };
}

function pathOf(tree: SchemaTree, chunk: ColumnMetaData): SchemaTree[] {
  const path = [tree];
  for (const name of chunk.path_in_schema) {
    const child: SchemaTree | undefined = path.at(-1)?.children.find(({ element }) => element.name === name);
    if (child === undefined) throw new Malformed('the column is not in the schema');
    path.push(child);
  }
  if (path.at(-1)?.element.type !== chunk.type) throw new Malformed('the column is not of the type of its schema');
  return path;
}

/** Names of the leaves of the asked columns, as a chunk names them. */
function leavesOf(tree: SchemaTree, asked: ReadonlySet<string>): string[] {
  const leaves: string[] = [];
  const stack = tree.children.filter(({ element }) => asked.has(element.name));
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.children.length === 0) leaves.push(node.path.join('.'));
    else stack.push(...node.children);
  }
  return leaves;
}
