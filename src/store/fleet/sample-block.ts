/**
 * The storage form of samples: many samples as one compressed value, by column.
 *
 * A block is a table of groups (the common fields of a device's samples, once), the times that occur in it, and per
 * sample a group, a time and its measures. A measure is kept as its decimal number: a whole number with a scale for the
 * column, as differences of variable length (protobuf.dev, "Encoding", the ZigZag form of signed numbers). If that
 * would not return the same number, the eight bytes of a double are stored. An unmeasured value is absent, never zero.
 * Reading a block returns exactly its input. Knows no SQL.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { assert } from '../../core/errors.js';
import type { Term } from '../../core/usage.js';
import { BytesRead, BytesWritten, readColumn, writeColumn } from './column-bytes.js';

/** The common fields of samples of one device. */
export interface SampleGroup {
  readonly resource: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly gpuModel: string | null;
  readonly namespace: string | null;
  readonly pod: string | null;
  readonly exporter: string | null;
  readonly team: string;
  readonly workload: string | null;
  readonly workloadKind: string | null;
  readonly isPartitioned: boolean;
  readonly connection: string | null;
  readonly target: string | null;
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
}

const GROUP_FIELDS = [
  'resource',
  'gpu',
  'migInstance',
  'gpuModel',
  'namespace',
  'pod',
  'exporter',
  'team',
  'workload',
  'workloadKind',
  'isPartitioned',
  'connection',
  'target',
  'provider',
  'sku',
  'region',
  'term',
] as const satisfies readonly (keyof SampleGroup)[];

export const MEASURES = [
  'gpuUtilisationRatio',
  'memoryUsedRatio',
  'memoryUsedMib',
  'temperatureCelsius',
  'powerWatts',
  'pcieReplays',
  'requestsPerSecond',
  'networkLatencySeconds',
] as const;
export type Measure = (typeof MEASURES)[number];
/** The place of a measure in a sample's values. */
export const placeOf = (measure: Measure): number => MEASURES.indexOf(measure);

/** The content of a block; a NaN value was not measured, and a null column was measured in no sample. */
export interface SampleColumns {
  readonly groups: readonly SampleGroup[];
  /** The group and the time of each sample, epoch milliseconds. */
  readonly groupOf: Uint32Array;
  readonly seenAt: Float64Array;
  readonly values: readonly (Float64Array | null)[];
  readonly faults: ReadonlyMap<number, string>;
}

/** The common fields of samples, as text. */
interface GroupTable {
  readonly count: number;
  /** By field; one value where all groups have the same. */
  readonly fields: readonly (readonly unknown[])[];
}

const VERSION = 1;
/** Collects samples; those of one group and in the order of time take the least room. */
export class SampleBlockBuilder {
  private readonly numberOf = new Map<SampleGroup, number>();
  private readonly groupOf: number[] = [];
  private readonly seenAt: number[] = [];
  private readonly values: number[][] = MEASURES.map(() => []);
  private readonly faults: [number, string][] = [];

  get count(): number {
    return this.seenAt.length;
  }

  get groups(): number {
    return this.numberOf.size;
  }

  /** @param values in the order of MEASURES; NaN: not measured */
  add(group: SampleGroup, seenAt: number, values: ArrayLike<number>, fault: string | null): void {
    let number = this.numberOf.get(group);
    if (number === undefined) this.numberOf.set(group, (number = this.numberOf.size));
    if (fault !== null) this.faults.push([this.seenAt.length, fault]);
    this.groupOf.push(number);
    this.seenAt.push(seenAt);
    this.values.forEach((column, measure) => column.push(values[measure] ?? Number.NaN));
  }

  /** @param level of compression, 1 to 9 */
  encode(level: number): Buffer {
    const groups = [...this.numberOf.keys()];
    const table: GroupTable = {
      count: groups.length,
      fields: GROUP_FIELDS.map((field) => {
        const [first] = groups;
        const all = groups.map((group) => group[field]);
        return all.every((value) => value === first?.[field]) ? all.slice(0, 1) : all;
      }),
    };
    const instants = [...new Set(this.seenAt)].sort((a, b) => a - b);
    const order = new Map(instants.map((instant, place) => [instant, place]));
    const bytes = new BytesWritten();
    bytes.text(JSON.stringify(table));
    bytes.text(this.faults.length === 0 ? '' : JSON.stringify(this.faults));
    bytes.unsigned(this.count);
    bytes.unsigned(instants.length);
    bytes.differences(instants);
    bytes.differences(this.groupOf);
    bytes.differences(this.seenAt.map((instant) => order.get(instant) ?? 0));
    for (const column of this.values) writeColumn(bytes, column);
    return Buffer.concat([Buffer.from([VERSION]), deflateRawSync(bytes.written(), { level })]);
  }
}

/** @throws where the block is not one that was written here: a broken invariant */
export function readSamples(payload: Uint8Array): SampleColumns {
  assert(payload[0] === VERSION, `a block of samples of form ${VERSION} was expected, not ${payload[0]}`);
  const bytes = new BytesRead(inflateRawSync(payload.subarray(1)));
  const groups = groupsOf(bytes.text());
  const faults = bytes.text();
  const count = bytes.unsigned();
  const instants = bytes.differences(new Float64Array(bytes.unsigned()));
  const groupOf = bytes.differences(new Uint32Array(count));
  const seenAt = bytes.differences(new Float64Array(count));
  for (let sample = 0; sample < count; sample += 1) seenAt[sample] = instants[seenAt[sample] ?? 0] ?? Number.NaN;
  return {
    groups,
    groupOf,
    seenAt,
    values: MEASURES.map(() => readColumn(bytes, count)),
    faults: new Map(faults === '' ? [] : (JSON.parse(faults) as [number, string][])),
  };
}

/**
 * Tables of groups that were read lately: those of the same GPUs are mostly the same from minute to minute and from
 * hour to hour, and reading them is most of the work. The oldest goes.
 */
const READ = new Map<string, readonly SampleGroup[]>();
const MOST_READ = 200_000;
let readGroups = 0;

function groupsOf(text: string): readonly SampleGroup[] {
  const known = READ.get(text);
  if (known !== undefined) return known;
  const { count, fields } = JSON.parse(text) as GroupTable;
  const groups = Array.from({ length: count }, (_, group) =>
    Object.fromEntries(
      GROUP_FIELDS.map((field, place) => {
        const values = fields[place] ?? [];
        return [field, values.length === 1 ? values[0] : values[group]];
      }),
    ),
  ) as unknown as SampleGroup[];
  READ.set(text, groups);
  readGroups += count;
  for (const [oldest, { length }] of READ) {
    if (readGroups <= MOST_READ || READ.size === 1) break;
    READ.delete(oldest);
    readGroups -= length;
  }
  return groups;
}
