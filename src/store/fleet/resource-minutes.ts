/**
 * Minutes of a team's resources, as policies see them: by the fleet's target where it is known, of a workload all its
 * pods are one resource. A resource is as busy, and as full, as its busiest and fullest GPU; where a GPU was blank,
 * that is unknown. A card that two sources tell of is one. Reads only.
 */
import type { Term } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { placeOf, type SampleGroup } from './sample-block.js';
import { minuteAfter, minuteAt, samplesByResource, type MinuteSample } from './sample-reading.js';

export interface ResourceMinute {
  /** Epoch milliseconds of where it begins. */
  readonly at: number;
  /** GPUs and MIG instances that were reported. */
  readonly devices: number;
  readonly gpu: number | null;
  readonly memory: number | null;
  readonly watts: number | null;
  readonly mib: number | null;
  readonly rps: number | null;
}

/** What a resource is, as the newest of its samples show it. */
export interface NewestOfResource {
  readonly resource: string;
  readonly connection: string | null;
  readonly target: string | null;
  /** As its series call it, which findings about its health do. */
  readonly called: readonly string[];
  readonly term: Term | null;
  readonly workload: string | null;
  readonly gpus: number | null;
  readonly gpu_model: string | null;
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
}

export interface ResourceMinutes {
  readonly newest: NewestOfResource;
  /** Oldest first. */
  readonly minutes: readonly ResourceMinute[];
}

const [UTILISATION, MEMORY, WATTS, MIB, REQUESTS] = [
  placeOf('gpuUtilisationRatio'),
  placeOf('memoryUsedRatio'),
  placeOf('powerWatts'),
  placeOf('memoryUsedMib'),
  placeOf('requestsPerSecond'),
];

/** Minutes that begin after `after` and up to `until`. */
export function resourceMinutes(
  db: Queryable,
  organisation: string,
  team: string,
  after: number,
  until: number,
): Promise<ResourceMinutes[]> {
  return minutesBy(db, organisation, [team], after, until, nameOf);
}

/** The same, of several teams: targets of one name at two connections are apart. */
export function minutesOfTeams(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  after: number,
  until: number,
): Promise<ResourceMinutes[]> {
  return minutesBy(
    db,
    organisation,
    teams,
    after,
    until,
    (group) => `${nameOf(group)}\u0001${group.target === null ? '' : (group.connection ?? '')}`,
  );
}

const nameOf = ({ target, resource }: SampleGroup): string => target ?? resource;

/** @param keyOf what is one resource has one */
async function minutesBy(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  after: number,
  until: number,
  keyOf: (group: SampleGroup) => string,
): Promise<ResourceMinutes[]> {
  const filter = { teams, first: minuteAfter(after), last: minuteAt(until) };
  const found = new Map<string, Minutes>();
  for await (const { samples } of samplesByResource(db, organisation, filter)) {
    for (const sample of samples) {
      const { group } = sample;
      if (group.isPartitioned) continue;
      const key = keyOf(group);
      let own = found.get(key);
      if (own === undefined) found.set(key, (own = new Minutes(nameOf(group))));
      own.add(sample);
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, own]) => own.whole());
}

/** The largest of texts; nulls are none. */
const largest = <Text extends string>(all: readonly (Text | null)[]): Text | null =>
  all.reduce<Text | null>((most, one) => (one !== null && (most === null || one > most) ? one : most), null);

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);
/** The larger of two of which the first may not be known. */
const more = (a: number, b: number): number => (b > a || Number.isNaN(a) ? b : a);

const MOST_BITS = 31;

interface Minute {
  readonly at: number;
  /** Numbers of its devices: those below 31 as bits, and the rest. */
  few: number;
  rest: Set<number> | null;
  devices: number;
  gpu: number;
  memory: number;
  watts: number;
  mib: number;
  rps: number;
  /** One of its GPUs was blank. */
  isGpuBlank: boolean;
  isMemoryBlank: boolean;
}

class Minutes {
  private readonly minutes = new Map<number, Minute>();
  private newestAt = -Infinity;
  private newest: SampleGroup[] = [];
  /** Devices by name, as a group has them, and their numbers. */
  private readonly numbers = new Map<string, number>();
  private readonly numberOf = new Map<SampleGroup, number>();

  constructor(private readonly name: string) {}

  add({ at, device, minute, group }: MinuteSample): void {
    if (at > this.newestAt) {
      this.newestAt = at;
      this.newest = [];
    }
    if (at === this.newestAt) this.newest.push(group);
    const own = this.minute(at);
    count(own, this.number(group));
    const [gpu, memory] = [device.value(UTILISATION, minute), device.value(MEMORY, minute)];
    own.isGpuBlank ||= Number.isNaN(gpu);
    own.isMemoryBlank ||= Number.isNaN(memory);
    own.gpu = more(own.gpu, gpu);
    own.memory = more(own.memory, memory);
    own.watts = more(own.watts, device.value(WATTS, minute));
    own.mib = more(own.mib, device.value(MIB, minute));
    own.rps = more(own.rps, device.value(REQUESTS, minute));
  }

  whole(): ResourceMinutes {
    const { newest } = this;
    const isWhole = newest.every(({ migInstance }) => migInstance === null);
    return {
      newest: {
        resource: this.name,
        connection: largest(newest.map(({ connection }) => connection)),
        target: largest(newest.map(({ target }) => target)),
        called: [...new Set(newest.map(({ resource }) => resource))].sort(),
        term: largest(newest.map(({ term }) => term)),
        workload: largest(newest.map(({ workloadKind }) => workloadKind)),
        gpus: isWhole ? new Set(newest.map(({ gpu }) => gpu)).size : null,
        gpu_model: largest(newest.map(({ gpuModel }) => gpuModel)),
        provider: largest(newest.map(({ provider }) => provider)),
        sku: largest(newest.map(({ sku }) => sku)),
        region: largest(newest.map(({ region }) => region)),
      },
      minutes: [...this.minutes.values()]
        .sort((a, b) => a.at - b.at)
        .map(({ at, devices, gpu, memory, watts, mib, rps, isGpuBlank, isMemoryBlank }) => ({
          at,
          devices,
          gpu: isGpuBlank ? null : known(gpu),
          memory: isMemoryBlank ? null : known(memory),
          watts: known(watts),
          mib: known(mib),
          rps: known(rps),
        })),
    };
  }

  private minute(at: number): Minute {
    let own = this.minutes.get(at);
    if (own === undefined) {
      own = {
        at,
        few: 0,
        rest: null,
        devices: 0,
        gpu: Number.NaN,
        memory: Number.NaN,
        watts: Number.NaN,
        mib: Number.NaN,
        rps: Number.NaN,
        isGpuBlank: false,
        isMemoryBlank: false,
      };
      this.minutes.set(at, own);
    }
    return own;
  }

  private number(group: SampleGroup): number {
    let number = this.numberOf.get(group);
    if (number !== undefined) return number;
    const name = `${group.gpu}\0${group.migInstance ?? ''}`;
    number = this.numbers.get(name) ?? this.numbers.size;
    this.numbers.set(name, number);
    this.numberOf.set(group, number);
    return number;
  }
}

/** Counts a device once. */
function count(minute: Minute, device: number): void {
  const isKnown = device < MOST_BITS ? (minute.few & (1 << device)) !== 0 : minute.rest?.has(device) === true;
  if (isKnown) return;
  minute.devices += 1;
  if (device < MOST_BITS) minute.few |= 1 << device;
  else (minute.rest ??= new Set()).add(device);
}
