/**
 * How often each level of demand is reached in a window that moves hour by hour, as every look-back needs it. It keeps
 * only counts; the caller decides which hours leave. Invariant: `above` is the number of hours in the window above
 * `level`.
 */
export class LevelCounts {
  private hoursAt = new Int32Array(64);
  private level = 0;
  private above = 0;

  add(gpus: number): void {
    if (gpus >= this.hoursAt.length) this.grow(gpus);
    this.hoursAt[gpus]!++;
    if (gpus > this.level) this.above++;
  }

  remove(gpus: number): void {
    this.hoursAt[gpus]!--;
    if (gpus > this.level) this.above--;
  }

  /**
   * The largest level that more than `hours` hours of the window reach; 0 where none does. Amortised cost is the
   * distance from the level asked for last.
   */
  levelAbove(hours: number): number {
    while (this.level > 0 && this.above + this.hoursAt[this.level]! <= hours) {
      this.above += this.hoursAt[this.level]!;
      this.level--;
    }
    while (this.above > hours) {
      this.level++;
      this.above -= this.hoursAt[this.level]!;
    }
    return this.level;
  }

  private grow(gpus: number): void {
    const larger = new Int32Array(2 * gpus + 1);
    larger.set(this.hoursAt);
    this.hoursAt = larger;
  }
}
