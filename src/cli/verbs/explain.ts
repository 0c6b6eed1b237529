/**
 * bursar explain: the evaluation of one target, team or budget by every policy, with the reasons.
 */
import type { Command } from 'commander';
import type { ExplainedPolicy, ExplainedRecommendation, Explanation } from '../answers.js';
import type { Session } from '../session.js';
import { paragraph, printable } from '../table.js';

export function register(program: Command, session: Session): void {
  program
    .command('explain <target>')
    .addHelpText(
      'after',
      `
The target is a target of the fleet (bursar fleet), its name in readings (a host name, an address, a pod), a team or a budget.

Examples:
  bursar explain ip-10-0-1-23
  bursar explain instance/us-east-1/i-0abc
  bursar explain research`,
    )
    .action(async (target: string) => {
      const explained = await (await session.client()).fleet.explain(target);
      session.print(explained, () => textOf(explained));
    });
}

const KINDS: Readonly<Record<Explanation['kind'], string>> = {
  team: 'a team',
  budget: 'a budget of',
  target: 'a target of',
  measured: 'measured GPUs of',
  ambiguous: 'the name of several targets, of',
};

const textOf = ({ target, kind, team, known, looks, recommended }: Explanation): string =>
  [
    `${printable(target)}, ${KINDS[kind]}${kind === 'team' ? '' : ` ${printable(team)}`}\n`,
    ...[...known, recommended.message].map((line) => paragraph('  ', line)),
    ...looks.map(explanationText),
  ].join('');

/** In full: what is cut off here would be the reason. */
const explanationText = ({
  document,
  policy,
  mode,
  target,
  saw,
  proposes,
  leftAlone,
  recommendation,
}: ExplainedPolicy): string => {
  const lines: readonly (readonly [name: string, text: string])[] = [
    ['saw', saw.join('; ')],
    leftAlone === null ? ['proposes', proposes.join('; ')] : ['leaves it alone', leftAlone.message],
    ['would act on', leftAlone?.toAct ?? ''],
    ['recommendation', recommendation === null ? '' : stateText(recommendation)],
  ];
  return [
    `\n${printable(document ?? policy)}${mode === null ? '' : ` (${policy}, mode ${mode})`}: ${printable(target)}\n`,
    ...lines.flatMap(([name, text]) => (text === '' ? [] : [paragraph(`  ${name}: `, text)])),
  ].join('');
};

const stateText = ({ id, status, decidedBy, action, because }: ExplainedRecommendation): string =>
  [
    `${id} ${status}${decidedBy === null ? '' : ` by ${decidedBy}`}`,
    ...(action === null ? [] : [`action ${action}`]),
    ...(because === null ? [] : [because]),
  ].join('; ');
