/** Reference prices: each has a source and a date, and none stands before a price that was read. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelOf } from '../../../src/core/fleet/gpu-model.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import { quote, type QuoteContext, type QuoteRequest } from '../../../src/core/quote/quote.js';
import { REFERENCE_PRICES, referenceBook } from '../../../src/core/quote/reference-prices.js';
import { quoteRequest } from '../../support/makers.js';

const AT = Date.UTC(2026, 10, 22);
const request = (over: Partial<QuoteRequest> = {}): QuoteRequest =>
  quoteRequest({ provider: 'aws', sku: 'p4d.24xlarge', region: null, ...over });
const context = (prices: readonly Price[]): QuoteContext => ({
  book: new PriceBook({ prices, withdrawals: [] }),
  prices,
  references: { book: referenceBook(), prices: REFERENCE_PRICES },
  fx: new FxTable('USD', []),
  peak: NO_PEAK,
  at: AT,
});
const reference = REFERENCE_PRICES.find(({ sku }) => sku === 'p4d.24xlarge')!;

describe('a reference price', () => {
  it('has its source, its date, a model by its own name, GPUs and a price above zero', () => {
    const slots = new Set<string>();
    for (const price of REFERENCE_PRICES) {
      expect(price.source).toMatch(/^reference: github\.com\/\S+, \d{4}-\d{2}-\d{2}$/);
      expect(modelOf(price.gpuModel ?? '')).toBe(price.gpuModel);
      expect(price.rate.nanos > 0n && (price.gpus ?? 0) > 0 && price.effectiveFrom < AT).toBe(true);
      slots.add(`${price.provider} ${price.sku} ${price.region} ${price.term}`);
    }
    expect(slots.size).toBe(REFERENCE_PRICES.length);
    const models = new Set(REFERENCE_PRICES.map(({ gpuModel }) => gpuModel));
    for (const model of ['T4', 'A10G', 'V100-16GB', 'V100-32GB', 'A100-40GB', 'A100-80GB', 'H100', 'H200'])
      expect(models).toContain(model);
  });

  it('answers a quote where no list was read, and says what it is', () => {
    expect(quote(request(), context([]))).toMatchObject({
      cost: '219.57642',
      currency: 'USD',
      source: 'reference: github.com/aws/karpenter-provider-aws, 2026-07-20',
      assumptions: expect.arrayContaining([expect.stringContaining('reference price')]) as unknown,
    });
    expect(quote(request({ sku: 'H200' }), context([]))).toMatchObject({ sku: 'p5en.48xlarge' });
  });

  it('of Tencent is of its own documentation', () => {
    expect(quote(request({ provider: 'tencent', sku: 'GN10Xp.20XLARGE320' }), context([]))).toMatchObject({
      cost: '137.80',
      currency: 'USD',
      source: 'reference: github.com/tencentyun/intlcloud-documents, 2023-06-30',
    });
  });

  it('has its source and day on the page about the cost model', () => {
    const page = readFileSync(path.resolve('docs/explanation/cost-model.md'), 'utf8');
    for (const { source } of REFERENCE_PRICES) {
      const [where = '', day = ''] = source.replace('reference: ', '').split(', ');
      expect(page.split('\n').find((line) => line.includes(where))).toContain(day);
    }
  });

  it('never stands before a price that was read, nor where a list says that there is none', () => {
    const own: Price = { ...reference, rate: { ...reference.rate, nanos: reference.rate.nanos * 3n }, source: 'mine' };
    expect(quote(request(), context([own]))).toMatchObject({ source: 'mine', cost: '658.72926' });
    expect(quote(request({ term: 'spot' }), context([own]))).toMatchObject({ unpriced: 'no-term' });
    expect(quote(request({ sku: 'p9.huge' }), context([own]))).toMatchObject({ unpriced: 'unknown-sku' });
    const gone = new PriceBook({
      prices: [own],
      withdrawals: [{ provider: 'AWS', sku: own.sku, region: own.region, at: own.effectiveFrom + 1 }],
    });
    expect(quote(request(), { ...context([own]), book: gone })).toMatchObject({ unpriced: 'withdrawn' });
  });
});
