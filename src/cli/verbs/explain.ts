/** bursar explain: what every policy makes of one target, team or budget, and why. */
import type { Command } from 'commander';
import type { Explained } from '../../application/policy/explain.js';
import type { Session } from '../session.js';
import { printable, table } from '../table.js';

export function addExplain(program: Command, session: Session): void {
  program
    .command('explain <target>')
    .description(
      'Explain what every policy makes of a target, a team or a budget: what it saw, and what would make it act.',
    )
    .addHelpText(
      'after',
      `
The target is one of the fleet (bursar fleet), what readings call it (a host name, an address, a pod), a team or a budget.

Examples:
  bursar explain ip-10-0-1-23
  bursar explain instance/us-east-1/i-0abc
  bursar explain research`,
    )
    .action(async (target: string) => {
      const explained = await (await session.door()).fleet.explain(target);
      session.print(explained, () => textOf(explained));
    });
}

const textOf = ({ target, kind, team, known, looks }: Explained): string =>
  [
    `${printable(target)}, a ${kind} of ${printable(team)}\n`,
    ...known.map((line) => `  ${printable(line)}\n`),
    '\n',
    looks.length === 0
      ? 'No policy looks at it.\n'
      : table(
          ['policy', 'target', 'saw', 'says', 'would act on'],
          looks.map((one) => [
            one.document,
            one.target,
            one.saw.join('; '),
            one.leftAlone?.message ?? one.proposes.join('; '),
            one.leftAlone?.toAct ?? '',
          ]),
        ),
  ].join('');
