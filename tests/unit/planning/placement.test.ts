import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/core/errors.js';
import { FxTable } from '../../../src/core/price/fx.js';
import type { Price } from '../../../src/core/price/price.js';
import { cheapestCover } from '../../../src/planning/placement/cover.js';
import { memoryGib } from '../../../src/planning/placement/gpu-memory.js';
import { cheapestOnDemand, place, singleCloud, type Loss } from '../../../src/planning/placement/placement.js';
import type { Market, Workload } from '../../../src/planning/placement/workload.js';
import { gpuPrice } from '../../support/makers.js';

const USD = 1_000_000_000n;
const fx = new FxTable('USD', [{ day: '2026-01-01', currency: 'CNY', perBase: { unscaled: 8n, scale: 0 } }]);
const at = Date.UTC(2026, 5, 1);

/** `perHour` in dollars for the whole unit. */
const price = (sku: string, gpus: number, perHour: bigint, more: Partial<Price> = {}): Price =>
  gpuPrice({
    sku,
    gpuModel: 'A100-80GB',
    gpus,
    rate: {
      nanos: perHour * USD,
      currency: 'USD',
      quantity: 3600n * BigInt(Math.max(1, Math.floor(gpus))),
      unit: 'gpu-second',
    },
    effectiveFrom: 0,
    ...more,
  });
const network = (perGib: bigint, more: Partial<Price> = {}): Price =>
  price('*', 1, 0n, {
    component: 'network',
    gpuModel: null,
    gpus: null,
    rate: { nanos: perGib * USD, currency: 'USD', quantity: 1n, unit: 'gib' },
    ...more,
  });
const market = (prices: readonly Price[], more: Partial<Market> = {}): Market => ({
  history: { prices, withdrawals: [] },
  fx,
  currency: 'USD',
  at,
  ...more,
});
const training: Workload = {
  kind: 'training',
  memoryGibPerGpu: 40,
  gpus: 4,
  hours: 10,
  spotShareMax: 0,
  restOfTermUsed: false,
};
const inference: Workload = { ...training, kind: 'inference' };

const lossesOf = (
  workload: Workload,
  prices: readonly Price[],
  sku: string,
  more: Partial<Market> = {},
): readonly Loss[] => place(workload, market(prices, more)).options.find((option) => option.price.sku === sku)!.losses;
const dollars = (result: { readonly cost: { readonly nanos: bigint } } | null): number =>
  Number(result!.cost.nanos) / 1e9;

describe('training', () => {
  const eight = price('p4de', 8, 32n);
  const one = price('a2', 1, 5n, { provider: 'Google Cloud' });

  it('takes whole units of one price, cheapest first, and says by how much the others are dearer', () => {
    const { best, options } = place(training, market([eight, one]));
    expect(best).toMatchObject({
      parts: [{ price: one, units: 4, gpus: 4 }],
      gpus: 4,
      hours: 10,
      cost: { nanos: 200n * USD, currency: 'USD' },
    });
    expect(options.map(({ price: { sku } }) => sku)).toEqual(['a2', 'p4de']);
    expect(options[0]!.losses).toEqual([]);
    expect(options[1]!.losses).toEqual([
      { kind: 'dearer', by: { nanos: 120n * USD, currency: 'USD' }, ratio: 1.6 },
      { kind: 'spare-gpus', rented: 8, needed: 4 },
    ]);
  });

  it('gives every reason for which a price cannot serve', () => {
    const t4 = price('g4dn', 1, 1n, { gpuModel: 'T4', term: 'spot' });
    expect(lossesOf({ ...training, providers: ['Oracle'], terms: ['on-demand'] }, [t4], 'g4dn')).toEqual([
      { kind: 'not-allowed', what: 'provider' },
      { kind: 'not-allowed', what: 'term' },
      { kind: 'too-little-memory', gib: memoryGib('T4'), neededGib: 40 },
      { kind: 'spot-not-tolerated' },
    ]);
    expect(lossesOf({ ...training, regions: ['eu'], models: ['H100'] }, [one], 'a2')).toEqual([
      { kind: 'not-allowed', what: 'region' },
      { kind: 'not-allowed', what: 'model' },
    ]);
    expect(lossesOf({ ...training, regions: ['eu'] }, [{ ...one, region: null }], 'a2')).toEqual([]);
    expect(lossesOf(training, [price('x', 1, 1n, { gpuModel: null })], 'x')).toEqual([{ kind: 'model-unknown' }]);
    expect(lossesOf(training, [price('x', 1, 1n, { gpuModel: 'A100' })], 'x')).toEqual([{ kind: 'memory-unknown' }]);
    expect(lossesOf(training, [{ ...one, gpus: null }], 'a2')).toEqual([
      { kind: 'no-price', reason: 'gpu-count-unknown' },
    ]);
    expect(lossesOf(training, [{ ...one, gpus: 0.5 }], 'a2')).toEqual([{ kind: 'part-of-a-gpu' }]);
    expect(lossesOf(training, [{ ...one, rate: { ...one.rate, currency: 'EUR' } }], 'a2')).toEqual([
      { kind: 'no-fx-rate' },
    ]);
    expect(lossesOf({ ...training, egressGib: 1 }, [one], 'a2')).toEqual([{ kind: 'no-egress-price' }]);
    expect(lossesOf(training, [one], 'a2', { unitLimits: { 'Google Cloud/us-east-1/a2/on-demand': 3 } })).toEqual([
      { kind: 'too-few-units', units: 3, neededUnits: 4 },
    ]);
    expect(lossesOf({ ...training, gpusPerUnitMin: 4 }, [one], 'a2')).toEqual([
      { kind: 'too-few-gpus-per-unit', gpus: 1, neededGpus: 4 },
    ]);
    expect(place(training, market([t4])).best).toBeNull();
  });

  it('counts speed where it is known, and never takes it for granted', () => {
    const h100 = price('p5', 4, 32n, { gpuModel: 'H100' });
    const l40s = price('g6e', 4, 2n, { gpuModel: 'L40S' });
    const a100 = price('a100', 4, 20n);
    const speeds = { ...training, relativeSpeeds: { 'A100-80GB': 1, H100: 2 }, deadlineHours: 8 };
    const { best } = place(speeds, market([h100, l40s, a100]));
    expect(best).toMatchObject({ parts: [{ price: h100 }], hours: 5 });
    expect(dollars(best)).toBe(160);
    expect(lossesOf(speeds, [h100, l40s, a100], 'g6e')).toEqual([{ kind: 'speed-unknown' }]);
    expect(lossesOf(speeds, [h100, l40s, a100], 'a100')).toEqual([
      { kind: 'deadline-missed', hours: 10, deadlineHours: 8 },
    ]);
  });

  it('adds the egress of the place, and converts by the rate of the day', () => {
    const cny = price('gn7', 4, 80n, {
      provider: 'Alibaba Cloud',
      rate: { nanos: 80n * USD, currency: 'CNY', quantity: 14_400n, unit: 'gpu-second' },
    });
    const prices = [
      cny,
      network(2n, { provider: 'Alibaba Cloud', region: null }),
      network(1n, { provider: 'Alibaba Cloud' }),
    ];
    const { best } = place({ ...training, egressGib: 3 }, market(prices));
    expect(dollars(best)).toBe(103);
    expect(best!.egressCost.nanos).toBe(3n * USD);
  });

  it('pays whole terms of a reservation unless others use the rest', () => {
    const reserved = price('a2', 4, 1n, { term: 'reserved-1y' });
    expect(dollars(place(training, market([reserved])).best)).toBe(8760);
    expect(dollars(place({ ...training, restOfTermUsed: true }, market([reserved])).best)).toBe(10);
  });

  it('takes the version that holds, and says where none does', () => {
    const dearer = { ...one, effectiveFrom: at - 1, rate: { ...one.rate, nanos: 9n * USD } };
    expect(dollars(place(training, market([one, dearer])).best)).toBe(360);
    expect(lossesOf(training, [{ ...one, effectiveTo: at }], 'a2')).toEqual([
      { kind: 'no-price', reason: 'withdrawn' },
    ]);
    expect(lossesOf(training, [{ ...one, effectiveFrom: at + 1 }], 'a2')).toEqual([
      { kind: 'no-price', reason: 'before-first-price' },
    ]);
    const gone = [{ provider: one.provider, sku: one.sku, region: one.region, at: at - 1 }];
    expect(lossesOf(training, [], 'a2', { history: { prices: [one], withdrawals: gone } })).toEqual([
      { kind: 'no-longer-listed' },
    ]);
  });
});

describe('inference', () => {
  it('mixes units where that is cheaper than any one price', () => {
    const eight = price('p4de', 8, 32n);
    const one = price('a2', 1, 5n);
    const { best, options } = place({ ...inference, gpus: 9 }, market([eight, one]));
    expect(best!.parts.map(({ price: { sku }, units }) => [sku, units])).toEqual([
      ['p4de', 1],
      ['a2', 1],
    ]);
    expect(dollars(best)).toBe(370);
    expect(options.map(({ losses }) => losses[0]!.kind)).toEqual(['dearer', 'dearer']);
  });

  it('holds spot within the tolerated share', () => {
    const steady = price('od', 1, 4n);
    const spot = price('spot', 1, 1n, { term: 'spot' });
    const { best, options } = place({ ...inference, gpus: 5, spotShareMax: 0.5 }, market([steady, spot]));
    expect(best!.parts.map(({ price: { sku }, units }) => [sku, units])).toEqual([
      ['od', 3],
      ['spot', 2],
    ]);
    expect(options.find(({ price: { sku } }) => sku === 'spot')!.losses).toEqual([
      { kind: 'too-much-spot', spotShareMax: 0.5 },
    ]);
  });

  it('mixes only what data leaves at one price, where data leaves', () => {
    const prices = [
      price('a', 8, 32n),
      network(1n),
      price('b', 1, 5n, { provider: 'Oracle' }),
      network(1n, { provider: 'Oracle' }),
    ];
    expect(dollars(place({ ...inference, gpus: 9, egressGib: 1 }, market(prices)).best)).toBe(451);
    expect(dollars(place({ ...inference, gpus: 9 }, market(prices)).best)).toBe(370);
  });

  it('is never dearer than the cheapest on-demand price or than any one cloud', () => {
    const prices = [
      price('a', 8, 32n),
      price('b', 1, 5n, { provider: 'Oracle' }),
      price('c', 2, 7n, { provider: 'Oracle', term: 'spot' }),
    ];
    const asked: Workload = { ...inference, gpus: 9, spotShareMax: 0.4 };
    const best = dollars(place(asked, market(prices)).best);
    expect(dollars(cheapestOnDemand(asked, market(prices)))).toBe(450);
    expect(dollars(singleCloud('AWS', asked, market(prices)))).toBe(640);
    expect(best).toBeLessThan(450);
    expect(singleCloud('AWS', { ...asked, providers: ['Oracle'] }, market(prices))).toBeNull();
  });
});

describe('the integer program', () => {
  it('prefers a limited cheap item up to its limit', () => {
    const items = [
      { capacity: 1000, cost: 1n, limit: 2, steady: true },
      { capacity: 3000, cost: 9n, limit: Infinity, steady: true },
    ];
    expect(cheapestCover(items, 2000, 0)).toEqual({ cost: 2n, units: [2, 0] });
    expect(cheapestCover(items, 5000, 0)).toEqual({ cost: 11n, units: [2, 1] });
    expect(cheapestCover(items.slice(0, 1), 3000, 0)).toBeNull();
    expect(cheapestCover([], 1000, 0)).toBeNull();
  });
});

describe('what is asked', () => {
  it('names every number that cannot be', () => {
    try {
      place({ ...training, gpus: 1.5, hours: 0, spotShareMax: 2, relativeSpeeds: { H100: 0 } }, market([]));
      expect.unreachable();
    } catch (error) {
      expect((error as Failure).problems.map(({ path }) => path)).toEqual([
        'gpus',
        'hours',
        'spotShareMax',
        'relativeSpeeds/H100',
      ]);
    }
  });

  it('reads data sheets as less than a driver shows, and believes the driver', () => {
    expect(memoryGib('H100')).toBeLessThan(81_559 / 1024);
    expect(memoryGib('H100', { H100: 79.6 })).toBe(79.6);
    expect(memoryGib('A100')).toBeNull();
    expect(memoryGib('constructor')).toBeNull();
  });
});
