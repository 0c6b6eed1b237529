/**
 * A report as a workbook (ECMA-376, by write-excel-file): a sheet for each section that says anything, its tables one
 * below the other. Figures are numbers with a format, days and times are dates (in the report's zone, as its clocks show
 * them); texts are texts, never formulas, whoever wrote them. What is not known is an empty cell, and a line below the
 * table says so: a text in a column of numbers would be left out of sums and sorted apart without a word.
 *
 * A spreadsheet counts in doubles: an amount with more digits than those hold stays a text, to the last digit.
 */
import writeWorkbook, { type CellObject } from 'write-excel-file/node';
import type { Section, Table } from './cells.js';
import type { Formatter, Shown } from './format.js';

/** Significant digits that every double keeps. */
const DIGITS = 15;
const MOST_NAME = 31;
const COLUMNS = [{ width: 36 }, ...Array.from({ length: 19 }, () => ({ width: 18 }))];
/** By unit; of a figure in a currency its code is shown with it. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['ratio', '0.0%'],
  ['count', '#,##0'],
  ['GPU-hours', '#,##0.0'],
  ['day', 'yyyy-mm-dd'],
  ['time', 'yyyy-mm-dd hh:mm'],
]);

type Row = (CellObject | null)[];

/** What XML 1.0 cannot hold is left out. */
const textCell = (text: string): CellObject => ({
  type: String,
  value: text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ''),
});

const words = (...texts: readonly string[]): Row => texts.map(textCell);
const headed = (...texts: readonly string[]): Row =>
  texts.map((text) => ({ ...textCell(text), fontWeight: 'bold' as const }));

const isUnknown = ({ exact, unit }: Pick<Shown, 'exact' | 'unit'>): boolean => exact === null && unit !== null;

function figureCell({ exact, text, unit, isNumber }: Shown, format: Formatter): CellObject | null {
  if (isUnknown({ exact, unit })) return null;
  const shown = unit === null ? {} : { format: FORMATS.get(unit) ?? `#,##0.00\\ "${unit}"` };
  if (exact !== null && (unit === 'day' || unit === 'time')) {
    const at = unit === 'day' ? Date.parse(exact) : format.localTime(exact);
    return { ...shown, type: Date, value: new Date(at) };
  }
  if (exact === null || !isNumber) return textCell(text);
  return exact.replace(/^-?0*\.?0*|\./g, '').length > DIGITS
    ? textCell(exact)
    : { ...shown, type: Number, value: Number(exact) };
}

/** A sheet's name has no more than 31 letters and none of these, and no other sheet has it. */
function nameOf(title: string, taken: readonly string[]): string {
  const plain = title
    .replace(/[[\]:*?/\\]/g, ' ')
    .replace(/^'|'$/g, ' ')
    .trim();
  const cut = (end: string): string => `${plain.slice(0, MOST_NAME - end.length)}${end}`;
  const isTaken = (name: string): boolean => taken.some((one) => one.toLowerCase() === name.toLowerCase());
  let name = cut('');
  for (let n = 2; isTaken(name); n += 1) name = cut(` ${n}`);
  return name;
}

/** @param empty says what an empty cell means */
function rowsOf({ title, columns, rows }: Table, format: Formatter, empty: string): Row[] {
  const shown = rows.map((row) => row.map((cell) => format.cell(cell)));
  return [
    headed(title),
    headed(...columns.map((column) => column.title)),
    ...shown.map((row) => row.map((cell) => figureCell(cell, format))),
    ...(shown.some((row) => row.some(isUnknown)) ? [words(empty)] : []),
    [],
  ];
}

/** @param leads the lines under the title, on the first sheet @param empty says what an empty cell means */
export async function workbookOf(
  title: string,
  leads: readonly string[],
  sections: readonly Section[],
  format: Formatter,
  empty: string,
): Promise<Uint8Array> {
  const names: string[] = [];
  const sheets = sections.map((section, at) => {
    names.push(nameOf(section.title, names));
    const data = [
      headed(at === 0 ? title : section.title),
      ...[...(at === 0 ? leads : []), ...section.notes].map((line) => words(line)),
      [],
      ...section.tables.flatMap((table) => rowsOf(table, format, empty)),
    ];
    return { sheet: names[at]!, columns: COLUMNS, data };
  });
  return writeWorkbook(sheets).toBuffer();
}
