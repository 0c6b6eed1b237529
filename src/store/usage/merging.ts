/**
 * Merges the small deliveries of a source and day into one, once nothing of the day has arrived for a while: full
 * blocks, one sum per (team, hour, dimension), one list of digests per hour. The totals do not change: the same records
 * count, each is recognised by the same digest, and each sum is the sum of the previous ones. The original delivery of
 * each record and digest is stored beside it, so that one delivery can be taken out again (unmerging.ts). A merge runs
 * like an import of the source: exclusively, under the source's row, in one transaction. It waits while something must
 * be allocated again.
 */
import { commonDivisor } from '../../core/cost/rollup.js';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { copyText, type Queryable, type Transaction } from '../database.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { WorkItem } from '../work.js';
import { BLOCK_RECORDS } from './block.js';
import { USAGE_HOUR } from './delivery.js';
import { DIGEST_BYTES } from './digests.js';
import { deleteBlock, Gathering, readBlock, type BlockPlace } from './gathering.js';
import { Runs, runsOf, type StoredRuns } from './runs.js';
import { isFree } from './source-versions.js';

/** A day is merged when it is over, and nothing of it has come, for so long. */
const SETTLED_MS = HOUR_MS;
/** While the source is busy, or its usage is to be allocated again. */
const BUSY_MS = MINUTE_MS;

/** Larger deliveries are left as they are: their blocks are full, and their sums few for what they are of. */
const MOST_RECORDS_EACH = 8 * BLOCK_RECORDS;
/** Records that one transaction takes: some seconds, for which imports of the source wait. */
const MOST_RECORDS = 500_000;
/** Sums of hours that are in memory at once. */
const MOST_SUMS = 50_000;

interface Small {
  readonly id: string;
  readonly records: string;
  readonly day: string;
  readonly deliveredAt: Date;
}

interface DayOfSmall {
  readonly day: string;
  readonly ids: string[];
  records: number;
  lastAt: number;
}

/** Metered deliveries of an organisation ($1) that are small, as they came, and neither in an archive nor back from one. */
const SMALL = `v.organisation = $1 and v.scope is null and v.supplement is null and v.members is null and v.archived is not true and v.keep_until is null and v.records <= ${MOST_RECORDS_EACH}`;

export const mergeItem = (source: string, notBefore?: number): WorkItem => ({
  stage: 'usage.merge',
  partition: source,
  key: source,
  ...(notBefore === undefined ? {} : { notBefore }),
});

export class MergeStore {
  constructor(private readonly organisations: Pick<OrganisationStore, 'rules'>) {}

  /** Sources with deliveries that may be merged some time. */
  async sources(db: Queryable, organisation: string): Promise<string[]> {
    const rows = await db.query<{ source: string }>(
      `select distinct v.source from delivery v where ${SMALL} order by 1`,
      [organisation],
    );
    return rows.map(({ source }) => source);
  }

  /**
   * Merges a portion of one day of a source.
   * @returns when to look again, in epoch milliseconds; null: nothing waits for its time
   */
  async merge(tx: Transaction, organisation: string, source: string, now: number): Promise<number | null> {
    if (!(await isFree(tx, { organisation, source }))) return now + BUSY_MS;
    // Whoever takes an import back has this row, whoever changes the rules or the tracked tags the next one.
    await tx.query(`select 1 from source where organisation = $1 and name = $2 for update`, [organisation, source]);
    await tx.query(`select 1 from organisation where id = $1 for key share`, [organisation]);
    const [open] = await tx.query(
      `select 1 from work where organisation = $1 and lane = $2 and stage = 'usage.allocate' and done < wanted limit 1`,
      [organisation, source],
    );
    if (open !== undefined) return now + BUSY_MS;
    const { version: rules } = await this.organisations.rules(tx, organisation);
    const merged = await mergedDays(tx, organisation, source);
    let next: number | null = null;
    for (const one of await this.daysOf(tx, organisation, source, rules)) {
      const into = merged.get(one.day);
      // One that was allocated by other rules is allocated again first, one in an archive is left alone.
      if (into === undefined ? one.ids.length < 2 : into.rules !== rules || into.archived === true) continue;
      const settledAt = Math.max(one.lastAt, Date.parse(one.day) + DAY_MS) + SETTLED_MS;
      if (settledAt > now) {
        next = Math.min(next ?? settledAt, settledAt);
        continue;
      }
      return (await this.mergeDay(tx, organisation, source, one, rules, into?.id ?? null)) ? now : now + BUSY_MS;
    }
    return next;
  }

  /** Days of deliveries that are as they came, the oldest first; of each as many as are taken at once. */
  private async daysOf(tx: Transaction, organisation: string, source: string, rules: number): Promise<DayOfSmall[]> {
    const rows = await tx.query<Small>(
      `select v.id::text as id, v.records::text as records, v.delivered_at as "deliveredAt",
         to_char(f.first at time zone 'UTC', 'YYYY-MM-DD') as day
       from delivery v join (
         select delivery, min(first_start) as first from block where organisation = $1 and source = $2 group by delivery) f
         on f.delivery = v.id
       where v.source = $2 and v.rules_version = $3 and ${SMALL} order by day, v.id`,
      [organisation, source, rules],
    );
    const days = new Map<string, DayOfSmall>();
    for (const { id, records, day, deliveredAt } of rows) {
      const one = days.get(day) ?? { day, ids: [], records: 0, lastAt: -Infinity };
      days.set(day, one);
      one.lastAt = Math.max(one.lastAt, deliveredAt.getTime());
      if (one.ids.length > 1 && one.records + Number(records) > MOST_RECORDS) continue;
      one.ids.push(id);
      one.records += Number(records);
    }
    return [...days.values()];
  }

  /** False where one of them has gone to an archive meanwhile. */
  private async mergeDay(
    tx: Transaction,
    organisation: string,
    source: string,
    { day, ids, records, lastAt }: DayOfSmall,
    rules: number,
    known: string | null,
  ): Promise<boolean> {
    const all = known === null ? ids : [...ids, known];
    const held = await tx.query<{ archived: boolean | null }>(
      `select archived from delivery where organisation = $1 and id = any($2::bigint[]) order by id for update`,
      [organisation, all],
    );
    if (held.length < all.length || held.some(({ archived }) => archived === true)) return false;
    const delivery = known ?? (await openMerged(tx, organisation, source, day, rules));
    const place = { organisation, source, delivery };
    const hours = await mergeBlocks(tx, place, ids);
    await mergeDigests(tx, place, ids, hours);
    await mergeStatements(tx, place, ids);
    await mergeSums(tx, place, ids);
    await tx.query(
      `update delivery set records = records + $3, delivered_at = greatest(delivered_at, $4), members = members || (
         select jsonb_agg(jsonb_strip_nulls(to_jsonb(v)) order by v.id) from delivery v
         where v.organisation = $1 and v.id = any($5::bigint[]))
       where organisation = $1 and id = $2`,
      [organisation, delivery, records, new Date(lastAt), ids],
    );
    await tx.query(`delete from delivery where organisation = $1 and id = any($2::bigint[])`, [organisation, ids]);
    return true;
  }
}

/** The merged deliveries of a source, by their days. */
async function mergedDays(
  tx: Transaction,
  organisation: string,
  source: string,
): Promise<Map<string, { readonly id: string; readonly rules: number; readonly archived: boolean | null }>> {
  const rows = await tx.query<{ id: string; day: string; rules: number; archived: boolean | null }>(
    `select id::text as id, merged_day::text as day, rules_version as rules, archived from delivery
     where organisation = $1 and source = $2 and members is not null`,
    [organisation, source],
  );
  return new Map(rows.map(({ day, ...one }) => [day, one]));
}

async function openMerged(
  tx: Transaction,
  organisation: string,
  source: string,
  day: string,
  rules: number,
): Promise<string> {
  const [row] = await tx.query<{ id: string }>(
    `insert into delivery (organisation, source, records, rules_version, delivered_at, merged_day, members)
     values ($1, $2, 0, $3, '-infinity', $4, '[]') returning id::text as id`,
    [organisation, source, rules, day],
  );
  return row?.id ?? '';
}

/** @returns the hours in which their records begin */
async function mergeBlocks(tx: Transaction, place: BlockPlace, ids: readonly string[]): Promise<ReadonlySet<number>> {
  const { organisation, source, delivery } = place;
  const [last] = await tx.query<{ no: number; records: number }>(
    `select no, records from block where organisation = $1 and source = $2 and delivery = $3 order by block.no desc limit 1`,
    [organisation, source, delivery],
  );
  const isOpen = last !== undefined && last.records < BLOCK_RECORDS;
  const into = new Gathering(tx, place, last === undefined ? 0 : isOpen ? last.no : last.no + 1, true);
  const begun = isOpen ? await readBlock(tx, place, last.no) : null;
  if (isOpen) await deleteBlock(tx, place, last.no);
  if (begun !== null) await into.addBlock(begun, delivery);
  into.hours.clear();
  const blocks = await tx.query<{ delivery: string; no: number }>(
    `select delivery::text as delivery, no from block where organisation = $1 and source = $2 and delivery = any($3::bigint[])
     order by block.delivery, block.no`,
    [organisation, source, ids],
  );
  for (const { delivery: member, no } of blocks) {
    const block = await readBlock(tx, { ...place, delivery: member }, no);
    if (block !== null) await into.addBlock(block, member);
  }
  await into.flush();
  await tx.query(`delete from block where organisation = $1 and source = $2 and delivery = any($3::bigint[])`, [
    organisation,
    source,
    ids,
  ]);
  return into.hours;
}

interface DigestsRow extends StoredRuns {
  readonly delivery: string;
  readonly version: string;
  readonly first: string;
  readonly digests: Buffer;
}

async function mergeDigests(
  tx: Transaction,
  { organisation, source, delivery }: BlockPlace,
  ids: readonly string[],
  hours: ReadonlySet<number>,
): Promise<void> {
  for (const hour of hours) {
    const of = [organisation, source, formatInstant(hour), [...ids, delivery]];
    const rows = await tx.query<DigestsRow>(
      `select delivery::text as delivery, version::text as version, coalesce(first_version, version)::text as first,
         members::text[] as members, counts, digests from usage_id
       where organisation = $1 and source = $2 and hour = $3 and delivery = any($4::bigint[])
       order by usage_id.delivery, usage_id.part`,
      of,
    );
    if (rows.length === 0) continue;
    const runs = new Runs();
    for (const row of rows)
      for (const { member, from, to } of runsOf(row, row.delivery, row.digests.length / DIGEST_BYTES).all())
        runs.add(member, to - from);
    const versions = rows.map(({ version }) => BigInt(version));
    const firsts = rows.map(({ first }) => BigInt(first));
    await tx.query(
      `delete from usage_id where organisation = $1 and source = $2 and hour = $3 and delivery = any($4::bigint[])`,
      of,
    );
    await tx.query(
      `insert into usage_id (organisation, source, hour, delivery, part, version, first_version, members, counts, digests)
       values ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9)`,
      [
        organisation,
        source,
        formatInstant(hour),
        delivery,
        String(versions.reduce((most, one) => (one > most ? one : most))),
        String(firsts.reduce((least, one) => (one < least ? one : least))),
        runs.members,
        runs.counts,
        Buffer.concat(rows.map(({ digests }) => digests)),
      ],
    );
  }
}

/** Statements of ids lie where the blocks are now. */
async function mergeStatements(
  tx: Transaction,
  { organisation, source, delivery }: BlockPlace,
  ids: readonly string[],
): Promise<void> {
  const of = [organisation, source, ids];
  await tx.query(
    `insert into usage_statement (organisation, source, key, delivery, hour)
     select distinct organisation, source, key, $4::bigint, hour from usage_statement
     where organisation = $1 and source = $2 and delivery = any($3::bigint[])
     on conflict do nothing`,
    [...of, delivery],
  );
  await tx.query(
    `delete from usage_statement where organisation = $1 and source = $2 and delivery = any($3::bigint[])`,
    of,
  );
}

interface SumRow {
  readonly team: string;
  readonly hour: Date;
  readonly dimension: string;
  readonly records: string;
  readonly gpu: string | null;
  readonly storage: string | null;
  readonly network: string | null;
  readonly shortest: string;
  readonly granules: string[];
}

/** The sums of all of them, one for each team, hour and dimension. */
async function mergeSums(
  tx: Transaction,
  { organisation, delivery }: BlockPlace,
  ids: readonly string[],
): Promise<void> {
  const all = [...ids, delivery];
  const hours = await tx.query<{ hour: Date; sums: string }>(
    `select hour, count(*)::text as sums from usage_hour where organisation = $1 and delivery = any($2::bigint[])
       and hour in (select hour from usage_hour where organisation = $1 and delivery = any($3::bigint[])) group by hour order by hour`,
    [organisation, all, ids],
  );
  let [taken, batch]: [number, string[]] = [0, []];
  for (const [at, { hour, sums }] of hours.entries()) {
    batch.push(formatInstant(hour.getTime()));
    taken += Number(sums);
    if (taken < MOST_SUMS && at < hours.length - 1) continue;
    await mergeHours(tx, organisation, delivery, all, batch);
    [taken, batch] = [0, []];
  }
}

async function mergeHours(
  tx: Transaction,
  organisation: string,
  delivery: string,
  all: readonly string[],
  hours: readonly string[],
): Promise<void> {
  const of = [organisation, all, hours];
  const where = `organisation = $1 and delivery = any($2::bigint[]) and hour = any($3::timestamptz[])`;
  const rows = await tx.query<SumRow>(
    `select team, hour, dimension::text as dimension, sum(records)::text as records, sum(gpu_part_ms)::text as gpu,
       sum(storage_mib_ms)::text as storage, sum(network_bytes)::text as network, min(shortest_ms)::text as shortest,
       array_agg(distinct granule_ms::text) as granules
     from usage_hour where ${where} group by team, hour, dimension`,
    of,
  );
  await tx.query(`delete from usage_hour where ${where}`, of);
  await tx.copy(
    'usage_hour',
    USAGE_HOUR,
    rows.map(
      (row) =>
        `${[
          organisation,
          row.team,
          formatInstant(row.hour.getTime()),
          row.dimension,
          delivery,
          0,
          row.records,
          row.gpu,
          row.storage,
          row.network,
          row.shortest,
          row.granules.map(Number).reduce(commonDivisor, 0),
          null,
          null,
          null,
          null,
        ]
          .map(copyText)
          .join('\t')}\n`,
    ),
  );
}
