/**
 * A report as one tidy table: a row per figure, RFC 4180. Values are exact decimals; the columns and their names are
 * the same in every language.
 *
 * Names come from bills and clouds: one that a spreadsheet would take for a formula gets an apostrophe before it
 * (OWASP, "CSV Injection"). Figures are our own and stay numbers, the negative ones too.
 */
import type { Section, Table } from './cells.js';
import type { Formatter, Shown } from './format.js';

const HEAD = ['section', 'table', 'item', 'measure', 'value', 'unit', 'note'];

export function csvOf(
  facts: readonly (readonly [name: string, value: string])[],
  sections: readonly Section[],
  format: Formatter,
): string {
  const rows = [
    ...facts.map(([name, value]) => ['report', 'report', '', name, harmless(value), '', '']),
    ...sections.flatMap((section) => [
      ...(section.tables.length === 0 ? section.notes.map((note) => [section.id, '', '', '', '', '', note]) : []),
      ...section.tables.flatMap((table) => rowsOf(section.id, table, format)),
    ]),
  ];
  return [HEAD, ...rows].map((row) => `${row.map(quoted).join(',')}\r\n`).join('');
}

function rowsOf(section: string, { id, columns, heads, rows }: Table, format: Formatter): string[][] {
  return rows.flatMap((row) => {
    const shown = row.map((cell) => format.cell(cell));
    const isNone = (at: number): boolean => row[heads + at]?.kind === 'none';
    const item = shown
      .slice(0, heads)
      .map((head) => head.exact ?? head.text)
      .filter((text) => text !== '')
      .join(' / ');
    return shown
      .slice(heads)
      .flatMap((value, at) =>
        isNone(at)
          ? []
          : [
              [
                section,
                id,
                harmless(item),
                columns[heads + at]?.id ?? '',
                valueOf(value),
                value.unit ?? (value.text === '' ? '' : 'text'),
                isUnknown(value) ? value.text : '',
              ],
            ],
      );
  });
}

const isUnknown = ({ exact, unit }: Shown): boolean => exact === null && unit !== null;

const valueOf = (value: Shown): string => value.exact ?? (isUnknown(value) ? '' : harmless(value.text));

export const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
