/**
 * Overlapping records of one GPU resource: two records with different ids, or of two sources, that hold it at the same
 * time. Both count, and usually one of them should not (two meters, or an id that changed): so Bursar reports the
 * overlap and drops nothing. It remembers the newest intervals of each resource, in bounded memory. Overlaps with much
 * older records, or with records from another process, are found by reading the stored data.
 */
import { formatInstant } from '../../core/time.js';
import type { Group } from '../../core/cost/rollup.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { countedRecords } from './block.js';
import { meteredBlocks, readSeen } from './reading.js';

interface Held {
  /** Of what is stored. */
  readonly source?: string;
  readonly id: string;
  readonly start: number;
  readonly end: number;
}

const MOST_RESOURCES = 200_000;
const KEPT_PER_RESOURCE = 4;
const MOST_NAMED = 5;

/** Overlaps that were seen, each resource once. */
export class Overlaps {
  readonly found = new Map<string, readonly [Held, Held]>();

  /** Warnings for people: some by name, the rest as a number. */
  get warnings(): string[] {
    const all = [...this.found].map(
      ([name, [a, b]]) =>
        `${name}: the records "${a.id}" and "${b.id}" overlap from ${formatInstant(Math.max(a.start, b.start))} to ${formatInstant(Math.min(a.end, b.end))}, and both count`,
    );
    const more = all.length - MOST_NAMED;
    return more <= 0 ? all : [...all.slice(0, MOST_NAMED), `${more} more resources have records that overlap`];
  }
}

/** The newest intervals of a resource, each in a place of its own: objects for each would be most of the work. */
class Newest {
  private readonly ids: string[] = [];
  private readonly sources: string[] = [];
  private readonly times = new Float64Array(2 * KEPT_PER_RESOURCE);
  /** The place of the oldest, once all are taken. */
  private oldest = 0;
  /** No interval that was taken in ends later. */
  private until = -Infinity;

  /** As `take`, of an id that has never come. */
  takeNew(source: string, id: string, start: number, end: number): Held | null {
    if (start < this.until) return this.take(source, id, start, end);
    this.put(this.nextPlace(), source, id, start, end);
    return null;
  }

  /** Takes an interval in; returns one that it overlaps with, of another id or from another source. */
  take(source: string, id: string, start: number, end: number): Held | null {
    const { ids, sources, times } = this;
    let place = -1;
    let overlap: Held | null = null;
    for (let at = 0; at < ids.length; at++) {
      const [since, until] = [times[2 * at] as number, times[2 * at + 1] as number];
      if (ids[at] === id && sources[at] === source) place = at;
      else if (since < end && start < until) overlap = { id: ids[at] as string, start: since, end: until };
    }
    this.put(place < 0 ? this.nextPlace() : place, source, id, start, end);
    return overlap;
  }

  private nextPlace(): number {
    if (this.ids.length < KEPT_PER_RESOURCE) return this.ids.length;
    const place = this.oldest;
    this.oldest = (place + 1) % KEPT_PER_RESOURCE;
    return place;
  }

  private put(place: number, source: string, id: string, start: number, end: number): void {
    this.ids[place] = id;
    this.sources[place] = source;
    this.times[2 * place] = start;
    this.times[2 * place + 1] = end;
    if (end > this.until) this.until = end;
  }
}

export class OverlapWatch {
  /** By organisation, provider and resource. */
  private readonly held = new Map<string, Map<string, Map<string, Newest>>>();
  private size = 0;

  /** The newest intervals of a resource. */
  newestOf(organisation: string, provider: string, resource: string): Newest {
    let newest = this.heldOf(organisation, provider).get(resource);
    if (newest === undefined) {
      if (this.size >= MOST_RESOURCES) this.forget();
      this.size += 1;
      this.heldOf(organisation, provider).set(resource, (newest = new Newest()));
    }
    return newest;
  }

  private heldOf(organisation: string, provider: string): Map<string, Newest> {
    let providers = this.held.get(organisation);
    if (providers === undefined) this.held.set(organisation, (providers = new Map()));
    let resources = providers.get(provider);
    if (resources === undefined) providers.set(provider, (resources = new Map()));
    return resources;
  }

  /** After something was taken back. */
  forget(): void {
    this.held.clear();
    this.size = 0;
  }
}

const KEPT_GROUPS = 1 << 14;

/** The records of one import. Those of a group are of one resource, which is looked up once for many. */
export class OverlapsOfImport {
  private readonly groups: (Group | undefined)[] = [];
  private readonly newest: (Newest | undefined)[] = [];

  constructor(
    private readonly watch: OverlapWatch,
    private readonly organisation: string,
    private readonly source: string,
  ) {}

  see(group: Group, record: UsageRecord, overlaps: Overlaps): void {
    this.take(group, record, overlaps, false);
  }

  /** As `see`, of a record whose id has never come. */
  seeNew(group: Group, record: UsageRecord, overlaps: Overlaps): void {
    this.take(group, record, overlaps, true);
  }

  private take(group: Group, record: UsageRecord, overlaps: Overlaps, isNew: boolean): void {
    const { id, provider, resource, start, end, gpuParts } = record;
    if (resource === null || gpuParts === null || gpuParts <= 0 || end <= start) return;
    const place = group.index % KEPT_GROUPS;
    let newest = this.groups[place] === group ? this.newest[place] : undefined;
    if (newest === undefined) {
      newest = this.watch.newestOf(this.organisation, provider, resource);
      this.groups[place] = group;
      this.newest[place] = newest;
    }
    const { source } = this;
    const other = isNew ? newest.takeNew(source, id, start, end) : newest.take(source, id, start, end);
    if (other !== null && !overlaps.found.has(resource)) overlaps.found.set(resource, [other, { id, start, end }]);
  }
}

const PAGE_BLOCKS = 16;

/** Overlaps among what is stored and counts since an instant. */
export async function storedOverlaps(db: Queryable, organisation: string, since: number): Promise<Overlaps> {
  const byResource = new Map<string, Held[]>();
  const seen = await meteredBlocks(db, organisation, { start: since, end: Infinity });
  for await (const block of readSeen(db, organisation, seen, PAGE_BLOCKS))
    for (const { id, provider, resource, start, end, gpuParts } of countedRecords(block)) {
      if (resource === null || gpuParts === null || gpuParts <= 0 || end <= start || end <= since) continue;
      const name = `${provider} ${resource}`;
      const held = byResource.get(name);
      if (held === undefined) byResource.set(name, [{ source: block.source, id, start, end }]);
      else held.push({ source: block.source, id, start, end });
    }
  const overlaps = new Overlaps();
  for (const [name, held] of byResource) {
    let longest: Held | null = null;
    for (const one of held.sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1))) {
      if (longest !== null && one.start < longest.end && (one.id !== longest.id || one.source !== longest.source)) {
        overlaps.found.set(name, [longest, one]);
        break;
      }
      if (longest === null || one.end > longest.end) longest = one;
    }
  }
  return overlaps;
}
