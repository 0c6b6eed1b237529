/**
 * Rows of a table in any storage format: the header is matched once, each row is read or rejected, and batches are
 * bounded.
 *
 * A bad row never stops a file; a header that lacks a required column does, with every missing column named.
 */
import type { Decimal } from '../../core/decimal.js';
import { invalid, type Problem } from '../../core/errors.js';
import type { Input } from '../../core/ports.js';
import type { Reject } from '../../core/usage.js';
import { CsvTokenizer } from './csv.js';
import { decimalOf, decimalOfBytes } from './numbers.js';

/** Rows, read or refused, that are passed on together. */
export const BATCH_ROWS = 8192;
/** A batch of long rows ends earlier: what is parsed of a text takes some times its bytes. */
export const BATCH_BYTES = 16 << 20;

/** The fields of one row by column number; -1 is a column that the table does not have, whose fields are all empty. */
export interface Cells {
  /** 1-based physical line, or record number where the storage has no lines. */
  readonly line: number;
  /** The field's text; `''` for an empty field and for the words NULL and null. */
  text(column: number): string;
  /** As `text`, faster for columns that repeat a few values. */
  repeated(column: number): string;
  /** The field's exact decimal; null if it is empty, undefined if it is not a decimal. */
  decimal(column: number): Decimal | null | undefined;
}

/** Reads one row: puts what it holds into `out`, or says in `problems` (path = column name) why it cannot. */
export type RowReader<T> = (cells: Cells, out: T[], problems: Problem[]) => void;

export interface TableBatch<T> {
  readonly items: T[];
  readonly rejects: Reject[];
}

/** The columns that a reader asks for, matched against a header. */
export class Header {
  private readonly positions = new Map<string, number>();
  private readonly asked = new Set<number>();
  private readonly missing: string[] = [];

  constructor(
    readonly columns: readonly string[],
    private readonly tableName: string,
  ) {
    columns.forEach((column, position) => {
      if (!this.positions.has(column)) this.positions.set(column, position);
    });
  }

  has(column: string): boolean {
    return this.positions.has(column);
  }

  /** Position of the first of the named columns that is there, or -1. */
  optional(...names: string[]): number {
    for (const name of names) {
      const position = this.positions.get(name);
      if (position === undefined) continue;
      this.asked.add(position);
      return position;
    }
    return -1;
  }

  /** As `optional`; where none is there, `check` will name them. */
  required(...names: string[]): number {
    const position = this.optional(...names);
    if (position < 0) this.missing.push([...new Set(names)].join(' or '));
    return position;
  }

  /** Fails with every required column that is missing, and every asked one that is there twice. */
  check(): void {
    const problems: Problem[] = this.missing.map((path) => ({ path, message: 'the column is missing' }));
    for (const [position, column] of this.columns.entries()) {
      const first = this.positions.get(column);
      if (first !== undefined && first !== position && this.asked.has(first)) {
        problems.push({ path: column, message: 'the column is there twice' });
      }
    }
    if (problems.length === 0) return;
    throw invalid(
      `${this.tableName}: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
      problems,
    );
  }

  /** Positions that the reader uses. */
  get used(): readonly number[] {
    return [...this.asked];
  }
}

function nullWord(text: string): string {
  return text.length === 4 && (text === 'NULL' || text === 'null') ? '' : text;
}

class CsvCells implements Cells {
  /** The decimal that was read last, and where: many charges cost what they are billed and listed at. */
  private lastLine = 0;
  private lastColumn = 0;
  private lastDecimal: Decimal | null = null;

  constructor(private readonly csv: CsvTokenizer) {}

  get line(): number {
    return this.csv.line;
  }

  text(column: number): string {
    return column < 0 ? '' : nullWord(this.csv.text(column));
  }

  repeated(column: number): string {
    return column < 0 ? '' : nullWord(this.csv.repeated(column));
  }

  decimal(column: number): Decimal | null | undefined {
    if (column < 0) return null;
    const { csv } = this;
    if (csv.line === this.lastLine && csv.areSame(column, this.lastColumn)) return this.lastDecimal;
    const decimal = csv.bytes(column, decimalOfBytes);
    if (decimal !== undefined) {
      this.lastLine = csv.line;
      this.lastColumn = column;
      this.lastDecimal = decimal;
      return decimal;
    }
    const text = this.text(column).trim();
    return text === '' ? null : decimalOf(text);
  }
}

/** One line that says everything that is wrong with a row. */
export function rejectOf(line: number, problems: readonly Problem[], raw: string): Reject {
  const reason = problems.map(({ path, message }) => (path === null ? message : `${path}: ${message}`)).join('; ');
  return { line, column: problems[0]?.path ?? null, reason, raw };
}

/**
 * Reads a CSV file with a header. `prepare` looks up its columns and gives back the reader of a row; it may throw.
 * Fails where the file is empty or its header cannot be read.
 */
export async function* readCsvTable<T>(
  input: Input,
  prepare: (header: Header) => RowReader<T>,
): AsyncGenerator<TableBatch<T>> {
  const csv = new CsvTokenizer();
  const table = new CsvTable(csv, input.name, prepare);
  let batch: TableBatch<T> = { items: [], rejects: [] };
  let bytes = 0;
  for await (const chunk of input.stream()) {
    csv.push(chunk);
    while (csv.next()) {
      table.readRow(batch);
      bytes += csv.rowBytes;
      if (batch.items.length + batch.rejects.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = { items: [], rejects: [] };
      bytes = 0;
    }
  }
  csv.finish();
  while (csv.next()) table.readRow(batch);
  table.finish();
  if (batch.items.length + batch.rejects.length > 0) yield batch;
}

class CsvTable<T> {
  private readonly cells: CsvCells;
  private header: Header | null = null;
  private readRecord: RowReader<T> = () => undefined;
  private used: readonly number[] = [];
  private problems: Problem[] = [];

  constructor(
    private readonly csv: CsvTokenizer,
    private readonly name: string,
    private readonly prepare: (header: Header) => RowReader<T>,
  ) {
    this.cells = new CsvCells(csv);
  }

  readRow(batch: TableBatch<T>): void {
    if (this.header === null) return this.readHeader();
    const { csv, problems } = this;
    if (csv.malformed !== null) problems.push({ path: null, message: csv.malformed });
    else if (csv.width !== this.header.columns.length) {
      problems.push({
        path: null,
        message: `the row has ${csv.width} fields, the header has ${this.header.columns.length}`,
      });
    } else {
      if (!csv.blockIsClean) this.checkText();
      const before = batch.items.length;
      this.readRecord(this.cells, batch.items, problems);
      if (problems.length > 0) batch.items.length = before;
    }
    if (problems.length === 0) return;
    batch.rejects.push(rejectOf(csv.line, problems, csv.raw()));
    this.problems = [];
  }

  finish(): void {
    if (this.header === null) throw invalid(`${this.name}: the file is empty, not even a header is there`);
  }

  private readHeader(): void {
    const { csv } = this;
    if (csv.malformed !== null) throw invalid(`${this.name}: the header cannot be read: ${csv.malformed}`);
    const columns = fieldsOf(csv);
    if (columns.some((column) => column.includes('\r')))
      throw invalid(
        `${this.name}: its lines end in a carriage return alone; save it with line feeds (CSV, not CSV for Macintosh)`,
      );
    this.header = new Header(columns, this.name);
    this.readRecord = this.prepare(this.header);
    this.header.check();
    this.used = this.header.used;
  }

  private checkText(): void {
    for (const column of this.used) {
      if (this.csv.isClean(column)) continue;
      this.problems.push({
        path: this.header?.columns[column] ?? null,
        message: 'the text is not UTF-8 or holds a NUL',
      });
    }
  }
}

/** All fields of the current row, blanks around them cut off. */
function fieldsOf(csv: CsvTokenizer): string[] {
  return Array.from({ length: csv.width }, (_, column) => csv.text(column).trim());
}

const headers = new WeakMap<Uint8Array, readonly string[]>();

/** The column names of an input that may be CSV, by its first bytes; empty if its first row is not in them. */
export function headerOf(input: Input): readonly string[] {
  if (input.columns !== undefined) return input.columns;
  const known = headers.get(input.head);
  if (known !== undefined) return known;
  const csv = new CsvTokenizer();
  csv.push(input.head);
  if (input.size <= input.head.length) csv.finish();
  const columns = csv.next() && csv.malformed === null ? fieldsOf(csv) : [];
  headers.set(input.head, columns);
  return columns;
}

/** Whether the header has every one of the columns. */
export function hasColumns(input: Input, ...columns: string[]): boolean {
  const header = headerOf(input);
  return columns.every((column) => header.includes(column));
}
