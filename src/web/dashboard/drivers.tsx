/** The largest parts of spend, with their share of the whole. */
import type { JSX } from 'preact';
import type { Driver } from '../../core/alert/alert.js';
import { percent } from './format.js';
import { say } from './language.js';
import { Table, type Column } from './table.js';
import { Amount, Empty } from './ui.js';

const columns = (currency: string): readonly Column<Driver>[] => [
  { name: say('column.part'), text: ({ name }) => name },
  {
    name: say('column.amount'),
    text: ({ cost }) => cost,
    number: ({ cost }) => Number(cost),
    cell: ({ cost }) => <Amount amount={cost} currency={currency} whole />,
  },
  {
    name: say('column.share'),
    text: ({ share }) => String(share ?? ''),
    number: ({ share }) => share,
    cell: ({ share }) => percent(share),
  },
];

export function DriverTable({
  drivers,
  currency,
}: {
  readonly drivers: readonly Driver[];
  readonly currency: string;
}): JSX.Element {
  if (drivers.length === 0) return <Empty>{say('drivers.none')}</Empty>;
  return (
    <Table
      caption={say('drivers')}
      file="drivers"
      columns={columns(currency)}
      rows={drivers}
      keyOf={({ name }) => name}
      isCaptionHidden
    />
  );
}
