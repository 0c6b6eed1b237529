/**
 * What else could have been done with a team's demand, resources and fleets: by hand, and where nothing is compared.
 */
import { describe, expect, it } from 'vitest';
import type { RecordedHistory } from '../../../src/core/policy/history.js';
import type {
  DemandSeries,
  Policy,
  ReservedOffer,
  ResourceView,
  WorkloadView,
} from '../../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import {
  commitmentAlternatives,
  idleAlternatives,
  scalingAlternatives,
  servingAlternatives,
  type IsKnown,
  type PendingAlternative,
} from '../../../src/planning/policy/alternatives.js';
import { AS_OF, offer, OFFERS, rate, workload } from '../../../src/policies/estimating/examples.js';
import { recorded } from '../../support/recorded-history.js';
import { meteredAs } from '../../support/recorded-sizes.js';

const named = (name: string): Policy => ({ name }) as Policy;
const ALL: IsKnown = () => true;
const costs = (found: readonly PendingAlternative[]) =>
  Object.fromEntries(
    found.map((one) => {
      const { name, cost } = one();
      return [name, Math.round(cost * 1e6) / 1e6];
    }),
  );
const sumOf = (values: Iterable<number> | undefined): number => [...(values ?? [])].reduce((sum, one) => sum + one, 0);

describe('of demand', () => {
  const series = (gpus: readonly number[], over: Partial<DemandSeries> = {}): DemandSeries => ({
    provider: 'AWS',
    account: null,
    sku: 'example.t4',
    region: 'us-east-1',
    gpuModel: 'T4',
    term: 'on-demand',
    from: AS_OF,
    gpus: Float64Array.from(gpus),
    onDemand: null,
    reserved: [],
    ...over,
  });
  /** Of a day: half the price on demand. */
  const DAY: ReservedOffer = { term: 'reserved-1y', upfront: 'none', termHours: 24, rate: rate(2000), source: 'test' };
  const params = { terms: ['reserved-1y'], upfront: ['none'] };
  const pricesAt = () => ({ onDemand: rate(4000), reserved: [DAY] });
  const found = (over: Partial<RecordedHistory>, given: unknown = params, isKnown = ALL, name = 'reserve-baseline') =>
    commitmentAlternatives(recorded({ pricesAt, ...over }), named(name), given, isKnown);
  const steady = (gpus: number, hours: number): number[] => new Array<number>(hours).fill(gpus);

  it('the best reserves what is used for more than the break-even, the rules what was used before', () => {
    // A day of past and a day of window: two GPUs throughout, a third for six hours.
    const demand = [series([...steady(2, 24), ...steady(3, 6), ...steady(2, 18)], { from: AS_OF - DAY_MS })];
    expect(costs(found({ demand }))).toEqual({
      'look-back-7d': 2 * 48 + 6 * 4,
      'look-back-30d': 2 * 48 + 6 * 4,
      'look-back-60d': 2 * 48 + 6 * 4,
      clairvoyant: 2 * 48 + 6 * 4,
    });
    // Without a past the rules buy nothing on the first day.
    const fresh = found({ demand: [series([...steady(3, 6), ...steady(2, 18)])] });
    expect(costs(fresh)).toMatchObject({ 'look-back-7d': 4 * (18 + 36), clairvoyant: 2 * 48 + 6 * 4 });
  });

  it('the rules buy again each day what has run out, of the days that they look back on', () => {
    const demand = [series(steady(1, 72))];
    const [week] = found({ demand, to: AS_OF + 3 * DAY_MS });
    const { cost, paid } = week!();
    expect([...paid!]).toEqual([96, 48, 48]);
    expect(cost).toBe(192);
    // Two GPUs for four days of nine, and none since: half of a week ago is forgotten on the ninth day.
    const fallen = [series([...steady(2, 96), ...steady(0, 120)])];
    const bought = found({ demand: fallen, to: AS_OF + 9 * DAY_MS })[0]!().paid!;
    expect([...bought]).toEqual(
      [2 * 96, 96, 96, 96, 96, 96, 96, 96, 0].map((one, day) => (day === 8 ? bought[8] : one)),
    );
    expect(bought[8]).toBe(0);
  });

  it('parts of GPUs are rounded up before they are reserved, and paid as they are', () => {
    const demand = [series([...steady(1.5, 48)], { from: AS_OF - DAY_MS })];
    expect(costs(found({ demand }))['look-back-7d']).toBe(2 * 48);
    expect(costs(found({ demand }))['clairvoyant']).toBe(2 * 48);
  });

  it('is nothing of another policy, or where nothing that is allowed was on offer', () => {
    const demand = [series(steady(2, 24))];
    expect(found({ demand })).toHaveLength(4);
    expect(found({ demand }, params, ALL, 'idle-stop')).toEqual([]);
    expect(found({ demand }, {})).toEqual([]);
    expect(found({ demand }, { ...params, terms: ['reserved-3y'] })).toEqual([]);
    expect(found({ demand }, { ...params, upfront: ['all'] })).toEqual([]);
    expect(found({ demand }, params, () => false)).toEqual([]);
    expect(found({ demand: [series(steady(2, 24), { term: 'spot' })] })).toEqual([]);
    expect(found({ demand, pricesAt: () => ({ onDemand: null, reserved: [DAY] }) })).toEqual([]);
    expect(found({ demand: [] })).toEqual([]);
  });

  it('pays all known demand, also what is not reserved, and nothing that has no price', () => {
    const demand = [
      series(steady(1, 24)),
      series(steady(1, 24), { sku: 'not on offer' }),
      series(steady(1, 24), { sku: 'unknown' }),
      series(steady(1, 24), { term: 'spot' }),
      series(steady(1, 24), { term: null }),
    ];
    const prices = (one: DemandSeries) => ({ onDemand: rate(4000), reserved: one.sku === 'example.t4' ? [DAY] : [] });
    const known = (index: number): boolean => index !== 2;
    const best = found({ demand, pricesAt: prices }, params, known).at(-1)!();
    expect(best.cost).toBe(48 + 96 + 48);
    expect(sumOf(best.paid)).toBe(best.cost);
  });
});

describe('of resources', () => {
  /** A reading a minute: an hour of work, two quiet ones, and another hour of work; a dollar a minute. */
  const resource = (over: Partial<ResourceView> = {}): ResourceView => ({
    resource: 'r',
    workload: 'training',
    gpus: 1,
    gpuModel: 'T4',
    hourlyNanos: 60_000_000_000n,
    observedFrom: AS_OF,
    readings: Array.from({ length: 240 }, (_, minute) => ({
      at: AS_OF + minute * MINUTE_MS,
      gpuUtilisationRatio: minute < 60 || minute >= 180 ? 0.9 : 0,
      memoryUsedRatio: 0.1,
      requestsPerSecond: null,
    })),
    ...over,
  });

  it('the rules stop after their minutes of quiet, the best at once, and a restart is paid', () => {
    const history = recorded({ resources: [resource()], to: AS_OF + 4 * HOUR_MS });
    expect(costs(idleAlternatives(history, named('idle-stop'), 10, ALL))).toEqual({
      'below-30-for-30': 239 - (120 - 30) + 10,
      'zero-for-60': 239 - (120 - 60) + 10,
      'ski-rental': 239 - (120 - 10) + 10,
      clairvoyant: 239 - 120 + 10,
    });
  });

  it('is nothing of another policy, and of those whose price is known', () => {
    const history = recorded({ resources: [resource(), resource({ resource: 'q' })], to: AS_OF + 4 * HOUR_MS });
    expect(idleAlternatives(history, named('ramp'), 10, ALL)).toEqual([]);
    const second = idleAlternatives(history, named('idle-stop'), 10, (index) => index === 1);
    expect(costs(second)['clairvoyant']).toBe(129);
    expect(costs(idleAlternatives(history, named('idle-stop'), 10, ALL))['clairvoyant']).toBe(258);
  });
});

describe('of fleets', () => {
  const FLEET = { ready: 2, booting: 0, minReplicas: 0, maxReplicas: 9, changedAt: null };
  const loadOf = (values: readonly (number | null)[], from = AS_OF) => ({
    bootMinutes: 5,
    capacityPerReplica: 100,
    load: { from, values },
  });
  /** Two hours at a load of 150 and of 50 a minute. */
  const LOAD = [...new Array<number>(60).fill(150), ...new Array<number>(60).fill(50)];
  const fleet = (over: Partial<WorkloadView> = {}): WorkloadView =>
    workload('w', { fleet: FLEET, service: loadOf(LOAD), ...over });
  const history = (workloads: readonly WorkloadView[], replicas: readonly (number | null)[] = [2, 2]) =>
    recorded({
      to: AS_OF + 2 * HOUR_MS,
      workloads,
      offersAt: () => OFFERS,
      sizes: new Map(workloads.map((one) => [one.workload, meteredAs(one, AS_OF, replicas)])),
    });
  const scaling = (workloads: readonly WorkloadView[], replicas?: readonly (number | null)[], isKnown = ALL) =>
    scalingAlternatives(history(workloads, replicas), named('target-tracking'), isKnown);

  it('the best has as many as the load needs, and serves all of it', () => {
    const all = scaling([fleet()]);
    expect(all.map((one) => one().name)).toEqual([
      'hpa-0.5',
      'hpa-0.7',
      'hpa-0.9',
      'target-tracking-0.7',
      'step-scaling',
      'clairvoyant',
    ]);
    const best = all.at(-1)!();
    // Two replicas for an hour and one for another, at 4 an hour.
    expect(best.cost).toBeCloseTo(2 * 4 + 4, 9);
    expect(best.unservedShare).toBe(0);
    expect(best.paid).toBeUndefined();
    const hpa = all[1]!();
    expect(hpa.cost).toBeGreaterThan(best.cost);
    expect(sumOf(hpa.paid)).toBeCloseTo(hpa.cost, 9);
    expect(hpa.paid).toHaveLength(1);
  });

  it('what the largest fleet cannot serve is a share of the load, over all services', () => {
    const small = fleet({ fleet: { ...FLEET, maxReplicas: 1 } });
    expect(scaling([small]).at(-1)!()).toMatchObject({ unservedShare: (60 * 50) / (60 * 200) });
    const both = scaling([small, fleet({ workload: 'v' })]).at(-1)!();
    expect(both.unservedShare).toBe((60 * 50) / (60 * 400));
    expect(both.cost).toBeCloseTo(8 + 12, 9);
    expect(scaling([fleet({ service: loadOf(new Array<number>(120).fill(0)) })])[0]!().unservedShare).toBeNull();
  });

  it('a fleet has at least the replicas that it must have, and one', () => {
    const least = fleet({ fleet: { ...FLEET, minReplicas: 3 } });
    expect(scaling([least]).at(-1)!().cost).toBeCloseTo(3 * 8, 9);
    expect(scaling([fleet({ service: loadOf(new Array<number>(120).fill(0)) })]).at(-1)!().cost).toBeCloseTo(8, 9);
  });

  it('is compared only where all is known: load, capacity, size and price', () => {
    expect(scalingAlternatives(history([fleet()]), named('idle-stop'), ALL)).toEqual([]);
    expect(scalingAlternatives(history([fleet()]), named('step-scaling'), ALL)).toHaveLength(6);
    expect(scaling([])).toEqual([]);
    expect(scaling([fleet()], [2, null])).toEqual([]);
    for (const over of [
      { service: null },
      { fleet: null },
      { service: { ...loadOf(LOAD), capacityPerReplica: null } },
      { service: loadOf(LOAD.slice(1)) },
      { service: loadOf([null, ...LOAD.slice(1)]) },
      { service: loadOf(LOAD, AS_OF + MINUTE_MS) },
      { sku: 'another' },
    ] as readonly Partial<WorkloadView>[]) {
      expect(scaling([fleet(over)])).toEqual([]);
      expect(scaling([fleet(), fleet({ workload: 'v', ...over })])).toEqual([]);
      // One that is in no figure is not asked.
      expect(scaling([fleet(), fleet({ workload: 'v', ...over })], undefined, (index) => index === 0)).toHaveLength(6);
    }
    expect(scaling([fleet({ service: loadOf([9, 9, ...LOAD], AS_OF - 2 * MINUTE_MS) })]).at(-1)!().cost).toBeCloseTo(
      12,
      9,
    );
  });

  it('of a promised service is the cheapest group on demand, hour by hour', () => {
    const params = { service: 's', replicas: 3 };
    const groups = [
      workload('dear', { partOf: 's' }),
      workload('cheap', { partOf: 's', sku: 'example.t4', gpuModel: 'T4' }),
      workload('spot', { partOf: 's', term: 'spot', sku: 'example.t4', gpuModel: 'T4' }),
      workload('other', { partOf: 'another', sku: 'free' }),
    ];
    const later = [offer('A100-80GB', 'on-demand', 4000)];
    const offersAt = (at: number) => (at < AS_OF + 12 * HOUR_MS ? OFFERS : later);
    const found = (given: unknown, name = 'spot-serving', over: Partial<RecordedHistory> = {}) =>
      servingAlternatives(recorded({ workloads: groups, offersAt, ...over }), named(name), given);
    const [only] = found(params);
    expect(only!()).toEqual({
      name: 'on-demand',
      cost: 3 * 12 * 0.5 + 3 * 12 * 4,
      measures: { servedShare: 1 },
      paid: Float64Array.of(162),
    });
    expect(found(params, 'ramp')).toEqual([]);
    expect(found({ service: 's' })).toEqual([]);
    expect(found({ ...params, service: 'none' })).toEqual([]);
    expect(found(params, 'spot-serving', { offersAt: (at) => (at < AS_OF + DAY_MS - HOUR_MS ? OFFERS : []) })).toEqual(
      [],
    );
  });
});
