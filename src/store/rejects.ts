/** Rows that could not be read, and the imports that they came in. Reads only: intake.ts writes both. */
import type { BilledTotal } from '../core/ports.js';
import type { Queryable } from './database.js';

export interface StoredReject {
  readonly import: string;
  readonly no: number;
  readonly file: string;
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
  readonly raw: string;
}

export interface StoredImport {
  readonly id: string;
  readonly source: string;
  readonly file: string;
  readonly format: string;
  readonly rows: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unchanged: number;
  readonly billed: readonly BilledTotal[];
  readonly unknownColumns: readonly string[];
  readonly importedAt: string;
  readonly importedBy: string;
}

export class RejectStore {
  constructor(private readonly db: Queryable) {}

  /** Rejects of one import or of all, newest import first; `after` is `import/no` of the last one seen. */
  async list(organisation: string, importId: string | null, after: { import: string; no: number } | null, limit: number): Promise<StoredReject[]> {
    return this.db.query<StoredReject>(
      `select import::text as import, no, file, line::int as line, column_name as "column", reason, raw from reject
       where organisation = $1 and ($2::bigint is null or import = $2)
         and ($3::bigint is null or import < $3 or (import = $3 and no > $4)) order by import desc, no limit $5`,
      [organisation, importId, after?.import ?? null, after?.no ?? null, limit],
    );
  }

  async imports(organisation: string, before: string | null, limit: number): Promise<StoredImport[]> {
    const rows = await this.db.query<Omit<StoredImport, 'importedAt'> & { importedAt: Date }>(
      `select id::text as id, source, file, format, rows::int as rows, accepted::int as accepted, rejected::int as rejected, unchanged::int as unchanged,
         billed, unknown_columns as "unknownColumns", imported_at as "importedAt", imported_by as "importedBy"
       from import where organisation = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
      [organisation, before, limit],
    );
    return rows.map((row) => ({ ...row, importedAt: row.importedAt.toISOString() }));
  }
}
