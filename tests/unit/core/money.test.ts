/** Money by cases counted by hand: where it rounds, how it is split, and how it is written. */
import { describe, expect, it } from 'vitest';
import { parseDecimal, type Decimal } from '../../../src/core/decimal.js';
import {
  costOf,
  divideHalfEven,
  formatMoney,
  nanosOf,
  ONE,
  rateOf,
  splitByLargestRemainder,
  type Rate,
} from '../../../src/core/money.js';

const decimal = (text: string): Decimal => parseDecimal(text)!;
const rate = (nanos: bigint, quantity = 1n): Rate => ({ nanos, currency: 'EUR', quantity, unit: 'gpu-second' });

it.each<[bigint, bigint, bigint]>([
  [6n, 3n, 2n],
  [7n, 3n, 2n],
  [8n, 3n, 3n],
  // Ties go to the even neighbour, below zero too.
  [1n, 2n, 0n],
  [3n, 2n, 2n],
  [5n, 2n, 2n],
  [-1n, 2n, 0n],
  [-3n, 2n, -2n],
  [-5n, 2n, -2n],
  [-7n, 3n, -2n],
  [-8n, 3n, -3n],
  [-6n, 3n, -2n],
  [0n, 5n, 0n],
])('%s / %s is %s', (numerator, denominator, quotient) => {
  expect(divideHalfEven(numerator, denominator)).toBe(quotient);
});

it.each([0n, -1n])('a denominator of %s is a bug', (denominator) => {
  expect(() => divideHalfEven(1n, denominator)).toThrow(/denominator is positive/);
});

describe('a cost', () => {
  it('is quantity x rate x peak in the currency of the rate, rounded once', () => {
    expect(costOf(7200n, 1n, rate(2_490_000_000n, 3600n))).toEqual({ nanos: 4_980_000_000n, currency: 'EUR' });
    expect(costOf(5n, 1n, rate(1n), { numerator: 3n, denominator: 2n }).nanos).toBe(8n);
    // 1/3 x 3/2 is half a nano, which is none; rounded after each step it would be none as well, and 1/2 x 3 two.
    expect(costOf(1n, 1n, rate(1n, 3n), { numerator: 3n, denominator: 2n }).nanos).toBe(0n);
    expect(costOf(1n, 1n, rate(1n, 2n), { numerator: 3n, denominator: 1n }).nanos).toBe(2n);
  });

  it('takes quantities in parts of the unit', () => {
    expect(costOf(2500n, 1000n, rate(4n)).nanos).toBe(10n);
    expect(costOf(2500n, 1000n, rate(4n), ONE).nanos).toBe(10n);
  });
});

describe('a split', () => {
  it.each<[bigint, bigint[], bigint[]]>([
    [10n, [1n, 1n], [5n, 5n]],
    // The one that is left goes to the largest remainder: 7/3 and 14/3.
    [7n, [1n, 2n], [2n, 5n]],
    [8n, [1n, 2n], [3n, 5n]],
    // Equal remainders: the earlier part has it.
    [10n, [1n, 1n, 1n], [4n, 3n, 3n]],
    [11n, [1n, 1n, 1n], [4n, 4n, 3n]],
    [-11n, [1n, 1n, 1n], [-4n, -4n, -3n]],
    [-7n, [1n, 2n], [-2n, -5n]],
    [5n, [0n, 1n, 0n], [0n, 5n, 0n]],
    [0n, [3n, 4n], [0n, 0n]],
    [1n, [1n, 5n, 3n], [0n, 1n, 0n]],
  ])('of %s by %s is %s', (total, weights, parts) => {
    expect(splitByLargestRemainder(total, weights)).toEqual(parts);
  });

  it.each([[[]], [[0n, 0n]], [[2n, -1n]], [[-1n, -1n]]])('by %s is a bug', (weights: bigint[]) => {
    expect(() => splitByLargestRemainder(1n, weights)).toThrow(/not negative and not all zero/);
  });
});

describe('nanos of a decimal', () => {
  it.each<[string, bigint | null]>([
    ['12.5', 12_500_000_000n],
    ['0.000000001', 1n],
    ['-3', -3_000_000_000n],
    // Finer than a nano, in writing only or truly.
    ['0.0000000010', 1n],
    ['0.00000000150', null],
    ['0.0000000001', null],
  ])('%s', (text, nanos) => {
    expect(nanosOf(decimal(text))).toBe(nanos);
  });

  it('make a rate; a price that is finer scales the quantity up', () => {
    expect(rateOf(decimal('2.49'), 'USD', 3600n, 'gpu-second')).toEqual({
      nanos: 2_490_000_000n,
      currency: 'USD',
      quantity: 3600n,
      unit: 'gpu-second',
    });
    expect(rateOf(decimal('0.00000000025'), 'USD', 7n, 'gib')).toEqual({
      nanos: 25n,
      currency: 'USD',
      quantity: 700n,
      unit: 'gib',
    });
  });
});

it.each<[bigint, string]>([
  [12_500_000_000n, '12.50'],
  [12_000_000_000n, '12.00'],
  [100_000_000_000n, '100.00'],
  [12_345_678_900n, '12.3456789'],
  [1n, '0.000000001'],
  [10n, '0.00000001'],
  [-500_000_000n, '-0.50'],
  [0n, '0.00'],
])('%s nanos are written %s', (nanos, text) => {
  expect(formatMoney({ nanos, currency: 'USD' })).toBe(text);
});
