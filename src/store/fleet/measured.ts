/**
 * The measured resources: each resource of a source under the name in its series, with its target in the fleet, or the
 * reason why it was not matched (core/fleet/join.ts).
 *
 * One row per resource, in its last known state. This table shows measured GPUs that nobody can price or act on.
 */
import type { Called, Candidate, Joined, NotJoined } from '../../core/fleet/join.js';
import type { MeasuredCards } from '../../core/fleet/measured-gpus.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { Place } from './samples.js';

export interface Measured {
  readonly called: Called;
  /** Cards, or MIG instances, that its newest samples showed. */
  readonly gpus: number;
  /** Their ids; null: kept by a version before, which did not say. */
  readonly cards: MeasuredCards['cards'];
  /** Epoch milliseconds of those. */
  readonly seenAt: number;
  readonly place: Place;
  readonly joined: Pick<Joined, 'found'> & { readonly because?: NotJoined; readonly detail?: string };
}

/** A resource that was measured lately, for people to read. */
export interface MeasuredResource extends MeasuredCards {
  readonly team: string;
  readonly provider: string | null;
  /** Why no target was found; null: one was. */
  readonly because: NotJoined | null;
  readonly detail: string | null;
  readonly seenAt: number;
  /** How its series call it. */
  readonly called: Called;
}

interface Row {
  source: string;
  resource: string;
  called: Called & { readonly place: Place; readonly cards?: MeasuredCards['cards'] };
  gpus: number;
  team: string;
  connection: string | null;
  target: string | null;
  provider: string | null;
  because: NotJoined | null;
  detail: string | null;
  seen: Date;
}

const COLUMNS = `source, resource, called, gpus, team, connection, target, provider, because, detail, seen_at as seen`;
const FORGOTTEN_MS = 30 * DAY_MS;

export class MeasuredStore {
  /** Targets that readings may be of: machines, and workloads with their pods. */
  async candidates(db: Queryable, organisation: string): Promise<Candidate[]> {
    const rows = await db.query<Omit<Candidate, 'firstSeenAt'> & { readonly first: Date }>(
      `select connection, team, first_seen_at as first, jsonb_build_object('target', body -> 'target', 'kind', body -> 'kind', 'name', body -> 'name',
         'provider', body -> 'provider', 'account', body -> 'account', 'region', body -> 'region', 'sku', body -> 'sku',
         'gpuModel', body -> 'gpuModel', 'term', body -> 'term', 'knownAs', coalesce(body -> 'knownAs', '[]'),
         'labels', body -> 'labels', 'launchedAt', body -> 'launchedAt')
         || case when body ? 'network' then jsonb_build_object('network', body -> 'network') else '{}' end
         || case when body ? 'outOfService' then jsonb_build_object('outOfService', body -> 'outOfService') else '{}' end as seen
       from fleet_target where organisation = $1 and gone_at is null and body ->> 'kind' in ('instance', 'workload')
       order by connection, target`,
      [organisation],
    );
    return rows.map(({ first, ...one }) => ({ ...one, firstSeenAt: first.getTime() }));
  }

  async save(tx: Queryable, organisation: string, source: string, all: readonly Measured[]): Promise<void> {
    if (all.length === 0) return;
    const because = ({ joined }: Measured): NotJoined | null =>
      joined.found === null ? (joined.because ?? null) : null;
    await tx.query(
      `insert into measured (organisation, source, resource, called, gpus, team, connection, target, provider, because,
         detail, first_seen_at, seen_at)
       select $1, $2, resource, called, gpus, team, connection, target, provider, because, detail, seen, seen
       from unnest($3::text[], $4::jsonb[], $5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
         $11::text[], $12::timestamptz[])
         as m(resource, called, gpus, team, connection, target, provider, because, detail, seen)
       on conflict (organisation, source, resource) do update set called = excluded.called, gpus = excluded.gpus,
         team = excluded.team, connection = excluded.connection, target = excluded.target, provider = excluded.provider,
         because = excluded.because, detail = excluded.detail, seen_at = excluded.seen_at
       where measured.seen_at <= excluded.seen_at`,
      [
        organisation,
        source,
        all.map(({ called }) => called.resource),
        all.map(({ called, place, cards }) => JSON.stringify({ ...called, place, cards })),
        all.map(({ gpus }) => gpus),
        all.map(({ place }) => place.team),
        all.map(({ place }) => place.connection),
        all.map(({ place }) => place.target),
        all.map(({ place }) => place.provider),
        all.map(because),
        all.map(({ joined }) => (joined.found === null ? (joined.detail ?? null) : null)),
        all.map(({ seenAt }) => formatInstant(seenAt)),
      ],
    );
  }

  /** The measured resources after a time, with their places. */
  async since(
    db: Queryable,
    organisation: string,
    after: number,
  ): Promise<{ readonly source: string; readonly measured: Measured }[]> {
    const rows = await this.rows(db, organisation, after, null);
    return rows.map(({ source, called: { place, cards = null, ...called }, gpus, seen }) => ({
      source,
      measured: { called, gpus, cards, seenAt: seen.getTime(), place, joined: { found: null } },
    }));
  }

  /** The same for people. @param teams null: of all */
  async list(
    db: Queryable,
    organisation: string,
    after: number,
    teams: readonly string[] | null,
  ): Promise<MeasuredResource[]> {
    const rows = await this.rows(db, organisation, after, teams);
    return rows.map(({ called: { place: _place, cards = null, ...called }, seen, ...row }) => ({
      ...row,
      cards,
      called,
      seenAt: seen.getTime(),
    }));
  }

  private rows(db: Queryable, organisation: string, after: number, teams: readonly string[] | null): Promise<Row[]> {
    return db.query<Row>(
      `select ${COLUMNS} from measured where organisation = $1 and seen_at > $2 and ($3::text[] is null or team = any($3))
       order by source, resource`,
      [organisation, formatInstant(after), teams],
    );
  }

  /** Forgets what has not been measured for a month. */
  async purge(tx: Queryable, organisation: string, now: number): Promise<void> {
    await tx.query(`delete from measured where organisation = $1 and seen_at < $2`, [
      organisation,
      formatInstant(now - FORGOTTEN_MS),
    ]);
  }
}
