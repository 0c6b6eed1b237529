/**
 * Spot prices of regions from those of their zones: the dearest that is known, at every change, whatever order they
 * come to be known in.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareRates, PriceBook } from '../../../src/core/price/price-book.js';
import type { Price, PriceEvent } from '../../../src/core/price/price.js';
import { regionalSpotPrices } from '../../../src/core/price/spot-reading.js';
import { instancePrice } from '../../support/bursar.js';

const T0 = Date.UTC(2026, 9, 1);
const MINUTE = 60_000;
const SOURCE = 'aws spot history';
const onDemand = instancePrice('98');
const zone = (
  letter: string,
  minute: number,
  hourly: string,
  over: Partial<Pick<Price, 'region' | 'source'>> = {},
): Price =>
  instancePrice(hourly, {
    term: 'spot',
    region: `us-east-1${letter}`,
    effectiveFrom: T0 + minute * MINUTE,
    source: SOURCE,
    ...over,
  });
const events = (...prices: Price[]): PriceEvent[] => prices.map((price) => ({ kind: 'price', price }));
const pricesOf = (made: readonly PriceEvent[]): Price[] =>
  made.flatMap((event) => (event.kind === 'price' ? [event.price] : []));
const brief = (made: readonly PriceEvent[]) =>
  pricesOf(made).map(({ region, effectiveFrom, rate }) => [
    region,
    (effectiveFrom - T0) / MINUTE,
    Number(rate.nanos) / 1e9,
  ]);

describe('the spot price of a region', () => {
  it('is that of its dearest zone, from each change on', () => {
    const fresh = events(
      zone('a', 0, '20'),
      zone('b', 10, '30'),
      zone('a', 20, '25'),
      zone('b', 30, '10'),
      zone('a', 40, '9'),
      zone('b', 40, '8'),
    );
    expect(brief(regionalSpotPrices([onDemand], fresh, SOURCE))).toEqual([
      ['us-east-1', 0, 20],
      ['us-east-1', 10, 30],
      ['us-east-1', 30, 25],
      ['us-east-1', 40, 9],
    ]);
  });

  it('is none of what has no such zones, is not sold there, or is of a price list', () => {
    expect(regionalSpotPrices([], events(zone('a', 0, '20')), SOURCE)).toEqual([]);
    expect(regionalSpotPrices([onDemand], events(zone('a', 0, '20', { source: 'a list' })), SOURCE)).toEqual([]);
    for (const region of ['us-east-1', 'fake-east', 'us-east-1-bos-1a', null])
      expect(regionalSpotPrices([onDemand], events(zone('a', 0, '20', { region })), SOURCE)).toEqual([]);
  });

  it('goes on from what is known, and says again where a zone that is known late shows that too little was said', () => {
    const known = [
      onDemand,
      zone('a', 0, '20'),
      ...pricesOf(regionalSpotPrices([onDemand], events(zone('a', 0, '20')), SOURCE)),
    ];
    expect(brief(regionalSpotPrices(known, events(zone('a', 60, '21')), SOURCE))).toEqual([['us-east-1', 60, 21]]);
    // At 60 the region was said to cost 21, and zone b had cost 40 since 30.
    const more = [
      ...known,
      zone('a', 60, '21'),
      ...pricesOf(regionalSpotPrices(known, events(zone('a', 60, '21')), SOURCE)),
    ];
    expect(brief(regionalSpotPrices(more, events(zone('b', 30, '40')), SOURCE))).toEqual([
      ['us-east-1', 30, 40],
      ['us-east-1', 60, 40],
    ]);
  });

  it('is, in the book, never below any zone, in whatever portions the zones come', () => {
    const drawn = fc.array(
      fc.record({
        letter: fc.constantFrom('a', 'b', 'c'),
        minute: fc.integer({ min: 0, max: 12 }),
        hourly: fc.integer({ min: 1, max: 9 }),
      }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(drawn, fc.integer({ min: 1, max: 5 }), (all, portion) => {
        const known: Price[] = [onDemand];
        const zones = all.map(({ letter, minute, hourly }) => zone(letter, minute, String(hourly)));
        for (let at = 0; at < zones.length; at += portion) {
          const fresh = events(...zones.slice(at, at + portion));
          const made = regionalSpotPrices(known, fresh, SOURCE);
          known.push(...pricesOf(fresh), ...pricesOf(made));
        }
        const book = new PriceBook({ prices: known, withdrawals: [] });
        const at = (region: string, minute: number): Price | null => {
          const found = book.find({
            provider: 'AWS',
            sku: 'p5.48xlarge',
            gpuModel: null,
            region,
            term: 'spot',
            component: 'gpu',
            at: T0 + minute * MINUTE,
          });
          return 'unpriced' in found ? null : found.price;
        };
        for (let minute = 0; minute <= 12; minute++) {
          const region = at('us-east-1', minute);
          const ofZones = ['a', 'b', 'c'].flatMap((letter) => at(`us-east-1${letter}`, minute) ?? []);
          expect(region === null).toBe(ofZones.length === 0);
          if (region === null) continue;
          for (const one of ofZones) expect(compareRates(region.rate, one.rate)).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 300 },
    );
  });
});
