/**
 * Tables for people: aligned columns, numbers to the right, and no control sequences. On a terminal a table fits its
 * width: titles and texts continue over several lines, columns marked as `rest` are left out (with a note), columns
 * marked as `below` move to a line below their row, and if even that is too wide each row becomes a separate list of
 * every column. Nothing else is lost; --wide shows every column. A line ends at a space or after a slash: a word is
 * broken only if it alone is wider than its column.
 *
 * It never rounds its input; `shortAmount` and `money` are for callers that want few digits.
 */
import { eastAsianWidth } from 'get-east-asian-width';
import { stripVTControlCharacters, styleText } from 'node:util';
import { csvOf } from '../core/csv.js';
import { formatDecimal, parseDecimal, tenTo } from '../core/decimal.js';
import { fixed } from '../core/figures.js';
import { divideHalfEven } from '../core/money.js';
import { PLAIN, type Screen } from './screen.js';

export interface DrawnCell {
  readonly text: string | number | null | undefined;
  /** The value for programs instead; for a title with several columns of CSV, the values of all. */
  readonly csv?: string | null | readonly (string | null)[];
  /** A bar before the text, 0 to 1 of its length; on a terminal only. Null: unknown, and no bar. */
  readonly bar?: number | null;
  /** Over it the bar is a warning, from 1 on an alarm; absent: it is neither. */
  readonly warnsFrom?: number;
}
export type Cell = string | number | null | undefined | DrawnCell;

/** What may give way where the terminal has no room: `rest` is left out, `below` moves to a line below its row. */
interface DrawnTitle {
  readonly title: string;
  readonly rest?: true;
  readonly below?: true;
  /** The columns of CSV that it stands for, in the order of its cells' values. */
  readonly csv?: readonly string[];
}
export type Title = string | DrawnTitle;

const ABSENT = '-';
const NUMBER = /^[+-]?\d[\d,]*(\.\d+)?%?$/;
/** `120.50 USD`, and with an interval `120.50 USD (80.10 to 160.00)`. */
const AMOUNT = /^[+-]?[\d.,]+\s[A-Z]{3}( \([+-]?[\d.,]+\sto\s[+-]?[\d.,]+\))?$/;
/** A space at which no line ends. */
const GLUE = '\u00a0';
const MOST_WIDTH = 80;
/** Nothing stands to the right of the last column. */
const MOST_WIDTH_LAST = 160;
/** No word up to this length is broken. */
const WHOLE_WORD = 28;
const LEAST_TEXT = 14;
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
  readonly isBelow: boolean;
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
 * cell is a number stands to the right. @param none said where there is no row; CSV has its titles all the same.
 */
export function table(titles: readonly Title[], rows: readonly (readonly Cell[])[], none = ''): string {
  if (screen.csv !== null) {
    const lines = rows.map((row) => titles.flatMap((title, at) => csvTexts(title, row[at])));
    screen.csv.push(csvOf([titles.flatMap(csvNames), ...lines], '\n'));
    return rows.length === 0 ? none : '';
  }
  if (rows.length === 0 && none !== '') return none;
  const columns = titles.map((title, at) => columnOf(title, rows, at, at === titles.length - 1));
  const { columns: most } = screen;
  if (most === null) return linesOf(columns, [], widthsOf(columns, Infinity), rows.length);
  const kept = withRoom(columns, most);
  if (kept === null) return recordsOf(columns, rows.length, most);
  const below = columns.filter((column) => column.isBelow && !kept.includes(column));
  const left = columns.length - kept.length - below.length;
  const note = left === 0 ? '' : `${dim(`(${left} more ${left === 1 ? 'column' : 'columns'}: --wide)`)}\n`;
  return linesOf(kept, below, widthsOf(kept, most), rows.length) + note;
}

const nameOf = (title: Title): string => (typeof title === 'string' ? title : title.title);

const isDrawn = (cell: Cell): cell is DrawnCell => typeof cell === 'object' && cell !== null;

const csvNames = (title: Title): readonly string[] =>
  typeof title === 'string' ? [title] : (title.csv ?? [title.title]);

function csvTexts(title: Title, cell: Cell): string[] {
  const value = isDrawn(cell) ? (cell.csv === undefined ? cell.text : cell.csv) : cell;
  const values: readonly (string | number | null | undefined)[] = Array.isArray(value)
    ? (value as readonly (string | null)[])
    : [value as string | number | null | undefined];
  const text = (one: string | number | null | undefined): string =>
    one === null || one === undefined ? '' : printable(String(one)).replaceAll(GLUE, ' ');
  return csvNames(title).map((_, at) => text(values[at]));
}

function columnOf(title: Title, rows: readonly (readonly Cell[])[], at: number, isLast: boolean): Column {
  const cells = rows.map((row) => shown(row[at], isLast ? MOST_WIDTH_LAST : MOST_WIDTH));
  const texts = cells.map(({ text }) => text);
  const isNumber = (text: string): boolean => text === ABSENT || text === '' || NUMBER.test(text) || AMOUNT.test(text);
  const isRight = texts.some((text) => text !== ABSENT && text !== '') && texts.every(isNumber);
  const name = nameOf(title);
  const widest = Math.max(0, ...cells.map(cellWidth));
  const barred = cells.some(({ bar }) => bar !== '');
  const word = Math.max(1, ...texts.flatMap((text) => text.split(at === 0 ? /(?<= )/ : ENDS)).map(wordWidth));
  return {
    title: name,
    isRest: typeof title !== 'string' && title.rest === true,
    isBelow: typeof title !== 'string' && title.below === true,
    isRight,
    cells,
    natural: Math.max(widthOf(name), widest),
    least: Math.max(
      ...name.split(' ').map(widthOf),
      barred || (texts.every((text) => !text.includes(' ')) && isRight)
        ? widest
        : Math.min(widest, Math.max(LEAST_TEXT, Math.min(word, WHOLE_WORD))),
    ),
  };
}

function shown(cell: Cell, most: number): Shown {
  const drawn = isDrawn(cell) ? cell : { text: cell };
  // A cell that stands for several columns has the room of two.
  const room = Array.isArray(drawn.csv) ? 2 * most : most;
  const text = cellText(drawn.text, screen.isWide || screen.columns !== null ? Infinity : room);
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

/** The columns for which there is room: `rest` gives way first, then `below`, from the right; null: too wide even so. */
function withRoom(columns: readonly Column[], most: number): readonly Column[] | null {
  let kept = columns;
  while (leastOf(kept) > most) {
    const rest = kept.findLastIndex(({ isRest }) => isRest);
    const at = rest < 0 ? kept.findLastIndex(({ isBelow }) => isBelow) : rest;
    if (at < 0) return null;
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

function linesOf(
  columns: readonly Column[],
  below: readonly Column[],
  widths: readonly number[],
  rows: number,
): string {
  const titles = columns.map(({ title }): Shown => ({ text: title, bar: '', colour: null }));
  const dashes = dim(widths.map((width) => '-'.repeat(width)).join(GAP));
  const lines = Array.from({ length: rows }, (_, row) => [
    ...rowLines(
      columns,
      widths,
      columns.map(({ cells }) => cells[row]!),
    ),
    ...linesBelow(below, row),
  ]);
  return `${[...rowLines(columns, widths, titles).map(bold), dashes, ...lines.flat()].join('\n')}\n`;
}

/** What has no column of its own: `runs out 2026-11-25; crossed actual:0.8`; what is absent is not named. */
function linesBelow(below: readonly Column[], row: number): string[] {
  const told = below.flatMap(({ title, cells }) => {
    const { text } = cells[row]!;
    return text === ABSENT ? [] : [`${title}: ${text}`];
  });
  if (told.length === 0) return [];
  const indent = GAP.length * 2;
  return wrapped(told.join('; '), (screen.columns ?? Infinity) - indent).map(
    (line) => ' '.repeat(indent) + unglued(line),
  );
}

/** One row, over as many lines as its longest cell needs. */
/** A text after its head, in the width of the terminal: what follows stands below the text's begin. */
export const paragraph = (head: string, text: string): string =>
  wrapped(printable(text), (screen.columns ?? Infinity) - widthOf(head))
    .map((line, at) => `${at === 0 ? head : ' '.repeat(widthOf(head))}${line}`.trimEnd() + '\n')
    .join('');

function rowLines(columns: readonly Column[], widths: readonly number[], cells: readonly Shown[]): string[] {
  const broken = cells.map(({ text, bar }, at) => wrapped(text, Math.max(1, widths[at]! - widthOf(bar))));
  const height = Math.max(1, ...broken.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ isRight }, at) => {
        const { bar, colour } = cells[at]!;
        const text = unglued(broken[at]![line] ?? '');
        const space = ' '.repeat(Math.max(0, widths[at]! - widthOf(text) - (line === 0 ? widthOf(bar) : 0)));
        const begun = line === 0 ? bar : '';
        // Bars begin in one column; the numbers beside them end in one.
        return isRight ? painted(begun + space + text, colour) : painted(begun + text, colour) + space;
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
        const room = Math.max(LEAST_TEXT, most - width - GAP.length);
        const [first = '', ...more] = wrapped(bar.replaceAll(' ', GLUE) + text, room).map(unglued);
        const head = `${bold(title.padEnd(width))}${GAP}${painted(first, colour)}\n`;
        return head + more.map((line) => `${' '.repeat(width)}${GAP}${painted(line, colour)}\n`).join('');
      })
      .join('');
  return Array.from({ length: rows }, (_, row) => record(row)).join('\n');
}

/** Where a line may end: after a space, inside an id after a slash, and after any character of Chinese or Japanese. */
const ENDS = /(?<=[ /\p{Ideographic}\p{sc=Hiragana}\p{sc=Katakana}])/u;

const wordWidth = (word: string): number => widthOf(word.trimEnd());
const unglued = (text: string): string => text.replaceAll(GLUE, ' ');

/** A text on lines of at most so many columns; a word is broken only where it alone is wider. */
function wrapped(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<= )/).flatMap((one) => (wordWidth(one) <= width ? [one] : one.split(ENDS)))) {
    if (widthOf(line) + wordWidth(word) <= width) {
      line += word;
      continue;
    }
    if (line !== '') lines.push(line.trimEnd());
    const pieces = wordWidth(word) <= width ? [word] : piecesOf(word, width);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
  }
  return line.trim() === '' ? lines : [...lines, line.trimEnd()];
}

/** Sentences beside tables, on lines of the terminal's width; a word stays whole, so that an address can be copied. */
export function fitted(text: string, wraps = true): string {
  const { columns } = screen;
  if (columns === null || !wraps) return unglued(text);
  const fit = (line: string): string => {
    if (widthOf(stripVTControlCharacters(line)) <= columns) return line;
    const indent = /^ */.exec(line)![0];
    const lines: string[] = [];
    for (const word of line.trimStart().split(' ')) {
      const longer = `${lines.at(-1) ?? ''} ${word}`;
      if (lines.length > 0 && indent.length + widthOf(longer) <= columns) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.map((one) => indent + one).join('\n');
  };
  return unglued(text.split('\n').map(fit).join('\n'));
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

/** Made at its first use: that takes as long as to start. */
let segments: Intl.Segmenter | undefined;
function charactersOf(text: string): string[] {
  segments ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return [...segments.segment(text)].map(({ segment }) => segment);
}

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

const isForPrograms = (): boolean => screen.csv !== null && screen.isForPeople !== true;

/** A decimal string to two digits, half to even; a smaller amount keeps the digits that it has. Null stays absent. */
export function shortAmount(text: string | null, digits = 2): string | null {
  const decimal = text === null ? null : parseDecimal(text);
  // A program gets every digit.
  if (decimal === null || isForPrograms()) return text;
  if (decimal.scale <= digits)
    return formatDecimal({ unscaled: decimal.unscaled * tenTo(digits - decimal.scale), scale: digits });
  const unscaled = divideHalfEven(decimal.unscaled, tenTo(decimal.scale - digits));
  return unscaled === 0n && decimal.unscaled !== 0n ? text : formatDecimal({ unscaled, scale: digits });
}

/** `120.50 USD`, on one line, with as many digits as the currency has. */
export const money = (amount: string | null, currency: string): string | null =>
  amount === null ? null : `${inCurrency(amount, currency)}${GLUE}${currency}`;

/** `120.50 USD (80.10 to 160.00)`; for programs the values of its three columns and the currency's. */
export function estimate(
  { mean, low, high }: { readonly mean: string | null; readonly low: string | null; readonly high: string | null },
  currency: string | null,
): DrawnCell {
  const csv = [mean, low, high, currency];
  if (mean === null || currency === null) return { text: null, csv };
  const interval =
    low === null || high === null ? '' : ` (${inCurrency(low, currency)}${GLUE}to${GLUE}${inCurrency(high, currency)})`;
  return { text: `${money(mean, currency)}${interval}`, csv };
}

const inCurrency = (amount: string, currency: string): string => shortAmount(amount, digitsOf(currency)) ?? amount;

/** ISO 4217, as Intl has it; another code has two. */
function digitsOf(currency: string): number {
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

/** The same text for several ids, said once: `act-1 and act-2`. */
export function together(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** `1,234,567`. */
export function grouped(count: number): string {
  return isForPrograms() ? String(count) : String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A fraction as a percentage with one digit. */
export function percent(fraction: number | null): string | null {
  return fraction === null ? null : `${fixed(100 * fraction, 1)}%`;
}
