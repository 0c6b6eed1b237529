/**
 * What a document promises of the service whose replicas a target holds, with the service's groups in their last known
 * state and the replicas that actions remove and that the fleet does not show yet. Reads only.
 */
import type { Action } from '../../core/action/action.js';
import type { ServicePromise } from '../../core/action/service-floor.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { promisesOf } from '../../core/policy/decision.js';
import { WORKLOAD_LABELS } from '../../core/policy/fleet-workload.js';
import type { Policy } from '../../core/policy/policy.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { StoredPolicy } from '../policy/policies.js';

/** A group that nobody has read for longer may have lost what it had: spot goes within minutes. */
const FRESH_MS = 5 * MINUTE_MS;

type Acting = Pick<Action, 'id' | 'team' | 'connection' | 'target' | 'policy' | 'document'>;

/** Null: the target holds no replicas of a promised service, or its policy is a brake, which comes before a promise. */
export async function servicePromise(
  db: Queryable,
  organisation: string,
  action: Acting,
  documents: readonly StoredPolicy[],
  policies: readonly Policy[],
  now: number,
): Promise<ServicePromise | null> {
  if (policies.some(({ name, holdsWhileProposed }) => name === action.policy && holdsWhileProposed === true))
    return null;
  const running = documents.filter(({ paused }) => !paused);
  const promises = promisesOf(action.team, running, policies, action.document);
  if (promises.length === 0) return null;
  const [own] = await db.query<{ service: string | null }>(
    `select body -> 'labels' ->> $4 as service from fleet_target
     where organisation = $1 and connection = $2 and target = $3`,
    [organisation, action.connection, action.target, WORKLOAD_LABELS.service],
  );
  const [promised] = promises
    .filter(({ service }) => service === own?.service)
    .toSorted((a, b) => b.replicas - a.replicas);
  if (promised === undefined) return null;
  const { document, service, replicas } = promised;
  return { document: document.name, service, replicas, ...(await groupsOf(db, organisation, action, service, now)) };
}

async function groupsOf(
  db: Queryable,
  organisation: string,
  { id, team }: Acting,
  service: string,
  now: number,
): Promise<Pick<ServicePromise, 'groups' | 'leaving'>> {
  const given = [organisation, team, WORKLOAD_LABELS.service, service];
  const rows = await db.query<{ body: FleetTarget }>(
    `select body from fleet_target where organisation = $1 and team = $2 and body -> 'labels' ->> $3 = $4
       and gone_at is null and missed = 0 and seen_at >= $5`,
    [...given, formatInstant(now - FRESH_MS)],
  );
  // Under way, or done after the fleet was last read: what it changes may not be seen yet.
  const leaving = await db.query<{ target: string; replicas: number }>(
    `select a.target,
       sum(greatest(0, (a.before #>> '{replicas,desired}')::int - (a.effect ->> 'replicas')::int))::float8 as replicas
     from action a
       join fleet_target f on f.organisation = a.organisation and f.connection = a.connection and f.target = a.target
     where a.organisation = $1 and f.team = $2 and f.body -> 'labels' ->> $3 = $4 and a.id <> $5
       and a.effect ->> 'kind' = 'scale'
       and (a.state in ('intended', 'applied')
         or (a.state in ('confirmed', 'measured') and a.confirmed_at >= f.seen_at))
     group by 1`,
    [...given, id],
  );
  return {
    groups: rows.map(({ body }) => body),
    leaving: new Map(leaving.map(({ target, replicas }) => [target, replicas])),
  };
}
