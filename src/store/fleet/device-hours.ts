/**
 * The samples of one device in one hour, with a place for each minute. Samples may come from recent blocks, packed
 * hours or older rows. Of two samples of one minute the newer stays; of two of one time the last to arrive stays.
 */
import { HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';
import { MEASURES, type SampleBlockBuilder, type SampleColumns, type SampleGroup } from './sample-block.js';

export const MINUTES_PER_HOUR = 60;
const MOST_FOUND = 500_000;

/** A sample outside of a block. */
export interface SampleEntry {
  readonly group: SampleGroup;
  /** Epoch milliseconds. */
  readonly seenAt: number;
  /** In the order of MEASURES; NaN: not measured. */
  readonly values: ArrayLike<number>;
  readonly fault: string | null;
}

export class DeviceHour {
  /** Epoch milliseconds, by minute; NaN: nothing was sampled. */
  readonly seenAt = new Float64Array(MINUTES_PER_HOUR).fill(Number.NaN);
  /** By measure, then by minute. */
  private readonly columns: (Float64Array | null)[] = MEASURES.map(() => null);
  private readonly groups: SampleGroup[] = [];
  private readonly groupOf = new Uint16Array(MINUTES_PER_HOUR);
  private faults: Map<number, string> | null = null;

  constructor(
    readonly source: string,
    /** Its first millisecond. */
    readonly hour: number,
  ) {}

  /** All that it was a sample of, in this hour. */
  get held(): readonly SampleGroup[] {
    return this.groups;
  }

  group(minute: number): SampleGroup | null {
    return Number.isNaN(this.seenAt[minute] ?? Number.NaN) ? null : (this.groups[this.groupOf[minute] ?? 0] ?? null);
  }

  /** NaN: not measured. */
  value(measure: number, minute: number): number {
    return this.columns[measure]?.[minute] ?? Number.NaN;
  }

  fault(minute: number): string | null {
    return this.faults?.get(minute) ?? null;
  }

  put(group: SampleGroup, seenAt: number, valueOf: (measure: number) => number, fault: string | null): void {
    const minute = Math.floor((seenAt - this.hour) / MINUTE_MS);
    if (seenAt < (this.seenAt[minute] ?? Number.NaN)) return;
    this.seenAt[minute] = seenAt;
    this.hold(minute, group);
    this.columns.forEach((column, measure) => {
      const value = valueOf(measure);
      if (column === null && Number.isNaN(value)) return;
      (column ?? this.column(measure))[minute] = value;
    });
    if (fault !== null) (this.faults ??= new Map<number, string>()).set(minute, fault);
    else this.faults?.delete(minute);
  }

  /** Says again what a minute's sample is of. */
  hold(minute: number, group: SampleGroup): void {
    let number = this.groups.indexOf(group);
    if (number < 0) number = this.groups.push(group) - 1;
    this.groupOf[minute] = number;
  }

  /** Adds the minutes that `includes` lets pass to a block. */
  addTo(block: SampleBlockBuilder, includes: (group: SampleGroup) => boolean): void {
    for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
      const group = this.group(minute);
      if (group === null || !includes(group)) continue;
      const values = this.columns.map((column) => column?.[minute] ?? Number.NaN);
      block.add(group, this.seenAt[minute] ?? Number.NaN, values, this.fault(minute));
    }
  }

  private column(measure: number): Float64Array {
    const made = new Float64Array(MINUTES_PER_HOUR).fill(Number.NaN);
    this.columns[measure] = made;
    return made;
  }
}

/** The key that distinguishes devices of a source. */
export const deviceOf = ({ resource, gpu, migInstance }: SampleGroup): string =>
  `${resource}\0${gpu}\0${migInstance ?? ''}`;

/** Groups that are equal become one, so that a device does not hold the same thing many times. */
export class SampleGroups {
  private readonly known = new Map<string, SampleGroup[]>();
  /** So that one that was looked for is not compared again. */
  private readonly same = new Map<SampleGroup, SampleGroup>();

  shared(group: SampleGroup): SampleGroup {
    let same = this.same.get(group);
    if (same !== undefined) return same;
    if (this.same.size >= MOST_FOUND) this.same.clear();
    this.same.set(group, (same = this.find(group)));
    return same;
  }

  private find(group: SampleGroup): SampleGroup {
    const key = deviceOf(group);
    const before = this.known.get(key);
    const found = before?.find((one) => isSame(one, group));
    if (found !== undefined) return found;
    if (before === undefined) this.known.set(key, [group]);
    else before.push(group);
    return group;
  }
}

/** Devices of sources by hour, as samples of them come. */
export class DeviceHours {
  /** By resource; then by hour, source and device. */
  private readonly resources = new Map<string, Map<string, DeviceHour>>();
  private known = new SampleGroups();
  /** Where the sample before of a group went. */
  private last = new Map<SampleGroup, DeviceHour>();
  /** The oldest hour. */
  private first = Infinity;

  /** @param wanted measures, by place; null: all */
  constructor(private readonly wanted: ReadonlySet<number> | null = null) {}

  /** Adds what a block holds, as far as `includes` lets it pass. */
  addBlock(source: string, columns: SampleColumns, includes: (group: SampleGroup, seenAt: number) => boolean): void {
    const { groups, groupOf, seenAt, values, faults } = columns;
    const own = groups.map((group) => this.known.shared(group));
    let sample = 0;
    const valueOf = (measure: number): number =>
      this.wanted?.has(measure) === false ? Number.NaN : (values[measure]?.[sample] ?? Number.NaN);
    for (; sample < seenAt.length; sample += 1) {
      const group = own[groupOf[sample] ?? 0];
      const seen = seenAt[sample] ?? Number.NaN;
      if (group === undefined || !includes(group, seen)) continue;
      this.device(source, group, hourOf(seen)).put(group, seen, valueOf, faults.get(sample) ?? null);
    }
  }

  add(source: string, { group, seenAt, values, fault }: SampleEntry): void {
    const own = this.known.shared(group);
    const valueOf = (measure: number): number =>
      this.wanted?.has(measure) === false ? Number.NaN : (values[measure] ?? Number.NaN);
    this.device(source, own, hourOf(seenAt)).put(own, seenAt, valueOf, fault);
  }

  /** Adds what others hold. */
  merge(others: readonly DeviceHour[]): void {
    for (const other of others) {
      for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
        const group = other.group(minute);
        if (group === null) continue;
        const own = this.known.shared(group);
        const device = this.device(other.source, own, other.hour);
        device.put(own, other.seenAt[minute] ?? 0, (measure) => other.value(measure, minute), other.fault(minute));
      }
    }
  }

  /** In the order of their names. */
  get names(): string[] {
    return [...this.resources.keys()].sort();
  }

  /** The device hours of a resource, of all sources; the hours of a device in the order of time. */
  hoursOf(resource: string): DeviceHour[] {
    return [...(this.resources.get(resource)?.values() ?? [])].sort((a, b) => a.hour - b.hour);
  }

  /** Forgets hours before one. */
  forget(before: number): void {
    if (this.first >= before) return;
    this.first = Infinity;
    for (const [resource, devices] of this.resources) {
      for (const [key, { hour }] of devices) {
        if (hour < before) devices.delete(key);
        else this.first = Math.min(this.first, hour);
      }
      if (devices.size === 0) this.resources.delete(resource);
    }
    this.known = new SampleGroups();
    this.last = new Map();
  }

  private device(source: string, group: SampleGroup, hour: number): DeviceHour {
    const last = this.last.get(group);
    if (last?.source === source && last.hour === hour) return last;
    const found = this.find(source, group, hour);
    this.last.set(group, found);
    return found;
  }

  private find(source: string, group: SampleGroup, hour: number): DeviceHour {
    let devices = this.resources.get(group.resource);
    if (devices === undefined) this.resources.set(group.resource, (devices = new Map<string, DeviceHour>()));
    const key = `${hour / HOUR_MS}\0${deviceOf(group)}\0${source}`;
    let device = devices.get(key);
    if (device === undefined) devices.set(key, (device = new DeviceHour(source, hour)));
    this.first = Math.min(this.first, hour);
    return device;
  }
}

const isSame = (a: SampleGroup, b: SampleGroup): boolean =>
  a.team === b.team &&
  a.workload === b.workload &&
  a.workloadKind === b.workloadKind &&
  a.connection === b.connection &&
  a.target === b.target &&
  a.pod === b.pod &&
  a.namespace === b.namespace &&
  a.exporter === b.exporter &&
  a.gpuModel === b.gpuModel &&
  a.provider === b.provider &&
  a.sku === b.sku &&
  a.region === b.region &&
  a.term === b.term &&
  a.isPartitioned === b.isPartitioned;
