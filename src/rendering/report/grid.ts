/**
 * A table of a printed report: rows that are never torn, heads that come again on every page, columns as wide as their
 * figures need.
 *
 * Words give way first; where that is not enough the type gets smaller, and where it would get too small to read the
 * table goes on below in further parts, each with the columns that name the row. A figure is never broken.
 */
import type { Table } from './cells.js';
import type { Formatter, Shown } from './format.js';
import type { Sheet, Style } from './sheet.js';
import type { Texts } from './texts.js';

/** Points: of a table in one piece, and of one in parts. */
const WHOLE_SIZES = [8, 7.5, 7] as const;
const PART_SIZES = [7, 6, 5, 4.5] as const;
const PADDING = 6;

interface Layout {
  readonly size: number;
  /** Columns by their place in the table. */
  readonly columns: readonly number[];
  readonly widths: readonly number[];
}

interface Row {
  readonly lines: readonly (readonly string[])[];
  readonly height: number;
}

export class Grid {
  private readonly cells: readonly (readonly Shown[])[];
  private readonly isNumeric: readonly boolean[];

  constructor(
    private readonly sheet: Sheet,
    private readonly table: Table,
    format: Formatter,
    private readonly texts: Texts,
  ) {
    this.cells = table.rows.map((row) => row.map((cell) => format.cell(cell)));
    this.isNumeric = table.columns.map((_, at) => this.cells.some((row) => row[at]?.isNumber === true));
  }

  draw(): void {
    const layouts = this.layouts();
    const { title } = this.table;
    layouts.forEach((layout, at) =>
      this.part(
        layout,
        layouts.length === 1 ? title : this.texts.text('part-of', { title, part: at + 1, parts: layouts.length }),
      ),
    );
  }

  private part(layout: Layout, title: string): void {
    const { sheet, table } = this;
    const head = this.rowOf(
      layout.columns.map((column) => table.columns[column]?.title ?? ''),
      layout,
      true,
    );
    if (!sheet.has(24 + head.height + 20)) sheet.newPage();
    sheet.take(6);
    sheet.within('Table', () => {
      sheet.paragraph(title, { size: 9, bold: true }, 2, 'Caption');
      this.put(head, layout, 'head');
      for (const row of this.cells) {
        const made = this.rowOf(
          layout.columns.map((column) => row[column]?.text ?? ''),
          layout,
          false,
        );
        if (!sheet.has(made.height)) {
          sheet.newPage();
          this.put(head, layout, 'head again');
        }
        this.put(made, layout, 'body');
      }
    });
    sheet.take(4);
  }

  /** The largest type in which every figure stands whole: in one piece, else in as few parts as it takes. */
  private layouts(): Layout[] {
    const all = this.table.columns.map((_, at) => at);
    for (const size of WHOLE_SIZES) {
      const widths = this.widths(all, size);
      if (widths !== null) return [{ size, columns: all, widths }];
    }
    for (const size of PART_SIZES) {
      const parts = this.parts(size);
      if (parts !== null) return parts;
    }
    const size = PART_SIZES.at(-1) ?? 5;
    return [{ size, columns: all, widths: all.map(() => this.sheet.width / all.length) }];
  }

  /** Null: a figure would not stand whole even beside nothing but its heads. */
  private parts(size: number): Layout[] | null {
    const { heads, columns } = this.table;
    const named = columns.map((_, at) => at).slice(0, heads);
    const layouts: Layout[] = [];
    let part: Layout | null = null;
    for (let column = heads; column < columns.length; column++) {
      const wider: number[] = [...(part?.columns ?? named), column];
      let widths = this.widths(wider, size);
      if (widths !== null) {
        part = { size, columns: wider, widths };
        continue;
      }
      if (part === null) return null;
      layouts.push(part);
      widths = this.widths([...named, column], size);
      if (widths === null) return null;
      part = { size, columns: [...named, column], widths };
    }
    return part === null ? null : [...layouts, part];
  }

  /** Null: they do not fit. */
  private widths(columns: readonly number[], size: number): number[] | null {
    const { sheet } = this;
    const style = { size };
    const headOf = (at: number): number => sheet.widestPiece(this.table.columns[at]?.title ?? '', { size, bold: true });
    const most = columns.map((at) =>
      this.cells.reduce((width, row) => Math.max(width, sheet.measure(row[at]?.text ?? '', style)), headOf(at)),
    );
    const least = columns.map((at, n) =>
      this.isNumeric[at] === true ? (most[n] ?? 0) : Math.max(headOf(at), Math.min(most[n] ?? 0, 8 * size)),
    );
    const room = sheet.width - columns.length * PADDING;
    const [wanted = 0, needed = 0] = [most, least].map((all) => all.reduce((sum, width) => sum + width, 0));
    if (wanted <= room) return most.map((width) => width + PADDING);
    if (needed > room) return null;
    // What is left is shared by how much each column would like to have.
    const share = (room - needed) / (wanted - needed);
    return least.map((width, n) => width + ((most[n] ?? 0) - width) * share + PADDING);
  }

  private rowOf(texts: readonly string[], { size, widths }: Layout, bold: boolean): Row {
    const style: Style = { size, bold };
    const lines = texts.map((text, at) => this.sheet.wrap(text, (widths[at] ?? 0) - PADDING, style));
    return { lines, height: Math.max(...lines.map((all) => all.length)) * this.sheet.lineHeight(style) + 3 };
  }

  private put({ lines, height }: Row, { size, columns, widths }: Layout, kind: 'head' | 'head again' | 'body'): void {
    const { sheet } = this;
    const style: Style = { size, bold: kind !== 'body' };
    const y = sheet.take(height);
    if (kind !== 'body') {
      const whole = widths.reduce((sum, width) => sum + width, 0);
      sheet.band(0, y, whole, height);
    }
    const starts = widths.map((_, at) => widths.slice(0, at).reduce((sum, width) => sum + width, 0));
    const cell = (at: number, write: (line: string, x: number, y: number, style: Style) => void): void => {
      const width = widths[at] ?? 0;
      const isNumeric = this.isNumeric[columns[at] ?? -1] === true;
      (lines[at] ?? []).forEach((line, n) => {
        const shift = isNumeric ? width - PADDING / 2 - sheet.measure(line.trimEnd(), style) : PADDING / 2;
        write(line, (starts[at] ?? 0) + shift, y + 1.5 + n * sheet.lineHeight(style), style);
      });
    };
    // On a further page the head is there for the eye alone: its table has one.
    if (kind === 'head again') {
      widths.forEach((_, at) => cell(at, (...of) => sheet.repeat(...of)));
      return;
    }
    sheet.within('TR', () =>
      widths.forEach((_, at) => {
        const scope = kind === 'head' ? 'Column' : (columns[at] ?? 0) < this.table.heads ? 'Row' : null;
        sheet.within(
          scope === null ? 'TD' : 'TH',
          () => cell(at, (...of) => sheet.write(...of)),
          scope === null ? {} : { scope },
        );
      }),
    );
  }
}
