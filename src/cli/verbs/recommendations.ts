/** bursar recommend: what could be saved. */
import { Option, type Command } from 'commander';
import { byLowEnd } from '../../core/policy/recommendation.js';
import { addDecimal, formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import type { Recommendation, RecommendationStatus } from '../answers.js';
import type { Session } from '../session.js';
import { estimate, money, printable, table, together, type Cell, type Title } from '../table.js';

export function register(program: Command, session: Session): void {
  program
    .command('recommend')
    .option('--team <team>', 'only of this team')
    .addOption(
      new Option('--status <status>', 'other than the open ones')
        .choices(['open', 'observed', 'approved', 'rejected', 'superseded', 'expired'])
        .default('open'),
    )
    .addHelpText(
      'after',
      `
An estimate comes with an 80 % interval, and "of" is what the unchanged target costs over the same time: no saving
exceeds it. --json has the numbers behind it.

Example:
  bursar recommend --team research`,
    )
    .action(async ({ team, status }: { team?: string; status: RecommendationStatus }) => {
      const recommendations = await (await session.client()).recommendations({ team: team ?? null, status });
      session.print({ recommendations }, () =>
        recommendations.length === 0
          ? table(TITLES, [], 'Nothing to recommend.\n')
          : `${table(TITLES, recommendations.toSorted(byLowEnd).map(row))}${totalText(recommendations)}${notesOf(
              recommendations,
            )
              .map((line) => `${printable(line)}\n`)
              .join('')}`,
      );
    });
}

const TITLES: readonly Title[] = [
  'id',
  'team',
  { title: 'what', csv: ['action', 'target'] },
  { title: 'saves a month', csv: ['saves a month', 'from', 'to', 'currency'] },
  { title: 'of', rest: true },
  { title: 'why', rest: true },
];

function row(one: Recommendation): Cell[] {
  const { currency, estimatedMonthlySavings: mean, estimatedMonthlyCost: cost } = one;
  const saving = estimate(
    { mean, low: one.estimatedMonthlySavingsLow, high: one.estimatedMonthlySavingsHigh },
    currency,
  );
  return [
    one.id,
    one.team,
    { text: `${inWords(one.action)} ${one.target}`, csv: [one.action, one.target] },
    { ...saving, text: saving.text ?? 'unknown' },
    cost === null || currency === null ? cost : { text: money(cost, currency), csv: cost },
    one.title,
  ];
}

/** `PurchaseReservedInstances` as `Purchase reserved instances`: a line can end between its words. */
const inWords = (action: string): string => action.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/**
 * What they save together, by currency, of those of which it is known. The ends of the interval are the sums of the
 * ends, as if all erred alike: at least as wide as it has to be.
 */
function totalText(recommendations: readonly Recommendation[]): string {
  const known = recommendations.filter((one) => one.currency !== null && one.estimatedMonthlySavings !== null);
  const sums = [...new Set(known.map(({ currency }) => currency ?? ''))].map((currency) => {
    const of = known.filter((one) => one.currency === currency);
    const sum = (amountOf: (one: Recommendation) => string | null): string | null => {
      const amounts = of.map((one) => parseDecimal(amountOf(one) ?? ''));
      return amounts.includes(null)
        ? null
        : formatDecimal(amounts.reduce<Decimal>((all, amount) => addDecimal(all, amount ?? ZERO), ZERO));
    };
    const [low, high] = [sum((one) => one.estimatedMonthlySavingsLow), sum((one) => one.estimatedMonthlySavingsHigh)];
    const { text } = estimate({ mean: sum((one) => one.estimatedMonthlySavings), low, high }, currency);
    return `${String(text)}${low === null || high === null ? ' (interval not known)' : ''}`;
  });
  const unknown = recommendations.length - known.length;
  const lacking = unknown === 0 ? '' : `, and what ${unknown} would save is not known`;
  return `Together, a month: ${sums.length === 0 ? 'nothing that is known' : sums.join(' and ')}${lacking}\n`;
}

/** What would be lost, and what stands in the way; one note for all recommendations that share it. */
function notesOf(recommendations: readonly Recommendation[]): string[] {
  const notes = new Map<string, string[]>();
  const add = (note: string, id: string): void => void notes.set(note, [...(notes.get(note) ?? []), id]);
  for (const { id, risk } of recommendations) if (risk.note !== '') add(`Risk of ~: ${risk.note}`, id);
  for (const { id, status, actionId, actionState } of recommendations)
    if (status === 'approved' && actionState !== null) add(`${actionId}, the action of ~, is ${actionState}`, id);
  for (const { id, obstacles } of recommendations)
    for (const { message } of obstacles) add(`Blocked, ~: ${message}`, id);
  return [...notes].map(([note, ids]) => note.replace('~', () => together(ids)));
}
