/** bursar recommend: what could be saved. */
import { Option, type Command } from 'commander';
import { byLowEnd } from '../../core/policy/recommendation.js';
import type { RecommendationStatus, StoredRecommendation } from '../../store/policy/recommendations.js';
import type { Session } from '../session.js';
import { printable, table } from '../table.js';

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
An estimate comes with an 80 % interval, and "of" says what the target costs untouched over the same time: no saving exceeds it. --json has the
numbers that it was made of.

Example:
  bursar recommend --team research`,
    )
    .action(async ({ team, status }: { team?: string; status: RecommendationStatus }) => {
      const recommendations = await (await session.client()).recommendations({ team: team ?? null, status });
      session.print({ recommendations }, () =>
        recommendations.length === 0
          ? 'Nothing to recommend.\n'
          : `${table(
              ['id', 'team', 'action', 'target', 'saves a month', 'from', 'to', 'of', 'currency', 'why'],
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
            )}${recommendations
              .flatMap(notesOf)
              .map((line) => `${printable(line)}\n`)
              .join('')}`,
      );
    });
}

/** What would be lost, and what stands in the way. */
const notesOf = ({ id, risk, obstacles }: StoredRecommendation): string[] => [
  ...(risk.note === '' ? [] : [`${id} risks: ${risk.note}`]),
  ...obstacles.map(({ message }) => `${id} is held up: ${message}`),
];
