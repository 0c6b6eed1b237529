/**
 * The data for the header of the dashboard: the number of waiting items, and objects with certain words in their id or
 * name. Never writes.
 *
 * The invariant: a caller who is restricted to teams counts and finds only data of these teams.
 */
import type { Queryable } from './database.js';

/** Policy documents are not here: which of them hold is the policies' to say. */
export const SEARCHED_KINDS = ['team', 'budget', 'target', 'action', 'recommendation'] as const;
export type SearchedKind = (typeof SEARCHED_KINDS)[number];

export interface Found {
  readonly kind: SearchedKind;
  /** The id by which its page is opened. */
  readonly id: string;
  readonly name: string;
  readonly team: string;
  /** Of an action or a recommendation. */
  readonly state: string | null;
}

export interface Waiting {
  readonly recommendations: number;
  readonly actions: number;
  readonly alerts: number;
  /** Differences between bills and what was metered that are open. */
  readonly findings: number;
}

/** What waits for a decision or an answer, of some teams or of all (null). */
export async function waitingFor(
  db: Queryable,
  organisation: string,
  teams: readonly string[] | null,
): Promise<Waiting> {
  const of = `organisation = $1 and ($2::text[] is null or team = any($2::text[]))`;
  const [row] = await db.query<Waiting>(
    `select (select count(*)::int from recommendation where ${of} and status = 'open') as recommendations,
       (select count(*)::int from action where ${of} and state = 'proposed') as actions,
       (select count(*)::int from alert where ${of} and state = 'open') as alerts,
       (select count(*)::int from variance_finding where ${of} and resolved_at is null) as findings`,
    [organisation, teams],
  );
  return row ?? { recommendations: 0, actions: 0, alerts: 0, findings: 0 };
}

interface Source {
  readonly from: string;
  readonly id: string;
  readonly name: string;
  readonly state?: string;
  readonly texts: string;
  /** Beside the organisation and the teams. */
  readonly where?: string;
  readonly first: string;
}

/** By kind: its table, its id and name, the texts that are looked through, and which of several comes first. */
const SOURCES: Readonly<Record<SearchedKind, Source>> = {
  team: { from: 'team', id: 'id', name: 'name', texts: `array[id, name]`, first: 'id' },
  budget: { from: 'budget', id: 'id', name: 'id', texts: `array[id]`, first: 'id' },
  target: {
    from: 'fleet_target',
    id: 'target',
    name: `body ->> 'name'`,
    texts: `array[target, resource, body ->> 'name'] || coalesce(array(select jsonb_array_elements_text(body -> 'knownAs')), '{}')`,
    where: 'gone_at is null',
    first: 'target',
  },
  action: {
    from: 'action',
    id: 'id',
    name: `(effect ->> 'kind') || ' ' || target`,
    state: 'state',
    texts: `array[id, target]`,
    first: 'no desc',
  },
  recommendation: {
    from: 'recommendation',
    id: 'id',
    name: `body ->> 'title'`,
    state: 'status',
    texts: `array[id, target, body ->> 'title']`,
    first: `status <> 'open', made_at desc, id`,
  },
};

/**
 * Up to `most` of each kind that have some words in a text of theirs, whatever the case; what is called exactly so comes
 * first, then what begins so.
 */
export async function search(
  db: Queryable,
  organisation: string,
  { words, teams, most }: { readonly words: string; readonly teams: readonly string[] | null; readonly most: number },
): Promise<Found[]> {
  const found = await Promise.all(
    SEARCHED_KINDS.map(async (kind) => {
      const { from, id, name, state = 'null::text', texts, where = 'true', first } = SOURCES[kind];
      const rows = await db.query<Omit<Found, 'kind'>>(
        `select ${id} as id, ${name} as name, ${kind === 'team' ? 'id' : 'team'} as team, ${state} as state
         from ${from}, lateral (select min(position(lower($3) in lower(text))) filter (where position(lower($3) in lower(text)) > 0) as place,
           bool_or(lower(text) = lower($3)) as whole from unnest(${texts}) as text) as match
         where organisation = $1 and ($2::text[] is null or ${kind === 'team' ? 'id' : 'team'} = any($2::text[])) and ${where} and match.place is not null
         order by match.whole desc, match.place > 1, ${first} limit $4`,
        [organisation, teams, words, most],
      );
      return rows.map((row): Found => ({ kind, ...row }));
    }),
  );
  return found.flat();
}
