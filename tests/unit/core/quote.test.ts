/** Quotes against hand-reckoned figures: rounding once, increments, peaks, exchange, and what comes close. */
import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { rateOf } from '../../../src/core/money.js';
import { compilePeak, NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import {
  closest,
  quote,
  type NoQuote,
  type Quote,
  type QuoteContext,
  type QuoteRequest,
} from '../../../src/core/quote/quote.js';
import { HOUR_MS, parseInstant } from '../../../src/core/time.js';
import { gpuPrice, quoteRequest } from '../../support/makers.js';

const at = (text: string): number => parseInstant(text) ?? Number.NaN;
const decimal = (text: string) => parseDecimal(text) ?? { unscaled: 0n, scale: 0 };

function price(hourly: string, rest: Partial<Price> = {}): Price {
  const gpus = rest.gpus === undefined ? 8 : rest.gpus;
  return gpuPrice({
    gpus,
    rate: rateOf(decimal(hourly), 'USD', 3600n * BigInt(gpus ?? 1), 'gpu-second'),
    effectiveFrom: at('2025-06-23T13:18:30Z'),
    source: 'list',
    ...rest,
  });
}

const request: QuoteRequest = quoteRequest({ provider: 'aws' });
const context = (prices: readonly Price[], over: Partial<QuoteContext> = {}): QuoteContext => ({
  prices,
  book: new PriceBook({ prices, withdrawals: [] }),
  fx: new FxTable('USD', [{ day: '2026-01-01', currency: 'EUR', perBase: decimal('0.9') }]),
  peak: NO_PEAK,
  at: at('2026-10-05T00:00:00Z'),
  ...over,
});
const priced = (over: Partial<QuoteRequest>, given: QuoteContext): Quote =>
  quote({ ...request, ...over }, given) as Quote;
const refused = (over: Partial<QuoteRequest>, given: QuoteContext): NoQuote =>
  quote({ ...request, ...over }, given) as NoQuote;

describe('a quote', () => {
  const p5 = context([price('55.04')]);

  it('is GPU-hours times the unit price', () => {
    expect(priced({}, p5)).toMatchObject({
      cost: '550.40',
      unitPrice: '6.88',
      currency: 'USD',
      source: 'list',
      effectiveFrom: '2025-06-23T13:18:30Z',
      billedHours: '10.00',
      assumptions: [],
      alternatives: [],
    });
    expect(priced({ gpus: 1, hours: 1 }, p5)).toMatchObject({
      cost: '6.88',
      assumptions: ['p5.48xlarge has 8 GPUs: 1 are a share of whole instances'],
    });
    expect(priced({ gpus: 0.5, hours: 2 }, p5).cost).toBe('6.88');
  });

  it('is rounded once, at the end', () => {
    // 3 GPUs x 1 h of 1 USD per 7 GPU-hours: 3/7, not 3 times a rounded seventh.
    const seventh = context([price('1', { gpus: 7 })]);
    expect(priced({ gpus: 3, hours: 1 }, seventh)).toMatchObject({ cost: '0.428571429', unitPrice: '0.142857143' });
  });

  it('bills the seller’s increment and minimum', () => {
    expect(priced({ hours: 10 / 3600 }, p5)).toMatchObject({
      cost: '0.917333333',
      billedHours: '0.016667',
      assumptions: ['the seller bills at least 60 s, in steps of 1 s'],
    });
    const hourly = context([price('55.04', { incrementSeconds: 3600, minimumSeconds: 0 })]);
    expect(priced({ hours: 1.5 }, hourly)).toMatchObject({ cost: '110.08', billedHours: '2.00' });
  });

  it('takes the peak factor of each hour of the run', () => {
    // Midnight to ten: two hours of 1.5 and eight of 1 are eleven.
    const peak = compilePeak([{ from: '08:00', to: '20:00', factor: '1.5', zone: 'UTC' }]);
    const given = context([price('55.04')], { peak });
    expect(priced({}, given)).toMatchObject({
      cost: '605.44',
      unitPrice: '6.88',
      assumptions: ['the peak schedule applies, with the run beginning now'],
    });
  });

  it('converts by the dated rate, and is none without one', () => {
    expect(priced({ currency: 'EUR' }, p5)).toMatchObject({
      cost: '495.36',
      currency: 'EUR',
      unitPrice: '6.192',
      assumptions: ['converted by the exchange rate of 2026-01-01'],
    });
    expect(refused({ currency: 'CNY' }, p5)).toMatchObject({ unpriced: 'no-fx-rate' });
  });

  it('offers every other term there and cheaper regions, cheapest first', () => {
    const given = context([
      price('55.04'),
      price('60', { region: 'eu-west-1' }),
      price('50', { region: 'us-west-2' }),
      price('40', { region: 'us-east-2' }),
      price('20', { term: 'spot' }),
      price('70', { term: 'savings-plan-1y' }),
      price('1', { sku: 'other' }),
    ]);
    expect(priced({}, given).alternatives.map(({ term, region, cost }) => `${term} ${region} ${cost}`)).toEqual([
      'spot us-east-1 200.00',
      'on-demand us-east-2 400.00',
      'on-demand us-west-2 500.00',
      'savings-plan-1y us-east-1 700.00',
    ]);
  });

  it('takes a GPU model for the cheapest SKU with it', () => {
    const given = context([price('55.04'), price('48', { sku: 'p5e.48xlarge' })]);
    expect(priced({ sku: 'NVIDIA H100' }, given)).toMatchObject({
      sku: 'p5e.48xlarge',
      cost: '480.00',
      assumptions: ['p5e.48xlarge is the cheapest SKU with a H100'],
    });
  });

  it('takes a price of the instant that is asked, known to hold then', () => {
    const given = context([price('98.32', { effectiveFrom: at('2023-08-08T00:00:00Z') }), price('55.04')]);
    expect(priced({}, { ...given, at: at('2025-06-23T13:18:30Z') - HOUR_MS }).cost).toBe('983.20');
    expect(refused({}, { ...given, at: at('2020-01-01') })).toMatchObject({ unpriced: 'before-first-price' });
  });
});

describe('no quote', () => {
  const given = context([
    price('55.04'),
    price('21.96', { sku: 'p4d.24xlarge' }),
    price('1', { sku: 'g5.xlarge', gpus: null }),
    price('9', { provider: 'Matpool', sku: 'a100' }),
  ]);

  it('says why, and what comes close', () => {
    expect(refused({ sku: 'p5.48xlrge' }, given)).toMatchObject({
      unpriced: 'unknown-sku',
      close: ['p5.48xlarge', 'g5.xlarge', 'p4d.24xlarge'],
    });
    expect(refused({ provider: 'matpol' }, given)).toMatchObject({
      unpriced: 'no-price-list',
      close: ['Matpool', 'AWS'],
    });
    expect(refused({ region: 'mars' }, given)).toMatchObject({ unpriced: 'no-region', close: ['us-east-1'] });
    expect(refused({ term: 'spot' }, given)).toMatchObject({ unpriced: 'no-term' });
    expect(refused({ sku: 'g5.xlarge' }, given)).toMatchObject({ unpriced: 'gpu-count-unknown' });
    const a100 = [
      price('1', { sku: 'p4d.24xlarge', gpuModel: 'A100-40GB' }),
      price('2', { sku: 'p4de.24xlarge', gpuModel: 'A100-80GB' }),
    ];
    expect(refused({ sku: 'a100' }, context(a100)).close.slice(0, 2)).toEqual(['A100-40GB', 'A100-80GB']);
    expect(refused({}, context([]))).toEqual({
      unpriced: 'no-price-list',
      message: 'AWS p5.48xlarge: no price list of this provider has been read, and no bundled reference price knows it',
      close: [],
    });
  });

  it('orders names by the edits between them', () => {
    expect(closest('kitten', ['sitting', 'kitchen', 'mitten'])).toEqual(['mitten', 'kitchen', 'sitting']);
  });
});
