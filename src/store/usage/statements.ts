/**
 * Statements of metered records: the position of each statement of an id, which of them counts, and the sums without
 * the others.
 *
 * Of all statements of an id that a source has sent and not undone, the one with the latest version counts; the others
 * stay in their blocks, set aside, so that they can count again. Nothing here depends on the order of arrival.
 */
import type { Grouping } from '../../core/cost/rollup.js';
import { formatInstant, HOUR_MS, hourOf } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable, Transaction } from '../database.js';
import { decodeBlock, countedRecords, type StoredBlock } from './block.js';
import { DeliveryWriter, type DeliveryTarget } from './delivery.js';
import { idWords, keyBytes, WantedIds, wordsKey } from './digests.js';
import type { TeamDay } from './raw.js';
import { digestRows } from './seen.js';

/** A record where it lies. */
export interface Statement {
  readonly delivery: string;
  readonly no: number;
  readonly at: number;
  readonly record: UsageRecord;
  /** It does not count: a later statement does. */
  readonly aside: boolean;
}

/** Deliveries, and the hours in which something of them begins. */
export class Places {
  readonly hours = new Map<string, Set<number>>();

  add(delivery: string, hour: number): void {
    const known = this.hours.get(delivery);
    if (known === undefined) this.hours.set(delivery, new Set([hour]));
    else known.add(hour);
  }

  addAll(delivery: string, record: UsageRecord): void {
    for (let hour = hourOf(record.start); hour <= record.end; hour += HOUR_MS) this.add(delivery, hour);
  }
}

interface Versions {
  readonly from: bigint;
  readonly to: bigint;
}

/** Where statements of some ids may lie: noted ones, those of the given hours, and those of the given versions. */
export async function placesOf(
  tx: Queryable,
  organisation: string,
  source: string,
  ids: ReadonlyMap<string, Versions | null>,
  hours: ReadonlySet<number>,
): Promise<Places> {
  const places = new Places();
  const words = new Map([...ids.keys()].map((id) => [id, idWords(id)]));
  const open = new Map([...words.values()].map((id) => [wordsKey(id), id]));
  const noted = await tx.query<{ key: Buffer; delivery: string; hour: Date }>(
    `select key, delivery::text as delivery, hour from usage_statement where organisation = $1 and source = $2 and key = any($3::bytea[])`,
    [organisation, source, [...ids.keys()].map(keyBytes)],
  );
  for (const { key, delivery, hour } of noted) {
    places.add(delivery, hour.getTime());
    open.delete(wordsKey([key.readUInt32LE(0), key.readUInt32LE(4), key.readUInt32LE(8)]));
  }
  const found = (delivery: string, hour: Date, keys: readonly string[]): void => {
    if (keys.length > 0) places.add(delivery, hour.getTime());
  };
  const rows = await tx.query<{ delivery: string; hour: Date; digests: Buffer }>(
    `select delivery::text as delivery, hour, digests from usage_id where organisation = $1 and source = $2 and hour = any($3::timestamptz[])`,
    [organisation, source, [...hours].map((hour) => new Date(hour))],
  );
  const near = new Set<string>();
  const all = new WantedIds([...open.values()]);
  for (const { delivery, hour, digests } of rows) {
    const keys = all.idsIn(digests);
    found(delivery, hour, keys);
    for (const key of keys) near.add(key);
  }
  const far = [...ids].flatMap(([id, versions]) => {
    const own = words.get(id) ?? idWords(id);
    const key = wordsKey(own);
    return versions === null || near.has(key) || !open.has(key) ? [] : [{ own, ...versions }];
  });
  if (far.length === 0) return places;
  const wanted = new WantedIds(far.map(({ own }) => own));
  const [from, to] = far.reduce(
    ([first, last], one) => [one.from < first ? one.from : first, one.to > last ? one.to : last],
    [far[0]?.from ?? 0n, far[0]?.to ?? 0n],
  );
  for await (const { delivery, hour, digests } of digestRows(tx, organisation, source, from, to))
    found(delivery, hour, wanted.idsIn(digests));
  return places;
}

/** The records at some places that pass, a block at a time. */
export async function* recordsAt(
  tx: Queryable,
  organisation: string,
  source: string,
  places: Places,
  passes: (record: UsageRecord) => boolean,
): AsyncGenerator<Statement> {
  const pairs = [...places.hours].flatMap(([delivery, hours]) => [...hours].map((hour) => ({ delivery, hour })));
  const blocks = await tx.query<{ delivery: string; no: number }>(
    `select distinct b.delivery::text as delivery, b.no from unnest($3::bigint[], $4::timestamptz[]) as w(delivery, hour)
     join block b on b.organisation = $1 and b.source = $2 and b.delivery = w.delivery and b.first_start < w.hour + interval '1 hour' and b.last_end >= w.hour
     order by 1, 2`,
    [organisation, source, pairs.map(({ delivery }) => delivery), pairs.map(({ hour }) => formatInstant(hour))],
  );
  for (const { delivery, no } of blocks) {
    const [block] = await tx.query<StoredBlock>(
      `select payload, set_aside from block where organisation = $1 and source = $2 and delivery = $3 and no = $4`,
      [organisation, source, delivery, no],
    );
    if (block === undefined) continue;
    const aside = new Set(block.set_aside);
    for (const [at, record] of decodeBlock(block.payload).entries())
      if (passes(record)) yield { delivery, no, at, record, aside: aside.has(at) };
  }
}

/** Sets statements aside, or lets them count again. */
export async function setAside(
  tx: Queryable,
  organisation: string,
  source: string,
  statements: readonly Statement[],
  isAside: boolean,
): Promise<void> {
  const byBlock = new Map<string, Statement[]>();
  for (const one of statements) {
    const name = `${one.delivery}/${one.no}`;
    byBlock.set(name, [...(byBlock.get(name) ?? []), one]);
  }
  for (const own of byBlock.values())
    await tx.query(
      isAside
        ? `update block set set_aside = set_aside || $5::int[] where organisation = $1 and source = $2 and delivery = $3 and no = $4`
        : `update block set set_aside = array(select unnest(set_aside) except select unnest($5::int[]))
           where organisation = $1 and source = $2 and delivery = $3 and no = $4`,
      [organisation, source, own[0]?.delivery, own[0]?.no, own.map(({ at }) => at)],
    );
}

/** Notes where statements of ids lie of which there are several. */
export async function noteStatements(
  tx: Queryable,
  organisation: string,
  source: string,
  noted: readonly { readonly id: string; readonly delivery: string; readonly start: number }[],
): Promise<void> {
  if (noted.length === 0) return;
  await tx.query(
    `insert into usage_statement (organisation, source, key, delivery, hour)
     select distinct $1, $2, key, delivery, hour from unnest($3::bytea[], $4::bigint[], $5::timestamptz[]) as n(key, delivery, hour)
     on conflict do nothing`,
    [
      organisation,
      source,
      noted.map(({ id }) => keyBytes(id)),
      noted.map(({ delivery }) => delivery),
      noted.map(({ start }) => formatInstant(hourOf(start))),
    ],
  );
}

/** Sums some hours of a delivery again from the records of it that count; the days that change. */
export async function sumAnew(
  target: DeliveryTarget & { readonly tx: Transaction },
  hours: ReadonlySet<number>,
  grouping: Grouping,
): Promise<TeamDay[]> {
  const { tx, organisation, source, id } = target;
  const instants = [...hours].map((hour) => formatInstant(hour));
  const before = await tx.query<TeamDay>(
    `with gone as (
       delete from usage_hour where organisation = $1 and delivery = $2 and hour = any($3::timestamptz[]) returning team, hour)
     select distinct team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day from gone`,
    [organisation, id, instants],
  );
  const writer = new DeliveryWriter(target, { sumsOnly: true, hours });
  const blocks = await tx.query<{ no: number }>(
    `select no from block where organisation = $1 and source = $2 and delivery = $3 and first_start < $5 and last_end >= $4 order by block.no`,
    [organisation, source, id, formatInstant(Math.min(...hours)), formatInstant(Math.max(...hours) + HOUR_MS)],
  );
  for (const { no } of blocks) {
    const [block] = await tx.query<StoredBlock>(
      `select payload, set_aside from block where organisation = $1 and source = $2 and delivery = $3 and no = $4`,
      [organisation, source, id, no],
    );
    for (const record of block === undefined ? [] : countedRecords(block)) {
      writer.add(grouping.groupOf(record), record);
      if (writer.full) await writer.flush();
    }
  }
  await writer.finish();
  return [...new Map([...before, ...writer.touched.values()].map((d) => [`${d.team}/${d.day}`, d])).values()];
}
