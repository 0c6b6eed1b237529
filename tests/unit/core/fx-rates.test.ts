/** Rates for one dollar, as people hand them in: each problem by its place. */
import { expect, it } from 'vitest';
import type { Failure } from '../../../src/core/errors.js';
import { quotesOfRates } from '../../../src/core/price/fx.js';

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
