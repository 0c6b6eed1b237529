/**
 * The data for health: the last hour of every device of a source, held in memory and updated with the blocks saved
 * since the last reading. The database can rebuild this copy at any time: a new process reads one hour once, a running
 * process reads only new blocks. Blocks are recognised by their numbers; a block with an early number may arrive late.
 * Rows of packed hours are written under the lock of their source, so their numbers arrive in order.
 */
import type { DeviceReading } from '../../core/fleet/health.js';
import { formatInstant, hourOf, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { DeviceHours, MINUTES_PER_HOUR, type DeviceHour } from './device-hours.js';
import { placeOf, readSamples, type SampleGroup } from './sample-block.js';
import { wideEntries } from './sample-entries.js';
import { recentBlocks } from './sample-hours.js';

const [UTILISATION, CELSIUS, REPLAYS, LATENCY] = [
  placeOf('gpuUtilisationRatio'),
  placeOf('temperatureCelsius'),
  placeOf('pcieReplays'),
  placeOf('networkLatencySeconds'),
];

/** A device in its last known state, with its readings, and the last reports of its card and by its exporters. */
export interface RecentDevice {
  readonly group: SampleGroup;
  readonly seenAt: number;
  /** The exporters that reported it within the period, with the last time. */
  readonly exporters: readonly (readonly [exporter: string, seenAt: number])[];
  readings(): DeviceReading[];
}

const ROWS_PER_STATEMENT = 1000;

export class RecentDevices {
  private readonly hours = new DeviceHours(new Set([UTILISATION, CELSIUS, REPLAYS, LATENCY]));
  /** Numbers of blocks of what was saved lately that were read, by hour. */
  private readonly read = new Map<number, string[]>();
  private lastPacked = '0';
  private from = Infinity;

  constructor(
    private readonly organisation: string,
    private readonly source: string,
  ) {}

  /** Devices that were sampled in minutes from the first to the last. */
  async devices(db: Queryable, first: number, last: number): Promise<RecentDevice[]> {
    // Blocks that were dropped or never read lie before this time.
    if (first < this.from) this.clear();
    this.from = hourOf(first);
    await this.catchUp(db);
    this.hours.forget(this.from);
    for (const hour of this.read.keys()) if (hour < this.from) this.read.delete(hour);
    const wide = await wideEntries(db, this.organisation, [first, last], 'source = $4', [this.source]);
    for (const { entry } of wide) this.hours.add(this.source, entry);
    return this.hours.names.flatMap((resource) => recentOf(this.hours.hoursOf(resource), first, last));
  }

  private clear(): void {
    this.hours.forget(Infinity);
    this.read.clear();
    this.lastPacked = '0';
  }

  /**
   * Samples that are packed while blocks are read may be missed among the blocks: then they are among the packed hours.
   */
  private async catchUp(db: Queryable): Promise<void> {
    await this.readPacked(db);
    const blocks = recentBlocks(db, this.organisation, 'source = $2 and hour >= $3 and id <> all($4::bigint[])', [
      this.source,
      formatInstant(this.from),
      [...this.read.values()].flat(),
    ]);
    for await (const { id, hour, payload } of blocks) {
      this.hours.addBlock(this.source, readSamples(payload), () => true);
      const read = this.read.get(hour);
      if (read === undefined) this.read.set(hour, [id]);
      else read.push(id);
    }
    await this.readPacked(db);
  }

  private async readPacked(db: Queryable): Promise<void> {
    for (;;) {
      const rows = await db.query<{ id: string; payload: Buffer }>(
        `select id::text as id, payload from sample_hour
         where organisation = $1 and source = $2 and hour >= $3 and id > $4 order by sample_hour.id limit $5`,
        [this.organisation, this.source, formatInstant(this.from), this.lastPacked, ROWS_PER_STATEMENT],
      );
      for (const { id, payload } of rows) {
        this.hours.addBlock(this.source, readSamples(payload), () => true);
        this.lastPacked = id;
      }
      if (rows.length < ROWS_PER_STATEMENT) return;
    }
  }
}

/** The devices of one resource, each with its hours in the order of time. */
function recentOf(hours: readonly DeviceHour[], first: number, last: number): RecentDevice[] {
  const devices = new Map<string, DeviceHour[]>();
  for (const hour of hours) {
    const [group] = hour.held;
    if (group === undefined) continue;
    const key = `${group.gpu}\0${group.migInstance ?? ''}`;
    const own = devices.get(key);
    if (own === undefined) devices.set(key, [hour]);
    else own.push(hour);
  }
  return [...devices.values()].flatMap((own): RecentDevice[] => {
    const newest = newestOf(own, first, last, () => true);
    if (newest === null) return [];
    const names = new Set(own.flatMap(({ held }) => held.map(({ exporter }) => exporter)));
    const exporters = [...names].flatMap((exporter): [string, number][] => {
      if (exporter === null) return [];
      const seen = exporter === newest.group.exporter ? newest : newestOf(own, first, last, (one) => one === exporter);
      return seen === null ? [] : [[exporter, seen.seenAt]];
    });
    return [{ ...newest, exporters, readings: () => readingsOf(own, first, last) }];
  });
}

function newestOf(
  hours: readonly DeviceHour[],
  first: number,
  last: number,
  includes: (exporter: string | null) => boolean,
): Pick<RecentDevice, 'group' | 'seenAt'> | null {
  for (const device of hours.toReversed()) {
    for (let minute = MINUTES_PER_HOUR - 1; minute >= 0; minute -= 1) {
      const at = device.hour + minute * MINUTE_MS;
      const group = at < first || at > last ? null : device.group(minute);
      if (group !== null && includes(group.exporter)) return { group, seenAt: device.seenAt[minute] ?? at };
    }
  }
  return null;
}

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

function readingsOf(hours: readonly DeviceHour[], first: number, last: number): DeviceReading[] {
  const readings: DeviceReading[] = [];
  for (const device of hours) {
    for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
      const at = device.hour + minute * MINUTE_MS;
      const seenAt = device.seenAt[minute] ?? Number.NaN;
      if (at < first || at > last || Number.isNaN(seenAt)) continue;
      readings.push({
        at: seenAt,
        gpuUtilisationRatio: known(device.value(UTILISATION, minute)),
        temperatureCelsius: known(device.value(CELSIUS, minute)),
        pcieReplays: known(device.value(REPLAYS, minute)),
        networkLatencySeconds: known(device.value(LATENCY, minute)),
        fault: device.fault(minute),
      });
    }
  }
  return readings;
}

/** When each card and each exporter was seen last. */
export function seenOf(devices: readonly RecentDevice[]): {
  readonly cards: ReadonlyMap<string, number>;
  readonly exporters: ReadonlyMap<string, number>;
} {
  const [cards, exporters] = [new Map<string, number>(), new Map<string, number>()];
  const note = (seen: Map<string, number>, name: string, at: number): void => {
    if (at > (seen.get(name) ?? -Infinity)) seen.set(name, at);
  };
  for (const { group, seenAt, exporters: own } of devices) {
    note(cards, group.gpu, seenAt);
    for (const [exporter, at] of own) note(exporters, exporter, at);
  }
  return { cards, exporters };
}
