/**
 * The chance of a simulation: one sequence of numbers from one seed. The same seed gives the same numbers on every
 * machine.
 */
import { mulberry32, type Random } from '../../src/lab/random.js';

export class Chance {
  private readonly next: Random;

  constructor(seed: number) {
    this.next = mulberry32(seed);
  }

  happens(ratio: number): boolean {
    return this.next() < ratio;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.next() * from.length)];
    if (found === undefined) throw new Error('there is nothing to pick from');
    return found;
  }

  /** Another sequence, so that what is asked of it moves nothing here. */
  fork(): Chance {
    return new Chance(Math.floor(this.next() * 4_294_967_296));
  }
}
