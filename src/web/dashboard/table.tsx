/**
 * A table that can be sorted, read by a screen reader, and saved as CSV. Long tables are shown in parts; the CSV always
 * has all rows.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { csvOf } from '../../core/csv.js';
import { save } from './download.js';
import { say } from './language.js';
import { Empty } from './ui.js';

export interface Column<Row> {
  readonly name: string;
  /** For the CSV, and for sorting where `number` is not given. */
  text(row: Row): string;
  /** What is drawn; the text where absent. */
  cell?(row: Row): ComponentChildren;
  /** Right-aligned, and sorted by value; null sorts last. */
  number?(row: Row): number | null;
  /** Not drawn as a number: it stays on the left. */
  readonly isLeft?: boolean;
  /** Not shown where the table has little room, until somebody asks for all values. */
  readonly isMinor?: boolean;
  /** Only in the CSV. */
  readonly isHidden?: boolean;
}

const PART = 50;
/** With more columns than these a table does not fit on a phone: there each row is a list of its values. */
const MOST_NARROW = 3;
/** With more than these its minor columns wait to be asked for as soon as the menu of a small screen is beside it. */
const MOST_SMALL = 7;

interface Props<Row> {
  readonly caption: string;
  /** Without extension; no button where absent. */
  readonly file?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Absent: it is read out alone, since a heading says it. */
  readonly showsCaption?: boolean;
}

const classOf = <Row,>({ number, isLeft, isMinor }: Column<Row>): string =>
  [number === undefined || isLeft === true ? '' : 'number', isMinor === true ? 'minor' : ''].join(' ').trim();

type Order = { readonly at: number; readonly down: boolean } | null;

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order): readonly Row[] {
  const column = order === null ? undefined : columns[order.at];
  if (column === undefined || order === null) return rows;
  const way = order.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    if (column.number === undefined) return way * column.text(a).localeCompare(column.text(b));
    const [one, other] = [column.number(a), column.number(b)];
    if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
    return way * (one - other);
  });
}

export function Table<Row>({ caption, file, columns, rows, keyOf, showsCaption = false }: Props<Row>): JSX.Element {
  const shown = columns.filter(({ isHidden }) => isHidden !== true);
  const [order, setOrder] = useState<Order>(null);
  const [most, setMost] = useState(PART);
  const [isWhole, setWhole] = useState(false);
  const inOrder = sorted(rows, shown, order);
  const size = shown.length > MOST_SMALL ? ' lists many' : shown.length > MOST_NARROW ? ' lists' : '';
  return (
    <div class={`table${size}${isWhole ? ' whole' : ''}`}>
      <div class="scroll" role="group" tabIndex={0} aria-label={caption}>
        <table>
          <caption class={showsCaption ? '' : 'hidden'}>{caption}</caption>
          <thead>
            <tr>
              {shown.map((column, at) => (
                <Head key={column.name} column={column} at={at} order={order} onSort={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {inOrder.slice(0, most).map((row) => (
              <tr key={keyOf(row)}>
                {shown.map((column) => (
                  <td key={column.name} class={classOf(column)} data-name={column.name}>
                    {column.cell === undefined ? column.text(row) : column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="under">
        {shown.some(({ isMinor }) => isMinor) ? (
          <button type="button" class="quiet narrow" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            {say('table.whole')}
            <span class="hidden"> {say('table.of', { caption })}</span>
          </button>
        ) : null}
        {inOrder.length > most ? (
          <button type="button" onClick={() => setMost(most + 10 * PART)}>
            {say('table.more', { left: inOrder.length - most })}
          </button>
        ) : null}
        {file === undefined || rows.length === 0 ? null : (
          <button type="button" class="quiet" onClick={() => save(`${file}.csv`, csvFrom(columns, inOrder))}>
            {say('table.csv')}
            <span class="hidden"> {say('table.of', { caption })}</span>
          </button>
        )}
      </div>
    </div>
  );
}

/** A column's name, which sorts by it: up, down, and in the original order. */
function Head<Row>({
  column,
  at,
  order,
  onSort,
}: {
  readonly column: Column<Row>;
  readonly at: number;
  readonly order: Order;
  readonly onSort: (next: Order) => void;
}): JSX.Element {
  const way = order?.at !== at ? null : order.down ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={way ?? undefined}>
      <button
        type="button"
        class="sort"
        onClick={() => onSort(way === 'descending' ? null : { at, down: way === 'ascending' })}
      >
        {column.name}
        <span aria-hidden="true">{way === null ? '' : way === 'descending' ? ' ↓' : ' ↑'}</span>
      </button>
    </th>
  );
}

const csvFrom = <Row,>(columns: readonly Column<Row>[], rows: readonly Row[]): string =>
  csvOf([columns.map(({ name }) => name), ...rows.map((row) => columns.map((column) => column.text(row)))]);

interface ListingProps<Row> extends Omit<Props<Row>, 'rows' | 'showsCaption'> {
  readonly items: readonly Row[];
  /** A note where the list is not complete. */
  readonly note?: string | null;
  readonly empty: ComponentChildren;
}

/** A list as a table; `empty` where it has no items. */
export function Listing<Row>({ items, note = null, empty, ...table }: ListingProps<Row>): JSX.Element {
  if (items.length === 0) return <Empty>{empty}</Empty>;
  return (
    <>
      {note === null ? null : <p class="warning">{note}</p>}
      <Table {...table} rows={items} />
    </>
  );
}
