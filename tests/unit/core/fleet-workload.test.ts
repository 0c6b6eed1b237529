/**
 * What targets say of themselves as workloads, what readings of spot say, and how long a commitment still holds: by
 * hand.
 */
import { describe, expect, it } from 'vitest';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import {
  hoursLeftOf,
  namespaceOf,
  sparesOf,
  withKnownEnds,
  workloadOf,
} from '../../../src/core/policy/fleet-workload.js';
import { withBought } from '../../../src/core/policy/bought.js';
import type { DemandSeries } from '../../../src/core/policy/view.js';
import { availabilityOf, spotPrices, type SpotReading } from '../../../src/core/price/spot-reading.js';
import { fleetTarget, workloadFacts } from '../../support/makers.js';

const HOUR = 3_600_000;
const group: FleetTarget = fleetTarget({
  target: 'asg/train',
  kind: 'group',
  name: 'train',
  account: '1',
  term: 'spot',
  replicas: { desired: 5, ready: 3, min: 1, max: 9 },
  spotRatio: 1,
  launchedAt: 0,
});

describe('a target as a workload', () => {
  it('says nothing that no label says', () => {
    expect(workloadOf(group, 'asg/train', null)).toEqual(
      workloadFacts({
        workload: 'asg/train',
        kind: null,
        term: 'spot',
        fleet: { ready: 3, booting: 2, minReplicas: 1, maxReplicas: 9, changedAt: null },
      }),
    );
  });

  it('names its zone where the provider does', () => {
    expect(workloadOf({ ...group, zone: 'us-east-1a' }, 'x', null)?.zone).toBe('us-east-1a');
    const { zone: _, ...nowhere } = group;
    expect(workloadOf(nowhere, 'x', null)).not.toHaveProperty('zone');
  });

  it('takes what its owner says by labels, and nothing that is no such word or number', () => {
    const labels = {
      'bursar.io/workload-kind': 'inference',
      'bursar.io/interruptible': 'false',
      'bursar.io/protected': 'yes',
      'bursar.io/max-replicas': '6',
      'bursar.io/load-metric': 'requests_per_minute',
      'bursar.io/boot-minutes': '4.5',
      'bursar.io/capacity-per-replica': '0',
    };
    expect(workloadOf({ ...group, labels }, 'x', 7)).toMatchObject({
      workload: 'x',
      kind: 'inference',
      interruptible: false,
      isProtected: null,
      fleet: { minReplicas: 1, maxReplicas: 6, changedAt: 7 },
      service: { loadMetric: 'requests_per_minute', bootMinutes: 4.5, capacityPerReplica: null },
    });
  });

  it('has an unknown size where the provider or the owner leaves one open', () => {
    expect(
      workloadOf({ ...group, replicas: { desired: 5, ready: null, min: 1, max: 9 } }, 'x', null)?.fleet,
    ).toBeNull();
    expect(
      workloadOf({ ...group, replicas: { desired: 5, ready: 5, min: null, max: null } }, 'x', null)?.fleet,
    ).toBeNull();
    expect(workloadOf({ ...group, replicas: null }, 'x', null)?.fleet).toBeNull();
  });

  it('is one for an instance only where somebody says what it does, and never for a member of a group', () => {
    const instance: FleetTarget = {
      ...group,
      target: 'instance/i-1',
      kind: 'instance',
      replicas: null,
      spotRatio: null,
    };
    expect(workloadOf(instance, 'x', null)).toBeNull();
    expect(workloadOf({ ...instance, labels: { 'bursar.io/workload-kind': 'notebook' } }, 'x', null)?.fleet).toEqual({
      ready: 1,
      booting: 0,
      minReplicas: 0,
      maxReplicas: 1,
      changedAt: null,
    });
    expect(
      workloadOf({ ...instance, state: 'unknown', labels: { 'bursar.io/workload-kind': 'notebook' } }, 'x', null)
        ?.fleet,
    ).toBeNull();
    expect(
      workloadOf(
        { ...instance, labels: { 'bursar.io/workload-kind': 'training', 'aws:autoscaling:groupName': 'train' } },
        'x',
        null,
      ),
    ).toBeNull();
    expect(workloadOf({ ...group, kind: 'commitment' }, 'x', null)).toBeNull();
    expect(workloadOf({ ...group, kind: 'node-pool' }, 'x', null)).toBeNull();
  });

  it("has the namespace that stands in a workload's name", () => {
    expect(namespaceOf({ kind: 'workload', target: 'deployment/ml/trainer' })).toBe('ml');
    expect(namespaceOf({ kind: 'group', target: 'asg/us-east-1/train' })).toBeNull();
  });

  it('holds, as a commitment, for what is left of its term', () => {
    const bought: FleetTarget = { ...group, kind: 'commitment', term: 'reserved-1y', launchedAt: 1000 * HOUR };
    expect(hoursLeftOf(bought, 1000 * HOUR)).toBe(8760);
    expect(hoursLeftOf(bought, 1001.5 * HOUR)).toBe(8759);
    expect(hoursLeftOf(bought, 1_000_000 * HOUR)).toBe(0);
    expect(hoursLeftOf({ ...bought, launchedAt: null }, 0)).toBeNull();
    expect(hoursLeftOf(group, 0)).toBeNull();
  });
});

describe('hot spares', () => {
  it('are stopped instances that name the workload they stand by for', () => {
    const spare = (name: string, over: Partial<FleetTarget> = {}): FleetTarget => ({
      ...group,
      target: `instance/${name}`,
      kind: 'instance',
      replicas: null,
      spotRatio: null,
      state: 'stopped',
      labels: { 'bursar.io/spare-for': 'train' },
      ...over,
    });
    const fleet = [
      spare('b'),
      spare('a'),
      spare('used', { state: 'running' }),
      spare('other', { labels: { 'bursar.io/spare-for': 'serve' } }),
      spare('plain', { labels: {} }),
      group,
    ];
    expect([...sparesOf(fleet)]).toEqual([
      ['train', ['instance/a', 'instance/b']],
      ['serve', ['instance/other']],
    ]);
  });
});

describe('a series with commitments', () => {
  const series: DemandSeries = {
    provider: 'AWS',
    account: '1',
    sku: 'p5.48xlarge',
    region: 'us-east-1',
    gpuModel: 'H100',
    term: 'on-demand',
    from: 0,
    gpus: new Float64Array(0),
    onDemand: null,
    reserved: [],
    committed: [{ units: 20, hoursLeft: 8760 }],
  };
  const bought = (launchedHoursAgo: number, units: number, over: Partial<FleetTarget> = {}): FleetTarget => ({
    ...group,
    kind: 'commitment',
    term: 'reserved-1y',
    launchedAt: -launchedHoursAgo * HOUR,
    replicas: { desired: units, ready: units, min: null, max: null },
    ...over,
  });

  it('takes their ends from the fleet, the longest first, as far as it knows of any', () => {
    expect(
      withKnownEnds(
        series,
        [bought(8000, 1), bought(60, 1), bought(0, 9, { sku: 'other' }), bought(0, 9, { account: '2' })],
        0,
      ).committed,
    ).toEqual([
      { units: 8, hoursLeft: 8700 },
      { units: 8, hoursLeft: 760 },
      { units: 4, hoursLeft: 8760 },
    ]);
    expect(withKnownEnds(series, [bought(100, 9)], 0).committed).toEqual([{ units: 20, hoursLeft: 8660 }]);
    expect(withKnownEnds(series, [], 0).committed).toEqual(series.committed);
    const { committed: _none, ...plain } = series;
    expect(withKnownEnds(plain, [bought(0, 9)], 0)).toEqual(plain);
  });

  describe('what no metered term tells of', () => {
    const { committed: _metered, ...plain } = series;
    const demand: DemandSeries = { ...plain, term: 'on-demand' };
    const own = {
      provider: demand.provider,
      account: demand.account,
      region: demand.region,
      sku: demand.sku,
      gpus: 16,
      at: 0,
      termHours: 8760,
    };
    const sum = ({ bought: all = [] }: DemandSeries): number => all.reduce((gpus, { units }) => gpus + units, 0);
    const plan = bought(0, 0, { term: 'savings-plan-1y', name: 'sp-1', sku: null, region: null, replicas: null });

    it('is what the fleet lists of the account, beyond what is metered', () => {
      expect(withBought(demand, [demand], [bought(60, 2)], [], 0).bought).toEqual([{ units: 16, hoursLeft: 8700 }]);
      const metered = { ...demand, committed: [{ units: 10, hoursLeft: 1 }] };
      expect(withBought(metered, [metered], [bought(60, 2), bought(1, 1)], [], 0).bought).toEqual([
        { units: 6, hoursLeft: 8700 },
        { units: 8, hoursLeft: 8759 },
      ]);
      const all = { ...demand, committed: [{ units: 16, hoursLeft: 1 }] };
      expect(withBought(all, [all], [bought(60, 2)], [], 0)).toEqual(all);
    });
    it('of another account, machine or region is not, and of an unknown account is', () => {
      const others = [
        bought(0, 9, { sku: 'g5.xlarge' }),
        bought(0, 9, { account: '2' }),
        bought(0, 9, { region: 'r2' }),
      ];
      expect(withBought(demand, [demand], others, [], 0)).toEqual(demand);
      expect(withBought({ ...demand, account: null }, [], [bought(0, 1)], [], 0).bought).toHaveLength(1);
      expect(withBought({ ...demand, term: null }, [], [bought(0, 1)], [], 0).bought).toHaveLength(1);
      expect(withBought({ ...demand, term: 'spot' }, [], [bought(0, 1)], [], 0).bought).toBeUndefined();
    });
    it('is what Bursar bought, until the fleet lists it and while it holds', () => {
      expect(withBought(demand, [], [], [own], 60 * HOUR).bought).toEqual([{ units: 16, hoursLeft: 8700 }]);
      // Listed: begun with it, and as large. What was bought by hand, or long before, is beside it.
      expect(withBought(demand, [], [bought(0, 2)], [own], 0).bought).toEqual([{ units: 16, hoursLeft: 8760 }]);
      expect(sum(withBought(demand, [], [bought(0, 1)], [own], 0))).toBe(24);
      expect(sum(withBought(demand, [], [bought(60, 2)], [own], 0))).toBe(32);
      expect(sum(withBought(demand, [], [bought(0, 2)], [own, own], 0))).toBe(32);
      const metered = { ...demand, committed: [{ units: 16, hoursLeft: 1 }] };
      expect(withBought(metered, [], [], [own], 0).bought).toBeUndefined();
      expect(withBought(demand, [], [], [own], 8760 * HOUR).bought).toBeUndefined();
      expect(withBought(demand, [], [], [{ ...own, sku: 'other' }], 0).bought).toBeUndefined();
    });
    it('is not what Bursar bought for another account', () => {
      expect(withBought(demand, [], [], [{ ...own, account: '2' }], 0)).toEqual(demand);
      // Listed in both accounts: each listing is of its own purchase, and none counts twice.
      const both = [bought(0, 2), bought(0, 2, { account: '2' })];
      const each = [own, { ...own, account: '2' }];
      expect(withBought(demand, [], both, each, 0).bought).toEqual([{ units: 16, hoursLeft: 8760 }]);
      expect(withBought({ ...demand, account: '3' }, [], both, each, 0).bought).toBeUndefined();
    });
    it('is what was bought for an account that nobody says, and says so, until some account lists it', () => {
      const unsaid = { ...own, account: null };
      expect(withBought(demand, [], [], [unsaid], 0)).toMatchObject({
        bought: [{ units: 16, hoursLeft: 8760 }],
        boughtForUnknown: 16,
      });
      // What a known purchase covers beside it is not assumed; nor is anything where the use itself names no account.
      expect(withBought(demand, [], [], [own, unsaid], 0).boughtForUnknown).toBe(16);
      expect(withBought(demand, [], [], [own], 0)).not.toHaveProperty('boughtForUnknown');
      expect(withBought({ ...demand, account: null }, [], [], [unsaid], 0)).not.toHaveProperty('boughtForUnknown');
      // The other account lists it: it is that one's.
      expect(withBought(demand, [], [bought(0, 2, { account: '2' })], [unsaid], 0)).toEqual(demand);
      expect(withBought(demand, [], [bought(0, 2)], [unsaid], 0)).toEqual({
        ...demand,
        bought: [{ units: 16, hoursLeft: 8760 }],
      });
    });
    it('names the plans of which nobody says how much they cover', () => {
      expect(withBought(demand, [demand], [plan], [], 0)).toEqual({ ...demand, plans: ['sp-1'] });
      const metered = { ...demand, term: 'savings-plan-1y' as const };
      expect(withBought(demand, [demand, metered], [plan], [], 0)).toEqual(demand);
    });
  });
});

describe('readings of spot', () => {
  const reading = (at: number, over: Partial<SpotReading> = {}): SpotReading => ({
    provider: 'AWS',
    region: 'r',
    sku: 'p5',
    gpuModel: 'H100',
    at,
    available: null,
    price: null,
    ...over,
  });

  it('a model is to be had where any of its machines is; a price alone says nothing of it', () => {
    expect(
      availabilityOf([
        reading(1, { available: false }),
        reading(1, { sku: 'p5e', available: true }),
        reading(2, { available: false }),
        reading(3),
        reading(4, { gpuModel: null, available: true }),
      ]),
    ).toEqual([
      { provider: 'AWS', region: 'r', gpuModel: 'H100', at: 1, available: true },
      { provider: 'AWS', region: 'r', gpuModel: 'H100', at: 2, available: false },
    ]);
  });

  it('a price is stated where it changes, per GPU-second of all its GPUs, of machines whose size is known', () => {
    const dollars = (amount: number): SpotReading['price'] => ({
      nanos: BigInt(amount) * 1_000_000_000n,
      currency: 'USD',
    });
    const events = spotPrices(
      [
        reading(3, { price: dollars(9) }),
        reading(1, { price: dollars(8) }),
        reading(2, { price: dollars(8) }),
        reading(1, { sku: 'odd', price: dollars(1) }),
        reading(4),
      ],
      (_provider, sku) => (sku === 'p5' ? { gpus: 8, gpuModel: 'H100' } : null),
      'history',
    );
    expect(
      events.map((event) => (event.kind === 'price' ? [event.price.effectiveFrom, event.price.rate] : [])),
    ).toEqual([
      [1, { nanos: 8_000_000_000n, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' }],
      [3, { nanos: 9_000_000_000n, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' }],
    ]);
  });
});
