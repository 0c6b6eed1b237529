/**
 * The one thing in the product that no seed reaches is `randomBytes`, of which ids are made. A test file that simulates
 * puts this in its place:
 *
 *   vi.mock('node:crypto', async (original) => (await import('./randomness.js')).seeded(await original()));
 *
 * Nothing else of the module is changed. One simulation at a time per process: they share the sequence.
 */
import type * as crypto from 'node:crypto';
import { mulberry32, type Random } from '../../src/lab/random.js';

const source: { next: Random | null } = { next: null };

/** Begins the sequence anew. */
export function reseed(seed: number): void {
  source.next = mulberry32(seed);
}

export function seeded(original: typeof crypto): object {
  const randomBytes = (size: number): Buffer => {
    const { next } = source;
    return next === null
      ? original.randomBytes(size)
      : Buffer.from(Array.from({ length: size }, () => Math.floor(next() * 256)));
  };
  return { ...original, randomBytes };
}
