/**
 * Machines that their cloud reports as reclaimed or stopped by the cloud, and the consequence for the workload that
 * each one is. This needs no exporter, and no exporter contradicts it: an answer at the machine's address comes from
 * something else.
 *
 * The invariant: a machine that was replaced once no longer counts as lost, even if its end is seen only after that; a
 * machine that was started later under its name is another machine.
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { HealthFinding } from '../../core/fleet/health.js';
import { formatInstant, HOUR_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';

interface Row {
  connection: string;
  target: string;
  body: FleetTarget;
  since: Date;
}

/** A team's lost machines as of a time, each as a finding, by the names of its workload. */
export async function takenMachines(
  db: Queryable,
  organisation: string,
  team: string,
  asOf: number,
): Promise<ReadonlyMap<string, HealthFinding>> {
  const rows = await db.query<Row>(
    `select connection, target, body, coalesce(gone_at, changed_at, first_seen_at) as since from fleet_target f
     where organisation = $1 and team = $2 and body ->> 'kind' = 'instance' and body #>> '{ended,by}' = 'cloud'
       and (gone_at > $3 or (gone_at is null and body ->> 'state' = 'stopped' and seen_at > $3))
       and coalesce(gone_at, changed_at, first_seen_at) <= $4
       and not exists (select 1 from action a where a.organisation = f.organisation and a.connection = f.connection and a.target = f.target
         and a.effect ->> 'kind' in ('replace', 'start') and a.state in ('applied', 'confirmed', 'measured') and a.applied_at >= f.first_seen_at
         and (a.applied_at >= coalesce(f.gone_at, f.changed_at, f.first_seen_at)
           or (a.effect ->> 'kind' = 'replace' and to_timestamp((body ->> 'launchedAt')::float8 / 1000) < a.intended_at)))
     order by connection, target`,
    [organisation, team, formatInstant(asOf - HOUR_MS), formatInstant(asOf)],
  );
  return new Map(
    rows.flatMap((row) => {
      const finding = findingOf(row, team, asOf);
      return [row.target, `${row.connection}/${row.target}`].map(
        (name) => [name, { ...finding, workload: name }] as const,
      );
    }),
  );
}

function findingOf({ target, body, since }: Row, team: string, asOf: number): HealthFinding {
  const at = since.getTime();
  return {
    rule: 'gone',
    severity: 'fatal',
    resource: target,
    gpu: 'all',
    migInstance: null,
    team,
    workload: target,
    title: `gone: its cloud has ${body.state === 'stopped' ? 'stopped it' : 'taken it away'} (${body.ended?.because ?? ''})`,
    ofMachine: true,
    numbers: {},
    evidence: { what: "its cloud's own word", from: formatInstant(at), to: formatInstant(asOf), ageSeconds: 0 },
  };
}
