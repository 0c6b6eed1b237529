/**
 * Open deliveries: files of one bill that arrive one after another, kept until all are present. None of them counts
 * before the delivery is committed; then all of it is imported at once, and the stored files are deleted. The same file
 * again changes nothing. Another file of the same name is a conflict, unless it is meant to replace the first: sources
 * use the same names for the parts of every month. Never reads a file's content.
 */
import { createHash } from 'node:crypto';
import { conflict, missing } from '../../core/errors.js';
import type { Database, Queryable, Transaction } from '../database.js';
import { waitForLock } from '../locks.js';

/** Content is kept in pieces of this size. */
export const CHUNK_BYTES = 4 << 20;

export interface OpenDelivery {
  readonly name: string;
  readonly source: string;
  /** A format's name, or `auto`. */
  readonly format: string;
  readonly openedAt: string;
  readonly openedBy: string;
  readonly files: readonly DeliveredFile[];
}

export interface DeliveredFile {
  readonly file: string;
  readonly bytes: number;
  /** In hexadecimal, of the bytes as they came. */
  readonly sha256: string;
}

interface Row {
  readonly name: string;
  readonly source: string;
  readonly format: string;
  readonly opened_at: Date;
  readonly opened_by: string;
  readonly files: readonly { readonly file: string; readonly bytes: number; readonly sha256: string }[];
}

const SELECT = `
select d.name, d.source, d.format, d.opened_at, d.opened_by,
  coalesce(json_agg(json_build_object('file', f.file, 'bytes', f.bytes, 'sha256', encode(f.digest, 'hex')) order by f.file)
    filter (where f.file is not null), '[]') as files
from open_delivery d left join open_delivery_file f on f.organisation = d.organisation and f.delivery = d.name`;
const GROUP = `group by d.name, d.source, d.format, d.opened_at, d.opened_by order by d.name`;

export class DeliveryStore {
  constructor(private readonly db: Database) {}

  /** Opens it, or leaves it open. @throws Failure conflict if it is open for another source or format. */
  async open(
    tx: Transaction,
    organisation: string,
    { name, source, format }: Pick<OpenDelivery, 'name' | 'source' | 'format'>,
    by: string,
    now: number,
  ): Promise<{ readonly delivery: OpenDelivery; readonly opened: boolean }> {
    const opened = await tx.query(
      `insert into open_delivery (organisation, name, source, format, opened_at, opened_by) values ($1, $2, $3, $4, $5, $6)
       on conflict (organisation, name) do nothing returning 1 as opened`,
      [organisation, name, source, format, new Date(now), by],
    );
    const delivery = await this.get(tx, organisation, name);
    if (delivery.source !== source || delivery.format !== format)
      throw conflict(
        `the delivery ${name} is open for the source ${delivery.source} and the format ${delivery.format}`,
      );
    return { delivery, opened: opened.length > 0 };
  }

  /** @throws Failure missing if no such delivery is open. */
  async get(db: Queryable, organisation: string, name: string): Promise<OpenDelivery> {
    const [row] = await db.query<Row>(`${SELECT} where d.organisation = $1 and d.name = $2 ${GROUP}`, [
      organisation,
      name,
    ]);
    if (row === undefined) throw missing(`no delivery ${name} is open`);
    return fromRow(row);
  }

  async list(db: Queryable, organisation: string): Promise<OpenDelivery[]> {
    const rows = await db.query<Row>(`${SELECT} where d.organisation = $1 ${GROUP}`, [organisation]);
    return rows.map(fromRow);
  }

  /**
   * Takes a file in, whole or not at all.
   * @param replace another file of this name is there: this one takes its place
   * @throws Failure missing if no such delivery is open, conflict if another file of this name is there.
   */
  async add(
    organisation: string,
    name: string,
    file: string,
    content: AsyncIterable<Uint8Array>,
    now: number,
    replace = false,
  ): Promise<DeliveredFile> {
    return this.db.transaction(async (tx) => {
      const [open] = await tx.query(`select 1 from open_delivery where organisation = $1 and name = $2 for key share`, [
        organisation,
        name,
      ]);
      if (open === undefined) throw missing(`no delivery ${name} is open`);
      // Sent again while the first is still taken in (its connection broke), it waits, and finds the same file there.
      await waitForLock(tx, 'bursar.delivery', organisation, name, file);
      const [there] = await tx.query<{ digest: Buffer }>(
        `select digest from open_delivery_file where organisation = $1 and delivery = $2 and file = $3`,
        [organisation, name, file],
      );
      await this.dropFile(tx, organisation, name, file);
      const digest = createHash('sha256');
      let [bytes, no] = [0, 0];
      for await (const chunk of chunksOf(content)) {
        digest.update(chunk);
        bytes += chunk.length;
        await tx.query(
          `insert into open_delivery_chunk (organisation, delivery, file, no, content) values ($1, $2, $3, $4, $5)`,
          [organisation, name, file, no++, chunk],
        );
      }
      const sum = digest.digest();
      if (there !== undefined && !there.digest.equals(sum) && !replace)
        throw conflict(
          `the delivery ${name} has another file of the name ${file}: give each file a name of its own ` +
            '(a report of each month has parts of the same names: a delivery for each), or replace it ' +
            '(through the API replace=true)',
        );
      await tx.query(
        `insert into open_delivery_file (organisation, delivery, file, digest, bytes, taken_at) values ($1, $2, $3, $4, $5, $6)`,
        [organisation, name, file, sum, bytes, new Date(now)],
      );
      return { file, bytes, sha256: sum.toString('hex') };
    });
  }

  async *content(organisation: string, name: string, file: string): AsyncGenerator<Uint8Array> {
    for (let no = 0; ; no++) {
      const [row] = await this.db.query<{ content: Buffer }>(
        `select content from open_delivery_chunk where organisation = $1 and delivery = $2 and file = $3 and no = $4`,
        [organisation, name, file, no],
      );
      if (row === undefined) return;
      yield row.content;
    }
  }

  /**
   * Forgets it and its files: it was imported, or it is discarded.
   * @param imported what it had when it was imported; another file that came meanwhile keeps all of it open
   * @throws Failure conflict naming those files
   */
  async close(tx: Transaction, organisation: string, name: string, imported?: readonly DeliveredFile[]): Promise<void> {
    if (imported !== undefined) {
      // Files that are being taken in are waited for. Gone: another commit of the same files was faster.
      const [open] = await tx.query(`select 1 from open_delivery where organisation = $1 and name = $2 for update`, [
        organisation,
        name,
      ]);
      if (open === undefined) return;
      const { files } = await this.get(tx, organisation, name);
      const late = files.filter(({ file, sha256 }) => !imported.some((o) => o.file === file && o.sha256 === sha256));
      if (late.length > 0)
        throw conflict(
          `${late.map(({ file }) => file).join(', ')} came while the delivery ${name} was imported: what it had before ` +
            'counts, and it is still open with all of its files; commit it again',
          late.map(({ file }) => ({ path: file, message: 'came while the delivery was imported' })),
        );
    }
    for (const table of ['open_delivery_chunk', 'open_delivery_file'])
      await tx.query(`delete from ${table} where organisation = $1 and delivery = $2`, [organisation, name]);
    await tx.query(`delete from open_delivery where organisation = $1 and name = $2`, [organisation, name]);
  }

  private async dropFile(tx: Transaction, organisation: string, name: string, file: string): Promise<void> {
    for (const table of ['open_delivery_chunk', 'open_delivery_file'])
      await tx.query(`delete from ${table} where organisation = $1 and delivery = $2 and file = $3`, [
        organisation,
        name,
        file,
      ]);
  }
}

const fromRow = ({ opened_at, opened_by, ...row }: Row): OpenDelivery => ({
  ...row,
  openedAt: opened_at.toISOString(),
  openedBy: opened_by,
});

/** The bytes in pieces of CHUNK_BYTES, the last one shorter. */
async function* chunksOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of content) {
    parts.push(part);
    size += part.length;
    if (size < CHUNK_BYTES) continue;
    let whole = Buffer.concat(parts);
    while (whole.length >= CHUNK_BYTES) {
      yield whole.subarray(0, CHUNK_BYTES);
      whole = whole.subarray(CHUNK_BYTES);
    }
    parts = [whole];
    size = whole.length;
  }
  if (size > 0) yield Buffer.concat(parts);
}
