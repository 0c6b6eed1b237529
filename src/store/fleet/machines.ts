/**
 * What the fleet and our own actions tell of machines whose exporters fell silent: read since, and by whom they were
 * taken away.
 *
 * Facts only; core/fleet/silence.ts judges. A machine that two targets of a connection could be is none of them, and a
 * reading from before the silence tells nothing of it.
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { DeviceHistory } from '../../core/fleet/health.js';
import type { MachineReading, Silence, SilentExporter } from '../../core/fleet/silence.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';

/** A stop or a scale-in of ours takes a machine away for so long after it was sent. */
const TAKING_AWAY_MS = 30 * MINUTE_MS;
/** An exporter may answer for so long after its machine has gone: one that answers later runs again. */
const ECHO_MS = 10 * MINUTE_MS;

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
  rows: readonly { readonly exporter: string | null; readonly workload: string | null }[],
): Promise<Silences> {
  if (silent.length === 0) return () => ({});
  const workloads = rows.flatMap(({ exporter, workload }) =>
    workload !== null && silent.some((one) => one.exporter === exporter) ? [workload] : [],
  );
  const names = [...new Set([...silent.flatMap((one) => one.names), ...workloads])];
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
    const own = machinesOf(one, targets);
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
      silence: { ...one, machine: readingOf(one, own, isWhole(one, workload, targets)), takenAwayBy } satisfies Silence,
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

/** Of each connection the one machine that goes by the exporter's names and was not gone before it fell silent. */
function machinesOf({ names, since }: SilentExporter, targets: readonly TargetRow[]): TargetRow[] {
  const fitting = targets.filter(
    ({ target, resource, body, gone }) =>
      body.kind === 'instance' &&
      [target, resource, body.name, ...(body.knownAs ?? [])].some((name) => names.includes(name)) &&
      (gone === null || gone.getTime() >= since),
  );
  return fitting.filter((one) => fitting.every((other) => other === one || other.connection !== one.connection));
}

/** The reading that says most: one that misses it before one that sees it. */
function readingOf(
  { since }: SilentExporter,
  own: readonly TargetRow[],
  groupIsWhole: boolean | null,
): MachineReading | null {
  const readings = own.flatMap(({ body, seen, missed, gone, read }): MachineReading[] => {
    if (read === null || read.getTime() < since) return [];
    const ended = body.ended ?? null;
    if (gone !== null || missed > 0) return [{ state: 'gone', missed, groupIsWhole, ended }];
    if (seen.getTime() < since) return [];
    return [{ state: body.state, missed, groupIsWhole, ended, unwell: body.unwell ?? null }];
  });
  const rank = ({ state }: MachineReading): number =>
    ['stopped', 'stopping', 'gone', 'unknown'].indexOf(state) + 1 || Infinity;
  return readings.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** Whether the group that a card works for has all that it wants, as it was read since; null: not known. */
function isWhole({ since }: SilentExporter, workload: string | null, targets: readonly TargetRow[]): boolean | null {
  const group = targets.find(
    ({ target, connection, gone }) =>
      gone === null && workload !== null && (target === workload || `${connection}/${target}` === workload),
  );
  const replicas = group === undefined || group.seen.getTime() < since ? null : group.body.replicas;
  return replicas === null || replicas.ready === null ? null : replicas.ready >= replicas.desired;
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
