/** bursar explain: what every policy makes of one target, team or budget, and why. */
import type { Command } from 'commander';
import type { Explained, ExplainedRecommendation } from '../../application/policy/explain.js';
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

const KINDS: Readonly<Record<Explained['kind'], string>> = {
  team: 'a team',
  budget: 'a budget of',
  target: 'a target of',
  measured: 'measured GPUs of',
  ambiguous: 'the name of several targets, of',
};

const textOf = ({ target, kind, team, known, looks, recommended }: Explained): string =>
  [
    `${printable(target)}, ${KINDS[kind]}${kind === 'team' ? '' : ` ${printable(team)}`}\n`,
    ...[...known, recommended.message].map((line) => `  ${printable(line)}\n`),
    '\n',
    table(
      ['policy', 'target', 'saw', 'says', 'would act on', 'recommendation'],
      looks.map((one) => [
        one.document ?? one.policy,
        one.target,
        one.saw.join('; '),
        one.leftAlone?.message ?? one.proposes.join('; '),
        one.leftAlone?.toAct ?? '',
        one.recommendation === null ? '' : stateText(one.recommendation),
      ]),
    ),
  ].join('');

const stateText = ({ id, status, decidedBy, action, because }: ExplainedRecommendation): string =>
  [
    `${id} ${status}${decidedBy === null ? '' : ` by ${decidedBy}`}`,
    ...(action === null ? [] : [`action ${action}`]),
    ...(because === null ? [] : [because]),
  ].join('; ');
