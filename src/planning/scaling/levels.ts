/**
 * Running averages of one series: exponential ones by half-life, and the mean of any past window.
 *
 * Holds only its input. An exponential average divides by its own weight, so that a short history is averaged evenly
 * instead of being pulled towards zero.
 */

export class SlidingLevels {
  private readonly keep: Float64Array;
  private readonly sums: Float64Array;
  private readonly weights: Float64Array;
  private readonly prefix: number[] = [0];

  /** @param halfLives in samples. */
  constructor(halfLives: readonly number[]) {
    this.keep = Float64Array.from(halfLives, (halfLife) => 0.5 ** (1 / halfLife));
    this.sums = new Float64Array(halfLives.length);
    this.weights = new Float64Array(halfLives.length);
  }

  get count(): number {
    return this.prefix.length - 1;
  }

  add(value: number): void {
    this.prefix.push(this.prefix[this.prefix.length - 1]! + value);
    for (let i = 0; i < this.keep.length; i++) {
      this.sums[i] = this.sums[i]! * this.keep[i]! + value;
      this.weights[i] = this.weights[i]! * this.keep[i]! + 1;
    }
  }

  /** The exponential average with the i-th half-life; 0 before the first sample. */
  at(i: number): number {
    return this.weights[i]! > 0 ? this.sums[i]! / this.weights[i]! : 0;
  }

  /** Mean of the samples from `from` (included) to `to` (excluded), cut to what is there; 0 when nothing is. */
  mean(from: number, to: number): number {
    const start = Math.max(0, from);
    const end = Math.min(this.count, to);
    return end > start ? (this.prefix[end]! - this.prefix[start]!) / (end - start) : 0;
  }
}
