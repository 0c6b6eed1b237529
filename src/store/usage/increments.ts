/**
 * Finds lines in a file of an adding period that another file of the period already contains: the identity from the
 * source makes two lines the same, in whatever files they are.
 *
 * Reads only the raw blocks of files with lines of the same time. Never writes.
 */
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { decodeBlock } from './block.js';

export interface SharedLines {
  readonly delivery: string;
  /** Null: it comes with this one, in one call. */
  readonly scope: string | null;
  readonly records: string;
  readonly lines: number;
  /** The identity of one of them. */
  readonly example: string;
}

/** A line that its source gives no identity has its place in the file, which is nobody else's word for it. */
const nameOf = ({ id, account, start, end }: UsageRecord): string | null =>
  /^\d+$/.test(id) ? null : `${id}\u0001${account ?? ''}\u0001${start}\u0001${end}`;

/**
 * @param prefix of the scopes of its period
 * @param replaced scopes that are delivered again: what they had goes
 * @param together deliveries of the same call and period
 */
export async function sharedLines(
  db: Queryable,
  organisation: string,
  source: string,
  own: { readonly delivery: string; readonly digest: Buffer; readonly prefix: string },
  replaced: readonly string[],
  together: readonly string[],
): Promise<SharedLines[]> {
  const others = await db.query<{ delivery: string; scope: string | null; records: string }>(
    `select v.id::text as delivery, v.scope, v.records::text as records from delivery v
     where v.organisation = $1 and v.source = $2 and v.id <> $3 and v.digest is distinct from $4
       and (v.id = any($7::bigint[]) or (starts_with(v.scope, $5) and v.scope <> all($6::text[])))
       and exists (
         select 1 from block o join block b on b.organisation = o.organisation and b.source = o.source
           and b.first_start < o.last_end and b.last_end > o.first_start
         where o.organisation = $1 and o.source = $2 and o.delivery = $3 and b.delivery = v.id)
     order by v.id`,
    [organisation, source, own.delivery, own.digest, own.prefix, replaced, together],
  );
  if (others.length === 0) return [];
  const names = new Set<string>();
  for await (const record of recordsOf(db, organisation, source, own.delivery)) {
    const name = nameOf(record);
    if (name !== null) names.add(name);
  }
  const found: SharedLines[] = [];
  for (const other of others) {
    let [lines, example] = [0, ''];
    for await (const record of recordsOf(db, organisation, source, other.delivery)) {
      const name = nameOf(record);
      if (name === null || !names.has(name)) continue;
      lines += 1;
      example ||= record.id;
    }
    if (lines > 0) found.push({ ...other, lines, example });
  }
  return found;
}

async function* recordsOf(
  db: Queryable,
  organisation: string,
  source: string,
  delivery: string,
): AsyncGenerator<UsageRecord> {
  for (let no = 0; ; no++) {
    const [row] = await db.query<{ payload: Buffer }>(
      `select payload from block where organisation = $1 and source = $2 and delivery = $3 and no = $4`,
      [organisation, source, delivery, no],
    );
    if (row === undefined) return;
    yield* decodeBlock(row.payload);
  }
}
