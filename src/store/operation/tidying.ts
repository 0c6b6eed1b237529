/**
 * Deletes rows past their retention that nothing needs any more (docs/reference/retention.md): finished work, imports
 * that left nothing, rows that could not be read, and zones that nobody asks for. Work that is enqueued again starts a
 * new row. The row of finished work says only that nothing is to do, and so does its absence. The rows of two stages
 * stay, because other code reads from them which teams exist and when a connection was asked.
 */
import { formatInstant, DAY_MS } from '../../core/time.js';
import type { Queryable } from '../statements.js';

const WORK_DAYS = 90;
const IMPORT_DAYS = 400;
const ZONE_DAYS = 30;

/** Number of imports that are deleted at once. */
const IMPORTS = 10_000;

/** Stages whose done rows are read: the teams that there are, and when a connection was asked. */
const KEPT_STAGES = ['recommendation.make', 'fleet.collect'];

export class TidyingStore {
  /** @returns how many rows went, by table */
  async tidy(db: Queryable, now: number): Promise<Readonly<Record<'work' | 'reject' | 'import' | 'zone', number>>> {
    const before = (days: number): string => formatInstant(now - days * DAY_MS);
    const gone = async (sql: string, parameters: readonly unknown[]): Promise<number> => {
      const [row] = await db.query<{ gone: number }>(
        `with gone as (${sql} returning 1) select count(*)::int as gone from gone`,
        parameters,
      );
      return row?.gone ?? 0;
    };
    return {
      work: await gone(
        `delete from work where done >= wanted and parked_at is null and leased_until is null and woken_at < $1 and stage <> all($2::text[])`,
        [before(WORK_DAYS), KEPT_STAGES],
      ),
      reject: await gone(
        `delete from reject r using import i where i.organisation = r.organisation and i.id = r.import and i.imported_at < $1`,
        [before(IMPORT_DAYS)],
      ),
      import: await this.tidyImports(db, before(IMPORT_DAYS)),
      zone: await gone(`delete from spend_zone_asked where asked_at < $1`, [before(ZONE_DAYS)]),
    };
  }

  /** Asked for and then deleted: a Citus cluster deletes from no table of the coordinator by what is on every node. */
  private async tidyImports(db: Queryable, before: string): Promise<number> {
    for (let gone = 0; ; ) {
      const old = await db.query<{ organisation: string; id: string }>(
        `select i.organisation, i.id::text as id from import i where i.imported_at < $1 and i.price_statement is null and (i.accepted = 0 or i.undone_at is not null)
           and not exists (select 1 from delivery v where v.organisation = i.organisation and v.import = i.id)
           and not exists (select 1 from delivery v, jsonb_array_elements(v.members) m where v.organisation = i.organisation and (m ->> 'import')::bigint = i.id)
           and not exists (select 1 from delivery_replaced v where v.organisation = i.organisation and v.import = i.id)
           and not exists (select 1 from delivery_confirmed v where v.organisation = i.organisation and v.import = i.id)
           and not exists (select 1 from reject r where r.organisation = i.organisation and r.import = i.id)
         limit ${IMPORTS}`,
        [before],
      );
      const rows = await db.query(
        `delete from import i using unnest($1::text[], $2::bigint[]) as o(organisation, id) where i.organisation = o.organisation and i.id = o.id returning 1`,
        [old.map(({ organisation }) => organisation), old.map(({ id }) => id)],
      );
      gone += rows.length;
      if (old.length < IMPORTS) return gone;
    }
  }
}
