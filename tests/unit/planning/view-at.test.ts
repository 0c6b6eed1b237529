/** The view that a policy would have had at a time: all that was known by then, and nothing after it. */
import { describe, expect, it } from 'vitest';
import type { RecordedHistory } from '../../../src/core/policy/history.js';
import {
  READINGS_DAYS,
  type DemandSeries,
  type LeaseView,
  type PolicyView,
  type SpotMarket,
} from '../../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import type { TakenMeasurement } from '../../../src/core/workload/measurement.js';
import { availableShare } from '../../../src/planning/policy/bills.js';
import { viewAt, type Changed } from '../../../src/planning/policy/history.js';
import { AS_OF, rate, workload } from '../../../src/policies/estimating/examples.js';
import { recorded } from '../../support/recorded-history.js';

function seen(over: Partial<RecordedHistory>, changed: Partial<Changed> = {}, asOf = AS_OF): PolicyView {
  const history = recorded({
    pricesAt: (_, at) => ({ onDemand: rate(at === asOf ? 3000 : 1), reserved: [] }),
    ...over,
  });
  return viewAt(history, asOf, { committed: () => [], workload: (one) => one, budgets: [], ...changed });
}
const minutes = (...values: number[]) => ({ from: AS_OF - 2 * MINUTE_MS, values });

describe('the readings of a resource', () => {
  const resource = (...times: number[]) => ({
    resource: 'r',
    workload: null,
    gpus: 1,
    gpuModel: 'T4',
    hourlyNanos: null,
    observedFrom: 0,
    readings: times.map((at) => ({ at, gpuUtilisationRatio: 0, memoryUsedRatio: 0, requestsPerSecond: null })),
  });
  const times = (...all: number[]) =>
    seen({ resources: [resource(...all)] }).resources[0]?.readings.map(({ at }) => at);

  it('are those of the days before, both ends included', () => {
    const oldest = AS_OF - READINGS_DAYS * DAY_MS;
    expect(times(oldest - 1, oldest, AS_OF, AS_OF + 1)).toEqual([oldest, AS_OF]);
  });

  it('begin where the first that is left does, and without any it is not there', () => {
    const one = resource(AS_OF - HOUR_MS, AS_OF);
    expect(seen({ resources: [one] }).resources).toMatchObject([{ resource: 'r', observedFrom: AS_OF - HOUR_MS }]);
    expect(seen({ resources: [resource(AS_OF + 1)] }).resources).toEqual([]);
  });
});

describe('a workload', () => {
  it('has the minutes that are over, and is missing where a replay has not made it yet', () => {
    const one = workload('w', {
      metrics: { busy: minutes(1, 2, 3) },
      service: { bootMinutes: 3, capacityPerReplica: 100, load: { ...minutes(4, 5, 6), measuredGpus: [7, 8, 9] } },
    });
    const [shown] = seen({ workloads: [one] }).workloads;
    expect(shown).toMatchObject({
      metrics: { busy: { values: [1, 2] } },
      service: { load: { values: [4, 5], measuredGpus: [7, 8] } },
    });
    expect(seen({ workloads: [one] }, {}, AS_OF - HOUR_MS).workloads[0]?.metrics['busy']?.values).toEqual([]);
    expect(seen({ workloads: [one] }, { workload: () => null }).workloads).toEqual([]);
  });
});

describe('demand', () => {
  const series = (over: Partial<DemandSeries> = {}): DemandSeries => ({
    provider: 'AWS',
    account: null,
    sku: 's',
    region: 'r',
    gpuModel: 'T4',
    term: 'on-demand',
    from: AS_OF - 2 * HOUR_MS,
    gpus: Float64Array.from([4, 6, 9]),
    onDemand: null,
    reserved: [],
    ...over,
  });
  const held = [{ units: 5, hoursLeft: 9, since: AS_OF - HOUR_MS }];

  it('is of the whole hours that are over, at the prices of that time', () => {
    const [shown] = seen({ demand: [series({ coveredGpus: Float64Array.from([1, 2, 3]) })] }).demand;
    expect(shown).toMatchObject({ onDemand: rate(3000) });
    expect([...shown!.gpus]).toEqual([4, 6]);
    expect([...shown!.coveredGpus!]).toEqual([1, 2]);
    expect(seen({ demand: [series({ from: AS_OF })] }).demand).toEqual([]);
    expect([...seen({ demand: [series()] }, {}, AS_OF + HOUR_MS - 1).demand[0]!.gpus]).toEqual([4, 6]);
    expect([...seen({ demand: [series()] }, {}, AS_OF + DAY_MS).demand[0]!.gpus]).toEqual([4, 6, 9]);
  });

  it('is less what a commitment of the replay holds, from when it does', () => {
    const one = series({ coveredGpus: Float64Array.from([1, 2, 3]) });
    const [shown] = seen({ demand: [one] }, { committed: () => held }).demand;
    expect([...shown!.gpus]).toEqual([4, 1]);
    expect([...shown!.coveredGpus!]).toEqual([1, 7]);
    expect(shown!.committed).toEqual(held);
    const [late] = seen({ demand: [series()] }, { committed: () => [{ ...held[0]!, since: AS_OF }] }).demand;
    expect([...late!.gpus]).toEqual([4, 6]);
  });
});

describe('a spot market', () => {
  const market: SpotMarket = {
    provider: 'AWS',
    region: 'r',
    gpuModel: 'T4',
    from: AS_OF - HOUR_MS,
    tickSeconds: 1800,
    available: [true, false, true, null],
  };
  const shown = (changed: Partial<Changed>, asOf?: number) =>
    seen({ spotMarkets: [market] }, changed, asOf).spotMarkets[0]?.available;

  it('has the readings before, and that of this instant only where it has come', () => {
    expect(shown({})).toEqual([true, false]);
    expect(shown({ seesMarketNow: true })).toEqual([true, false, true]);
    expect(shown({}, AS_OF - DAY_MS)).toEqual([]);
  });

  it('was there for a share of an hour, in which what nobody looked at counts as gone', () => {
    expect(availableShare(market, AS_OF - HOUR_MS)).toBe(0.5);
    expect(availableShare(market, AS_OF)).toBe(0.5);
    expect(availableShare({ ...market, available: [null, null] }, AS_OF - HOUR_MS)).toBeNull();
    expect(availableShare(market, AS_OF + HOUR_MS)).toBeNull();
    expect(availableShare({ ...market, tickSeconds: 7200 }, AS_OF - HOUR_MS)).toBe(1);
  });
});

it('shows leases that have begun, and measurements that were taken', () => {
  const lease = (startedAt: number): LeaseView => ({
    lease: `from ${startedAt}`,
    target: 't',
    holder: null,
    gpus: null,
    startedAt,
    expiresAt: null,
    hourlyNanos: null,
    active: null,
  });
  const leases = [lease(AS_OF), lease(AS_OF + 1)];
  expect(seen({ leases }).leases).toEqual([leases[0]]);
  const measurements = [AS_OF, AS_OF + 1].map((measuredAt) => ({ measuredAt }) as TakenMeasurement);
  expect(seen({ measurements }).measurements).toEqual([measurements[0]]);
  expect(seen({ measurements }, {}, AS_OF + 1).measurements).toBe(measurements);
  expect(seen({}).measurements).toBeUndefined();
});
