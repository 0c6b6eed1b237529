/** Decimals that somebody else states: what is one, and that its digits survive what is done with it. */
import { describe, expect, it } from 'vitest';
import {
  addDecimal,
  compareDecimal,
  DecimalSum,
  formatDecimal,
  negateDecimal,
  parseDecimal,
  ratioOf,
  tenTo,
  withScale,
  type Decimal,
} from '../../../src/core/decimal.js';

const decimal = (text: string): Decimal => parseDecimal(text)!;

describe('a decimal', () => {
  it.each<[string, bigint, number]>([
    ['-12.340', -12340n, 3],
    ['+7', 7n, 0],
    ['.5', 5n, 1],
    ['5.', 5n, 0],
    ['1.25E-6', 125n, 8],
    ['1.25e1', 125n, 1],
    ['1.25e2', 125n, 0],
    ['1.25e+4', 12500n, 0],
    ['-2e3', -2000n, 0],
    ['1e60', 10n ** 60n, 0],
    ['1e-60', 1n, 60],
    [`${'9'.repeat(30)}.${'9'.repeat(30)}`, 10n ** 60n - 1n, 30],
  ])('is %s', (text, unscaled, scale) => {
    expect(parseDecimal(text)).toEqual({ unscaled, scale });
  });

  it.each([
    '',
    '.',
    '-',
    '+.',
    'e5',
    '1e',
    '1.2.3',
    '1,5',
    ' 1',
    '1 ',
    '1\n',
    '0x10',
    'NaN',
    '--1',
    '1e61',
    '1e-61',
    '1e00001',
    '1'.repeat(61),
    `${'1'.repeat(31)}.${'1'.repeat(30)}`,
  ])('is not %j', (text) => {
    expect(parseDecimal(text)).toBeNull();
  });

  it.each(['8.00155109870', '-0.050', '0', '-3', '0.000', '1000'])('keeps the digits of %s', (text) => {
    expect(formatDecimal(decimal(text))).toBe(text);
  });
});

describe('a sum', () => {
  it.each<[string, string, string]>([
    ['1.5', '2.25', '3.75'],
    ['2.25', '1.5', '3.75'],
    ['1.50', '-1.50', '0.00'],
    ['7', '0.001', '7.001'],
    ['-1', '-2', '-3'],
  ])('of %s and %s is %s', (a, b, sum) => {
    expect(formatDecimal(addDecimal(decimal(a), decimal(b)))).toBe(sum);
    const grown = new DecimalSum();
    grown.add(decimal(a));
    grown.add(decimal(b));
    expect(formatDecimal(grown)).toBe(sum);
  });

  it('that grows takes a shorter number after a longer one', () => {
    const sum = new DecimalSum();
    for (const text of ['1.005', '2', '0.01', '-4']) sum.add(decimal(text));
    expect(formatDecimal(sum)).toBe('-0.985');
  });
});

it.each<[string, string, number]>([
  ['1.50', '1.5', 0],
  ['1.5', '1.50', 0],
  ['1.49', '1.5', -1],
  ['2', '1.999', 1],
  ['-2', '-1.5', -1],
  ['-1', '1', -1],
])('%s compared with %s is %i', (a, b, order) => {
  expect(compareDecimal(decimal(a), decimal(b))).toBe(order);
});

it('is turned round, and written with more digits but never with fewer', () => {
  expect(formatDecimal(negateDecimal(decimal('-1.20')))).toBe('1.20');
  expect(['1.5', '1.50', '1.500'].map((text) => formatDecimal(withScale(decimal(text), 2)))).toEqual([
    '1.50',
    '1.50',
    '1.500',
  ]);
});

it('knows powers of ten, beyond those that it holds ready too', () => {
  expect([0, 1, 9, 120, 121].map(tenTo)).toEqual([1n, 10n, 10n ** 9n, 10n ** 120n, 10n ** 121n]);
});

describe('a ratio', () => {
  it.each<[string, string, string | null]>([
    ['1', '3', '0.333333'],
    ['2', '3', '0.666667'],
    ['1.50', '3', '0.500000'],
    ['3', '1.5', '2.000000'],
    ['0', '5', '0.000000'],
    // Halves go up.
    ['0.0000005', '1', '0.000001'],
    ['0.00000049', '1', '0.000000'],
    ['1', '0', null],
    ['0', '0', null],
    ['1', '-3', null],
    ['-1', '3', null],
    ['-0.1', '-3', null],
  ])('of %s to %s is %s', (part, whole, ratio) => {
    expect(ratioOf(decimal(part), decimal(whole))).toBe(ratio);
  });
});
