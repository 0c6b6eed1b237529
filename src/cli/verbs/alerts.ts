/**
 * bursar alerts, mutes: the alerts and their destinations; acknowledging one, testing the channels, and muting some for
 * a while.
 */
import { Option, type Command } from 'commander';
import {
  ALERT_KINDS,
  ALERT_STATES,
  SEVERITIES,
  type AlertKind,
  type AlertState,
  type Severity,
} from '../../core/alert/alert.js';
import { formatInstant } from '../../core/time.js';
import type { Alert, AlertStory, Mute } from '../answers.js';
import { instant, whole } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

interface Flags {
  readonly team?: string;
  readonly kind?: AlertKind;
  readonly state?: AlertState;
  readonly limit: number;
}

export function register(program: Command, session: Session): void {
  addAlerts(program, session);
  addMutes(program, session);
}

function addAlerts(program: Command, session: Session): void {
  const alerts = program
    .command('alerts')
    .argument('[alert]', 'show this one')
    .option('--team <team>', 'only of this team')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(ALERT_KINDS))
    .addOption(
      new Option('--state <state>', 'open: it waits for an answer; silent: nobody is told').choices(ALERT_STATES),
    )
    .option('--limit <n>', 'at most this many', whole, 100)
    .addHelpText(
      'after',
      '\nExamples:\n  bursar alerts --state open\n  bursar alerts alr-0123456789abcdef --json\n  bursar alerts test',
    )
    .action(async (id: string | undefined, { team, kind, state, limit }: Flags) => {
      const client = (await session.client()).alerts;
      if (id !== undefined) {
        const alert = await client.show(id);
        session.print({ alert }, () => storyText(alert));
        return;
      }
      const list = await client.list({ team: team ?? null, kind: kind ?? null, state: state ?? null }, limit);
      session.print({ alerts: list }, () => table(TITLES, list.map(row), 'There are no alerts.\n'));
    });
  alerts
    .command('acknowledge')
    .description(
      'Acknowledge an alert: it is not escalated. An alert that asks for a decision is approved or rejected instead.',
    )
    .argument('<alert>', 'as alerts lists it')
    .addHelpText('after', '\nExample:\n  bursar alerts acknowledge alr-0123456789abcdef')
    .action(async (id: string) => {
      const alert = await (await session.client()).alerts.acknowledge(id);
      session.print({ alert }, () => table(TITLES, [row(alert)]));
    });
  alerts
    .command('test')
    .description('Send a test alert to where alerts go, and show the result.')
    .addHelpText('after', '\nExample:\n  bursar alerts test')
    .action(async () => {
      const alert = await (await session.client()).alerts.test();
      session.print({ alert }, () => storyText(alert));
      if (alert.deliveries.length === 0 || alert.deliveries.some(({ state }) => state !== 'sent'))
        session.reportFinding();
    });
}

interface MuteFlags {
  readonly team?: string;
  readonly kind?: AlertKind;
  readonly thread?: string;
  readonly upTo?: Severity;
  readonly until: number;
  readonly reason: string;
}

/** A group of its own: what `alerts` takes for its list would be taken from its verbs. */
function addMutes(program: Command, session: Session): void {
  const mutes = program.command('mutes').addHelpText(
    'after',
    `
Alerts that are made meanwhile are kept, but never sent, not even later.

Examples:
  bursar mutes
  bursar mutes set --team research --until 2026-12-01T08:00:00Z --reason "a planned migration"
  bursar mutes lift mute-0123456789abcdef`,
  );
  mutes
    .command('list', { isDefault: true })
    .description('List the current mutes.')
    .action(async () => {
      const all = await (await session.client()).alerts.mutes();
      session.print({ mutes: all }, () => mutesText(all));
    });
  mutes
    .command('set')
    .description('Mute alerts for a while.')
    .option('--team <team>', 'only of this team')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(ALERT_KINDS))
    .option('--thread <thread>', 'only alerts of this thread, as an alert states it')
    .addOption(new Option('--up-to <severity>', 'only of this severity and below').choices(SEVERITIES))
    .requiredOption('--until <time>', 'its end', instant)
    .requiredOption('--reason <reason>', 'why, for the others')
    .addHelpText(
      'after',
      '\nExample:\n  bursar mutes set --kind price --until 2026-12-01 --reason "the list is being renewed"',
    )
    .action(async ({ team, kind, thread, upTo, until, reason }: MuteFlags) => {
      const mute = await (await session.client()).alerts.mute({
        team: team ?? null,
        kind: kind ?? null,
        thread: thread ?? null,
        upTo: upTo ?? null,
        until: formatInstant(until),
        reason,
      });
      session.print({ mute }, () => mutesText([mute]));
    });
  mutes
    .command('lift')
    .description('Lift a mute.')
    .argument('<mute>', 'as mutes lists it')
    .addHelpText('after', '\nExample:\n  bursar mutes lift mute-0123456789abcdef')
    .action(async (id: string) => {
      const mute = await (await session.client()).alerts.unmute(id);
      session.print({ mute }, () => `${mute.id} is lifted.\n`);
    });
}

const mutesText = (mutes: readonly Mute[]): string =>
  table(
    ['id', 'team', 'kind', 'thread', 'until', 'up to', 'by', 'why'],
    mutes.map(({ id, team, kind, thread, until, upTo, by, reason }) => [
      id,
      team ?? 'all',
      kind ?? 'all',
      thread ?? 'all',
      until,
      upTo ?? 'all',
      by,
      reason,
    ]),
    'Nothing is muted.\n',
  );

const TITLES = ['id', 'at', 'severity', 'kind', 'team', 'state', 'what', 'answered by'];

const row = ({ id, madeAt, severity, kind, team, state, silence, title, answer }: Alert): (string | null)[] => [
  id,
  madeAt.slice(0, 16),
  severity,
  kind,
  team,
  silence === null ? state : `${state} (${silence})`,
  title,
  answer === null ? null : `${answer.by} (${answer.what})`,
];

const storyText = (alert: AlertStory): string =>
  `${table(TITLES, [row(alert)])}\n${table(
    ['channel', 'address', 'part', 'step', 'state', 'sent at', 'problem'],
    alert.deliveries.map(({ channel, address, part, level, state, sentAt, problem }) => [
      channel,
      address,
      part,
      level,
      state,
      sentAt,
      problem,
    ]),
    'It was sent nowhere.\n',
  )}`;
