import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import { rateOf } from '../../../src/core/money.js';
import type { Price, PriceEvent } from '../../../src/core/price/price.js';
import {
  applyPriceEvents,
  compareRates,
  NO_PRICES,
  PriceBook,
  type PriceHistory,
  type PriceQuery,
} from '../../../src/core/price/price-book.js';
import { DAY_MS, formatInstant, parseInstant } from '../../../src/core/time.js';
import { gpuPrice } from '../../support/makers.js';

const at = (text: string): number => parseInstant(text) ?? Number.NaN;
const decimal = (text: string) => parseDecimal(text) ?? { unscaled: 0n, scale: 0 };

function price(hourly: string, from: string, rest: Partial<Price> = {}): Price {
  const gpus = rest.gpus === undefined ? 8 : rest.gpus;
  return gpuPrice({
    gpus,
    rate: rateOf(decimal(hourly), 'USD', 3600n * BigInt(gpus ?? 1), 'gpu-second'),
    effectiveFrom: at(from),
    source: 'list',
    ...rest,
  });
}
const query: PriceQuery = {
  provider: 'AWS',
  sku: 'p5.48xlarge',
  gpuModel: null,
  region: 'us-east-1',
  term: 'on-demand',
  component: 'gpu',
};
const book = (...prices: Price[]): PriceBook => new PriceBook({ prices, withdrawals: [] });

/** The piece as text: from, hourly price of the instance or the reason, what was assumed. */
function show(history: PriceHistory | Price[], ask: Partial<PriceQuery>, from: string, to: string): string[] {
  const pieces = new PriceBook(Array.isArray(history) ? { prices: history, withdrawals: [] } : history).intervals(
    { ...query, ...ask },
    at(from),
    at(to),
  );
  return pieces.map(
    ({ start, found }) =>
      `${formatInstant(start)} ${
        'unpriced' in found
          ? found.unpriced
          : `${Number(found.price.rate.nanos) / 1e9}${found.stale ? ' stale' : ''}${found.assumed.map((what) => ` ?${what}`).join('')}`
      }`,
  );
}

describe('the price cut of June 2025 (aws-ondemand-price-history, us-east-1)', () => {
  const p5 = [price('98.320000', '2023-08-08T13:58:38Z'), price('55.040000', '2025-06-23T13:18:30Z')];

  it('closes the old price where the new one begins', () => {
    expect(show(p5, {}, '2023-08-08T00:00:00Z', '2026-01-01')).toEqual([
      '2023-08-08T00:00:00Z before-first-price',
      '2023-08-08T13:58:38Z 98.32',
      '2025-06-23T13:18:30Z 55.04',
    ]);
    expect(show(p5, {}, '2025-06-23T13:00:00Z', '2025-06-23T14:00:00Z')).toEqual([
      '2025-06-23T13:00:00Z 98.32',
      '2025-06-23T13:18:30Z 55.04',
    ]);
    expect(show(p5, {}, '2025-06-23T13:18:30Z', '2025-06-23T14:00:00Z')).toEqual(['2025-06-23T13:18:30Z 55.04']);
  });

  it('is per GPU-second: an eighth of the instance', () => {
    const found = book(...p5).find({ ...query, at: at('2025-07-01') });
    expect(found).toMatchObject({
      price: { rate: { nanos: 55_040_000_000n, quantity: 28_800n, unit: 'gpu-second' } },
      assumed: [],
      stale: false,
    });
  });

  it('does not depend on the order of the list', () => {
    expect(show([...p5].reverse(), {}, '2023-01-01', '2026-01-01')).toEqual(show(p5, {}, '2023-01-01', '2026-01-01'));
  });
});

describe('a reason for each way of not knowing', () => {
  const prices = [
    price('98.32', '2023-01-01'),
    price('40', '2023-01-01', { sku: 'p4d.24xlarge', gpuModel: 'A100', gpus: null }),
    price('1', '2023-01-01', { sku: 'old', effectiveTo: at('2024-01-01') }),
  ];
  it.each([
    ['no-price-list', { provider: 'Matpool' }],
    ['no-sku', { sku: null }],
    ['unknown-sku', { sku: 'p6.48xlarge' }],
    ['unknown-model', { sku: null, gpuModel: 'G2' }],
    ['no-term', { term: 'spot' as const }],
    ['no-region', { region: 'eu-west-1' }],
    ['gpu-count-unknown', { sku: 'p4d.24xlarge' }],
    ['withdrawn', { sku: 'old' }],
    ['no-component', { component: 'storage' as const }],
    ['no-component', { component: 'network' as const, sku: null }],
  ])('%s', (reason, ask) => {
    expect(book(...prices).find({ ...query, ...ask, at: at('2024-06-01') })).toEqual({ unpriced: reason });
  });
  it('before-first-price', () =>
    expect(book(...prices).find({ ...query, at: 0 })).toEqual({ unpriced: 'before-first-price' }));
});

describe('matching', () => {
  it('takes the own region before a list without regions, and falls back to it', () => {
    const prices = [
      price('10', '2025-01-01', { region: null }),
      price('12', '2025-02-01', { effectiveTo: at('2025-03-01') }),
    ];
    expect(show(prices, {}, '2025-01-15', '2025-04-01')).toEqual([
      '2025-01-15T00:00:00Z 10',
      '2025-02-01T00:00:00Z 12',
      '2025-03-01T00:00:00Z 10',
    ]);
    expect(show(prices, { region: 'eu-west-1' }, '2025-01-15', '2025-04-01')).toEqual(['2025-01-15T00:00:00Z 10']);
  });

  it('takes the cheapest region where none is known, and says so', () => {
    const prices = [
      price('12', '2025-01-01'),
      price('11', '2025-01-01', { region: 'us-west-2' }),
      price('13', '2025-01-01', { region: 'eu-west-1' }),
    ];
    expect(show(prices, { region: null }, '2025-02-01', '2025-02-02')).toEqual(['2025-02-01T00:00:00Z 11 ?region']);
  });

  it('takes the cheapest per GPU of a model where no SKU is known, per instant', () => {
    const prices = [
      price('8', '2025-01-01', { sku: 'big', gpus: 8 }),
      price('3', '2025-01-01', { sku: 'small', gpus: 2 }),
      price('1', '2025-01-01', { sku: 'far', gpus: 8, region: 'us-west-2' }),
      price('0.5', '2025-03-01', { sku: 'small', gpus: 2 }),
    ];
    const ask = { sku: null, gpuModel: 'H100' };
    expect(show(prices, ask, '2025-02-01', '2025-04-01')).toEqual([
      '2025-02-01T00:00:00Z 8 ?sku',
      '2025-03-01T00:00:00Z 0.5 ?sku',
    ]);
    expect(show(prices, { ...ask, region: null }, '2025-02-01', '2025-02-02')).toEqual([
      '2025-02-01T00:00:00Z 1 ?sku ?region',
    ]);
  });

  it('takes an unknown term for on-demand, an unknown way of paying for none upfront, and says so', () => {
    const prices = [
      price('9', '2025-01-01'),
      price('5', '2025-01-01', { term: 'reserved-1y', upfront: 'all' }),
      price('6', '2025-01-01', { term: 'reserved-1y' }),
    ];
    expect(show(prices, { term: null }, '2025-02-01', '2025-02-02')).toEqual(['2025-02-01T00:00:00Z 9 ?term']);
    expect(show(prices, { term: 'reserved-1y' }, '2025-02-01', '2025-02-02')).toEqual([
      '2025-02-01T00:00:00Z 6 ?upfront',
    ]);
    expect(show(prices, { term: 'reserved-1y', upfront: 'all' }, '2025-02-01', '2025-02-02')).toEqual([
      '2025-02-01T00:00:00Z 5',
    ]);
    expect(show(prices, { term: 'reserved-1y', upfront: 'partial' }, '2025-02-01', '2025-02-02')).toEqual([
      '2025-02-01T00:00:00Z no-term',
    ]);
  });

  it('prices storage by its SKU, else by what the list says of any, whatever the term', () => {
    const rate = rateOf(decimal('0.08'), 'USD', 2_628_000n, 'gib-second');
    const storage = price('1', '2025-01-01', { sku: '*', component: 'storage', gpuModel: null, gpus: null, rate });
    expect(book(storage).find({ ...query, component: 'storage', term: 'spot', at: at('2025-02-01') })).toMatchObject({
      price: storage,
    });
  });

  it('keeps an older version in force where a newer one with an end has run out', () => {
    const prices = [price('10', '2025-01-01'), price('8', '2025-02-01', { effectiveTo: at('2025-03-01') })];
    expect(show(prices, {}, '2025-01-01', '2025-04-01')).toEqual([
      '2025-01-01T00:00:00Z 10',
      '2025-02-01T00:00:00Z 8',
      '2025-03-01T00:00:00Z 10',
    ]);
  });
});

describe('a catalogue that flaps (g7e, January 2026)', () => {
  const g7e = { provider: 'AWS', sku: 'g7e.48xlarge', region: 'us-east-1' };
  const first = price('33.144320', '2026-01-15', { sku: g7e.sku });
  const gone: PriceEvent = { kind: 'withdrawn', ...g7e, at: at('2026-01-19T13:23:24Z') };
  const back = price('33.144320', '2026-01-21T19:34:29Z', { sku: g7e.sku });
  const history = (...events: PriceEvent[]): PriceHistory => applyPriceEvents(NO_PRICES, events);
  const asEvent = (one: Price): PriceEvent => ({ kind: 'price', price: one });

  it('holds the last known price, marked stale, until the types are back', () => {
    expect(show(history(asEvent(first), gone, asEvent(back)), { sku: g7e.sku }, '2026-01-16', '2026-03-01')).toEqual([
      '2026-01-16T00:00:00Z 33.14432',
      '2026-01-19T13:23:24Z 33.14432 stale',
      '2026-01-21T19:34:29Z 33.14432',
    ]);
  });

  it('is no longer stale from the instant at which the list names the type again, under whatever term', () => {
    const spot = { ...back, term: 'spot' as const };
    expect(show(history(asEvent(first), gone, asEvent(spot)), { sku: g7e.sku }, '2026-01-16', '2026-03-01')).toEqual([
      '2026-01-16T00:00:00Z 33.14432',
      '2026-01-19T13:23:24Z 33.14432 stale',
      '2026-01-21T19:34:29Z 33.14432',
    ]);
  });

  it('ends the price once the absence has lasted seven days', () => {
    expect(show(history(asEvent(first), gone), { sku: g7e.sku }, '2026-01-16', '2026-03-01')).toEqual([
      '2026-01-16T00:00:00Z 33.14432',
      '2026-01-19T13:23:24Z 33.14432 stale',
      '2026-01-26T13:23:24Z withdrawn',
    ]);
    const later = { ...back, effectiveFrom: gone.kind === 'withdrawn' ? gone.at + 7 * DAY_MS + DAY_MS : 0 };
    expect(show(history(asEvent(first), gone, asEvent(later)), { sku: g7e.sku }, '2026-01-26', '2026-03-01')).toEqual([
      '2026-01-26T00:00:00Z 33.14432 stale',
      '2026-01-26T13:23:24Z withdrawn',
      '2026-01-27T13:23:24Z 33.14432',
    ]);
  });

  it('comes out the same in any order, in any portions, any number of times', () => {
    const events = [asEvent(first), gone, asEvent(back)];
    const once = history(...events);
    expect(history(...[...events].reverse())).toEqual(once);
    expect(applyPriceEvents(applyPriceEvents(history(asEvent(back)), [gone]), [asEvent(first), ...events])).toEqual(
      once,
    );
  });
});

describe('two prices of one thing', () => {
  const DAY = ['2026-10-05', '2026-10-06'] as const;
  /** In either order of the list. */
  const holds = (a: Price, b: Price): string[] => {
    const one = show([a, b], {}, ...DAY);
    expect(show([b, a], {}, ...DAY)).toEqual(one);
    return one.map((text) => text.split(' ')[1]!);
  };
  const stated = (list: number, row: number): Partial<Price> => ({ stated: { list, row } });

  it('from one instant: the one that was stated later, in a later list or a later row', () => {
    expect(holds(price('40', '2026-10-01', stated(1, 9)), price('30', '2026-10-01', stated(2, 1)))).toEqual(['30']);
    expect(holds(price('40', '2026-10-01', stated(1, 1)), price('30', '2026-10-01', stated(1, 2)))).toEqual(['30']);
  });

  it('from one instant, stated alike: the more expensive', () => {
    expect(holds(price('40', '2026-10-01'), price('30', '2026-10-01'))).toEqual(['40']);
  });

  it('that differ in nothing but their source: always the same one', () => {
    const two = [price('40', '2026-10-01', { source: 'a' }), price('40', '2026-10-01', { source: 'b' })] as const;
    const found = (prices: readonly Price[]): unknown =>
      new PriceBook({ prices: [...prices], withdrawals: [] }).intervals(query, at(DAY[0]), at(DAY[1]))[0]!.found;
    expect(found(two)).toMatchObject({ price: { source: 'b' } });
    expect(found([...two].reverse())).toMatchObject({ price: { source: 'b' } });
  });

  it('of which one holds from later on: that one, however it was stated', () => {
    expect(holds(price('40', '2026-10-01', stated(9, 9)), price('30', '2026-10-02', stated(1, 1)))).toEqual(['30']);
  });
});

it('rates compare as fractions, and those of two currencies by the code, USD first', () => {
  const rate = (hourly: string, currency = 'USD', gpus = 1n) =>
    rateOf(decimal(hourly), currency, 3600n * gpus, 'gpu-second');
  expect(compareRates(rate('2'), rate('16', 'USD', 8n))).toBe(0);
  expect(compareRates(rate('2'), rate('16.1', 'USD', 8n))).toBe(-1);
  expect(compareRates(rate('2.1'), rate('16', 'USD', 8n))).toBe(1);
  expect(compareRates(rate('9'), rate('1', 'CNY'))).toBe(-1);
  expect(compareRates(rate('1', 'CNY'), rate('9'))).toBe(1);
  expect(compareRates(rate('9', 'CNY'), rate('1', 'EUR'))).toBe(-1);
  expect(compareRates(rate('1', 'EUR'), rate('9', 'CNY'))).toBe(1);
});
