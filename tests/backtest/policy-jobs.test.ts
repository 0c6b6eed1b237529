/** Jobs in the replay of policies: small cases by hand, deadlines, what nobody knows, and no look ahead. */
import { describe, expect, it } from 'vitest';
import type { BacktestCell } from '../../src/core/policy/backtest.js';
import type { RecordedHistory, RecordedJob } from '../../src/core/policy/history.js';
import type { TakenMeasurement } from '../../src/core/workload/measurement.js';
import { compilePeak } from '../../src/core/price/peak.js';
import type { JobFacts, Policy, PolicyView, Proposal, SpotMarket, WorkloadView } from '../../src/core/policy/policy.js';
import type { RecommendedAction } from '../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { replayPolicy, type ReplaySettings } from '../../src/planning/policy/replay.js';
import { backtestTeam } from '../../src/planning/policy/report.js';
import { mulberry32 } from '../../src/lab/random.js';
import { AS_OF, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';
import { runningThroughout } from '../support/recorded-sizes.js';
import { recorded as recordedHistory } from '../support/recorded-history.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const of = (name: string): Policy => policies.find((policy) => policy.name === name)!;
const SETTINGS: ReplaySettings = { stepHours: 1, restartMinutes: 10, forecaster: null };
const at = (hours: number): number => AS_OF + hours * HOUR_MS;

/** Midnight at the start; from eight to eight an hour costs half as much again. On demand 4, on spot 1.5. */
const history = (hours: number, over: Partial<RecordedHistory>): RecordedHistory =>
  recordedHistory({
    to: at(hours),
    peak: compilePeak([{ zone: 'UTC', from: '08:00', to: '20:00', factor: '1.5' }]),
    offersAt: () => OFFERS,
    pricesAt: () => ({ onDemand: rate(4000), reserved: [] }),
    sizes: runningThroughout(over.workloads ?? [], AS_OF, at(hours)),
    ...over,
  });

interface Said {
  readonly since: number;
  readonly hours: number;
  readonly deadline: number | null;
  readonly isWhole?: boolean;
  readonly restartHours?: number | null;
  readonly startedAt?: number | null;
}

/** A job by what its owner said of it, in hours of the window; one GPU. */
function said(
  name: string,
  { since, hours, deadline, isWhole = true, restartHours = 0.5, startedAt = since }: Said,
  over: Partial<WorkloadView> = {},
): { readonly workload: WorkloadView; readonly job: RecordedJob } {
  const job: JobFacts = {
    startedAt: startedAt === null ? null : at(startedAt),
    deadline: deadline === null ? null : at(deadline),
    workHours: hours,
    workLeftHours: null,
    restartHours,
    resizable: null,
  };
  return {
    workload: workload(name, { kind: 'training', interruptible: true, job, ...over }),
    job: {
      workload: name,
      work: { target: `instance/${name}`, provider: 'AWS', hours, since: at(since), isWhole },
      fleet: { ready: 0, booting: 0, minReplicas: 0, maxReplicas: 1, changedAt: null },
    },
  };
}
const recorded = (
  hours: number,
  jobs: readonly ReturnType<typeof said>[],
  over: Partial<RecordedHistory> = {},
): RecordedHistory =>
  history(hours, { workloads: jobs.map((one) => one.workload), jobs: jobs.map(({ job }) => job), ...over });
const market = (from: number, hourly: readonly (boolean | null)[]): SpotMarket => ({
  provider: 'AWS',
  region: 'us-east-1',
  gpuModel: 'A100-80GB',
  from: at(from),
  tickSeconds: 600,
  available: hourly.flatMap((one) => new Array<boolean | null>(6).fill(one)),
});

function cellOf(past: RecordedHistory, policy: Policy, params: unknown = {}): BacktestCell {
  const { cells } = backtestTeam(past, {
    policy,
    params: policy.params.parse(params) as Record<string, unknown>,
    document: 'd',
    forecaster: null,
  });
  expect(cells.map(({ name }) => name)).toEqual(['lab/jobs']);
  return cells[0]!;
}
const row = (cell: BacktestCell, name: string) => cell.policies.find((one) => one.name === name)!;

/** A policy under a known name that says at an hour of the window what is written for it. */
function saying(
  script: (
    hour: number,
    view: PolicyView,
  ) => readonly { readonly action: RecommendedAction; readonly target: string; readonly change?: Proposal['change'] }[],
  over: Partial<Policy> = {},
): Policy {
  const base = {
    title: '',
    monthlySavings: null,
    monthlyCost: null,
    protective: true,
    computation: {},
    evidence: [],
    risk: { interruption: 'None', note: '' },
    restartNeeded: false,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  } as const;
  return {
    ...of('off-peak-shift'),
    evaluate: (view) => script((view.asOf - AS_OF) / HOUR_MS, view).map((one) => ({ ...base, ...one })),
    ...over,
  };
}

/** Plans of many jobs: on a busy machine they take longer than a test's usual time. */
const PATIENCE = 300_000;

describe('off-peak-shift', () => {
  it('saves on a day of two prices what a hand calculation says, and no more than is possible', () => {
    const cell = cellOf(recorded(48, [said('night', { since: 12, hours: 8, deadline: 36 })]), of('off-peak-shift'));
    // From noon on eight hours at 6, of which the start takes half a one, and the last half hour at 4; after eight in
    // the evening all of it at 4.
    expect(row(cell, 'none')).toMatchObject({ cost: 50, saved: 0, restarts: 0, missedDeadlines: 0 });
    expect(row(cell, 'bursar')).toMatchObject({
      cost: 34,
      saved: 16,
      meanShare: 1,
      restarts: 0,
      missedDeadlines: 0,
      unfinishedJobs: 0,
    });
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 34, meanShare: 1 });
    expect(row(cell, 'on-demand')).toMatchObject({ cost: 50, saved: 0 });
    expect(cell.policies.map(({ name }) => name)).toEqual(['none', 'on-demand', 'bursar', 'clairvoyant']);
    // Day by day: none had it all on the first day.
    expect(cell.series?.costs['none']).toEqual([50, 0]);
    expect(cell.series?.costs['bursar']?.reduce((sum, one) => sum + one, 0)).toBeCloseTo(34, 9);
  });

  it('pauses what runs over the dear hours, and pays its restart', () => {
    // At four in the morning it runs, and six and a half hours of work are left: four of the night, then 1.5 times the
    // price.
    const cell = cellOf(
      recorded(48, [said('long', { since: 4, hours: 6.5, deadline: 25, isWhole: false, startedAt: -5 })]),
      of('off-peak-shift'),
    );
    expect(row(cell, 'none')).toMatchObject({ cost: 4 * 4 + 2.5 * 6, restarts: 0 });
    // Two and a half are left at eight; with a restart three from eight in the evening on, before one at night. Nobody
    // can do better: of five hours of the night all are needed or a restart is.
    expect(row(cell, 'bursar')).toMatchObject({
      cost: 16 + 12,
      saved: 3,
      restarts: 1,
      missedDeadlines: 0,
      meanShare: 1,
    });
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 28 });
  });

  it('never delays a job whose deadline leaves no slack', () => {
    for (const since of [0, 5, 12, 12.5]) {
      const past = recorded(48, [said('tight', { since, hours: 8, deadline: since + 8.5 })]);
      const cell = cellOf(past, of('off-peak-shift'));
      expect(row(cell, 'bursar')).toMatchObject({ saved: 0, restarts: 0, missedDeadlines: 0, hoursLate: 0 });
      expect(row(cell, 'clairvoyant')).toMatchObject({ saved: 0 });
    }
  });

  it('keeps deadlines, whatever the slack', () => {
    for (let slack = 0; slack <= 30; slack += 0.5) {
      const cell = cellOf(
        recorded(72, [said('job', { since: 10, hours: 9, deadline: 19.5 + slack })]),
        of('off-peak-shift'),
      );
      expect(row(cell, 'bursar'), `slack ${slack}`).toMatchObject({ missedDeadlines: 0, unfinishedJobs: 0 });
      expect(Number(row(cell, 'clairvoyant')['cost'])).toBeLessThanOrEqual(Number(row(cell, 'bursar')['cost']) + 1e-9);
    }
  });
});

describe('what is done to a job', () => {
  const one = said('job', { since: 0, hours: 4, deadline: 8, restartHours: 1 });

  it('counts a deadline that is missed, by how much, and the restart', () => {
    const late = saying((hour) =>
      hour === 2
        ? [{ action: 'Stop', target: 'job' }]
        : hour === 7
          ? [{ action: 'Start', target: 'job', change: { replicas: 1 } }]
          : [],
    );
    const cell = cellOf(recorded(24, [one]), late);
    // An hour of start and four of work; stopped after one of work, and from seven on a start and three of work, at 6
    // from eight on.
    expect(row(cell, 'none')).toMatchObject({ cost: 20, missedDeadlines: 0 });
    expect(row(cell, 'bursar')).toMatchObject({
      cost: 8 + 4 + 18,
      missedDeadlines: 1,
      hoursLate: 3,
      restarts: 1,
      unfinishedJobs: 0,
    });
    // The optimum keeps the deadline, and nothing is cheaper than the night that it had.
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 20 });
  });

  it('pays for work that is not done when the window ends', () => {
    const cell = cellOf(
      recorded(24, [one]),
      saying((hour) => (hour === 2 ? [{ action: 'Stop', target: 'job' }] : [])),
    );
    // Three hours of work and a restart at the last hour's price; then it would be 20 hours late.
    expect(row(cell, 'bursar')).toMatchObject({ cost: 8 + 16, unfinishedJobs: 1, missedDeadlines: 1, hoursLate: 20 });
    expect(cell.series?.costs['bursar']).toEqual([24]);
  });

  it('is undone where the policy no longer says it, and only says it while it holds', () => {
    const seen: unknown[] = [];
    const brake = saying(
      (hour, { workloads: [job] }) => {
        seen.push(job === undefined ? null : [job.fleet!.ready + job.fleet!.booting, job.job!.workLeftHours]);
        return hour === 1 || hour === 2 ? [{ action: 'Stop', target: 'job' }] : [];
      },
      { holdsWhileProposed: true },
    );
    const cell = cellOf(recorded(24, [one]), brake);
    expect(row(cell, 'bursar')).toMatchObject({ cost: 4 + 20, restarts: 1, missedDeadlines: 0 });
    expect(seen.slice(0, 10)).toEqual([
      [1, 4],
      [1, 4],
      [1, 4],
      [1, 4],
      [1, 4],
      [1, 3],
      [1, 2],
      [1, 1],
      [0, 0],
      [0, 0],
    ]);
  });

  it('is another size: nobody has measured how fast it were', () => {
    const run = replayPolicy(
      recorded(24, [one]),
      saying((hour) =>
        hour === 1
          ? [
              { action: 'ScaleOut', target: 'job', change: { replicas: 4 } },
              { action: 'Keep', target: 'job' },
            ]
          : [],
      ),
      {},
      SETTINGS,
    );
    expect(run).toMatchObject({ withoutEffect: 2, cases: { jobs: [{ cost: 20 }] } });
  });

  it('is shown as the replay has it: before its beginning nothing, at it one that has not begun, then its work less a start', () => {
    const views: (readonly [number, number, number, number | null, number | null] | null)[] = [];
    const watch = saying((hour, { workloads: [job] }) => {
      views.push(
        job === undefined
          ? null
          : [hour, job.fleet!.ready, job.fleet!.booting, job.job!.workLeftHours, job.job!.startedAt],
      );
      return hour === 4
        ? [
            {
              action: 'MoveToOffPeak',
              target: 'job',
              change: { startsAt: formatInstant(at(6)), startsBy: formatInstant(at(9)) },
            },
          ]
        : [];
    });
    cellOf(recorded(12, [said('job', { since: 1.5, hours: 4, deadline: 12, restartHours: 1 })]), watch);
    expect(views.slice(0, 10)).toEqual([
      null,
      null,
      [1.5, 0, 1, 4, null],
      [2, 1, 0, 4, at(1.5)],
      [3, 1, 0, 3.5, at(1.5)],
      [4, 1, 0, 2.5, at(1.5)],
      [5, 0, 0, 2.5, at(1.5)],
      [6, 0, 1, 2.5, at(1.5)],
      [7, 1, 0, 2.5, at(1.5)],
      [8, 1, 0, 1.5, at(1.5)],
    ]);
  });
});

describe('another size of a job', () => {
  const measured = (gpuCount: number, samplesPerSecond: number, hour = -1): TakenMeasurement => ({
    id: `${gpuCount}`,
    team: 'lab',
    model: 'llm',
    gpu: 'A100-80GB',
    gpuCount,
    batch: 64,
    samplesPerSecond,
    family: 'transformer',
    params: null,
    size: null,
    optimizer: null,
    precision: 'bf16',
    nodes: null,
    peakMemoryGib: null,
    measuredAt: at(hour),
  });
  /** Four GPUs do 100 samples a second, sixteen 320: 3.2 times as fast for four times the price. */
  const measurements = [measured(4, 100), measured(16, 320)];
  const runs = { model: 'llm', batch: null, precision: null, optimizer: null, size: null };
  /** Of four replicas with four GPUs each: 64 an hour. */
  const training = (hours: number, over: Partial<WorkloadView> = {}, since = 0): ReturnType<typeof said> => {
    const one = said('llm', { since, hours, deadline: 40 }, { gpusPerReplica: 4, runs, ...over });
    return {
      workload: { ...one.workload, job: { ...one.workload.job!, resizable: true } },
      job: { ...one.job, fleet: { ready: 4, booting: 0, minReplicas: 1, maxReplicas: 4, changedAt: null } },
    };
  };
  const small = (
    hour: number,
    until = Infinity,
  ): { action: RecommendedAction; target: string; change: { replicas: number; gpus: number } }[] =>
    hour === 0
      ? [{ action: 'Rightsize', target: 'llm', change: { replicas: 1, gpus: 4 } }]
      : hour === until
        ? [{ action: 'ScaleOut', target: 'llm', change: { replicas: 4, gpus: 16 } }]
        : [];
  const flat = compilePeak([]);

  it('takes as long as was measured and costs its own machines, started anew where it changes', () => {
    const past = recorded(48, [training(2)], { measurements, peak: flat });
    // A start and two hours at 64; or a start and 3.2 times two hours at 16.
    const stays = cellOf(
      past,
      saying((hour) => small(hour)),
    );
    expect(row(stays, 'none')).toMatchObject({ cost: 2.5 * 64, restarts: 0 });
    expect(row(stays, 'bursar')).toMatchObject({
      cost: expect.closeTo((0.5 + 6.4) * 16, 9) as number,
      restarts: 0,
      missedDeadlines: 0,
    });
    // Four hours small, of which half a one is the start: 3.5 / 3.2 of the two hours are done, and the rest takes a
    // start again.
    const grows = cellOf(
      past,
      saying((hour) => small(hour, 4)),
    );
    expect(row(grows, 'bursar')).toMatchObject({
      cost: expect.closeTo(4 * 16 + (0.5 + 2 - 3.5 / 3.2) * 64, 9) as number,
      restarts: 1,
    });
    // Whoever may choose the size too takes the small one.
    for (const cell of [stays, grows]) expect(row(cell, 'clairvoyant')['cost']).toBeCloseTo(6.9 * 16, 9);
    expect(row(stays, 'bursar')).toMatchObject({ meanShare: expect.closeTo(1, 9) as number });
  });

  it('is seen by the policy: fewer replicas, and hours of these', () => {
    const seen: unknown[] = [];
    replayPolicy(
      recorded(48, [training(2)], { measurements, peak: flat }),
      saying((hour, { workloads: [job] }) => {
        seen.push(
          job === undefined ? null : [job.fleet!.ready, job.fleet!.booting, Number(job.job!.workLeftHours!.toFixed(9))],
        );
        return small(hour, 4);
      }),
      {},
      SETTINGS,
    );
    expect(seen.slice(0, 6)).toEqual([
      [0, 4, 2],
      [1, 0, 5.9],
      [1, 0, 4.9],
      [1, 0, 3.9],
      [1, 0, 2.9],
      [4, 0, Number((2.9 / 3.2 - 0.5).toFixed(9))],
    ]);
  });

  it('has no effect where nobody has measured the model, and none of another machine', () => {
    for (const [over, change] of [
      [{}, undefined],
      [{ measurements: [measured(4, 100)].map((one) => ({ ...one, model: 'other' })) }, undefined],
      [{ measurements }, { sku: 'other', replicas: 1 }],
    ] as const) {
      const policy = saying((hour) =>
        small(hour).map((one) => ({ ...one, ...(change === undefined ? {} : { change }) })),
      );
      expect(replayPolicy(recorded(48, [training(2)], { ...over, peak: flat }), policy, {}, SETTINGS)).toMatchObject({
        withoutEffect: 1,
        cases: { jobs: [{ cost: 160 }] },
      });
    }
  });

  it('of ramp: small at the start, full size once its signal says so, beside the cheapest of both', () => {
    // The signal is measured from the third hour on.
    const signal = { from: AS_OF, values: Array.from({ length: 24 * 60 }, (_, minute) => (minute < 150 ? null : 0.9)) };
    const cell = cellOf(
      recorded(48, [training(4, { metrics: { scaling_efficiency_ratio: signal } })], { measurements, peak: flat }),
      of('ramp'),
    );
    // At three it has been there for half an hour: three small hours, two and a half of them work, and a start.
    expect(row(cell, 'bursar')).toMatchObject({
      cost: expect.closeTo(3 * 16 + (0.5 + 4 - 2.5 / 3.2) * 64, 9) as number,
      restarts: 1,
    });
    expect(row(cell, 'none')).toMatchObject({ cost: 4.5 * 64 });
    expect(row(cell, 'clairvoyant')['cost']).toBeCloseTo((0.5 + 4 * 3.2) * 16, 9);
    // It begins between two looks as well.
    const between = cellOf(
      recorded(48, [training(4, { metrics: { scaling_efficiency_ratio: signal } }, 0.25)], {
        measurements,
        peak: flat,
      }),
      of('ramp'),
    );
    expect(row(between, 'bursar')).toMatchObject({
      cost: expect.closeTo(2.75 * 16 + (0.5 + 4 - 2.25 / 3.2) * 64, 9) as number,
      restarts: 1,
    });
  });

  it('is what was known by then to the policy, and what is known at all to the replay', () => {
    const seen: number[] = [];
    const past = recorded(48, [training(2)], { measurements: [measured(4, 100), measured(16, 320, 2.5)], peak: flat });
    const run = replayPolicy(
      past,
      saying((hour, view) => {
        seen.push(view.measurements!.length);
        return small(hour);
      }),
      {},
      SETTINGS,
    );
    expect(seen.slice(0, 6)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(run.withoutEffect).toBe(0);
  });
});

describe('spot', () => {
  const spot = saying((hour) => (hour === 0 ? [{ action: 'MoveToSpot', target: 'job' }] : []));
  const one = said('job', { since: 0, hours: 4, deadline: 8, restartHours: 1 });

  it('that is lost is a wait and a restart', () => {
    // Two hours, gone for one, and from three on a restart and the rest.
    const cell = cellOf(
      recorded(24, [one], { spotMarkets: [market(0, [true, true, false, ...new Array<boolean>(21).fill(true)])] }),
      spot,
    );
    expect(row(cell, 'bursar')).toMatchObject({
      cost: 1.5 * (2 + 4),
      restarts: 1,
      missedDeadlines: 0,
      unverifiedGpuHours: 0,
    });
    // Whoever knows that it goes begins when it is back: five hours, done at eight.
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 1.5 * 5 });
    expect(cell.policies.map(({ name }) => name)).toEqual([
      'none',
      'on-demand',
      'greedy',
      'uniform-progress',
      'bursar',
      'clairvoyant',
    ]);
    expect(row(cell, 'greedy')).toMatchObject({ missedDeadlines: 0 });
    expect(row(cell, 'uniform-progress')).toMatchObject({ missedDeadlines: 0 });
  });

  it('that nobody looked for is paid on demand', () => {
    const cell = cellOf(recorded(24, [one]), spot);
    expect(row(cell, 'bursar')).toMatchObject({ cost: 20, saved: 0, unverifiedGpuHours: 5 });
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 20, meanShare: null });
  });

  it('that a job was on is taken to have been there where nobody looked', () => {
    const cell = cellOf(
      recorded(24, [said('job', { since: 0, hours: 4, deadline: 8, restartHours: 1 }, { term: 'spot' })]),
      saying(() => []),
    );
    expect(row(cell, 'none')).toMatchObject({ cost: 7.5 });
    expect(row(cell, 'on-demand')).toMatchObject({ cost: 20 });
  });

  it(
    'spot-shift never misses a deadline, and nobody is cheaper than the optimum',
    () => {
      const random = mulberry32(5);
      for (let run = 0; run < 8; run++) {
        let there = true;
        const available = Array.from({ length: 24 * 6 }, () => (there = random() < 0.25 ? !there : there));
        const past = recorded(96, [said('job', { since: 2, hours: 12, deadline: 16 + 5 * run })], {
          spotMarkets: [market(-48, available)],
        });
        const cell = cellOf(past, of('spot-shift'), { historyDays: 1 });
        expect(row(cell, 'bursar')).toMatchObject({ missedDeadlines: 0, unfinishedJobs: 0 });
        for (const { name, cost, missedDeadlines } of cell.policies) {
          expect(missedDeadlines ?? 0, name).toBe(0);
          expect(Number(cost), name).toBeGreaterThanOrEqual(Number(row(cell, 'clairvoyant')['cost']) - 1e-9);
        }
      }
    },
    PATIENCE,
  );
});

describe('a job that cannot be run again', () => {
  const base: Said = { since: 0, hours: 4, deadline: 8 };
  const left = (one: ReturnType<typeof said>, over: Partial<RecordedHistory> = {}) =>
    cellOf(recorded(24, [one], over), of('off-peak-shift'));

  it.each<[string, ReturnType<typeof said>, string]>([
    [
      'its SKU is in no price list',
      said('job', base, { sku: 'no.such' }),
      'no price of no.such of AWS in us-east-1 for the term on-demand is known in every hour from its beginning on',
    ],
    [
      'nobody said its work',
      { ...said('job', base), job: { ...said('job', base).job, work: null } },
      'its work, and since when, was not stated',
    ],
    [
      'nobody knows its size',
      {
        ...said('job', base),
        job: {
          ...said('job', base).job,
          fleet: { ready: 0, booting: 0, minReplicas: 0, maxReplicas: 4, changedAt: null },
        },
      },
      'its number of replicas is unknown',
    ],
    [
      'nobody knows its GPUs',
      said('job', base, { gpusPerReplica: null }),
      'the number of GPUs of a replica is unknown',
    ],
    [
      'nobody states its term',
      said('job', base, { term: null }),
      'the term of its machines (on demand, spot, reserved) is unknown',
    ],
    [
      'it is reserved',
      said('job', base, { term: 'reserved-1y' }),
      'its hourly cost under the term reserved-1y is unknown',
    ],
    [
      'nobody measured a start',
      said('job', { ...base, restartHours: null }),
      'the hours that a start costs are unknown',
    ],
    ['it began before', said('job', { ...base, since: -1 }), 'its work was stated before the window began'],
    ['its deadline comes after', said('job', { ...base, deadline: 25 }), 'its deadline lies after the window'],
    [
      'its work does not end',
      said('job', { since: 20, hours: 4, deadline: null }),
      'its work does not end within the window',
    ],
  ])('has neither cost nor saving: %s', (_, one, why) => {
    const cell = left(one);
    expect(cell).toMatchObject({ count: 1, unknown: [{ name: 'job', why }] });
    expect(cell.policies.map(({ name, cost, saved, meanCost }) => [name, cost, saved, meanCost])).toEqual([
      ['none', null, null, null],
      ['bursar', null, null, null],
    ]);
    expect(cell.series).toBeUndefined();
  });

  it('has none either where a price is missing for an hour in which it might run', () => {
    expect(left(said('job', base), { offersAt: (instant) => (instant === at(11) ? [] : OFFERS) })).toMatchObject({
      unknown: [{ name: 'job' }],
    });
  });

  it('stands beside those that can, which are counted without it', () => {
    const cell = cellOf(
      recorded(48, [
        said('known', { since: 12, hours: 8, deadline: 36 }),
        said('unknown', { ...base, restartHours: null }),
      ]),
      of('off-peak-shift'),
    );
    expect(cell).toMatchObject({ count: 2, unknown: [{ name: 'unknown' }] });
    expect(row(cell, 'bursar')).toMatchObject({ cost: 34, meanCost: 34, saved: 16, meanShare: 1 });
  });

  it('is none of the window where it begins after it, and no policy sees it', () => {
    const past = recorded(24, [said('later', { since: 30, hours: 4, deadline: 40 })]);
    const seen = new Set<number>();
    const { cells } = backtestTeam(past, {
      policy: saying((_, { workloads }) => (seen.add(workloads.length), [])),
      params: {},
      document: 'd',
      forecaster: null,
    });
    expect([cells, [...seen]]).toEqual([[], [0]]);
  });
});

it('the optimum of a job that nobody calls interruptible is to leave it as it was', () => {
  const cell = cellOf(
    recorded(48, [said('rigid', { since: 12, hours: 8, deadline: 36 }, { interruptible: null })]),
    of('off-peak-shift'),
  );
  expect(row(cell, 'clairvoyant')).toMatchObject({ cost: 50, saved: 0, meanShare: null });
});

describe('no policy looks ahead', () => {
  const random = mulberry32(17);
  const [hours, cut] = [96, 30];
  let there = true;
  const ticks = Array.from({ length: (hours + 48) * 6 }, () => (there = random() < 0.1 ? !there : there));
  // Few prices: each makes a plan of its own.
  const prices = Array.from({ length: hours }, (_, hour) => (hour <= cut ? 1500 : random() < 0.5 ? 1200 : 1700));

  /** The recording with spot, its prices and the jobs after the cut replaced. */
  function recording(future: (n: number) => number): RecordedHistory {
    const swap = <T>(values: readonly T[], past: number): T[] =>
      values.map((value, n) => (n < past ? value : values[past + (Math.floor(future(n)) % (values.length - past))]!));
    const spotPrices = swap(prices, cut + 1);
    return recorded(
      hours,
      [
        said('train', { since: 3.5, hours: 30, deadline: 70 }),
        said('batch', { since: 12, hours: 20, deadline: 60 }),
        said('coming', { since: cut + 1 + (future(3) % 5), hours: 5, deadline: 80 }),
      ],
      {
        spotMarkets: [{ ...market(-48, []), available: swap(ticks, (48 + cut) * 6 + 1) }],
        offersAt: (instant) =>
          OFFERS.map((one) =>
            one.term === 'spot'
              ? { ...one, rate: rate(spotPrices[Math.floor((instant - AS_OF) / HOUR_MS)] ?? 1500) }
              : one,
          ),
      },
    );
  }

  it.each([
    ['spot-shift', { historyDays: 1 }],
    ['off-peak-shift', {}],
  ])(
    '%s',
    (name, params) => {
      const decisions = (future: (n: number) => number) =>
        replayPolicy(recording(future), of(name), params, SETTINGS).decisions;
      const past = (all: ReturnType<typeof decisions>) => all.filter((one) => one.at <= at(cut));
      const [one, other] = [decisions((n) => n), decisions((n) => n * 7919 + 13)];
      expect(past(other)).toEqual(past(one));
      expect(past(one).length).toBeGreaterThan(0);
      expect(other).not.toEqual(one);
    },
    PATIENCE,
  );
});
