/**
 * Tables for people: aligned columns, numbers to the right, nothing that a terminal would obey.
 *
 * It never rounds what it is given; `shortAmount` is for who wants two digits, and says so by its name.
 */
import { formatDecimal, parseDecimal, tenTo } from '../core/decimal.js';
import { divideHalfEven } from '../core/money.js';

export type Cell = string | number | null | undefined;

const ABSENT = '-';
const NUMBER = /^[+-]?\d[\d,]*(\.\d+)?%?$/;
const MOST_WIDTH = 80;
/** Nothing stands to the right of the last column. */
const MOST_WIDTH_LAST = 160;

/**
 * A table as text that ends in a newline: a line of titles, one of dashes, then the rows. A column of which every known
 * cell is a number stands to the right.
 */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) =>
    titles.map((_, at) => cellText(row[at], at === titles.length - 1 ? MOST_WIDTH_LAST : MOST_WIDTH)),
  );
  const widths = titles.map((title, at) => Math.max(widthOf(title), ...texts.map((row) => widthOf(row[at] ?? ''))));
  const right = titles.map(
    (_, at) =>
      texts.some((row) => row[at] !== ABSENT) && texts.every((row) => row[at] === ABSENT || NUMBER.test(row[at] ?? '')),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => pad(cell, widths[at] ?? 0, right[at] ?? false))
      .join('  ')
      .trimEnd();
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...texts.map(line), ''].join('\n');
}

function cellText(cell: Cell, most: number): string {
  if (cell === null || cell === undefined || cell === '') return ABSENT;
  const text = printable(String(cell));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** One line without control characters: a file's own bytes never steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return right ? space + text : text + space;
}

/** Columns on a terminal: the wide characters of East Asia take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text)
    width += /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uff60]/u.test(
      character,
    )
      ? 2
      : 1;
  return width;
}

/** A decimal string to two digits, half to even; a smaller amount keeps the digits that it has. Null stays absent. */
export function shortAmount(text: string | null): string | null {
  const decimal = text === null ? null : parseDecimal(text);
  if (decimal === null) return text;
  if (decimal.scale <= 2) return formatDecimal({ unscaled: decimal.unscaled * tenTo(2 - decimal.scale), scale: 2 });
  const unscaled = divideHalfEven(decimal.unscaled, tenTo(decimal.scale - 2));
  return unscaled === 0n && decimal.unscaled !== 0n ? text : formatDecimal({ unscaled, scale: 2 });
}

/** `1,234,567`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A fraction as a percentage with one digit. */
export function percent(fraction: number | null): string | null {
  return fraction === null ? null : `${(100 * fraction).toFixed(1)}%`;
}
