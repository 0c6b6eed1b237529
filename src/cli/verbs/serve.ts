/**
 * bursar serve, migrate, restored: the running processes, their schema, and a person's report of a restored database.
 * Local only.
 */
import { Option, type Command } from 'commander';
import { ROLES_OF_SERVE, WHOLE, type Role } from '../context.js';
import { userName, type Session } from '../session.js';

export function register(program: Command, session: Session): void {
  program
    .command('serve')
    .addOption(new Option('--role <role>', 'what this process does').choices(ROLES_OF_SERVE).default('all'))
    .addHelpText(
      'after',
      `
Without DATABASE_URL an embedded PostgreSQL is started in BURSAR_DATA_DIR. If it is empty, the example is loaded
(unless BURSAR_EXAMPLE=off).

Example:
  bursar serve
  DATABASE_URL=postgres://... bursar serve --role worker`,
    )
    .action(async ({ role }: { role: Role }) => {
      await session.context.serve(role);
      session.print({ role, stopped: true }, () => '');
    });

  program
    .command('migrate')
    .addHelpText(
      'after',
      `
Safe to repeat: a migration that has run is not run again. serve does the same before it starts.

Example:
  bursar migrate`,
    )
    .action(async () => {
      const migrations = await (await session.own({ ...WHOLE, migrate: false })).migrate();
      session.print({ migrations }, () =>
        migrations.length === 0 ? 'The schema is up to date.\n' : migrations.map((name) => `ran ${name}\n`).join(''),
      );
    });
  addRestored(program, session);
}

function addRestored(program: Command, session: Session): void {
  program
    .command('restored')
    .addHelpText(
      'after',
      `
Bursar itself detects a restored dump, a server that continued from its write-ahead log, and a copied data folder. It
cannot detect that a whole disk was restored: run this verb before you start bursar serve again. It then turns the
kill switch on, refuses approved actions, and ends sessions.

Example:
  bursar restored
  bursar stop-all --lift`,
    )
    .action(async () => {
      const refused = await (await session.own({ ...WHOLE, parts: false })).restored(userName());
      session.print(
        { refused },
        () =>
          `The kill switch is on for everything. Approved actions that are not carried out: ${refused.length === 0 ? 'none' : refused.join(', ')}.\n`,
      );
    });
}
