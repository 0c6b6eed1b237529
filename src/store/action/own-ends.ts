/**
 * Machines that actions have ended or will end soon: replaced or terminated machines, by all their names, so that no
 * policy asks for the same effect again while old readings still show them. Reads only.
 *
 * The invariant: the list does not contain a name that another machine has by now, or a machine that was started since.
 */
import type { OwnEnd } from '../../core/policy/policy.js';
import { LIVE_STATES } from '../../core/action/action.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

interface Row {
  action: string;
  policy: string | null;
  document: string | null;
  kind: OwnEnd['kind'];
  state: string;
  connection: string;
  target: string;
  names: (string | null)[];
}

/** A machine that ended longer ago is proposed by nobody: its readings are forgotten, and its cloud lists it no more. */
const ECHO_MS = DAY_MS;

/** The names of a target `t` in the fleet, and in the readings that were matched to it. */
const NAMES = `(array[t.target, t.connection || '/' || t.target, t.resource, t.body ->> 'name']
  || array(select jsonb_array_elements_text(coalesce(t.body -> 'knownAs', '[]')))
  || array(select split_part(n, '.', 1) from jsonb_array_elements_text(coalesce(t.body -> 'knownAs', '[]')) as k(n)))`;
const MEASURED_AS = `array(select m.resource from measured m where m.organisation = t.organisation and m.connection = t.connection and m.target = t.target)`;

export async function ownEnds(
  db: Queryable,
  organisation: string,
  team: string,
  asOf: number,
): Promise<Record<string, OwnEnd>> {
  const rows = await db.query<Row>(
    `select a.id as action, a.policy, a.document, a.effect ->> 'kind' as kind, a.state, t.connection, t.target, ${NAMES} || ${MEASURED_AS} as names
     from action a join fleet_target t on t.organisation = a.organisation and t.connection = a.connection and t.target = a.target
     where a.organisation = $1 and t.team = $2 and a.effect ->> 'kind' in ('replace', 'terminate') and a.taken_back_by is null
       and (a.state = any($3::text[]) or (a.state in ('confirmed', 'measured') and a.applied_at > $4
         and a.intended_at >= t.first_seen_at
         and (to_timestamp((t.body ->> 'launchedAt')::float8 / 1000) <= a.intended_at
           or (t.body ->> 'launchedAt' is null and (t.gone_at is not null or t.seen_at <= coalesce(a.confirmed_at, a.applied_at))))))
     order by a.no desc`,
    [organisation, team, LIVE_STATES, formatInstant(asOf - ECHO_MS)],
  );
  if (rows.length === 0) return {};
  const others = await db.query<Pick<Row, 'connection' | 'target' | 'names'>>(
    `select t.connection, t.target, ${NAMES} as names from fleet_target t where t.organisation = $1 and t.gone_at is null and ${NAMES} && $2::text[]`,
    [organisation, [...new Set(rows.flatMap(({ names }) => names))]],
  );
  const ends = new Map<string, OwnEnd>();
  for (const { action, policy, document, kind, state, connection, target, names } of rows) {
    const taken = new Set(
      others.flatMap((one) => (one.connection === connection && one.target === target ? [] : one.names)),
    );
    const isOver = state === 'confirmed' || state === 'measured';
    for (const name of names)
      if (name !== null && !taken.has(name) && !ends.has(name))
        ends.set(name, { action, policy, document, kind, isOver });
  }
  return Object.fromEntries(ends);
}
