/** The remembered quiets against a plain list: the newest few, in order, and their sums. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { Quiets } from '../../src/planning/idle/quiets.js';

describe('remembered quiets', () => {
  it('are the newest few, sorted, with their sums, whatever came in whatever order', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 60 });
    fc.assert(fc.property(fc.integer({ min: 1, max: 12 }), lengths, fc.integer({ min: -1, max: 41 }), (most, minutes, limit) => {
      const quiets = new Quiets(most);
      for (const [at, one] of minutes.entries()) {
        quiets.add(one);
        const kept = minutes.slice(Math.max(0, at + 1 - most), at + 1).sort((a, b) => a - b);
        expect(Array.from({ length: quiets.size }, (_, place) => quiets.lengthAt(place))).toEqual(kept);
        expect(quiets.upTo(limit)).toBe(kept.filter((length) => length <= limit).length);
        expect(Array.from({ length: quiets.size + 1 }, (_, count) => quiets.sumOf(count))).toEqual(Array.from({ length: kept.length + 1 }, (_, count) => kept.slice(0, count).reduce((a, b) => a + b, 0)));
      }
    }));
  });
});
