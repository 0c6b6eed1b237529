/** The periods of a budget, named in the budget's zone, each with its cost so far or at its end. */
import type { JSX } from 'preact';
import { list } from './api.js';
import type { BudgetPeriod, BudgetSettings, BudgetState } from './answers.js';
import { decimal, money, percent, periodLabel, unknown } from './format.js';
import { say } from './language.js';
import { useLoaded } from './loading.js';
import { Listing, type Column } from './table.js';
import { Amount, Show, unpricedLine } from './ui.js';

/** What is in no figure of a period, each with its amount. */
function notInIt(state: BudgetState, amountOf: (amount: string | null, currency: string) => string): readonly string[] {
  const { unconverted, unstated = [], setAside = [], unnamed = [], unpriced = [] } = state;
  return [
    ...unconverted.map((currency) => say('period.unconverted', { currency })),
    ...[...unstated, ...setAside, ...unnamed].map(({ currency, amount }) => amountOf(amount, currency)),
    ...unpriced.map(unpricedLine),
  ];
}

const columns = (): readonly Column<BudgetPeriod>[] => [
  {
    name: say('budget.period'),
    text: ({ label }) => label,
    cell: ({ label, isOver }) => (
      <>
        {periodLabel(label)} {isOver ? null : <span class="quiet">{say('period.running')}</span>}
      </>
    ),
  },
  {
    name: say('column.planned'),
    text: ({ state }) => state.planned ?? '',
    number: ({ state }) => (state.planned === null ? null : Number(state.planned)),
    cell: ({ state }) =>
      state.planned === null ? (
        say('standing.not-planned')
      ) : (
        <Amount amount={state.planned} currency={state.currency} whole />
      ),
  },
  {
    name: say('column.spent'),
    text: ({ state }) => state.spent,
    number: ({ state }) => Number(state.spent),
    cell: ({ state }) => <Amount amount={state.spent} currency={state.currency} whole />,
  },
  {
    name: say('column.used'),
    text: ({ state }) => String(state.ratio ?? ''),
    number: ({ state }) => state.ratio,
    cell: ({ state }) => percent(state.ratio),
  },
  {
    name: say('teams.unpriced'),
    text: ({ state }) => state.unpricedGpuHours,
    number: ({ state }) => Number(state.unpricedGpuHours),
    cell: ({ state }) => decimal(state.unpricedGpuHours),
  },
  {
    name: say('period.not-in-it'),
    text: ({ state }) => notInIt(state, (amount, currency) => `${amount ?? unknown()} ${currency}`).join(' '),
    cell: ({ state }) =>
      notInIt(state, money).map((line) => (
        <div key={line} class="note">
          {line}
        </div>
      )),
  },
];

export function Periods({ budget: { id } }: { readonly budget: BudgetSettings }): JSX.Element {
  const loaded = useLoaded(`budget periods ${id}`, (halt) =>
    list<BudgetPeriod>(`/v1/budgets/${encodeURIComponent(id)}/periods`, {}, halt, 200),
  );
  return (
    <Show loaded={loaded}>
      {({ items }) => (
        <Listing
          items={items}
          empty={say('budget.not-evaluated')}
          caption={say('budget.periods')}
          file={`periods-${id}`}
          columns={columns()}
          keyOf={({ periodStart }) => periodStart}
        />
      )}
    </Show>
  );
}
