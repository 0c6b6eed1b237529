import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FxTable } from '../../src/core/price/fx.js';
import type { Price } from '../../src/core/price/price.js';
import { cheapestCover, type CoverItem } from '../../src/planning/placement/cover.js';
import { cheapestOnDemand, place, singleCloud } from '../../src/planning/placement/placement.js';
import type { Market, Workload } from '../../src/planning/placement/workload.js';

const settings = { numRuns: 300 };

/** Every choice of units up to what alone covers the need. */
function bruteForce(items: readonly CoverItem[], need: number, steadyNeed: number): bigint | null {
  let best: bigint | null = null;
  const walk = (index: number, capacity: number, steady: number, cost: bigint): void => {
    if (capacity >= need && steady >= steadyNeed && (best === null || cost < best)) best = cost;
    const item = items[index];
    if (item === undefined) return;
    for (let units = 0; units <= Math.min(item.limit, Math.ceil(need / item.capacity)); units++) {
      walk(
        index + 1,
        capacity + units * item.capacity,
        steady + (item.steady ? units * item.capacity : 0),
        cost + BigInt(units) * item.cost,
      );
    }
  };
  walk(0, 0, 0, 0n);
  return best;
}

const item: fc.Arbitrary<CoverItem> = fc.record({
  capacity: fc.integer({ min: 1, max: 9 }),
  cost: fc.bigInt({ min: 0n, max: 40n }),
  limit: fc.constantFrom(0, 1, 2, 3, Infinity),
  steady: fc.boolean(),
});

const price: fc.Arbitrary<Price> = fc.record({
  provider: fc.constantFrom('AWS', 'Oracle', 'Matpool'),
  sku: fc.constantFrom('a', 'b', 'c'),
  region: fc.constantFrom('x', 'y', null),
  term: fc.constantFrom('on-demand', 'spot', 'reserved-1y'),
  upfront: fc.constant('none'),
  component: fc.constantFrom('gpu', 'gpu', 'gpu', 'network'),
  gpuModel: fc.constantFrom('H100', 'T4', 'A100', null),
  gpus: fc.constantFrom(1, 2, 4, 8, null),
  rate: fc.record({
    nanos: fc.bigInt({ min: 0n, max: 10_000_000_000n }),
    currency: fc.constantFrom('USD', 'USD', 'EUR'),
    quantity: fc.constant(3600n),
    unit: fc.constant('gpu-second'),
  }),
  effectiveFrom: fc.constant(0),
  effectiveTo: fc.constant(null),
  incrementSeconds: fc.constantFrom(1, 3600),
  minimumSeconds: fc.constant(60),
  source: fc.constant('made'),
}) as fc.Arbitrary<Price>;

const workload: fc.Arbitrary<Workload> = fc.record({
  kind: fc.constantFrom('training', 'inference'),
  memoryGibPerGpu: fc.constantFrom(8, 40),
  gpus: fc.integer({ min: 1, max: 12 }),
  hours: fc.double({ min: 0.01, max: 100, noNaN: true }),
  spotShareMax: fc.constantFrom(0, 0.3, 1),
  restOfTermUsed: fc.boolean(),
  egressGib: fc.constantFrom(0, 2.5),
  relativeSpeeds: fc.constantFrom(undefined, { H100: 1, T4: 0.15 }),
});

const marketOf = (prices: readonly Price[]): Market => ({
  history: { prices, withdrawals: [] },
  fx: new FxTable('USD', []),
  currency: 'USD',
  at: 1,
});

describe('placement', () => {
  it('solves the integer program as brute force does, with units that add up', () => {
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 4 }),
        fc.integer({ min: 1, max: 14 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (items, need, share) => {
          const steadyNeed = Math.ceil(need * share);
          const found = cheapestCover(items, need, steadyNeed);
          expect(found?.cost ?? null).toBe(bruteForce(items, need, steadyNeed));
          if (found === null) return;
          const sum = (of: (one: CoverItem) => number): number =>
            items.reduce((total, one, i) => total + of(one) * found.units[i]!, 0);
          expect(sum(({ capacity }) => capacity)).toBeGreaterThanOrEqual(need);
          expect(sum(({ capacity, steady }) => (steady ? capacity : 0))).toBeGreaterThanOrEqual(steadyNeed);
          items.forEach(({ limit }, i) => expect(found.units[i]).toBeLessThanOrEqual(limit));
          expect(items.reduce((total, { cost }, i) => total + cost * BigInt(found.units[i]!), 0n)).toBe(found.cost);
        },
      ),
      settings,
    );
  });

  it('is never dearer than an option, an opponent or itself with fewer prices, and explains every price that lost', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(price, {
          maxLength: 8,
          selector: ({ provider, sku, region, term, component }) => [provider, sku, region, term, component].join(),
        }),
        workload,
        (prices, asked) => {
          const market = marketOf(prices);
          const { best, options } = place(asked, market);
          expect(options.map((option) => option.price).sort(byIndex(prices))).toEqual(
            prices.filter(({ component }) => component === 'gpu'),
          );
          expect(new Set(options.map((option) => option.price)).size).toBe(options.length);
          const chosen = best?.parts.length === 1 ? best.parts[0]!.price : null;
          for (const option of options) {
            if (option.losses.length === 0) expect(option.price).toBe(chosen);
            if (option.plan !== null) expect(option.plan.cost.nanos >= best!.cost.nanos).toBe(true);
          }
          const rivals = [
            cheapestOnDemand(asked, market),
            ...['AWS', 'Oracle', 'Matpool'].map((provider) => singleCloud(provider, asked, market)),
            place(asked, marketOf(prices.slice(1))).best,
          ];
          for (const rival of rivals) if (rival !== null) expect(rival.cost.nanos >= best!.cost.nanos).toBe(true);
        },
      ),
      settings,
    );
  });
});

const byIndex =
  (prices: readonly Price[]) =>
  (a: Price, b: Price): number =>
    prices.indexOf(a) - prices.indexOf(b);
