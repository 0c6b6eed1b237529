/**
 * Which ids a source has surely never sent: a Bloom filter over all of them, so that an id is known again in whatever
 * hour it comes back (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; in blocks of one
 * cache line: F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007).
 *
 * Six bytes an id, in generations that double, so that nothing is built anew as a source grows. Never says that an id
 * is new which is not. Bounded: beyond the most that it may hold it errs more often, and who asks looks into the
 * database in vain more often. Each generation knows the versions of its source in which its ids came.
 */
const BLOCK_WORDS = 16;
const BITS_PER_ID = 48;
const FIRST_IDS = 1 << 16;
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
      if (!touch(one.words, id, false)) continue;
      if (to < from || one.from < from) from = one.from;
      if (one.to > to) to = one.to;
    }
    return to < from ? null : { from, to };
  }

  add(id: IdWords, version: bigint): void {
    let last = this.generations.at(-1);
    if (last === undefined || (last.size >= last.most && this.mayGrow(last.most))) {
      const most = last === undefined ? FIRST_IDS : Math.min(last.most * 2, MOST_IDS);
      last = { words: bitsOf(most), most, size: 0, from: version, to: version };
      this.generations.push(last);
    }
    touch(last.words, id, true);
    last.size += 1;
    if (version < last.from) last.from = version;
    if (version > last.to) last.to = version;
  }

  private mayGrow(ids: number): boolean {
    return this.bytes + (Math.min(ids * 2, MOST_IDS) * BITS_PER_ID) / 8 <= this.mostBytes;
  }
}

/** Eight bits of one block of 512: reads them, or sets them. Whether all were set. */
function touch(words: Uint32Array, [a, b, c]: IdWords, set: boolean): boolean {
  const block = (a % (words.length / BLOCK_WORDS)) * BLOCK_WORDS;
  let all = true;
  // The lowest bit of c is always set, so that no id is all zeros.
  let bits = b;
  for (let n = 0; n < 8; n++) {
    if (n === 3) bits = c >>> 1;
    if (n === 6) bits = Math.imul(b ^ (c >>> 1), 0x9e3779b1) >>> 3;
    const bit = bits & 511;
    bits >>>= 9;
    const at = block + (bit >>> 5);
    const mask = 1 << (bit & 31);
    const word = words[at] ?? 0;
    if ((word & mask) === 0) {
      if (!set) return false;
      all = false;
      words[at] = word | mask;
    }
  }
  return all;
}
