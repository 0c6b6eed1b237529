/**
 * bursar slack-users: whose rights a person has in Slack, who approves, acknowledges and mutes there. Each has those of
 * one key, for as long as that key holds.
 */
import { Option, type Command } from 'commander';
import type { SlackUser } from '../answers.js';
import { completedBy } from '../completing.js';
import type { Session } from '../session.js';
import { printable, table } from '../table.js';

const IDS = 'as Slack tells somebody who is not connected, such as';

export function register(program: Command, session: Session): void {
  const users = program.command('slack-users').addHelpText(
    'after',
    `
Examples:
  bursar slack-users
  bursar slack-users connect T0123ABCD U0123ABCD --key 5fad338c300e
  bursar slack-users disconnect T0123ABCD U0123ABCD`,
  );
  users
    .command('list', { isDefault: true })
    .description('List the people of Slack who are connected.')
    .action(async () => {
      const all = await (await session.client()).alerts.slackUsers();
      session.print({ slackUsers: all }, () => usersText(all));
    });
  users
    .command('connect')
    .description('Give a person of Slack the rights of a key, in place of those of another.')
    .argument('<workspace>', `${IDS} T0123ABCD`)
    .argument('<user>', `${IDS} U0123ABCD`)
    .addOption(
      completedBy(new Option('--key <id>', 'id of the key, as keys lists it').makeOptionMandatory(), {
        words: [],
        list: 'keys',
      }),
    )
    .addHelpText('after', '\nExample:\n  bursar slack-users connect T0123ABCD U0123ABCD --key 5fad338c300e')
    .action(async (workspace: string, user: string, { key }: { key: string }) => {
      const connected = await (await session.client()).alerts.connectSlackUser({ workspace, user }, key);
      session.print({ slackUser: connected }, () => usersText([connected]));
    });
  users
    .command('disconnect')
    .description('Take the rights of its key from a person of Slack.')
    .argument('<workspace>', 'as slack-users lists it')
    .argument('<user>', 'as slack-users lists it')
    .addHelpText('after', '\nExample:\n  bursar slack-users disconnect T0123ABCD U0123ABCD')
    .action(async (workspace: string, user: string) => {
      const gone = await (await session.client()).alerts.disconnectSlackUser({ workspace, user });
      session.print({ slackUser: gone }, () => `${printable(`${gone.workspace}/${gone.user}`)} is disconnected.\n`);
    });
}

const usersText = (users: readonly SlackUser[]): string =>
  table(
    ['workspace', 'user', 'key', 'name of the key', 'role', 'teams', 'state', 'connected by'],
    users.map(({ workspace, user, key, keyName, role, teams, isRevoked, madeBy }) => [
      workspace,
      user,
      key,
      keyName,
      role ?? 'scopes of its own',
      teams === null ? 'all' : teams.join(' '),
      isRevoked ? 'revoked: no rights' : 'holds',
      madeBy,
    ]),
    'Nobody of Slack is connected.\n',
  );
