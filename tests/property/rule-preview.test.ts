/** Dividing and sharing lose nothing and make nothing, whatever the portions and the rules. */
import { FxTable } from '../../src/core/price/fx.js';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { addDecimal, compareDecimal, ZERO, type Decimal } from '../../src/core/decimal.js';
import { divide, share, type DayCost, type Portion } from '../../src/core/cost/rule-preview.js';

const TEAMS = ['a', 'b', 'c', 'shared:0', 'unallocated'];
const decimal = fc
  .tuple(fc.bigInt(0n, 10n ** 15n), fc.integer({ min: 0, max: 12 }))
  .map(([unscaled, scale]): Decimal => ({ unscaled, scale }));
const nanos = fc.option(fc.bigInt(0n, 10n ** 12n));
const portion: fc.Arbitrary<Portion> = fc.oneof(
  fc
    .record({ accrued: nanos, actual: nanos, unpriced: fc.bigInt(0n, 1000n) })
    .map((own): Portion => ({ kind: 'metered', own, elsewhere: null })),
  fc.option(decimal).map((actual): Portion => ({ kind: 'billed', actual })),
);
const portions = fc.dictionary(fc.constantFrom(...TEAMS), portion).map((all) => new Map(Object.entries(all)));
const cost: fc.Arbitrary<DayCost> = fc.record({
  team: fc.constantFrom(...TEAMS),
  day: fc.constantFrom('2026-10-05', '2026-10-06'),
  dimension: fc.constantFrom('1', '2'),
  currency: fc.constantFrom('USD', 'CNY'),
  accrued: fc.option(decimal),
  actual: fc.option(decimal),
  unpriced: fc.bigInt(0n, 1000n),
});

it('every sum stays as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(cost, portions), { maxLength: 8 }), fc.constantFrom('use', 'fixed'), (costs, way) => {
      const sharing = {
        daysOf: (dimension: string) => 1 + (dimension.length % 3),
        fx: new FxTable('USD', [{ day: '2020-01-01', currency: 'CNY', perBase: { unscaled: 72n, scale: 1 } }]),
        isShared: (team: string) => team.startsWith('shared:'),
        assignmentOf: () =>
          way === 'use'
            ? { kind: 'use' as const, of: null, rule: 0 }
            : {
                kind: 'fixed' as const,
                shares: [
                  { team: 'a', weight: 1n },
                  { team: 'b', weight: 2n },
                ],
                rule: 0,
              },
      };
      const after = share(
        costs.flatMap(([one, parts]) => divide(one, parts)),
        sharing,
      );
      expect(after.some(({ team }) => sharing.isShared(team))).toBe(false);
      for (const currency of ['USD', 'CNY']) {
        for (const measure of ['accrued', 'actual'] as const) {
          const sum = (all: readonly DayCost[]): Decimal =>
            all
              .filter((one) => one.currency === currency)
              .reduce((total, one) => addDecimal(total, one[measure] ?? ZERO), ZERO);
          expect(compareDecimal(sum(after), sum(costs.map(([one]) => one)))).toBe(0);
        }
        const without = (all: readonly DayCost[]): bigint =>
          all.filter((one) => one.currency === currency).reduce((total, { unpriced }) => total + unpriced, 0n);
        expect(without(after)).toBe(without(costs.map(([one]) => one)));
      }
    }),
  );
});
