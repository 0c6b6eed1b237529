/** Who did something: the same principal under every name, and no name that makes it another. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actorText, principalIn, principalText, type Actor } from '../../../src/core/actor.js';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const tricky = fc.constantFrom('a', 'a (b)', 'key:a', ') (', 'a/b', '%28', ' (', 'user:a (x)');
const actor: fc.Arbitrary<Actor> = fc.record({
  kind: fc.constantFrom('key', 'user'),
  id: fc.oneof(text, tricky).map((id) => id.toWellFormed()),
  name: fc.oneof(text, tricky),
});

describe('an actor', () => {
  it('is the same whatever its name, and another where kind or id differ', () => {
    fc.assert(
      fc.property(actor, actor, (one, other) => {
        expect(principalIn(actorText(one))).toBe(principalIn(actorText({ ...one, name: other.name })));
        const same = one.kind === other.kind && one.id === other.id;
        expect(principalIn(actorText(one)) === principalIn(actorText(other))).toBe(same);
        expect(principalText(one) === principalText(other)).toBe(same);
      }),
    );
  });

  it('is written as the audit has always had it', () => {
    expect(actorText({ kind: 'key', id: '0123456789ab', name: 'first admin' })).toBe('key:0123456789ab (first admin)');
    expect(principalIn('cli:ann')).toBe('cli:ann');
    expect(actorText({ kind: 'cli', id: 'ann', name: 'ann' })).toBe('cli:ann');
  });
});
