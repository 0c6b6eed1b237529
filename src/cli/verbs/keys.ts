/** bursar keys, bursar roles: who may call the API. A key's text is printed once, when it is made or rotated. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { CUSTOM_ROLE, isRole, ROLES, SCOPES, SCOPE_TEXTS, type Scope } from '../../core/scopes.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, formatInstant, parseInstant } from '../../core/time.js';
import type { CreatedKey } from '../answers.js';
import { completedBy } from '../completing.js';
import { repeated } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Milliseconds of `30m`, `24h`, `90d`; null for another text. */
function spanOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  return number === undefined ? null : Number(number) * (UNITS[unit] ?? 0);
}

function overlap(text: string): number {
  const span = text === '0' ? 0 : spanOf(text);
  if (span === null) throw new InvalidArgumentError('It is not a duration: write 0, 30m, 24h or 7d.');
  return span / 1000;
}

/** An instant, or how long from now on. */
type Expiry = { readonly at: number } | { readonly after: number };

function expiry(text: string): Expiry {
  const after = spanOf(text);
  if (after !== null) return { after };
  const at = parseInstant(text);
  if (at === null)
    throw new InvalidArgumentError('It is neither a time nor a duration: write 90d or 2026-12-01T12:00:00Z.');
  return { at };
}

function readRole(text: string): string {
  if (!isRole(text) && !CUSTOM_ROLE.test(text))
    throw new InvalidArgumentError(`It is none of ${ROLES.join(', ')} and no custom:<name>.`);
  return text;
}

function readScope(text: string, before: readonly string[] | undefined): string[] {
  if (!(SCOPES as readonly string[]).includes(text))
    throw new InvalidArgumentError(`It is none of ${SCOPES.join(', ')}.`);
  return repeated(text, before);
}

const scopeFlag = (): Option =>
  completedBy(new Option('--scope <scope>', 'what it may do; may be repeated').argParser(readScope), { words: SCOPES });

const SCOPES_HELP = `\nScopes:\n${SCOPES.map((scope) => `  ${scope.padEnd(14)} ${SCOPE_TEXTS[scope]}`).join('\n')}\n`;

interface CreateOptions {
  readonly role?: string;
  readonly scope?: Scope[];
  readonly team?: string[];
  readonly owner?: string;
  readonly expires?: Expiry;
}

export function register(program: Command, session: Session): void {
  addKeys(program, session);
  addRoles(program, session);
}

function addKeys(program: Command, session: Session): void {
  const keys = program
    .command('keys')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar keys\n  bursar keys create grafana --role viewer --team research\n  bursar keys create meter --scope usage:write --expires 90d --owner platform\n  bursar keys rotate 0a1b2c3d4e5f --overlap 24h\n  bursar keys revoke 0a1b2c3d4e5f',
    );

  keys
    .command('list', { isDefault: true })
    .description('List the keys, also the revoked ones. The texts of the keys are not stored.')
    .action(async () => {
      const all = await (await session.client()).access.keys();
      session.print({ keys: all }, () =>
        table(
          ['key', 'name', 'role', 'scopes', 'teams', 'owner', 'made', 'expires', 'last used', 'revoked'],
          all.map((k) => [
            k.id,
            k.name,
            k.role,
            k.scopes.join(' '),
            k.teams?.join(', ') ?? 'all',
            k.owner,
            k.createdAt,
            k.expiresAt,
            k.lastUsedAt,
            k.revokedAt,
          ]),
        ),
      );
    });

  addCreate(keys, session);

  keys
    .command('rotate')
    .description('Give a key a new secret and print it once. Nothing else of the key changes.')
    .argument('<id>', 'as keys lists it')
    .option('--overlap <while>', 'how long the old secret is accepted too: 0, 30m, 24h, 7d', overlap, 86_400)
    .addHelpText('after', '\nExample:\n  bursar keys rotate 0a1b2c3d4e5f --overlap 24h')
    .action(async (id: string, { overlap: seconds }: { overlap: number }) =>
      printKey(session, await (await session.client()).access.rotateKey(id, seconds)),
    );

  keys
    .command('revoke')
    .description('Revoke a key: it is refused from now on.')
    .argument('<id>', 'as keys lists it')
    .addHelpText('after', '\nExample:\n  bursar keys revoke 0a1b2c3d4e5f')
    .action(async (id: string) => {
      const key = await (await session.client()).access.revokeKey(id);
      session.print({ key }, () => `Key ${key.id} (${key.name}) is revoked.\n`);
    });
}

function addCreate(keys: Command, session: Session): void {
  keys
    .command('create')
    .description('Create a key and print it once. Without --role and --scope it is a viewer.')
    .argument('<name>', 'what it is for')
    .addOption(
      completedBy(
        new Option('--role <role>', 'viewer reads, operator works, admin does everything; or custom:<name>').argParser(
          readRole,
        ),
        { words: ROLES },
      ),
    )
    .addOption(scopeFlag().conflicts('role'))
    .option('--team <team>', 'only for this team and those below it; may be repeated', repeated)
    .option('--owner <who>', 'who is responsible for it')
    .option('--expires <when>', 'when it expires: 90d, or 2026-12-01T12:00:00Z', expiry)
    .addHelpText('after', `${SCOPES_HELP}\nExample:\n  bursar keys create meter --scope usage:write --expires 90d`)
    .action(async (name: string, options: CreateOptions) => {
      const { scope: scopes = null, team, owner = null, expires } = options;
      const now = session.context.clock.now();
      printKey(
        session,
        await (await session.client()).access.createKey({
          name,
          role: scopes === null ? (options.role ?? 'viewer') : null,
          scopes,
          teams: team ?? null,
          owner,
          expiresAt: expires === undefined ? null : formatInstant('at' in expires ? expires.at : now + expires.after),
        }),
      );
    });
}

/** Prints the text of a key alone on the output, so that it can be piped; what to know of it is a note. */
function printKey(session: Session, key: CreatedKey): void {
  session.print({ key }, () => `${key.text}\n`);
  if (!session.json)
    session.note(`This is key ${key.id} (${key.role ?? key.scopes.join(' ')}). Keep it now: only its hash is stored.`);
}

function addRoles(program: Command, session: Session): void {
  const roles = program
    .command('roles')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar roles\n  bursar roles set custom:buyer --scope read --scope approve\n  bursar roles remove custom:buyer',
    );

  roles
    .command('list', { isDefault: true })
    .description('List the roles with their scopes: the three built-in ones, and the custom ones.')
    .action(async () => {
      const all = await (await session.client()).access.roles();
      session.print({ roles: all }, () =>
        table(
          ['role', 'scopes', 'description', 'set by'],
          all.map(({ name, scopes, description, updatedBy }) => [name, scopes.join(' '), description, updatedBy]),
        ),
      );
    });

  roles
    .command('set')
    .description('Set a custom role. It takes effect for its holders within five seconds.')
    .argument('<name>', 'custom:<name>', readRole)
    .addOption(scopeFlag())
    .option('--description <text>', 'what it is for')
    .addHelpText('after', `${SCOPES_HELP}\nExample:\n  bursar roles set custom:buyer --scope read --scope approve`)
    .action(async (name: string, { scope, description }: { scope?: Scope[]; description?: string }) => {
      const saved = await (await session.client()).access.saveRole(name, {
        scopes: scope ?? [],
        description: description ?? null,
      });
      session.print({ role: saved }, () => `Role ${saved.name} has ${saved.scopes.join(', ')}.\n`);
    });

  roles
    .command('remove')
    .description('Remove a custom role that no key has.')
    .argument('<name>', 'as roles lists it')
    .addHelpText('after', '\nExample:\n  bursar roles remove custom:buyer')
    .action(async (name: string) => {
      const removed = await (await session.client()).access.removeRole(name);
      session.print({ role: removed }, () => `Role ${removed.name} is removed.\n`);
    });
}
