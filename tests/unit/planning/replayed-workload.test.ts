/** A recorded workload under what a policy does to it: size, term, machines; its cost and what it left unserved. */
import { describe, expect, it } from 'vitest';
import type { MeteredGpus, RecordedHistory } from '../../../src/core/policy/history.js';
import {
  READY_REPLICAS,
  type GpuOffer,
  type ModelPerformance,
  type SpotMarket,
  type WorkloadView,
} from '../../../src/core/policy/policy.js';
import { compilePeak } from '../../../src/core/price/peak.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { ReplayedWorkload } from '../../../src/planning/policy/workloads.js';
import { AS_OF, measurement, offer, workload } from '../../../src/policies/estimating/examples.js';
import { recorded } from '../../support/recorded-history.js';
import { meteredAs } from '../../support/recorded-sizes.js';

const at = (hours: number): number => AS_OF + hours * HOUR_MS;
const MODEL = 'A100-80GB';
const FLEET = { ready: 2, booting: 0, minReplicas: 0, maxReplicas: 9, changedAt: null };
const OFFERS = [
  offer(MODEL, 'on-demand', 6000),
  offer(MODEL, 'spot', 2000),
  offer('T4', 'on-demand', 1000),
  offer('T4', 'on-demand', 100, { provider: 'Azure' }),
];
/** Ten minutes to boot, 100 a minute of each replica, and a load of 250 a minute. */
const service = {
  bootMinutes: 10,
  capacityPerReplica: 100,
  load: { from: AS_OF, values: new Array<number>(240).fill(250) },
};

/** Four hours, in each of which so many replicas were metered, the first before the window; null: not recorded. */
function replayed(
  over: Partial<WorkloadView> = {},
  replicas: readonly (number | null)[] = [2, 2, 2, 2, 2],
  given: Partial<RecordedHistory> = {},
) {
  const one = workload('w', { fleet: FLEET, ...over });
  const history = recorded({
    to: at(4),
    workloads: [one],
    offersAt: () => OFFERS,
    sizes: new Map([['w', meteredAs(one, at(-1), replicas)]]),
    ...given,
  });
  const found = new ReplayedWorkload(history, one);
  return {
    one,
    found,
    run: (hours = 4) => {
      for (let hour = 0; hour < hours; hour++) found.runHour(at(hour));
      return found.total;
    },
  };
}

describe('without a change', () => {
  it('costs what was metered, hour by hour, and hours that nobody recorded are in no figure', () => {
    const { found, run } = replayed({}, [2, 1, null, 0, 3]);
    expect(run()).toEqual({
      cost: 6 + 18,
      replicaMinutes: 60 + 180,
      load: 0,
      unserved: 0,
      changes: 0,
      unpricedReplicaMinutes: 0,
      unrecordedHours: 1,
    });
    expect(found.unknown).toBeNull();
    expect(found.isWhole).toBe(false);
    expect(replayed().found.isWhole).toBe(true);
    expect(replayed({}, [2, 2, 2, 2]).found.isWhole).toBe(false);
    expect(replayed({}, [null, 2, 2, 2, 2]).found.isWhole).toBe(true);
  });

  it('counts replicas of many GPUs, and leaves unserved what is beyond their capacity', () => {
    const { run } = replayed({ gpusPerReplica: 4, service });
    expect(run(1)).toMatchObject({ cost: 48, replicaMinutes: 120, load: 250 * 60, unserved: 50 * 60 });
  });

  it('serves nothing of a load that is unknown, or where its capacity is', () => {
    const values = [null, 250, null];
    const gaps = replayed({ service: { ...service, load: { from: AS_OF + MINUTE_MS, values } } });
    expect(gaps.run(1)).toMatchObject({ load: 250, unserved: 50 });
    const unmeasured = replayed({ service: { ...service, capacityPerReplica: null } });
    expect(unmeasured.run(1)).toMatchObject({ load: 0, unserved: 0 });
    expect(replayed({ service }, [4, 4]).run(1)).toMatchObject({ load: 15_000, unserved: 0 });
  });

  it('says why its cost is unknown', () => {
    const whyOf = (...given: Parameters<typeof replayed>): string | null => {
      const { found, run } = replayed(...given);
      run();
      return found.unknown;
    };
    expect(whyOf({ fleet: null })).toContain('number of replicas');
    expect(whyOf({}, [2])).toContain('none of its use was metered');
    expect(whyOf({ term: null })).toContain('term of its machines');
    expect(whyOf({ gpusPerReplica: null })).toContain('number of GPUs');
    expect(whyOf({ sku: null })).toBe('the machines on which it runs are unknown');
    expect(whyOf({ provider: null })).toBe('the machines on which it runs are unknown');
    expect(whyOf({ sku: 'another' })).toBe('no price of another of AWS in us-east-1 for the term on-demand is known');
    expect(whyOf({ region: null })).toContain('of AWS for the term');
    expect(whyOf({ sku: 'another' }, [0, 0, 0, 0, 0])).toBeNull();
  });

  it('counts replica-minutes without a price, and knows its cost where some have one', () => {
    const { found, run } = replayed({}, undefined, { offersAt: (instant) => (instant < at(2) ? [] : OFFERS) });
    expect(run()).toMatchObject({ cost: 24, replicaMinutes: 480, unpricedReplicaMinutes: 240 });
    expect(found.unknown).toBeNull();
  });
});

describe('the price of a replica', () => {
  const priceOf = (offers: readonly GpuOffer[], over: Partial<WorkloadView> = {}): number | null =>
    replayed(over, undefined, { offersAt: () => offers }).found.perReplicaHour(AS_OF);

  it('is the cheapest of its machine and term at its place, or that holds everywhere', () => {
    const others = [
      offer(MODEL, 'on-demand', 10, { provider: 'Azure' }),
      offer(MODEL, 'on-demand', 10, { sku: 'another' }),
      offer(MODEL, 'on-demand', 10, { region: 'eu-west-1' }),
      offer(MODEL, 'reserved-1y', 10),
    ];
    expect(priceOf([...others, ...OFFERS, offer(MODEL, 'on-demand', 5000)])).toBe(5);
    expect(priceOf([...others, ...OFFERS, offer(MODEL, 'on-demand', 3000, { region: null })])).toBe(3);
    expect(priceOf(others)).toBeNull();
    expect(priceOf(OFFERS, { gpusPerReplica: 4 })).toBe(24);
    const peak = compilePeak([{ zone: 'UTC', factor: '1.5' }]);
    expect(replayed({}, undefined, { peak }).found.perReplicaHour(AS_OF)).toBe(9);
  });

  it('on spot is the spot price, and on demand where no spot price is known', () => {
    expect(priceOf(OFFERS, { term: 'spot' })).toBe(2);
    expect(priceOf([OFFERS[0]!], { term: 'spot' })).toBe(6);
    expect(priceOf([OFFERS[1]!], { term: 'on-demand' })).toBeNull();
  });

  it('is the mean of what was metered, and nobody knows it where a part has no price', () => {
    const part = (term: MeteredGpus['term'], gpus: number, sku = 'example.a100-80gb'): MeteredGpus => ({
      provider: 'AWS',
      region: 'us-east-1',
      sku,
      gpuModel: MODEL,
      term,
      gpus,
    });
    const of = (...parts: readonly MeteredGpus[]): number | null =>
      replayed({ gpusPerReplica: 2 }, undefined, {
        sizes: new Map([['w', new Map([[AS_OF, parts]])]]),
      }).found.perReplicaHour(AS_OF);
    expect(of(part('on-demand', 3), part('spot', 1))).toBe(10);
    // The meter did not say the term: it is the one that is known.
    expect(of(part(null, 1))).toBe(12);
    expect(of(part('on-demand', 3), part('on-demand', 1, 'another'))).toBeNull();
    expect(of()).toBe(12);
    const { found, run } = replayed({}, undefined, {
      sizes: new Map([['w', new Map([[AS_OF, [part('on-demand', 1), part('reserved-1y', 1)]]])]]),
    });
    run(1);
    expect(found.unknown).toContain('for the term reserved-1y');
  });

  it('is of its zone where that has a price of its own', () => {
    const zone = offer(MODEL, 'on-demand', 5000, { region: 'us-east-1a' });
    const offers = (...more: readonly GpuOffer[]) => ({ offersAt: () => [...OFFERS, ...more] });
    const inZone = (more: readonly GpuOffer[], replicas: readonly number[]) =>
      replayed({ zone: 'us-east-1a' }, replicas, offers(...more)).found.perReplicaHour(AS_OF);
    expect(inZone([zone], [0, 0])).toBe(5);
    expect(inZone([{ ...zone, term: 'spot' }], [0, 0])).toBe(6);
    expect(inZone([{ ...zone, sku: 'another' }], [0, 0])).toBe(6);
    expect(inZone([{ ...zone, provider: 'Azure' }], [0, 0])).toBe(6);
  });
});

describe('a change of its size', () => {
  it('boots what is added, paid at once and ready later', () => {
    const { one, found, run } = replayed({ service });
    expect(found.change('Scale', { replicas: 3 }, AS_OF)).toBe(true);
    expect(found.view(one, AS_OF).fleet).toMatchObject({ ready: 2, booting: 1, changedAt: AS_OF });
    expect(run(1)).toMatchObject({ replicaMinutes: 180, unserved: 50 * 10, changes: 1, cost: 18 });
    expect(found.view(one, at(1)).fleet).toMatchObject({ ready: 3, booting: 0 });
    found.runHour(at(1));
    expect(found.total).toMatchObject({ replicaMinutes: 360, changes: 1 });
  });

  it('takes the youngest that still boot first, then those that are ready', () => {
    const { one, found } = replayed({ service });
    found.change('Scale', { replicas: 5 }, AS_OF);
    found.change('Scale', { replicas: 3 }, AS_OF);
    expect(found.view(one, AS_OF).fleet).toMatchObject({ ready: 2, booting: 1 });
    found.change('Scale', { replicas: 1 }, AS_OF);
    expect(found.view(one, AS_OF).fleet).toMatchObject({ ready: 1, booting: 0 });
    found.change('Scale', { replicas: -1 }, AS_OF);
    expect(found.view(one, AS_OF).fleet).toMatchObject({ ready: 0, booting: 0 });
  });

  it('is none where that many were recorded: it goes on as recorded', () => {
    const { found, run } = replayed({}, [2, 2, 3, 3, 3]);
    expect(found.change('Scale', { replicas: 2 }, AS_OF)).toBe(true);
    expect(run()).toMatchObject({ changes: 0, replicaMinutes: 60 * 11 });
    const held = replayed({}, [2, 2, 3, 3, 3]);
    held.found.takeOver(AS_OF);
    expect(held.run()).toMatchObject({ replicaMinutes: 60 * 8 });
  });

  it('stops it, and is taken back', () => {
    for (const action of ['Stop', 'Release']) {
      const { found, run } = replayed();
      expect(found.change(action, {}, AS_OF)).toBe(true);
      expect(run(1)).toMatchObject({ replicaMinutes: 0, cost: 0 });
      found.resume();
      found.runHour(at(1));
      expect(found.total).toMatchObject({ replicaMinutes: 120, cost: 12, changes: 2 });
    }
  });

  it('is none of what this model does not know, nor of a fleet that nobody knows', () => {
    const { found, run } = replayed();
    expect(found.change('Keep', { replicas: 5 }, AS_OF)).toBe(false);
    expect(found.change('Scale', {}, AS_OF)).toBe(false);
    expect(run(1)).toMatchObject({ replicaMinutes: 120, changes: 0 });
    expect(replayed({ fleet: null }).found.change('Stop', {}, AS_OF)).toBe(false);
  });

  it('is seen by a policy; a size that was not recorded in the hour before is unknown', () => {
    const { one, found } = replayed({ service }, [null, 2]);
    expect(found.view(one, AS_OF).fleet).toBeNull();
    expect(found.view(one, at(1)).fleet).toEqual({ ...FLEET, ready: 2, booting: 0, changedAt: AS_OF - DAY_MS });
    found.takeOver(AS_OF);
    expect(found.state(AS_OF)).toBe('null 0 0 true');
    found.takeOver(at(1));
    expect(found.state(at(1))).toBe('2 0 0 true');
    expect(replayed({ gpusPerReplica: null }).found.view(one, AS_OF).fleet).toBeNull();
  });
});

describe('a change of its term', () => {
  const market = (over: Partial<SpotMarket> = {}): SpotMarket => ({
    provider: 'AWS',
    region: 'us-east-1',
    gpuModel: MODEL,
    from: AS_OF,
    tickSeconds: 900,
    available: [true, false, true, true],
    ...over,
  });
  const onSpot = (markets: readonly SpotMarket[], offers: readonly GpuOffer[] = OFFERS) => {
    const { found, run } = replayed({}, undefined, { spotMarkets: markets, offersAt: () => offers });
    found.change('MoveToSpot', {}, AS_OF);
    return run(1).cost;
  };

  it('to spot is paid as spot for the share of the hour in which it was there, else on demand', () => {
    expect(onSpot([market()])).toBe(2 * (0.75 * 2 + 0.25 * 6));
    expect(onSpot([market({ region: null })])).toBe(2 * 3);
    expect(onSpot([market({ available: [] })])).toBe(2 * 6);
    for (const other of [{ region: 'eu-west-1' }, { provider: 'Azure' }, { gpuModel: 'T4' }])
      expect(onSpot([market(other)])).toBe(2 * 6);
    expect(onSpot([market()], [OFFERS[0]!])).toBe(2 * 6);
    expect(onSpot([market()], [OFFERS[1]!])).toBe(2 * 2);
  });

  it('to on-demand costs that, and is taken back', () => {
    const { one, found, run } = replayed({ term: 'spot' });
    expect(found.view(one, AS_OF).term).toBe('spot');
    expect(found.change('MoveToOnDemand', {}, AS_OF)).toBe(true);
    expect(found.view(one, AS_OF).term).toBe('on-demand');
    expect(run(1)).toMatchObject({ cost: 12, changes: 1 });
    found.restore();
    found.runHour(at(1));
    expect(found.total).toMatchObject({ cost: 12 + 4, changes: 2 });
  });

  it('is as it was metered in the hour before, unknown where that was several', () => {
    const part = { provider: 'AWS', region: 'us-east-1', sku: 'example.a100-80gb', gpuModel: MODEL, gpus: 1 };
    const termOf = (...terms: readonly MeteredGpus['term'][]) => {
      const parts = terms.map((term) => ({ ...part, term }));
      const { one, found } = replayed({}, [], { sizes: new Map([['w', new Map([[at(-1), parts]])]]) });
      return found.view(one, AS_OF).term;
    };
    expect(termOf()).toBe('on-demand');
    expect(termOf('spot')).toBe('spot');
    expect(termOf('spot', 'spot')).toBe('spot');
    expect(termOf('spot', null)).toBeNull();
    expect(termOf('on-demand', null)).toBe('on-demand');
  });
});

describe('other machines', () => {
  const speed = (gpuModel: string, unitsPerMinute: number): ModelPerformance => ({
    gpuModel,
    unitsPerMinute,
    fits: true,
    source: 'stated',
  });
  const performance = [speed(MODEL, 100), speed('T4', 25)];
  const T4 = { sku: 'example.t4', replicas: 8 };

  it('boot anew under every replica, at their own price and speed', () => {
    const { one, found, run } = replayed({ service, performance });
    expect(found.change('Replace', T4, AS_OF)).toBe(true);
    expect(found.view(one, AS_OF)).toMatchObject({
      sku: 'example.t4',
      gpuModel: 'T4',
      fleet: { ready: 0, booting: 8 },
      service: { capacityPerReplica: 25 },
    });
    // Eight replicas serve 200 of 250.
    expect(run(1)).toMatchObject({ cost: 8, unserved: 250 * 10 + 50 * 50, changes: 1 });
    found.restore();
    expect(found.view(one, at(1))).toMatchObject({ sku: one.sku, service: { capacityPerReplica: 100 } });
  });

  it('of the same kind in another number only add or take some', () => {
    const { one, found } = replayed({ service, performance });
    expect(found.change('Replace', { sku: 'example.a100-80gb', replicas: 3 }, AS_OF)).toBe(true);
    expect(found.view(one, AS_OF).fleet).toMatchObject({ ready: 2, booting: 1 });
  });

  it('are none that are not sold at its place in its size, or whose speed is unknown', () => {
    const refused = (change: Record<string, unknown>, over: Partial<WorkloadView> = { performance }) =>
      !replayed(over).found.change('Replace', change as never, AS_OF);
    expect(refused(T4)).toBe(false);
    expect(refused({ ...T4, replicas: 0 })).toBe(false);
    expect(refused({ ...T4, replicas: -1 })).toBe(true);
    expect(refused({ sku: 'example.t4' })).toBe(true);
    expect(refused({ ...T4, sku: 'another' })).toBe(true);
    expect(refused({ instances: [] })).toBe(true);
    expect(refused(T4, { performance, region: 'eu-west-1' })).toBe(true);
    expect(refused(T4, { performance, provider: 'Google Cloud' })).toBe(true);
    expect(refused(T4, { performance, gpusPerReplica: 2 })).toBe(true);
    expect(refused(T4, { performance: performance.slice(0, 1) })).toBe(true);
    expect(refused(T4, { performance: performance.slice(1) })).toBe(true);
    expect(refused(T4, { performance: [speed(MODEL, 0), performance[1]!] })).toBe(true);
    expect(refused(T4, { performance: [] })).toBe(true);
    const everywhere = { ...offer('T4', 'on-demand', 1000), region: null };
    const anywhere = replayed({ performance }, undefined, { offersAt: () => [everywhere] });
    expect(anywhere.found.change('Replace', T4, AS_OF)).toBe(true);
  });

  it('are as fast as was measured where nobody stated it', () => {
    const measurements = [measurement(MODEL, 120), measurement('T4', 60)].map((one) => ({ ...one, team: 'lab' }));
    const runs = { model: 'classifier', batch: 32, size: null, optimizer: null, precision: null };
    const { one, found } = replayed({ service, runs }, undefined, { measurements });
    expect(found.change('Replace', T4, AS_OF)).toBe(true);
    expect(found.view(one, AS_OF).service?.capacityPerReplica).toBe(50);
    expect(replayed({ service, runs }).found.change('Replace', T4, AS_OF)).toBe(false);
    expect(replayed({ service }, undefined, { measurements }).found.change('Replace', T4, AS_OF)).toBe(false);
  });

  it('keep the terms that were metered, each at the new price', () => {
    const offers = [...OFFERS, offer('T4', 'spot', 500)];
    const part = { provider: 'AWS', region: 'us-east-1', sku: 'example.a100-80gb', gpuModel: MODEL };
    const parts = [
      { ...part, term: 'on-demand' as const, gpus: 1 },
      { ...part, term: 'spot' as const, gpus: 1 },
    ];
    const sizes = new Map([['w', new Map([[AS_OF, parts]])]]);
    const { found } = replayed({ performance }, [], { sizes, offersAt: () => offers });
    found.change('Replace', T4, AS_OF);
    expect(found.perReplicaHour(AS_OF)).toBe(0.75);
    // Where nothing ran it has the term that is known.
    expect(found.perReplicaHour(at(1))).toBe(1);
  });
});

describe('a group of a service on spot', () => {
  const market = (
    region: string | null,
    available: readonly boolean[],
    over: Partial<SpotMarket> = {},
  ): SpotMarket => ({ provider: 'AWS', region, gpuModel: MODEL, from: AS_OF, tickSeconds: 1800, available, ...over });
  const group = { partOf: 's', term: 'spot', service: { ...service, capacityPerReplica: null } } as const;

  it('holds what a policy asked for only while spot is there, and boots it again when it comes back', () => {
    const { one, found, run } = replayed(group, undefined, {
      spotMarkets: [market('us-east-1', [true, false, true, true])],
    });
    found.change('Scale', { replicas: 3 }, AS_OF);
    expect(found.state(AS_OF)).toBe('2 1 0 true');
    expect(run(1).replicaMinutes).toBe(3 * 30);
    expect(found.state(at(0.5))).toBe('0 0 3 false');
    expect(found.view(one, at(1)).fleet).toMatchObject({ ready: 0, booting: 3 });
    found.runHour(at(1));
    expect(found.readyByMinute).toHaveLength(120);
    expect([0, 9, 10, 29, 30, 59, 60, 69, 70].map((minute) => found.readyByMinute[minute])).toEqual([
      2, 2, 3, 3, 0, 0, 0, 0, 3,
    ]);
    expect(found.total.replicaMinutes).toBe(3 * 90);
    expect(found.view(one, at(2)).metrics[READY_REPLICAS]).toEqual({ from: AS_OF, values: found.readyByMinute });
  });

  it('gives up what waits first', () => {
    const { one, found } = replayed(group, undefined, { spotMarkets: [market('us-east-1', [false, true])] });
    found.takeOver(AS_OF);
    found.serveUntil(at(0.5));
    expect(found.state(at(0.5))).toBe('0 0 2 true');
    found.change('Scale', { replicas: 1 }, at(0.5));
    expect(found.view(one, at(0.5)).fleet).toMatchObject({ ready: 0, booting: 1 });
  });

  it('has the market of its zone, else that of its region, else none, and is then always there', () => {
    const isThere = (markets: readonly SpotMarket[], over: Partial<WorkloadView> = {}): boolean =>
      replayed({ ...group, zone: 'us-east-1a', ...over }, undefined, { spotMarkets: markets })
        .found.state(AS_OF)
        .endsWith('true');
    const [gone, there] = [[false], [true]];
    expect(isThere([market('us-east-1', there), market('us-east-1a', gone)])).toBe(false);
    expect(isThere([market('us-east-1', gone)])).toBe(false);
    expect(isThere([market(null, gone)])).toBe(false);
    expect(isThere([market('us-east-1b', gone)])).toBe(true);
    expect(isThere([market('us-east-1', gone, { provider: 'Azure' })])).toBe(true);
    expect(isThere([market('us-east-1', gone, { gpuModel: 'T4' })])).toBe(true);
    expect(isThere([market('us-east-1', gone)], { term: 'on-demand' })).toBe(true);
  });

  it('has no minute that is unknown as 0', () => {
    const { found } = replayed(group, [2, null, 2]);
    found.runHour(AS_OF);
    found.runHour(at(1));
    expect(found.readyByMinute[0]).toBeNull();
    expect(found.readyByMinute[60]).toBe(2);
    const { found: alone } = replayed({ service });
    alone.runHour(AS_OF);
    expect(alone.readyByMinute).toEqual([]);
  });
});
