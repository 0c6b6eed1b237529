/**
 * Strings by their bytes: returns the same string for bytes seen before, without creating a string for the lookup. A
 * hash table with open addressing over bytes. The text that followed a text the last time is tried first, because bills
 * list the same things hour by hour.
 *
 * Bounded in entries and bytes: when it is full it forgets everything, and if hardly any text had occurred twice it
 * remembers no more; a text with too many collisions is not remembered. So a hostile file costs time in proportion to
 * its size.
 */
const MOST_ENTRIES = 1 << 14;
const MOST_ARENA_BYTES = 4 << 20;
const MOST_TEXT_BYTES = 4096;
const MOST_PROBES = 16;
const FIRST_SLOTS = 1 << 8;
/** Bytes that are hashed one by one; of longer texts every fourth of the rest. */
const HASHED_BYTES = 96;

export class ByteMemo {
  /** Entry number + 1, or 0; at most half of the slots are taken. */
  private slots = new Int32Array(FIRST_SLOTS);
  private hashes = new Int32Array(FIRST_SLOTS / 2);
  /** Entry i's bytes are [offsets[i], offsets[i + 1]) of the arena. */
  private offsets = new Int32Array(FIRST_SLOTS / 2 + 1);
  /** Entry i was followed by entry follows[i]. */
  private follows = new Int32Array(FIRST_SLOTS / 2);
  private last = 0;
  private found = 0;
  private repeats = true;
  private texts: string[] = [];
  private arena = Buffer.alloc(1 << 12);

  /** The text of block[start, end): a known one, or what `decode` makes of it. */
  decoded<Block extends Uint8Array>(
    block: Block,
    start: number,
    end: number,
    decode: (block: Block, start: number, end: number) => string,
  ): string {
    const likely = this.follows[this.last] ?? 0;
    if (likely < this.texts.length && this.holds(likely, block, start, end)) return this.seen(likely);
    if (!this.repeats) return decode(block, start, end);
    const hash = hashOf(block, start, end);
    const mask = this.slots.length - 1;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = (hash + probe) & mask;
      const entry = (this.slots[slot] ?? 0) - 1;
      if (entry < 0) return this.add(block, start, end, hash, decode(block, start, end));
      if (this.hashes[entry] === hash && this.holds(entry, block, start, end)) {
        this.follows[this.last] = entry;
        return this.seen(entry);
      }
    }
    return decode(block, start, end);
  }

  private seen(entry: number): string {
    this.last = entry;
    this.found += 1;
    return this.texts[entry] ?? '';
  }

  private holds(entry: number, block: Uint8Array, start: number, end: number): boolean {
    const { arena } = this;
    let at = this.offsets[entry] ?? 0;
    if ((this.offsets[entry + 1] ?? 0) - at !== end - start) return false;
    for (let p = start; p < end; p++) {
      if (arena[at++] !== block[p]) return false;
    }
    return true;
  }

  private add(block: Uint8Array, start: number, end: number, hash: number, text: string): string {
    const length = end - start;
    if (length > MOST_TEXT_BYTES) return text;
    const used = this.offsets[this.texts.length] ?? 0;
    if (this.texts.length === MOST_ENTRIES || used + length > MOST_ARENA_BYTES) {
      this.repeats = this.found > this.texts.length;
      this.clear();
      if (!this.repeats) return text;
      return this.add(block, start, end, hash, text);
    }
    if (2 * (this.texts.length + 1) > this.slots.length) this.grow();
    if (used + length > this.arena.length)
      this.arena = Buffer.concat([this.arena, Buffer.alloc(Math.max(length, this.arena.length))]);
    const entry = this.texts.length;
    this.arena.set(block.subarray(start, end), used);
    this.offsets[entry + 1] = used + length;
    this.hashes[entry] = hash;
    this.texts.push(text);
    this.place(entry, hash);
    this.follows[this.last] = entry;
    this.last = entry;
    return text;
  }

  /** Puts an entry into the first free slot of its way; where there is none it stays unfound, which is only slower. */
  private place(entry: number, hash: number): void {
    const mask = this.slots.length - 1;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = (hash + probe) & mask;
      if (this.slots[slot] !== 0) continue;
      this.slots[slot] = entry + 1;
      return;
    }
  }

  private grow(): void {
    const size = 2 * this.slots.length;
    const hashes = new Int32Array(size / 2);
    const offsets = new Int32Array(size / 2 + 1);
    const follows = new Int32Array(size / 2);
    hashes.set(this.hashes);
    offsets.set(this.offsets);
    follows.set(this.follows);
    this.hashes = hashes;
    this.offsets = offsets;
    this.follows = follows;
    this.slots = new Int32Array(size);
    for (let entry = 0; entry < this.texts.length; entry++) this.place(entry, hashes[entry] ?? 0);
  }

  private clear(): void {
    this.slots.fill(0);
    this.offsets[0] = 0;
    this.texts = [];
    this.last = 0;
    this.found = 0;
  }
}

/** FNV-1a over the bytes, mixed so that its low bits may choose a slot. */
function hashOf(block: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start);
  const dense = Math.min(end, start + HASHED_BYTES);
  let p = start;
  for (; p < dense; p++) hash = Math.imul(hash ^ (block[p] ?? 0), 0x01000193);
  for (; p < end; p += 4) hash = Math.imul(hash ^ (block[p] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) | 0;
}
