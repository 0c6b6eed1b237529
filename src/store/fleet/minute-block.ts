/**
 * The minutes of resources in one hour, in the form in which policies see them, stored beside their samples: an eighth
 * of the numbers of a machine of eight GPUs, and nothing per GPU. A minute contains the reported GPUs, the largest
 * value of each measure, and whether one of them was blank. Parts of one hour, from several sources or pods, combine to
 * the same result in any order: GPUs are united, the largest value is taken, and blank stays blank. So minutes from
 * parts equal exactly those from all samples. Knows no SQL.
 */
import { hash } from 'node:crypto';
import { assert } from '../../core/errors.js';
import { BytesRead, BytesWritten, readColumn, writeColumn } from './column-bytes.js';
import { MINUTES_PER_HOUR, type DeviceHour } from './device-hours.js';
import { placeOf, type SampleGroup } from './sample-block.js';

/** The key of a resource: the fleet's target if it is known, otherwise the name in the samples. */
export interface ResourceKey {
  readonly name: string;
  /** The connection of the target; null: it has no target. */
  readonly connection: string | null;
}

/** A resource's minutes of an hour, as bytes. */
export interface MinutePart extends ResourceKey {
  readonly body: Buffer;
}

/** The largest value of each measure in a minute, NaN if no GPU has one; in the order of COLUMNS. */
const COLUMNS = [
  placeOf('gpuUtilisationRatio'),
  placeOf('memoryUsedRatio'),
  placeOf('powerWatts'),
  placeOf('memoryUsedMib'),
  placeOf('requestsPerSecond'),
] as const;
const [GPU, MEMORY] = [0, 1];

const VERSION = 1;
const NAME_BYTES = 8;
const BITMAP_BYTES = 8;
const MOST_NAMES = 200_000;

const keyOf = ({ target, resource, connection }: SampleGroup): ResourceKey => ({
  name: target ?? resource,
  connection: target === null ? null : connection,
});
export const keyText = ({ name, connection }: ResourceKey): string => `${name}\u0001${connection ?? ''}`;

const names = new Map<string, string>();

/** Eight bytes for a GPU or a part of it: of the few that a resource has no two have the same. */
function nameOf({ gpu, migInstance }: SampleGroup): string {
  const whole = `${gpu}\0${migInstance ?? ''}`;
  let short = names.get(whole);
  if (short === undefined) {
    if (names.size >= MOST_NAMES) names.clear();
    short = hash('md5', whole, 'buffer').toString('latin1', 0, NAME_BYTES);
    names.set(whole, short);
  }
  return short;
}

/** The larger of two values, of which the first may be unknown. */
const more = (a: number, b: number): number => (b > a || Number.isNaN(a) ? b : a);

/** The minutes of one resource in one hour, as samples or parts of it come. */
class MinuteSums {
  private readonly devices: (Set<string> | null)[] = Array.from({ length: MINUTES_PER_HOUR }, () => null);
  private readonly columns = COLUMNS.map(() => new Float64Array(MINUTES_PER_HOUR).fill(Number.NaN));
  /** For utilisation and memory, by minute: whether a GPU was blank. */
  private readonly blanks = [new Uint8Array(MINUTES_PER_HOUR), new Uint8Array(MINUTES_PER_HOUR)] as const;

  add(device: DeviceHour, minute: number, group: SampleGroup): void {
    (this.devices[minute] ??= new Set()).add(nameOf(group));
    COLUMNS.forEach((measure, place) => this.put(place, minute, device.value(measure, minute)));
    this.blanks.forEach((blank, place) => {
      if (Number.isNaN(device.value(COLUMNS[place] ?? 0, minute))) blank[minute] = 1;
    });
  }

  merge(body: Buffer): void {
    const { minutes, sets, setOf, columns, blanks } = readPart(body);
    minutes.forEach((minute, n) => {
      const own = (this.devices[minute] ??= new Set());
      for (const device of sets[setOf[n] ?? 0] ?? []) own.add(device);
      columns.forEach((column, place) => this.put(place, minute, column?.[n] ?? Number.NaN));
      this.blanks.forEach((blank, place) => {
        if (blanks[place]?.has(minute) === true) blank[minute] = 1;
      });
    });
  }

  encode(): Buffer {
    const minutes = this.devices.flatMap((devices, minute) => (devices === null ? [] : [minute]));
    const [known, sets, setOf] = this.sets(minutes);
    const bytes = new BytesWritten();
    bytes.raw(bitmapOf(minutes));
    bytes.unsigned(known.length);
    for (const name of known) bytes.raw(Buffer.from(name, 'latin1'));
    bytes.unsigned(sets.length);
    for (const set of sets) {
      bytes.unsigned(set.length);
      bytes.differences(set);
    }
    if (sets.length > 1) bytes.differences(setOf);
    for (const blank of this.blanks) {
      const own = minutes.filter((minute) => blank[minute] === 1);
      bytes.byte(own.length === 0 ? 0 : 1);
      if (own.length > 0) bytes.raw(bitmapOf(own));
    }
    for (const column of this.columns)
      writeColumn(
        bytes,
        minutes.map((minute) => column[minute] ?? Number.NaN),
      );
    return Buffer.from(bytes.written());
  }

  /** The names of all devices, the sets of them that were reported together, and of each minute its set. */
  private sets(minutes: readonly number[]): [string[], number[][], number[]] {
    const numbers = new Map<string, number>();
    const sets: number[][] = [];
    const found = new Map<string, number>();
    const setOf = minutes.map((minute) => {
      const set = [...(this.devices[minute] ?? [])]
        .map((name) => {
          const number = numbers.get(name) ?? numbers.size;
          numbers.set(name, number);
          return number;
        })
        .sort((a, b) => a - b);
      const text = set.join();
      let number = found.get(text);
      if (number === undefined) {
        found.set(text, (number = sets.length));
        sets.push(set);
      }
      return number;
    });
    return [[...numbers.keys()], sets, setOf];
  }

  private put(place: number, minute: number, value: number): void {
    const column = this.columns[place];
    if (column !== undefined) column[minute] = more(column[minute] ?? Number.NaN, value);
  }
}

/** The content of a part for each of its minutes. */
interface PartRead {
  /** Of the hour, 0 to 59, in order. */
  readonly minutes: readonly number[];
  readonly sets: readonly (readonly string[])[];
  readonly setOf: ArrayLike<number>;
  readonly columns: readonly (Float64Array | null)[];
  readonly blanks: readonly ReadonlySet<number>[];
}

const NO_MINUTES: ReadonlySet<number> = new Set();

function readPart(body: Buffer): PartRead {
  const bytes = new BytesRead(body);
  const minutes = minutesOf(bytes.raw(BITMAP_BYTES));
  const known = Array.from({ length: bytes.unsigned() }, () => bytes.raw(NAME_BYTES).toString('latin1'));
  const sets = Array.from({ length: bytes.unsigned() }, () => {
    const set = bytes.differences(new Uint32Array(bytes.unsigned()));
    return Array.from(set, (number) => known[number] ?? '');
  });
  const setOf = sets.length > 1 ? bytes.differences(new Uint32Array(minutes.length)) : new Uint32Array(minutes.length);
  const blanks = [GPU, MEMORY].map(() =>
    bytes.byte() === 0 ? NO_MINUTES : new Set(minutesOf(bytes.raw(BITMAP_BYTES))),
  );
  const columns = COLUMNS.map(() => readColumn(bytes, minutes.length));
  return { minutes, sets, setOf, columns, blanks };
}

/** A minute of a resource. */
export interface MinuteRead {
  /** Of the hour, 0 to 59. */
  readonly minute: number;
  /** GPUs and MIG instances that were reported. */
  readonly devices: number;
  /** In the order of COLUMNS; null: no GPU has any, or, of utilisation and memory, one of them was blank. */
  readonly values: readonly (number | null)[];
}

/** The minutes of an hour, of all its parts, in the order of time. */
export function readMinutes(parts: readonly Buffer[]): MinuteRead[] {
  const [first, ...others] = parts;
  if (first === undefined) return [];
  let body = first;
  if (others.length > 0) {
    const sums = new MinuteSums();
    for (const part of parts) sums.merge(part);
    body = sums.encode();
  }
  const { minutes, sets, setOf, columns, blanks } = readPart(body);
  return minutes.map((minute, n) => ({
    minute,
    devices: sets[setOf[n] ?? 0]?.length ?? 0,
    values: columns.map((column, place) => {
      const value = column?.[n] ?? Number.NaN;
      return Number.isNaN(value) || blanks[place]?.has(minute) === true ? null : value;
    }),
  }));
}

/** The first and the last minute of a part, 0 to 59. */
export function spanOf({ body }: MinutePart): readonly [number, number] {
  const [low, high] = [body.readUInt32LE(0), body.readUInt32LE(4)];
  const first = low === 0 ? 32 + lowestOf(high) : lowestOf(low);
  return [first, high === 0 ? 31 - Math.clz32(low) : 63 - Math.clz32(high)];
}

const lowestOf = (bits: number): number => 31 - Math.clz32(bits & -bits);

/** A part that was made of samples. */
export interface SampledPart extends MinutePart {
  /** The groups of the samples of its last minute. */
  readonly newest: readonly SampleGroup[];
}

/** The minutes of the resources that devices of one hour belong to, as far as `includes` lets their samples pass. */
export function partsOf(
  devices: Iterable<DeviceHour>,
  includes: (group: SampleGroup, minute: number) => boolean,
): SampledPart[] {
  const found = new Map<string, HourOfResource>();
  const known = new Map<SampleGroup, HourOfResource>();
  const ownOf = (group: SampleGroup): HourOfResource => {
    const key = keyOf(group);
    const text = keyText(key);
    const own = found.get(text) ?? { key, sums: new MinuteSums(), last: -1, newest: [] };
    found.set(text, own);
    known.set(group, own);
    return own;
  };
  for (const device of devices) {
    for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1) {
      const group = device.group(minute);
      // A card whose parts have samples of their own is no device to count beside them.
      if (group === null || group.isPartitioned || !includes(group, minute)) continue;
      const own = known.get(group) ?? ownOf(group);
      own.sums.add(device, minute, group);
      if (minute > own.last) [own.last, own.newest] = [minute, []];
      if (minute === own.last) own.newest.push(group);
    }
  }
  return [...found.values()].map(({ key, sums, newest }) => ({ ...key, body: sums.encode(), newest }));
}

interface HourOfResource {
  readonly key: ResourceKey;
  readonly sums: MinuteSums;
  last: number;
  newest: SampleGroup[];
}

export function encodeParts(parts: readonly MinutePart[]): Buffer {
  const bytes = new BytesWritten();
  bytes.byte(VERSION);
  bytes.unsigned(parts.length);
  for (const { name, connection, body } of parts) {
    bytes.text(name);
    bytes.byte(connection === null ? 0 : 1);
    if (connection !== null) bytes.text(connection);
    bytes.unsigned(body.length);
    bytes.raw(body);
  }
  return Buffer.from(bytes.written());
}

/** @throws where it is not one that was written here: a broken invariant */
export function decodeParts(payload: Buffer): MinutePart[] {
  const bytes = new BytesRead(payload);
  const version = bytes.byte();
  assert(version === VERSION, `minutes of form ${VERSION} were expected, not ${version}`);
  return Array.from({ length: bytes.unsigned() }, () => ({
    name: bytes.text(),
    connection: bytes.byte() === 0 ? null : bytes.text(),
    body: bytes.raw(bytes.unsigned()),
  }));
}

function bitmapOf(minutes: readonly number[]): Buffer {
  const bitmap = Buffer.alloc(BITMAP_BYTES);
  for (const minute of minutes) bitmap[minute >> 3] = (bitmap[minute >> 3] ?? 0) | (1 << (minute & 7));
  return bitmap;
}

function minutesOf(bitmap: Buffer): number[] {
  const minutes: number[] = [];
  for (let minute = 0; minute < MINUTES_PER_HOUR; minute += 1)
    if (((bitmap[minute >> 3] ?? 0) & (1 << (minute & 7))) !== 0) minutes.push(minute);
  return minutes;
}
