/** `spot-shift` over zones, regions and clouds: the choice, each reason against a place, and what a move is said to cost. */
import { describe, expect, it } from 'vitest';
import { zoneCases } from '../../support/zones.js';
import type { GpuOffer, JobFacts, PolicyView, SpotMarket, WorkloadView } from '../../../src/core/policy/policy.js';
import { regionOfPlace } from '../../../src/core/price/zone.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, offer, workload } from '../../../src/policies/estimating/examples.js';
import { spotPrices } from '../../../src/policies/estimating/spot.js';
import { placeName, placesOf, type PlaceParams, type SpotPlace } from '../../../src/policies/estimating/spot-places.js';
import { policy } from '../../../src/policies/spot-shift.js';

type Place = readonly [provider: string, place: string, onDemand: number, spot: number];

const TICKS = 15 * 24 * 6;

/** Two weeks and more of readings every ten minutes; `share` of each day with spot, the last hours always so. */
function market(provider: string, region: string, share = 1, last = true): SpotMarket {
  const available = Array.from({ length: TICKS }, (_, n) => (n >= TICKS - 12 ? last : (n % 144) / 144 < share));
  return { provider, region, gpuModel: 'A100-80GB', tickSeconds: 600, from: AS_OF - 15 * DAY_MS, available };
}

const offersOf = (places: readonly Place[]): GpuOffer[] =>
  places.flatMap(([provider, region, onDemand, spot]) => [
    offer('A100-80GB', 'on-demand', onDemand, { provider, region }),
    offer('A100-80GB', 'spot', spot, { provider, region }),
  ]);

const job: JobFacts = {
  startedAt: AS_OF - 2 * HOUR_MS,
  deadline: null,
  workHours: 42,
  workLeftHours: 40,
  restartHours: 0.5,
  resizable: null,
  checkpointGb: 100,
  dataGb: 20,
};
const batch = (over: Partial<WorkloadView> = {}): WorkloadView =>
  workload('train-1', {
    kind: 'training',
    interruptible: true,
    fleet: { ready: 2, booting: 0, minReplicas: 1, maxReplicas: 2, changedAt: null },
    job,
    ...over,
  });

const HOME: Place = ['AWS', 'us-east-1', 4000, 1500];
const WEST: Place = ['AWS', 'us-west-2', 4000, 500];
const GOOGLE: Place = ['Google Cloud', 'us-central1-a', 4200, 400];
const viewOf = (places: readonly Place[], over: Partial<PolicyView> = {}, one = batch({ term: 'spot' })): PolicyView =>
  exampleView({
    workloads: [one],
    offers: offersOf(places),
    spotMarkets: places.map(([provider, region]) => market(provider, region)),
    ...over,
  });
const pair = (from: string, to: string, perGb: number) => [
  { from, to, perGb },
  { from: to, to: from, perGb },
];
const params = (given: object): unknown => policy.params.parse(given);
const proposed = (view: PolicyView, given: object) => policy.evaluate(view, params(given) as never);
const saw = (view: PolicyView, given: object): string =>
  (policy.explain?.(view, params(given) as never) ?? []).flatMap((one) => one.saw).join('\n');

const BOTH = { places: ['AWS/us-west-2'], egress: pair('AWS/us-east-1', 'AWS/us-west-2', 0.02) };

describe('the choice', () => {
  it('says what it costs there and here, what is sent and what the restart costs, and the saving is after them', () => {
    const [move] = proposed(viewOf([HOME, WEST]), BOTH);
    expect(move).toMatchObject({
      action: 'MoveToSpot',
      savingRecurs: 'once',
      change: {
        term: 'spot',
        provider: 'AWS',
        region: 'us-west-2',
        egress: '2.400000',
        restartHours: 0.5,
        sendsGb: 120,
      },
      computation: {
        placeNow: 'AWS us-east-1',
        placeThen: 'AWS us-west-2',
        spotPerGpuHour: '1.500000',
        perGpuHourThen: '0.500000',
        egressOnce: '2.400000',
        restartOnce: '0.500000',
        workHoursLeft: 40,
      },
    });
    // 2 GPUs x 40 h x (1.5 - 0.5) - 120 GB x 0.02 - 0.5 h x 2 GPUs x 0.5.
    expect(move?.monthlySavings?.mean).toBe(77_100_000_000n);
    expect(move?.monthlyCost).toBe(120_000_000_000n);
    expect(move?.title).toContain('to spot in AWS us-west-2: it is the cheapest place that has spot now');
  });

  it('has an interval where spot came and went', () => {
    const view = viewOf([HOME, WEST], {
      spotMarkets: [market('AWS', 'us-east-1'), changing(market('AWS', 'us-west-2'))],
    });
    const [move] = proposed(view, BOTH);
    const { mean = 0n, low = 0n, high = 0n } = move?.monthlySavings ?? {};
    expect(low).toBeLessThan(mean);
    expect(high).toBeGreaterThan(mean);
    expect(mean).toBeLessThan(77_100_000_000n);
  });

  it('goes to another cloud, and to a zone of its own region without sending anything', () => {
    const there = { places: ['Google Cloud'], egress: pair('AWS/us-east-1', 'Google Cloud/us-central1', 0.09) };
    expect(proposed(viewOf([HOME, GOOGLE]), there)[0]?.change).toMatchObject({
      provider: 'Google Cloud',
      region: 'us-central1',
      zone: 'us-central1-a',
      egress: '10.800000',
    });
    const zones: Place[] = [
      ['AWS', 'us-east-1a', 4000, 1500],
      ['AWS', 'us-east-1b', 4000, 600],
    ];
    const unsized = { ...job, checkpointGb: null, dataGb: null };
    const [move] = proposed(viewOf([HOME, ...zones], {}, batch({ term: 'spot', zone: 'us-east-1a', job: unsized })), {
      places: ['AWS/us-east-1'],
    });
    expect(move?.change).toMatchObject({ region: 'us-east-1', zone: 'us-east-1b', egress: '0.000000' });
  });

  it('stays where the move costs more than it saves, or may', () => {
    expect(proposed(viewOf([HOME, WEST]), { ...BOTH, egress: pair('AWS/us-east-1', 'AWS/us-west-2', 2) })).toEqual([]);
    const short = batch({ term: 'spot', job: { ...job, workLeftHours: 0.5 } });
    expect(proposed(viewOf([HOME, WEST], {}, short), BOTH)).toEqual([]);
    const unknown = batch({ term: 'spot', job: { ...job, workLeftHours: null } });
    expect(proposed(viewOf([HOME, WEST], {}, unknown), BOTH)).toEqual([]);
  });

  it('goes to no place that has no spot now, or has had it for too short a time', () => {
    const gone = { spotMarkets: [market('AWS', 'us-east-1'), market('AWS', 'us-west-2', 1, false)] };
    expect(proposed(viewOf([HOME, WEST], gone), BOTH)).toEqual([]);
    expect(proposed(viewOf([HOME, WEST]), { ...BOTH, stableMinutes: 60 })).toHaveLength(1);
  });

  it('leaves spot that is gone for spot elsewhere rather than for on-demand machines', () => {
    const gone = { spotMarkets: [market('AWS', 'us-east-1', 1, false), market('AWS', 'us-west-2')] };
    expect(
      proposed(viewOf([HOME, WEST], gone), BOTH).map(({ action, change }) => [action, change?.['region']]),
    ).toEqual([['MoveToSpot', 'us-west-2']]);
  });

  it('is the cheapest of all, reckoned one by one', () => {
    for (const { places, perGb, gb, hours, best } of zoneCases(40)) {
      const view = viewOf(
        places.map(([name, onDemand, spot]): Place => ['AWS', name, onDemand, spot]),
        {},
        batch({ term: 'spot', job: { ...job, checkpointGb: gb, dataGb: 0, workLeftHours: hours } }),
      );
      const egress = places.flatMap(([from]) =>
        places.map(([to]) => ({ from: `AWS/${from}`, to: `AWS/${to}`, perGb })),
      );
      expect(proposed(view, { places: ['AWS'], egress })[0]?.change?.['region'] ?? 'us-east-1').toBe(best);
    }
  });
});

describe('with a deadline', () => {
  const due = (hours: number, over: Partial<JobFacts> = {}): WorkloadView =>
    batch({ term: 'spot', job: { ...job, deadline: AS_OF + hours * HOUR_MS, workLeftHours: 20, ...over } });

  it('follows the plan over all places', () => {
    const gone = { spotMarkets: [market('AWS', 'us-east-1', 1, false), market('AWS', 'us-west-2')] };
    expect(proposed(viewOf([HOME, WEST], gone, due(60)), BOTH)[0]?.change).toMatchObject({ region: 'us-west-2' });
    // What is there and costs least is not left.
    expect(proposed(viewOf([HOME, ['AWS', 'us-west-2', 4000, 1510]], {}, due(60)), BOTH)).toEqual([]);
  });

  it('goes on demand where that is cheapest when spot is gone and no time is left', () => {
    const gone = { spotMarkets: [market('AWS', 'us-east-1', 0.2, false), market('AWS', 'us-west-2', 0.2, false)] };
    const cheap: Place = ['AWS', 'us-west-2', 2000, 500];
    expect(proposed(viewOf([HOME, cheap], gone, due(20.6)), BOTH)[0]).toMatchObject({
      action: 'MoveToOnDemand',
      change: { term: 'on-demand', region: 'us-west-2' },
    });
  });

  it('says the same again', () => {
    const view = viewOf([HOME, WEST, GOOGLE], {}, due(60));
    expect(proposed(view, BOTH)).toEqual(proposed(view, BOTH));
  });
});

describe('why a place is no candidate', () => {
  const why = (view: PolicyView, given: object = BOTH): string => saw(view, given);

  it.each<readonly [string, PolicyView, object, string]>([
    [
      'the size of its checkpoint is unknown',
      viewOf([HOME, WEST], {}, batch({ term: 'spot', job: { ...job, checkpointGb: null } })),
      BOTH,
      'the size of its checkpoint or of its data, which would be sent, is unknown',
    ],
    [
      'the size of its data is unknown',
      viewOf([HOME, WEST], {}, batch({ term: 'spot', job: { ...job, dataGb: null } })),
      BOTH,
      'the size of its checkpoint or of its data, which would be sent, is unknown',
    ],
    [
      'the way there has no price',
      viewOf([HOME, WEST]),
      { places: ['AWS'] },
      'the price of data from AWS/us-east-1 to AWS/us-west-2 is unknown',
    ],
    [
      'the way back has no price',
      viewOf([HOME, WEST]),
      { places: ['AWS'], egress: BOTH.egress.slice(0, 1) },
      'the price of data from AWS/us-west-2 to AWS/us-east-1 is unknown',
    ],
    [
      'spot was not recorded there',
      viewOf([HOME, WEST], { spotMarkets: [market('AWS', 'us-east-1')] }),
      BOTH,
      'the availability of spot there has not been recorded for 14 days',
    ],
    [
      'it has no spot price',
      viewOf([HOME, WEST], {
        offers: offersOf([HOME, WEST]).filter((one) => one.region !== 'us-west-2' || one.term !== 'spot'),
      }),
      BOTH,
      'it has no price on spot',
    ],
    [
      'it has no on-demand price',
      viewOf([HOME, WEST], {
        offers: offersOf([HOME, WEST]).filter((one) => one.region !== 'us-west-2' || one.term === 'spot'),
      }),
      BOTH,
      'it has no price on demand',
    ],
  ])('%s', (_, view, given, sentence) => {
    expect(proposed(view, given)).toEqual([]);
    expect(why(view, given)).toContain(sentence);
  });

  it('another model, another size or a place that nobody named is not looked at', () => {
    const other = offersOf([WEST]).map((one) => ({ ...one, gpus: 8 }));
    expect(proposed(viewOf([HOME, WEST], { offers: [...offersOf([HOME]), ...other] }), BOTH)).toEqual([]);
    expect(proposed(viewOf([HOME, WEST]), { egress: BOTH.egress })).toEqual([]);
  });

  it('a price list that says what leaves the place stands in for a pair, and a measured size for a stated one', () => {
    const perGib = { nanos: 21_474_836n, currency: 'USD', quantity: 1n, unit: 'gib' as const };
    const sku = 'example.a100-80gb';
    const egress = [{ provider: 'AWS', sku, region: null, rate: perGib, source: 'list' }];
    const measured = batch({
      term: 'spot',
      job: { ...job, checkpointGb: 5000 },
      metrics: { checkpoint_gb: { from: AS_OF - HOUR_MS, values: [70, 80, null] } },
    });
    const [move] = proposed(viewOf([HOME, WEST], { egress }, measured), { places: ['AWS/us-west-2'] });
    expect(move?.change).toMatchObject({ sendsGb: 100 });
    expect(Number(move?.change?.['egress'])).toBeCloseTo(2, 5);
  });

  describe('by the price list for data', () => {
    const AWS_SKU = 'example.a100-80gb';
    /** A GiB for so many dollars: 1.073741824 GB. */
    const listed = (provider: string, sku: string, region: string | null, dollars: number) => ({
      provider,
      sku,
      region,
      rate: { nanos: BigInt(Math.round(dollars * 1.073741824e9)), currency: 'USD', quantity: 1n, unit: 'gib' as const },
      source: 'list',
    });
    const google = offersOf([GOOGLE]).map((one) => ({ ...one, sku: 'a2-ultragpu-1g' }));
    const priceOf = (egress: PolicyView['egress'], from: Place, to: Place): number | null => {
      const view = viewOf([HOME, WEST, GOOGLE], {
        egress: egress ?? [],
        offers: [...offersOf([HOME, WEST]), ...google],
      });
      const [one] = view.workloads;
      const own = one && spotPrices(view, one);
      if (!one || !own) throw new Error('the example has its prices');
      const given = params({ places: ['AWS', 'Google Cloud'] }) as PlaceParams;
      const { egressPerGb } = placesOf(view, one, own, given);
      const place = ([provider, name]: Place) => {
        const sold = view.offers.find((offered) => offered.provider === provider && offered.region === name);
        return { provider, region: regionOfPlace(provider, name), prices: { offer: sold } } as unknown as SpotPlace;
      };
      const found = egressPerGb(place(from), place(to));
      return found === null ? null : found / 1e9;
    };

    it('the price is that of its region, or one that names none', () => {
      const both = [listed('AWS', AWS_SKU, 'us-west-2', 0.09), listed('AWS', AWS_SKU, null, 0.02)];
      expect(priceOf(both, WEST, HOME)).toBeCloseTo(0.09, 6);
      expect(priceOf(both.toReversed(), WEST, HOME)).toBeCloseTo(0.09, 6);
      expect(priceOf(both, HOME, WEST)).toBeCloseTo(0.02, 6);
      expect(priceOf(both.slice(0, 1), HOME, WEST)).toBeNull();
    });

    it('the price is that of the machine that is left: its own, elsewhere the one that would run there', () => {
      const list = [listed('Google Cloud', 'a2-ultragpu-1g', null, 0.12), listed('AWS', AWS_SKU, null, 0.02)];
      expect(priceOf(list, GOOGLE, HOME)).toBeCloseTo(0.12, 6);
      expect(priceOf(list, HOME, GOOGLE)).toBeCloseTo(0.02, 6);
      expect(priceOf([listed('Google Cloud', AWS_SKU, null, 0.12)], GOOGLE, HOME)).toBeNull();
      expect(priceOf([listed('Google Cloud', AWS_SKU, null, 0.12)], HOME, GOOGLE)).toBeNull();
      expect(priceOf([listed('AWS', 'another', null, 0.02)], HOME, GOOGLE)).toBeNull();
    });

    it('a region to itself costs nothing', () => expect(priceOf([], HOME, HOME)).toBe(0));
  });

  it('a name is that of a cloud, of a region with its zones, or of a zone', () => {
    const zones: Place[] = [
      ['AWS', 'us-west-2', 4000, 500],
      ['AWS', 'us-west-2a', 4000, 500],
      ['AWS', 'us-west-2b', 4000, 500],
      ['AWS', 'eu-west-1', 4000, 500],
      ['Google Cloud', 'us-west-2', 4000, 500],
    ];
    const view = viewOf([HOME, ...zones], {}, batch({ term: 'spot', job: { ...job, checkpointGb: 0, dataGb: 0 } }));
    const [one] = view.workloads;
    const own = one && spotPrices(view, one);
    if (!one || !own) throw new Error('the example has its prices');
    const named = (...places: string[]): string[] =>
      placesOf(view, one, own, params({ places }) as PlaceParams)
        .others.map(placeName)
        .toSorted();
    expect(named('AWS/us-west-2a')).toEqual(['AWS us-west-2a']);
    expect(named('AWS/us-west-2')).toEqual(['AWS us-west-2', 'AWS us-west-2a', 'AWS us-west-2b']);
    expect(named('AWS')).toEqual(['AWS eu-west-1', 'AWS us-west-2', 'AWS us-west-2a', 'AWS us-west-2b']);
    expect(named('Google Cloud/us-west-2')).toEqual(['Google Cloud us-west-2']);
    expect(named('AWS/us-west')).toEqual([]);
  });

  it('is moved only if its owner says that it may be interrupted', () => {
    expect(proposed(viewOf([HOME, WEST], {}, batch({ term: 'spot', interruptible: null })), BOTH)).toEqual([]);
  });
});

it('knows the regions of zones by their clouds, and guesses none', () => {
  expect(
    (
      [
        ['AWS', 'us-east-1a'],
        ['Google Cloud', 'us-central1-a'],
        ['Alibaba Cloud', 'cn-beijing-h'],
        ['Alibaba Cloud', 'ap-southeast-1a'],
        ['Alibaba Cloud', 'cn-beijing'],
        ['Tencent Cloud', 'ap-guangzhou-3'],
        ['AWS', 'us-east-1'],
        ['Lambda', 'us-east-1a'],
      ] as const
    ).map(([provider, place]) => regionOfPlace(provider, place)),
  ).toEqual([
    'us-east-1',
    'us-central1',
    'cn-beijing',
    'ap-southeast-1',
    'cn-beijing',
    'ap-guangzhou',
    'us-east-1',
    'us-east-1a',
  ]);
});

/** Another share of spot each day, so that the days differ. */
const changing = (one: SpotMarket): SpotMarket => ({
  ...one,
  available: one.available.map((_, n) => n >= TICKS - 12 || n % 144 < 100 + ((Math.floor(n / 144) * 37) % 44)),
});
