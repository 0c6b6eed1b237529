/** Places for a workload as a table, the cheapest first, each with its cost and why it lost. */
import type { JSX } from 'preact';
import type { PlacePart, Places } from './answers.js';
import { amountColumnIn } from './columns.js';
import { code, count, decimal } from './format.js';
import { say } from './language.js';
import type { Column } from './table.js';
import { AsWritten, Badge } from './ui.js';

type Row = Places['runnersUp'][number];

/** Joins all parts; an inference may be a mix of several. */
const each =
  (of: (part: PlacePart) => string): ((row: Row) => string) =>
  ({ parts }) =>
    parts.map(of).join(' + ');

/** @param onQuote a place of one kind can be quoted and reserved */
export function placeColumns(
  currency: string,
  onQuote: (part: PlacePart, gpus: number, hours: number) => void,
): readonly Column<Row>[] {
  return [
    { name: say('column.provider'), text: each(({ provider }) => provider) },
    { name: say('dimension.sku'), text: each(({ sku, units }) => (units === 1 ? sku : `${units} × ${sku}`)) },
    { name: say('dimension.gpuModel'), text: each(({ gpuModel }) => gpuModel ?? say('not-known')), isMinor: true },
    { name: say('dimension.region'), text: each(({ region }) => region ?? say('quotes.any-region')) },
    { name: say('dimension.term'), text: each(({ term }) => code('term', term)) },
    {
      name: say('column.gpus'),
      isMinor: true,
      text: ({ gpus }) => String(gpus),
      number: ({ gpus }) => gpus,
      cell: ({ gpus }) => count(gpus),
    },
    {
      name: say('quotes.hours'),
      isMinor: true,
      text: ({ hours }) => String(hours),
      number: ({ hours }) => hours,
      cell: ({ hours }) => decimal(String(hours)),
    },
    amountColumnIn(currency, say('column.cost'), ({ cost }) => cost),
    {
      name: say('quotes.lost'),
      isMinor: true,
      text: ({ lost }) => lost.map(({ message }) => message).join('; '),
      cell: ({ lost }) =>
        lost.length === 0 ? (
          <Badge tone="good">{say('quotes.best')}</Badge>
        ) : (
          <AsWritten>{lost.map(({ message }) => message).join('; ')}</AsWritten>
        ),
    },
    {
      name: say('quotes.quote'),
      text: () => '',
      cell: ({ parts, gpus, hours }) => {
        const [part] = parts;
        return parts.length !== 1 || part === undefined ? null : (
          <button type="button" onClick={() => onQuote(part, gpus, hours)}>
            {say('quotes.quote')}
            <span class="hidden">
              {' '}
              {part.sku} {part.region ?? ''} {code('term', part.term)}
            </span>
          </button>
        );
      },
    },
  ];
}

/** Prices that cannot serve it, by reason. */
export const Unable = ({ refused }: Pick<Places, 'refused'>): JSX.Element | null =>
  refused.length === 0 ? null : (
    <details>
      <summary>{say('quotes.refused', { n: refused.reduce((sum, one) => sum + one.count, 0) })}</summary>
      <ul>
        {refused.map(({ kind, count: n, example }) => (
          <li key={kind}>
            {count(n)}: <AsWritten>{example}</AsWritten>
          </li>
        ))}
      </ul>
    </details>
  );
