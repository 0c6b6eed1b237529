/**
 * Overlapping records of one GPU resource: two records with other ids that hold it at the same time. Both count, and
 * most often one of them should not (two meters, or an id that changed): so it is said, and nothing is dropped.
 *
 * Remembers the newest intervals of each resource, in bounded memory; what came long before, or through another
 * process, is found by a look into what is stored.
 */
import { formatInstant } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { countedRecords, type StoredBlock } from './block.js';

interface Held {
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

export class OverlapWatch {
  private readonly held = new Map<string, Map<string, Held[]>>();
  private size = 0;

  see(organisation: string, { id, provider, resource, start, end, gpuParts }: UsageRecord, overlaps: Overlaps): void {
    if (resource === null || gpuParts === null || gpuParts <= 0 || end <= start) return;
    const scope = `${organisation}\u0001${provider}`;
    let resources = this.held.get(scope);
    if (resources === undefined) this.held.set(scope, (resources = new Map()));
    const known = resources.get(resource);
    if (known === undefined) {
      if (this.size >= MOST_RESOURCES) this.forget();
      this.size += 1;
      resources.set(resource, [{ id, start, end }]);
      return;
    }
    let own = -1;
    for (let at = 0; at < known.length; at++) {
      const one = known[at] as Held;
      if (one.id === id) own = at;
      else if (one.start < end && start < one.end && !overlaps.found.has(resource))
        overlaps.found.set(resource, [one, { id, start, end }]);
    }
    if (own >= 0) known.splice(own, 1);
    else if (known.length === KEPT_PER_RESOURCE) known.shift();
    known.push({ id, start, end });
  }

  /** After something was taken back. */
  forget(): void {
    this.held.clear();
    this.size = 0;
  }
}

const PAGE_BLOCKS = 16;

/** Overlaps among what is stored and counts since an instant. */
export async function storedOverlaps(db: Queryable, organisation: string, since: number): Promise<Overlaps> {
  const byResource = new Map<string, Held[]>();
  for (let last: (StoredBlock & { delivery: string; no: number; source: string }) | undefined; ; ) {
    const page: (StoredBlock & { delivery: string; no: number; source: string })[] = await db.query(
      `select b.source, b.delivery::text as delivery, b.no, b.payload, b.set_aside from block b
       join delivery v on v.organisation = b.organisation and v.id = b.delivery and v.scope is null
       where b.organisation = $1 and b.last_end >= $2 and ($3::text is null or (b.source, b.delivery, b.no) > ($3, $4::bigint, $5::int))
       order by b.source, b.delivery, b.no limit ${PAGE_BLOCKS}`,
      [organisation, formatInstant(since), last?.source ?? null, last?.delivery ?? null, last?.no ?? null],
    );
    for (const block of page)
      for (const { id, provider, resource, start, end, gpuParts } of countedRecords(block)) {
        if (resource === null || gpuParts === null || gpuParts <= 0 || end <= start || end <= since) continue;
        const name = `${provider} ${resource}`;
        const held = byResource.get(name);
        if (held === undefined) byResource.set(name, [{ id, start, end }]);
        else held.push({ id, start, end });
      }
    last = page.at(-1);
    if (page.length < PAGE_BLOCKS) break;
  }
  const overlaps = new Overlaps();
  for (const [name, held] of byResource) {
    let longest: Held | null = null;
    for (const one of held.sort((a, b) => a.start - b.start)) {
      if (longest !== null && one.start < longest.end && one.id !== longest.id) {
        overlaps.found.set(name, [longest, one]);
        break;
      }
      if (longest === null || one.end > longest.end) longest = one;
    }
  }
  return overlaps;
}
