/** target-tracking at its limits: by a forecast of the load, and by a target for a measure. */
import { describe, expect, it } from 'vitest';
import type { FleetFacts, WorkloadView } from '../../../src/core/policy/policy.js';
import { MINUTE_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, goneCard, minutes, steady, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/target-tracking.js';

const FLEET: FleetFacts = { ready: 10, booting: 0, minReplicas: 1, maxReplicas: 20, changedAt: AS_OF - 60 * MINUTE_MS };
type Values = readonly (number | null)[];
const view = (one: WorkloadView) => exampleView({ workloads: [one] });
const proposed = (one: WorkloadView, given: object) => policy.evaluate(view(one), policy.params.parse(given))[0];
const told = (one: WorkloadView, given: object) => policy.explain!(view(one), policy.params.parse(given))[0]!;
const done = (one: WorkloadView, given: object): string | number => {
  const size = proposed(one, given)?.change?.['replicas'];
  return typeof size === 'number' ? size : told(one, given).leftAlone!.code;
};

describe('a forecast load', () => {
  const GIVEN = { windowMinutes: 120 };
  /** One replica serves a hundred a minute. */
  const service = (load: Values, fleet: Partial<FleetFacts> = {}, over: Partial<WorkloadView> = {}) =>
    workload('w', {
      fleet: { ...FLEET, ...fleet },
      service: { bootMinutes: 3, capacityPerReplica: 100, load: minutes(load) },
      ...over,
    });
  const quiet = steady(150, 120);
  const capacity = (capacityPerReplica: number | null) =>
    service(quiet, {}, { service: { bootMinutes: 3, capacityPerReplica, load: minutes(quiet) } });

  it.each<[string, WorkloadView]>([
    ['protected', service(quiet, {}, { isProtected: true })],
    ['no-load', service(quiet, {}, { service: null })],
    ['no-size', capacity(null)],
    ['no-size', capacity(0)],
    ['no-size', service(quiet, { minReplicas: 0 })],
    ['no-size', service(quiet, { minReplicas: 5, maxReplicas: 4 })],
    ['not-measured', service([...steady(150, 119), null])],
    ['missing-minutes', service([...steady(150, 60), null, ...steady(150, 59)])],
    ['missing-minutes', service(steady(150, 119))],
    ['fits', service(quiet, { ready: 2 })],
    ['recent-change', service(quiet, { changedAt: AS_OF - 5 * MINUTE_MS + 1 })],
    ['recent-change', service(quiet, { changedAt: null })],
  ])('is left alone: %s', (code, one) => {
    expect(done(one, GIVEN)).toBe(code);
    const holds = ['not-measured', 'fits', 'missing-minutes', 'recent-change'].includes(code);
    expect(told(one, GIVEN).leftAlone?.holds ?? false).toBe(holds);
  });

  it('takes replicas away once nothing has changed for long enough', () => {
    expect(done(service(quiet), GIVEN)).toBe(2);
    expect(done(service(quiet, { changedAt: AS_OF - 5 * MINUTE_MS }), GIVEN)).toBe(2);
    expect(done(service(quiet, { changedAt: null }), { ...GIVEN, cooldownMinutes: 0 })).toBe(2);
    expect(done(service(quiet, { minReplicas: 4 }), GIVEN)).toBe(4);
    expect(told(service(quiet), GIVEN).saw).toEqual([
      '120 minutes of its load, 10 replicas, 2 by the forecast of the load',
    ]);
  });

  it('adds them without waiting, up to the maximum, whatever was not measured before', () => {
    const busy = steady(550, 120);
    // Five and a half are expected, and a replica that lacks costs more than one too many.
    expect(done(service(busy, { ready: 2, changedAt: null }), GIVEN)).toBe(8);
    expect(done(service(busy, { ready: 2, maxReplicas: 3 }), GIVEN)).toBe(3);
    expect(done(service([null, ...busy.slice(1)], { ready: 2 }), GIVEN)).toBe(8);
    expect(done(service(busy, { ready: 2 }), { ...GIVEN, reserveRatio: 1 })).toBeGreaterThan(8);
  });

  it('saves what the plan would not have held of the window, and costs what it adds', () => {
    const dollars = (each: number) => BigInt(each * 4 * 730) * 1_000_000_000n;
    expect(proposed(service(steady(550, 120), { ready: 2 }), GIVEN)).toMatchObject({
      protective: true,
      monthlySavings: { mean: -dollars(6) },
      monthlyCost: dollars(2),
      computation: { replicasNow: 2, replicasPlanned: 8, perReplicaHour: '4.000000', leadMinutes: expect.anything() },
      risk: { interruption: 'None' },
    });
    const less = proposed(service(quiet), GIVEN)!;
    const unneeded = Number(less.computation['replicasUnneededInTheWindow']);
    expect(unneeded).toBeGreaterThan(7);
    expect(unneeded).toBeLessThanOrEqual(8);
    expect(Number(less.monthlySavings!.mean)).toBeCloseTo(unneeded * 4e9 * 730, -3);
    expect(less.monthlySavings!.low).toBeLessThanOrEqual(less.monthlySavings!.mean);
    expect(less.monthlyCost).toBe(dollars(10));
    expect(proposed(service(quiet, {}, { gpusPerReplica: null }), GIVEN)).toMatchObject({
      monthlySavings: null,
      monthlyCost: null,
      computation: { perReplicaHour: 'no price' },
    });
  });

  it('replaces a replica that has lost a GPU, whatever the load', () => {
    const sick = service(quiet, { ready: 2 }, { health: [goneCard('w-1', 'w')] });
    expect(proposed(sick, GIVEN)?.action).toBe('Replace');
    expect(proposed({ ...sick, fleet: null }, GIVEN)?.action).toBe('Replace');
    expect(proposed(service(quiet, {}, { fleet: null }), GIVEN)).toBeUndefined();
  });
});

describe('a target', () => {
  const METRIC = 'queue';
  const group = (values: Values, fleet: Partial<FleetFacts> = {}, over: Partial<WorkloadView> = {}) =>
    workload('w', {
      fleet: { ...FLEET, ready: 4, maxReplicas: 9, ...fleet },
      metrics: { [METRIC]: minutes(values) },
      ...over,
    });
  const target = (over: object = {}) => ({ target: { metric: METRIC, value: 10, ...over } });

  it.each<[string | number, WorkloadView, object]>([
    // Ten per cent of tolerance: 11 a replica, and 9.
    ['as-wanted', group(steady(11, 10)), {}],
    [5, group(steady(11.01, 10)), {}],
    ['as-wanted', group(steady(9, 10)), {}],
    ['as-wanted', group(steady(8.99, 10)), {}],
    [3, group(steady(7.5, 10)), {}],
    [3, group(steady(8, 10), {}), { value: 11 }],
    [4, group(steady(11, 10), { ready: 3 }), { toleranceRatio: 0 }],
    [9, group(steady(1000, 10)), {}],
    [6, group(steady(1000, 10)), { maxReplicas: 6 }],
    ['bounds', group(steady(1000, 10)), { maxReplicas: 4 }],
    ['bounds', group(steady(1000, 10), { maxReplicas: 4 }), {}],
    [1, group(steady(0, 10)), {}],
    [2, group(steady(0, 10)), { minReplicas: 2 }],
    [2, group(steady(0, 10), { minReplicas: 2 }), {}],
    [1, group(steady(0, 10), { minReplicas: 0 }), {}],
    ['bounds', group(steady(0, 10), { minReplicas: 4 }), {}],
    ['stabilisation', group([...steady(0, 5), 10, 0, 0, 0, 0]), {}],
    [1, group([...steady(0, 4), 10, 0, 0, 0, 0, 0]), {}],
    [1, group([...steady(0, 5), 10, 0, 0, 0, 0]), { stabilisationMinutes: 4 }],
    ['missing-minutes', group([...steady(0, 5), null, 0, 0, 0, 0]), {}],
    ['recent-change', group(steady(0, 10), { changedAt: AS_OF - 5 * MINUTE_MS + 1 }), {}],
    [1, group(steady(0, 10), { changedAt: AS_OF - 5 * MINUTE_MS }), {}],
    ['recent-change', group(steady(0, 10), { changedAt: null }), {}],
    [9, group([...steady(1000, 8), null, null]), {}],
    ['not-measured', group([...steady(1000, 7), null, null, null]), {}],
    ['not-measured', group([...steady(1000, 8), null, null]), { staleMinutes: 2 }],
    [9, group([...steady(1000, 9), null]), { staleMinutes: 2 }],
    ['not-measured', group([], {}, { metrics: {} }), {}],
    ['protected', group(steady(1000, 10), {}, { isProtected: true }), {}],
    ['followed', group(steady(1000, 10), {}, { followedBy: 'its autoscaler' }), {}],
    ['no-size', group(steady(1000, 10), { ready: 0 }), {}],
    ['no-size', group(steady(1000, 10), {}, { fleet: null }), {}],
    [
      'a-sum',
      group([], {}, { metrics: { requests_per_second: minutes(steady(9, 10)) } }),
      { metric: 'requests_per_second' },
    ],
  ])('%s', (expected, one, over) => expect(done(one, target(over))).toBe(expected));

  it('says whose bound keeps it', () => {
    const message = (values: Values, fleet: Partial<FleetFacts>, over: object = {}) =>
      told(group(values, fleet), target(over)).leftAlone?.message;
    const [high, low] = [steady(1000, 10), steady(0, 10)];
    expect(message(high, { maxReplicas: 4 })).toBe('its own maximum of 4 keeps it');
    expect(message(high, { maxReplicas: 5 }, { maxReplicas: 4 })).toBe("the document's maxReplicas of 4 keeps it");
    expect(message(high, { maxReplicas: 4 }, { maxReplicas: 4 })).toBe('its own maximum of 4 keeps it');
    expect(message(low, { minReplicas: 4 })).toBe('its own minimum of 4 keeps it');
    expect(message(low, { minReplicas: 3 }, { minReplicas: 4 })).toBe("the document's minReplicas of 4 keeps it");
    expect(message(low, { ready: 1, minReplicas: 0 })).toMatch(/^a target keeps one replica/);
  });

  it('holds a size that it knows the measure of, and says what it saw', () => {
    const holds = (one: WorkloadView) => told(one, target()).leftAlone?.holds ?? false;
    expect(holds(group(steady(10, 10)))).toBe(true);
    expect(holds(group([...steady(10, 7), null, null, null]))).toBe(true);
    expect(holds(group([], {}, { metrics: {} }))).toBe(false);
    expect(told(group(steady(10, 10)), target())).toMatchObject({
      saw: ['queue is 10 of 10 wanted, on 4 replicas: 4 would hold it'],
      leftAlone: { toAct: 'queue beyond the tolerance for so long' },
    });
  });

  it('costs what it adds, and saves an unknown amount where it takes away', () => {
    const dollars = (each: number) => BigInt(each * 4 * 730) * 1_000_000_000n;
    expect(proposed(group(steady(20, 10)), target())).toMatchObject({
      action: 'ScaleOut',
      protective: true,
      title: 'Raise w from 4 to 8 replicas: queue is 20, and 10 is wanted',
      monthlySavings: { mean: -dollars(4) },
      monthlyCost: dollars(4),
      computation: { replicasWished: 8, measured: 20, wanted: 10, toleranceRatio: 0.1, replicasMeasured: 4 },
      evidence: [{ from: '2026-10-31T23:55:00Z', to: '2026-11-01T00:00:00Z', ageSeconds: 0 }],
    });
    expect(proposed(group([...steady(20, 9), null]), target())?.evidence[0]).toMatchObject({
      to: '2026-10-31T23:59:00Z',
      ageSeconds: 60,
    });
    expect(proposed(group(steady(5, 10)), target())).toMatchObject({
      action: 'ScaleIn',
      protective: false,
      monthlySavings: null,
      monthlyCost: dollars(4),
      change: { replicas: 2 },
      risk: { interruption: 'Low' },
    });
    expect(proposed(group(steady(20, 10), {}, { sku: 'unknown' }), target())).toMatchObject({
      monthlySavings: null,
      monthlyCost: null,
    });
  });

  it('is refused with bounds that exclude each other', () => {
    const isFine = (minReplicas: number) => policy.params.safeParse(target({ minReplicas, maxReplicas: 4 })).success;
    expect([isFine(4), isFine(5)]).toEqual([true, false]);
    expect(policy.params.safeParse(target({ minReplicas: 9 })).success).toBe(true);
  });
});
