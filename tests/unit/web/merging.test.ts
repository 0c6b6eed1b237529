/** Two people change the same settings at once: nobody's change is undone by a save of the other. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSame, merged } from '../../../src/web/dashboard/merging.js';

const settings = fc.dictionary(
  fc.constantFrom('amount', 'zone', 'thresholds', 'periods'),
  fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 3 }), { noNullPrototype: true }),
  ),
  { noNullPrototype: true },
);

describe('settings that two people changed', () => {
  it('take every field from whoever changed it', () => {
    const base = { planned: { default: '600', periods: {} }, zone: 'UTC', thresholds: [1] };
    const mine = { ...base, planned: { default: '800', periods: {} }, zone: 'UTC' };
    const theirs = { ...base, planned: { default: '600', periods: { '2026-11-01': '5' } }, thresholds: [2, 3] };
    expect(merged(base, mine, theirs)).toEqual({
      planned: { default: '800', periods: { '2026-11-01': '5' } },
      zone: 'UTC',
      thresholds: [2, 3],
    });
  });

  it('are mine where both changed the same field, and a field that was removed stays so', () => {
    expect(merged({ a: 1, b: 1 }, { a: 2, b: 1 }, { a: 3 })).toEqual({ a: 2, b: undefined });
    expect(merged({ a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 })).toEqual({ a: undefined, b: 2 });
  });

  it('are unchanged where only one of them did anything, and keep each field that one of them changed', () => {
    fc.assert(
      fc.property(settings, settings, settings, (base, mine, theirs) => {
        expect(merged(base, mine, base)).toEqual(mine);
        expect(merged(base, base, theirs)).toEqual(theirs);
        const both = merged(base, mine, theirs) as Record<string, unknown>;
        for (const field of new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])) {
          if (isSame(base[field], theirs[field])) expect(both[field]).toEqual(mine[field]);
          else if (isSame(base[field], mine[field])) expect(both[field]).toEqual(theirs[field]);
        }
      }),
    );
  });
});
