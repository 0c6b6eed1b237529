/**
 * Reads the minutes of teams' resources. Whole packed hours use their stored minutes. All other hours (an hour that
 * begins or ends within the requested period, late samples that are not packed yet, rows of a previous version) compute
 * them from their samples. The results are the same. Reads only.
 */
import { formatInstant, HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { DeviceHours, type DeviceHour } from './device-hours.js';
import { decodeParts, partsOf, spanOf, type MinutePart, type ResourceKey, type SampledPart } from './minute-block.js';
import { readSamples, type SampleGroup } from './sample-block.js';
import { resourcesOf, wideOf, type SampleFilter } from './sample-reading.js';

/** A resource's minutes, packed. */
export interface GatheredParts {
  readonly name: string;
  /** By hour, epoch milliseconds of where it begins. */
  readonly parts: ReadonlyMap<number, readonly Buffer[]>;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  /** The groups of the samples of its newest minute. */
  readonly newest: readonly SampleGroup[];
}

/** A row of packed samples. */
interface RowKey {
  readonly source: string;
  readonly resource: string;
  readonly hour: number;
}

const RESOURCES_AT_ONCE = 16;
const ROWS_AT_ONCE = 500;
const textOfRow = ({ source, resource, hour }: RowKey): string => `${source}\0${resource}\0${hour}`;

class Gathering implements GatheredParts {
  readonly parts = new Map<number, Buffer[]>();
  firstAt = Infinity;
  newestAt = -Infinity;
  readonly newest: SampleGroup[] = [];
  /** Rows with the newest minute of which only the minutes were read. */
  readonly unread: RowKey[] = [];

  constructor(readonly name: string) {}

  add(hour: number, part: MinutePart | SampledPart, row: RowKey): void {
    const own = this.parts.get(hour);
    if (own === undefined) this.parts.set(hour, [part.body]);
    else own.push(part.body);
    const [first, last] = spanOf(part);
    this.firstAt = Math.min(this.firstAt, hour + first * MINUTE_MS);
    const at = hour + last * MINUTE_MS;
    if (at < this.newestAt) return;
    if (at > this.newestAt) {
      this.newestAt = at;
      this.newest.length = this.unread.length = 0;
    }
    if ('newest' in part) this.newest.push(...part.newest);
    else this.unread.push(row);
  }

  /** Notes the groups of a row that contains the newest minute. */
  see(hour: number, part: SampledPart): void {
    if (hour + spanOf(part)[1] * MINUTE_MS === this.newestAt) this.newest.push(...part.newest);
  }
}

/** @param textOf what is one resource has one */
export async function partsOfTeams(
  db: Queryable,
  organisation: string,
  filter: SampleFilter,
  textOf: (key: ResourceKey) => string,
): Promise<Map<string, GatheredParts>> {
  const found = new Map<string, Gathering>();
  const gathered = (key: ResourceKey): Gathering => {
    const text = textOf(key);
    let own = found.get(text);
    if (own === undefined) found.set(text, (own = new Gathering(key.name)));
    return own;
  };
  const read = new Reader(db, organisation, filter);
  for await (const { packed, sampled } of read.portions()) {
    for (const { row, part } of packed) gathered(part).add(row.hour, part, row);
    for (const { row, part } of sampled) gathered(part).add(row.hour, part, row);
  }
  const unread = [...found.values()].flatMap((own) => own.unread);
  for (let from = 0; from < unread.length; from += ROWS_AT_ONCE)
    for (const { row, part } of await read.samplesOf(unread.slice(from, from + ROWS_AT_ONCE)))
      gathered(part).see(row.hour, part);
  // Samples that moved to another place between the two readings are read again.
  const isWhole = [...found.values()].every(({ newest }) => newest.length > 0);
  return isWhole ? found : partsOfTeams(db, organisation, filter, textOf);
}

interface Placed<Part> {
  readonly row: RowKey;
  readonly part: Part;
}

interface Portion {
  readonly packed: Placed<MinutePart>[];
  readonly sampled: Placed<SampledPart>[];
}

interface PackedRow {
  readonly source: string;
  readonly resource: string;
  readonly hour: Date;
  readonly minutes: Buffer | null;
  /** Null: the minutes say it all. */
  readonly payload: Buffer | null;
}

class Reader {
  private readonly teams: ReadonlySet<string>;

  constructor(
    private readonly db: Queryable,
    private readonly organisation: string,
    private readonly filter: SampleFilter,
  ) {
    this.teams = new Set(filter.teams);
  }

  /** Some resources at a time, in the order in which nothing that is packed meanwhile is overlooked. */
  async *portions(): AsyncGenerator<Portion> {
    const { db, organisation, filter } = this;
    const { recent, names, sources } = await resourcesOf(db, organisation, filter);
    for (let from = 0; from < names.length; from += RESOURCES_AT_ONCE) {
      const own = names.slice(from, from + RESOURCES_AT_ONCE);
      const wide = await wideOf(db, organisation, filter, sources, own);
      const touched = new Set([
        ...wide.map(({ source, entry }) =>
          textOfRow({ source, resource: entry.group.resource, hour: hourOf(entry.seenAt) }),
        ),
        ...own.flatMap((resource) =>
          recent.hoursOf(resource).map(({ source, hour }) => textOfRow({ source, resource, hour })),
        ),
      ]);
      const packed: Placed<MinutePart>[] = [];
      const unread: RowKey[] = [];
      // Of samples of one time the last to arrive stays: packed ones are added first.
      const hours = new DeviceHours();
      for (const { hour, minutes, payload, ...key } of await this.packed(sources, own)) {
        const row = { ...key, hour: hour.getTime() };
        if (payload !== null) hours.addBlock(row.source, readSamples(payload), () => true);
        else if (minutes === null || touched.has(textOfRow(row))) unread.push(row);
        else packed.push(...decodeParts(minutes).map((part) => ({ row, part })));
      }
      for (const { source, payload } of await this.payloads(unread))
        hours.addBlock(source, readSamples(payload), () => true);
      for (const { source, entry } of wide) hours.add(source, entry);
      for (const resource of own) hours.merge(recent.hoursOf(resource));
      yield { packed, sampled: this.partsOf(hours) };
    }
  }

  /** The minutes from the samples of packed rows. */
  async samplesOf(rows: readonly RowKey[]): Promise<Placed<SampledPart>[]> {
    const hours = new DeviceHours();
    for (const { source, payload } of await this.payloads(rows))
      hours.addBlock(source, readSamples(payload), () => true);
    return this.partsOf(hours);
  }

  private partsOf(hours: DeviceHours): Placed<SampledPart>[] {
    const { first, last } = this.filter;
    return hours.names.flatMap((resource) => {
      const byHour = new Map<number, DeviceHour[]>();
      for (const device of hours.hoursOf(resource))
        byHour.set(device.hour, [...(byHour.get(device.hour) ?? []), device]);
      return [...byHour].flatMap(([hour, devices]) => {
        const includes = (group: SampleGroup, minute: number): boolean =>
          this.teams.has(group.team) && hour + minute * MINUTE_MS >= first && hour + minute * MINUTE_MS <= last;
        return partsOf(devices, includes).map((part) => ({
          row: { source: devices[0]?.source ?? '', resource, hour },
          part,
        }));
      });
    });
  }

  /** Rows of packed hours: of whole ones their minutes, where they have them, of others their samples. */
  private packed(sources: readonly string[], resources: readonly string[]): Promise<PackedRow[]> {
    const { first, last, teams } = this.filter;
    const wholeTo = hourOf(last + MINUTE_MS) - HOUR_MS;
    return this.db.query<PackedRow>(
      `select source, resource, hour, case when hour between $7 and $8 then minutes end as minutes,
         case when minutes is null or hour not between $7 and $8 then payload end as payload
       from sample_hour where organisation = $1 and team = any($2::text[])
         and hour > $3::timestamptz - interval '1 hour' and hour <= $4 and source = any($5::text[])
         and resource = any($6::text[])`,
      [
        this.organisation,
        teams,
        formatInstant(first),
        formatInstant(last),
        sources,
        resources,
        formatInstant(first),
        formatInstant(wholeTo),
      ],
    );
  }

  private async payloads(rows: readonly RowKey[]): Promise<{ readonly source: string; readonly payload: Buffer }[]> {
    if (rows.length === 0) return [];
    const wanted = new Set(rows.map(textOfRow));
    const found = await this.db.query<{ source: string; resource: string; hour: Date; payload: Buffer }>(
      `select source, resource, hour, payload from sample_hour where organisation = $1 and team = any($2::text[])
         and source = any($3::text[]) and resource = any($4::text[]) and hour = any($5::timestamptz[])`,
      [
        this.organisation,
        this.filter.teams,
        [...new Set(rows.map(({ source }) => source))],
        [...new Set(rows.map(({ resource }) => resource))],
        [...new Set(rows.map(({ hour }) => formatInstant(hour)))],
      ],
    );
    return found.filter((row) => wanted.has(textOfRow({ ...row, hour: row.hour.getTime() })));
  }
}
