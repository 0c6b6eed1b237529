/** bursar admissions: launches that the admission webhook refused or warned about. */
import type { Command } from 'commander';
import type { Admission } from '../answers.js';
import { count, day } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

interface AdmissionFlags {
  readonly team?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
}

export function register(program: Command, session: Session): void {
  program
    .command('admissions')
    .option('--team <team>', 'only of this team')
    .option('--from <day>', 'first day', day)
    .option('--to <day>', 'the day after the last', day)
    .option('--limit <n>', 'at most this many', count, 100)
    .addHelpText(
      'after',
      `
A row is a workload of a team on a day (in the team's zone), with the number of its pods that were refused and the
number that were admitted with a warning. Rows are kept for 400 days; dry runs are not recorded.

Examples:
  bursar admissions --team research
  bursar admissions --from 2026-10-01 --to 2026-11-01 --json`,
    )
    .action(async ({ team, from, to, limit }: AdmissionFlags) => {
      const admissions = await (await session.client()).admissions.list(
        { team: team ?? null, from: from ?? null, to: to ?? null },
        limit,
      );
      session.print({ admissions }, () =>
        table(TITLES, admissions.map(rowOf), 'No launch was refused or warned about.\n'),
      );
    });
}

const TITLES = ['day', 'team', 'cluster', 'namespace', 'workload', 'refused', 'warned', 'last', 'why'];

const rowOf = ({
  day: on,
  team,
  cluster,
  namespace,
  workload,
  refused,
  warned,
  lastAt,
  message,
}: Admission): (string | number | null)[] => [
  on,
  team,
  cluster,
  namespace,
  workload,
  refused,
  warned,
  lastAt.slice(11, 16),
  message,
];
