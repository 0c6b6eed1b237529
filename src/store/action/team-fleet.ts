/**
 * The fleet of a team, for the floor of the whole team: its targets in their last known state, and the capacity that
 * actions remove and that the fleet does not show yet. Reads only.
 */
import type { TeamFleet } from '../../core/action/team-floor.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { Queryable } from '../database.js';

/** @param except an action that is not under way itself; null: none */
export async function teamFleet(
  db: Queryable,
  organisation: string,
  team: string,
  except: string | null,
): Promise<TeamFleet> {
  const rows = await db.query<{ body: FleetTarget }>(
    `select body from fleet_target where organisation = $1 and team = $2 and gone_at is null and missed = 0
       and body ->> 'kind' in ('instance', 'group', 'workload')`,
    [organisation, team],
  );
  // Under way, or done after the fleet was last read: what it changes may not be seen yet.
  const leaving = await db.query<{ target: string; gpus: number }>(
    `select a.target, sum(coalesce(a.gpus, 0))::float8 as gpus from action a join fleet_target f on f.organisation = a.organisation
       and f.connection = a.connection and f.target = a.target
     where a.organisation = $1 and f.team = $2 and a.id is distinct from $3 and (a.state in ('intended', 'applied')
       or (a.state in ('confirmed', 'measured') and a.confirmed_at >= f.seen_at)) and (a.effect ->> 'kind' in ('stop', 'terminate', 'resize')
       or (a.effect ->> 'kind' = 'scale' and (a.effect ->> 'replicas')::int < coalesce((a.before #>> '{replicas,desired}')::int, 1))
       or (a.effect ->> 'kind' = 'set-bounds' and (a.effect ->> 'max')::int < coalesce((a.before #>> '{replicas,desired}')::int, 1)))
     group by 1`,
    [organisation, team, except],
  );
  return { targets: rows.map(({ body }) => body), leaving: new Map(leaving.map(({ target, gpus }) => [target, gpus])) };
}
