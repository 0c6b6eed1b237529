/**
 * A report as PDF: the document's sections on pages, with their pictures, and tables whose heads come again on every
 * page.
 *
 * Columns are as wide as their figures need; words give way first, and where that is not enough the type gets smaller.
 * A figure is never broken.
 */
import type { Section, Table } from './document.js';
import type { Formatter, Shown } from './format.js';
import { Sheet, type Style } from './sheet.js';
import type { Written } from './written.js';

const SIZES = [8, 7, 6, 5, 4.5] as const;
const PADDING = 6;
const CHART_WIDTH = 520;
const SOFT = '#57606a';

export async function bookletOf(
  { texts, format, charts, sections, title, leads }: Written,
  madeAt: string,
): Promise<Uint8Array> {
  const sheet = new Sheet({ title: `${texts.text('title')}: ${title}`, language: format.reader.locale, madeAt });
  sheet.paragraph(texts.text('title'), { size: 22, bold: true });
  sheet.paragraph(title, { size: 13, bold: true }, 4);
  for (const lead of leads) sheet.paragraph(lead, { size: 9, colour: SOFT });
  for (const section of sections) put(sheet, section, format, (name) => charts.svg(name));
  return sheet.end((page, pages) => texts.text('page', { page, pages }));
}

function put(
  sheet: Sheet,
  { title, notes, charts, tables }: Section,
  format: Formatter,
  svgOf: (name: Section['charts'][number]) => string | null,
): void {
  // A heading does not stand alone at the foot of a page.
  if (!sheet.has(90)) sheet.newPage();
  sheet.take(14);
  sheet.mark(title);
  sheet.paragraph(title, { size: 14, bold: true }, 2);
  for (const note of notes) sheet.paragraph(note, { size: 8, colour: SOFT }, 2);
  for (const name of charts) {
    const svg = svgOf(name);
    if (svg !== null) sheet.picture(svg, CHART_WIDTH);
  }
  for (const table of tables) new Grid(sheet, table, format).draw();
}

interface Layout {
  readonly size: number;
  readonly widths: readonly number[];
}

class Grid {
  private readonly cells: readonly (readonly Shown[])[];
  private readonly isNumeric: readonly boolean[];

  constructor(
    private readonly sheet: Sheet,
    private readonly table: Table,
    format: Formatter,
  ) {
    this.cells = table.rows.map((row) => row.map((cell) => format.cell(cell)));
    this.isNumeric = table.columns.map((_, at) => this.cells.some((row) => row[at]?.isNumber === true));
  }

  draw(): void {
    const { sheet, table } = this;
    const layout = this.layout();
    const head = this.rowOf(
      table.columns.map(({ title }) => title),
      layout,
      true,
    );
    if (!sheet.has(24 + head.height + 20)) sheet.newPage();
    sheet.take(6);
    sheet.paragraph(table.title, { size: 9, bold: true }, 2);
    this.put(head, layout, true);
    for (const row of this.cells) {
      const made = this.rowOf(
        row.map(({ text }) => text),
        layout,
        false,
      );
      if (!sheet.has(made.height)) {
        sheet.newPage();
        this.put(head, layout, true);
      }
      this.put(made, layout, false);
    }
    sheet.take(4);
  }

  /** The largest type in which every figure stands whole. */
  private layout(): Layout {
    for (const size of SIZES) {
      const widths = this.widths(size);
      if (widths !== null) return { size, widths };
    }
    const size = SIZES.at(-1) ?? 5;
    return { size, widths: this.table.columns.map(() => this.sheet.width / this.table.columns.length) };
  }

  /** Null: it does not fit. */
  private widths(size: number): number[] | null {
    const { sheet } = this;
    const style = { size };
    const most = this.table.columns.map(({ title }, at) =>
      this.cells.reduce(
        (width, row) => Math.max(width, sheet.measure(row[at]?.text ?? '', style)),
        sheet.widestPiece(title, { size, bold: true }),
      ),
    );
    const least = this.table.columns.map(({ title }, at) =>
      this.isNumeric[at] === true
        ? (most[at] ?? 0)
        : Math.max(sheet.widestPiece(title, { size, bold: true }), Math.min(most[at] ?? 0, 8 * size)),
    );
    const room = sheet.width - this.table.columns.length * PADDING;
    const [wanted, needed] = [most, least].map((all) => all.reduce((sum, width) => sum + width, 0));
    if ((wanted ?? 0) <= room) return most.map((width) => width + PADDING);
    if ((needed ?? 0) > room) return null;
    // What is left is shared by how much each column would like to have.
    const share = (room - (needed ?? 0)) / ((wanted ?? 1) - (needed ?? 0));
    return least.map((width, at) => width + ((most[at] ?? 0) - width) * share + PADDING);
  }

  private rowOf(
    texts: readonly string[],
    { size, widths }: Layout,
    bold: boolean,
  ): { readonly lines: readonly string[][]; readonly height: number } {
    const style: Style = { size, bold };
    const lines = texts.map((text, at) => this.sheet.wrap(text, (widths[at] ?? 0) - PADDING, style));
    return { lines, height: Math.max(...lines.map((all) => all.length)) * this.sheet.lineHeight(style) + 3 };
  }

  private put(
    { lines, height }: { readonly lines: readonly string[][]; readonly height: number },
    { size, widths }: Layout,
    isHead: boolean,
  ): void {
    const { sheet } = this;
    const style: Style = { size, bold: isHead };
    const y = sheet.take(height);
    const whole = widths.reduce((sum, width) => sum + width, 0);
    if (isHead) sheet.band(y, whole, height);
    let x = 0;
    lines.forEach((all, at) => {
      const width = widths[at] ?? 0;
      all.forEach((line, n) => {
        const shift = this.isNumeric[at] === true ? width - PADDING / 2 - sheet.measure(line, style) : PADDING / 2;
        sheet.write(line, x + shift, y + 1.5 + n * sheet.lineHeight(style), style);
      });
      x += width;
    });
  }
}
