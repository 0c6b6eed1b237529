/**
 * Takes one delivery out of a merged one and restores its original form: its records in separate blocks, its digests,
 * its sums. The merged delivery keeps the others, as if it had never contained this one. The caller has locked the
 * source.
 */
import type { Grouping } from '../../core/cost/rollup.js';
import { HOUR_MS, hourOf } from '../../core/time.js';
import type { Transaction } from '../database.js';
import { decodeBlock } from './block.js';
import { dropDelivery } from './bill-delivery.js';
import type { Dimensions } from './dimensions.js';
import { DIGEST_BYTES, keyBytes } from './digests.js';
import { deleteBlock, Gathering, readBlock, type BlockPlace, type MergedBlock } from './gathering.js';
import type { TeamDay } from './raw.js';
import { runsOf, Runs, type StoredRuns } from './runs.js';
import { sumAnew } from './statements.js';

/** What the sums are made with. */
interface Summing {
  readonly dimensions: Dimensions;
  readonly grouping: Grouping;
}

/**
 * Takes out what an import has brought, where that was merged.
 * @returns the days of which sums were written
 */
export async function takeOut(
  tx: Transaction,
  { organisation, source }: Pick<BlockPlace, 'organisation' | 'source'>,
  call: string,
  summing: Summing,
): Promise<TeamDay[]> {
  const found = await tx.query<{ merged: string; member: string }>(
    `select v.id::text as merged, m ->> 'id' as member from delivery v, jsonb_array_elements(v.members) m
     where v.organisation = $1 and v.source = $2 and v.members @> jsonb_build_array(jsonb_build_object('import', $3::bigint))
       and (m ->> 'import')::bigint = $3::bigint order by v.id, m ->> 'id'`,
    [organisation, source, call],
  );
  const days: TeamDay[] = [];
  for (const { merged, member } of found)
    days.push(...(await takeMember(tx, { organisation, source, delivery: merged }, member, summing)));
  return days;
}

async function takeMember(
  tx: Transaction,
  place: BlockPlace,
  member: string,
  { dimensions, grouping }: Summing,
): Promise<TeamDay[]> {
  const { organisation, source, delivery } = place;
  await tx.query(`select 1 from delivery where organisation = $1 and id = $2 for update`, [organisation, delivery]);
  // It is allocated as the others were.
  await tx.query(
    `insert into delivery overriding system value
     select (jsonb_populate_record(null::delivery, m || jsonb_build_object('rules_version', v.rules_version))).*
     from delivery v, jsonb_array_elements(v.members) m
     where v.organisation = $1 and v.id = $2 and (m ->> 'id')::bigint = $3::bigint`,
    [organisation, delivery, member],
  );
  await tx.query(
    `update delivery v set records = v.records - o.records, members = (
       select coalesce(jsonb_agg(m order by (m ->> 'id')::bigint), '[]') from jsonb_array_elements(v.members) m
       where (m ->> 'id')::bigint <> o.id)
     from delivery o where v.organisation = $1 and v.id = $2 and o.organisation = $1 and o.id = $3`,
    [organisation, delivery, member],
  );
  const hours = await takeBlocks(tx, place, member);
  await takeDigests(tx, place, member);
  const target = { organisation, source, tx, dimensions };
  const days = [
    ...(await sumAnew({ ...target, id: delivery }, hours, grouping)),
    ...(await sumAnew({ ...target, id: member }, hours, grouping)),
  ];
  const [left] = await tx.query<{ any: boolean }>(
    `select members <> '[]' as any from delivery where organisation = $1 and id = $2`,
    [organisation, delivery],
  );
  if (left?.any === false) await drop(tx, place);
  return days;
}

/** @returns the hours that its records touch */
async function takeBlocks(tx: Transaction, place: BlockPlace, member: string): Promise<ReadonlySet<number>> {
  const own = { ...place, delivery: member };
  const taken = new Gathering(tx, own, 0, false);
  const hours = new Set<number>();
  const keys = new Map<string, { key: Buffer; hour: number }>();
  const rows = await tx.query<{ no: number }>(
    `select no from block where organisation = $1 and source = $2 and delivery = $3 and members @> array[$4::bigint] order by block.no`,
    [place.organisation, place.source, place.delivery, member],
  );
  for (const { no } of rows) {
    const block = await readBlock(tx, place, no);
    if (block === null) continue;
    await taken.addBlock(block, place.delivery, (one) => one === member);
    await leaveRest(tx, place, block, no, member);
    noteRecords(block, place.delivery, member, hours, keys);
  }
  await taken.flush();
  await noteOwn(tx, place, member, [...keys.values()]);
  return hours;
}

/** Writes a block without one delivery in its place. */
async function leaveRest(
  tx: Transaction,
  place: BlockPlace,
  block: MergedBlock,
  no: number,
  member: string,
): Promise<void> {
  await deleteBlock(tx, place, no);
  const rest = new Gathering(tx, place, no, true);
  await rest.addBlock(block, place.delivery, (one) => one !== member);
  await rest.flush();
}

/** Notes the hours that a delivery's records touch, and the ids by which they may have been stated again. */
function noteRecords(
  block: MergedBlock,
  delivery: string,
  member: string,
  hours: Set<number>,
  keys: Map<string, { key: Buffer; hour: number }>,
): void {
  const records = decodeBlock(block.payload);
  for (const run of runsOf(block, delivery, records.length).all()) {
    if (run.member !== member) continue;
    for (const { id, corrects, start, end } of records.slice(run.from, run.to)) {
      for (let hour = hourOf(start); hour <= end; hour += HOUR_MS) hours.add(hour);
      for (const one of corrects === undefined ? [id] : [id, corrects])
        keys.set(`${start} ${one}`, { key: keyBytes(one), hour: hourOf(start) });
    }
  }
}

/** Of ids that were stated more than once: that a statement lies in the delivery which was taken out. */
async function noteOwn(
  tx: Transaction,
  { organisation, source, delivery }: BlockPlace,
  member: string,
  stated: readonly { readonly key: Buffer; readonly hour: number }[],
): Promise<void> {
  await tx.query(
    `insert into usage_statement (organisation, source, key, delivery, hour)
     select distinct s.organisation, s.source, s.key, $4::bigint, s.hour from usage_statement s
     join unnest($5::bytea[], $6::timestamptz[]) as own(key, hour) on own.key = s.key and own.hour = s.hour
     where s.organisation = $1 and s.source = $2 and s.delivery = $3
     on conflict do nothing`,
    [organisation, source, delivery, member, stated.map(({ key }) => key), stated.map(({ hour }) => new Date(hour))],
  );
}

interface DigestsRow extends StoredRuns {
  readonly hour: Date;
  readonly part: number;
  readonly version: string;
  readonly first: string | null;
  readonly digests: Buffer;
}

/** Its digests keep the versions of the list that they were in: whoever remembers an older one finds them in it. */
async function takeDigests(tx: Transaction, place: BlockPlace, member: string): Promise<void> {
  const { organisation, source, delivery } = place;
  const rows = await tx.query<DigestsRow>(
    `select hour, part, version::text as version, first_version::text as first, members::text[] as members, counts, digests
     from usage_id where organisation = $1 and source = $2 and delivery = $3 and members @> array[$4::bigint] order by usage_id.hour, usage_id.part`,
    [organisation, source, delivery, member],
  );
  for (const row of rows) {
    const [own, rest]: [Buffer[], Buffer[]] = [[], []];
    const left = new Runs();
    for (const { member: whose, from, to } of runsOf(row, delivery, row.digests.length / DIGEST_BYTES).all()) {
      (whose === member ? own : rest).push(row.digests.subarray(DIGEST_BYTES * from, DIGEST_BYTES * to));
      if (whose !== member) left.add(whose, to - from);
    }
    const key = [organisation, source, row.hour, delivery, row.part];
    if (rest.length === 0)
      await tx.query(
        `delete from usage_id where organisation = $1 and source = $2 and hour = $3 and delivery = $4 and part = $5`,
        key,
      );
    else
      await tx.query(
        `update usage_id set digests = $6, members = $7, counts = $8
         where organisation = $1 and source = $2 and hour = $3 and delivery = $4 and part = $5`,
        [...key, Buffer.concat(rest), left.members, left.counts],
      );
    await tx.query(
      `insert into usage_id (organisation, source, hour, delivery, part, version, first_version, digests) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [organisation, source, row.hour, member, row.part, row.version, row.first, Buffer.concat(own)],
    );
  }
}

/** Nothing of it is left. */
async function drop(tx: Transaction, { organisation, source, delivery }: BlockPlace): Promise<void> {
  await dropDelivery(tx, organisation, source, delivery);
  for (const table of ['usage_id', 'usage_statement'])
    await tx.query(`delete from ${table} where organisation = $1 and source = $2 and delivery = $3`, [
      organisation,
      source,
      delivery,
    ]);
}
