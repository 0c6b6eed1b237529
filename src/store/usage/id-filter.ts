/**
 * The ids that a source has certainly never sent: a Bloom filter over all its ids, so that an id is recognised in
 * whatever hour it returns (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; in blocks
 * of one cache line: F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007). It
 * takes six bytes per id, in generations that grow, so that nothing is rebuilt when a source grows. It never calls a
 * known id new. It is bounded: beyond its maximum it errs more often, and callers search the database in vain more
 * often. Each generation knows the versions of its source in which its ids arrived.
 */
const BLOCK_WORDS = 16;
const BITS_PER_ID = 48;
const FIRST_IDS = 1 << 16;
/** A generation is so many times the previous one: each that there is has to be looked into. */
const GROWTH = 4;
const MOST_IDS = 1 << 22;

interface Generation {
  readonly words: Uint32Array;
  readonly most: number;
  size: number;
  from: bigint;
  to: bigint;
}

/** Twelve bytes of an id, as three words. */
export type IdWords = readonly [a: number, b: number, c: number];

const bitsOf = (ids: number): Uint32Array => new Uint32Array((ids * BITS_PER_ID) / 32);

export class IdFilter {
  private readonly generations: Generation[] = [];
  /** The version up to which every committed id is in here. */
  knownTo = 0n;

  /** @param mostBytes beyond which no further generation is begun */
  constructor(private readonly mostBytes: number) {}

  get bytes(): number {
    return this.generations.reduce((sum, { words }) => sum + words.byteLength, 0);
  }

  /** The versions in which the id may have come; null: it is new. */
  find(id: IdWords): { readonly from: bigint; readonly to: bigint } | null {
    let [from, to] = [0n, -1n];
    for (const one of this.generations) {
      if (!touch(one.words, id[0], id[1], id[2], false)) continue;
      if (to < from || one.from < from) from = one.from;
      if (one.to > to) to = one.to;
    }
    return to < from ? null : { from, to };
  }

  add(id: IdWords, version: bigint): void {
    const last = this.lastFor(version);
    touch(last.words, id[0], id[1], id[2], true);
    note(last, version);
  }

  /**
   * Adds the ids that are surely new, and sets 1 at their places; adds nothing of those that may have come.
   * @param ids four words for each, of which the last is not looked at
   */
  addNew(ids: Uint32Array, isNew: Uint8Array, version: bigint): void {
    for (let at = 0; at < isNew.length; at++) {
      const [a, b, c] = [ids[4 * at] as number, ids[4 * at + 1] as number, ids[4 * at + 2] as number];
      const last = this.lastFor(version);
      if (this.isBefore(last, a, b, c) || touch(last.words, a, b, c, true)) continue;
      note(last, version);
      isNew[at] = 1;
    }
  }

  /** Sets 1 at the places of the ids that are surely new, and adds none. Four words for each, as `addNew`. */
  findNew(ids: Uint32Array, isNew: Uint8Array): void {
    for (let at = 0; at < isNew.length; at++) {
      const [a, b, c] = [ids[4 * at] as number, ids[4 * at + 1] as number, ids[4 * at + 2] as number];
      isNew[at] = this.isBefore(null, a, b, c) ? 0 : 1;
    }
  }

  /** Whether an id may have come in a generation that is not the last. */
  private isBefore(last: Generation | null, a: number, b: number, c: number): boolean {
    for (const one of this.generations) if (one !== last && touch(one.words, a, b, c, false)) return true;
    return false;
  }

  /** The generation that the next id goes into. */
  private lastFor(version: bigint): Generation {
    let last = this.generations.at(-1);
    if (last === undefined || (last.size >= last.most && this.mayGrow(last.most))) {
      const most = last === undefined ? FIRST_IDS : Math.min(last.most * GROWTH, MOST_IDS);
      last = { words: bitsOf(most), most, size: 0, from: version, to: version };
      this.generations.push(last);
    }
    return last;
  }

  private mayGrow(ids: number): boolean {
    return this.bytes + (Math.min(ids * GROWTH, MOST_IDS) * BITS_PER_ID) / 8 <= this.mostBytes;
  }
}

function note(generation: Generation, version: bigint): void {
  generation.size += 1;
  if (generation.to === version) return;
  if (version < generation.from) generation.from = version;
  if (version > generation.to) generation.to = version;
}

/** Twelve bits of one block of 512: reads them, or sets them. Whether all were set. */
function touch(words: Uint32Array, a: number, b: number, c: number, set: boolean): boolean {
  const block = (a % (words.length / BLOCK_WORDS)) * BLOCK_WORDS;
  // The lowest bit of c is always set, so that no id is all zeros.
  const d = c >>> 1;
  let all = true;
  let bits = b;
  for (let n = 0; n < 12; n++) {
    if (n === 3) bits = d;
    else if (n === 6) bits = Math.imul(b ^ d, 0x9e3779b1) >>> 3;
    else if (n === 9) bits = Math.imul(b + d, 0x85ebca6b) >>> 3;
    const at = block + ((bits & 511) >>> 5);
    const mask = 1 << (bits & 31);
    bits >>>= 9;
    const word = words[at] ?? 0;
    if ((word & mask) === 0) {
      if (!set) return false;
      all = false;
      words[at] = word | mask;
    }
  }
  return all;
}
