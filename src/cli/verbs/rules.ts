/**
 * bursar rules: the rules that assign lines to teams. A change is shown before it is made.
 */
import type { Command } from 'commander';
import type { AllocationRule, RulePreview, TeamPreview } from '../answers.js';
import { readRules } from '../rules-file.js';
import type { Session } from '../session.js';
import { shortAmount, table } from '../table.js';

export function register(program: Command, session: Session): void {
  const rules = program.command('rules').addHelpText(
    'after',
    `
A file holds a list of rules, or { "rules": [...] }; the first rule that matches a line assigns it, and a line without
a match is unallocated:
  - match: { namespace: "ml-*" }
    team: research
  - match: { tag: { key: cost, value: shared } }
    split: { by: fixed, shares: { research: "0.6", vision: "0.4" } }

Examples:
  bursar rules
  bursar rules preview rules.yaml
  bursar rules set rules.yaml`,
  );

  rules
    .command('list', { isDefault: true })
    .description('List the current rules, in their order.')
    .action(async () => {
      const { version, rules: all } = await (await session.client()).rules();
      session.print({ version, rules: all }, () =>
        all.length === 0
          ? rulesTable(all, 'There are no rules: everything is unallocated.\n')
          : `Version ${version}\n${rulesTable(all)}`,
      );
    });

  rules
    .command('preview')
    .description("Show each team's actual cost as it is, and as it would be under a file of rules. Changes nothing.")
    .argument('<file>', 'JSON or YAML')
    .addHelpText(
      'after',
      '\nOver all history, as bursar costs --group-by team shows it.\n\nExample:\n  bursar rules preview rules.yaml',
    )
    .action(async (file: string) => {
      const wanted = await readRules(file, session.context.parseYaml);
      const preview = await (await session.client()).previewRules(wanted);
      session.print(preview, () => previewText(preview));
    });

  rules
    .command('set')
    .description('Set the rules from a file, and allocate history again.')
    .argument('<file>', 'JSON or YAML')
    .addHelpText('after', '\nExample:\n  bursar rules set rules.yaml')
    .action(async (file: string) => {
      const wanted = await readRules(file, session.context.parseYaml);
      const { version, rules: all } = await (await session.client()).saveRules(wanted);
      session.print(
        { version, rules: all },
        () => `Version ${version} of the rules is in force (${all.length} rules).\n`,
      );
    });
}

function previewText({ teams, totals }: RulePreview): string {
  const isPriced = [...teams, ...totals].every(
    (row) => Number(row.unpricedBefore) === 0 && Number(row.unpricedAfter) === 0,
  );
  const cells = (
    name: string,
    { currency, before, after, unpricedBefore, unpricedAfter }: Omit<TeamPreview, 'team'>,
  ): (string | null)[] => [
    name,
    shortAmount(before),
    shortAmount(after),
    currency,
    ...(isPriced ? [] : [shortAmount(unpricedBefore), shortAmount(unpricedAfter)]),
  ];
  const titles = ['team', 'now', 'then', 'currency', ...(isPriced ? [] : ['unpriced GPU-hours now', 'then'])];
  if (teams.length === 0) return table(titles, [], 'Nothing was spent yet.\n');
  const changes = teams.some(
    ({ before, after, unpricedBefore, unpricedAfter }) => before !== after || unpricedBefore !== unpricedAfter,
  );
  return `${table(titles, [...teams.map((row) => cells(row.team, row)), ...totals.map((row) => cells('all', row))])}${changes ? '' : '\nNothing would change.\n'}`;
}

function rulesTable(rules: readonly AllocationRule[], none = ''): string {
  return table(
    ['rule', 'match', 'goes to'],
    rules.map((rule, at) => [at, matchText(rule), 'team' in rule ? rule.team : splitText(rule.split)]),
    none,
  );
}

function matchText({ match }: AllocationRule): string {
  const parts = Object.entries(match).map(([field, value]: [string, string | { key: string; value: string }]) =>
    typeof value === 'string' ? `${field}=${value}` : `${field} ${value.key}=${value.value}`,
  );
  return parts.length === 0 ? 'everything' : parts.join(', ');
}

function splitText(split: Extract<AllocationRule, { split: unknown }>['split']): string {
  if (split.by === 'use') return `split by use of ${split.of?.join(', ') ?? 'all teams'}`;
  return `split ${Object.entries(split.shares)
    .map(([team, share]) => `${team} ${share}`)
    .join(', ')}`;
}
