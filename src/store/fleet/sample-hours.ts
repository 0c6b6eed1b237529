/**
 * Hours of samples as rows: writes recent samples, packs them into one row per resource, team and hour, reads both, and
 * moves the samples of a resource to another place.
 *
 * Saving only adds rows, so that parallel, late or repeated saves disturb nobody; the code that reads and packs decides
 * which sample of a minute stays (device-hours.ts). Code that packs a source or moves its samples holds its lock. A
 * reader reads recent samples first and packed hours after that: it finds samples that are packed in between twice, but
 * never misses them.
 */
import { dayOf, formatInstant, HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import {
  deviceOf,
  DeviceHours,
  MINUTES_PER_HOUR,
  SampleGroups,
  type DeviceHour,
  type SampleEntry,
} from './device-hours.js';
import { encodeParts, partsOf } from './minute-block.js';
import { readSamples, SampleBlockBuilder, type SampleGroup } from './sample-block.js';
import { takeWideEntries, type Place } from './sample-entries.js';
import { waitForLock } from '../locks.js';

/** The size of a block of recent samples: smaller blocks waste less reading, larger ones take less space. */
const MOST_GROUPS = 1000;
const MOST_SAMPLES = 20_000;
/** Samples of a source that are packed at a time and in one transaction, and blocks and rows of one statement. */
const SAMPLES_AT_ONCE = 2_400_000;
const BLOCKS_PER_STATEMENT = 100;
const ROWS_PER_STATEMENT = 500;
/** How hard blocks are compressed that live for an hour, and those that are kept. */
const FAST = 1;
const TIGHT = 6;
/** Rows of the previous version are carried over when they are so old: until then it reads them as well. */
const CARRIED_AFTER_MS = 24 * HOUR_MS;
const CARRIED_AT_ONCE_MS = 10 * MINUTE_MS;

/** Samples, and the team that they are looked for under. */
interface Stretch {
  readonly team: string;
  readonly hour: number;
  readonly entries: SampleEntry[];
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** As PostgreSQL's collation "C" orders texts. */
const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** Adds samples of a source as they came. */
export async function addRecent(
  tx: Queryable,
  organisation: string,
  source: string,
  entries: readonly SampleEntry[],
): Promise<void> {
  const newest = new Map<string, SampleEntry>();
  for (const entry of entries) {
    const key = `${deviceOf(entry.group)}\0${Math.floor(entry.seenAt / MINUTE_MS)}`;
    if ((newest.get(key)?.seenAt ?? -Infinity) <= entry.seenAt) newest.set(key, entry);
  }
  const known = new SampleGroups();
  const stretches = new Map<string, Stretch>();
  for (const { group, ...entry } of newest.values()) {
    const hour = hourOf(entry.seenAt);
    const key = `${hour}\0${group.team}`;
    let stretch = stretches.get(key);
    if (stretch === undefined) stretches.set(key, (stretch = { team: group.team, hour, entries: [] }));
    stretch.entries.push({ ...entry, group: known.shared(group) });
  }
  const blocks = [...stretches.values()].flatMap(blocksOf);
  for (let first = 0; first < blocks.length; first += BLOCKS_PER_STATEMENT) {
    const some = blocks.slice(first, first + BLOCKS_PER_STATEMENT);
    await tx.query(
      `insert into sample_recent (organisation, source, team, hour, first_at, last_at, first_resource, last_resource,
         workloads, samples, payload)
       select $1, $2, team, hour, first_at, last_at, first_resource, last_resource,
         (select coalesce(array_agg(w), '{}') from json_array_elements_text(workloads) w), samples, payload
       from unnest($3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::text[],
         $9::json[], $10::int[], $11::bytea[])
         as b(team, hour, first_at, last_at, first_resource, last_resource, workloads, samples, payload)`,
      [
        organisation,
        source,
        some.map(({ team }) => team),
        some.map(({ hour }) => formatInstant(hour)),
        some.map(({ ats }) => formatInstant(Math.min(...ats))),
        some.map(({ ats }) => formatInstant(Math.max(...ats))),
        some.map(({ first: resource }) => resource),
        some.map(({ last: resource }) => resource),
        some.map(({ workloads }) => JSON.stringify(workloads)),
        some.map(({ samples }) => samples),
        some.map(({ payload }) => payload),
      ],
    );
  }
}

interface NewBlock {
  readonly team: string;
  readonly hour: number;
  readonly ats: readonly [number, number];
  readonly first: string;
  readonly last: string;
  readonly workloads: readonly string[];
  readonly samples: number;
  readonly payload: Buffer;
}

function blocksOf({ team, hour, entries }: Stretch): NewBlock[] {
  entries.sort(
    ({ group: a, seenAt: x }, { group: b, seenAt: y }) =>
      compare(a.resource, b.resource) ||
      compare(a.gpu, b.gpu) ||
      compare(a.migInstance ?? '', b.migInstance ?? '') ||
      x - y,
  );
  const blocks: NewBlock[] = [];
  let builder = new SampleBlockBuilder();
  let from = 0;
  const end = (to: number): void => {
    const own = entries.slice(from, to);
    const resources = own.map(({ group }) => group.resource);
    blocks.push({
      team,
      hour,
      ats: own.reduce<readonly [number, number]>(
        ([least, most], { seenAt }) => [Math.min(least, seenAt), Math.max(most, seenAt)],
        [Infinity, -Infinity],
      ),
      first: resources.reduce((least, one) => (isBefore(one, least) ? one : least)),
      last: resources.reduce((most, one) => (isBefore(most, one) ? one : most)),
      workloads: workloadsOf(own.map(({ group }) => group)),
      samples: builder.count,
      payload: builder.encode(FAST),
    });
    builder = new SampleBlockBuilder();
    from = to;
  };
  entries.forEach(({ group, seenAt, values, fault }, place) => {
    if (builder.groups >= MOST_GROUPS || builder.count >= MOST_SAMPLES) end(place);
    builder.add(group, seenAt, values, fault);
  });
  if (builder.count > 0) end(entries.length);
  return blocks;
}

const workloadsOf = (groups: readonly SampleGroup[]): string[] => [
  ...new Set(groups.flatMap(({ workload }) => (workload === null ? [] : [workload]))),
];

const lock = (tx: Queryable, organisation: string, source: string): Promise<void> =>
  waitForLock(tx, 'bursar.sample', organisation, source);

export interface RecentBlock {
  readonly id: string;
  readonly source: string;
  /** Epoch milliseconds. */
  readonly hour: number;
  readonly payload: Buffer;
}

/**
 * Blocks of what was saved lately, by a condition on them, in the order in which they were saved. Some at a time: an
 * hour of a large fleet would fill the memory. What is packed meanwhile is left out.
 */
export async function* recentBlocks(
  db: Queryable,
  organisation: string,
  condition: string,
  given: readonly unknown[],
): AsyncGenerator<RecentBlock> {
  const ids = await db.query<{ id: string; source: string }>(
    `select id::text as id, source from sample_recent where organisation = $1 and ${condition} order by sample_recent.id`,
    [organisation, ...given],
  );
  for (let first = 0; first < ids.length; first += BLOCKS_PER_STATEMENT) {
    const some = ids.slice(first, first + BLOCKS_PER_STATEMENT);
    const rows = await db.query<Omit<RecentBlock, 'hour'> & { hour: Date }>(
      `select id::text as id, source, hour, payload from sample_recent
       where organisation = $1 and source = any($2::text[]) and id = any($3::bigint[]) order by sample_recent.id`,
      [organisation, [...new Set(some.map(({ source }) => source))], some.map(({ id }) => id)],
    );
    for (const row of rows) yield { ...row, hour: row.hour.getTime() };
  }
}

/**
 * Packs the recent blocks of a source, of hours before an instant: only the oldest day, and only the first hours of a
 * large day. This bounds the transaction if a delivery has many days. Returns whether there is more to pack.
 */
export async function packHours(tx: Queryable, organisation: string, source: string, before: number): Promise<boolean> {
  await lock(tx, organisation, source);
  const hours = await hoursToPack(tx, organisation, source, null, before);
  let count = 0;
  let samples = 0;
  for (const one of hours) {
    if (count > 0 && (dayOf(one.hour) > dayOf(hours[0]?.hour ?? 0) || samples + one.samples > SAMPLES_AT_ONCE)) break;
    await packHour(tx, organisation, source, one.hour, one.samples);
    count += 1;
    samples += one.samples;
  }
  return count < hours.length;
}

interface HourToPack {
  readonly hour: number;
  readonly samples: number;
}

/** Hours that have recent blocks, oldest first. */
async function hoursToPack(
  tx: Queryable,
  organisation: string,
  source: string,
  since: number | null,
  before: number | null,
): Promise<HourToPack[]> {
  const rows = await tx.query<{ hour: Date; samples: number }>(
    `select hour, sum(samples)::float8 as samples from sample_recent
     where organisation = $1 and source = $2 and ($3::timestamptz is null or hour >= $3)
       and ($4::timestamptz is null or hour < $4) group by hour order by hour`,
    [
      organisation,
      source,
      since === null ? null : formatInstant(since),
      before === null ? null : formatInstant(before),
    ],
  );
  return rows.map(({ hour, samples }) => ({ hour: hour.getTime(), samples }));
}

/**
 * Brings the oldest hour of rows that the previous version wrote into the form of what was saved lately, once it is a
 * day old. Returns whether there was one.
 */
export async function carryOver(tx: Queryable, organisation: string, source: string, now: number): Promise<boolean> {
  const [oldest] = await tx.query<{ at: Date | null }>(
    `select min(at) as at from sample where organisation = $1 and source = $2 and at < $3`,
    [organisation, source, formatInstant(now - CARRIED_AFTER_MS)],
  );
  const first = oldest?.at?.getTime();
  if (first === undefined) return false;
  const hour = hourOf(first);
  for (let from = hour; from < hour + HOUR_MS; from += CARRIED_AT_ONCE_MS)
    await addRecent(
      tx,
      organisation,
      source,
      await takeWideEntries(tx, organisation, source, from, from + CARRIED_AT_ONCE_MS),
    );
  return true;
}

async function packHour(
  tx: Queryable,
  organisation: string,
  source: string,
  hour: number,
  samples: number,
): Promise<void> {
  const of = [organisation, source, formatInstant(hour)];
  const blocks = await tx.query<{ id: string; first: string; last: string }>(
    `select id::text as id, first_resource as first, last_resource as last from sample_recent
     where organisation = $1 and source = $2 and hour = $3 order by sample_recent.id`,
    of,
  );
  const parts = Math.max(1, Math.ceil(samples / SAMPLES_AT_ONCE));
  const firsts = blocks.map(({ first }) => first).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const bounds = [
    ...new Set(
      Array.from({ length: parts - 1 }, (_, n) => firsts[Math.floor(((n + 1) * firsts.length) / parts)] ?? ''),
    ),
  ];
  for (let part = 0; part <= bounds.length; part += 1) {
    const [low, high] = [part === 0 ? null : (bounds[part - 1] ?? null), bounds[part] ?? null];
    const includes = ({ resource }: SampleGroup): boolean =>
      (low === null || !isBefore(resource, low)) && (high === null || isBefore(resource, high));
    const hours = new DeviceHours();
    const before = await tx.query<{ id: string; payload: Buffer }>(
      `select id::text as id, payload from sample_hour where organisation = $1 and source = $2 and hour = $3
         and ($4::text is null or resource >= $4) and ($5::text is null or resource < $5)`,
      [...of, low, high],
    );
    for (const { payload } of before) hours.addBlock(source, readSamples(payload), () => true);
    const own = blocks.filter(
      ({ first, last }) => (low === null || !isBefore(last, low)) && (high === null || isBefore(first, high)),
    );
    for (let n = 0; n < own.length; n += BLOCKS_PER_STATEMENT) {
      const rows = await tx.query<{ payload: Buffer }>(
        `select payload from sample_recent where organisation = $1 and source = $2 and id = any($3::bigint[])
         order by id`,
        [organisation, source, own.slice(n, n + BLOCKS_PER_STATEMENT).map(({ id }) => id)],
      );
      for (const { payload } of rows) hours.addBlock(source, readSamples(payload), includes);
    }
    await replaceHours(
      tx,
      organisation,
      source,
      before.map(({ id }) => ({ id, hour })),
      hours,
    );
  }
  await tx.query(`delete from sample_recent where organisation = $1 and source = $2 and id = any($3::bigint[])`, [
    organisation,
    source,
    blocks.map(({ id }) => id),
  ]);
}

/** Writes whole hours of a source in place of rows that they were made of. */
async function replaceHours(
  tx: Queryable,
  organisation: string,
  source: string,
  old: readonly { readonly id: string; readonly hour: number }[],
  hours: DeviceHours,
): Promise<void> {
  if (old.length > 0)
    // The hours say in which days they are: the others are not looked at.
    await tx.query(
      `delete from sample_hour where organisation = $1 and source = $2 and id = any($3::bigint[])
         and hour = any($4::timestamptz[])`,
      [organisation, source, old.map(({ id }) => id), [...new Set(old.map(({ hour }) => hour))].map(formatInstant)],
    );
  const days = new Set<string>();
  let pending: PackedRow[] = [];
  const write = async (): Promise<void> => {
    for (const day of new Set(pending.map(({ hour }) => formatInstant(hour).slice(0, 10)))) {
      if (!days.has(day)) await tx.query(`select sample_hour_day($1::date)`, [day]);
      days.add(day);
    }
    await insertPacked(tx, organisation, source, pending);
    pending = [];
  };
  for (const resource of hours.names) {
    pending.push(...packedRows(resource, hours.hoursOf(resource)));
    if (pending.length >= ROWS_PER_STATEMENT) await write();
  }
  await write();
}

interface PackedRow {
  readonly resource: string;
  readonly hour: number;
  readonly team: string;
  readonly workloads: readonly string[];
  readonly samples: number;
  readonly payload: Buffer;
  /** The minutes that policies see; null: its few samples are just as quick to read. */
  readonly minutes: Buffer | null;
}

function packedRows(resource: string, devices: readonly DeviceHour[]): PackedRow[] {
  const byHour = new Map<number, DeviceHour[]>();
  for (const device of devices) byHour.set(device.hour, [...(byHour.get(device.hour) ?? []), device]);
  return [...byHour].flatMap(([hour, own]) => {
    const teams = new Set(own.flatMap(({ held }) => held.map(({ team }) => team)));
    return [...teams].flatMap((team): PackedRow[] => {
      const block = new SampleBlockBuilder();
      for (const device of own) device.addTo(block, (group) => group.team === team);
      const workloads = workloadsOf(own.flatMap(({ held }) => held.filter((group) => group.team === team)));
      return block.count === 0
        ? []
        : [
            {
              resource,
              hour,
              team,
              workloads,
              samples: block.count,
              payload: block.encode(TIGHT),
              minutes:
                block.count > MINUTES_PER_HOUR ? encodeParts(partsOf(own, (group) => group.team === team)) : null,
            },
          ];
    });
  });
}

async function insertPacked(
  tx: Queryable,
  organisation: string,
  source: string,
  rows: readonly PackedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `insert into sample_hour (organisation, source, resource, hour, team, id, workloads, samples, payload, minutes)
     select $1, $2, resource, hour, team, nextval(pg_get_serial_sequence('sample_recent', 'id')),
       (select coalesce(array_agg(w), '{}') from json_array_elements_text(workloads) w), samples, payload, minutes
     from unnest($3::text[], $4::timestamptz[], $5::text[], $6::json[], $7::int[], $8::bytea[], $9::bytea[])
       as h(resource, hour, team, workloads, samples, payload, minutes)`,
    [
      organisation,
      source,
      rows.map(({ resource }) => resource),
      rows.map(({ hour }) => formatInstant(hour)),
      rows.map(({ team }) => team),
      rows.map(({ workloads }) => JSON.stringify(workloads)),
      rows.map(({ samples }) => samples),
      rows.map(({ payload }) => payload),
      rows.map(({ minutes }) => minutes),
    ],
  );
}

/** Gives what was sampled of a resource in minutes since an instant its place again, where that is another. */
export async function placeHours(
  tx: Queryable,
  organisation: string,
  source: string,
  resource: string,
  since: number,
  place: Place,
): Promise<void> {
  await lock(tx, organisation, source);
  for (const { hour, samples } of await hoursToPack(tx, organisation, source, hourOf(since), null))
    await packHour(tx, organisation, source, hour, samples);
  const rows = await tx.query<{ id: string; hour: Date; payload: Buffer }>(
    `select id::text as id, hour, payload from sample_hour
     where organisation = $1 and source = $2 and resource = $3 and hour >= $4 order by hour`,
    [organisation, source, resource, formatInstant(hourOf(since))],
  );
  const hours = new DeviceHours();
  for (const { payload } of rows) hours.addBlock(source, readSamples(payload), () => true);
  const placed = new SampleGroups();
  const changed = new Set<number>();
  for (const device of hours.hoursOf(resource)) {
    for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
      const group = device.group(minute);
      if (group === null || device.hour + minute * MINUTE_MS < since || isAt(group, place)) continue;
      device.hold(minute, placed.shared({ ...group, ...place }));
      changed.add(device.hour);
    }
  }
  const anew = new DeviceHours();
  anew.merge(hours.hoursOf(resource).filter(({ hour }) => changed.has(hour)));
  const old = rows.map(({ id, hour }) => ({ id, hour: hour.getTime() })).filter(({ hour }) => changed.has(hour));
  await replaceHours(tx, organisation, source, old, anew);
}

const isAt = (group: SampleGroup, place: Place): boolean =>
  group.team === place.team &&
  group.workload === place.workload &&
  group.connection === place.connection &&
  group.target === place.target &&
  group.provider === place.provider &&
  group.sku === place.sku &&
  group.region === place.region &&
  group.term === place.term;
