/**
 * The state of collecting from each connection: the position reached, and the time of the next reading.
 *
 * A reading is due once per interval, however many processes ask. The watermark moves only in the transaction that
 * saves the collected data, so after a crash the data is collected again and none is skipped. A part that could not be
 * read keeps its own watermark, and is read again sooner.
 */
import type { LackingPart } from '../../core/partial-read.js';
import { formatInstant, HOUR_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';

export const COLLECTED = ['fleet', 'usage', 'bill', 'prices', 'spot'] as const;
export type Collected = (typeof COLLECTED)[number];

export interface DueCollection {
  readonly connection: string;
  readonly what: Collected;
}

export interface CollectionState extends DueCollection {
  /** Epoch milliseconds; null: nothing yet. */
  readonly collectedTo: number | null;
  readonly collectedAt: number | null;
  /** The parts that could not be read last time. */
  readonly lacking: readonly LackingPart[];
}

/** How far collecting came before. */
export interface CollectedBefore {
  /** Null: nothing is kept yet. */
  readonly to: number | null;
  readonly lacking: readonly LackingPart[];
}

/** A failed or incomplete reading is repeated after at most this time, because permissions change. */
const AGAIN_MS = HOUR_MS;

type StoredPart = Omit<LackingPart, 'readTo'> & { readonly readTo: string | null };

const partOf = ({ readTo, ...rest }: StoredPart): LackingPart => ({
  ...rest,
  readTo: readTo === null ? null : Date.parse(readTo),
});
const storedPart = ({ readTo, ...rest }: LackingPart): StoredPart => ({
  ...rest,
  readTo: readTo === null ? null : formatInstant(readTo),
});

export class CollectionStore {
  /**
   * Takes what is due now, and puts it off until its interval has passed; what was never asked for is due at once.
   * @param wanted what is collected at all, with its interval in milliseconds
   */
  async takeDue(
    tx: Queryable,
    organisation: string,
    wanted: readonly (DueCollection & { readonly everyMs: number })[],
    now: number,
  ): Promise<DueCollection[]> {
    if (wanted.length === 0) return [];
    return tx.query<{ connection: string; what: Collected }>(
      `insert into collection (organisation, connection, what, next_at)
       select $1, connection, what, $2::timestamptz + every * interval '1 millisecond' from unnest($3::text[], $4::text[], $5::bigint[]) as w(connection, what, every) order by 2, 3
       on conflict (organisation, connection, what) do update set next_at = excluded.next_at
         where collection.next_at <= $2 or collection.next_at > excluded.next_at
       returning connection, what`,
      [
        organisation,
        formatInstant(now),
        wanted.map(({ connection }) => connection),
        wanted.map(({ what }) => what),
        wanted.map(({ everyMs }) => everyMs),
      ],
    );
  }

  /** Up to when a connection's readings of a sort are kept, and what of them lags behind. */
  async collectedBefore(
    db: Queryable,
    organisation: string,
    { connection, what }: DueCollection,
  ): Promise<CollectedBefore> {
    const [row] = await db.query<{ at: Date | null; lacking: StoredPart[] }>(
      `select collected_to as at, lacking from collection where organisation = $1 and connection = $2 and what = $3`,
      [organisation, connection, what],
    );
    return { to: row?.at?.getTime() ?? null, lacking: (row?.lacking ?? []).map(partOf) };
  }

  /** @param lacking what could not be read */
  async saveCollected(
    tx: Queryable,
    organisation: string,
    { connection, what }: DueCollection,
    to: number,
    now: number,
    lacking: readonly LackingPart[] = [],
  ): Promise<void> {
    await tx.query(
      `insert into collection (organisation, connection, what, next_at, collected_to, collected_at, lacking) values ($1, $2, $3, $5, $4, $5, $6::jsonb)
       on conflict (organisation, connection, what) do update set collected_to = greatest(collection.collected_to, excluded.collected_to), collected_at = excluded.collected_at,
         lacking = excluded.lacking, next_at = case when excluded.lacking = '[]' then collection.next_at else least(collection.next_at, $7) end`,
      [
        organisation,
        connection,
        what,
        formatInstant(to),
        formatInstant(now),
        JSON.stringify(lacking.map(storedPart)),
        formatInstant(now + AGAIN_MS),
      ],
    );
  }

  /** A failed reading is repeated within the hour, however long its interval is. */
  async askAgain(db: Queryable, organisation: string, { connection, what }: DueCollection, now: number): Promise<void> {
    await db.query(
      `update collection set next_at = least(next_at, $4) where organisation = $1 and connection = $2 and what = $3`,
      [organisation, connection, what, formatInstant(now + AGAIN_MS)],
    );
  }

  async list(db: Queryable, organisation: string): Promise<CollectionState[]> {
    const rows = await db.query<DueCollection & { to: Date | null; at: Date | null; lacking: StoredPart[] }>(
      `select connection, what, collected_to as to, collected_at as at, lacking from collection where organisation = $1 order by connection, what`,
      [organisation],
    );
    return rows.map(({ connection, what, to, at, lacking }) => ({
      connection,
      what,
      collectedTo: to?.getTime() ?? null,
      collectedAt: at?.getTime() ?? null,
      lacking: lacking.map(partOf),
    }));
  }
}
