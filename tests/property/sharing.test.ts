/** Shares by use: they sum to the charge to the last unit, and no team is left out for its currency. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitShared } from '../../src/core/cost/allocation.js';
import { UseWeights, type DirectUse } from '../../src/core/cost/sharing.js';
import { FxTable } from '../../src/core/price/fx.js';

const RATES = new FxTable('USD', [{ day: '1970-01-01', currency: 'EUR', perBase: { unscaled: 9n, scale: 1 } }]);
const NO_RATES = new FxTable('USD', []);
const use: fc.Arbitrary<DirectUse> = fc.record({
  team: fc.constantFrom('a', 'b', 'c'),
  day: fc.integer({ min: 0, max: 40 }),
  currency: fc.constantFrom('USD', 'EUR'),
  nanos: fc.option(fc.bigInt({ min: 0n, max: 10n ** 15n })),
  gpuPartMs: fc.bigInt({ min: 1n, max: 10n ** 12n }),
});
const span = fc.record({ first: fc.integer({ min: 0, max: 20 }), count: fc.integer({ min: 1, max: 31 }) });

describe('a charge that is split by use', () => {
  it('is split to the last unit, the same whatever the order of the use', () => {
    fc.assert(
      fc.property(
        fc.array(use, { maxLength: 30 }),
        span,
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        fc.constantFrom(RATES, NO_RATES),
        (uses, days, charge, fx) => {
          const split = (all: readonly DirectUse[]) =>
            splitShared(charge, { kind: 'use', of: null, rule: 0 }, new UseWeights(all, fx).weightsOf('USD', days));
          const shares = split(uses);
          expect(shares.reduce((sum, { nanos }) => sum + nanos, 0n)).toBe(charge);
          expect(split([...uses].reverse())).toEqual(shares);
        },
      ),
    );
  });

  it('goes by all teams that used something in its own days, whatever they are charged in, and by no other day', () => {
    fc.assert(
      fc.property(fc.array(use, { maxLength: 30 }), span, fc.constantFrom(RATES, NO_RATES), (uses, days, fx) => {
        const within = uses.filter(({ day }) => day >= days.first && day < days.first + days.count);
        // A nano of a euro may be less than half a nano of a dollar.
        const paid = within.filter(({ nanos }) => nanos !== null && nanos > 1n);
        const weights = new UseWeights(uses, fx).weightsOf('USD', days);
        for (const { team } of paid) expect(weights.has(team)).toBe(true);
        const others = uses.filter((one) => !within.includes(one));
        expect(new UseWeights([...within, ...others.slice(1)], fx).weightsOf('USD', days)).toEqual(weights);
      }),
    );
  });
});
