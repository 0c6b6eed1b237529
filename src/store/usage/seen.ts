/**
 * Which metered records have come before: sixteen bytes a record, kept by (source, hour), instead of a unique index.
 *
 * Twelve bytes name the record's id, four its content: the same id with other content is a conflict and is told apart
 * from a repetition. The sets are a cache of usage_id; a source's version, locked by whoever writes, says whether the
 * cache is current, so any number of processes may write.
 */
import type { Group } from '../../core/cost/rollup.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';

const DIGEST_BYTES = 16;
/** Digests kept in memory over all sources; the hours used longest ago go first. */
const MOST_DIGESTS = 8_000_000;

export type Sighting = 'new' | 'repeated' | 'conflicting';

/** A set of digests with open addressing: four words a slot, an all-zero slot is free. */
class DigestSet {
  private slots = new Uint32Array(4 * 64);
  size = 0;

  /** Adds the digest in `words` unless its id is there. */
  add(a: number, b: number, c: number, content: number): Sighting {
    if (this.size * 8 >= this.slots.length) this.grow();
    const at = this.find(a, b, c);
    if (this.slots[at] !== 0 || this.slots[at + 1] !== 0 || this.slots[at + 2] !== 0) {
      return this.slots[at + 3] === content ? 'repeated' : 'conflicting';
    }
    this.slots.set([a, b, c, content], at);
    this.size += 1;
    return 'new';
  }

  private find(a: number, b: number, c: number): number {
    const mask = this.slots.length - 4;
    let at = ((a ^ Math.imul(b, 0x9e3779b1)) << 2) & mask;
    while (true) {
      const [x, y, z] = [this.slots[at], this.slots[at + 1], this.slots[at + 2]];
      if ((x === a && y === b && z === c) || (x === 0 && y === 0 && z === 0)) return at;
      at = (at + 4) & mask;
    }
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 4) {
      const [a, b, c] = [old[at] ?? 0, old[at + 1] ?? 0, old[at + 2] ?? 0];
      if (a !== 0 || b !== 0 || c !== 0) this.slots.set(old.subarray(at, at + 4), this.find(a, b, c));
    }
  }
}

interface SourceCache {
  version: bigint;
  /** The import that last wrote into the sets. */
  run: object;
  hours: Map<number, DigestSet>;
}

const words = new Float64Array(5);
const halves = new Uint32Array(words.buffer);
const groupHashes = new WeakMap<Group, number>();

function mix(state: number, value: number): number {
  const mixed = Math.imul(state ^ value, 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/**
 * Thirty-two bits of a text; three of these with other seeds name an id (MurmurHash3's mixing and finish, over UTF-16
 * units).
 */
function textHash(text: string, seed: number): number {
  let h = seed;
  for (let at = 0; at < text.length; at++) {
    const k = Math.imul(text.charCodeAt(at) + at, 0xcc9e2d51);
    h ^= Math.imul((k << 15) | (k >>> 17), 0x1b873593);
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  h ^= text.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Four bytes that differ, as good as always, where two records of one id differ. */
function contentHash(group: Group, r: UsageRecord): number {
  let state = groupHashes.get(group);
  if (state === undefined) {
    state = textHash(group.key, 0x27d4eb2f);
    groupHashes.set(group, state);
  }
  words[0] = r.start;
  words[1] = r.end;
  words[2] = r.gpuParts ?? -1;
  words[3] = r.storageMib ?? -1;
  words[4] = r.networkBytes ?? -1;
  for (const half of halves) state = mix(state, half);
  return state;
}

/** What a batch found: the new digests by hour, to be written with the batch. */
export class Sightings {
  readonly fresh = new Map<number, number[]>();

  constructor(private readonly hours: Map<number, DigestSet>) {}

  see(hour: number, group: Group, record: UsageRecord): Sighting {
    const [a, b, c] = [
      textHash(record.id, 0x9e3779b1),
      textHash(record.id, 0x85ebca77),
      textHash(record.id, 0xc2b2ae3d) | 1,
    ];
    const content = contentHash(group, record);
    const sighting = this.hours.get(hour)?.add(a, b, c >>> 0, content) ?? 'new';
    if (sighting === 'new') {
      let list = this.fresh.get(hour);
      if (list === undefined) this.fresh.set(hour, (list = []));
      list.push(a, b, c >>> 0, content);
    }
    return sighting;
  }
}

/** Bytes of a list of digests, as usage_id keeps them. */
export function digestBytes(list: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(list).buffer);
}

export class SeenIds {
  private readonly sources = new Map<string, SourceCache>();

  /**
   * The sets of the given hours, current as of `version`, the version that the caller has just locked and raised.
   * `run` is the caller's own object, one per import: another run at the same version means that the first was rolled
   * back, and what it put into the sets is thrown away.
   */
  async sightings(
    db: Queryable,
    organisation: string,
    source: string,
    version: bigint,
    run: object,
    hours: ReadonlySet<number>,
  ): Promise<Sightings> {
    const cache = await this.current(db, organisation, source, version, run);
    const absent = [...hours].filter((hour) => !cache.hours.has(hour));
    for (const hour of absent) cache.hours.set(hour, new DigestSet());
    if (absent.length > 0) {
      const rows = await db.query<{ hour: Date; digests: Buffer }>(
        `select hour, digests from usage_id where organisation = $1 and source = $2 and hour = any($3::timestamptz[])`,
        [organisation, source, absent.map((hour) => new Date(hour))],
      );
      for (const row of rows) fill(cache.hours.get(row.hour.getTime()), row.digests);
    }
    for (const hour of hours) touch(cache.hours, hour);
    this.evict(cache, hours);
    return new Sightings(cache.hours);
  }

  forget(organisation: string, source: string): void {
    this.sources.delete(`${organisation}\u0001${source}`);
  }

  private async current(
    db: Queryable,
    organisation: string,
    source: string,
    version: bigint,
    run: object,
  ): Promise<SourceCache> {
    const name = `${organisation}\u0001${source}`;
    let cache = this.sources.get(name);
    if (cache === undefined || (cache.run !== run && cache.version >= version)) {
      cache = { version, run, hours: new Map() };
      this.sources.set(name, cache);
    }
    cache.run = run;
    if (cache.version < version - 1n) {
      const rows = await db.query<{ hour: Date; digests: Buffer }>(
        `select hour, digests from usage_id where organisation = $1 and source = $2 and version > $3`,
        [organisation, source, String(cache.version)],
      );
      for (const row of rows) fill(cache.hours.get(row.hour.getTime()), row.digests);
    }
    cache.version = version;
    return cache;
  }

  private evict(cache: SourceCache, wanted: ReadonlySet<number>): void {
    let total = 0;
    for (const set of cache.hours.values()) total += set.size;
    for (const [hour, set] of cache.hours) {
      if (total <= MOST_DIGESTS) return;
      if (wanted.has(hour)) continue;
      cache.hours.delete(hour);
      total -= set.size;
    }
  }
}

function touch(hours: Map<number, DigestSet>, hour: number): void {
  const set = hours.get(hour);
  if (set === undefined) return;
  hours.delete(hour);
  hours.set(hour, set);
}

function fill(set: DigestSet | undefined, digests: Buffer): void {
  if (set === undefined) return;
  for (let at = 0; at + DIGEST_BYTES <= digests.length; at += DIGEST_BYTES) {
    set.add(
      digests.readUInt32LE(at),
      digests.readUInt32LE(at + 4),
      digests.readUInt32LE(at + 8),
      digests.readUInt32LE(at + 12),
    );
  }
}
