/**
 * Running targets that belong to no team, but name a team in their own tag. Reads only.
 */
import { UNALLOCATED } from '../../core/cost/allocation.js';
import type { Queryable } from '../database.js';

export interface TaggedTargets {
  /** The tag's key, as written. */
  readonly key: string;
  readonly value: string;
  readonly targets: number;
}

/** By the value of the tag `team` (in any case of letters), most targets first. */
export function unallocatedByTeamTag(db: Queryable, organisation: string): Promise<TaggedTargets[]> {
  return db.query<TaggedTargets>(
    `select key, value, count(*)::int as targets
     from fleet_target, jsonb_each_text(coalesce(body -> 'labels', '{}')) as tag(key, value)
     where organisation = $1 and gone_at is null and team = $2 and lower(key) = 'team' and trim(value) <> ''
     group by key, value order by targets desc, key, value`,
    [organisation, UNALLOCATED],
  );
}
