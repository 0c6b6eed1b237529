/** The replay of policies over recorded history: small cases by hand, and no look ahead. */
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import type { RecordedHistory } from '../../src/core/policy/history.js';
import type { TakenMeasurement } from '../../src/core/workload/measurement.js';
import type {
  DemandSeries,
  Policy,
  PolicyView,
  Proposal,
  Reading,
  ResourceView,
  WorkloadView,
} from '../../src/core/policy/policy.js';
import type { RecommendedAction } from '../../src/core/policy/recommendation.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { replayPolicy, type ReplaySettings } from '../../src/planning/policy/replay.js';
import { backtestTeam, policyReport } from '../../src/planning/policy/report.js';
import { mulberry32 } from '../../src/lab/random.js';
import { AS_OF, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';
import { monthBudget } from '../support/makers.js';
import { meteredAs, runningThroughout } from '../support/recorded-sizes.js';
import { recorded as recordedHistory } from '../support/recorded-history.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const of = (name: string): Policy => policies.find((policy) => policy.name === name)!;
const SETTINGS: ReplaySettings = { stepHours: 1, restartMinutes: 10, forecaster: null };

const history = ({ hours, ...rest }: Partial<RecordedHistory> & { readonly hours: number }): RecordedHistory =>
  recordedHistory({
    to: AS_OF + hours * HOUR_MS,
    offersAt: () => OFFERS,
    pricesAt: () => ({
      onDemand: rate(3000),
      reserved: [{ term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(1800), source: 'test' }],
    }),
    sizes: runningThroughout(rest.workloads ?? [], AS_OF, AS_OF + hours * HOUR_MS),
    ...rest,
  });

/** GPUs per hour, the first `past` of them before the window. */
const series = (gpus: readonly number[], past = 0, over: Partial<DemandSeries> = {}): DemandSeries => ({
  provider: 'AWS',
  account: null,
  sku: 'example.v100-16gb',
  region: 'us-east-1',
  gpuModel: 'V100-16GB',
  term: 'on-demand',
  from: AS_OF - past * HOUR_MS,
  gpus: Float64Array.from(gpus),
  onDemand: null,
  reserved: [],
  ...over,
});

/** A policy that says what a function of the view says. */
function saying(
  evaluate: (
    view: PolicyView,
  ) => readonly { readonly action: RecommendedAction; readonly target: string; readonly change?: Proposal['change'] }[],
  over: Partial<Policy> = {},
): Policy {
  const base = {
    title: '',
    monthlySavings: null,
    monthlyCost: null,
    computation: {},
    evidence: [],
    risk: { interruption: 'None', note: '' },
    restartNeeded: false,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  } as const;
  return {
    ...of('lease'),
    name: 'says',
    evaluate: (view) => evaluate(view).map((one) => ({ ...base, ...one })),
    ...over,
  };
}

describe('demand', () => {
  it('is paid on demand, and refused beyond the level at which launches were refused', () => {
    const refuse = saying(({ asOf }) =>
      asOf >= AS_OF + 2 * HOUR_MS && asOf < AS_OF + 4 * HOUR_MS
        ? [{ action: 'RefuseLaunches', target: 'team/lab' }]
        : [],
    );
    const recorded = history({ hours: 6, demand: [series([2, 2, 5, 1, 5, 5])] });
    expect(replayPolicy(recorded, null, {}, SETTINGS).demand).toMatchObject({ cost: 3 * 20, refusedGpuHours: 0 });
    expect(replayPolicy(recorded, refuse, {}, SETTINGS).demand).toMatchObject({
      cost: 3 * (2 + 2 + 2 + 1 + 5 + 5),
      refusedGpuHours: 3,
    });
  });

  it('owes a commitment in every hour, used or not, and shows it to the policy', () => {
    const seen: unknown[] = [];
    const buy = saying(({ asOf, demand }) => {
      seen.push(demand[0]?.committed ?? null, [...(demand[0]?.gpus ?? [])], [...(demand[0]?.coveredGpus ?? [])]);
      return asOf === AS_OF + HOUR_MS
        ? [
            {
              action: 'PurchaseReservedInstances',
              target: 'AWS/us-east-1/example.v100-16gb',
              change: { units: 2, termHours: 2, perGpuHourNanos: 1_800_000_000 },
            },
          ]
        : [];
    });
    const run = replayPolicy(history({ hours: 4, demand: [series([3, 3, 1, 3])] }), buy, {}, SETTINGS);
    // 9, then 2 x 1.8 + 3, then 2 x 1.8, then 9.
    expect(run.demand.cost).toBeCloseTo(9 + 6.6 + 3.6 + 9, 9);
    expect(seen.slice(6, 9)).toEqual([[{ units: 2, since: AS_OF + HOUR_MS, hoursLeft: 1 }], [3, 1], [0, 2]]);
  });

  it('is on spot only where spot was seen, and on demand where nobody looked', () => {
    const spot = saying(() => [{ action: 'MoveToSpot', target: 'AWS/us-east-1/example.v100-16gb' }]);
    const market = {
      provider: 'AWS',
      region: 'us-east-1',
      gpuModel: 'V100-16GB',
      from: AS_OF,
      tickSeconds: 1800,
      available: [true, true, true, false, null, null],
    };
    const run = replayPolicy(
      history({ hours: 3, demand: [series([2, 2, 2])], spotMarkets: [market] }),
      spot,
      {},
      SETTINGS,
    );
    expect(run.demand).toMatchObject({ cost: 2 * 1 + (1 + 3) + 2 * 3, spotGpuHours: 3, unverifiedGpuHours: 2 });
  });

  it('reserves as the planner says, beside the look-backs and the optimum', () => {
    const recorded = history({ hours: 240, demand: [series(new Array<number>(240 + 60 * 24).fill(4), 60 * 24)] });
    const { cells, run } = backtestTeam(recorded, {
      policy: of('reserve-baseline'),
      params: of('reserve-baseline').params.parse({}) as Record<string, unknown>,
      document: 'd',
      forecaster: null,
    });
    expect(run.commitments).toMatchObject([{ units: 4, since: AS_OF }]);
    const costs = Object.fromEntries(cells[0]!.policies.map(({ name, cost }) => [name, Number(cost).toFixed(6)]));
    const [all, best] = [(4 * 240 * 3).toFixed(6), (4 * 240 * 1.8).toFixed(6)];
    expect(costs).toEqual({
      none: all,
      'look-back-7d': best,
      'look-back-30d': best,
      'look-back-60d': best,
      bursar: best,
      clairvoyant: best,
    });
    expect(cells[0]!.policies.find(({ name }) => name === 'bursar')?.meanShare).toBeCloseTo(1, 9);
  });
});

/** Readings a minute apart from the window's start: at work or not. */
const resource = (work: readonly boolean[]): ResourceView => ({
  resource: 'r',
  workload: 'training',
  gpus: 1,
  gpuModel: 'T4',
  hourlyNanos: 6_000_000_000n,
  observedFrom: AS_OF,
  readings: work.map(
    (busy, minute): Reading => ({
      at: AS_OF + minute * MINUTE_MS,
      gpuUtilisationRatio: busy ? 0.9 : 0,
      memoryUsedRatio: null,
      requestsPerSecond: null,
    }),
  ),
});
const run = (busy: boolean, minutes: number): boolean[] => new Array<boolean>(minutes).fill(busy);

describe('resources', () => {
  const stopAt = (hours: readonly number[]): Policy =>
    saying(({ asOf }) => (hours.includes((asOf - AS_OF) / HOUR_MS) ? [{ action: 'Stop', target: 'r' }] : []));

  it('that rest are stopped until they are needed, and pay the restart', () => {
    // Quiet from minute 50 to 150: stopped at 60, back at 150: 90 minutes less ten of restart, at 0.1 a minute.
    const recorded = history({
      hours: 4,
      resources: [resource([...run(true, 50), ...run(false, 100), ...run(true, 90)])],
    });
    const nothing = replayPolicy(recorded, null, {}, SETTINGS).resources;
    expect(nothing.cost).toBeCloseTo(23.9, 9);
    expect(replayPolicy(recorded, stopAt([1]), {}, SETTINGS).resources).toMatchObject({
      stops: 1,
      falseStops: 0,
      preventedMinutes: 0,
      cost: expect.closeTo(23.9 - 8, 9) as number,
    });
  });

  it('that are needed at once were stopped for nothing', () => {
    const recorded = history({ hours: 3, resources: [resource([...run(false, 65), ...run(true, 115)])] });
    expect(replayPolicy(recorded, stopAt([1]), {}, SETTINGS).resources).toMatchObject({
      stops: 1,
      falseStops: 1,
      cost: expect.closeTo(17.9 - 0.5 + 1, 9) as number,
    });
  });

  it('that are at work stay stopped while the policy says so, and the work is counted', () => {
    const recorded = history({ hours: 4, resources: [resource(run(true, 240))] });
    expect(replayPolicy(recorded, stopAt([1, 2]), {}, SETTINGS).resources).toMatchObject({
      stops: 1,
      preventedMinutes: 120,
      cost: expect.closeTo(23.9 - 12 + 1, 9) as number,
    });
  });
});

describe('workloads', () => {
  const chat = (over: Partial<WorkloadView> = {}): WorkloadView =>
    workload('chat', {
      fleet: { ready: 4, booting: 0, minReplicas: 1, maxReplicas: 8, changedAt: null },
      service: {
        bootMinutes: 30,
        capacityPerReplica: 100,
        load: { from: AS_OF, values: new Array<number>(240).fill(300) },
      },
      ...over,
    });
  const toAt = (replicas: Readonly<Record<number, number>>): Policy =>
    saying(({ asOf }) => {
      const wanted = replicas[(asOf - AS_OF) / HOUR_MS];
      return wanted === undefined ? [] : [{ action: 'ScaleIn', target: 'chat', change: { replicas: wanted } }];
    });

  it('are paid by the replica-minute, and what boots does not serve', () => {
    const recorded = history({ hours: 4, workloads: [chat()] });
    expect(replayPolicy(recorded, null, {}, SETTINGS).workloads).toMatchObject({
      cost: 4 * 4 * 4,
      unserved: 0,
      changes: 0,
    });
    // An hour of 4, of 2 (100 a minute unserved), of 3 whose third boots for half of it, of 3.
    expect(replayPolicy(recorded, toAt({ 1: 2, 2: 3 }), {}, SETTINGS).workloads).toMatchObject({
      cost: 4 * (4 + 2 + 3 + 3),
      unserved: 100 * 60 + 100 * 30,
      changes: 2,
    });
  });

  it('cost what was metered where nothing is done, hour by hour, and nothing where nobody metered', () => {
    const random = mulberry32(17);
    for (let round = 0; round < 50; round++) {
      const replicas = Array.from({ length: 24 }, () => (random() < 0.2 ? null : Math.floor(random() * 5)));
      const now = chat({
        fleet: { ready: Math.floor(random() * 9), booting: 0, minReplicas: 0, maxReplicas: 8, changedAt: null },
      });
      const recorded = history({
        hours: 24,
        workloads: [now],
        sizes: new Map([['chat', meteredAs(now, AS_OF, replicas)]]),
      });
      const metered = replicas.reduce<number>((sum, count) => sum + (count ?? 0), 0);
      const { workloads } = replayPolicy(recorded, null, {}, SETTINGS);
      expect(workloads.cost).toBeCloseTo(4 * metered, 9);
      expect(workloads.unrecordedHours).toBe(replicas.filter((count) => count === null).length);
      // Who keeps every hour at one replica pays for the recorded hours alone.
      const one = replayPolicy(
        recorded,
        saying(() => [{ action: 'ScaleIn', target: 'chat', change: { replicas: 1 } }]),
        {},
        SETTINGS,
      );
      expect(one.workloads.cost).toBeLessThanOrEqual(
        4 * Math.max(metered, replicas.filter((count) => count !== null).length) + 1e-9,
      );
    }
  });

  it('show a policy the size of then, and none where nobody metered', () => {
    const seen: (number | null)[] = [];
    const look = saying(({ workloads }) => {
      seen.push(workloads[0]?.fleet?.ready ?? null);
      return [];
    });
    const recorded = history({
      hours: 5,
      workloads: [chat()],
      sizes: new Map([['chat', meteredAs(chat(), AS_OF, [3, 0, null, 2, 1])]]),
    });
    replayPolicy(recorded, look, {}, SETTINGS);
    expect(seen).toEqual([null, 3, 0, null, 2]);
  });

  it('are paid at the term that was metered, and a move to spot saves nothing of what was on it', () => {
    const one = chat({ term: 'spot', service: null });
    const sizes = new Map([
      ...meteredAs({ ...one, term: 'on-demand' }, AS_OF, [2, 2]),
      ...meteredAs(one, AS_OF + 2 * HOUR_MS, [2, 2]),
    ]);
    const recorded = history({
      hours: 4,
      workloads: [one],
      sizes: new Map([['chat', sizes]]),
      spotMarkets: [
        {
          provider: 'AWS',
          region: 'us-east-1',
          gpuModel: 'A100-80GB',
          from: AS_OF,
          tickSeconds: 3600,
          available: [true, false, true, true],
        },
      ],
    });
    const spot = saying(() => [{ action: 'MoveToSpot', target: 'chat' }]);
    const [nothing, moved] = [null, spot].map((policy) => replayPolicy(recorded, policy, {}, SETTINGS).workloads.cost);
    const onSpot = (nothing ?? NaN) - 2 * 2 * 4;
    expect(onSpot).toBeGreaterThan(0);
    expect(onSpot).toBeLessThan(2 * 2 * 4);
    // Of the two hours on demand spot was there in the first.
    expect(moved).toBeCloseTo(onSpot + 2 * 4 + onSpot / 2, 9);
  });

  it('that are machines and were stopped run again when their own readings show work', () => {
    const machine = workload('r', { fleet: { ready: 1, booting: 0, minReplicas: 0, maxReplicas: 1, changedAt: null } });
    const recorded = history({
      hours: 6,
      workloads: [machine],
      resources: [resource([...run(false, 180), ...run(true, 180)])],
    });
    const stop = saying(({ asOf }) => (asOf === AS_OF + HOUR_MS ? [{ action: 'Stop', target: 'r' }] : []));
    const found = replayPolicy(recorded, stop, {}, SETTINGS);
    expect(found.workloads).toMatchObject({ cost: 4 * (6 - 2), changes: 2 });
    expect(found.resources).toMatchObject({ stops: 1, preventedMinutes: 0 });
  });

  it('go back to what they were when a brake no longer holds', () => {
    const brake = { ...toAt({ 1: 1, 2: 1 }), holdsWhileProposed: true };
    expect(replayPolicy(history({ hours: 4, workloads: [chat()] }), brake, {}, SETTINGS).workloads).toMatchObject({
      cost: 4 * (4 + 1 + 1 + 4),
      changes: 2,
    });
  });

  it('are scaled beside HPA and the optimum', () => {
    const load = Array.from({ length: 60 * 48 }, (_, minute) => 300 + 250 * Math.sin((minute / 1440) * 2 * Math.PI));
    const one = chat({
      service: { bootMinutes: 3, capacityPerReplica: 100, load: { from: AS_OF - DAY_MS, values: load } },
    });
    const { cells } = backtestTeam(history({ hours: 24, workloads: [one] }), {
      policy: of('target-tracking'),
      params: of('target-tracking').params.parse({ windowMinutes: 240 }) as Record<string, unknown>,
      document: 'd',
      forecaster: null,
    });
    const byName = Object.fromEntries(cells[0]!.policies.map((each) => [each.name, each]));
    expect(Object.keys(byName)).toEqual([
      'none',
      'hpa-0.5',
      'hpa-0.7',
      'hpa-0.9',
      'target-tracking-0.7',
      'step-scaling',
      'bursar',
      'clairvoyant',
    ]);
    expect(Number(byName['clairvoyant']?.['cost'])).toBeLessThanOrEqual(Number(byName['bursar']?.['cost']) + 1e-9);
    expect(byName['clairvoyant']).toMatchObject({ meanShare: 1, unservedShare: 0 });
  });
});

describe('other machines under a workload', () => {
  const load = { from: AS_OF - 48 * HOUR_MS, values: new Array<number>(96 * 60).fill(300) };
  const stated = [
    { gpuModel: 'A100-80GB', unitsPerMinute: 1000, fits: true, source: 'stated' },
    { gpuModel: 'T4', unitsPerMinute: 200, fits: true, source: 'stated' },
  ];
  /** Two A100 at 4 an hour each, of which one would do; a T4 costs half a one and does a fifth. */
  const service = (over: Partial<WorkloadView>): WorkloadView =>
    workload('classify', {
      fleet: { ready: 2, booting: 0, minReplicas: 1, maxReplicas: 20, changedAt: null },
      service: { bootMinutes: 3, capacityPerReplica: 1000, load },
      performance: stated,
      ...over,
    });
  const measured = (gpu: string, perMinute: number, hour: number): TakenMeasurement => ({
    id: gpu,
    team: 'lab',
    model: 'classifier',
    gpu,
    gpuCount: 1,
    batch: 32,
    samplesPerSecond: perMinute / 60,
    family: null,
    params: null,
    size: null,
    optimizer: null,
    precision: null,
    nodes: null,
    peakMemoryGib: null,
    measuredAt: AS_OF + hour * HOUR_MS,
  });
  const runs = { model: 'classifier', batch: null, precision: null, optimizer: null, size: null };
  const mixed = (recorded: RecordedHistory) =>
    replayPolicy(recorded, of('mix'), of('mix').params.parse({}), { ...SETTINGS, stepHours: 24 });

  it('of mix: the cheaper ones are paid, boot first, serve what they were said to, and are seen by the policy', () => {
    const found = mixed(history({ hours: 48, workloads: [service({})] }));
    // 300 and a fifth more need two T4; the first three minutes nobody serves.
    expect(found.workloads).toMatchObject({
      cost: 48 * 2 * 0.5,
      changes: 1,
      unserved: 3 * 300,
      unpricedReplicaMinutes: 0,
    });
    expect(found.decisions).toEqual([{ at: AS_OF, action: 'Rightsize', target: 'classify' }]);
    expect(replayPolicy(history({ hours: 48, workloads: [service({})] }), null, {}, SETTINGS).workloads).toMatchObject({
      cost: 48 * 2 * 4,
      unserved: 0,
    });
  });

  it('of mix by what was measured, from when it was', () => {
    const found = mixed(
      history({
        hours: 72,
        workloads: [
          service({
            performance: [],
            runs,
            service: {
              bootMinutes: 3,
              capacityPerReplica: 1000,
              load: { ...load, values: new Array<number>(120 * 60).fill(300) },
            },
          }),
        ],
        measurements: [measured('A100-80GB', 1000, -5), measured('T4', 200, 30)],
      }),
    );
    // At first only that one A100 would do.
    expect(found.decisions).toEqual(
      [0, 48].map((hour) => ({ at: AS_OF + hour * HOUR_MS, action: 'Rightsize', target: 'classify' })),
    );
    expect(found.workloads).toMatchObject({ unserved: 3 * 300, cost: 48 * 4 + 24 });
  });

  it('have no effect where nobody knows what they do, or they are of several kinds or elsewhere', () => {
    const change = (one: Proposal['change']) =>
      saying(({ asOf }) => (asOf === AS_OF ? [{ action: 'Rightsize', target: 'classify', change: one }] : []));
    for (const [over, one] of [
      [{ performance: [] }, { sku: 'example.t4', replicas: 2 }],
      [{}, { instances: '1 x a + 2 x b' }],
      [{}, { sku: 'nowhere', replicas: 2 }],
      [{ gpusPerReplica: 8 }, { sku: 'example.t4', replicas: 2 }],
    ] as const) {
      const found = replayPolicy(history({ hours: 4, workloads: [service(over)] }), change(one), {}, SETTINGS);
      expect(found).toMatchObject({ withoutEffect: 1, workloads: { changes: 0 } });
    }
  });

  it('are taken back by a policy that holds only while it says so', () => {
    const brake = saying(
      ({ asOf }) =>
        asOf < AS_OF + 2 * HOUR_MS
          ? [{ action: 'Rightsize', target: 'classify', change: { sku: 'example.t4', replicas: 2 } }]
          : [],
      { holdsWhileProposed: true },
    );
    expect(replayPolicy(history({ hours: 4, workloads: [service({})] }), brake, {}, SETTINGS).workloads).toMatchObject({
      cost: 2 * 1 + 2 * 8,
    });
  });
});

describe('what nobody can price', () => {
  const halfSpot = (over: Partial<WorkloadView> = {}): WorkloadView =>
    workload('serving-training-1', {
      term: null,
      fleet: { ready: 4, booting: 0, minReplicas: 0, maxReplicas: 8, changedAt: null },
      service: null,
      ...over,
    });
  const stop = saying(({ asOf }) =>
    asOf === AS_OF
      ? [
          { action: 'Stop', target: 'serving-training-1' },
          { action: 'Stop', target: 'known' },
        ]
      : [],
  );
  const request = (policy: Policy) => ({ policy, params: {}, document: 'd', forecaster: null });
  const cellOf = (workloads: readonly WorkloadView[], policy = stop) =>
    backtestTeam(history({ hours: 4, workloads }), request(policy)).cells[0]!;

  it.each<[string, WorkloadView, string]>([
    [
      'half of it is spot, and nobody states a term',
      halfSpot(),
      'the term of its machines (on demand, spot, reserved) is unknown',
    ],
    [
      'its SKU is in no price list',
      halfSpot({ term: 'on-demand', sku: 'no.such' }),
      'no price of no.such of AWS in us-east-1 for the term on-demand is known',
    ],
    [
      'nobody says how many GPUs a replica has',
      halfSpot({ term: 'on-demand', gpusPerReplica: null }),
      'the number of GPUs of a replica is unknown',
    ],
    [
      'nobody says how many replicas it has',
      halfSpot({ term: 'on-demand', fleet: null }),
      'its number of replicas is unknown',
    ],
  ])('has neither cost nor saving: %s', (_, one, why) => {
    const cell = cellOf([one]);
    expect(cell.unknown).toEqual([{ name: 'serving-training-1', why }]);
    expect(cell.policies.map(({ name, cost, saved, meanCost }) => [name, cost, saved, meanCost])).toEqual([
      ['none', null, null, null],
      ['bursar', null, null, null],
    ]);
    expect(cell.series).toBeUndefined();
  });

  it('stands beside what is known, which is counted without it', () => {
    const cell = cellOf([halfSpot(), halfSpot({ workload: 'known', term: 'on-demand' })]);
    expect(cell).toMatchObject({ count: 2, unknown: [{ name: 'serving-training-1' }] });
    expect(cell.policies.find(({ name }) => name === 'none')).toMatchObject({
      cost: 4 * 4 * 4,
      meanCost: 64,
      saved: 0,
    });
    expect(cell.policies.find(({ name }) => name === 'bursar')).toMatchObject({ cost: 0, saved: 64 });
  });

  it('is not made known by what the policy would have paid: then nobody knows the difference', () => {
    const cell = cellOf(
      [halfSpot()],
      saying(() => [{ action: 'MoveToOnDemand', target: 'serving-training-1' }]),
    );
    expect(cell.policies.map(({ saved }) => saved)).toEqual([null, null]);
    expect(cell.unknown).toHaveLength(1);
  });

  it('counts no GPU twice in the sum: of the metered and the managed one, that which the policy changes', () => {
    const fleet = halfSpot({ term: 'on-demand' });
    const recorded = history({ hours: 4, demand: [series([16, 16, 16, 16])], workloads: [fleet] });
    const asked = request(stop);
    const tested = backtestTeam(recorded, asked);
    const costs = tested.cells.map(({ policies: all }) => all.find(({ name }) => name === 'none')?.cost);
    expect(costs).toHaveLength(2);
    const report = policyReport([tested], asked, { from: recorded.from, to: recorded.to, currency: 'USD' });
    const workloads = tested.cells[1];
    expect(report.settings['summedCells']).toEqual(['lab/workloads']);
    for (const name of ['none', 'bursar'])
      expect(report.mean.find((one) => one.name === name)?.['cost']).toBe(
        workloads?.policies.find((one) => one.name === name)?.cost,
      );
  });

  it('is so for resources and demand too, and for the whole report', () => {
    const recorded = history({
      hours: 2,
      demand: [series([2, 2])],
      resources: [{ ...resource(run(false, 120)), hourlyNanos: null }],
      workloads: [halfSpot()],
      pricesAt: () => ({ onDemand: null, reserved: [] }),
    });
    const tested = backtestTeam(recorded, request(stop));
    expect(
      tested.cells.map(({ name, unknown, policies: all }) => [
        name,
        unknown,
        all.map(({ cost, saved }) => [cost, saved]),
      ]),
    ).toEqual([
      [
        'lab/demand',
        [
          {
            name: 'AWS/us-east-1/example.v100-16gb',
            why: 'no on-demand price of AWS/us-east-1/example.v100-16gb is known',
          },
        ],
        [
          [null, null],
          [null, null],
        ],
      ],
      [
        'lab/resources',
        [{ name: 'r', why: 'its hourly cost is unknown' }],
        [
          [null, null],
          [null, null],
        ],
      ],
      [
        'lab/workloads',
        [{ name: 'serving-training-1', why: 'the term of its machines (on demand, spot, reserved) is unknown' }],
        [
          [null, null],
          [null, null],
        ],
      ],
    ]);
    const report = policyReport([tested], request(stop), { from: recorded.from, to: recorded.to, currency: 'USD' });
    expect(report.settings['inNoFigure']).toBe(3);
    expect(report.mean).toEqual([
      { name: 'none', meanShare: null, cost: null, saved: null },
      { name: 'bursar', meanShare: null, cost: null, saved: null },
    ]);
  });

  it('has figures for the hours that have a price, and says which have none', () => {
    const since = AS_OF + 2 * HOUR_MS;
    const recorded = history({
      hours: 4,
      workloads: [halfSpot({ workload: 'known', term: 'on-demand' })],
      offersAt: (instant) => (instant < since ? [] : OFFERS),
    });
    const [cell] = backtestTeam(recorded, request(stop)).cells;
    expect(cell?.unknown).toBeUndefined();
    expect(cell?.policies.find(({ name }) => name === 'none')).toMatchObject({ cost: 2 * 4 * 4 });
    // Stopped from the first hour on: what the first two hours would have saved nobody knows.
    expect(cell?.policies.find(({ name }) => name === 'bursar')).toMatchObject({ saved: 32 });
  });
});

describe('budgets', () => {
  const budget: Budget = monthBudget({
    id: 'b',
    team: 'lab',
    planned: { default: '100', periods: {} },
    includeCredits: false,
  });

  it('are braked by the days that are over, and what the brake saved is not spent', () => {
    const recorded = history({
      hours: 96,
      demand: [series([...new Array<number>(24).fill(1), ...new Array<number>(72).fill(5)])],
      budgets: [
        {
          budget,
          spend: [72, 360, 360, 360].map((spent, day) => ({
            at: AS_OF + day * DAY_MS,
            nanos: BigInt(spent) * 1_000_000_000n,
            creditNanos: 0n,
            unpricedQuantity: 0n,
          })),
        },
      ],
    });
    const brake = (planned: string) =>
      replayPolicy(
        {
          ...recorded,
          budgets: recorded.budgets.map((one) => ({
            ...one,
            budget: { ...budget, planned: { default: planned, periods: {} } },
          })),
        },
        of('budget-brake'),
        {},
        SETTINGS,
      );
    // Of 80 dollars 72 are spent after the first day: launches are refused beyond the one GPU of the day's last hour.
    expect(brake('80').demand).toMatchObject({ cost: 96 * 3, refusedGpuHours: 72 * 4 });
    // Of 500 dollars 432 are spent after the second day (told), and 792 after the third: refused beyond five, which is
    // what there is.
    expect(brake('500').demand).toMatchObject({ refusedGpuHours: 0 });
    expect(brake('500').decisions.map(({ at }) => at)[0]).toBe(AS_OF + 2 * DAY_MS);
  });
});

describe('no policy looks ahead', () => {
  const random = mulberry32(7);
  const hours = 72;
  const cut = 40;
  let busy = true;
  const work = Array.from({ length: hours * 60 }, () => {
    if (random() < 0.02) busy = !busy;
    return busy;
  });
  const load = Array.from({ length: (24 + hours) * 60 }, (_, n) =>
    Math.round(300 + 200 * Math.sin(n / 200) + 50 * random()),
  );
  const gpus = Array.from({ length: hours + 800 }, () => Math.floor(random() * 6));
  const ticks = Array.from({ length: (hours + 48) * 6 }, () => random() < 0.8);
  const spend = [550, ...Array.from({ length: 2 }, () => Math.round(500 * random()))];

  /** The recording with everything from the cut on replaced by `future`. */
  function recording(future: (value: number) => number): RecordedHistory {
    const swap = <T>(values: readonly T[], past: number): T[] =>
      values.map((value, n) => (n < past ? value : values[past + (Math.floor(future(n)) % (values.length - past))]!));
    return history({
      hours,
      demand: [series(swap(gpus, 800 + cut), 800)],
      resources: [resource(swap(work, cut * 60))],
      workloads: [
        workload('chat', {
          fleet: { ready: 4, booting: 0, minReplicas: 1, maxReplicas: 12, changedAt: null },
          service: {
            bootMinutes: 3,
            capacityPerReplica: 100,
            load: { from: AS_OF - DAY_MS, values: swap(load, (24 + cut) * 60) },
          },
        }),
        workload('train', {
          kind: 'training',
          interruptible: true,
          fleet: { ready: 1, booting: 0, minReplicas: 1, maxReplicas: 1, changedAt: null },
        }),
      ],
      spotMarkets: [
        {
          provider: 'AWS',
          region: 'us-east-1',
          gpuModel: 'A100-80GB',
          from: AS_OF - 48 * HOUR_MS,
          tickSeconds: 600,
          available: swap(ticks, (48 + cut) * 6),
        },
      ],
      budgets: [
        {
          budget: monthBudget({
            id: 'b',
            team: 'lab',
            planned: { default: '600', periods: {} },
            includeCredits: false,
          }),
          // The day of the cut is not over at the cut.
          spend: swap(spend, 1).map((one, day) => ({
            at: AS_OF + day * DAY_MS,
            nanos: BigInt(one) * 1_000_000_000n,
            creditNanos: 0n,
            unpricedQuantity: 0n,
          })),
        },
      ],
    });
  }

  it.each([
    ['idle-stop', {}],
    ['target-tracking', { windowMinutes: 120 }],
    ['spot-shift', { historyDays: 1 }],
    ['budget-brake', {}],
    ['reserve-baseline', {}],
    ['schedule', { otherwise: { maxReplicas: 2 } }],
  ])('%s', (name, params) => {
    const decisions = (future: (value: number) => number) =>
      replayPolicy(recording(future), of(name), params, { ...SETTINGS, stepHours: 2 }).decisions;
    const past = (all: ReturnType<typeof decisions>) => all.filter(({ at }) => at <= AS_OF + cut * HOUR_MS);
    const [one, other] = [decisions((n) => n), decisions((n) => n * 7919 + 13)];
    expect(past(other)).toEqual(past(one));
    if (name !== 'schedule' && name !== 'reserve-baseline') expect(past(one).length).toBeGreaterThan(0);
  });
});

it('the report pools what has an optimum, and says what it assumed', () => {
  const request = {
    policy: of('reserve-baseline'),
    params: of('reserve-baseline').params.parse({}) as Record<string, unknown>,
    document: 'd',
    forecaster: null,
  };
  const teams = ['a', 'b'].map((team) =>
    backtestTeam(
      {
        ...history({
          hours: 48,
          demand: [series(new Array<number>(48 + 60 * 24).fill(2), 60 * 24)],
          resources: [resource(run(true, 60))],
        }),
        team,
      },
      request,
    ),
  );
  const report = policyReport(teams, request, { from: AS_OF, to: AS_OF + 48 * HOUR_MS, currency: 'USD' });
  expect(report.cells.map(({ name }) => name)).toEqual(['a/demand', 'a/resources', 'b/demand', 'b/resources']);
  expect(report.mean.find(({ name }) => name === 'bursar')).toMatchObject({
    meanShare: expect.closeTo(1, 9) as number,
  });
  expect(report.cells[1]?.policies.every(({ meanShare }) => meanShare === null)).toBe(true);
  expect(report.settings).toMatchObject({
    policy: 'reserve-baseline',
    stepHours: 24,
    proposals: 2,
    proposalsByAction: { PurchaseReservedInstances: 2 },
    teams: ['a', 'b'],
  });
});
