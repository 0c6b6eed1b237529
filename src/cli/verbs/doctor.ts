/**
 * bursar doctor: the health of this installation; each finding with its remedy. Reads only. If the verbs use a server,
 * doctor checks that server from outside, and this machine's database only with --local.
 *
 * Settings are named, never shown. A finding that is wrong makes the exit code 1; one that needs attention does not. A
 * fault in one place does not prevent the other checks.
 */
import { Option, type Command } from 'commander';
import type { Report } from '../doctor/examine.js';
import { count } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

const ANSWER_SECONDS = 20;

export function register(program: Command, session: Session): void {
  program
    .command('doctor')
    .addOption(
      new Option('--wait <seconds>', 'longest wait for an answer of a provider, a source or a channel')
        .argParser(count)
        .default(ANSWER_SECONDS),
    )
    .option('--local', "check this machine's installation, even if the verbs go to a server", false)
    .addHelpText(
      'after',
      `
With BURSAR_URL or a sign-in it checks the server: whether it answers and is ready, the key, and its line. It names
settings, but never shows their values. It asks each cloud for its machines, each source for its last minutes, and
each channel whether it accepts its settings. It changes nothing, and sends nobody a message. The exit code is 1 if
something is wrong.

Example:
  bursar doctor`,
    )
    .action(async ({ wait, local }: { wait: number; local: boolean }) => {
      const { examine, examineRemote } = await import('../doctor/examine.js');
      const isHere = local || session.context.remote === null;
      const report = await (isHere ? examine : examineRemote)(session, wait);
      const isWell = report.findings.every(({ status }) => status !== 'wrong');
      if (!isWell) session.reportFinding();
      session.print({ ok: isWell, ...report }, () => textOf(report));
    });
}

function textOf({ findings, settings, permissions }: Report): string {
  const troubles = settings.filter(({ state }) => state === 'missing' || state === 'wrong');
  return [
    table(
      ['check', 'status', 'finding'],
      findings.map((f) => [f.check, f.status, f.detail]),
    ),
    ...findings.flatMap(({ check, remedy }) => (remedy === null ? [] : [`${check}: ${remedy}\n`])),
    ...(troubles.length === 0
      ? []
      : [
          '\n',
          table(
            ['setting', 'of', 'state'],
            troubles.map((s) => [s.name, s.of, s.state]),
          ),
        ]),
    ...(permissions.length === 0
      ? []
      : [
          '\n',
          table(
            ['connection', 'may', 'checked', 'permissions'],
            permissions.map((p) => [
              p.connection,
              p.ability,
              p.checked,
              p.each
                .map(({ permission, checked }) => (checked === p.checked ? permission : `${permission} (${checked})`))
                .join(', '),
            ]),
          ),
        ]),
  ].join('');
}
