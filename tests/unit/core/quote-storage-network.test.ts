/**
 * Quotes of runs that hold storage and send traffic besides their GPUs, against hand-reckoned figures; and what has no
 * price, which is never free.
 */
import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import { rateOf, type Rate } from '../../../src/core/money.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { compilePeak, NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import {
  quote,
  quoteInDetail,
  type NoQuote,
  type Quote,
  type QuoteContext,
  type QuoteDetail,
  type QuoteRequest,
} from '../../../src/core/quote/quote.js';
import { HOUR_MS } from '../../../src/core/time.js';
import { gpuPrice, quoteRequest } from '../../support/makers.js';

const AT = Date.UTC(2026, 9, 5);
const DAY_MS = 24 * HOUR_MS;
const rate = (text: string, quantity: bigint, unit: Rate['unit'], currency = 'USD'): Rate =>
  rateOf(parseDecimal(text) ?? { unscaled: 0n, scale: 0 }, currency, quantity, unit);
const price = (over: Partial<Price>): Price =>
  gpuPrice({ rate: rate('3.68', 8n * 3600n, 'gpu-second'), effectiveFrom: 0, source: 'list', ...over });
const besides = (component: 'storage' | 'network', over: Partial<Price> = {}): Price =>
  price({ sku: '*', component, gpuModel: null, gpus: null, ...over });
/** 0.50 USD for a GiB over 720 hours, 0.09 USD for a GiB that leaves. */
const STORAGE = besides('storage', { rate: rate('0.5', 720n * 3600n, 'gib-second') });
const NETWORK = besides('network', { rate: rate('0.09', 1n, 'gib') });

const context = (prices: readonly Price[], over: Partial<QuoteContext> = {}): QuoteContext => ({
  prices,
  book: new PriceBook({ prices, withdrawals: [] }),
  peak: NO_PEAK,
  at: AT,
  fx: new FxTable('USD', [{ day: '2026-01-01', currency: 'EUR', perBase: { unscaled: 8n, scale: 1 } }]),
  ...over,
});
const request: QuoteRequest = quoteRequest({ provider: 'aws', hours: 720 });
const priced = (over: Partial<QuoteRequest>, given: QuoteContext): Quote =>
  quote({ ...request, ...over }, given) as Quote;
const refused = (over: Partial<QuoteRequest>, given: QuoteContext): NoQuote =>
  quote({ ...request, ...over }, given) as NoQuote;

describe('the cost model in a quote', () => {
  it('(720 h x (8 x $0.46) + $500 storage) x 1.15 = $3,622.04', () => {
    const given = context([price({}), STORAGE], { peak: compilePeak([{ zone: 'UTC', factor: '1.15' }]) });
    const { cost, parts, unitPrice, interval } = priced({ storageGib: 1000 }, given);
    expect({ cost, parts, unitPrice }).toEqual({
      cost: '3622.04',
      parts: { gpu: '3047.04', storage: '575.00', network: null },
      unitPrice: '0.46',
    });
    expect([interval.low, interval.high]).toEqual(['3622.04', '3622.04']);
  });

  it('multiplies what leaves by the mean factor of the hours over which it leaves', () => {
    // Ten hours from midnight: eight of 1, two of 1.5, so 1.1 on average. 36.80 + 0.09 x 30 + 0.5 x 72 / 72.
    const given = context([price({}), STORAGE, NETWORK], {
      peak: compilePeak([{ from: '08:00', to: '20:00', factor: '1.5', zone: 'UTC' }]),
    });
    expect(priced({ hours: 10, storageGib: 72, networkGib: 30 }, given)).toMatchObject({
      cost: '44.00',
      parts: { gpu: '40.48', storage: '0.55', network: '2.97' },
      assumptions: [
        'the storage is kept for as long as the GPUs are billed',
        'the traffic leaves evenly over the run',
        'the peak schedule applies, with the run beginning now',
      ],
    });
  });

  it('is what it was where nothing is asked besides', () => {
    const given = context([price({}), STORAGE, NETWORK]);
    expect(priced({}, given)).toMatchObject({
      cost: '2649.60',
      parts: { gpu: '2649.60', storage: null, network: null },
      assumptions: [],
    });
    expect(priced({ storageGib: 0, networkGib: null }, given)).toEqual(priced({}, given));
  });

  it('converts prices in other currencies into that of the quote', () => {
    const euro = besides('network', { rate: rate('0.08', 1n, 'gib', 'EUR') });
    expect(priced({ hours: 1, networkGib: 10 }, context([price({}), euro])).parts).toEqual({
      gpu: '3.68',
      storage: null,
      network: '1.00',
    });
    expect(priced({ hours: 1, networkGib: 10, currency: 'EUR' }, context([price({}), euro]))).toMatchObject({
      cost: '3.744',
      parts: { gpu: '2.944', network: '0.80' },
    });
  });

  it('holds storage longer in a longer run, and sends as much', () => {
    const { interval } = priced(
      { hours: 72, hoursLow: 36, hoursHigh: 144, storageGib: 100, networkGib: 100 },
      context([price({}), STORAGE, NETWORK]),
    );
    // 3.68 x 36 + 100 x 0.5 / 20 + 9; 3.68 x 144 + 100 x 0.5 / 5 + 9.
    expect([interval.low, interval.high]).toEqual(['143.98', '548.92']);
  });

  it('divides over time without a rest', () => {
    const { costWithin } = quoteInDetail(
      { ...request, hours: 72, storageGib: 100, networkGib: 100 },
      context([price({}), STORAGE, NETWORK]),
    ) as QuoteDetail;
    // Of 3.68 x 72 + 5 + 9, the first of three days and the whole; nothing before it begins.
    expect([costWithin(0), costWithin(DAY_MS), costWithin()].map(({ expected }) => expected)).toEqual([
      0n,
      92_986_666_667n,
      278_960_000_000n,
    ]);
  });

  it('bills storage by the seller’s increment, as the GPUs that hold it', () => {
    const hourly = price({ incrementSeconds: 3600, minimumSeconds: 0 });
    expect(priced({ hours: 0.5, storageGib: 720 }, context([hourly, STORAGE])).parts).toEqual({
      gpu: '3.68',
      storage: '0.50',
      network: null,
    });
  });
});

describe('what has no price', () => {
  it.each([
    [
      'is told from what is free',
      { storageGib: 1 },
      [price({})],
      'AWS p5.48xlarge: its storage has no current price there (the price lists do not say what it costs)',
    ],
    [
      'of another region is none',
      { networkGib: 1 },
      [price({}), besides('network', { ...NETWORK, region: 'eu-west-1' })],
      'AWS p5.48xlarge: its network has no current price there (the SKU is not sold in this region)',
    ],
    [
      'in a currency without a rate is none',
      { networkGib: 1 },
      [price({}), besides('network', { rate: rate('1', 1n, 'gib', 'CNY') })],
      'AWS p5.48xlarge: its network has no current price there (there is no exchange rate to this currency)',
    ],
  ])('%s', (_, over, prices, message) => expect(refused(over, context(prices))).toMatchObject({ message, close: [] }));

  it('keeps another place from standing beside the quote', () => {
    const cheaper = price({ region: 'us-west-2', rate: rate('1', 8n * 3600n, 'gpu-second') });
    const here = besides('storage', { ...STORAGE, region: 'us-east-1' });
    const there = besides('storage', { ...STORAGE, region: 'us-west-2' });
    const alternatives = (prices: readonly Price[]): readonly (string | null)[][] =>
      priced({ hours: 1, storageGib: 720 }, context(prices)).alternatives.map(({ region, cost }) => [region, cost]);
    expect(alternatives([price({}), cheaper, here])).toEqual([]);
    expect(alternatives([price({}), cheaper, here, there])).toEqual([['us-west-2', '1.50']]);
  });

  it('names every number that cannot be', () => {
    expect(() => quote({ ...request, storageGib: -1, networkGib: 2e9 }, context([price({})]))).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        problems: [
          { path: 'storageGib', message: 'is not from 0 to 1000000000' },
          { path: 'networkGib', message: 'is not from 0 to 1000000000' },
        ],
      }),
    );
  });
});

describe("the storage's own SKU", () => {
  /** A GiB for the 744 hours of October. */
  const disk = (kind: string, monthly: string, over: Partial<Price> = {}): Price =>
    besides('storage', { sku: `EBS:VolumeUsage.${kind}`, rate: rate(monthly, 744n * 3600n, 'gib-second'), ...over });
  const DISKS = [disk('gp3', '0.08'), disk('io2', '0.125'), disk('sc1', '0.015')];
  const run = { hours: 744, storageGib: 500 };

  it('is found by its last word, in the region of the machines', () => {
    const elsewhere = disk('gp3', '0.09', { region: 'eu-west-1' });
    const given = context([price({}), ...DISKS, elsewhere]);
    // 3.68 x 744, and 500 GiB at 0.08.
    expect(priced({ ...run, storageSku: 'gp3' }, given)).toMatchObject({
      cost: '2777.92',
      parts: { gpu: '2737.92', storage: '40.00', network: null },
      storageSku: 'EBS:VolumeUsage.gp3',
      assumptions: ['the storage is kept for as long as the GPUs are billed'],
    });
    expect(priced({ ...run, storageSku: 'EBS:VolumeUsage.sc1' }, given).parts.storage).toBe('7.50');
  });

  it('that nobody names is the dearest that is sold there, and says what else is', () => {
    expect(priced(run, context([price({}), ...DISKS]))).toMatchObject({
      parts: { storage: '62.50' },
      storageSku: 'EBS:VolumeUsage.io2',
      assumptions: [
        'the storage is kept for as long as the GPUs are billed',
        'the storage is EBS:VolumeUsage.io2, the dearest of the 3 kinds that are sold there: name another (EBS:VolumeUsage.gp3, EBS:VolumeUsage.sc1)',
      ],
    });
    // The only one needs no words; a general price goes before all.
    expect(priced(run, context([price({}), disk('gp3', '0.08')]))).toMatchObject({
      storageSku: 'EBS:VolumeUsage.gp3',
      assumptions: ['the storage is kept for as long as the GPUs are billed'],
    });
    expect(priced(run, context([price({}), ...DISKS, STORAGE]))).toMatchObject({ storageSku: null });
  });

  it('that is not sold there is no guess, but what is', () => {
    const given = context([price({}), ...DISKS]);
    expect(refused({ ...run, storageSku: 'gp4' }, given)).toEqual({
      unpriced: 'unknown-sku',
      message: 'AWS p5.48xlarge: no single kind of storage that is sold there has this name',
      close: ['EBS:VolumeUsage.gp3', 'EBS:VolumeUsage.io2', 'EBS:VolumeUsage.sc1'],
    });
    // The price of a machine's own storage is not for sale to another machine, nor that of another region.
    const own = besides('storage', { ...STORAGE, sku: 'g5.xlarge' });
    const prices = [price({}), price({ sku: 'g5.xlarge' }), own, disk('gp3', '0.08', { region: 'eu-west-1' })];
    expect(refused(run, context(prices))).toMatchObject({ unpriced: 'no-component', close: [] });
    expect(() => quote({ ...request, storageSku: 'gp3' }, given)).toThrow(
      expect.objectContaining({ problems: [expect.objectContaining({ path: 'storageSku' })] }),
    );
  });
});
