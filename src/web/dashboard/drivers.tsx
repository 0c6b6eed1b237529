/** The largest parts of spend, with their share of the whole. */
import type { JSX } from 'preact';
import type { Driver } from '../../core/alert/alert.js';
import { amountColumnIn } from './columns.js';
import { percent } from './format.js';
import { say } from './language.js';
import { Table, type Column } from './table.js';
import { Empty } from './ui.js';

const columns = (currency: string): readonly Column<Driver>[] => [
  { name: say('column.part'), text: ({ name }) => name },
  amountColumnIn(currency, say('column.amount'), ({ cost }) => cost, true),
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
    />
  );
}
