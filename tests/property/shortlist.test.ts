/**
 * A shortlist is the placement's own beginning: what is left out for speed is never what belongs into it, to the nano.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FxTable } from '../../src/core/price/fx.js';
import { formatMoney } from '../../src/core/money.js';
import type { Price } from '../../src/core/price/price.js';
import { candidatesOf } from '../../src/planning/placement/candidates.js';
import { cheapestCover } from '../../src/planning/placement/cover.js';
import { place, placeShort } from '../../src/planning/placement/placement.js';
import { shortlist } from '../../src/planning/placement/shortlist.js';
import type { Market, Workload } from '../../src/planning/placement/workload.js';

/** Many of them cost the same, or differ by a nano. */
const price: fc.Arbitrary<Omit<Price, 'sku'>> = fc.record({
  provider: fc.constantFrom('AWS', 'Oracle'),
  region: fc.constantFrom('x', null),
  term: fc.constantFrom('on-demand', 'spot'),
  upfront: fc.constant('none'),
  component: fc.constant('gpu'),
  gpuModel: fc.constantFrom('H100', 'T4', null),
  gpus: fc.constantFrom(1, 2, 4, 8),
  rate: fc.record({
    nanos: fc.constantFrom(
      1n,
      2n,
      999_999_999n,
      1_000_000_000n,
      1_000_000_001n,
      7_000_000_000n,
      90_071_992_547_409_931n,
    ),
    currency: fc.constantFrom('USD', 'EUR'),
    quantity: fc.constantFrom(1n, 3600n),
    unit: fc.constant('gpu-second'),
  }),
  effectiveFrom: fc.constant(0),
  effectiveTo: fc.constant(null),
  incrementSeconds: fc.constant(1),
  minimumSeconds: fc.constant(60),
  source: fc.constant('made'),
}) as fc.Arbitrary<Omit<Price, 'sku'>>;
const prices = fc
  .array(price, { maxLength: 25 })
  .map((all) => all.map((one, n): Price => ({ ...one, sku: `sku-${n}` })));
const workload: fc.Arbitrary<Workload> = fc.record({
  kind: fc.constantFrom('training', 'inference'),
  memoryGibPerGpu: fc.constantFrom(8, 40),
  gpus: fc.integer({ min: 1, max: 12 }),
  hours: fc.constantFrom(0.5, 1, 33.333),
  spotShareMax: fc.constantFrom(0, 0.3, 1),
  restOfTermUsed: fc.constant(false),
});
const marketOf = (all: readonly Price[]): Market => ({
  history: { prices: all, withdrawals: [] },
  fx: new FxTable('USD', [{ day: '1970-01-01', currency: 'EUR', perBase: { unscaled: 3n, scale: 1 } }]),
  currency: 'USD',
  at: 1,
});

describe('a shortlist', () => {
  it('has the best and the first runners-up of the whole placement', () => {
    fc.assert(
      fc.property(prices, workload, fc.integer({ min: 0, max: 6 }), (all, asked, most) => {
        const [whole, short] = [place(asked, marketOf(all)), placeShort(asked, marketOf(all), most)];
        const able = whole.options.filter(({ plan, losses }) => plan !== null && losses.length > 0);
        expect(short.best).toEqual(whole.best);
        expect(short.runnersUp).toEqual(able.slice(0, most));
        expect(short.more).toBe(able.length - short.runnersUp.length);
        expect([...short.unable, ...short.refused].map((one) => one.price)).toEqual(
          whole.options.filter(({ plan }) => plan === null).map((one) => one.price),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('is the same whatever was asked before of the same prices', () => {
    const bound = fc.record({
      deadlineHours: fc.constantFrom(undefined, 0.7, 50),
      relativeSpeeds: fc.constantFrom(undefined, { H100: 1, T4: 0.4 }),
      egressGib: fc.constantFrom(0, 3),
      models: fc.constantFrom(undefined, ['T4']),
    });
    const many = fc.array(fc.record({ asked: workload, bound, hasRates: fc.boolean() }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(prices, many, (all, questions) => {
        const { history } = marketOf(all);
        for (const {
          asked,
          bound: { deadlineHours, relativeSpeeds, egressGib, models },
          hasRates,
        } of questions) {
          const full: Workload = {
            ...asked,
            egressGib,
            ...(deadlineHours === undefined ? {} : { deadlineHours }),
            ...(relativeSpeeds === undefined ? {} : { relativeSpeeds }),
            ...(models === undefined ? {} : { models }),
          };
          const { fx } = marketOf(all);
          const market: Market = { ...marketOf(all), fx: hasRates ? fx : new FxTable('USD', []) };
          expect(shortlist(full, { ...market, history }, 4)).toEqual(shortlist(full, market, 4));
          expect(place(full, { ...market, history })).toEqual(place(full, market));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('does not count the best as one more, where another that costs the same comes first', () => {
    const one = {
      provider: 'AWS',
      region: 'x',
      upfront: 'none',
      component: 'gpu',
      gpuModel: 'H100',
      gpus: 1,
      rate: { nanos: 1n, currency: 'USD', quantity: 1n, unit: 'gpu-second' },
      effectiveFrom: 0,
      effectiveTo: null,
      incrementSeconds: 1,
      minimumSeconds: 60,
      source: 'made',
    } as const;
    const market = marketOf([
      { ...one, sku: 'sku-0', term: 'on-demand' },
      { ...one, sku: 'sku-1', term: 'spot' },
    ]);
    const asked: Workload = {
      kind: 'inference',
      memoryGibPerGpu: 8,
      gpus: 1,
      hours: 0.5,
      spotShareMax: 1,
      restOfTermUsed: false,
    };
    expect(placeShort(asked, market, 0)).toMatchObject({ runnersUp: [], more: 1 });
    expect(placeShort(asked, market, 1)).toMatchObject({ runnersUp: [{ losses: [{ kind: 'equal' }] }], more: 0 });
  });

  it('has a mix as cheap as that of all prices', () => {
    fc.assert(
      fc.property(prices, workload, (all, given) => {
        const asked: Workload = { ...given, kind: 'inference' };
        const items = candidatesOf(asked, marketOf(all)).able.map(
          ({ capacityMilli, unitCost, unitLimit, price: { term } }) => ({
            capacity: capacityMilli,
            cost: unitCost.nanos,
            limit: unitLimit,
            steady: term !== 'spot',
          }),
        );
        const steady = Math.ceil(asked.gpus * (1 - asked.spotShareMax) - 1e-9) * 1000;
        expect(place(asked, marketOf(all)).best?.cost.nanos ?? null).toBe(
          cheapestCover(items, asked.gpus * 1000, steady)?.cost ?? null,
        );
      }),
      { numRuns: 300 },
    );
  });

  it('counts the reasons of those that cannot, with an example of each', () => {
    fc.assert(
      fc.property(prices, workload, (all, asked) => {
        const answer = shortlist(asked, marketOf(all), 3);
        const whole = place(asked, marketOf(all));
        const kinds = whole.options
          .filter(({ plan }) => plan === null)
          .flatMap(({ losses }) => losses.map(({ kind }) => kind));
        expect(answer.refused.reduce((sum, { count }) => sum + count, 0)).toBe(kinds.length);
        expect(new Set(answer.refused.map(({ kind }) => kind))).toEqual(new Set(kinds));
        expect(answer.best?.cost ?? null).toBe(whole.best === null ? null : formatMoney(whole.best.cost));
        for (const { lost } of answer.runnersUp) expect(lost.length).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  });
});
