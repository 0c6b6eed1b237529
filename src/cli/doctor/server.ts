/**
 * Doctor's checks of a remote server: whether it runs and is ready, the caller's identity, the state of its line, and
 * the age of its fleets and their evidence. Uses the server's open routes and the key; touches nothing of this
 * machine's database, and calls no provider: `bursar doctor --local`, on the server, does.
 */
import type { Clock } from '../../core/time.js';
import type { Api } from '../client/api.js';
import { FleetClient } from '../client/fleet.js';
import { SignInClient } from '../client/sign-in.js';
import { grouped } from '../table.js';
import { attend, collectorFinding, ok, reasonOf, within, wrong, type Finding } from './finding.js';

interface Readiness {
  readonly status: 'ready' | 'not-ready';
  readonly database: boolean;
  readonly migrated: boolean;
  readonly failing: readonly { readonly name: string; readonly since: string; readonly failures: number }[];
  readonly queueAgeSeconds: number | null;
}

const MOST_LAG_SECONDS = 600;

/** One after the other, so that a server that is away is reported once. */
export async function examineServer(api: Api, url: string, clock: Clock, seconds: number): Promise<Finding[]> {
  try {
    await within(seconds, api.call('GET', '/healthz', { isOpen: true }));
  } catch (error) {
    return [wrong('server', reasonOf(error), 'start the server, or correct BURSAR_URL (bursar login)')];
  }
  const fleet = new FleetClient(api);
  const [ready, key, line] = await Promise.all([
    checked('readiness', () => readiness(api, seconds)),
    checked('key', () => identity(api, seconds)),
    checked('line', () => standing(api, seconds)),
  ]);
  const answers = [ok('server', `${url} answers`), ...ready, ...key, ...line];
  // Without a key that holds, what follows would only say so again.
  if (key.some(({ status }) => status === 'wrong')) return answers;
  const [fleets, evidence] = await Promise.all([
    checked('providers', () => providers(fleet, seconds)),
    checked('telemetry', () => telemetry(fleet, clock, seconds)),
  ]);
  return [...answers, ...fleets, ...evidence];
}

async function checked(check: string, examine: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await examine();
  } catch (error) {
    return [wrong(check, reasonOf(error), "look into the server's log")];
  }
}

async function readiness(api: Api, seconds: number): Promise<Finding[]> {
  // A server that is not ready says so with status 503 and the same document.
  const { database, migrated, failing, queueAgeSeconds } = await within(
    seconds,
    api.call<Readiness>('GET', '/readyz', { isOpen: true, also: [503] }),
  );
  if (!database) return [wrong('database', 'the server does not reach its database', 'start the database')];
  return [
    migrated ? ok('schema', 'up to date') : wrong('schema', 'migrations have not run', 'bursar migrate, on the server'),
    ...failing.map(({ name, since, failures }) =>
      wrong('tick', `${name} has failed ${grouped(failures)} times since ${since}`, "the server's log has the reason"),
    ),
    queueAgeSeconds === null
      ? ok('queue', 'nothing that is due waits')
      : queueAgeSeconds <= MOST_LAG_SECONDS
        ? ok('queue', `the oldest due work waits for ${Math.round(queueAgeSeconds)} s`)
        : wrong('queue', `due work waits for ${grouped(Math.round(queueAgeSeconds))} s`, 'is a worker running?'),
  ];
}

async function identity(api: Api, seconds: number): Promise<Finding[]> {
  const who = await within(seconds, new SignInClient(api).whoAmI());
  return who === null
    ? [wrong('key', 'the server does not know the key', 'bursar login, or correct BURSAR_API_KEY')]
    : [ok('key', `${who.name}, ${who.role ?? who.scopes.join(', ')}`)];
}

async function standing(api: Api, seconds: number): Promise<Finding[]> {
  const metrics = await within(seconds, api.text('GET', '/metrics', { isOpen: true }));
  const parked = [...metrics.matchAll(/^bursar_work_parked\{[^}]*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
  const streams = [...metrics.matchAll(/^bursar_audit_unsent\{problem="([^"]*)"\} (\d+)$/gm)];
  return [
    ...streams.map(([, problem = '', unsent]) => collectorFinding(Number(unsent), problem === '' ? null : problem)),
    parked === 0
      ? ok('line', 'nothing is parked because of an error')
      : attend(
          'line',
          `${grouped(parked)} keys are parked because of an error`,
          'bursar doctor --local, on the server, lists them',
        ),
  ];
}

/** How each connection's fleet was read last. */
async function providers(fleet: FleetClient, seconds: number): Promise<Finding[]> {
  const all = await within(seconds, fleet.coverage());
  if (all === null) return [];
  if (all.length === 0)
    return [
      attend(
        'providers',
        'no provider is connected, or none has been read yet',
        'set its variables where the server runs, and restart the server: docs/how-to/connect-aws.md and similar pages',
      ),
    ];
  return all.map(({ connection, readAt, targets, complete, stale, problems }) => {
    const check = `provider ${connection}`;
    const when = readAt === null ? 'was never read' : `read at ${readAt}: ${grouped(targets)} target(s)`;
    return complete && !stale && problems.length === 0
      ? ok(check, when)
      : attend(
          check,
          [when, ...(stale ? ['that is too old to act on'] : []), ...problems].join('; '),
          'bursar doctor --local, on the server, asks the provider',
        );
  });
}

/** How new the evidence of each source is. */
async function telemetry(fleet: FleetClient, clock: Clock, seconds: number): Promise<Finding[]> {
  const sources = await within(seconds, fleet.sources());
  return sources.map(({ name, readTo, coverage, problems }) => {
    const check = `telemetry ${name}`;
    const age = Math.max(0, Math.round((clock.now() - Date.parse(readTo)) / 1000));
    const missing =
      coverage !== null && coverage < 1 ? [`${Math.floor(coverage * 100)} % of the exporters answer`] : [];
    const found = [`the newest evidence is of ${readTo}`, ...missing, ...problems];
    return age <= MOST_LAG_SECONDS && found.length === 1
      ? ok(check, found.join('; '))
      : attend(check, found.join('; '), 'bursar doctor --local, on the server, asks the source');
  });
}
