/**
 * How many hours reached a level of demand: counts by level, summed from above (Fenwick, "A new data structure for
 * cumulative frequency tables", 1994), so that one hour and one question each cost the logarithm of the highest level.
 * It keeps counts only; which hours leave is the caller's business. Invariant: `atLeast(level)` is the number of hours
 * added and not removed whose demand is `level` or more.
 */
export class LevelTally {
  private hoursAt = new Int32Array(64);
  private sums = new Int32Array(64);
  private hours = 0;

  add(gpus: number): void {
    if (gpus >= this.hoursAt.length) this.grow(gpus);
    this.hoursAt[gpus]!++;
    this.hours++;
    this.raise(gpus, 1);
  }

  remove(gpus: number): void {
    this.hoursAt[gpus]!--;
    this.hours--;
    this.raise(gpus, -1);
  }

  atLeast(level: number): number {
    let below = 0;
    for (let node = Math.min(level, this.sums.length); node > 0; node -= node & -node) below += this.sums[node - 1]!;
    return this.hours - below;
  }

  private raise(gpus: number, by: number): void {
    for (let node = gpus + 1; node <= this.sums.length; node += node & -node) this.sums[node - 1]! += by;
  }

  private grow(gpus: number): void {
    let length = this.hoursAt.length;
    while (length <= gpus) length *= 2;
    const larger = new Int32Array(length);
    larger.set(this.hoursAt);
    this.hoursAt = larger;
    this.sums = new Int32Array(length);
    for (let level = 0; level < length; level++) if (larger[level] !== 0) this.raise(level, larger[level]!);
  }
}
