/**
 * Rows that could not be read, and their imports. intake.ts writes them during an import.
 */
import type { PriceStatement } from '../price/prices.js';
import type { ImportedFile, ImportedPrices } from '../../core/ports.js';
import { missing } from '../../core/errors.js';
import type { Reject } from '../../core/usage.js';
import { copyText, type Queryable, type Transaction } from '../database.js';

export interface StoredReject {
  readonly import: string;
  readonly no: number;
  readonly file: string;
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
  readonly raw: string;
}

export interface StoredImport extends Omit<ImportedFile, 'import' | 'replaced' | 'removed' | 'restated' | 'outdated'> {
  readonly id: string;
  readonly source: string;
  readonly importedAt: string;
  readonly importedBy: string;
  readonly undoneAt: string | null;
  readonly undoneBy: string | null;
}

export class RejectStore {
  constructor(private readonly db: Queryable) {}

  /** Rejects of one import or of all, newest import first; `after` is `import/no` of the last one seen. */
  async list(
    organisation: string,
    importId: string | null,
    after: { import: string; no: number } | null,
    limit: number,
  ): Promise<StoredReject[]> {
    return this.db.query<StoredReject>(
      `select import::text as import, no, file, line::int as line, column_name as "column", reason, raw from reject
       where organisation = $1 and ($2::bigint is null or import = $2)
         and ($3::bigint is null or import < $3 or (import = $3 and no > $4)) order by reject.import desc, reject.no limit $5`,
      [organisation, importId, after?.import ?? null, after?.no ?? null, limit],
    );
  }

  /** @throws Failure missing. */
  async checkImport(organisation: string, id: string): Promise<void> {
    const known = await this.db.query(`select 1 from import where organisation = $1 and id = $2`, [organisation, id]);
    if (known.length === 0) throw missing(`there is no import "${id}"`);
  }

  /** Notes the import of a price list and keeps its rejects. */
  async saveList(
    tx: Transaction,
    organisation: string,
    source: string,
    list: ImportedPrices,
    statement: PriceStatement | null,
    by: string,
    now: number,
  ): Promise<void> {
    const [row] = await tx.query<{ id: string }>(
      `insert into import (organisation, source, file, format, rows, accepted, rejected, unchanged, billed, imported_at, imported_by, price_statement)
       values ($1, $2, $3, $4, $5, $6, $7, $8, '[]', $9, $10, $11) returning id::text as id`,
      [
        organisation,
        source,
        list.file,
        list.format,
        list.rows,
        list.accepted,
        list.rejected,
        list.unchanged,
        new Date(now),
        by,
        JSON.stringify(statement),
      ],
    );
    await tx.copy('reject', REJECT, rejectRows(organisation, row?.id ?? '', 0, list.file, list.rejects));
  }

  async imports(organisation: string, before: string | null, limit: number): Promise<StoredImport[]> {
    const rows = await this.db.query<
      Omit<StoredImport, 'importedAt' | 'undoneAt'> & { importedAt: Date; undoneAt: Date | null }
    >(
      `select id::text as id, source, file, format, rows::int as rows, accepted::int as accepted, rejected::int as rejected, unchanged::int as unchanged,
         billed, unknown_columns as "unknownColumns", imported_at as "importedAt", imported_by as "importedBy", warnings,
         undone_at as "undoneAt", undone_by as "undoneBy" from import where organisation = $1 and ($2::bigint is null or id < $2) order by import.id desc limit $3`,
      [organisation, before, limit],
    );
    return rows.map((row) => ({
      ...row,
      importedAt: row.importedAt.toISOString(),
      undoneAt: row.undoneAt?.toISOString() ?? null,
    }));
  }
}

export const REJECT = ['organisation', 'import', 'no', 'file', 'line', 'column_name', 'reason', 'raw'];

/** Rejects as lines for COPY into the columns REJECT, numbered from `first`. */
export function* rejectRows(
  organisation: string,
  importId: string,
  first: number,
  file: string,
  rejects: readonly Reject[],
): Generator<string> {
  for (const [at, r] of rejects.entries()) {
    yield `${copyText(organisation)}\t${importId}\t${first + at}\t${copyText(file)}\t${r.line}\t${copyText(r.column === null ? null : printable(r.column))}\t${copyText(printable(r.reason))}\t${copyText(printable(r.raw))}\n`;
  }
}

/** PostgreSQL's text holds no NUL, and its JSON no half of a surrogate pair either: names of fields and columns have both. */
export function printable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\u2400');
}
