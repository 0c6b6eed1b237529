/**
 * Reads blocks a few at a time, in separate statements, while the line continues and may undo imports and merge small
 * deliveries. All that is read belongs to one state, or the reader must start again: it names the deliveries that it
 * has read, and at the end all of them must still exist.
 */
import type { Failure } from '../../core/errors.js';
import type { Queryable } from '../database.js';
import { formatInstant, type Interval } from '../../core/time.js';
import { overtaken } from '../trouble.js';
import type { StoredBlock } from './block.js';

export interface BlockKey {
  readonly source: string;
  readonly delivery: string;
  readonly no: number;
}

export interface BlockRow extends StoredBlock, BlockKey {
  readonly records: number;
}

/**
 * The blocks of deliveries that hold records of a time, in the order of their keys.
 * @param page blocks that are in memory at once
 * @throws Failure unavailable if one of the deliveries has gone meanwhile: the transaction is run again
 */
export async function* blocksOf(
  db: Queryable,
  organisation: string,
  deliveries: readonly string[],
  { start, end }: Interval,
  page: number,
): AsyncGenerator<BlockRow> {
  if (deliveries.length === 0) return;
  for (let last: BlockRow | undefined; ; ) {
    const rows: BlockRow[] = await db.query<BlockRow>(
      `select source, delivery::text as delivery, no, records, payload, set_aside from block
       where organisation = $1 and delivery = any($2::bigint[]) and first_start < $4 and last_end >= $3
         and ($5::text is null or (source, delivery, no) > ($5, $6::bigint, $7::int))
       order by block.source, block.delivery, block.no limit ${page}`,
      [
        organisation,
        deliveries,
        formatInstant(start),
        formatInstant(end),
        last?.source ?? null,
        last?.delivery ?? null,
        last?.no ?? null,
      ],
    );
    yield* rows;
    last = rows.at(-1);
    if (rows.length < page) break;
  }
  const [left] = await db.query<{ deliveries: number }>(
    `select count(*)::int as deliveries from delivery where organisation = $1 and id = any($2::bigint[])`,
    [organisation, deliveries],
  );
  if (left?.deliveries !== new Set(deliveries).size) throw goneMeanwhile();
}

/** Where a block of metered usage lies, and what can be told of it without reading it. */
export interface BlockSeen extends BlockKey {
  readonly records: number;
  readonly lastEnd: Date;
}

/**
 * The blocks of metered usage that hold records of a time, those that end last first.
 * @param most absent: all
 */
export function meteredBlocks(
  db: Queryable,
  organisation: string,
  { start, end }: Interval,
  most: number | null = null,
): Promise<BlockSeen[]> {
  return db.query<BlockSeen>(
    `select b.source, b.delivery::text as delivery, b.no, b.records, b.last_end as "lastEnd"
     from block b join delivery v on v.organisation = b.organisation and v.id = b.delivery and v.scope is null
     where b.organisation = $1 and b.first_start < $3 and b.last_end >= $2
     order by b.last_end desc, b.source, b.delivery desc, b.no desc limit $4`,
    [organisation, formatInstant(start), Number.isFinite(end) ? formatInstant(end) : 'infinity', most],
  );
}

/**
 * Reads blocks that were seen, in their order. A record that moved meanwhile may come twice.
 * @throws Failure unavailable if one of them has gone meanwhile: the transaction is run again
 */
export async function* readSeen<Seen extends BlockKey>(
  db: Queryable,
  organisation: string,
  seen: readonly Seen[],
  page: number,
): AsyncGenerator<StoredBlock & Seen> {
  for (let from = 0; from < seen.length; from += page) {
    const own = seen.slice(from, from + page);
    const rows = await db.query<StoredBlock & { place: number }>(
      `select w.place::int as place, b.payload, b.set_aside
       from unnest($2::text[], $3::bigint[], $4::int[]) with ordinality as w(source, delivery, no, place)
       join block b on b.organisation = $1 and b.source = w.source and b.delivery = w.delivery and b.no = w.no
       order by w.place`,
      [organisation, own.map(({ source }) => source), own.map(({ delivery }) => delivery), own.map(({ no }) => no)],
    );
    if (rows.length < own.length) throw goneMeanwhile();
    for (const { place, ...block } of rows) {
      const where = own[place - 1];
      if (where !== undefined) yield { ...where, ...block };
    }
  }
}

const goneMeanwhile = (): Failure => overtaken('deliveries were merged or taken back while their records were read');
