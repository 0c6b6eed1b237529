/** bursar keys, bursar audit: who may call the API, and who did what. A key's text is printed once, when it is made. */
import { Option, type Command } from 'commander';
import { ROLES, type Role } from '../../store/access/keys.js';
import { count, repeated } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

const MOST_LISTED = 100;

export function addKeys(program: Command, session: Session): void {
  const keys = program
    .command('keys')
    .description('List the API keys; make or revoke one.')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar keys\n  bursar keys create grafana --role viewer --team research\n  bursar keys revoke 0a1b2c3d4e5f',
    );

  keys
    .command('list', { isDefault: true })
    .description('List the keys, revoked ones too. Their texts are not kept.')
    .action(async () => {
      const all = await (await session.door()).keys();
      session.print({ keys: all }, () =>
        table(
          ['key', 'name', 'role', 'teams', 'made', 'last used', 'revoked'],
          all.map((k) => [k.id, k.name, k.role, k.teams?.join(', ') ?? 'all', k.createdAt, k.lastUsedAt, k.revokedAt]),
        ),
      );
    });

  keys
    .command('create')
    .description('Make a key and print it, once.')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator works, admin does everything')
        .choices(ROLES)
        .default('viewer'),
    )
    .option('--team <team>', 'only for this team and those below it; may be repeated', repeated)
    .addHelpText('after', '\nExample:\n  bursar keys create grafana --role viewer')
    .action(async (name: string, { role, team }: { role: Role; team?: string[] }) => {
      const key = await (await session.door()).createKey({ name, role, teams: team ?? null });
      session.print({ key }, () => `${key.text}\n`);
      if (!session.json) session.note(`This is key ${key.id} (${key.role}). Keep it now: only its hash is stored.`);
    });

  keys
    .command('revoke')
    .description('Refuse a key from now on.')
    .argument('<id>', 'as keys lists it')
    .addHelpText('after', '\nExample:\n  bursar keys revoke 0a1b2c3d4e5f')
    .action(async (id: string) => {
      const key = await (await session.door()).revokeKey(id);
      session.print({ key }, () => `Key ${key.id} (${key.name}) is revoked.\n`);
    });

  program
    .command('audit')
    .description('List who did what, newest first.')
    .option('--limit <n>', 'at most so many', count, MOST_LISTED)
    .addHelpText('after', '\nExample:\n  bursar audit --limit 20')
    .action(async ({ limit }: { limit: number }) => {
      const audit = await (await session.door()).audit(limit);
      session.print({ audit }, () =>
        table(
          ['at', 'who', 'what', 'target', 'detail'],
          audit.map((a) => [
            a.at,
            a.actor,
            a.verb,
            a.target,
            Object.keys(a.detail).length === 0 ? null : JSON.stringify(a.detail),
          ]),
        ),
      );
    });
}
