/**
 * bursar sessions: the signed-in users of the dashboard, and ending their sessions.
 */
import type { Command } from 'commander';
import type { Session } from '../session.js';
import { table } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface Whose {
  readonly of?: string;
  readonly mine?: true;
}

const OF = ['--of <who>', 'only of this user or key: user:ada, or key:0a1b2c3d4e5f'] as const;

export function register(program: Command, session: Session): void {
  const sessions = program
    .command('sessions')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar sessions\n  bursar sessions end 0a1b2c3d4e5f6071\n  bursar sessions end --of user:ada',
    );

  sessions
    .command('list', { isDefault: true })
    .description('List the active sessions.')
    .option(...OF)
    .option('--mine', 'only those that were opened with your own key')
    .addHelpText('after', '\nExample:\n  bursar sessions --of user:ada')
    .action(async (whose: Whose) => {
      checkOne(whose);
      const all = await (await session.client()).access.sessions(whose);
      session.print({ sessions: all }, () =>
        table(
          ['session', 'who', 'name', 'since', 'last used', 'ends', 'from', 'browser'],
          all.map((one) => [
            one.id,
            one.principal,
            one.name,
            one.startedAt,
            one.lastUsedAt,
            one.endsAt,
            one.address,
            one.agent,
          ]),
          'Nobody is signed in.\n',
        ),
      );
    });

  sessions
    .command('end')
    .description('End a session: at once in this process, elsewhere within five seconds. Its user can sign in again.')
    .argument('[id]', 'as sessions lists it')
    .option('--of <who>', 'all sessions of this user or key: user:ada, or key:0a1b2c3d4e5f')
    .option('--mine', 'only sessions opened with your own key: this one, or all')
    .addHelpText('after', '\nExample:\n  bursar sessions end --of user:ada')
    .action(async (id: string | undefined, whose: Whose) => {
      checkOne(whose);
      if (id !== undefined && whose.of !== undefined)
        throw new WrongUse('what to end is not clear', [{ path: '--of', message: 'cannot be combined with an id' }]);
      if (id === undefined && whose.of === undefined && whose.mine === undefined)
        throw new WrongUse('what to end is not clear', [
          { path: 'id', message: 'is missing: give an id, --of or --mine' },
        ]);
      const ended = await (await session.client()).access.endSessions({
        ...whose,
        ...(id === undefined ? {} : { id }),
      });
      session.print({ ended }, () => (ended.length === 0 ? 'There was none.\n' : `Ended: ${ended.join(', ')}\n`));
    });
}

function checkOne({ of, mine }: Whose): void {
  if (of !== undefined && mine !== undefined)
    throw new WrongUse('whose sessions is not clear', [{ path: '--mine', message: 'cannot be combined with --of' }]);
}
