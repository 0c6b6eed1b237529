/**
 * Targets that a policy document has stopped and may start again: the newest action on a stopped target, if nobody has
 * rolled it back, or started, changed or ended the target since, as far as readings show. Reads only.
 *
 * A machine that started and stopped again between two readings is recognised by its launch time, if its provider
 * reports it.
 */
import type { EffectKind } from '../../core/fleet/fleet.js';
import type { OwnStop } from '../../core/policy/policy.js';
import type { Queryable } from '../database.js';
import { moves } from '../fleet/moving.js';

export async function ownStops(db: Queryable, organisation: string, team: string): Promise<OwnStop[]> {
  const rows = await db.query<Omit<OwnStop, 'at'> & { readonly at: Date }>(
    `select a.id as action, a.document, f.connection, f.target, a.intended_at as at,
       coalesce((a.before #>> '{replicas,desired}')::int, 1) as replicas
     from fleet_target f cross join lateral (select * from action n where n.organisation = $1
       and n.connection = f.connection and n.target = f.target and n.intended_at is not null
       and n.state not in ('refused', 'failed') order by n.no desc limit 1) a
     where f.organisation = $1 and f.team = $2 and f.gone_at is null and not ${moves('f.body')}
       and a.document is not null and a.rollback_of is null and a.taken_back_by is null
       and a.state in ('applied', 'confirmed', 'measured')
       and (a.effect ->> 'kind' = 'stop' or (a.effect ->> 'kind' = 'scale' and a.effect ->> 'replicas' = '0'))
       and (f.started_at is null or f.started_at <= a.intended_at)
       and (f.body ->> 'kind' <> 'instance' or f.body -> 'launchedAt' in (a.before -> 'launchedAt', 'null'::jsonb))
     order by f.connection, f.target`,
    [organisation, team],
  );
  return rows.map((row) => ({ ...row, at: row.at.getTime() }));
}

/** The newest action that may have ended a target: clouds name the requester, which may have been this installation. */
export async function ownEnd(
  db: Queryable,
  organisation: string,
  connection: string,
  target: string,
): Promise<{ readonly id: string; readonly kind: EffectKind } | null> {
  const [found] = await db.query<{ readonly id: string; readonly kind: EffectKind }>(
    `select id, effect ->> 'kind' as kind from action where organisation = $1 and connection = $2 and target = $3
       and asked_at is not null and state not in ('refused', 'failed') and effect ->> 'kind' in ('terminate', 'replace')
     order by no desc limit 1`,
    [organisation, connection, target],
  );
  return found ?? null;
}
