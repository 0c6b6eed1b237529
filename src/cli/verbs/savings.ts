/**
 * bursar savings: the ledger of the actions' savings, and one action's hours.
 */
import type { Command } from 'commander';
import type { SavingList, SavingStory } from '../client/savings.js';
import type { Session } from '../session.js';
import { estimate, money, shortAmount, table, type Cell, type DrawnCell, type Title } from '../table.js';

export function register(program: Command, session: Session): void {
  program
    .command('savings')
    .argument('[action]', 'show this one, hour by hour')
    .option('--team <team>', 'only of this team')
    .addHelpText(
      'after',
      `
Estimated: nothing is measured yet. Measured: from metered usage. Verified: the bill period is closed and agrees. Unverifiable: it says why.
A loss is negative. --json has the records and prices that each figure came from.

Examples:
  bursar savings --team research
  bursar savings act-0123456789abcdef --json`,
    )
    .action(async (action: string | undefined, { team }: { team?: string }) => {
      const client = (await session.client()).savings;
      if (action !== undefined) {
        const saving = await client.show(action);
        session.print({ saving }, () => storyText(saving));
        return;
      }
      const list = await client.list(team ?? null);
      session.print(list, () => listText(list));
    });
}

function listText({ savings, totals }: SavingList): string {
  const rows = savings.map((one): Cell[] => [
    one.action,
    one.team,
    { text: `${one.effectKind} ${one.target}`, csv: [one.effectKind, one.target] },
    one.state,
    { text: money(one.saved, one.currency), csv: [one.saved, one.currency] },
    { text: one.predicted === null ? null : money(one.predicted, one.currency), csv: one.predicted },
    estimated(one),
    one.from.slice(0, 10),
    one.reason ?? (one.rolledBack ? 'rolled back' : null),
  ]);
  const amounts = (all: readonly { readonly currency: string; readonly amount: string }[]): string =>
    all.length === 0 ? '0' : all.map(({ currency, amount }) => money(amount, currency)).join(', ');
  const reasons = totals.unverifiable.reasons.map(({ reason, count }) => `${count} ${reason}`).join(', ');
  if (rows.length === 0) return table(TITLES, rows, 'The ledger is empty.\n');
  return `${table(TITLES, rows)}
verified ${amounts(totals.verified.saved)}; measured ${amounts(totals.measured.saved)}; estimated, not measured yet: ${amounts(totals.estimated.monthly)} a month; unverifiable: ${totals.unverifiable.count}${reasons === '' ? '' : ` (${reasons})`}
`;
}

/** With its interval; an unknown one is said, so that the estimate is not taken for certain. */
function estimated(one: SavingList['savings'][number]): DrawnCell {
  const { estimatedMonthlySavings: mean, estimatedMonthlySavingsLow: low, estimatedMonthlySavingsHigh: high } = one;
  const cell = estimate({ mean, low, high }, one.currency);
  return mean === null || low !== null ? cell : { ...cell, text: `${cell.text} (interval not known)` };
}

const TITLES: readonly Title[] = [
  'action',
  { title: 'team', below: true },
  { title: 'what', csv: ['effect', 'target'] },
  'state',
  { title: 'saved', csv: ['saved', 'currency'] },
  { title: 'predicted by now', below: true, csv: ['predicted'] },
  { title: 'estimated a month', below: true, csv: ['estimated a month', 'from', 'to', 'currency of the estimate'] },
  { title: 'since', below: true },
  { title: 'why', below: true },
];

function storyText(saving: SavingStory): string {
  const shared =
    saving.sharedWith.length === 0 ? '' : `The saving there is shared with ${saving.sharedWith.join(', ')}.\n`;
  const rows = saving.ledger.map((hour) => [
    hour.hour.slice(0, 16),
    hour.state,
    shortAmount(hour.counterfactual),
    shortAmount(hour.actual),
    shortAmount(hour.saved),
    hour.currency,
    hour.lines.length,
    hour.reason,
  ]);
  return `${saving.action}: ${saving.effectKind} ${saving.target}, ${saving.state}${saving.reason === null ? '' : ` (${saving.reason})`}, saved ${money(saving.saved, saving.currency)}\n${shared}${table(
    ['hour', 'state', 'without it', 'with it', 'saved', 'currency', 'lines', 'why'],
    rows,
  )}`;
}
