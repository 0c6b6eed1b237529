/** Rates for one dollar, as people hand them in: each problem by its place; and which of them holds at an instant. */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/core/errors.js';
import { FxTable, quotesOfRates, type FxUsed } from '../../../src/core/price/fx.js';
import { DAY_MS } from '../../../src/core/time.js';

const rate = (over: object = {}) => ({ day: '2026-10-01', currency: 'EUR', perUsd: '0.9', ...over });
function problems(...rates: ReturnType<typeof rate>[]): string[] {
  try {
    quotesOfRates(rates);
    return [];
  } catch (error) {
    return (error as Failure).problems.map(({ path, message }) => `${path} ${message}`);
  }
}

it('become quotes with their own digits', () => {
  expect(quotesOfRates([rate()])).toEqual([
    { day: '2026-10-01', currency: 'EUR', perBase: { unscaled: 9n, scale: 1 } },
  ]);
  expect(quotesOfRates([])).toEqual([]);
});

it.each<[string, object]>([
  ['rates/0/day is not a day written YYYY-MM-DD', { day: '2026-10-32' }],
  ['rates/0/currency is not an ISO 4217 code', { currency: 'EURO' }],
  ['rates/0/currency is the base currency itself', { currency: 'USD' }],
  ['rates/0/perUsd is not a decimal above 0', { perUsd: '0' }],
  ['rates/0/perUsd is not a decimal above 0', { perUsd: '-1' }],
  ['rates/0/perUsd is not a decimal above 0', { perUsd: 'many' }],
])('%s', (problem, over) => expect(problems(rate(over))).toEqual([problem]));

it('are one for each day and currency', () => {
  expect(problems(rate(), rate({ perUsd: '1' }))).toEqual(['rates/1/day has a second rate for EUR']);
  expect(problems(rate(), rate({ day: '2026-10-02' }), rate({ currency: 'CNY' }))).toEqual([]);
  expect(problems(rate({ perUsd: '0' }), rate({ currency: 'E' }))).toHaveLength(2);
});

describe('the rate that holds', () => {
  const table = new FxTable(
    'USD',
    quotesOfRates([
      rate({ day: '2026-10-05', perUsd: '0.8' }),
      rate({ day: '2026-10-01', perUsd: '0.9' }),
      rate({ day: '2026-10-03', perUsd: '0.75' }),
      rate({ day: '2026-10-02', currency: 'CNY', perUsd: '7.2' }),
    ]),
  );
  const midnight = (day: number): number => Date.UTC(2026, 9, day);
  const valueOf = (used: FxUsed | null): [string, number] | null =>
    used && [used.day, Number(used.rate.numerator) / Number(used.rate.denominator)];

  it.each<[string, number, [string, number] | null]>([
    ['none before the first', midnight(1) - 1, null],
    ['from the first instant of its day', midnight(1), ['2026-10-01', 0.9]],
    ['to the last instant before the next', midnight(3) - 1, ['2026-10-01', 0.9]],
    ['then the next', midnight(3), ['2026-10-03', 0.75]],
    ['over days without one', midnight(4) + DAY_MS - 1, ['2026-10-03', 0.75]],
    ['then the last, for ever', midnight(5), ['2026-10-05', 0.8]],
    ['long after it', midnight(365), ['2026-10-05', 0.8]],
  ])('%s', (_, instant, expected) => expect(valueOf(table.rate('USD', 'EUR', instant))).toEqual(expected));

  it('back to the base is its inverse, and between two others is of the older day', () => {
    expect(valueOf(table.rate('EUR', 'USD', midnight(5)))).toEqual(['2026-10-05', 1.25]);
    expect(valueOf(table.rate('EUR', 'CNY', midnight(5)))).toEqual(['2026-10-02', 9]);
    expect(valueOf(table.rate('CNY', 'EUR', midnight(2)))).toEqual(['2026-10-01', 0.125]);
  });

  it('is 1 from a currency to itself, and unknown of one without quotes', () => {
    expect(valueOf(table.rate('GBP', 'GBP', midnight(5)))).toEqual(['2026-10-05', 1]);
    expect(table.rate('GBP', 'USD', midnight(5))).toBeNull();
    expect(table.rate('USD', 'GBP', midnight(5))).toBeNull();
    expect(table.rate('EUR', 'CNY', midnight(1))).toBeNull();
  });

  it('is of no table with a mistake in it', () => {
    const perBase = { unscaled: 1n, scale: 0 };
    const made = (): FxTable => new FxTable('usd', [{ day: '2026-10-01', currency: 'EUR', perBase }]);
    expect(made).toThrow(expect.objectContaining({ problems: [{ path: 'base', message: 'is not an ISO 4217 code' }] }));
  });
});
