/** The columns that many tables have: of a number, an amount, an instant, and a team. What is not known sorts last. */
import type { ComponentChildren } from 'preact';
import { say } from './language.js';
import { link } from './routes.js';
import type { Column } from './table.js';
import { Amount, Instant } from './ui.js';

/** @param of a decimal @param shown that decimal for people */
export const numberColumn = <Row,>(
  name: string,
  of: (row: Row) => string | null,
  shown: (text: string | null, row: Row) => ComponentChildren,
): Column<Row> => ({
  name,
  text: (row) => of(row) ?? '',
  number: (row) => {
    const text = of(row);
    return text === null ? null : Number(text);
  },
  cell: (row) => shown(of(row), row),
});

/** Of amounts in each row's own currency. */
export const amountColumn = <Row extends { readonly currency: string }>(
  name: string,
  of: (row: Row) => string | null,
): Column<Row> => numberColumn(name, of, (amount, { currency }) => <Amount amount={amount} currency={currency} />);

/** Of amounts in one currency. */
export const amountColumnIn = <Row,>(
  currency: string,
  name: string,
  of: (row: Row) => string | null,
  whole = false,
): Column<Row> => numberColumn(name, of, (amount) => <Amount amount={amount} currency={currency} whole={whole} />);

export const instantColumn = <Row,>(name: string, of: (row: Row) => string | null): Column<Row> => ({
  name,
  text: (row) => of(row) ?? '',
  cell: (row) => <Instant at={of(row)} />,
});

/** With a way to the team's page. */
export const teamColumn = <Row extends { readonly team: string }>(): Column<Row> => ({
  name: say('column.team'),
  text: ({ team }) => team,
  cell: ({ team }) => <a href={link('teams', team)}>{team}</a>,
});
