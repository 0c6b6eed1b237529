/**
 * Lengths of quiets that have ended, the newest few, kept sorted with running sums: how many outlast a length and how long they are in all is a
 * binary search. Forgets the oldest first; never holds more than it was made for.
 */

export class Quiets {
  /** In the order of arrival, as a ring. */
  private readonly arrived: Float64Array;
  private next = 0;
  /** Minutes, ascending; the first `size` count. */
  private readonly sorted: Float64Array;
  /** sums[n]: minutes of the n shortest. */
  private readonly sums: Float64Array;
  size = 0;

  constructor(readonly most: number) {
    this.arrived = new Float64Array(most);
    this.sorted = new Float64Array(most);
    this.sums = new Float64Array(most + 1);
  }

  static of(lengths: readonly number[]): Quiets {
    const quiets = new Quiets(lengths.length);
    for (const minutes of lengths) quiets.add(minutes);
    return quiets;
  }

  add(minutes: number): void {
    let { size } = this;
    let from = size;
    if (size === this.most) {
      size -= 1;
      from = this.upTo(this.arrived[this.next]!) - 1;
      this.sorted.copyWithin(from, from + 1, size + 1);
    }
    this.size = size;
    const place = this.upTo(minutes);
    this.sorted.copyWithin(place + 1, place, size);
    this.sorted[place] = minutes;
    this.size = size + 1;
    for (let n = Math.min(place, from); n < this.size; n++) this.sums[n + 1] = this.sums[n]! + this.sorted[n]!;
    this.arrived[this.next] = minutes;
    this.next = (this.next + 1) % this.most;
  }

  /** How many are no longer than some minutes. */
  upTo(minutes: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sorted[middle]! <= minutes) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Minutes of the shortest `count` in all. */
  sumOf(count: number): number {
    return this.sums[count]!;
  }

  /** The length at a place in the order of lengths; infinite beyond the last. */
  lengthAt(place: number): number {
    return place < this.size ? this.sorted[place]! : Infinity;
  }
}
