/**
 * What the fleet and our own actions report about machines whose exporters fell silent: whether they were read since,
 * and who removed them.
 *
 * Facts only; core/fleet/silence.ts judges. A machine that matches two targets of a connection is treated as neither,
 * and a reading from before the silence proves nothing.
 */
import type { FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { DeviceHistory } from '../../core/fleet/health.js';
import type { MachineReading, Silence, SilentExporter } from '../../core/fleet/silence.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';

/** A stop or a scale-in of ours takes a machine away for so long after it was sent. */
const TAKING_AWAY_MS = 30 * MINUTE_MS;
/** An exporter may answer for so long after its machine has gone: one that answers later runs again. */
const ECHO_MS = 10 * MINUTE_MS;
/**
 * So far apart may the clocks be of the monitor and of who read the fleet. What ended shortly before the last answer
 * was seen to end before the first scrape of it failed.
 */
const APART_MS = 2 * MINUTE_MS;

/** From when on a word on the machine is of the time in which its exporter fell silent. */
const fellSilent = ({ since, answeredAt }: SilentExporter): number => Math.min(since, answeredAt ?? since) - APART_MS;

/** The origin of a report: its exporter, its workload, and the matched machine of the fleet. */
type Reported = Readonly<Record<'exporter' | 'workload' | 'connection' | 'target', string | null>>;

export type Silences = (exporter: string | null, workload: string | null) => Pick<DeviceHistory, 'silence'>;

interface TargetRow {
  connection: string;
  target: string;
  resource: string;
  body: FleetTarget;
  seen: Date;
  missed: number;
  gone: Date | null;
  read: Date | null;
}
interface ActionRow {
  id: string;
  target: string;
  intended: Date;
  /** When the cloud showed it; null: it has not yet. */
  confirmed: Date | null;
}

/** @param rows of the devices that may be lost: which workload each exporter's cards work for */
export async function silencesOf(
  db: Queryable,
  organisation: string,
  silent: readonly SilentExporter[],
  rows: readonly Reported[],
): Promise<Silences> {
  if (silent.length === 0) return () => ({});
  const workloads = rows.flatMap(({ exporter, workload }) =>
    workload !== null && silent.some((one) => one.exporter === exporter) ? [workload] : [],
  );
  const joined = rows.flatMap(({ exporter, target }) =>
    target !== null && silent.some((one) => one.exporter === exporter) ? [target] : [],
  );
  const names = [...new Set([...silent.flatMap((one) => one.names), ...workloads, ...joined])];
  const targets = await targetsNamed(db, organisation, names);
  const first = silent.reduce((least, { since }) => Math.min(least, since), Infinity);
  const actions = await takingAway(
    db,
    organisation,
    [...new Set([...names, ...targets.map(({ target }) => target)])],
    first - TAKING_AWAY_MS,
  );
  return (exporter, workload) => {
    const one = silent.find((each) => each.exporter === exporter);
    if (one === undefined) return {};
    const reported = rows.filter((row) => row.exporter === exporter);
    const own = machinesOf(one, targets, new Set(reported.map(keyOf)));
    const touched = new Set([
      ...own.map(({ target }) => target),
      ...one.names,
      ...(workload === null ? [] : [workload]),
    ]);
    const takenAwayBy =
      actions.find(
        ({ target, intended, confirmed }) =>
          touched.has(target) &&
          intended.getTime() >= one.since - TAKING_AWAY_MS &&
          (confirmed === null || confirmed.getTime() >= one.since - ECHO_MS),
      )?.id ?? null;
    return {
      silence: {
        ...one,
        machine: readingOf(one, own, isWhole(one, workload, targets, own)),
        takenAwayBy,
      } satisfies Silence,
    };
  };
}

/**
 * The connections that know a machine of a silent exporter, and have not read it since so long: they are worth asking
 * now.
 */
export async function askAbout(
  db: Queryable,
  organisation: string,
  silences: readonly SilentExporter[],
  now: number,
  ageMs: number,
): Promise<string[]> {
  const targets = await targetsNamed(db, organisation, [...new Set(silences.flatMap(({ names }) => names))]);
  const known = silences.flatMap((one) => machinesOf(one, targets));
  return [
    ...new Set(
      known.flatMap(({ connection, read }) => (read === null || now - read.getTime() >= ageMs ? [connection] : [])),
    ),
  ].sort();
}

function targetsNamed(db: Queryable, organisation: string, names: readonly string[]): Promise<TargetRow[]> {
  return db.query<TargetRow>(
    `select t.connection, target, resource, body, seen_at as seen, missed, gone_at as gone, r.at as read from fleet_target t
     left join fleet_reading r on r.organisation = t.organisation and r.connection = t.connection
     where t.organisation = $1 and (target = any($2::text[]) or resource = any($2::text[]) or body ->> 'name' = any($2::text[])
       or body -> 'knownAs' ?| $2::text[]) order by t.connection, target`,
    [organisation, names],
  );
}

const keyOf = ({ connection, target }: Pick<Reported, 'connection' | 'target'>): string =>
  JSON.stringify([connection, target]);

/**
 * The machine that its readings were found to be on; otherwise of each connection the one that goes by the exporter's
 * names. None that was gone before it fell silent.
 */
function machinesOf(
  silent: SilentExporter,
  targets: readonly TargetRow[],
  joined: ReadonlySet<string> = new Set(),
): TargetRow[] {
  const { names, since } = silent;
  const fitting = targets.filter(
    ({ connection, target, resource, body, gone }) =>
      body.kind === 'instance' &&
      (joined.has(keyOf({ connection, target })) ||
        [target, resource, body.name, ...(body.knownAs ?? [])].some((name) => names.includes(name))) &&
      (gone === null || gone.getTime() >= fellSilent(silent)) &&
      // One that was started after that has the address of another.
      (body.launchedAt === null || body.launchedAt <= since || gone !== null),
  );
  const own = fitting.filter((one) => joined.has(keyOf(one)));
  if (own.length > 0) return own;
  return fitting.filter((one) => fitting.every((other) => other === one || other.connection !== one.connection));
}

const STANDS: ReadonlySet<RunState> = new Set(['stopping', 'stopped', 'gone']);

/** The reading that says most: one that misses it before one that sees it. */
function readingOf(
  silent: SilentExporter,
  own: readonly TargetRow[],
  groupIsWhole: boolean | null,
): Silence['machine'] {
  if (own.length === 0) return null;
  const { since } = silent;
  const readings = own.flatMap(({ body, seen, missed, gone, read }): MachineReading[] => {
    const ended = body.ended ?? null;
    // That it runs has to be seen since; that it does not any more may have been seen a moment before.
    const from = gone !== null || missed > 0 || STANDS.has(body.state) ? fellSilent(silent) : since;
    if (read === null || read.getTime() < from) return [];
    if (gone !== null) return [{ state: 'gone', missed, groupIsWhole, ended }];
    if (missed > 0) return [{ state: body.state, missed, groupIsWhole, ended }];
    if (seen.getTime() < from) return [];
    return [{ state: body.state, missed, groupIsWhole, ended, unwell: body.unwell ?? null }];
  });
  const rank = ({ state }: MachineReading): number =>
    ['stopped', 'stopping', 'gone', 'unknown'].indexOf(state) + 1 || Infinity;
  return readings.sort((a, b) => rank(a) - rank(b))[0] ?? 'unread';
}

/**
 * Whether the group that a card works for has all that it wants without the card's machine, as it was read since; null:
 * unknown. A group goes on counting a machine as ready that its cloud calls unwell.
 */
function isWhole(
  { since }: SilentExporter,
  workload: string | null,
  targets: readonly TargetRow[],
  own: readonly TargetRow[],
): boolean | null {
  const group = targets.find(
    ({ target, connection, gone }) =>
      gone === null && workload !== null && (target === workload || `${connection}/${target}` === workload),
  );
  const replicas = group === undefined || group.seen.getTime() < since ? null : group.body.replicas;
  if (replicas === null || replicas.ready === null) return null;
  const isUnwell = own.some(
    ({ body, missed, gone }) =>
      gone === null && missed === 0 && body.state === 'running' && (body.unwell ?? null) !== null,
  );
  return replicas.ready - (isUnwell ? 1 : 0) >= replicas.desired;
}

/**
 * Actions that were sent since and take away: a stop, an end, a drain, a replacement, or fewer replicas than there
 * were.
 */
function takingAway(
  db: Queryable,
  organisation: string,
  targets: readonly string[],
  since: number,
): Promise<ActionRow[]> {
  return db.query<ActionRow>(
    `select id, target, intended_at as intended, confirmed_at as confirmed from action
     where organisation = $1 and target = any($2::text[]) and intended_at >= $3 and state in ('intended', 'applied', 'confirmed', 'measured', 'rolled-back')
       and (effect ->> 'kind' in ('stop', 'terminate', 'drain', 'replace')
         or (effect ->> 'kind' = 'scale' and (effect -> 'replicas')::numeric < coalesce((before #> '{replicas,desired}')::numeric, 0))
         or (effect ->> 'kind' = 'set-bounds' and (effect -> 'max')::numeric < coalesce((before #> '{replicas,desired}')::numeric, 0)))
     order by intended_at desc`,
    [organisation, targets, formatInstant(since)],
  );
}
