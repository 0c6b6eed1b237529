/**
 * Reads samples from all places: packed hours, recent samples, and rows of the previous version. Reads only.
 */
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { DeviceHours, MINUTES_PER_HOUR, type DeviceHour } from './device-hours.js';
import { readSamples, type SampleGroup } from './sample-block.js';
import { wideEntries, type SourceEntry } from './sample-entries.js';
import { recentBlocks } from './sample-hours.js';

/** Minutes of teams, from the first to the last, epoch milliseconds of where each begins. */
export interface SampleFilter {
  readonly teams: readonly string[];
  readonly first: number;
  readonly last: number;
}

/** A sample of a minute, in the form that readers of minutes need. */
export interface MinuteSample {
  /** The start of the minute. */
  readonly at: number;
  readonly device: DeviceHour;
  /** The device's minute, 0 to 59. */
  readonly minute: number;
  readonly group: SampleGroup;
}

const RESOURCES_AT_ONCE = 16;

interface Block {
  readonly source: string;
  readonly payload: Buffer;
}

/** Samples of teams, a resource at a time, with those that all sources have of it. */
export async function* samplesByResource(
  db: Queryable,
  organisation: string,
  filter: SampleFilter,
): AsyncGenerator<{ readonly resource: string; readonly samples: readonly MinuteSample[] }> {
  const { recent, names, sources } = await resourcesOf(db, organisation, filter);
  const teams = new Set(filter.teams);
  for (let from = 0; from < names.length; from += RESOURCES_AT_ONCE) {
    const own = names.slice(from, from + RESOURCES_AT_ONCE);
    const hours = new DeviceHours();
    const wide = await wideOf(db, organisation, filter, sources, own);
    const packed = await db.query<Block>(
      `select source, payload from sample_hour where organisation = $1 and team = any($2::text[])
         and hour > $3::timestamptz - interval '1 hour' and hour <= $4 and source = any($5::text[])
         and resource = any($6::text[])`,
      [organisation, filter.teams, formatInstant(filter.first), formatInstant(filter.last), sources, own],
    );
    for (const { source, payload } of packed) hours.addBlock(source, readSamples(payload), () => true);
    for (const { source, entry } of wide) hours.add(source, entry);
    for (const resource of own) {
      hours.merge(recent.hoursOf(resource));
      yield { resource, samples: minutesOf(hours.hoursOf(resource), filter, (group) => teams.has(group.team)) };
    }
  }
}

/** The recent samples of teams, their sampled resources, and the exporters of the packed ones. */
export async function resourcesOf(
  db: Queryable,
  organisation: string,
  filter: SampleFilter,
): Promise<{ readonly recent: DeviceHours; readonly names: string[]; readonly sources: string[] }> {
  const recent = await recentOf(db, organisation, filter, `team = any($4::text[])`, [filter.teams]);
  const kept = await db.query<{ source: string; resource: string }>(
    `select source, resource from sample_hour
       where organisation = $1 and team = any($2::text[]) and hour > $3::timestamptz - interval '1 hour' and hour <= $4
     union
     select source, resource from sample where organisation = $1 and team = any($2::text[]) and at >= $3 and at <= $4`,
    [organisation, filter.teams, formatInstant(filter.first), formatInstant(filter.last)],
  );
  return {
    recent,
    names: [...new Set([...recent.names, ...kept.map(({ resource }) => resource)])].sort(),
    sources: [...new Set(kept.map(({ source }) => source))],
  };
}

/** The rows of the previous version for those resources. */
export function wideOf(
  db: Queryable,
  organisation: string,
  { teams, first, last }: SampleFilter,
  sources: readonly string[],
  resources: readonly string[],
): Promise<SourceEntry[]> {
  return wideEntries(
    db,
    organisation,
    [first, last],
    `team = any($4::text[]) and source = any($5::text[]) and resource = any($6::text[])`,
    [teams, sources, resources],
  );
}

/** Samples of workloads, of all sources: a few minutes of them. */
export async function samplesOfWorkloads(
  db: Queryable,
  organisation: string,
  workloads: readonly string[],
  filter: Pick<SampleFilter, 'first' | 'last'>,
): Promise<MinuteSample[]> {
  const recent = await recentOf(db, organisation, filter, `workloads && $4::text[]`, [workloads]);
  const hours = new DeviceHours();
  const packed = await db.query<Block>(
    `select source, payload from sample_hour where organisation = $1 and hour > $2::timestamptz - interval '1 hour'
       and hour <= $3 and workloads && $4::text[]`,
    [organisation, formatInstant(filter.first), formatInstant(filter.last), workloads],
  );
  for (const { source, payload } of packed) hours.addBlock(source, readSamples(payload), () => true);
  const wide = await wideEntries(db, organisation, [filter.first, filter.last], `workload_id = any($4::text[])`, [
    workloads,
  ]);
  for (const { source, entry } of wide) hours.add(source, entry);
  for (const resource of recent.names) hours.merge(recent.hoursOf(resource));
  const own = new Set(workloads);
  return hours.names.flatMap((resource) =>
    minutesOf(hours.hoursOf(resource), filter, ({ workload }) => workload !== null && own.has(workload)),
  );
}

/** Recent samples, by a condition on their blocks. */
async function recentOf(
  db: Queryable,
  organisation: string,
  { first, last }: Pick<SampleFilter, 'first' | 'last'>,
  condition: string,
  given: readonly unknown[],
): Promise<DeviceHours> {
  const end = last + MINUTE_MS - 1;
  const blocks = recentBlocks(
    db,
    organisation,
    `hour >= date_trunc('hour', $2::timestamptz) and hour <= $3 and last_at >= $2 and first_at <= $3 and ${condition}`,
    [formatInstant(first), formatInstant(end), ...given],
  );
  const hours = new DeviceHours();
  for await (const { source, payload } of blocks)
    hours.addBlock(source, readSamples(payload), (_, seenAt) => seenAt >= first && seenAt <= end);
  return hours;
}

function minutesOf(
  devices: readonly DeviceHour[],
  { first, last }: Pick<SampleFilter, 'first' | 'last'>,
  includes: (group: SampleGroup) => boolean,
): MinuteSample[] {
  const samples: MinuteSample[] = [];
  for (const device of devices) {
    for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
      const at = device.hour + minute * MINUTE_MS;
      const group = at < first || at > last ? null : device.group(minute);
      if (group !== null && includes(group)) samples.push({ at, device, minute, group });
    }
  }
  return samples;
}

/** The first minute that begins after an instant. */
export const minuteAfter = (instant: number): number => (Math.floor(instant / MINUTE_MS) + 1) * MINUTE_MS;
/** The last minute that has begun at an instant. */
export const minuteAt = (instant: number): number => Math.floor(instant / MINUTE_MS) * MINUTE_MS;
