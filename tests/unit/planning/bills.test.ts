/** The bill of one hour of demand: commitments, what is refused, the peak, and which spot offer counts. */
import { describe, expect, it } from 'vitest';
import type { DemandSeries, GpuOffer, SpotMarket } from '../../../src/core/policy/policy.js';
import { compilePeak } from '../../../src/core/price/peak.js';
import { HOUR_MS } from '../../../src/core/time.js';
import {
  addBills,
  billHour,
  demanded,
  NO_BILL,
  peakOf,
  type Commitment,
  type Standing,
} from '../../../src/planning/policy/bills.js';
import { AS_OF, offer, rate } from '../../../src/policies/estimating/examples.js';
import { recorded } from '../../support/recorded-history.js';

const SKU = 'example.t4';
const series = (over: Partial<DemandSeries> = {}): DemandSeries => ({
  provider: 'AWS',
  account: null,
  sku: SKU,
  region: 'us-east-1',
  gpuModel: 'T4',
  term: 'on-demand',
  from: AS_OF,
  gpus: Float64Array.from([10, 4]),
  onDemand: null,
  reserved: [],
  ...over,
});
/** Seen in the first half of each hour. */
const market = (over: Partial<SpotMarket> = {}): SpotMarket => ({
  provider: 'AWS',
  region: 'us-east-1',
  gpuModel: 'T4',
  from: AS_OF,
  tickSeconds: 1800,
  available: [true, false, true, false],
  ...over,
});
const ALL: Standing = { level: Infinity, onSpot: false };
const ON_SPOT: Standing = { level: Infinity, onSpot: true };
const pricesAt = () => ({ onDemand: rate(4000), reserved: [] });

describe('an hour of demand', () => {
  const history = recorded({ demand: [series(), series()], pricesAt });
  const held = (over: Partial<Commitment> = {}): Commitment => ({
    series: 0,
    units: 3,
    since: AS_OF,
    termHours: 1,
    perHour: 2,
    ...over,
  });
  const bill = (commitments: readonly Commitment[], standing = ALL, hour = AS_OF) =>
    billHour(history, 0, hour, commitments, standing);

  it('is what was asked for within the recording, and nothing before, after or of another series', () => {
    expect([-1, 0, 1, 2].map((hour) => demanded(history, 0, AS_OF + hour * HOUR_MS))).toEqual([0, 10, 4, 0]);
    expect(demanded(history, 2, AS_OF)).toBe(0);
    expect(billHour(history, 2, AS_OF, [], ALL)).toEqual(NO_BILL);
  });

  it('is paid on demand', () => {
    expect(bill([])).toEqual({ ...NO_BILL, cost: 40 });
  });

  it('owes the commitments of its own series, from their first hour to the one before their end', () => {
    expect(bill([held()]).cost).toBe(3 * 2 + 7 * 4);
    expect(bill([held({ series: 1 })]).cost).toBe(40);
    expect(bill([held({ since: AS_OF + HOUR_MS })]).cost).toBe(40);
    expect(bill([held()], ALL, AS_OF + HOUR_MS).cost).toBe(16);
    expect(bill([held({ termHours: 2 })], ALL, AS_OF + HOUR_MS).cost).toBe(3 * 2 + 1 * 4);
  });

  it('owes commitments together, also what nobody uses', () => {
    expect(bill([held(), held({ units: 4, perHour: 1 })]).cost).toBe(3 * 2 + 4 * 1 + 3 * 4);
    expect(bill([held({ units: 12 })])).toEqual({ ...NO_BILL, cost: 24 });
  });

  it('is refused beyond the level, and what is refused is not paid', () => {
    expect(bill([], { level: 6, onSpot: false })).toEqual({ ...NO_BILL, cost: 24, refusedGpuHours: 4 });
    expect(bill([], { level: 10, onSpot: false }).refusedGpuHours).toBe(0);
  });

  it('without a price is counted as such, and the commitments are owed all the same', () => {
    const unknown = recorded({ demand: [series()] });
    expect(billHour(unknown, 0, AS_OF, [held()], { level: 8, onSpot: false })).toEqual({
      ...NO_BILL,
      cost: 6,
      refusedGpuHours: 2,
      unpricedGpuHours: 5,
    });
  });

  it('is dearer at the peak, in proportion to how much of the hour that is', () => {
    const peak = compilePeak([{ from: '00:30', to: '01:00', zone: 'UTC', factor: '2.5' }]);
    const dear = recorded({ demand: [series()], pricesAt, peak });
    expect(peakOf(dear, AS_OF)).toBe(1.75);
    expect(peakOf(dear, AS_OF + HOUR_MS)).toBe(1);
    // A commitment is owed at its own price.
    expect(billHour(dear, 0, AS_OF, [held()], ALL).cost).toBe(3 * 2 + 7 * 4 * 1.75);
    const onSpot = recorded({ ...dear, spotMarkets: [market()], offersAt: () => [offer('T4', 'spot', 1000)] });
    expect(billHour(onSpot, 0, AS_OF, [], ON_SPOT).cost).toBe((5 * 1 + 5 * 4) * 1.75);
  });

  it('adds up with others, figure by figure', () => {
    const one = { cost: 1, refusedGpuHours: 2, spotGpuHours: 3, unverifiedGpuHours: 4, unpricedGpuHours: 5 };
    const two = { cost: 10, refusedGpuHours: 20, spotGpuHours: 30, unverifiedGpuHours: 40, unpricedGpuHours: 50 };
    expect(addBills(one, two)).toEqual({
      cost: 11,
      refusedGpuHours: 22,
      spotGpuHours: 33,
      unverifiedGpuHours: 44,
      unpricedGpuHours: 55,
    });
  });
});

describe('on spot', () => {
  const spot = (milliDollars: number, over: Partial<GpuOffer> = {}) => offer('T4', 'spot', milliDollars, over);
  const bill = (
    offers: readonly GpuOffer[],
    one: Partial<DemandSeries> = {},
    markets: readonly SpotMarket[] = [market()],
  ) => {
    const history = recorded({
      demand: [series(one)],
      spotMarkets: markets,
      pricesAt,
      offersAt: (at) => (at === AS_OF ? offers : []),
    });
    return billHour(history, 0, AS_OF, [], ON_SPOT);
  };
  const atPrice = (price: number) => ({ ...NO_BILL, cost: 5 * price + 5 * 4, spotGpuHours: 5 });
  const UNVERIFIED = { ...NO_BILL, cost: 40, unverifiedGpuHours: 10 };

  it('it is paid at the spot price for the share of the hour in which it was seen, else on demand', () => {
    expect(bill([spot(1000)])).toEqual(atPrice(1));
  });

  it('the cheapest spot offer counts, of its provider, its kind of machine and its region or of any', () => {
    const others = [
      offer('T4', 'on-demand', 100),
      spot(100, { provider: 'Azure' }),
      spot(100, { sku: 'another' }),
      spot(100, { region: 'eu-west-1' }),
    ];
    expect(bill([...others, spot(2000), spot(1000)])).toEqual(atPrice(1));
    expect(bill([...others, spot(3000, { region: null })])).toEqual(atPrice(3));
    for (const one of others) expect(bill([one])).toEqual(UNVERIFIED);
  });

  it('the GPU model counts where the kind of machine is unknown, and any region where its own is', () => {
    const [same, other] = [spot(1000, { sku: 'another' }), spot(100, { sku: 'another', gpuModel: 'L4' })];
    expect(bill([same, other], { sku: null })).toEqual(atPrice(1));
    expect(bill([other], { sku: null })).toEqual(UNVERIFIED);
    const anywhere = [market({ region: null })];
    expect(bill([spot(1000, { region: 'eu-west-1' })], { region: null }, anywhere)).toEqual(atPrice(1));
  });

  it('the market of its provider and GPU model counts, in its region or in all', () => {
    const offers = [spot(1000)];
    expect(bill(offers, {}, [market({ region: null })])).toEqual(atPrice(1));
    for (const other of [market({ region: 'eu-west-1' }), market({ provider: 'Azure' }), market({ gpuModel: 'L4' })])
      expect(bill(offers, {}, [other])).toEqual(UNVERIFIED);
  });

  it('it is unverified where nobody looked, and paid on demand', () => {
    expect(bill([spot(1000)], {}, [])).toEqual(UNVERIFIED);
    expect(bill([spot(1000)], {}, [market({ available: [null, null] })])).toEqual(UNVERIFIED);
    expect(bill([spot(1000)], {}, [market({ available: [true, null] })])).toEqual(atPrice(1));
    expect(bill([])).toEqual(UNVERIFIED);
  });
});
