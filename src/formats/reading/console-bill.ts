/**
 * What the bills of the Chinese clouds' consoles share: fields that are empty as `-`, numbers that a tab keeps from
 * being rounded by a spreadsheet, times of Beijing, and a month that names the billing period.
 *
 * Never guesses a currency: a file without that column is of the site in China, which bills in CNY alone.
 */
import type { Decimal } from '../../core/decimal.js';
import type { Problem } from '../../core/errors.js';
import type { Input, ReadOptions, UsageFormat } from '../../core/ports.js';
import type { RecordBatch, UsageRecord } from '../../core/usage.js';
import { decimalOf } from './numbers.js';
import { headerOf, readCsvTable, type Cells, type Header, type RowReader } from './table.js';

/** The cells of a row as a person reads them. */
export class PlainCells implements Cells {
  private cells: Cells | null = null;

  reading(cells: Cells): this {
    this.cells = cells;
    return this;
  }

  get line(): number {
    return this.cells?.line ?? 0;
  }

  text(column: number): string {
    return plain(this.cells?.text(column) ?? '');
  }

  repeated(column: number): string {
    return plain(this.cells?.repeated(column) ?? '');
  }

  decimal(column: number): Decimal | null | undefined {
    const text = this.text(column);
    return text === '' ? null : decimalOf(text);
  }
}

function plain(text: string): string {
  const trimmed = text.trim();
  return trimmed === '-' || trimmed === '--' ? '' : trimmed;
}

/** What a column is called, in each language and kind of export. */
type Names = Readonly<Record<string, readonly string[]>>;

interface Column {
  /** Negative: the file has no such column. */
  readonly at: number;
  /** The name that a problem with it says. */
  readonly name: string;
}

export type ColumnsOf<N extends Names> = { readonly [Key in keyof N]: Column };

/** Columns by any of their names, and the name that a problem with one says. */
export class NamedColumns {
  private readonly named = new Set<string>();

  constructor(private readonly header: Header) {}

  /** Columns of the file that are neither asked for nor among those which say nothing that counts. */
  unknown(passedOver: ReadonlySet<string>): readonly string[] {
    return this.header.columns.filter(
      (name) =>
        !this.named.has(name) && !passedOver.has(name) && !passedOver.has(name.replaceAll(' ', '')) && name !== '',
    );
  }

  /** All columns of `names`. A name is known then, also where a file has several for one column. */
  all<const N extends Names>(names: N, required: readonly (keyof N)[]): ColumnsOf<N> {
    const column = (key: keyof N, find: 'required' | 'optional'): readonly [keyof N, Column] => {
      const called = names[key] ?? [];
      const at = this.header[find](...called);
      for (const name of called) this.named.add(name);
      return [key, { at, name: this.header.columns[at] ?? called[0] ?? '' }];
    };
    const others = Object.keys(names).filter((key) => !required.includes(key));
    return Object.fromEntries([
      ...required.map((key) => column(key, 'required')),
      ...others.map((key) => column(key, 'optional')),
    ]) as ColumnsOf<N>;
  }
}

/** Reads the lines of a file; each may be several records. */
interface LineReader {
  /** Columns of the file that nobody reads and that may count. */
  readonly unknownColumns: readonly string[];
  read(cells: Cells, problems: Problem[]): UsageRecord[];
}

/** A console's bill as a format, known by the columns that only it has. */
export function consoleBill<const N extends Names>(
  bill: Pick<UsageFormat, 'name' | 'description'>,
  names: N,
  knownBy: readonly (keyof N)[],
  readerOf: (header: Header) => LineReader,
): UsageFormat {
  return {
    kind: 'usage',
    ...bill,
    recognises: (input) => {
      const columns = headerOf(input);
      return knownBy.every((key) => (names[key] ?? []).some((name) => columns.includes(name)));
    },
    read: (input, options) => read(input, options ?? {}, readerOf),
  };
}

async function* read(
  input: Input,
  options: ReadOptions,
  readerOf: (header: Header) => LineReader,
): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = readerOf(header);
    if (reader.unknownColumns.length > 0) options.onUnknownColumns?.(reader.unknownColumns);
    return (cells, out, problems) => {
      out.push(...reader.read(cells, problems));
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { records: items, rejects };
}

/** The currency of a file that has no column for it. */
export const CURRENCY_IN_CHINA = 'CNY';
