/**
 * A report as a workbook (ECMA-376, SpreadsheetML): a sheet for each section that says anything, its tables one below the
 * other. Figures are numbers with a format, days and times are dates (in the report's zone, as its clocks show them);
 * texts are texts, never formulas, whoever wrote them. What is not known is an empty cell, and a line below the table
 * says so: a text in a column of numbers would be left out of sums and sorted apart without a word.
 *
 * A spreadsheet counts in doubles: an amount with more digits than those hold stays a text, to the last digit.
 */
import type { Section, Table } from './cells.js';
import type { Formatter, Shown } from './format.js';
import { zipOf } from './zip.js';
import { DAY_MS } from '../../core/time.js';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OF_DOCUMENT = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const OF_PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
/** Significant digits that every double keeps. */
const DIGITS = 15;
const MOST_NAME = 31;
/** Days from 30 December 1899, from which spreadsheets count, to 1970. */
const EPOCH_DAYS = 25_569;

/** In this order in the styles; of a figure in a currency its code is shown with it. */
const FORMATS = ['General', '0.0%', '#,##0', '#,##0.0', 'yyyy-mm-dd', 'yyyy-mm-dd hh:mm'] as const;
const UNITS = ['', 'ratio', 'count', 'GPU-hours', 'day', 'time'];
const BOLD = FORMATS.length;

/** What XML 1.0 cannot hold is left out. */
const escaped = (text: string): string =>
  text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

class Sheet {
  private readonly rows: string[] = [];

  constructor(
    readonly name: string,
    private readonly styleOf: (unit: string | null) => number,
    private readonly format: Formatter,
  ) {}

  words(texts: readonly string[], isBold: boolean): void {
    this.row(texts.map((text) => textCell(text, isBold ? BOLD : 0)));
  }

  values(values: readonly Shown[]): void {
    this.row(values.map((value) => this.cell(value)));
  }

  private cell({ exact, text, unit, isNumber }: Shown): string {
    if (isUnknown({ exact, unit })) return `<c s="${this.styleOf(unit)}"/>`;
    if (exact !== null && (unit === 'day' || unit === 'time')) {
      const at = unit === 'day' ? Date.parse(exact) : this.format.localTime(exact);
      return `<c s="${this.styleOf(unit)}"><v>${at / DAY_MS + EPOCH_DAYS}</v></c>`;
    }
    if (exact === null || !isNumber) return textCell(text, 0);
    return exact.replace(/^-?0*\.?0*|\./g, '').length > DIGITS
      ? textCell(exact, 0)
      : `<c s="${this.styleOf(unit)}"><v>${exact}</v></c>`;
  }

  private row(cells: readonly string[]): void {
    this.rows.push(`<row r="${this.rows.length + 1}">${cells.join('')}</row>`);
  }

  xml(): string {
    return `${HEAD}<worksheet xmlns="${MAIN}"><cols><col min="1" max="1" width="36" customWidth="1"/><col min="2" max="20" width="18" customWidth="1"/></cols><sheetData>${this.rows.join('')}</sheetData></worksheet>`;
  }
}

const isUnknown = ({ exact, unit }: Pick<Shown, 'exact' | 'unit'>): boolean => exact === null && unit !== null;

const textCell = (text: string, style: number): string =>
  `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`;

/** Styles by unit: those of FORMATS, bold, and one for each currency that occurs. */
class Styles {
  private readonly currencies: string[] = [];

  styleOf(unit: string | null): number {
    if (unit === null) return 0;
    const at = UNITS.indexOf(unit);
    if (at > 0) return at;
    if (!this.currencies.includes(unit)) this.currencies.push(unit);
    return BOLD + 1 + this.currencies.indexOf(unit);
  }

  xml(): string {
    const formats = [...FORMATS, 'General', ...this.currencies.map((code) => `#,##0.00\\ "${code}"`)];
    // Numbers below 164 are the spreadsheet's own.
    const numbers = formats.map((format, at) => `<numFmt numFmtId="${164 + at}" formatCode="${escaped(format)}"/>`);
    const cells = formats.map(
      (_, at) =>
        `<xf numFmtId="${164 + at}" fontId="${at === BOLD ? 1 : 0}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>`,
    );
    return `${HEAD}<styleSheet xmlns="${MAIN}"><numFmts count="${numbers.length}">${numbers.join('')}</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${cells.length}">${cells.join('')}</cellXfs></styleSheet>`;
  }
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
function addTable(sheet: Sheet, { title, columns, rows }: Table, format: Formatter, empty: string): void {
  sheet.words([title], true);
  sheet.words(
    columns.map((column) => column.title),
    true,
  );
  const shown = rows.map((row) => row.map((cell) => format.cell(cell)));
  for (const row of shown) sheet.values(row);
  if (shown.some((row) => row.some(isUnknown))) sheet.words([empty], false);
  sheet.words([], false);
}

/** @param leads the lines under the title, on the first sheet @param empty says what an empty cell means */
export function workbookOf(
  title: string,
  leads: readonly string[],
  sections: readonly Section[],
  format: Formatter,
  empty: string,
): Uint8Array {
  const styles = new Styles();
  const sheets: Sheet[] = [];
  for (const section of sections) {
    const taken = sheets.map(({ name }) => name);
    const sheet = new Sheet(nameOf(section.title, taken), (unit) => styles.styleOf(unit), format);
    sheet.words([sheets.length === 0 ? title : section.title], true);
    for (const line of [...(sheets.length === 0 ? leads : []), ...section.notes]) sheet.words([line], false);
    sheet.words([], false);
    for (const table of section.tables) addTable(sheet, table, format, empty);
    sheets.push(sheet);
  }
  return zipOf(packageOf(sheets, styles));
}

/** The parts of the package, and what leads from one to the other (ECMA-376, part 2). */
function packageOf(sheets: readonly Sheet[], styles: Styles): Map<string, string> {
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const relation = (id: number, kind: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${OF_DOCUMENT}/${kind}" Target="${target}"/>`;
  const relations = (all: readonly string[]): string =>
    `${HEAD}<Relationships xmlns="${OF_PACKAGE}/relationships">${all.join('')}</Relationships>`;
  const part = (name: string, kind: string): string =>
    `<Override PartName="/xl/${name}" ContentType="${type}.${kind}+xml"/>`;
  const files = sheets.map((_, at) => `worksheets/sheet${at + 1}.xml`);
  const pages = sheets.map(
    ({ name }, at) => `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
  );
  return new Map([
    [
      '[Content_Types].xml',
      `${HEAD}<Types xmlns="${OF_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${part('workbook.xml', 'sheet.main')}${part('styles.xml', 'styles')}${files.map((name) => part(name, 'worksheet')).join('')}</Types>`,
    ],
    ['_rels/.rels', relations([relation(1, 'officeDocument', 'xl/workbook.xml')])],
    [
      'xl/workbook.xml',
      `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OF_DOCUMENT}"><sheets>${pages.join('')}</sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      relations([
        ...files.map((name, at) => relation(at + 1, 'worksheet', name)),
        relation(files.length + 1, 'styles', 'styles.xml'),
      ]),
    ],
    ...sheets.map((sheet, at): [string, string] => [`xl/${files[at]}`, sheet.xml()]),
    ['xl/styles.xml', styles.xml()],
  ]);
}
