/**
 * A picture's values of one day: shown at the pointer, and with the arrow keys where it has the focus. A screen reader
 * announces the same.
 */
import type { JSX } from 'preact';
import { day, money, percent, unknown } from './format.js';
import { say } from './language.js';
import { sumOf } from './sums.js';

export interface TipLine {
  readonly name: string;
  /** Decimal text; null: unknown. */
  readonly value: string | null;
  /** CSS colour; null: that of the text. */
  readonly colour: string | null;
  /** A comparison: in no sum of the others. */
  readonly isApart: boolean;
}

/** Pixels from the left within the picture. */
export interface TipPlace {
  readonly at: number;
  readonly left: number;
}

const MOST_LINES = 10;

/** The sum of a day's known values; null: there are none. */
function totalOf(lines: readonly TipLine[]): string | null {
  const known = lines.filter(({ value, isApart }) => value !== null && !isApart);
  return known.length === 0 ? null : sumOf(known.map(({ value }) => value));
}

const shareOf = (value: string | null, total: string | null): string =>
  value === null || total === null || Number(total) <= 0 ? '' : percent(Number(value) / Number(total));

export function Tip({
  iso,
  lines,
  currency,
  left,
  width,
  isStacked,
  note,
}: {
  readonly iso: string;
  readonly lines: readonly TipLine[];
  readonly currency: string;
  readonly left: number;
  readonly width: number;
  /** The lines add up to a sum. */
  readonly isStacked: boolean;
  readonly note: string | null;
}): JSX.Element {
  const total = isStacked ? totalOf(lines) : null;
  const told = lines.filter(({ value, isApart }) => isApart || value === null || Number(value) !== 0);
  return (
    <div class="tip" style={left > width / 2 ? { right: `${width - left + 12}px` } : { left: `${left + 12}px` }}>
      <strong>{day(iso)}</strong>
      <table>
        <tbody>
          {told.slice(0, MOST_LINES).map(({ name, value, colour, isApart }) => (
            <tr key={name}>
              <th scope="row">
                <svg width="10" height="10" aria-hidden="true">
                  <rect width="10" height="10" fill={colour ?? 'currentColor'} />
                </svg>{' '}
                {name}
              </th>
              <td class="number">{value === null ? unknown() : money(value, currency)}</td>
              <td class="number quiet">{isStacked && !isApart && lines.length > 1 ? shareOf(value, total) : ''}</td>
            </tr>
          ))}
          {isStacked && lines.filter(({ isApart }) => !isApart).length > 1 ? (
            <tr class="total">
              <th scope="row">{say('in-all')}</th>
              <td class="number">{total === null ? unknown() : money(total, currency)}</td>
              <td />
            </tr>
          ) : null}
        </tbody>
      </table>
      {note === null ? null : <p class="note">{note}</p>}
    </div>
  );
}
