/**
 * Detects whether this database is still the same one as at the last check, or was restored from a backup. A dump
 * restored elsewhere, over existing data, or as rows alone has other object identifiers, or rows that another
 * transaction wrote. A server that recovered from a backup's write-ahead log is on another timeline. A copied data
 * folder has another file. A base backup that is started as it is usually has another directory or port.
 *
 * A property that a server does not reveal proves nothing. A disk that was reset as a whole to an earlier time shows no
 * difference inside: a person has to report it (`bursar restored`). The code that detects the move stops acting
 * (application/action/after-restore.ts) before it records the new location.
 */
import type { Queryable } from '../statements.js';

export interface HomeOptions {
  /** The mark that distinguishes the embedded server's data folder from a copy; null: there is none. */
  readonly folder: string | null;
  /** Whether a standby that takes over has lost nothing: then another timeline proves no restore. */
  readonly standbyIsWhole: boolean;
}

/** The property that differs from the record. */
export type Moved = 'database' | 'folder' | 'place' | 'row' | 'server' | 'table' | 'timeline';

const WORDS: Readonly<Record<Moved, string>> = {
  database: 'it is another database on the same server',
  folder: 'its data folder is a copy',
  place: 'its server has another data directory or port',
  row: 'its rows were copied in from another database',
  server: 'it is on another server',
  table: 'its tables were created again',
  timeline: 'its server went on from a backup, or is a standby that took over',
};

/** For people: by what it is known. */
export const movedWords = (moved: readonly Moved[]): string => moved.map((one) => WORDS[one]).join(', ');

/** A value that either side does not have is compared with nothing. */
const MOVED = `
select noted.key as mark from database_home h, jsonb_each_text(h.marks) noted
  join jsonb_each_text(database_marks()) here on here.key = noted.key and here.value <> noted.value
  where h.organisation = $1 and (noted.key <> 'place' or $2::text is null)
union all select 'row' from database_home where organisation = $1 and row_version <> xmin::text
union all select 'folder' from database_home where organisation = $1 and folder <> $2::text
order by 1`;

export class HomeStore {
  constructor(private readonly options: HomeOptions) {}

  /** The signs by which it is known that the database was made again; empty: there are none. */
  async moved(db: Queryable, organisation: string): Promise<Moved[]> {
    const { folder, standbyIsWhole } = this.options;
    const rows = await db.query<{ mark: Moved }>(MOVED, [organisation, folder]);
    const marks = rows.map(({ mark }) => mark);
    const hasTakenOver = standbyIsWhole && marks.includes('timeline');
    return hasTakenOver ? marks.filter((mark) => mark !== 'timeline' && mark !== 'place') : marks;
  }

  /** Whether the server tells of itself now what it did not when it was noted. */
  async hasMoreMarks(db: Queryable, organisation: string): Promise<boolean> {
    const rows = await db.query(
      `select 1 from database_home h, jsonb_each_text(database_marks()) here
       where h.organisation = $1 and here.value is not null and h.marks ->> here.key is null limit 1`,
      [organisation],
    );
    return rows.length > 0;
  }

  /** Whether anything was noted ever. Locks what was, so that of several processes one settles a restore. */
  async isNoted(tx: Queryable, organisation: string): Promise<boolean> {
    const rows = await tx.query(`select 1 from database_home where organisation = $1 for update`, [organisation]);
    return rows.length > 0;
  }

  /** From now on this is where the database is. */
  async note(tx: Queryable, organisation: string, now: number): Promise<void> {
    await tx.query(
      `insert into database_home (organisation, marks, row_version, folder, noted_at)
       values ($1, database_marks(), pg_current_xact_id()::xid::text, $2, $3)
       on conflict (organisation) do update set marks = excluded.marks, row_version = excluded.row_version,
         folder = coalesce(excluded.folder, database_home.folder), noted_at = excluded.noted_at`,
      [organisation, this.options.folder, new Date(now)],
    );
  }
}
