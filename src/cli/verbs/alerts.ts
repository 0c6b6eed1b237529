/** bursar alerts: what people were told and where; and a test of the channels. */
import { Option, type Command } from 'commander';
import { ALERT_KINDS, ALERT_STATES, type AlertKind, type AlertState } from '../../core/alert.js';
import type { AlertJson, AlertStory } from '../../store/alert-json.js';
import { whole } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

interface Flags {
  readonly team?: string;
  readonly kind?: AlertKind;
  readonly state?: AlertState;
  readonly limit: number;
}

export function addAlerts(program: Command, session: Session): void {
  const alerts = program.command('alerts')
    .description('List alerts, newest first, or show one and where it went.')
    .argument('[alert]', 'show this one')
    .option('--team <team>', 'only of this team')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(ALERT_KINDS))
    .addOption(new Option('--state <state>', 'open: it waits for an answer; silent: nobody is told').choices(ALERT_STATES))
    .option('--limit <n>', 'at most so many', whole, 100)
    .addHelpText('after', '\nExamples:\n  bursar alerts --state open\n  bursar alerts alr-0123456789abcdef --json\n  bursar alerts test')
    .action(async (id: string | undefined, { team, kind, state, limit }: Flags) => {
      const door = (await session.door()).alerts;
      if (id !== undefined) {
        const alert = await door.show(id);
        session.print({ alert }, () => storyText(alert));
        return;
      }
      const list = await door.list({ team: team ?? null, kind: kind ?? null, state: state ?? null }, limit);
      session.print({ alerts: list }, () => (list.length === 0 ? 'Nothing was told.\n' : table(TITLES, list.map(row))));
    });
  alerts.command('test')
    .description('Send a test to where alerts go, and say what became of it.')
    .addHelpText('after', '\nExample:\n  bursar alerts test')
    .action(async () => {
      const alert = await (await session.door()).alerts.test();
      session.print({ alert }, () => storyText(alert));
      if (alert.deliveries.length === 0 || alert.deliveries.some(({ state }) => state !== 'sent')) session.found();
    });
}

const TITLES = ['id', 'at', 'severity', 'kind', 'team', 'state', 'what', 'answered by'];

const row = ({ id, madeAt, severity, kind, team, state, silence, title, answer }: AlertJson): (string | null)[] =>
  [id, madeAt.slice(0, 16), severity, kind, team, silence === null ? state : `${state} (${silence})`, title, answer === null ? null : `${answer.by} (${answer.what})`];

const storyText = (alert: AlertStory): string => `${table(TITLES, [row(alert)])}\n${alert.deliveries.length === 0 ? 'It went nowhere.\n'
  : table(['channel', 'address', 'part', 'step', 'state', 'sent at', 'problem'], alert.deliveries.map(({ channel, address, part, level, state, sentAt, problem }) => [channel, address, part, level, state, sentAt, problem]))}`;
