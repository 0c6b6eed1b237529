/**
 * Selects raw records for an archive, deletes them, and restores them. Only whole deliveries are archived, whose
 * records all ended before a given time: a delivery that was archived in part could not be allocated again. The row of
 * a block stays and says where its records are (`decodeBlock` refuses to read it), and which of them count; digests of
 * ids stay, so that a repeated record is always recognised. The transaction that deletes records also locks them and
 * compares them with the archive.
 */
import { conflict } from '../../core/errors.js';
import type { RawBlock } from '../../core/archive.js';
import { formatInstant } from '../../core/time.js';
import type { Database, Queryable, Transaction } from '../database.js';
import { archivedPayload, ARCHIVED_WORDS, BlockBuilder, decodeBlock, groupsOf, type StoredBlock } from './block.js';

/** Blocks of one source and month that go into one file. */
export interface Portion {
  readonly source: string;
  /** The UTC month in which the last record of their delivery ended: `2025-03`. */
  readonly month: string;
  readonly blocks: readonly { readonly delivery: string; readonly no: number; readonly records: number }[];
}

export interface ArchivedFile {
  readonly id: string;
  readonly source: string;
  readonly month: string;
  readonly path: string;
  /** The place where it was written: a folder, or a bucket. */
  readonly place: string;
  readonly blocks: number;
  readonly records: string;
  /** The number of those that count. */
  readonly counted: string;
  readonly bytes: string;
  /** SHA-256 of the file, hexadecimal. */
  readonly digest: string;
  readonly archivedAt: string;
  /** Null: the records are only in the archive. */
  readonly restoredAt: string | null;
}

/** A block as it was read, to be compared with what is there when it is let go. */
export interface ReadBlock extends StoredBlock {
  readonly delivery: string;
  readonly no: number;
}

/** A file holds so many records at most, but one block at least: it is in memory as a whole. */
const MOST_RECORDS = 131_072;
const MOST_BLOCKS = 2048;

const FILE = `id::text as id, source, month, path, place, blocks, records::text as records, counted::text as counted,
  bytes::text as bytes, encode(digest, 'hex') as digest, archived_at as "archivedAt", restored_at as "restoredAt"`;

type FileRow = Omit<ArchivedFile, 'archivedAt' | 'restoredAt'> & { archivedAt: Date; restoredAt: Date | null };

const fileOf = ({ archivedAt, restoredAt, ...row }: FileRow): ArchivedFile => ({
  ...row,
  archivedAt: archivedAt.toISOString(),
  restoredAt: restoredAt?.toISOString() ?? null,
});

/** Blocks as the archive has them. */
export const rawBlocks = (source: string, blocks: readonly ReadBlock[]): RawBlock[] =>
  blocks.map(({ delivery, no, payload, set_aside }) => {
    const groups = groupsOf(payload);
    const aside = new Set(set_aside);
    const records = decodeBlock(payload).map((record, at) => ({
      record,
      group: groups[at] ?? 0,
      counts: !aside.has(at),
    }));
    return { source, delivery, no, records };
  });

const payloadOf = ({ records }: RawBlock): Buffer => {
  const builder = new BlockBuilder();
  for (const { group, record } of records) builder.add(group, record);
  return builder.encode();
};

export class ArchiveStore {
  constructor(private readonly db: Database) {}

  /**
   * What comes next of what ended before an instant, in the order of sources and deliveries; null: nothing does. A
   * supplement stays, as its bill may come again.
   */
  async next(organisation: string, before: number, now: number): Promise<Portion | null> {
    const rows = await this.db.query<{ source: string; month: string; delivery: string }>(
      `select b.source, b.delivery::text as delivery,
         to_char((max(b.last_end) - interval '1 millisecond') at time zone 'UTC', 'YYYY-MM') as month
       from block b join delivery v on v.organisation = b.organisation and v.id = b.delivery and v.supplement is null
         and (v.keep_until is null or v.keep_until <= $3)
       where b.organisation = $1
       group by b.source, b.delivery having max(b.last_end) <= $2 and bool_or(b.archive is null)
       order by b.source, month, b.delivery limit ${MOST_BLOCKS}`,
      [organisation, formatInstant(before), formatInstant(now)],
    );
    const [first] = rows;
    if (first === undefined) return null;
    const { source, month } = first;
    const deliveries = rows.filter((row) => row.source === source && row.month === month);
    const blocks = await this.db.query<Portion['blocks'][number]>(
      `select delivery::text as delivery, no, records from block
       where organisation = $1 and source = $2 and delivery = any($3::bigint[]) and archive is null
       order by block.delivery, no limit ${MOST_BLOCKS}`,
      [organisation, source, deliveries.map(({ delivery }) => delivery)],
    );
    let sum = 0;
    return { source, month, blocks: blocks.filter(({ records }, at) => (sum += records) <= MOST_RECORDS || at === 0) };
  }

  /** The blocks of a portion as they are; with a lock where a transaction asks. */
  async blocks(db: Queryable, organisation: string, { source, blocks }: Portion, lock = ''): Promise<ReadBlock[]> {
    return db.query<ReadBlock>(
      `select delivery::text as delivery, no, payload, set_aside from block
       where organisation = $1 and source = $2 and archive is null
         and (delivery, no) in (select * from unnest($3::bigint[], $4::int[]))
       order by block.delivery, no ${lock}`,
      [organisation, source, blocks.map(({ delivery }) => delivery), blocks.map(({ no }) => no)],
    );
  }

  /**
   * Lets a portion go that is written. @param read what the archive was made of
   * @throws Failure conflict if that is not what is there now
   */
  async letGo(
    tx: Transaction,
    organisation: string,
    portion: Portion,
    read: readonly ReadBlock[],
    file: Pick<ArchivedFile, 'path' | 'place' | 'digest'> & { readonly bytes: number },
    { by, now }: { readonly by: string; readonly now: number },
  ): Promise<void> {
    const { source, month } = portion;
    const held = await this.blocks(tx, organisation, portion, 'for update');
    const isSame = held.length === read.length && held.every((block, at) => sameBlock(block, read[at]));
    if (!isSame) throw conflict(`records of ${source} in ${month} were corrected meanwhile: run it again`);
    const records = portion.blocks.reduce((sum, block) => sum + block.records, 0);
    const aside = read.reduce((sum, block) => sum + block.set_aside.length, 0);
    const [made] = await tx.query<{ id: string }>(
      `insert into archive (organisation, source, month, path, place, blocks, records, counted, bytes, digest, archived_at, archived_by)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, decode($10, 'hex'), $11, $12) returning id::text as id`,
      [
        organisation,
        source,
        month,
        file.path,
        file.place,
        read.length,
        records,
        records - aside,
        file.bytes,
        file.digest,
        formatInstant(now),
        by,
      ],
    );
    const [deliveries, nos] = [read.map(({ delivery }) => delivery), read.map(({ no }) => no)];
    await tx.query(
      `update block set payload = $5, archive = $6 where organisation = $1 and source = $2
         and (delivery, no) in (select * from unnest($3::bigint[], $4::int[]))`,
      [organisation, source, deliveries, nos, archivedPayload(month), made?.id],
    );
    await tx.query(`update delivery set archived = true where organisation = $1 and id = any($2::bigint[])`, [
      organisation,
      [...new Set(deliveries)],
    ]);
  }

  /** Files in order, those of a month or a source only where one is given. */
  async files(
    organisation: string,
    { month, source }: { readonly month?: string | undefined; readonly source?: string | undefined } = {},
  ): Promise<ArchivedFile[]> {
    const rows = await this.db.query<FileRow>(
      `select ${FILE} from archive where organisation = $1 and ($2::text is null or month = $2) and ($3::text is null or source = $3)
       order by archive.id`,
      [organisation, month ?? null, source ?? null],
    );
    return rows.map(fileOf);
  }

  /**
   * Takes a file's records back; what had met that they were away is tried again. What has gone meanwhile (its import
   * was undone) does not come back.
   * @param keepUntil epoch milliseconds until when they do not go again
   */
  async takeBack(
    tx: Transaction,
    organisation: string,
    file: ArchivedFile,
    blocks: readonly RawBlock[],
    { by, now, keepUntil }: { readonly by: string; readonly now: number; readonly keepUntil: number },
  ): Promise<void> {
    for (const block of blocks)
      await tx.query(
        `update block set payload = $6, archive = null where organisation = $1 and source = $2 and delivery = $3 and no = $4 and archive = $5`,
        [organisation, block.source, block.delivery, block.no, file.id, payloadOf(block)],
      );
    await tx.query(
      `update archive set restored_at = $3, restored_by = $4 where organisation = $1 and id = $2 and restored_at is null`,
      [organisation, file.id, formatInstant(now), by],
    );
    const deliveries = [...new Set(blocks.map(({ delivery }) => delivery))];
    const whole = await tx.query<{ id: string }>(
      `select w.id::text as id from unnest($3::bigint[]) as w(id) where not exists (select 1 from block b
         where b.organisation = $1 and b.source = $2 and b.delivery = w.id and b.archive is not null)`,
      [organisation, file.source, deliveries],
    );
    const ids = whole.map(({ id }) => id);
    await tx.query(
      `update delivery set archived = null, keep_until = $3 where organisation = $1 and id = any($2::bigint[])`,
      [organisation, ids, formatInstant(keepUntil)],
    );
    await tx.query(
      `update delivery_replaced set bill = bill || '{"archived": null}' where organisation = $1 and id = any($2::bigint[]) and bill ? 'id'`,
      [organisation, ids],
    );
    await tx.query(
      `update work set parked_at = null, attempts = 0 where organisation = $1 and parked_at is not null and last_error like $2`,
      [organisation, `${ARCHIVED_WORDS}%`],
    );
  }
}

const sameBlock = (one: ReadBlock, other: ReadBlock | undefined): boolean =>
  other !== undefined &&
  one.delivery === other.delivery &&
  one.no === other.no &&
  one.payload.equals(other.payload) &&
  one.set_aside.length === other.set_aside.length &&
  one.set_aside.every((place, at) => place === other.set_aside[at]);
