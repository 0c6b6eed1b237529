/**
 * What no policy may do, on views in which every minute, price and availability is known at first and something is then
 * taken away:
 * less evidence never raises a claimed saving, and never makes a stop, a release or a scale-in that was not there.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  viewOf,
  type MinuteSeries,
  type Policy,
  type PolicyView,
  type Proposal,
  type Reading,
  type WorkloadView,
} from '../../src/core/policy/policy.js';
import { compilePeak } from '../../src/core/price/peak.js';
import { HOUR_MS, MINUTE_MS, DAY_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { AS_OF, budgetAt, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const of = (name: string): Policy => policies.find((policy) => policy.name === name)!;
const TAKING = new Set(['Stop', 'Release', 'ScaleIn']);

/** What is claimed or taken per target, for comparing. */
function claims(policy: Policy, view: PolicyView, params: unknown): Map<string, Proposal> {
  return new Map(
    policy
      .evaluate(view, policy.params.parse(params))
      .map((proposal) => [`${proposal.action} ${proposal.target}`, proposal]),
  );
}

/** How often each policy proposed something on a full view: a property that never meets a proposal says nothing. */
const met = new Map<string, number>();

function expectNoMore(policy: Policy, full: PolicyView, less: PolicyView, params: unknown = {}): void {
  const [before, after] = [claims(policy, full, params), claims(policy, less, params)];
  if (before.size > 0) met.set(policy.name, (met.get(policy.name) ?? 0) + 1);
  for (const [name, { action, monthlySavings }] of after) {
    const was = before.get(name);
    if (TAKING.has(action)) expect(was, `${policy.name}: ${name} appears with less evidence`).toBeDefined();
    const claimed = monthlySavings?.mean ?? 0n;
    const claimedBefore = was?.monthlySavings?.mean ?? 0n;
    expect(
      claimed <= (claimedBefore > 0n ? claimedBefore : 0n),
      `${policy.name}: ${name} claims ${claimed} after ${claimedBefore}`,
    ).toBe(true);
  }
}

const blank = (series: MinuteSeries, at: number): MinuteSeries => ({
  ...series,
  values: series.values.map((value, n) => (n === at ? null : value)),
});
const minutes = (values: readonly number[]): MinuteSeries => ({ from: AS_OF - values.length * MINUTE_MS, values });
const viewWith = (over: Partial<PolicyView>): PolicyView =>
  viewOf({ team: 'research', asOf: AS_OF, currency: 'USD', offers: OFFERS, ...over });
const CHAT = { service: 'chat', replicas: 2 };
const fleet = (ready: number, minReplicas = 1): WorkloadView['fleet'] => ({
  ready,
  booting: 0,
  minReplicas,
  maxReplicas: 20,
  changedAt: AS_OF - HOUR_MS,
});

describe('less evidence', () => {
  it('makes no idle stop and raises none of its savings', () => {
    const spells = fc
      .array(fc.record({ working: fc.boolean(), length: fc.integer({ min: 1, max: 40 }) }), {
        minLength: 2,
        maxLength: 12,
      })
      .chain((before) =>
        fc
          .integer({ min: 5, max: 120 })
          .map((length) => [...before, { working: true, length: 1 }, { working: false, length }]),
      );
    fc.assert(
      fc.property(spells, fc.nat(), fc.boolean(), (all, at, isBlanked) => {
        const kinds = all.flatMap(({ working, length }) => new Array<boolean>(length).fill(working));
        const readings = kinds.map(
          (working, n): Reading => ({
            at: AS_OF - (kinds.length - 1 - n) * MINUTE_MS,
            gpuUtilisationRatio: working ? 0.9 : 0,
            memoryUsedRatio: 0.3,
            requestsPerSecond: null,
          }),
        );
        const view = (left: readonly Reading[]): PolicyView =>
          viewWith({
            resources: [
              {
                resource: 'r',
                workload: 'training',
                gpus: 1,
                gpuModel: 'T4',
                hourlyNanos: 1_000_000_000n,
                observedFrom: readings[0]!.at,
                readings: left,
              },
            ],
          });
        const gone = at % readings.length;
        const left = isBlanked
          ? readings.map((one, n) => (n === gone ? { ...one, gpuUtilisationRatio: null } : one))
          : readings.filter((_, n) => n !== gone);
        expectNoMore(of('idle-stop'), view(readings), view(left));
      }),
      { numRuns: 500 },
    );
  });

  it('makes no scale-in: a minute of load or of utilisation is missing', () => {
    const loads = fc
      .tuple(
        fc.integer({ min: 0, max: 800 }),
        fc.integer({ min: 0, max: 800 }),
        fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 60, maxLength: 60 }),
      )
      .map(([first, second, noise]) => noise.map((one, n) => one + (n < 40 ? first : second)));
    fc.assert(
      fc.property(loads, fc.integer({ min: 1, max: 15 }), fc.nat(59), (load, ready, at) => {
        const ratios = minutes(load.map((value) => value / 1000));
        const one = (series: MinuteSeries, used: MinuteSeries): WorkloadView =>
          workload('w', {
            fleet: fleet(ready),
            service: { bootMinutes: 3, capacityPerReplica: 100, load: series },
            metrics: { gpu_utilisation_ratio: used, memory_used_ratio: minutes(load.map(() => 0.4)) },
            performance: [{ gpuModel: 'T4', unitsPerMinute: 50, fits: true, source: 'test' }],
          });
        const [full, less] = [
          viewWith({ workloads: [one(minutes(load), ratios)] }),
          viewWith({ workloads: [one(blank(minutes(load), at), blank(ratios, at))] }),
        ];
        expectNoMore(of('target-tracking'), full, less, { windowMinutes: 60, cooldownMinutes: 0 });
        expectNoMore(of('step-scaling'), full, less, { windowMinutes: 60 });
        expectNoMore(of('mix'), full, less, { windowMinutes: 60 });
      }),
      { numRuns: 40 },
    );
  });

  it('raises nothing: a reading of the spot market is missing', () => {
    const ticks = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 8 }).map((spells) =>
      Array.from({ length: 144 }, (_, n) => {
        let left = n;
        return spells.findIndex((length) => (left -= length) < 0) % 2 === 0;
      }),
    );
    fc.assert(
      fc.property(ticks, fc.nat(143), (available, at) => {
        const view = (seen: readonly (boolean | null)[]): PolicyView =>
          viewWith({
            workloads: [workload('w', { interruptible: true, fleet: fleet(2) })],
            budgets: [budgetAt(100, 97)],
            spotMarkets: [
              {
                provider: 'AWS',
                region: 'us-east-1',
                gpuModel: 'A100-80GB',
                from: AS_OF - DAY_MS,
                tickSeconds: 600,
                available: seen,
              },
            ],
          });
        const [full, less] = [view(available), view(available.map((tick, n) => (n === at ? null : tick)))];
        expectNoMore(of('spot-shift'), full, less, { historyDays: 1, stableMinutes: 20 });
        expectNoMore(of('budget-brake'), full, less, { historyDays: 1 });
      }),
      { numRuns: 150 },
    );
  });

  it('raises nothing: any one price is missing', () => {
    const job = {
      startedAt: null,
      deadline: AS_OF + 40 * HOUR_MS,
      workHours: 6,
      workLeftHours: 6,
      restartHours: 0.2,
      resizable: null,
    };
    const view = (offers: PolicyView['offers']): PolicyView =>
      viewWith({
        offers,
        peak: compilePeak([{ from: '00:00', to: '06:00', zone: 'UTC', factor: '3' }]),
        budgets: [budgetAt(100, 130)],
        workloads: [
          workload('a', { interruptible: true, fleet: fleet(4, 1), job }),
          workload('b', { kind: 'batch', fleet: fleet(4, 1) }),
          workload('c', {
            fleet: fleet(4),
            sku: 'example.v100-16gb',
            gpuModel: 'V100-16GB',
            performance: [
              { gpuModel: 'V100-16GB', unitsPerMinute: 10, fits: true, source: 'test' },
              { gpuModel: 'T4', unitsPerMinute: 4, fits: true, source: 'test' },
              { gpuModel: 'A100-80GB', unitsPerMinute: 14, fits: true, source: 'test' },
            ],
          }),
        ],
        demand: [
          {
            provider: 'AWS',
            account: null,
            sku: 'example.t4',
            region: 'us-east-1',
            gpuModel: 'T4',
            term: 'on-demand',
            from: AS_OF - 30 * DAY_MS,
            gpus: new Float64Array(720).fill(2),
            onDemand: rate(500),
            reserved: [{ term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(300), source: 'test' }],
          },
        ],
      });
    for (const policy of policies) {
      const params =
        policy.name === 'spot-shift'
          ? { demand: true }
          : policy.name === 'schedule'
            ? { otherwise: { maxReplicas: 2 } }
            : policy.name === 'spot-serving'
              ? CHAT
              : {};
      OFFERS.forEach((_, gone) =>
        expectNoMore(policy, view(OFFERS), view(OFFERS.filter((__, at) => at !== gone)), params),
      );
      const { demand, ...rest } = view(OFFERS);
      expectNoMore(
        policy,
        view(OFFERS),
        { ...rest, demand: demand.map((series) => ({ ...series, onDemand: null })) },
        params,
      );
      expectNoMore(
        policy,
        view(OFFERS),
        { ...rest, demand: demand.map((series) => ({ ...series, reserved: [] })) },
        params,
      );
    }
  });

  it('stops, releases or scales in nothing: what is said of a workload is missing', () => {
    const facts = workload('w', {
      kind: 'batch',
      interruptible: true,
      fleet: fleet(4, 1),
      metrics: {
        gpu_utilisation_ratio: minutes(new Array<number>(60).fill(0.1)),
        memory_used_ratio: minutes(new Array<number>(60).fill(0.1)),
      },
      service: { bootMinutes: 3, capacityPerReplica: 100, load: minutes(new Array<number>(60).fill(50)) },
    });
    const full = viewWith({ workloads: [facts], budgets: [budgetAt(100, 130)] });
    for (const field of [
      'kind',
      'interruptible',
      'fleet',
      'service',
      'term',
      'gpuModel',
      'sku',
      'region',
      'gpusPerReplica',
    ] as const) {
      const less = viewWith({ workloads: [{ ...facts, [field]: null }], budgets: [budgetAt(100, 130)] });
      for (const policy of policies) {
        const params =
          policy.name === 'target-tracking'
            ? { windowMinutes: 60 }
            : policy.name === 'step-scaling'
              ? { windowMinutes: 60 }
              : policy.name === 'spot-serving'
                ? CHAT
                : {};
        const before = claims(policy, full, params);
        for (const [name, { action }] of claims(policy, less, params)) {
          // A brake that may no longer stop scales in instead: it takes less.
          if (TAKING.has(action) && !(action === 'ScaleIn' && before.has(name.replace('ScaleIn', 'Stop'))))
            expect(before.has(name), `${policy.name} without ${field}: ${name}`).toBe(true);
        }
      }
    }
  });

  it('takes no replica of a service away: a size, a price, a term or a market of one of its groups is missing', () => {
    const zones = ['us-east-1a', 'us-east-1b'];
    const group = (name: string, zone: string, term: 'spot' | 'on-demand'): WorkloadView =>
      workload(name, { zone, term, partOf: 'chat', fleet: fleet(3, 0) });
    const workloads = [
      ...zones.map((zone, at) => group(`s${at}`, zone, 'spot')),
      group('od', 'us-east-1a', 'on-demand'),
    ];
    const full = viewWith({
      workloads,
      spotMarkets: zones.map((region) => ({
        provider: 'AWS',
        region,
        gpuModel: 'A100-80GB',
        from: AS_OF - DAY_MS,
        tickSeconds: 600,
        available: new Array<boolean>(144).fill(true),
      })),
    });
    const given = { ...CHAT, historyDays: 1 };
    for (const { workload: name } of workloads)
      for (const field of ['fleet', 'gpusPerReplica', 'sku', 'term'] as const) {
        const less = workloads.map((one) => (one.workload === name ? { ...one, [field]: null } : one));
        expectNoMore(of('spot-serving'), full, { ...full, workloads: less }, given);
      }
    for (const at of [0, 1])
      expectNoMore(
        of('spot-serving'),
        full,
        { ...full, spotMarkets: full.spotMarkets.filter((_, n) => n !== at) },
        given,
      );
    expectNoMore(of('spot-serving'), full, { ...full, offers: OFFERS.filter(({ term }) => term !== 'spot') }, given);
  });

  it('was tried on views that propose', () => {
    for (const name of [
      'budget-brake',
      'idle-stop',
      'mix',
      'off-peak-shift',
      'reserve-baseline',
      'schedule',
      'spot-serving',
      'spot-shift',
      'step-scaling',
      'target-tracking',
    ])
      expect(met.get(name) ?? 0, name).toBeGreaterThan(4);
  });
});
