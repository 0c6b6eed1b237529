/** bursar recommend: what could be saved. */
import { Option, type Command } from 'commander';
import { byLowEnd } from '../../core/policy/recommendation.js';
import type { RecommendationStatus, StoredRecommendation } from '../../store/policy/recommendations.js';
import { addDecimal, formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import type { Session } from '../session.js';
import { printable, shortAmount, table, type Title } from '../table.js';

export function addRecommendations(program: Command, session: Session): void {
  program
    .command('recommend')
    .description('List the open recommendations with what each would save, and on what evidence.')
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
          ? 'Nothing to recommend.\n'
          : `${table(
              TITLES,
              recommendations
                .toSorted(byLowEnd)
                .map((r) => [
                  r.id,
                  r.team,
                  r.action,
                  r.target,
                  r.estimatedMonthlySavings ?? 'unknown',
                  r.estimatedMonthlySavingsLow,
                  r.estimatedMonthlySavingsHigh,
                  r.estimatedMonthlyCost,
                  r.currency,
                  r.title,
                ]),
            )}${totalText(recommendations)}${recommendations
              .flatMap(notesOf)
              .map((line) => `${printable(line)}\n`)
              .join('')}`,
      );
    });
}

const TITLES: readonly Title[] = [
  'id',
  'team',
  { title: 'action', rest: true },
  'target',
  'saves a month',
  { title: 'from', rest: true },
  { title: 'to', rest: true },
  { title: 'of', rest: true },
  'currency',
  { title: 'why', rest: true },
];

/** What they save together, by currency, of those of which it is known. */
function totalText(recommendations: readonly StoredRecommendation[]): string {
  const sums = new Map<string, Decimal>();
  let unknown = 0;
  for (const { currency, estimatedMonthlySavings: saving } of recommendations) {
    const amount = saving === null ? null : parseDecimal(saving);
    if (amount === null || currency === null) unknown += 1;
    else sums.set(currency, addDecimal(sums.get(currency) ?? ZERO, amount));
  }
  const known = [...sums].map(([currency, sum]) => `${shortAmount(formatDecimal(sum))} ${currency}`).join(' and ');
  const lacking = unknown === 0 ? '' : `, and what ${unknown} would save is not known`;
  return `Together, a month: ${known === '' ? 'nothing that is known' : known}${lacking}\n`;
}

/** What would be lost, and what stands in the way. */
const notesOf = ({ id, risk, obstacles }: StoredRecommendation): string[] => [
  ...(risk.note === '' ? [] : [`${id} risks: ${risk.note}`]),
  ...obstacles.map(({ message }) => `${id} is blocked: ${message}`),
];
