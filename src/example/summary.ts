/**
 * The readable summary of a first run: spend per team, budgets, what has no price, what is recommended. Reads only.
 */
import { exhaustionDayOf, isEndKnown } from '../core/budget/exhaustion.js';
import { byLowEnd } from '../core/policy/recommendation.js';
import { monthLabel, formatInstant } from '../core/time.js';
import { parseSpendQuery } from '../core/cost/spend-query.js';
import type { StoredState } from '../store/budget/budgets.js';
import type { SpendRow } from '../store/cost/spend.js';
import type { Stores } from '../store/stores.js';

const column = (cells: readonly string[], widths: readonly number[]): string =>
  `  ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => (row[at] ?? '').length)));
  return [
    column(head, widths),
    column(
      widths.map((width) => '-'.repeat(width)),
      widths,
    ),
    ...rows.map((row) => column(row, widths)),
  ];
}

/** Two digits after the point, thousands apart: for reading, not for sums. */
function amount(text: string | null): string {
  if (text === null) return 'unknown';
  return Number(text).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export async function summarise(stores: Stores, organisation: string, now: number): Promise<string> {
  const asOf = await stores.organisations.asOf(stores.db, organisation, now);
  const fx = await stores.prices.fx(stores.db, organisation);
  const month = monthLabel(asOf, 'UTC');
  const spend = await stores.spend.spend(
    organisation,
    parseSpendQuery({ from: `${month}-01`, groupBy: 'team', currency: 'USD' }),
    fx,
  );
  const states = await stores.budgets.states(organisation, asOf);
  const recommendations = await stores.recommendations.list(organisation, { status: 'open' }, null, 10);
  return [
    `Summary as of ${formatInstant(asOf)}. The pods and the price lists are recorded; the rest is made up, and each row says which (see README)`,
    '',
    `Spend per team, ${month}`,
    ...table(
      ['team', 'spend USD', 'GPU-hours', 'of them unpriced'],
      spend.rows.map((row: SpendRow) => [
        row['team'] ?? '',
        amount(row.cost),
        amount(row.gpuHours),
        amount(row.unpricedQuantity),
      ]),
    ),
    '',
    'Budgets, this month',
    ...budgetsTable(states),
    '',
    ...(Number(spend.unpricedQuantity) === 0
      ? ['Every GPU-hour has a price.']
      : [`Without a price: ${amount(spend.unpricedQuantity)} GPU-hours this month; they are not in any sum above.`]),
    '',
    recommendations.length === 0 ? 'Nothing is recommended.' : 'Recommendations',
    ...(recommendations.length === 0
      ? []
      : table(
          ['what', 'team', 'saves USD/month', '80 % interval', 'of'],
          recommendations
            .toSorted(byLowEnd)
            .map((r) => [
              r.title,
              r.team,
              amount(r.estimatedMonthlySavings),
              `${amount(r.estimatedMonthlySavingsLow)} to ${amount(r.estimatedMonthlySavingsHigh)}`,
              amount(r.estimatedMonthlyCost),
            ]),
        )),
    '',
    ...(await actionsSoFar(stores, organisation)),
  ].join('\n');
}

const budgetsTable = (states: readonly StoredState[]): string[] =>
  table(
    ['budget', 'planned', 'spent', 'forecast', '80 % interval', 'runs out', 'unpriced GPU-hours'],
    states.map(({ budget, state }) => [
      budget,
      amount(state.planned),
      amount(state.spent),
      state.forecast === null ? 'unknown' : amount(state.forecast.mean),
      state.forecast === null ? '' : `${amount(state.forecast.low)} to ${amount(state.forecast.high)}`,
      exhaustionDayOf(state) ?? (isEndKnown(state) ? 'no' : 'unknown'),
      amount(state.unpricedGpuHours),
    ]),
  );

/** What was carried out, refused and measured so far. */
async function actionsSoFar(stores: Stores, organisation: string): Promise<string[]> {
  const actions = await stores.actions.list(organisation, {}, null, 100);
  if (actions.length === 0) return [];
  const ledger = await stores.savingLedger.list(organisation, {}, null, 100);
  const saved = new Map(ledger.map(({ action, saved: one }) => [action, amount(one)]));
  return [
    'Actions',
    ...table(
      ['what', 'team', 'state', 'saved USD'],
      actions.map(({ action }) => [
        `${action.effect.kind} ${action.target}`,
        action.team,
        action.state,
        saved.get(action.id) ?? '',
      ]),
    ),
    '',
  ];
}
