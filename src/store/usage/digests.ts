/**
 * The digest by which a metered record is recognised: twelve bytes for its id, four for its content.
 *
 * Lists of digests as stored in usage_id, and sets of them with open addressing. Digests written here are compared with
 * digests written years ago, so no hash may change.
 */
import type { Group } from '../../core/cost/rollup.js';
import type { UsageRecord } from '../../core/usage.js';
import type { IdWords } from './id-filter.js';

export const DIGEST_WORDS = 4;
export const DIGEST_BYTES = 4 * DIGEST_WORDS;

/** `known`: the id has come, or (rarely) may have come, with other content or in another hour. */
export type Novelty = 'new' | 'repeated' | 'known';

/** Digests in the order in which they came, as numbers without a box of their own. */
export class DigestList {
  private words = new Uint32Array(64 * DIGEST_WORDS);
  private used = 0;

  add(a: number, b: number, c: number, content: number): void {
    if (this.used === this.words.length) {
      const grown = new Uint32Array(2 * this.words.length);
      grown.set(this.words);
      this.words = grown;
    }
    const { words, used } = this;
    words[used] = a;
    words[used + 1] = b;
    words[used + 2] = c;
    words[used + 3] = content;
    this.used += DIGEST_WORDS;
  }

  /** Four words for each. */
  get all(): Uint32Array {
    return this.words.subarray(0, this.used);
  }

  bytes(): Buffer {
    return Buffer.from(this.words.buffer, 0, 4 * this.used);
  }
}

/** A set of digests with open addressing: four words a slot, an all-zero slot is free. */
export class DigestSet {
  private slots = new Uint32Array(64 * DIGEST_WORDS);
  size = 0;

  /** Whether the id came with this content, with other content only, or not at all. */
  check(a: number, b: number, c: number, content: number): Novelty {
    const mask = this.slots.length - DIGEST_WORDS;
    let found: Novelty = 'new';
    for (let at = placeOf(a, b, mask); !this.isFree(at); at = (at + DIGEST_WORDS) & mask) {
      if (this.slots[at] !== a || this.slots[at + 1] !== b || this.slots[at + 2] !== c) continue;
      if (this.slots[at + 3] === content) return 'repeated';
      found = 'known';
    }
    return found;
  }

  /** Makes room, so that a set which is empty grows once. */
  reserve(digests: number): void {
    let length = this.slots.length;
    while (length < digests * 2 * DIGEST_WORDS) length *= 2;
    if (this.size === 0) this.slots = new Uint32Array(length);
  }

  /** Whether the id came, with whatever content. */
  has(a: number, b: number, c: number): boolean {
    const mask = this.slots.length - DIGEST_WORDS;
    for (let at = placeOf(a, b, mask); !this.isFree(at); at = (at + DIGEST_WORDS) & mask)
      if (this.slots[at] === a && this.slots[at + 1] === b && this.slots[at + 2] === c) return true;
    return false;
  }

  /** Adds a digest that is not there. An id may have several, one for each statement of it. */
  add(a: number, b: number, c: number, content: number): void {
    if (this.size * 2 * DIGEST_WORDS >= this.slots.length) this.grow();
    this.put(a, b, c, content);
    this.size += 1;
  }

  /** Adds those of a list that are not there. */
  addAll(digests: Buffer): void {
    for (let at = 0; at + DIGEST_BYTES <= digests.length; at += DIGEST_BYTES) {
      const [a, b, c, content] = [
        digests.readUInt32LE(at),
        digests.readUInt32LE(at + 4),
        digests.readUInt32LE(at + 8),
        digests.readUInt32LE(at + 12),
      ];
      if (this.check(a, b, c, content) !== 'repeated') this.add(a, b, c, content);
    }
  }

  private put(a: number, b: number, c: number, content: number): void {
    const { slots } = this;
    const mask = slots.length - DIGEST_WORDS;
    let at = placeOf(a, b, mask);
    while (!this.isFree(at)) at = (at + DIGEST_WORDS) & mask;
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
    for (let at = 0; at < old.length; at += DIGEST_WORDS) {
      const [a, b, c] = [old[at] ?? 0, old[at + 1] ?? 0, old[at + 2] ?? 0];
      if (a !== 0 || b !== 0 || c !== 0) this.put(a, b, c, old[at + 3] ?? 0);
    }
  }
}

const placeOf = (a: number, b: number, mask: number): number => ((a ^ Math.imul(b, 0x9e3779b1)) << 2) & mask;

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

function groupHash(group: Group): number {
  let hash = groupHashes.get(group);
  if (hash === undefined) {
    hash = textHash(group.key, 0x27d4eb2f);
    groupHashes.set(group, hash);
  }
  return hash;
}

/** Four bytes that differ, as good as always, where two records of one id differ. */
function contentHash(group: Group, r: UsageRecord): number {
  let state = groupHash(group);
  words[0] = r.start;
  words[1] = r.end;
  words[2] = r.gpuParts ?? -1;
  words[3] = r.storageMib ?? -1;
  words[4] = r.networkBytes ?? -1;
  for (let at = 0; at < 10; at++) state = mix(state, halves[at] as number);
  if (r.version !== undefined || r.corrects !== undefined)
    state = mix(state, textHash(JSON.stringify([r.version, r.corrects]), 0x27d4eb2f));
  return state;
}

/** Writes the digest of a record as four words: three hashes of its id by other seeds, and its content's. */
export function digest(group: Group, record: UsageRecord, into: Uint32Array, at: number): void {
  hashId(record.id, into, at);
  into[at + 3] = contentHash(group, record);
}

function hashId(id: string, into: Uint32Array, place: number): void {
  let [a, b, c] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d];
  const { length } = id;
  for (let at = 0; at < length; at++) {
    const k = scramble(id.charCodeAt(at) + at);
    a = stir(a, k);
    b = stir(b, k);
    c = stir(c, k);
  }
  into[place] = finished(a, length);
  into[place + 1] = finished(b, length);
  // Never all zeros: that is a free slot.
  into[place + 2] = (finished(c, length) | 1) >>> 0;
}

export function idWords(id: string): IdWords {
  const own = new Uint32Array(3);
  hashId(id, own, 0);
  return [own[0] as number, own[1] as number, own[2] as number];
}

/** Twelve bytes of an id. */
export const keyBytes = (id: string): Buffer => Buffer.from(Uint32Array.from(idWords(id)).buffer);

/** Ids to be looked for, by their words. */
export class WantedIds {
  private readonly byFirst = new Map<number, IdWords[]>();

  constructor(ids: readonly IdWords[]) {
    for (const id of ids) this.byFirst.set(id[0], [...(this.byFirst.get(id[0]) ?? []), id]);
  }

  /** Those that a row of digests holds, their words as texts. */
  idsIn(digests: Buffer): string[] {
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
