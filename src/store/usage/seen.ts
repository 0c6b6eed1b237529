/**
 * Which metered records have come before: sixteen bytes a record, kept by (source, hour), instead of a unique index.
 *
 * Twelve bytes name the record's id, four its content: the same id with other content is told apart from a repetition.
 * An id that its hour does not know is looked for in all hours by a filter in memory (id-filter.ts), so that a record
 * whose start moved is known again. Sets and filters are a cache of usage_id; a source's version, locked by whoever
 * writes, says whether they are current, so any number of processes may write.
 */
import type { Group } from '../../core/cost/rollup.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { IdFilter, type IdWords } from './id-filter.js';

const DIGEST_BYTES = 16;
/** Digests kept in memory over all sources; the hours used longest ago go first. */
const MOST_DIGESTS = 8_000_000;

/** Filters of all sources together; those used longest ago go first, and are read again when they are needed. */
const MOST_FILTER_BYTES = 256 << 20;

/** `known`: the id has come, or (rarely) may have come, with other content or in another hour. */
export type Novelty = 'new' | 'repeated' | 'known';

/** A set of digests with open addressing: four words a slot, an all-zero slot is free. */
class DigestSet {
  private slots = new Uint32Array(4 * 64);
  size = 0;

  /** Whether the id came with this content, with other content only, or not at all. */
  check(a: number, b: number, c: number, content: number): Novelty {
    const mask = this.slots.length - 4;
    let found: Novelty = 'new';
    for (let at = placeOf(a, b, mask); !this.isFree(at); at = (at + 4) & mask) {
      if (this.slots[at] !== a || this.slots[at + 1] !== b || this.slots[at + 2] !== c) continue;
      if (this.slots[at + 3] === content) return 'repeated';
      found = 'known';
    }
    return found;
  }

  /** Adds a digest that is not there. An id may have several, one for each statement of it. */
  add(a: number, b: number, c: number, content: number): void {
    if (this.size * 8 >= this.slots.length) this.grow();
    this.put(a, b, c, content);
    this.size += 1;
  }

  private put(a: number, b: number, c: number, content: number): void {
    const { slots } = this;
    const mask = slots.length - 4;
    let at = placeOf(a, b, mask);
    while (!this.isFree(at)) at = (at + 4) & mask;
    slots[at] = a;
    slots[at + 1] = b;
    slots[at + 2] = c;
    slots[at + 3] = content;
  }

  private isFree(at: number): boolean {
    return this.slots[at] === 0 && this.slots[at + 1] === 0 && this.slots[at + 2] === 0;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 4) {
      const [a, b, c] = [old[at] ?? 0, old[at + 1] ?? 0, old[at + 2] ?? 0];
      if (a !== 0 || b !== 0 || c !== 0) this.put(a, b, c, old[at + 3] ?? 0);
    }
  }
}

const placeOf = (a: number, b: number, mask: number): number => ((a ^ Math.imul(b, 0x9e3779b1)) << 2) & mask;

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

const scramble = (unit: number): number => {
  const k = Math.imul(unit, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
};

const stir = (state: number, k: number): number => {
  const h = state ^ k;
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
};

function finished(state: number, length: number): number {
  let h = state ^ length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Thirty-two bits of a text (MurmurHash3's mixing and finish, over UTF-16 units). */
function textHash(text: string, seed: number): number {
  let h = seed;
  for (let at = 0; at < text.length; at++) h = stir(h, scramble(text.charCodeAt(at) + at));
  return finished(h, text.length);
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
  if (r.version !== undefined || r.corrects !== undefined)
    state = mix(state, textHash(JSON.stringify([r.version, r.corrects]), 0x27d4eb2f));
  return state;
}

/** Three hashes of an id by other seeds. */
export function idWords(id: string): IdWords {
  let [a, b, c] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d];
  const { length } = id;
  for (let at = 0; at < length; at++) {
    const k = scramble(id.charCodeAt(at) + at);
    a = stir(a, k);
    b = stir(b, k);
    c = stir(c, k);
  }
  return [finished(a, length), finished(b, length), (finished(c, length) | 1) >>> 0];
}

/** What a batch found: the new digests by hour, to be written with the batch. */
export class SeenHours {
  fresh = new Map<number, number[]>();

  constructor(
    private readonly hours: Map<number, DigestSet>,
    private readonly filter: IdFilter,
    private readonly version: bigint,
  ) {}

  see(hour: number, group: Group, record: UsageRecord): Novelty {
    const [a, b, c] = idWords(record.id);
    const content = contentHash(group, record);
    const set = this.hours.get(hour);
    const novelty = set?.check(a, b, c, content) ?? 'new';
    if (novelty !== 'new') return novelty;
    if (!this.filter.addNew(a, b, c, this.version)) return 'known';
    set?.add(a, b, c, content);
    this.freshOf(hour).push(a, b, c, content);
    return 'new';
  }

  /** Remembers a statement of which `see` said that its id is known. */
  admit(hour: number, group: Group, record: UsageRecord): void {
    const id = idWords(record.id);
    const content = contentHash(group, record);
    this.hours.get(hour)?.add(...id, content);
    this.filter.add(id, this.version);
    this.freshOf(hour).push(...id, content);
  }

  /** The versions of the source in which an id may have come. */
  versionsOf(id: string): { readonly from: bigint; readonly to: bigint } | null {
    return this.filter.find(idWords(id));
  }

  private freshOf(hour: number): number[] {
    let list = this.fresh.get(hour);
    if (list === undefined) this.fresh.set(hour, (list = []));
    return list;
  }
}

/** Bytes of a list of digests, as usage_id keeps them. */
export function digestBytes(list: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(list).buffer);
}

export class SeenIds {
  private readonly sources = new Map<string, SourceCache>();
  private readonly filters = new Map<string, IdFilter>();

  constructor(private readonly mostFilterBytes = MOST_FILTER_BYTES) {}

  /**
   * The sets of the given hours, current as of `version`, the version that the caller has just locked and raised.
   * `run` is the caller's own object, one per import: another run at the same version means that the first was rolled
   * back, and what it put into the sets is thrown away. So is everything where ids were taken back at or after the
   * version that is known (`forgot`).
   */
  async seenHours(
    db: Queryable,
    organisation: string,
    source: string,
    { version, forgot }: SourceVersion,
    run: object,
    hours: ReadonlySet<number>,
  ): Promise<SeenHours> {
    const cache = await this.current(db, organisation, source, version, forgot, run);
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
    return new SeenHours(cache.hours, await this.filterOf(db, organisation, source, version, forgot), version);
  }

  /** What a run that was rolled back saw. Its ids stay in the filter: they are looked for once, and not found. */
  forget(organisation: string, source: string): void {
    this.sources.delete(nameOf(organisation, source));
  }

  private async current(
    db: Queryable,
    organisation: string,
    source: string,
    version: bigint,
    forgot: bigint,
    run: object,
  ): Promise<SourceCache> {
    const name = nameOf(organisation, source);
    let cache = this.sources.get(name);
    if (cache === undefined || (cache.run !== run && cache.version >= version) || cache.version < forgot) {
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

  /** The filter of a source with every id that was committed before `version`. */
  private async filterOf(
    db: Queryable,
    organisation: string,
    source: string,
    version: bigint,
    forgot: bigint,
  ): Promise<IdFilter> {
    const name = nameOf(organisation, source);
    const known = this.filters.get(name);
    const filter = known === undefined || known.knownTo < forgot ? new IdFilter(this.mostFilterBytes) : known;
    this.filters.delete(name);
    this.filters.set(name, filter);
    if (filter.knownTo < version - 1n) {
      const from = filter.knownTo;
      for await (const row of digestRows(db, organisation, source, from + 1n, version - 1n)) {
        const { digests } = row;
        for (let at = 0; at + DIGEST_BYTES <= digests.length; at += DIGEST_BYTES) {
          const id = [digests.readUInt32LE(at), digests.readUInt32LE(at + 4), digests.readUInt32LE(at + 8)] as const;
          if (filter.find(id) === null) filter.add(id, BigInt(row.version));
        }
      }
      filter.knownTo = version - 1n;
    }
    let bytes = 0;
    for (const one of this.filters.values()) bytes += one.bytes;
    for (const [other, one] of this.filters) {
      if (bytes <= this.mostFilterBytes || other === name) break;
      this.filters.delete(other);
      bytes -= one.bytes;
    }
    return filter;
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
    const [a, b, c, content] = [
      digests.readUInt32LE(at),
      digests.readUInt32LE(at + 4),
      digests.readUInt32LE(at + 8),
      digests.readUInt32LE(at + 12),
    ];
    if (set.check(a, b, c, content) !== 'repeated') set.add(a, b, c, content);
  }
}

/** The version of a source that an import has raised, and that at which ids were last taken back. */
export interface SourceVersion {
  readonly version: bigint;
  readonly forgot: bigint;
}

interface DigestRow {
  readonly version: string;
  readonly hour: Date;
  readonly delivery: string;
  readonly part: number;
  readonly digests: Buffer;
}

const PAGE_ROWS = 500;

/** What was written of a source's ids in some versions, both inclusive, a page at a time. */
export async function* digestRows(
  db: Queryable,
  organisation: string,
  source: string,
  from: bigint,
  to: bigint,
): AsyncGenerator<DigestRow> {
  for (let last: DigestRow | undefined; ; ) {
    const page: DigestRow[] = await db.query<DigestRow>(
      `select version::text as version, hour, delivery::text as delivery, part, digests from usage_id
       where organisation = $1 and source = $2 and version >= $3 and version <= $4
         and ($5::bigint is null or (version, hour, delivery, part) > ($5, $6::timestamptz, $7::bigint, $8::int))
       order by usage_id.version, usage_id.hour, usage_id.delivery, usage_id.part limit ${PAGE_ROWS}`,
      [
        organisation,
        source,
        String(last?.version ?? from),
        String(to),
        last?.version ?? null,
        last?.hour ?? null,
        last?.delivery ?? null,
        last?.part ?? null,
      ],
    );
    yield* page;
    last = page.at(-1);
    if (page.length < PAGE_ROWS) return;
  }
}

/** Ids to be looked for, by their words. */
export class WantedIds {
  private readonly byFirst = new Map<number, IdWords[]>();

  constructor(ids: readonly IdWords[]) {
    for (const id of ids) this.byFirst.set(id[0], [...(this.byFirst.get(id[0]) ?? []), id]);
  }

  /** Those that a row of digests holds, their words as texts. */
  in(digests: Buffer): string[] {
    const found = new Set<string>();
    for (let at = 0; at + DIGEST_BYTES <= digests.length; at += DIGEST_BYTES) {
      const own = this.byFirst.get(digests.readUInt32LE(at));
      if (own === undefined) continue;
      const [b, c] = [digests.readUInt32LE(at + 4), digests.readUInt32LE(at + 8)];
      for (const id of own) if (id[1] === b && id[2] === c) found.add(wordsKey(id));
    }
    return [...found];
  }
}

export const wordsKey = ([a, b, c]: IdWords): string => `${a}.${b}.${c}`;

const nameOf = (organisation: string, source: string): string => `${organisation}\u0001${source}`;
