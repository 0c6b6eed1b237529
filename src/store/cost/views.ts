/**
 * Saved queries about costs. A view stores a query, never an answer: its result shows only what its reader may see. A
 * private view belongs to its owner alone. A shared view is visible to readers who may see all the teams that it names;
 * one that names no team is visible to everybody.
 */
import { randomBytes } from 'node:crypto';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

/** The words of a question, as the address of the cost explorer has them. */
export type ViewWords = Readonly<Record<string, string | readonly string[]>>;

export interface CostView {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly ownerName: string;
  readonly shared: boolean;
  readonly query: ViewWords;
  readonly changedAt: string;
}

export interface ViewReader {
  /** Its id. */
  readonly id: string;
  /** Null: all. */
  readonly teams: readonly string[] | null;
}

type Row = Omit<CostView, 'changedAt'> & { readonly at: Date };

const COLUMNS = `v.id, v.name, v.owner, v.owner_name as "ownerName", v.shared, v.query, v.changed_at as at`;

/** `$2` is who reads, `$3` the teams that they see. A view names one team as a text and several as a list. */
const READABLE = `(v.owner = $2 or (v.shared and ($3::text[] is null or not v.query ? 'team'
  or case jsonb_typeof(v.query->'team') when 'array' then v.query->'team' else jsonb_build_array(v.query->'team') end
     <@ to_jsonb($3::text[]))))`;

const viewOf = ({ at, ...row }: Row): CostView => ({ ...row, changedAt: at.toISOString() });

export class CostViewStore {
  /** By name. */
  async list(db: Queryable, organisation: string, { id, teams }: ViewReader): Promise<CostView[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from cost_view v where v.organisation = $1 and ${READABLE} order by v.name, v.id`,
      [organisation, id, teams],
    );
    return rows.map(viewOf);
  }

  /** Null: there is none that the reader may see. */
  async get(
    db: Queryable,
    organisation: string,
    { id: reader, teams }: ViewReader,
    id: string,
  ): Promise<CostView | null> {
    const [row] = await db.query<Row>(
      `select ${COLUMNS} from cost_view v where v.organisation = $1 and ${READABLE} and v.id = $4`,
      [organisation, reader, teams, id],
    );
    return row === undefined ? null : viewOf(row);
  }

  async countOf(db: Queryable, organisation: string, owner: string): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::int as count from cost_view where organisation = $1 and owner = $2`,
      [organisation, owner],
    );
    return row?.count ?? 0;
  }

  /** Makes a view, or changes the one with the id. */
  async save(
    tx: Queryable,
    organisation: string,
    view: Omit<CostView, 'id' | 'changedAt'> & { readonly id: string | null },
    now: number,
  ): Promise<CostView> {
    const id = view.id ?? `view-${randomBytes(8).toString('hex')}`;
    await tx.query(
      `insert into cost_view (organisation, id, owner, owner_name, name, shared, query, changed_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (organisation, id) do update set name = excluded.name, shared = excluded.shared,
         query = excluded.query, changed_at = excluded.changed_at`,
      [
        organisation,
        id,
        view.owner,
        view.ownerName,
        view.name,
        view.shared,
        JSON.stringify(view.query),
        formatInstant(now),
      ],
    );
    return { ...view, id, changedAt: new Date(now).toISOString() };
  }

  async remove(tx: Queryable, organisation: string, id: string): Promise<void> {
    await tx.query(`delete from cost_view where organisation = $1 and id = $2`, [organisation, id]);
  }
}
