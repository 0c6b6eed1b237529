/**
 * Recognises metered records that arrived before: sixteen bytes per record, stored by (source, hour), instead of a
 * unique index.
 *
 * Nearly every record is new, and a filter in memory over all ids of its source says so (id-filter.ts). Only an id that
 * may be known is searched among the digests of its hour, which are read on first use: the same content is a
 * repetition, and any other content is a known id, in whatever hour it was. Sets and filters are a cache of usage_id. A
 * source's version, locked by each writer, says whether they are current, so any number of processes may write.
 */
import type { Group } from '../../core/cost/rollup.js';
import { hourOf } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { digest, DIGEST_BYTES, DIGEST_WORDS, DigestList, DigestSet, idWords, type Novelty } from './digests.js';
import { IdFilter } from './id-filter.js';

/** Digests kept in memory over the hours of a source; those used longest ago go first. */
const MOST_DIGESTS = 8_000_000;

/** Filters of all sources together; those used longest ago go first, and are read again when they are needed. */
const MOST_FILTER_BYTES = 256 << 20;

interface SourceCache {
  version: bigint;
  /** The import that last wrote into the sets. */
  run: object;
  hours: Map<number, DigestSet>;
  /** The filter with the ids of that import. */
  filter: IdFilter | null;
}

/** The findings of a batch: the new digests by hour, to be written with the batch. */
export class SeenHours {
  /** Digests by hour that are not written yet. */
  fresh = new Map<number, DigestList>();
  private readonly own = new Uint32Array(DIGEST_WORDS);
  /** Of the hour of the record before: most are of one. */
  private hour = Number.NaN;
  private list = new DigestList();
  private set: DigestSet | undefined;
  /** Of who has not locked the source: what it would add, kept from the others until it does. */
  private readonly mine: DigestSet | null;

  constructor(
    private readonly source: { readonly organisation: string; readonly source: string; readonly version: bigint },
    private readonly hours: Map<number, DigestSet>,
    private readonly filter: IdFilter,
    { isLocked = true }: { readonly isLocked?: boolean } = {},
  ) {
    this.mine = isLocked ? null : new DigestSet();
  }

  /**
   * Notes the records of which no statement has ever come; 1 for each of these, at its place. The others are not noted:
   * a statement of them may have come.
   */
  takeNew(groups: readonly Group[], records: readonly UsageRecord[]): Uint8Array {
    const { length } = records;
    const isNew = new Uint8Array(length);
    const words = new Uint32Array(DIGEST_WORDS * length);
    for (let at = 0; at < length; at++)
      digest(groups[at] as Group, records[at] as UsageRecord, words, DIGEST_WORDS * at);
    // A look into the filter is a wait for memory. Beside each other and apart from all else they wait at once.
    if (this.mine === null) this.filter.addNew(words, isNew, this.source.version);
    else this.filter.findNew(words, isNew);
    this.mine?.reserve(length);
    for (let at = 0; at < length; at++) {
      if (isNew[at] === 0) continue;
      const [a, b] = [words[4 * at] as number, words[4 * at + 1] as number];
      const [c, content] = [words[4 * at + 2] as number, words[4 * at + 3] as number];
      if (this.mine !== null && this.mine.check(a, b, c, content) !== 'new') isNew[at] = 0;
      else this.note(hourOf((records[at] as UsageRecord).start), a, b, c, content);
    }
    return isNew;
  }

  /**
   * Now that the source is locked: adds what was kept from the others, unless they have written an id of it since.
   * @param written what they have
   * @returns false if they have, and nothing was added
   */
  async settle(written: AsyncIterable<{ readonly digests: Buffer }>, version: bigint): Promise<boolean> {
    const { mine } = this;
    if (mine === null) return true;
    for await (const { digests } of written) {
      for (let at = 0; at + DIGEST_BYTES <= digests.length; at += DIGEST_BYTES)
        if (mine.has(digests.readUInt32LE(at), digests.readUInt32LE(at + 4), digests.readUInt32LE(at + 8)))
          return false;
    }
    for (const [hour, list] of this.fresh) {
      this.filter.addNew(list.all, new Uint8Array(list.all.length / DIGEST_WORDS), version);
      this.hours.get(hour)?.addAll(list.bytes());
    }
    return true;
  }

  /** Reads the digests of hours, so that `check` finds what has come in them. */
  async read(db: Queryable, hours: ReadonlySet<number>): Promise<void> {
    const absent = [...hours].filter((hour) => !this.hours.has(hour));
    for (const hour of absent) this.hours.set(hour, new DigestSet());
    if (absent.length > 0) {
      const { organisation, source } = this.source;
      const rows = await db.query<{ hour: Date; digests: Buffer }>(
        `select hour, digests from usage_id where organisation = $1 and source = $2 and hour = any($3::timestamptz[])`,
        [organisation, source, absent.map((hour) => new Date(hour))],
      );
      for (const row of rows) this.hours.get(row.hour.getTime())?.addAll(row.digests);
      for (const hour of this.mine === null ? absent : []) {
        const fresh = this.fresh.get(hour);
        if (fresh !== undefined) this.hours.get(hour)?.addAll(fresh.bytes());
      }
      this.hour = Number.NaN;
    }
    for (const hour of hours) touch(this.hours, hour);
    evict(this.hours, hours);
  }

  /** What a record is that `takeNew` did not take. Its hour has to be read. */
  check(group: Group, record: UsageRecord): Exclude<Novelty, 'new'> {
    const { own } = this;
    digest(group, record, own, 0);
    const [a, b, c, content] = [own[0] as number, own[1] as number, own[2] as number, own[3] as number];
    const isRepeated =
      this.mine?.check(a, b, c, content) === 'repeated' ||
      this.hours.get(hourOf(record.start))?.check(a, b, c, content) === 'repeated';
    return isRepeated ? 'repeated' : 'known';
  }

  /** Remembers a statement of which `check` said that its id is known. */
  admit(group: Group, record: UsageRecord): void {
    const { own } = this;
    digest(group, record, own, 0);
    const [a, b, c] = [own[0] as number, own[1] as number, own[2] as number];
    this.filter.add([a, b, c], this.source.version);
    this.note(hourOf(record.start), a, b, c, own[3] as number);
  }

  /** The versions of the source in which an id may have come. */
  versionsOf(id: string): { readonly from: bigint; readonly to: bigint } | null {
    return this.filter.find(idWords(id));
  }

  /** The digests that are to be written, each time once. */
  drain(): Map<number, DigestList> {
    const { fresh } = this;
    this.fresh = new Map();
    this.hour = Number.NaN;
    return fresh;
  }

  private note(hour: number, a: number, b: number, c: number, content: number): void {
    if (hour !== this.hour) {
      this.hour = hour;
      this.set = this.hours.get(hour);
      const list = this.fresh.get(hour) ?? new DigestList();
      this.fresh.set(hour, list);
      this.list = list;
    }
    (this.mine ?? this.set)?.add(a, b, c, content);
    this.list.add(a, b, c, content);
  }
}

export class SeenIds {
  private readonly sources = new Map<string, SourceCache>();
  private readonly filters = new Map<string, IdFilter>();

  constructor(private readonly mostFilterBytes = MOST_FILTER_BYTES) {}

  /**
   * What is known of a source, current as of `version`, the version that the caller has just locked and raised; or, of
   * one that locks it in the end, the next one as far as it knows, and it forgets all if that was taken. `run` is
   * the caller's own object, one per import: another run at the same version means that the first was rolled back, and
   * what it put into the sets is thrown away. So is everything where ids were taken back at or after the version that is
   * known (`forgot`).
   */
  async seenHours(
    db: Queryable,
    organisation: string,
    source: string,
    { version, forgot, isLocked }: SourceVersion,
    run: object,
  ): Promise<SeenHours> {
    const cache = await this.current(db, organisation, source, version, forgot, run);
    cache.filter = await this.filterOf(db, organisation, source, version, forgot);
    return new SeenHours({ organisation, source, version }, cache.hours, cache.filter, { isLocked });
  }

  /** The ids that a rolled-back run saw. They stay in the filter: they are looked up once, and not found. */
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
      cache = { version, run, hours: new Map(), filter: null };
      this.sources.set(name, cache);
    }
    // The import before is committed: what it has put into its filter needs not be read.
    if (cache.run !== run && cache.filter !== null && cache.filter.knownTo === cache.version - 1n)
      cache.filter.knownTo = cache.version;
    cache.run = run;
    if (cache.version < version - 1n && cache.hours.size > 0) {
      const rows = await db.query<{ hour: Date; digests: Buffer }>(
        `select hour, digests from usage_id where organisation = $1 and source = $2 and version > $3 and hour = any($4::timestamptz[])`,
        [organisation, source, String(cache.version), [...cache.hours.keys()].map((hour) => new Date(hour))],
      );
      for (const row of rows) cache.hours.get(row.hour.getTime())?.addAll(row.digests);
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
      const cache = this.sources.get(other);
      if (cache !== undefined) cache.filter = null;
      bytes -= one.bytes;
    }
    return filter;
  }
}

function evict(hours: Map<number, DigestSet>, wanted: ReadonlySet<number>): void {
  let total = 0;
  for (const set of hours.values()) total += set.size;
  for (const [hour, set] of hours) {
    if (total <= MOST_DIGESTS) return;
    if (wanted.has(hour)) continue;
    hours.delete(hour);
    total -= set.size;
  }
}

function touch(hours: Map<number, DigestSet>, hour: number): void {
  const set = hours.get(hour);
  if (set === undefined) return;
  hours.delete(hour);
  hours.set(hour, set);
}

/** The version of a source that an import has raised, and that at which ids were last taken back. */
export interface SourceVersion {
  readonly version: bigint;
  readonly forgot: bigint;
  readonly isLocked?: boolean;
}

interface DigestRow {
  readonly version: string;
  readonly hour: Date;
  readonly delivery: string;
  readonly part: number;
  readonly digests: Buffer;
}

const PAGE_ROWS = 500;

/**
 * What was written of a source's ids in some versions, both inclusive, a page at a time. What was merged is of all
 * versions between its oldest and its newest, by which it is filed: merging never takes a row back before the page.
 */
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
       where organisation = $1 and source = $2 and version >= $3 and coalesce(first_version, version) <= $4
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

const nameOf = (organisation: string, source: string): string => `${organisation}\u0001${source}`;
