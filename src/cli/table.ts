/**
 * Tables for people: aligned columns, numbers to the right, and no control sequences. On a terminal a table fits its
 * width: titles and texts continue over several lines, columns marked as `rest` are left out (with a note), and if even
 * that is too wide each row becomes a separate list. Nothing else is lost; --wide shows every column.
 *
 * It never rounds its input; `shortAmount` is for callers that want two digits, and says so by its name.
 */
import { eastAsianWidth } from 'get-east-asian-width';
import { styleText } from 'node:util';
import { csvOf } from '../core/csv.js';
import { formatDecimal, parseDecimal, tenTo } from '../core/decimal.js';
import { divideHalfEven } from '../core/money.js';
import { PLAIN, type Screen } from './screen.js';

export interface DrawnCell {
  readonly text: string | number | null | undefined;
  /** The value for programs instead. */
  readonly csv?: string | null;
  /** A bar before the text, 0 to 1 of its length; on a terminal only. Null: unknown, and no bar. */
  readonly bar?: number | null;
  /** Over it the bar is a warning, from 1 on an alarm; absent: it is neither. */
  readonly warnsFrom?: number;
}
export type Cell = string | number | null | undefined | DrawnCell;

/** `rest`: left out where the terminal has no room for it. */
export type Title = string | { readonly title: string; readonly rest: true };

const ABSENT = '-';
const NUMBER = /^[+-]?\d[\d,]*(\.\d+)?%?$/;
const MOST_WIDTH = 80;
/** Nothing stands to the right of the last column. */
const MOST_WIDTH_LAST = 160;
/** No text is broken into pieces shorter than this; ids, which stand first, are read as a whole. */
const LEAST_TEXT = 14;
const LEAST_FIRST = 24;
const BAR_CELLS = 10;
const GAP = '  ';

/** What is printed on, for the length of one answer: `drawnOn` sets it, and nothing outlives that. */
let screen: Screen = PLAIN;

/** What `draw` gives, its tables for this screen. */
export function drawnOn<T>(on: Screen, draw: () => T): T {
  const before = screen;
  screen = on;
  try {
    return draw();
  } finally {
    screen = before;
  }
}

interface Column {
  readonly title: string;
  readonly isRest: boolean;
  readonly isRight: boolean;
  readonly cells: readonly Shown[];
  /** As it is, and as narrow as it may become. */
  readonly natural: number;
  readonly least: number;
}

interface Shown {
  readonly text: string;
  readonly bar: string;
  readonly colour: Colour | null;
}

type Colour = 'red' | 'green' | 'yellow';

/**
 * A table as text that ends in a newline: a line of titles, one of dashes, then the rows. A column of which every known
 * cell is a number stands to the right.
 */
export function table(titles: readonly Title[], rows: readonly (readonly Cell[])[]): string {
  if (screen.csv !== null) {
    screen.csv.push(csvOf([titles.map(nameOf), ...rows.map((row) => titles.map((_, at) => csvText(row[at])))], '\n'));
    return '';
  }
  const columns = titles.map((title, at) => columnOf(title, rows, at, at === titles.length - 1));
  const { columns: most } = screen;
  const kept = most === null ? columns : withoutRest(columns, most);
  const left = columns.length - kept.length;
  const note = left === 0 ? '' : `${dim(`(${left} more ${left === 1 ? 'column' : 'columns'}: --wide)`)}\n`;
  if (most !== null && leastOf(kept) > most) return recordsOf(kept, rows.length, most) + note;
  return linesOf(kept, widthsOf(kept, most ?? Infinity), rows.length) + note;
}

const nameOf = (title: Title): string => (typeof title === 'string' ? title : title.title);

const isDrawn = (cell: Cell): cell is DrawnCell => typeof cell === 'object' && cell !== null;

function csvText(cell: Cell): string {
  const value = isDrawn(cell) ? (cell.csv === undefined ? cell.text : cell.csv) : cell;
  return value === null || value === undefined ? '' : printable(String(value));
}

function columnOf(title: Title, rows: readonly (readonly Cell[])[], at: number, isLast: boolean): Column {
  const cells = rows.map((row) => shown(row[at], isLast ? MOST_WIDTH_LAST : MOST_WIDTH));
  const texts = cells.map(({ text }) => text);
  const isNumber = (text: string): boolean => text === ABSENT || text === '' || NUMBER.test(text);
  const isRight = texts.some((text) => text !== ABSENT && text !== '') && texts.every(isNumber);
  const name = nameOf(title);
  const widest = Math.max(0, ...cells.map(cellWidth));
  const barred = cells.some(({ bar }) => bar !== '');
  const word = Math.max(0, ...texts.flatMap((text) => text.split(' ').map(widthOf)));
  return {
    title: name,
    isRest: typeof title !== 'string',
    isRight,
    cells,
    natural: Math.max(widthOf(name), widest),
    least: Math.max(
      ...name.split(' ').map(widthOf),
      isRight || barred ? widest : Math.min(widest, Math.max(Math.min(word, at === 0 ? LEAST_FIRST : LEAST_TEXT), 1)),
    ),
  };
}

function shown(cell: Cell, most: number): Shown {
  const drawn = isDrawn(cell) ? cell : { text: cell };
  const text = cellText(drawn.text, screen.isWide || screen.columns !== null ? Infinity : most);
  const { bar, warnsFrom = Infinity } = drawn;
  const colour = bar === undefined || bar === null || warnsFrom === Infinity ? colourOf(text) : alarm(bar, warnsFrom);
  return { text, bar: screen.hasBars && typeof bar === 'number' ? `${barOf(bar)} ` : '', colour };
}

const alarm = (ratio: number, warnsFrom: number): Colour =>
  ratio >= 1 ? 'red' : ratio >= warnsFrom ? 'yellow' : 'green';

/** `██████░░░░`: full at 1 and above. */
function barOf(ratio: number): string {
  const full = Math.min(BAR_CELLS, Math.max(0, Math.round(ratio * BAR_CELLS)));
  return '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
}

/** Words that say how something stands, wherever one is the whole cell. */
const COLOURS: ReadonlyMap<string, Colour> = new Map(
  (
    [
      ['green', 'ok', 'running', 'verified', 'measured', 'fits', 'succeeded', 'sent', 'active', 'cleared', 'final'],
      [
        'yellow',
        'attend',
        'warning',
        'starting',
        'stopping',
        'pending',
        'awaiting-approval',
        'unknown',
        'unverifiable',
      ],
      ['red', 'wrong', 'critical', 'failed', 'refused', 'gone', 'exceeded', 'exceeds', 'rejected', 'not-granted'],
    ] as const
  ).flatMap(([colour, ...words]) => words.map((word) => [word, colour] as const)),
);

const colourOf = (text: string): Colour | null => COLOURS.get(text) ?? null;

const painted = (text: string, colour: Colour | null): string =>
  colour === null || !screen.hasColour ? text : styleText(colour, text, { validateStream: false });
const bold = (text: string): string => (screen.hasColour ? styleText('bold', text, { validateStream: false }) : text);
const dim = (text: string): string => (screen.hasColour ? styleText('dim', text, { validateStream: false }) : text);

/** The columns for which there is room; those marked as rest go first, from the right. */
function withoutRest(columns: readonly Column[], most: number): readonly Column[] {
  let kept = columns;
  while (leastOf(kept) > most) {
    const at = kept.findLastIndex(({ isRest }) => isRest);
    if (at < 0) return columns.filter(({ isRest }) => !isRest);
    kept = kept.toSpliced(at, 1);
  }
  return kept;
}

const gaps = (columns: readonly Column[]): number => GAP.length * (columns.length - 1);
const leastOf = (columns: readonly Column[]): number => columns.reduce((sum, { least }) => sum + least, gaps(columns));

/** The widest that may become narrower does, until all fit. */
function widthsOf(columns: readonly Column[], most: number): number[] {
  const widths = columns.map(({ natural }) => natural);
  for (let over = widths.reduce((sum, width) => sum + width, gaps(columns)) - most; over > 0; over -= 1) {
    let widest = -1;
    for (const [at, { least }] of columns.entries())
      if (widths[at]! > least && (widest < 0 || widths[at]! > widths[widest]!)) widest = at;
    if (widest < 0) break;
    widths[widest]! -= 1;
  }
  return widths;
}

function linesOf(columns: readonly Column[], widths: readonly number[], rows: number): string {
  const titles = columns.map(({ title }): Shown => ({ text: title, bar: '', colour: null }));
  const dashes = dim(widths.map((width) => '-'.repeat(width)).join(GAP));
  const lines = Array.from({ length: rows }, (_, row) =>
    rowLines(
      columns,
      widths,
      columns.map(({ cells }) => cells[row]!),
    ),
  );
  return `${[...rowLines(columns, widths, titles).map(bold), dashes, ...lines.flat()].join('\n')}\n`;
}

/** One row, over as many lines as its longest cell needs. */
function rowLines(columns: readonly Column[], widths: readonly number[], cells: readonly Shown[]): string[] {
  const broken = cells.map(({ text, bar }, at) => wrapped(text, Math.max(1, widths[at]! - widthOf(bar))));
  const height = Math.max(1, ...broken.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ isRight }, at) => {
        const { bar, colour } = cells[at]!;
        const text = broken[at]![line] ?? '';
        const space = ' '.repeat(Math.max(0, widths[at]! - widthOf(text) - (line === 0 ? widthOf(bar) : 0)));
        const inked = painted((line === 0 ? bar : '') + text, colour);
        return isRight ? space + inked : inked + space;
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** Each row as a list of its own, for a terminal that is too narrow for the table. */
function recordsOf(columns: readonly Column[], rows: number, most: number): string {
  const width = Math.max(...columns.map(({ title }) => widthOf(title)));
  const record = (row: number): string =>
    columns
      .map(({ title, cells }) => {
        const { bar, text, colour } = cells[row]!;
        const [first = '', ...more] = wrapped(bar + text, Math.max(LEAST_TEXT, most - width - GAP.length));
        const head = `${bold(title.padEnd(width))}${GAP}${painted(first, colour)}\n`;
        return head + more.map((line) => `${' '.repeat(width)}${GAP}${painted(line, colour)}\n`).join('');
      })
      .join('');
  return Array.from({ length: rows }, (_, row) => record(row)).join('\n');
}

/** A text on lines of at most so many columns, broken at spaces where there are any. */
function wrapped(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = piecesOf(word, width);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
  }
  return line === '' ? lines : [...lines, line];
}

function piecesOf(word: string, width: number): string[] {
  const pieces = [''];
  for (const character of charactersOf(word)) {
    const last = pieces.length - 1;
    if (pieces[last] !== '' && widthOf(pieces[last]! + character) > width) pieces.push(character);
    else pieces[last] += character;
  }
  return pieces;
}

function cellText(cell: string | number | null | undefined, most: number): string {
  if (cell === null || cell === undefined || cell === '') return ABSENT;
  const text = printable(String(cell));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** One line without control characters: a file's own bytes never steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const charactersOf = (text: string): string[] => [...segments.segment(text)].map(({ segment }) => segment);

const cellWidth = ({ text, bar }: Shown): number => widthOf(bar) + widthOf(text);

/** Columns on a terminal, by Unicode's East_Asian_Width (UAX 11): what people see as one character counts once. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  return charactersOf(text).reduce((width, character) => width + characterWidth(character), 0);
}

function characterWidth(character: string): number {
  if (/^[\p{M}\p{Cf}]+$/u.test(character)) return 0;
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(character)) return 2;
  return eastAsianWidth(character.codePointAt(0) ?? 0);
}

/** A decimal string to two digits, half to even; a smaller amount keeps the digits that it has. Null stays absent. */
export function shortAmount(text: string | null): string | null {
  const decimal = text === null ? null : parseDecimal(text);
  // A program gets every digit.
  if (decimal === null || screen.csv !== null) return text;
  if (decimal.scale <= 2) return formatDecimal({ unscaled: decimal.unscaled * tenTo(2 - decimal.scale), scale: 2 });
  const unscaled = divideHalfEven(decimal.unscaled, tenTo(decimal.scale - 2));
  return unscaled === 0n && decimal.unscaled !== 0n ? text : formatDecimal({ unscaled, scale: 2 });
}

/** `1,234,567`. */
export function grouped(count: number): string {
  return screen.csv === null ? String(count).replace(/\B(?=(\d{3})+$)/g, ',') : String(count);
}

/** A fraction as a percentage with one digit. */
export function percent(fraction: number | null): string | null {
  return fraction === null ? null : `${(100 * fraction).toFixed(1)}%`;
}
