/**
 * What all policies together may claim, on views of every kind and with whatever was realised before: never more
 * than the target costs, never anything where the cost is unknown, and no more because a price, an offer or a reading
 * is missing.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calibrationKey, LEAST_RATIO, MOST_RATIO } from '../../src/core/policy/calibration.js';
import type { Calibration } from '../../src/core/policy/view.js';
import { CLAIM_ENTRIES } from '../../src/core/policy/claim.js';
import { candidatesOf, decide } from '../../src/core/policy/decision.js';
import type { PolicyDocument } from '../../src/core/policy/document.js';
import {
  viewOf,
  type GpuOffer,
  type LeaseView,
  type MinuteSeries,
  type Policy,
  type PolicyView,
  type Proposal,
  type Reading,
  type ResourceView,
  type SpotMarket,
  type WorkloadView,
} from '../../src/core/policy/policy.js';
import { compilePeak, NO_PEAK } from '../../src/core/price/peak.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { AS_OF, budgetAt, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';

/** The real ones, each asked once about a view: the candidates and the decisions are of the same proposals. */
const policies = (await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'))).map(
  (policy): Policy => {
    const answers = new WeakMap<PolicyView, Map<string, readonly Proposal[]>>();
    return {
      ...policy,
      evaluate: (view, params) => {
        const [known, key] = [answers.get(view) ?? new Map<string, readonly Proposal[]>(), JSON.stringify(params)];
        const proposals = known.get(key) ?? policy.evaluate(view, params);
        answers.set(view, known.set(key, proposals));
        return proposals;
      },
    };
  },
);
const documentOf = (name: string, policy: string, params: Record<string, unknown> = {}): PolicyDocument => ({
  name,
  policy,
  teams: '*',
  mode: 'recommend',
  params,
  priority: 0,
});
/** What has no default. Services are not drawn here: their claims are held by tests/unit/policies/spot-serving.test.ts. */
const PARAMS: Readonly<Record<string, Record<string, unknown>>> = { 'spot-serving': { service: 'none', replicas: 1 } };
/**
 * All at their defaults; three of them a second time, because their defaults ask for nothing of what is drawn
 * here.
 */
const DOCUMENTS = [
  ...policies.map(({ name }) => documentOf(name, name, PARAMS[name])),
  documentOf('nights', 'schedule', { otherwise: { maxReplicas: 1 } }),
  documentOf('all-spot', 'spot-shift', { demand: true }),
  documentOf('old-leases', 'lease', { longestDays: 10 }),
];

const minutes = (hourly: readonly number[]): MinuteSeries => ({
  from: AS_OF - 1440 * MINUTE_MS,
  values: Array.from({ length: 1440 }, (_, n) => hourly[Math.floor(n / 60)]! + (n % 7)),
});
const share = (hourly: readonly number[], most: number): MinuteSeries => ({
  from: AS_OF - 1440 * MINUTE_MS,
  values: Array.from({ length: 1440 }, (_, n) => hourly[Math.floor(n / 60)]! / most),
});

const offers: fc.Arbitrary<GpuOffer[]> = fc
  .array(fc.integer({ min: 100, max: 9000 }), { minLength: OFFERS.length, maxLength: OFFERS.length })
  .map((prices) => OFFERS.map((offer, at) => ({ ...offer, rate: rate(prices[at]!) })));

const resource: fc.Arbitrary<ResourceView> = fc
  .record({
    spells: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 7 }),
    quiet: fc.integer({ min: 5, max: 180 }),
    kind: fc.constantFrom('training', 'notebook', 'batch'),
    hourlyNanos: fc.option(fc.bigInt({ min: 1n, max: 98_320_000_000n }), { freq: 8 }),
  })
  .map(({ spells, quiet, kind, hourlyNanos }) => {
    const busy = [...spells, 1, quiet].flatMap((length, at) =>
      new Array<boolean>(length).fill(at % 2 === spells.length % 2),
    );
    const readings = busy.map(
      (working, n): Reading => ({
        at: AS_OF - (busy.length - 1 - n) * MINUTE_MS,
        gpuUtilisationRatio: working ? 0.9 : 0,
        memoryUsedRatio: 0.3,
        requestsPerSecond: null,
      }),
    );
    return {
      resource: 'node',
      workload: kind,
      gpus: 1,
      gpuModel: 'T4',
      hourlyNanos,
      observedFrom: readings[0]!.at,
      readings,
    };
  });

const PLACES = [{}, { sku: 'example.v100-16gb', gpuModel: 'V100-16GB' }, { sku: 'example.t4', gpuModel: 'T4' }];
const workloads: fc.Arbitrary<WorkloadView[]> = fc
  .array(
    fc.record({
      place: fc.constantFrom(...PLACES),
      kind: fc.constantFrom('inference', 'batch', 'training', null),
      term: fc.constantFrom('on-demand' as const, 'on-demand' as const, 'spot' as const),
      gpusPerReplica: fc.constantFrom(1, 1, 2, 0.5),
      interruptible: fc.constantFrom(true, true, null),
      ready: fc.integer({ min: 0, max: 9 }),
      booting: fc.constantFrom(0, 0, 1),
      minReplicas: fc.integer({ min: 0, max: 3 }),
      hourly: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 24, maxLength: 24 }),
      top: fc.constantFrom(900, 4000),
      hasLoad: fc.boolean(),
      hasSpeeds: fc.boolean(),
      speeds: fc.array(fc.integer({ min: 20, max: 1000 }), { minLength: 3, maxLength: 3 }),
      job: fc.option(
        fc.record({
          hours: fc.integer({ min: 1, max: 6 }),
          slack: fc.integer({ min: 1, max: 14 }),
          started: fc.boolean(),
        }),
      ),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((all) =>
    all.map(
      (one, at): WorkloadView =>
        workload(`w${at}`, {
          ...one.place,
          kind: one.kind,
          term: one.term,
          gpusPerReplica: one.gpusPerReplica,
          interruptible: one.interruptible,
          fleet: {
            ready: one.ready,
            booting: one.booting,
            minReplicas: one.minReplicas,
            maxReplicas: 20,
            changedAt: AS_OF - HOUR_MS,
          },
          service: one.hasLoad ? { bootMinutes: 3, capacityPerReplica: 300, load: minutes(one.hourly) } : null,
          job:
            one.job === null
              ? null
              : {
                  startedAt: one.job.started ? AS_OF - HOUR_MS : null,
                  deadline: AS_OF + (one.job.hours + one.job.slack) * HOUR_MS,
                  workHours: one.job.hours + 1,
                  workLeftHours: one.job.hours,
                  restartHours: 0.2,
                  resizable: true,
                },
          metrics: {
            gpu_utilisation_ratio: share(one.hourly, one.top),
            memory_used_ratio: share(one.hourly, 4000),
            scaling_efficiency_ratio: share(one.hourly, 900),
          },
          performance: one.hasSpeeds
            ? ['A100-80GB', 'V100-16GB', 'T4'].map((gpuModel, n) => ({
                gpuModel,
                unitsPerMinute: one.speeds[n]!,
                fits: true,
                source: 'test',
              }))
            : [],
        }),
    ),
  );

const lease: fc.Arbitrary<LeaseView> = fc
  .record({
    ends: fc.option(fc.integer({ min: -5, max: 60 })),
    hourlyNanos: fc.option(fc.bigInt({ min: 0n, max: 98_320_000_000n }), { freq: 8 }),
  })
  .map(({ ends, hourlyNanos }) => ({
    lease: 'lease-1',
    target: 'lent',
    holder: 'ada',
    gpus: 8,
    startedAt: AS_OF - 30 * DAY_MS,
    expiresAt: ends === null ? null : AS_OF + ends * HOUR_MS,
    hourlyNanos,
    active: true,
  }));

const demand: fc.Arbitrary<PolicyView['demand']> = fc
  .record({
    high: fc.integer({ min: 0, max: 6 }),
    low: fc.integer({ min: 0, max: 6 }),
    hours: fc.integer({ min: 1, max: 24 }),
    onDemand: fc.option(fc.integer({ min: 200, max: 4000 }), { freq: 8 }),
    reserved: fc.array(fc.integer({ min: 50, max: 3000 }), { minLength: 2, maxLength: 2 }),
  })
  .map(({ high, low, hours, onDemand, reserved }) => [
    {
      provider: 'AWS',
      account: null,
      sku: 'example.t4',
      region: 'us-east-1',
      gpuModel: 'T4',
      term: 'on-demand',
      from: AS_OF - 40 * DAY_MS,
      gpus: Float64Array.from({ length: 960 }, (_, n) => (n % 24 < hours ? high : low)),
      onDemand: onDemand === null ? null : rate(onDemand),
      reserved: [
        { term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(reserved[0]!), source: 'test' },
        { term: 'savings-plan-1y', upfront: 'none', termHours: 8760, rate: rate(reserved[1]!), source: 'test' },
      ],
    },
  ]);

const markets: fc.Arbitrary<SpotMarket[]> = fc
  .tuple(fc.integer({ min: 2, max: 400 }), fc.integer({ min: 1, max: 60 }), fc.nat(100))
  .map(([good, gone, shift]) =>
    PLACES.map(({ gpuModel = 'A100-80GB' }) => ({
      provider: 'AWS',
      region: 'us-east-1',
      gpuModel,
      tickSeconds: 600,
      from: AS_OF - 15 * DAY_MS,
      available: Array.from({ length: 15 * 144 }, (_, n) => (n + shift) % (good + gone) < good),
    })),
  );

const ratio = fc.integer({ min: LEAST_RATIO * 100, max: MOST_RATIO * 100 }).map((percent) => percent / 100);
const calibration: fc.Arbitrary<Calibration> = fc
  .array(ratio, { minLength: 3, maxLength: 3 })
  .map((three) => three.sort((a, b) => a - b))
  .map(([low, mean, high]) => ({ ratio: mean!, low: low!, high: high!, cases: 20 }));
const calibrations = fc
  .array(fc.option(calibration, { freq: 6 }), { minLength: policies.length, maxLength: policies.length })
  .map((all) =>
    Object.fromEntries(policies.flatMap((policy, at) => (all[at] ? [[calibrationKey(policy), all[at]] as const] : []))),
  );

const views: fc.Arbitrary<PolicyView> = fc
  .record({
    offers,
    resources: resource.map((one) => [one]),
    workloads,
    leases: lease.map((one) => [one]),
    demand,
    spotMarkets: fc.oneof(markets, fc.constant([])),
    calibrations,
    peak: fc.constantFrom(NO_PEAK, compilePeak([{ from: '00:00', to: '06:00', zone: 'UTC', factor: '3' }])),
    budgets: fc.constantFrom(50, 97, 101, 130).map((spent) => [budgetAt(100, spent)]),
  })
  .map((known) => viewOf({ team: 'research', asOf: AS_OF, currency: 'USD', ...known }));

const without = <T>(all: readonly T[], at: number): T[] => all.filter((_, n) => n !== at % all.length);
const blanked = (series: MinuteSeries, at: number): MinuteSeries => ({
  ...series,
  values: series.values.map((value, n) => (n === at % 1440 ? null : value)),
});
const each = <T>(all: readonly T[], change: (one: T) => T): T[] => all.map(change);

/** Everything of which one can be taken away, by name; `at` says which one. */
const REMOVALS: Readonly<Record<string, (view: PolicyView, at: number) => PolicyView>> = {
  offer: (view, at) => ({ ...view, offers: without(view.offers, at) }),
  reading: (view, at) => ({
    ...view,
    resources: each(view.resources, (one) => ({ ...one, readings: without(one.readings, at) })),
  }),
  'reading blanked': (view, at) => ({
    ...view,
    resources: each(view.resources, (one) => ({
      ...one,
      readings: one.readings.map((reading, n) =>
        n === at % one.readings.length ? { ...reading, gpuUtilisationRatio: null } : reading,
      ),
    })),
  }),
  'price of a resource': (view) => ({
    ...view,
    resources: each(view.resources, (one) => ({ ...one, hourlyNanos: null })),
  }),
  'price of a lease': (view) => ({ ...view, leases: each(view.leases, (one) => ({ ...one, hourlyNanos: null })) }),
  'price of demand': (view) => ({ ...view, demand: each(view.demand, (one) => ({ ...one, onDemand: null })) }),
  'reserved offer': (view, at) => ({
    ...view,
    demand: each(view.demand, (one) => ({ ...one, reserved: without(one.reserved, at) })),
  }),
  'minute of load': (view, at) => ({
    ...view,
    workloads: each(view.workloads, (one) =>
      one.service === null ? one : { ...one, service: { ...one.service, load: blanked(one.service.load, at) } },
    ),
  }),
  'minute of a metric': (view, at) => ({
    ...view,
    workloads: each(view.workloads, (one) => ({
      ...one,
      metrics: Object.fromEntries(Object.entries(one.metrics).map(([name, series]) => [name, blanked(series, at)])),
    })),
  }),
  'spot reading': (view, at) => ({
    ...view,
    spotMarkets: each(view.spotMarkets, (one) => ({
      ...one,
      available: one.available.map((tick, n) => (n === at % one.available.length ? null : tick)),
    })),
  }),
  'spot market': (view, at) => ({ ...view, spotMarkets: without(view.spotMarkets, at) }),
  speed: (view, at) => ({
    ...view,
    workloads: each(view.workloads, (one) => ({ ...one, performance: without(one.performance, at) })),
  }),
};

const met = { claims: new Map<string, number>(), bounded: 0, both: 0, unpriced: 0 };

function expectTrue({ monthlySavings, monthlyCost, computation, target, action }: Proposal, policy: string): void {
  const name = `${policy}: ${action} ${target}`;
  // No bundled policy makes a claim that must be refused.
  expect(computation, name).not.toHaveProperty(CLAIM_ENTRIES.refused);
  if (monthlyCost === null) met.unpriced += 1;
  if (monthlySavings === null) return;
  const { mean, low, high } = monthlySavings;
  expect(low <= mean && mean <= high, name).toBe(true);
  expect(high <= (monthlyCost ?? 0n), `${name} claims up to ${high} of ${monthlyCost}`).toBe(true);
  if (mean > 0n) met.claims.set(policy, (met.claims.get(policy) ?? 0) + 1);
  if (CLAIM_ENTRIES.before in computation) met.bounded += 1;
}

interface Claim {
  readonly saving: number | null;
  readonly cost: number | null;
}

/** What people see, by the recommendation's id. */
function claimsOf(view: PolicyView): Map<string, Claim> {
  for (const { policy, proposal } of candidatesOf(view, DOCUMENTS, policies)) expectTrue(proposal, policy.name);
  return new Map(
    decide(view, DOCUMENTS, policies).map(({ recommendation: one }) => {
      const [saving, cost] = [one.estimatedMonthlySavings, one.estimatedMonthlyCost].map((text) =>
        text === null ? null : Number(text),
      ) as [number | null, number | null];
      if (saving !== null && saving > 0) {
        expect(cost, one.title).not.toBeNull();
        expect(saving <= (cost ?? 0) && Number(one.estimatedMonthlySavingsHigh) <= (cost ?? 0), one.title).toBe(true);
        expect(one.estimatedSavingsPercentage! >= 0 && one.estimatedSavingsPercentage! <= 100, one.title).toBe(true);
      }
      return [one.id, { saving, cost }];
    }),
  );
}

describe('what the policies claim', () => {
  it.each(Object.entries(REMOVALS).map(([name, remove], at) => [name, remove, at] as const))(
    'is what the spend allows, also where one is missing: %s',
    (name, remove, seed) => {
      fc.assert(
        fc.property(views, fc.nat(), (view, at) => {
          const [full, less] = [claimsOf(view), claimsOf(remove(view, at))];
          for (const [id, after] of less) {
            const before = full.get(id);
            if (before === undefined || after.saving === null || after.saving <= 0) continue;
            met.both += 1;
            expect(after.cost).not.toBeNull();
            expect(after.saving).toBeLessThanOrEqual(after.cost!);
            // Of two offers of commitments, the one that is left takes the units of the other.
            if (name !== 'reserved offer')
              expect(after.saving, `${id} claims more without: ${name}`).toBeLessThanOrEqual(
                Math.max(0, before.saving ?? 0),
              );
          }
        }),
        { numRuns: 8, seed },
      );
    },
  );

  it('was tried on views in which every policy that claims claims, costs are unknown and corrections too large', () => {
    const claiming = policies.map(({ name }) => name).filter((name) => name !== 'ramp' && !(name in PARAMS));
    for (const name of claiming) expect(met.claims.get(name) ?? 0, name).toBeGreaterThan(5);
    expect(met.bounded).toBeGreaterThan(20);
    expect(met.unpriced).toBeGreaterThan(20);
    expect(met.both).toBeGreaterThan(100);
  });
});
