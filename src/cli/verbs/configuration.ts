/**
 * bursar diff, apply and export: budgets as code. A folder of YAML states the wanted configuration; the plan is shown
 * first, and exactly the shown plan is applied, all or nothing.
 */
import type { Command } from 'commander';
import { canonical, type Section } from '../../core/changes.js';
import { Failure, invalid, type Problem } from '../../core/errors.js';
import { ApiFailure } from '../client/api.js';
import type { ConfigurationChange, ConfigurationPlan } from '../answers.js';
import type { Folder } from '../configuration-folder.js';
import type { Session } from '../session.js';
import { printable } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface PlanFlags {
  readonly file: string;
  readonly prune: boolean;
}

interface ApplyFlags extends PlanFlags {
  readonly yes: boolean;
  readonly withoutBacktest?: string;
}

const SOURCE = 'a folder of YAML files, or one file';

export function register(program: Command, session: Session): void {
  program
    .command('diff')
    .requiredOption('-f, --file <path>', SOURCE)
    .option('--prune', 'also remove what a section of the folder does not name', false)
    .addHelpText(
      'after',
      `
A section that no file has is left unchanged. The exit code is 1 if there is something to change, otherwise 0.

Examples:
  bursar diff -f bursar/
  bursar diff -f budgets.yaml`,
    )
    .action(async ({ file, prune }: PlanFlags) => {
      const folder = await read(file);
      const plan = await planned(session, folder, prune);
      if (plan.changes.length > 0) session.exitCode = 1;
      session.print(plan, () => planText(plan));
    });
  addApply(program, session);
  program
    .command('export')
    .requiredOption('-f, --file <path>', 'a folder, or one file (.yaml); files of the same names are overwritten')
    .addHelpText('after', '\nExamples:\n  bursar export -f bursar/\n  bursar export -f bursar.yaml')
    .action(async ({ file }: { file: string }) => {
      const configuration = await (await session.client()).configuration.get();
      const { writeFolder } = await import('../configuration-folder.js');
      const { folder, files } = await writeFolder(file, configuration);
      const said = files.length === 1 ? `${file} is written.` : `${files.join(', ')} are written to ${folder}.`;
      session.print({ folder, files }, () => `${printable(said)}\n`);
    });
}

function addApply(program: Command, session: Session): void {
  program
    .command('apply')
    .requiredOption('-f, --file <path>', SOURCE)
    .option('--prune', 'also remove what a section of the folder does not name', false)
    .option('--yes', 'do not ask', false)
    .option('--without-backtest <reason>', 'let policies enforce without a backtest; the reason goes into the audit')
    .addHelpText(
      'after',
      `
If somebody changes the configuration between the plan and the apply, nothing is applied. A policy document that is
removed is paused instead, because actions refer to it.

Examples:
  bursar apply -f bursar/
  bursar apply -f bursar/ --prune --yes`,
    )
    .action(async ({ file, prune, yes, withoutBacktest }: ApplyFlags) => {
      const folder = await read(file);
      const plan = await planned(session, folder, prune);
      if (plan.changes.length === 0)
        return session.print({ ...plan, applied: true }, () => 'There is nothing to change.\n');
      if (!yes && !(await agreed(session, plan))) {
        session.exitCode = 1;
        return session.print({ ...plan, applied: false }, () => 'Nothing was applied.\n');
      }
      if (yes) session.context.stderr.write(planText(plan));
      const override = withoutBacktest ?? null;
      const { configuration } = await session.client();
      const done = await configuration
        .apply(folder.configuration, { prune, replaces: plan.revision, override })
        .catch((error: unknown) => {
          throw located(error, folder);
        });
      session.print(
        { ...done, applied: true },
        () =>
          `Applied: ${countText(done.changes).replaceAll('to add', 'added').replaceAll('to change', 'changed').replaceAll('to remove', 'removed')}.\n`,
      );
    });
}

async function read(file: string): Promise<Folder> {
  return (await import('../configuration-folder.js')).readFolder(file);
}

async function planned(session: Session, folder: Folder, prune: boolean): Promise<ConfigurationPlan> {
  const { configuration } = await session.client();
  const plan = await configuration.plan(folder.configuration, prune).catch((error: unknown) => {
    throw located(error, folder);
  });
  if (folder.problems.length > 0) throw wrongFolder(folder.problems);
  return plan;
}

/** The plan is shown where the question is asked: beside the answer. */
async function agreed({ context, json }: Session, plan: ConfigurationPlan): Promise<boolean> {
  if (context.ask === undefined || json)
    throw new WrongUse('there is no terminal to ask on: look at bursar diff, then use --yes');
  context.stderr.write(planText(plan));
  return /^y(es)?$/i.test((await context.ask('Apply this? (yes or no) ')).trim());
}

/** Of the files, and of what they say. */
const wrongFolder = (problems: readonly Problem[]): Failure =>
  invalid(`the folder has ${problems.length} problem(s)`, problems);

/** A failure of the API with each problem at the file and line that it comes of. */
function located(error: unknown, folder: Folder): unknown {
  if (!(error instanceof ApiFailure)) return error;
  const problems = error.problems.map(({ path, message }) => {
    const own = path?.replace(/^configuration\/?/, '') ?? '';
    const place = own === '' ? null : folder.placeOf(own);
    return place === null ? { path, message } : { path: `${place}:`, message: `${own} ${message}` };
  });
  if (error.kind === 'invalid')
    return folder.problems.length > 0
      ? wrongFolder([...folder.problems, ...problems])
      : invalid(error.message, problems);
  return new Failure(error.kind, error.message, problems);
}

const MARKS: Readonly<Record<ConfigurationChange['kind'], string>> = { add: '+', change: '~', remove: '-' };
const NAMES: Readonly<Record<Section, string>> = {
  teams: 'team',
  rules: 'rules',
  peak: 'peak',
  limits: 'limits',
  budgets: 'budget',
  policies: 'policy',
  routes: 'routes',
};

function planText({ changes }: ConfigurationPlan): string {
  if (changes.length === 0) return 'There is nothing to change.\n';
  const lines = changes.flatMap((change) => [
    `${MARKS[change.kind]} ${NAMES[change.section]}${change.id === null ? '' : ` ${change.id}`}${change.section === 'policies' && change.kind === 'remove' ? ' (is paused)' : ''}`,
    ...detailOf(change).map((line) => `    ${line}`),
  ]);
  return `${lines.map(printable).join('\n')}\n\n${countText(changes)}\n`;
}

/** The fields that differ. */
function detailOf({ kind, before, after }: ConfigurationChange): string[] {
  if (kind === 'remove') return [];
  const [old, wanted] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(wanted)])]
    .filter((name) => canonical(old[name]) !== canonical(wanted[name]))
    .map((name) => {
      const [from, to] = [old[name], wanted[name]].map((value) => (value === undefined ? null : canonical(value)));
      return from === null ? `+ ${name}: ${to}` : to === null ? `- ${name}: ${from}` : `~ ${name}: ${from} -> ${to}`;
    });
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  value === null || value === undefined
    ? {}
    : Array.isArray(value)
      ? Object.fromEntries(value.map((item, at) => [`[${at}]`, item as unknown]))
      : (value as Readonly<Record<string, unknown>>);

function countText(changes: readonly ConfigurationChange[]): string {
  const count = (kind: ConfigurationChange['kind']): number => changes.filter((one) => one.kind === kind).length;
  return `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove`;
}
