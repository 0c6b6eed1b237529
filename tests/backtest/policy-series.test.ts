/** When what was paid in a replay, by hand and against the bills; and the steps in which a backtest comes. */
import { describe, expect, it } from 'vitest';
import { checkWindow } from '../../src/core/policy/backtest-window.js';
import type { RecordedHistory } from '../../src/core/policy/history.js';
import type { DemandSeries, Policy, PolicyView, Proposal, Reading } from '../../src/core/policy/policy.js';
import type { RecommendedAction } from '../../src/core/policy/recommendation.js';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { replayPolicy, type ReplaySettings } from '../../src/planning/policy/replay.js';
import { backtestTeam, teamSteps } from '../../src/planning/policy/report.js';
import { backtestPolicy } from '../../src/planning/policy/run.js';
import { CostSteps } from '../../src/planning/policy/steps.js';
import { AS_OF, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';
import { runningThroughout } from '../support/recorded-sizes.js';
import { recorded as recordedHistory } from '../support/recorded-history.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const of = (name: string): Policy => policies.find((policy) => policy.name === name)!;
const SETTINGS: ReplaySettings = { stepHours: 1, restartMinutes: 10, forecaster: null };
const NEVER = { policy: of('lease'), params: {}, document: 'd', forecaster: null };

const history = (hours: number, over: Partial<RecordedHistory> = {}): RecordedHistory =>
  recordedHistory({
    to: AS_OF + hours * HOUR_MS,
    offersAt: () => OFFERS,
    pricesAt: () => ({
      onDemand: rate(3000),
      reserved: [{ term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(1800), source: 'test' }],
    }),
    sizes: runningThroughout(over.workloads ?? [], AS_OF, AS_OF + hours * HOUR_MS),
    ...over,
  });

const series = (gpus: readonly number[]): DemandSeries => ({
  provider: 'AWS',
  account: null,
  sku: 'example.v100-16gb',
  region: 'us-east-1',
  gpuModel: 'V100-16GB',
  term: 'on-demand',
  from: AS_OF,
  gpus: Float64Array.from(gpus),
  onDemand: null,
  reserved: [],
});

/** A reading a minute at 6 USD an hour: 0.1 a minute. */
const resource = (busy: readonly boolean[], gapAfter = Infinity): RecordedHistory['resources'][number] => ({
  resource: 'r',
  workload: 'batch',
  gpus: 1,
  gpuModel: 'H100',
  hourlyNanos: 6_000_000_000n,
  observedFrom: AS_OF,
  readings: busy.map(
    (one, minute): Reading => ({
      at: AS_OF + (minute + (minute > gapAfter ? 120 : 0)) * MINUTE_MS,
      gpuUtilisationRatio: one ? 0.9 : 0,
      memoryUsedRatio: one ? 0.5 : 0.01,
      requestsPerSecond: null,
    }),
  ),
});

const run = (busy: boolean, minutes: number): boolean[] => new Array<boolean>(minutes).fill(busy);

function saying(
  evaluate: (
    view: PolicyView,
  ) => readonly { readonly action: RecommendedAction; readonly target: string; readonly change?: Proposal['change'] }[],
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
  return { ...of('lease'), name: 'says', evaluate: (view) => evaluate(view).map((one) => ({ ...base, ...one })) };
}

const stopAt = (hour: number): Policy =>
  saying(({ asOf }) => (asOf === AS_OF + hour * HOUR_MS ? [{ action: 'Stop', target: 'r' }] : []));
const rounded = (costs: Float64Array): number[] => [...costs].map((cost) => Math.round(cost * 1e6) / 1e6);

describe('costs day by day', () => {
  it('of demand are what its hours cost', () => {
    const { paid } = replayPolicy(
      history(36, { demand: [series(Array.from({ length: 36 }, (_, hour) => (hour < 24 ? 1 : 2)))] }),
      null,
      {},
      SETTINGS,
    );
    expect(rounded(paid.demand)).toEqual([72, 72]);
  });

  it('of a resource that is stopped over midnight are saved on both days, and the restart is paid when it is back', () => {
    // Quiet from hour 22 to hour 26, stopped at 22: two hours less on the first day; two hours less, and ten minutes
    // more, on the second.
    const recorded = history(48, {
      resources: [resource([...run(true, 22 * 60), ...run(false, 240), ...run(true, 22 * 60)])],
    });
    const { paid, resources } = replayPolicy(recorded, stopAt(22), {}, SETTINGS);
    // The last reading says nothing of what comes after it.
    expect(rounded(paid.resources)).toEqual([144 - 12, 144 - 0.1 - 12 + 1]);
    expect(resources.cost).toBeCloseTo(132 + 132.9, 9);
  });

  it('leave out what nobody recorded', () => {
    const recorded = history(6, { resources: [resource(run(true, 121), 60)] });
    // Two hours are missing after minute 60, and the reading after them ends at 241.
    expect(rounded(replayPolicy(recorded, null, {}, SETTINGS).paid.resources)).toEqual([11.9]);
  });

  it('of a fleet are what its replicas cost, the published rules included', () => {
    const load = Array.from({ length: 60 * 72 }, (_, minute) => 300 + 250 * Math.sin((minute / 1440) * 2 * Math.PI));
    const chat = workload('chat', {
      fleet: { ready: 4, booting: 0, minReplicas: 1, maxReplicas: 8, changedAt: null },
      service: { bootMinutes: 3, capacityPerReplica: 100, load: { from: AS_OF - DAY_MS, values: load } },
    });
    const { cells } = backtestTeam(history(48, { workloads: [chat] }), {
      ...NEVER,
      policy: of('target-tracking'),
      params: of('target-tracking').params.parse({ windowMinutes: 240 }) as Record<string, unknown>,
    });
    const [cell] = cells;
    expect(Object.keys(cell!.series!.costs)).toEqual([
      'none',
      'hpa-0.5',
      'hpa-0.7',
      'hpa-0.9',
      'target-tracking-0.7',
      'step-scaling',
      'bursar',
    ]);
    for (const { name, cost } of cell!.policies) {
      const costs = cell!.series!.costs[name];
      if (costs !== undefined)
        expect(
          costs.reduce((sum, one) => sum + one, 0),
          name,
        ).toBeCloseTo(Number(cost), 3);
    }
    expect(cell!.series!.costs['none']).toEqual([384, 384]);
  });

  it('come in so many steps at most, the last as short as the window leaves it', () => {
    const steps = (days: number): [number, number, number] => {
      const all = new CostSteps({ from: AS_OF, to: AS_OF + days * DAY_MS });
      return [all.stepMs / DAY_MS, all.count, (all.bounds(all.count - 1)[1] - all.bounds(all.count - 1)[0]) / DAY_MS];
    };
    expect(steps(1.5)).toEqual([1, 2, 0.5]);
    expect(steps(120)).toEqual([1, 120, 1]);
    expect(steps(121)).toEqual([2, 61, 1]);
    expect(steps(400)).toEqual([4, 100, 4]);
  });
});

describe('the steps of a backtest', () => {
  const recorded = history(48, {
    demand: [series(new Array<number>(48).fill(2))],
    resources: [resource(run(false, 2880))],
  });
  const request = {
    ...NEVER,
    policy: of('idle-stop'),
    params: of('idle-stop').params.parse({}) as Record<string, unknown>,
  };

  it('say how far it is, never backwards, and end with what one go gives', () => {
    const work = teamSteps(recorded, request);
    const shares: number[] = [];
    let step = work.next();
    for (; step.done !== true; step = work.next()) shares.push(step.value);
    expect(shares.length).toBeGreaterThan(90);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect([shares[0]! > 0, shares.at(-1)]).toEqual([true, 1]);
    expect(step.value).toEqual(backtestTeam(recorded, request));
  });

  it('may be rested between, and left off', async () => {
    const window = { from: recorded.from, to: recorded.to };
    let steps = 0;
    const rested = await backtestPolicy(request, ['lab', 'other'], window, {
      historyOf: async (team) => ({ ...recorded, team }),
      async step() {
        steps++;
        await Promise.resolve();
      },
    });
    expect(steps).toBeGreaterThan(180);
    expect(rested.report.cells.map(({ name }) => name)).toEqual([
      'lab/demand',
      'lab/resources',
      'other/demand',
      'other/resources',
    ]);
    expect(rested.teams[0]?.cells).toEqual(backtestTeam(recorded, request).cells);
    const left = backtestPolicy(request, ['lab'], window, {
      historyOf: async () => recorded,
      step: (share) => {
        if (share > 0.5) throw new Error('enough');
      },
    });
    await expect(left).rejects.toThrow('enough');
  });

  it('leave out teams of which nothing is recorded, and refuse to add currencies', async () => {
    const window = { from: recorded.from, to: recorded.to };
    const empty = history(48);
    const over = (histories: Readonly<Record<string, RecordedHistory>>) =>
      backtestPolicy(request, Object.keys(histories), window, {
        historyOf: async (team) => histories[team]!,
        step: () => undefined,
      });
    expect((await over({ a: empty, b: { ...recorded, team: 'b' } })).teams.map(({ team }) => team)).toEqual(['b']);
    await expect(over({ a: empty })).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('nothing is recorded for a') as string,
    });
    await expect(over({ a: recorded, b: { ...recorded, currency: 'CNY' } })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('USD, CNY') as string,
    });
  });
});

describe('the window', () => {
  const asOf = Date.UTC(2026, 9, 7, 5);
  const problems = (from: string, to: string): string[] =>
    checkWindow({ from, to }, asOf).problems.map(({ path, message }) => `${path} ${message}`);

  it('is read in days or whole hours', () => {
    expect(checkWindow({ from: '2026-10-01', to: '2026-10-07T05:00:00Z' }, asOf)).toEqual({
      window: { from: Date.UTC(2026, 9, 1), to: asOf },
      problems: [],
    });
  });

  it('names everything that is wrong with it', () => {
    expect(problems('soon', '2026-10-07T06:00:00Z')).toEqual([
      expect.stringMatching(/^from "soon" is not a time/),
      `to lies after what is recorded (${formatInstant(asOf)})`,
    ]);
    expect(problems('2026-10-02T00:30:00Z', '2026-10-01')).toEqual([
      'from is not a whole hour',
      'to is not after from',
    ]);
    expect(problems('2025-01-01', '2026-10-01')).toEqual(['from is more than 400 days before to']);
  });
});
