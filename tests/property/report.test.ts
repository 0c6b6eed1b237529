/**
 * Laws of the monthly report: the parts of the bridge sum to the change to the last digit, whatever was spent on what.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDecimal, compareDecimal, negateDecimal, ZERO, type Decimal } from '../../src/core/decimal.js';
import { bridgeOf, EFFECTS, type BridgeInput } from '../../src/core/report/bridge.js';
import type { MonthCell } from '../../src/core/report/facts.js';
import { bridgeBetween } from '../../src/core/report/spend.js';
import { TERMS } from '../../src/core/usage.js';
import { decimal } from '../support/report.js';

const side = fc.record({
  cost: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 18n }),
  quantity: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 10n ** 16n })),
});
const nothing = fc.constant({ cost: 0n, quantity: 0n });
const inputs = fc.uniqueArray(
  fc.record({
    provider: fc.constantFrom('AWS', 'Azure', 'GCP'),
    sku: fc.constantFrom('a', 'b', null),
    gpuModel: fc.constantFrom('H100', 'A100', null),
    term: fc.constantFrom(...TERMS, null),
    category: fc.constantFrom(
      'Usage' as const,
      'Usage' as const,
      'Usage' as const,
      'Credit' as const,
      'Purchase' as const,
    ),
    before: fc.oneof(side, nothing),
    after: fc.oneof(side, nothing),
  }),
  {
    maxLength: 40,
    selector: ({ provider, sku, gpuModel, term, category }) =>
      JSON.stringify([provider, sku, gpuModel, term, category]),
  },
) as fc.Arbitrary<BridgeInput[]>;

const total = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);

describe('the bridge', () => {
  it('has parts that sum to the change exactly, in every cell and in all', () => {
    fc.assert(
      fc.property(inputs, (all) => {
        const { cells, effects, before, after } = bridgeOf(all);
        for (const cell of cells)
          expect(total(EFFECTS.map((effect) => cell.effects[effect]))).toBe(cell.after - cell.before);
        expect(total(EFFECTS.map((effect) => effects[effect]))).toBe(after - before);
        expect([before, after]).toEqual([
          total(all.map((one) => one.before.cost)),
          total(all.map((one) => one.after.cost)),
        ]);
      }),
      { numRuns: 500 },
    );
  });

  it('does not depend on the order of the cells', () => {
    fc.assert(
      fc.property(inputs, fc.integer(), (all, turn) => {
        const at = all.length === 0 ? 0 : Math.abs(turn) % all.length;
        expect(bridgeOf([...all.slice(at), ...all.slice(0, at)])).toEqual(bridgeOf(all));
      }),
    );
  });

  it('has no price part where every price stayed, and no mix where shares did: only volume', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            price: fc.bigInt({ min: 1n, max: 10n ** 9n }),
            quantity: fc.bigInt({ min: 1n, max: 10n ** 6n }),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        fc.bigInt({ min: 1n, max: 50n }),
        (all, factor) => {
          const { effects, before, after } = bridgeOf(
            all.map(({ price, quantity }, at) => ({
              provider: 'AWS',
              sku: `s${at}`,
              gpuModel: 'H100',
              term: 'on-demand',
              category: 'Usage',
              before: { cost: price * quantity, quantity },
              after: { cost: price * quantity * factor, quantity: quantity * factor },
            })),
          );
          expect(effects).toEqual({
            volume: after - before,
            price: 0n,
            mix: 0n,
            new: 0n,
            gone: 0n,
            charges: 0n,
            credits: 0n,
          });
        },
      ),
    );
  });

  it('keeps the sum of mix within what rounding leaves, where prices in a group are one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 6n }), fc.bigInt({ min: 1n, max: 10n ** 6n })), {
          minLength: 2,
          maxLength: 6,
        }),
        fc.bigInt({ min: 1n, max: 10n ** 6n }),
        (all, price) => {
          const { effects } = bridgeOf(
            all.map(([q0, q1], at) => ({
              provider: 'AWS',
              sku: `s${at}`,
              gpuModel: 'H100',
              term: 'on-demand',
              category: 'Usage',
              before: { cost: price * q0, quantity: q0 },
              after: { cost: price * q1, quantity: q1 },
            })),
          );
          const most = BigInt(all.length);
          expect(effects.mix <= most && effects.mix >= -most).toBe(true);
          expect(effects.price).toBe(0n);
        },
      ),
    );
  });
});

const amount = fc.option(
  fc.record({ unscaled: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 15n }), scale: fc.integer({ min: 0, max: 14 }) }),
  { nil: null },
);
const monthCell: fc.Arbitrary<MonthCell> = fc.record({
  team: fc.constantFrom('red', 'blue'),
  provider: fc.constantFrom('AWS', 'GCP'),
  sku: fc.constantFrom('a', 'b', null),
  gpuModel: fc.constantFrom('H100', null),
  term: fc.constantFrom('on-demand' as const, 'spot' as const, null),
  category: fc.constantFrom('Usage' as const, 'Credit' as const),
  amount,
  quantity: fc.option(fc.bigInt({ min: 0n, max: 10n ** 14n }), { nil: null }),
  unpriced: fc.bigInt({ min: 0n, max: 10n ** 13n }),
});
const month = fc.array(monthCell, { minLength: 1, maxLength: 60 });

describe('the bridge of a report', () => {
  it('is written so that its texts still sum to the change, shown and rest together', () => {
    const sum = (texts: readonly string[]): Decimal => texts.map(decimal).reduce(addDecimal, ZERO);
    fc.assert(
      fc.property(month, month, (now, before) => {
        const { known } = bridgeBetween(
          { cells: now, unconverted: new Map() },
          { cells: before, unconverted: new Map() },
        );
        if (known === null) throw new Error('two months with records have a bridge');
        expect(compareDecimal(sum(EFFECTS.map((effect) => known.effects[effect])), decimal(known.change))).toBe(0);
        expect(
          compareDecimal(addDecimal(decimal(known.after), negateDecimal(decimal(known.before))), decimal(known.change)),
        ).toBe(0);
        expect(
          compareDecimal(
            decimal(known.after),
            now.reduce((whole, { amount: one }) => (one === null ? whole : addDecimal(whole, one)), ZERO),
          ),
        ).toBe(0);
        for (const effect of EFFECTS) {
          const parts = [...known.cells.map(({ effects }) => effects[effect]), known.rest?.effects[effect] ?? '0'];
          expect(compareDecimal(sum(parts), decimal(known.effects[effect]))).toBe(0);
        }
      }),
      { numRuns: 200 },
    );
  });
});
