import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cutsWithin,
  priceHour,
  quantitiesWithin,
  type CostContext,
  type CostLine,
  type UnpricedLine,
} from '../../src/core/cost/cost.js';
import { compilePeak, NO_PEAK } from '../../src/core/price/peak.js';
import type { Price, PriceEvent } from '../../src/core/price/price.js';
import { applyPriceEvents, NO_PRICES, PriceBook, type PriceQuery } from '../../src/core/price/price-book.js';
import { DAY_MS, HOUR_MS } from '../../src/core/time.js';
import type { Term, UsageRecord } from '../../src/core/usage.js';
import { metered } from '../support/records.js';
import { gpuPrice } from '../support/makers.js';

const SKUS = ['a', 'b'];
const REGIONS = [null, 'eu', 'us'];
const TERMS: Term[] = ['on-demand', 'spot', 'reserved-1y'];

const instant = fc.integer({ min: 0, max: 40 }).map((half) => half * 12 * HOUR_MS);
const price: fc.Arbitrary<Price> = fc.record({
  provider: fc.constant('AWS'),
  sku: fc.constantFrom(...SKUS),
  region: fc.constantFrom(...REGIONS),
  term: fc.constantFrom(...TERMS),
  upfront: fc.constantFrom('none' as const, 'all' as const),
  component: fc.constant('gpu' as const),
  gpuModel: fc.constantFrom('H100', 'A100', null),
  gpus: fc.constantFrom(null, 1, 8),
  rate: fc
    .bigInt({ min: 1n, max: 10n ** 12n })
    .map((nanos) => ({ nanos, currency: 'USD', quantity: 3600n, unit: 'gpu-second' as const })),
  effectiveFrom: instant,
  effectiveTo: fc.option(instant, { freq: 4 }),
  incrementSeconds: fc.constant(1),
  minimumSeconds: fc.constant(0),
  source: fc.constantFrom('x', 'y'),
});
const event: fc.Arbitrary<PriceEvent> = fc.oneof(
  { weight: 3, arbitrary: price.map((one): PriceEvent => ({ kind: 'price', price: one })) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('withdrawn' as const),
      provider: fc.constant('AWS'),
      sku: fc.constantFrom(...SKUS),
      region: fc.constantFrom(...REGIONS),
      at: instant,
    }),
  },
);
const query: fc.Arbitrary<PriceQuery> = fc.record({
  provider: fc.constant('AWS'),
  sku: fc.constantFrom(...SKUS, null),
  gpuModel: fc.constantFrom('H100', 'A100', null),
  region: fc.constantFrom(...REGIONS, 'mars'),
  term: fc.constantFrom(...TERMS, null),
  component: fc.constant('gpu' as const),
});
const record = (start: number, end: number, gpuParts: number): UsageRecord =>
  metered('r', { account: null, sku: null, region: null, term: null, start, end, gpuParts });
const horizon = 25 * DAY_MS;

/** Prices [start, end) of one record in one go, cut where prices and peaks change. */
function lines(
  used: UsageRecord,
  ask: PriceQuery,
  context: CostContext,
  start: number,
  end: number,
): (CostLine | UnpricedLine)[] {
  const bounds = [start, ...cutsWithin(ask, start, end, context), end];
  return priceHour(
    't',
    ask,
    bounds.slice(1).map((bound, index) => quantitiesWithin([used], bounds[index] ?? start, bound)),
    context,
  );
}
const context = (book: PriceBook): CostContext => ({ book, peak: NO_PEAK, currency: null, fx: null });
const sum = <T>(list: readonly T[], of: (one: T) => bigint): bigint => list.reduce((total, one) => total + of(one), 0n);

describe('a price history', () => {
  it('is the same in any order, in any portions and with repeats', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 12 }),
        fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
        fc.nat(12),
        (events, keys, cut) => {
          const once = applyPriceEvents(NO_PRICES, events);
          const shuffled = events
            .map((one, index) => ({ one, key: keys[index] ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ one }) => one);
          const twice = applyPriceEvents(applyPriceEvents(NO_PRICES, shuffled.slice(0, cut)), [
            ...shuffled.slice(cut),
            ...shuffled,
          ]);
          expect(twice).toEqual(once);
        },
      ),
    );
  });

  it('answers the same whatever the order in which a book reads it', () => {
    fc.assert(
      fc.property(fc.array(price, { maxLength: 10 }), query, (prices, ask) => {
        const show = (list: Price[]) => new PriceBook({ prices: list, withdrawals: [] }).intervals(ask, 0, horizon);
        expect(show([...prices].reverse())).toEqual(show(prices));
      }),
    );
  });

  it('gives pieces that tile the time, each with what `find` answers in it', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), query, (events, ask) => {
        const book = new PriceBook(applyPriceEvents(NO_PRICES, events));
        const pieces = book.intervals(ask, 0, horizon);
        expect(pieces[0]?.start).toBe(0);
        expect(pieces.at(-1)?.end).toBe(horizon);
        pieces.forEach((piece, index) => {
          if (index > 0) expect(piece.start).toBe(pieces[index - 1]?.end);
          for (const at of [piece.start, piece.end - 1]) expect(book.find({ ...ask, at })).toBe(piece.found);
        });
      }),
    );
  });

  it('a priced answer fits the question: component, term, region, SKU or model, and its own time', () => {
    fc.assert(
      fc.property(fc.array(price, { maxLength: 12 }), query, (prices, ask) => {
        for (const { start, end, found } of new PriceBook({ prices, withdrawals: [] }).intervals(ask, 0, horizon)) {
          if ('unpriced' in found) continue;
          const one = found.price;
          expect(one.term).toBe(ask.term ?? 'on-demand');
          expect(one.gpus).not.toBeNull();
          expect(ask.region === null || one.region === null || one.region === ask.region).toBe(true);
          expect(ask.sku === null ? one.gpuModel === ask.gpuModel : one.sku === ask.sku).toBe(true);
          expect(one.effectiveFrom <= start && end <= (one.effectiveTo ?? Infinity)).toBe(true);
        }
      }),
    );
  });
});

describe('removing a price', () => {
  it('never lowers the unpriced quantity', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 10 }), fc.nat(), query, (events, pick, ask) => {
        const history = applyPriceEvents(NO_PRICES, events);
        fc.pre(history.prices.length > 0);
        const less = {
          ...history,
          prices: history.prices.filter((_, index) => index !== pick % history.prices.length),
        };
        const used = record(0, horizon, 7000);
        const unpriced = (book: PriceBook): bigint =>
          sum(lines(used, ask, context(book), 0, horizon), (line) =>
            line.kind === 'unpriced' ? (line.quantity ?? 0n) : 0n,
          );
        expect(unpriced(new PriceBook(less)) >= unpriced(new PriceBook(history))).toBe(true);
      }),
    );
  });
});

describe('cost lines', () => {
  const peak = compilePeak([
    { from: '00:30', to: '00:47', zone: 'UTC', factor: '1.5' },
    { from: '13:00', zone: 'Asia/Kolkata', factor: '0.7' },
  ]);

  it('hold every quantity that came in, priced or not', () => {
    fc.assert(
      fc.property(
        fc.array(price, { maxLength: 8 }),
        query,
        fc.nat(horizon / HOUR_MS - 1),
        fc.integer({ min: 1, max: 70_000 }),
        (prices, ask, hour, gpuParts) => {
          const start = hour * HOUR_MS;
          const all = lines(
            record(start, start + HOUR_MS, gpuParts),
            ask,
            { ...context(new PriceBook({ prices, withdrawals: [] })), peak },
            start,
            start + HOUR_MS,
          );
          expect(sum(all, (line) => line.quantity ?? 0n)).toBe(BigInt(gpuParts) * BigInt(HOUR_MS));
        },
      ),
    );
  });

  it('do not depend on where else an hour is cut', () => {
    fc.assert(
      fc.property(
        fc.array(price, { minLength: 1, maxLength: 8 }),
        query,
        fc.nat(horizon / HOUR_MS - 1),
        fc.array(fc.integer({ min: 1, max: HOUR_MS - 1 }), { maxLength: 4 }),
        (prices, ask, hour, extra) => {
          const start = hour * HOUR_MS;
          const ctx = { ...context(new PriceBook({ prices, withdrawals: [] })), peak };
          const used = record(start - 500, start + HOUR_MS - 1234, 4321);
          const bounds = [
            ...new Set([
              start,
              ...cutsWithin(ask, start, start + HOUR_MS, ctx),
              ...extra.map((ms) => start + ms),
              start + HOUR_MS,
            ]),
          ].sort((a, b) => a - b);
          const finer = priceHour(
            't',
            ask,
            bounds.slice(1).map((bound, index) => quantitiesWithin([used], bounds[index] ?? start, bound)),
            ctx,
          );
          const strip = (list: (CostLine | UnpricedLine)[]) => list.map((line) => ({ ...line, basis: null }));
          expect(strip(finer)).toEqual(strip(lines(used, ask, ctx, start, start + HOUR_MS)));
        },
      ),
    );
  });

  it('cost what a sum of records costs: shares of a GPU priced together are the GPU', () => {
    const one: Price = gpuPrice({
      sku: 'a',
      region: null,
      gpuModel: null,
      rate: { nanos: 55_040_000_001n, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' },
      effectiveFrom: 0,
      minimumSeconds: 0,
      source: 's',
    });
    const ask: PriceQuery = {
      provider: 'AWS',
      sku: 'a',
      gpuModel: null,
      region: 'eu',
      term: 'on-demand',
      component: 'gpu',
    };
    const ctx = context(new PriceBook({ prices: [one], withdrawals: [] }));
    const cost = (parts: number[]) =>
      priceHour(
        't',
        ask,
        [
          quantitiesWithin(
            parts.map((part) => record(0, HOUR_MS, part)),
            0,
            HOUR_MS,
          ),
        ],
        ctx,
      )[0] as CostLine;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6999 }), { minLength: 1, maxLength: 6 }), (cuts) => {
        const bounds = [...new Set([0, ...cuts, 7000])].sort((a, b) => a - b);
        expect(cost(bounds.slice(1).map((bound, index) => bound - (bounds[index] ?? 0))).nanos).toBe(
          cost([7000]).nanos,
        );
      }),
    );
  });
});
