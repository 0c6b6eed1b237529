/**
 * The checks of doctor, in parallel: the configuration, the parts with their clouds, and the database. Only the verb
 * doctor loads it, because no other verb needs code that knows the database's tables.
 */
import { Failure, type Problem } from '../../core/errors.js';
import type { InstalledPart } from '../../core/installed.js';
import { Api } from '../client/api.js';
import { HttpTransport } from '../client/http.js';
import type { CliContext, LocalBursar } from '../context.js';
import type { Session } from '../session.js';
import { WrongUse } from '../usage-error.js';
import { examineParts, type Permission } from './connections.js';
import { attend, ok, wrong, type Finding } from './finding.js';
import { disk, examineDatabase, FLEET, redis } from './installation.js';
import { examineServer } from './server.js';
import { settingStates, unknownSettings, type SettingState } from './settings.js';

export interface Report {
  readonly findings: readonly Finding[];
  readonly settings: readonly SettingState[];
  readonly permissions: readonly Permission[];
}

/** The checks of a server from outside; this machine's database is not touched. */
export async function examineRemote({ context, progress }: Session, seconds: number): Promise<Report> {
  const { remote, environment, examination } = context;
  if (remote === null) throw new Error('broken invariant: no server is named');
  const problems = wrongSettingsOf((await examination?.configuration())?.problems ?? []);
  const names = ['BURSAR_URL', 'BURSAR_API_KEY'].filter((name) => environment[name]);
  const settings = problems.length > 0 ? problems : [ok('configuration', `set: ${names.join(', ')}`)];
  const api = new Api(new HttpTransport(remote));
  progress.show(`asking ${remote.url}, for ${seconds} s an answer at most`);
  return {
    findings: [...settings, ...(await examineServer(api, remote.url, context.clock, seconds))],
    settings: [],
    permissions: [],
  };
}

/** Everything that doctor looks at. What is wrong in one place keeps nothing else from being looked at. */
export async function examine(session: Session, seconds: number): Promise<Report> {
  const { context } = session;
  session.progress.show('reading the settings');
  const read = (await context.examination?.configuration()) ?? { settings: [], problems: [] };
  const parts = (await context.examination?.parts()) ?? null;
  try {
    const settings = settingStates(context.environment, read.settings, read.problems, parts ?? []);
    const own = [
      ...configuration(context, settings, read.problems),
      ...(context.examination === undefined ? [] : unknownSettings(context.environment, settings)),
      await disk(context),
    ];
    session.progress.show(`asking each cloud, source and channel, for ${seconds} s at most, and the database`);
    // Side by side: a cloud that does not answer holds up nothing.
    const [connections, installation] = await Promise.all([
      examineParts(parts ?? [], context.clock, seconds),
      local(session, parts, read.problems),
    ]);
    // A fleet that another process reads is connected there.
    const none =
      parts !== null &&
      installation.every(({ check }) => !check.startsWith(FLEET)) &&
      parts.every(
        ({ kind, connection, problems }) => kind !== 'provider' || (connection === null && problems.length === 0),
      );
    const clouds = none ? [ok('providers', 'none is set up: usage, bills and prices come by import')] : [];
    return {
      findings: [...own, ...installation, ...clouds, ...connections.findings],
      settings,
      permissions: connections.permissions,
    };
  } finally {
    await Promise.allSettled((parts ?? []).map(({ connection }) => connection?.close?.()));
  }
}

function configuration(
  { environment, remote }: CliContext,
  settings: readonly SettingState[],
  problems: readonly Problem[],
): Finding[] {
  if (problems.length > 0) return wrongSettingsOf(problems);
  const set = settings.filter(({ name }) => environment[name]).map(({ name }) => name);
  const detail = set.length === 0 ? 'every setting has its default' : `set: ${set.join(', ')}`;
  return [
    remote === null
      ? ok('configuration', detail)
      : attend('configuration', detail, 'most verbs use BURSAR_URL, while doctor --local examines this machine'),
  ];
}

const wrongSettingsOf = (problems: readonly Problem[]): Finding[] =>
  problems.map(({ path, message }) =>
    wrong('configuration', `${path ?? ''} ${message}`.trim(), 'correct the environment variable'),
  );

/** This machine's database; where it cannot be had, why, and what can be looked at without it. */
async function local(
  session: Session,
  parts: readonly InstalledPart[] | null,
  problems: readonly Problem[],
): Promise<Finding[]> {
  const { context } = session;
  let bursar: LocalBursar;
  try {
    bursar = await session.local({ migrate: false, parts: false });
  } catch (error) {
    // What is wrong with the configuration stands there already, where it was looked at.
    if (error instanceof WrongUse) return problems.length > 0 ? [] : wrongSettingsOf(error.problems);
    if (!(error instanceof Failure)) throw error;
    const embedded = !context.environment['DATABASE_URL'];
    const away = wrong(
      'database',
      error.message,
      embedded
        ? 'check BURSAR_DATA_DIR: its owner and its log'
        : 'start the server that DATABASE_URL names, or correct the variable',
    );
    const queue = await redis(context);
    return queue === null ? [away] : [away, queue];
  }
  const connected =
    parts?.flatMap(({ kind, connection }) => (kind === 'provider' && connection !== null ? [connection.name] : [])) ??
    null;
  return examineDatabase(bursar, context, connected);
}
