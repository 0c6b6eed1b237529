/**
 * Minutes of a team's resources, in the form in which policies see them: under the fleet's target if it is known; all
 * pods of a workload are one resource. A resource is as busy, and as full, as its busiest and fullest GPU; if a GPU was
 * blank, the value is unknown. A card that two sources report counts once. Reads only.
 *
 * Minutes are held packed and unpacked at each read, because those of a large team would fill the memory.
 */
import { MINUTE_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { keyText, readMinutes, type ResourceKey } from './minute-block.js';
import { partsOfTeams, type GatheredParts } from './minute-reading.js';
import type { SampleGroup } from './sample-block.js';
import { minuteAfter, minuteAt } from './sample-reading.js';

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

/** The description of a resource from its newest samples. */
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
  /** Epoch milliseconds of where the first minute begins. */
  readonly firstAt: number;
  /** Oldest first; read out at every look. */
  readonly minutes: readonly ResourceMinute[];
}

/** Minutes that begin after `after` and up to `until`. */
export function resourceMinutes(
  db: Queryable,
  organisation: string,
  team: string,
  after: number,
  until: number,
): Promise<ResourceMinutes[]> {
  return minutesBy(db, organisation, [team], after, until, ({ name }) => name);
}

/** The same, of several teams: targets of one name at two connections are apart. */
export function minutesOfTeams(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  after: number,
  until: number,
): Promise<ResourceMinutes[]> {
  return minutesBy(db, organisation, teams, after, until, keyText);
}

/** @param textOf what is one resource has one */
async function minutesBy(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  after: number,
  until: number,
  textOf: (key: ResourceKey) => string,
): Promise<ResourceMinutes[]> {
  const filter = { teams, first: minuteAfter(after), last: minuteAt(until) };
  const found = await partsOfTeams(db, organisation, filter, textOf);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, own]) => minutesOf(own));
}

/** The largest of texts; nulls are none. */
const largest = <Text extends string>(all: readonly (Text | null)[]): Text | null =>
  all.reduce<Text | null>((most, one) => (one !== null && (most === null || one > most) ? one : most), null);

function minutesOf({ name, newest, parts, firstAt }: GatheredParts): ResourceMinutes {
  const hours = [...parts.keys()].sort((a, b) => a - b);
  return {
    newest: newestOf(name, newest),
    firstAt,
    get minutes(): ResourceMinute[] {
      return hours.flatMap((hour) =>
        readMinutes(parts.get(hour) ?? []).map(({ minute, devices, values }) => {
          const [gpu = null, memory = null, watts = null, mib = null, rps = null] = values;
          return { at: hour + minute * MINUTE_MS, devices, gpu, memory, watts, mib, rps };
        }),
      );
    },
  };
}

function newestOf(resource: string, newest: readonly SampleGroup[]): NewestOfResource {
  const isWhole = newest.every(({ migInstance }) => migInstance === null);
  return {
    resource,
    connection: largest(newest.map(({ connection }) => connection)),
    target: largest(newest.map(({ target }) => target)),
    called: [...new Set(newest.map(({ resource: called }) => called))].sort(),
    term: largest(newest.map(({ term }) => term)),
    workload: largest(newest.map(({ workloadKind }) => workloadKind)),
    gpus: isWhole ? new Set(newest.map(({ gpu }) => gpu)).size : null,
    gpu_model: largest(newest.map(({ gpuModel }) => gpuModel)),
    provider: largest(newest.map(({ provider }) => provider)),
    sku: largest(newest.map(({ sku }) => sku)),
    region: largest(newest.map(({ region }) => region)),
  };
}
