/** Why costs changed: the steps from the period before to this one, each as a bar, and the cells behind it. */
import type { JSX } from 'preact';
import { EFFECTS } from '../../core/report/bridge.js';
import type { ReportBridge, ReportBridgeCell } from '../../core/report/report.js';
import type { CostBridge } from './answers.js';
import { get } from './api.js';
import { numberColumn } from './columns.js';
import { nameIn } from './cost-gaps.js';
import { bridgeQueryOf, type CostQuestion } from './cost-question.js';
import { money } from './format.js';
import { say } from './language.js';
import { useLoaded } from './loading.js';
import { Table, type Column } from './table.js';
import { Amount, Card, Empty, Show } from './ui.js';

interface Step {
  readonly name: string;
  readonly note: string;
  readonly amount: string;
  /** Where its bar begins and ends. */
  readonly from: number;
  readonly to: number;
  readonly isSide: boolean;
}

/** From the period before to this one, without effects of zero. */
function stepsOf({ before, after, effects }: ReportBridge): Step[] {
  let at = Number(before);
  const steps = EFFECTS.filter((effect) => Number(effects[effect]) !== 0).map((effect): Step => {
    const from = at;
    at += Number(effects[effect]);
    return {
      name: say(`bridge.${effect}`),
      note: say(`bridge.${effect}-note`),
      amount: effects[effect],
      from,
      to: at,
      isSide: false,
    };
  });
  const side = (name: string, amount: string): Step => ({
    name,
    note: '',
    amount,
    from: 0,
    to: Number(amount),
    isSide: true,
  });
  return [side(say('bridge.before'), before), ...steps, side(say('bridge.after'), after)];
}

function Bar({ step: { from, to, isSide }, all }: { readonly step: Step; readonly all: readonly Step[] }): JSX.Element {
  const ends = all.flatMap((one) => [one.from, one.to]);
  const [least, most] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const at = (value: number): number => (100 * (value - least)) / (most - least || 1);
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  return (
    <svg class="bridge" height="16" aria-hidden="true">
      <line x1={`${at(0)}%`} x2={`${at(0)}%`} y1="0" y2="16" />
      <rect
        class={isSide ? 'side' : to > from ? 'more' : 'less'}
        x={`${at(low)}%`}
        width={`${Math.max(0.5, at(high) - at(low))}%`}
        y="2"
        height="12"
        rx="2"
      />
    </svg>
  );
}

const signed = (amount: string, currency: string): string =>
  Number(amount) > 0 ? `+${money(amount, currency)}` : money(amount, currency);

function stepColumns(currency: string, all: readonly Step[]): readonly Column<Step>[] {
  return [
    {
      name: say('bridge.effect'),
      text: ({ name }) => name,
      cell: ({ name, note, isSide }) => (
        <>
          {isSide ? <strong>{name}</strong> : name}
          {note === '' ? null : <div class="note">{note}</div>}
        </>
      ),
    },
    {
      name: say('column.amount'),
      text: ({ amount }) => amount,
      number: ({ amount }) => Number(amount),
      cell: ({ amount, isSide }) => (isSide ? money(amount, currency) : signed(amount, currency)),
    },
    { name: say('bridge.picture'), text: () => '', cell: (step) => <Bar step={step} all={all} /> },
  ];
}

/** The effect that moved a cell the most. */
const mainOf = ({ effects }: ReportBridgeCell): string =>
  say(
    `bridge.${EFFECTS.toSorted((a, b) => Math.abs(Number(effects[b])) - Math.abs(Number(effects[a])))[0] ?? 'volume'}`,
  );

const changeOf = ({ before, after }: ReportBridgeCell): number => Number(after) - Number(before);

const cellColumns = (currency: string): readonly Column<ReportBridgeCell>[] => [
  {
    name: say('column.what'),
    text: ({ provider, sku, term, category }) =>
      [
        provider,
        sku ?? '',
        term === null ? '' : nameIn('term', term),
        category === 'Usage' ? '' : nameIn('category', category),
      ]
        .filter((part) => part !== '')
        .join(' · '),
  },
  numberColumn(
    say('bridge.before'),
    ({ before }) => before,
    (before) => money(before, currency),
  ),
  numberColumn(
    say('bridge.after'),
    ({ after }) => after,
    (after) => money(after, currency),
  ),
  {
    name: say('explorer.change'),
    text: (cell) => String(changeOf(cell)),
    number: changeOf,
    cell: (cell) => signed(String(changeOf(cell)), currency),
  },
  { name: say('bridge.mostly'), text: mainOf },
];

function One({ currency, bridge }: { readonly currency: string; readonly bridge: ReportBridge }): JSX.Element {
  const steps = stepsOf(bridge);
  return (
    <>
      <p>
        {say('bridge.sentence', {
          change: signed(bridge.change, currency),
          before: money(bridge.before, currency),
          after: money(bridge.after, currency),
        })}
      </p>
      <Table
        caption={say('bridge.steps', { currency })}
        file={`bridge-${currency}`}
        columns={stepColumns(currency, steps)}
        rows={steps}
        keyOf={({ name }) => name}
      />
      <details>
        <summary>{say('bridge.cells')}</summary>
        <Table
          caption={say('bridge.cells')}
          file={`bridge-cells-${currency}`}
          columns={cellColumns(currency)}
          rows={bridge.cells}
          keyOf={(cell) => JSON.stringify([cell.provider, cell.sku, cell.gpuModel, cell.term, cell.category])}
        />
        {bridge.rest === null ? null : (
          <p class="note">
            {say('bridge.rest', { n: bridge.rest.cells })} <Amount amount={bridge.rest.before} currency={currency} /> →{' '}
            <Amount amount={bridge.rest.after} currency={currency} />
          </p>
        )}
      </details>
    </>
  );
}

export function Bridge({ question }: { readonly question: CostQuestion }): JSX.Element {
  const query = bridgeQueryOf(question);
  const loaded = useLoaded(`bridge ${JSON.stringify(query)}`, (halt) =>
    get<CostBridge>('/v1/costs/bridge', query, halt),
  );
  return (
    <Card title={say('bridge')} terms={['bridge']}>
      <Show loaded={loaded}>
        {({ bridges }) =>
          bridges.length === 0 ? (
            <Empty>{say('bridge.nothing')}</Empty>
          ) : (
            bridges.map(({ currency, bridge }) =>
              bridge === null ? (
                <Empty key={currency}>{say('bridge.none')}</Empty>
              ) : (
                <One key={currency} currency={currency} bridge={bridge} />
              ),
            )
          )
        }
      </Show>
    </Card>
  );
}
