/**
 * What the bills of the Chinese clouds' consoles share: fields that are empty as `-`, numbers that a tab keeps from
 * being rounded by a spreadsheet, times of Beijing, and a month that names the billing period.
 *
 * Never guesses a currency: a file without that column is of the site in China, which bills in CNY alone.
 */
import type { Decimal } from '../../core/decimal.js';
import { decimalOf } from './numbers.js';
import type { Cells, Header } from './table.js';

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

  /** All of its names are known then: a file may have several of them. */
  optional(...names: readonly string[]): { readonly at: number; readonly name: string } {
    const at = this.header.optional(...names);
    for (const name of names) this.named.add(name);
    return { at, name: this.header.columns[at] ?? names[0] ?? '' };
  }

  required(...names: readonly string[]): { readonly at: number; readonly name: string } {
    const at = this.header.required(...names);
    for (const name of names) this.named.add(name);
    return { at, name: this.header.columns[at] ?? names[0] ?? '' };
  }
}

/** The currency of a file that has no column for it. */
export const CURRENCY_IN_CHINA = 'CNY';
