/**
 * CSV of a few columns, as RFC 4180 writes it (LF alone ends a row too; a byte order mark and empty lines are skipped).
 *
 * A row that is not well formed is a reject with its line, and reading goes on at the next line; a header that lacks a
 * column, repeats one or has one that nobody knows ends the file, every such column named: a misspelt quantity must not
 * become an unknown one.
 */
import { invalid, type Problem } from '../../core/errors.js';
import type { Reject } from '../../core/usage.js';
import { problemsText } from '../webhook/problems.js';

const MOST_RAW_CHARACTERS = 4000;
/** One field and what ends it; a field's length is bounded, so that an unclosed quote costs no more than its line. */
const FIELD = /(?:"([^"]{0,65536}(?:""[^"]{0,65536}){0,1000})"|([^",\r\n]{0,65536}))(,|\r?\n|$)/y;

export interface CsvRow {
  /** 1-based line on which the row starts. */
  readonly line: number;
  /** The column's text without blanks around it; '' where it is empty or the file does not have it. */
  text(column: string): string;
  readonly raw: string;
}

interface Cells {
  readonly line: number;
  /** Null: not well formed. */
  readonly cells: readonly string[] | null;
  readonly raw: string;
}

/**
 * The rows of a file below its header, each read or refused.
 * @param name what the file is called in messages
 * @throws Failure invalid if the header is wrong
 */
export function* readCsv(
  name: string,
  text: string,
  required: readonly string[],
  optional: readonly string[],
): Generator<CsvRow | Reject> {
  const rows = rowsOf(text.replace(/^\uFEFF/, ''));
  const first = rows.next();
  const header = first.done === true ? null : first.value.cells;
  if (header === null) throw invalid(`${name}: the file has no header`);
  const columns = header.map((column) => column.trim());
  const problems: Problem[] = [
    ...required
      .filter((column) => !columns.includes(column))
      .map((path) => ({ path, message: 'the column is missing' })),
    ...columns
      .filter((column, at) => columns.indexOf(column) !== at)
      .map((path) => ({ path, message: 'the column is there twice' })),
    ...columns
      .filter((column) => !required.includes(column) && !optional.includes(column))
      .map((path) => ({ path, message: 'is no column of this form' })),
  ];
  if (problems.length > 0) throw invalid(`${name}: ${problemsText(problems)}`, problems);
  for (const { line, cells, raw } of rows) {
    if (cells === null) yield rejectOf(line, [{ path: null, message: 'the row is not well-formed CSV' }], raw);
    else if (cells.length !== columns.length)
      yield rejectOf(
        line,
        [{ path: null, message: `the row has ${cells.length} fields, the header ${columns.length}` }],
        raw,
      );
    else yield { line, raw, text: (column) => cells[columns.indexOf(column)]?.trim() ?? '' };
  }
}

/** One line that says everything that is wrong with a row. */
export function rejectOf(line: number, problems: readonly Problem[], raw: string): Reject {
  const reason = problems.map(({ path, message }) => (path === null ? message : `${path}: ${message}`)).join('; ');
  return { line, column: problems[0]?.path ?? null, reason, raw: raw.slice(0, MOST_RAW_CHARACTERS) };
}

function* rowsOf(text: string): Generator<Cells> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const start = at;
    const cells: string[] = [];
    let ended = false;
    let sound = true;
    while (!ended && sound) {
      FIELD.lastIndex = at;
      const field = FIELD.exec(text);
      sound = field !== null;
      if (field === null) break;
      at = FIELD.lastIndex;
      cells.push(field[1]?.replaceAll('""', '"') ?? field[2] ?? '');
      ended = field[3] !== ',';
    }
    if (!sound) {
      const newline = text.indexOf('\n', start);
      at = newline < 0 ? text.length : newline + 1;
    }
    const raw = text.slice(start, at).replace(/\r?\n$/, '');
    if (raw !== '') yield { line, cells: sound ? cells : null, raw };
    line += text.slice(start, at).split('\n').length - 1;
  }
}
