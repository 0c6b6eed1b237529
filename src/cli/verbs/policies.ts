/**
 * bursar policies: the policies, the documents in force, and checking, applying, pausing and resuming a document.
 */
import type { Command } from 'commander';
import type { Problem } from '../../core/errors.js';
import type { StoredPolicy } from '../answers.js';
import type { Session } from '../session.js';
import { readStructured } from '../structured-file.js';
import { printable, table } from '../table.js';

export function register(program: Command, session: Session): void {
  const policies = program.command('policies').addHelpText(
    'after',
    `
A document says which policy applies to which teams, and how far it may go:
  name: research-brake
  policy: budget-brake
  teams: [research]          # or '*'
  mode: recommend            # observe, recommend, approve or enforce
  params: { restartHours: 0.5 }
  priority: 10
Enforcing needs a backtest of the same policy and parameters (bursar backtest policy), or a reason why not.

Examples:
  bursar policies
  bursar policies validate brake.yaml
  bursar policies apply brake.yaml
  bursar policies pause research-brake`,
  );

  policies
    .command('list', { isDefault: true })
    .description('List every policy, and the current documents.')
    .action(async () => {
      const { policies: all, documents } = await (await session.client()).policies.list();
      session.print({ policies: all, documents }, () =>
        [
          table(
            ['policy', 'version', 'what it does'],
            all.map((p) => [p.name, p.version, p.description]),
          ),
          'Current documents',
          table(['name', 'policy', 'teams', 'mode', 'priority', 'state', 'changed by'], documents.map(row)),
        ].join('\n'),
      );
    });

  policies
    .command('show')
    .description('Show one document with all its parameters.')
    .argument('<name>', "the document's")
    .addHelpText('after', '\nExample:\n  bursar policies show idle-stop')
    .action(async (name: string) => {
      const document = await (await session.client()).policies.show(name);
      session.print(
        { document },
        () => `${table(TITLES, [row(document)])}${printable(JSON.stringify(document.params))}\n`,
      );
    });

  addValidate(policies, session);
  addApply(policies, session);
  addPauseAndResume(policies, session);
}

function addValidate(policies: Command, session: Session): void {
  policies
    .command('validate')
    .description('Check a document and name every problem. Changes nothing.')
    .argument('<file>', 'YAML or JSON')
    .addHelpText('after', '\nExample:\n  bursar policies validate brake.yaml')
    .action(async (file: string) => {
      const value = await readStructured(file, session.context.parseYaml);
      const checked = await (await session.client()).policies.validate(value);
      if (!checked.valid) session.reportFinding();
      session.print(checked, () =>
        checked.valid ? `${printable(file)} is a valid policy document.\n` : problemsText(file, checked.problems),
      );
    });
}

function addApply(policies: Command, session: Session): void {
  policies
    .command('apply')
    .description('Apply a document. Applying the same document again changes nothing.')
    .argument('<file>', 'YAML or JSON')
    .option('--without-backtest <reason>', 'let it enforce without a backtest; the reason goes into the audit')
    .addHelpText('after', '\nExample:\n  bursar policies apply brake.yaml')
    .action(async (file: string, { withoutBacktest }: { withoutBacktest?: string }) => {
      const value = await readStructured(file, session.context.parseYaml);
      const document = await (await session.client()).policies.apply(value, withoutBacktest ?? null);
      session.print(
        { document },
        () => `${document.name} is applied (version ${document.version}${document.paused ? ', paused' : ''}).\n`,
      );
    });
}

function addPauseAndResume(policies: Command, session: Session): void {
  for (const [verb, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    policies
      .command(verb)
      .description(paused ? 'Pause a document: it proposes nothing until it is resumed.' : 'Resume a paused document.')
      .argument('<name>', "the document's")
      .addHelpText('after', `\nExample:\n  bursar policies ${verb} research-brake`)
      .action(async (name: string) => {
        const document = await (await session.client()).policies.pause(name, paused);
        session.print(
          { document },
          () => `${document.name} ${document.paused ? 'is paused' : 'holds'} (version ${document.version}).\n`,
        );
      });
  }
}

const TITLES = ['name', 'policy', 'teams', 'mode', 'priority', 'state', 'changed by'];

const row = (document: StoredPolicy): (string | number | null)[] => [
  document.name,
  document.policy,
  document.teams === '*' ? 'all' : document.teams.join(', '),
  document.mode,
  document.priority,
  document.isDefault ? 'default' : document.paused ? 'paused' : 'holds',
  document.updatedBy,
];

const problemsText = (file: string, problems: readonly Problem[]): string =>
  [
    `${printable(file)} has ${problems.length} problem(s)`,
    ...problems.map(({ path, message }) => `  ${path === null ? '' : `${path} `}${message}`),
    '',
  ]
    .map((line) => printable(line))
    .join('\n');
