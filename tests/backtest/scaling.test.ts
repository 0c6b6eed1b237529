import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instantMilliseconds, readArrivals, runScalingBacktest } from '../../src/lab/scaling/run.js';
import type { PolicyResult } from '../../src/core/policy/backtest.js';
import { mulberry32 } from '../../src/lab/random.js';
import { scalingReport } from '../../src/lab/scaling/backtest.js';
import { bursarPolicies } from '../../src/planning/scaling/planner.js';
import { poisson, seededSeries, SERIES_DEFAULTS } from '../../src/lab/scaling/series.js';
import { simulate, startingReplicas, type ScalingPolicy } from '../../src/planning/scaling/simulate.js';

const AZURE = 'tests/fixtures/azure-llm-inference/code_first_2400.csv';
const MOONCAKE = 'tests/fixtures/mooncake-arrivals/conversation_first_3000.csv';
let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'scaling-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const number = (policy: PolicyResult | undefined, measure: string): number => policy![measure] as number;

/**
 * Cost above the optimum of Bursar, at the load that a rule leaves unserved, over that rule's: interpolated on the
 * frontier.
 */
function costAgainst(policies: readonly PolicyResult[], rival: string): number {
  const at = policies.find(({ name }) => name === rival);
  const frontier: [number, number][] = [];
  const points = policies
    .filter(({ name }) => name.startsWith('bursar@'))
    .map((policy): [number, number] => [number(policy, 'unservedShare'), number(policy, 'costRatio')]);
  for (const point of points.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (frontier.length === 0 || point[1] < frontier[frontier.length - 1]![1]) frontier.push(point);
  }
  const unserved = number(at, 'unservedShare');
  if (unserved < frontier[0]![0] - 1e-9) return Infinity;
  const next = frontier.findIndex(([share]) => share > unserved);
  const [low, high] =
    next < 0 ? [frontier.at(-1)!, frontier.at(-1)!] : [frontier[Math.max(0, next - 1)]!, frontier[next]!];
  const along = high[0] > low[0] ? Math.max(0, unserved - low[0]) / (high[0] - low[0]) : 0;
  return (low[1] + (high[1] - low[1]) * along - 1) / (number(at, 'costRatio') - 1);
}

describe('backtest scaling', () => {
  it('reports the contract names with finite numbers, the default twice and the optimum at 1', async () => {
    const report = await runScalingBacktest({ arrivals: AZURE, bootMinutes: 5, peakReplicas: 20 });
    const policies = report.cells[0]!.policies;
    const names = policies.map(({ name }) => name);
    for (const name of [
      'hpa-0.5',
      'hpa-0.7',
      'hpa-0.9',
      'target-tracking-0.7',
      'step-scaling',
      'scale-in-0.3',
      'bursar',
      'bursar@80',
      'clairvoyant',
    ])
      expect(names).toContain(name);
    expect(names.filter((name) => name.startsWith('bursar@')).length).toBeGreaterThanOrEqual(5);
    for (const policy of policies) {
      expect(Number.isFinite(number(policy, 'unservedShare')), policy.name).toBe(true);
      expect(Number.isFinite(number(policy, 'costRatio')), policy.name).toBe(true);
    }
    const find = (name: string): PolicyResult => policies.find((policy) => policy.name === name)!;
    expect({ ...find('bursar'), name: '' }).toEqual({ ...find('bursar@80'), name: '' });
    expect(find('clairvoyant')).toMatchObject({ meanShare: 1, unservedShare: 0, costRatio: 1 });
    expect(find('static-peak').meanShare).toBe(0);
    expect(report.settings).toMatchObject({ minutes: 15, requests: 2400 });
  });

  it('reads milliseconds from the start, dates and Unix seconds alike', async () => {
    const mooncake = await runScalingBacktest({ arrivals: MOONCAKE, bootMinutes: 2, peakReplicas: 10 });
    expect(mooncake.settings).toMatchObject({ minutes: 17, requests: 3000 });
    const dates = join(folder, 'dates.csv');
    const seconds = join(folder, 'seconds.csv');
    await writeFile(
      dates,
      'TIMESTAMP,x\n2023-11-16 18:17:03.9799600,1\n"2023-11-16T18:18:00Z",2\n2023-11-16T20:18:30.5+02:00,3\n',
    );
    await writeFile(seconds, '1700158623.97996\n1700158680\n1700158710.5\n');
    expect([...(await readArrivals(seconds))].map(Math.round)).toEqual(
      [...(await readArrivals(dates))].map(Math.round),
    );
    expect(instantMilliseconds('2023-02-30 00:00:00')).toBeNull();
  });

  it('names the lines that it cannot read, and a file that is not there', async () => {
    const bad = join(folder, 'bad.csv');
    await writeFile(bad, 'time\n2023-11-16 18:17:03\nsoon\n\n2023-13-16 18:17:03\n');
    await expect(readArrivals(bad)).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: `${bad}:3` }, { path: `${bad}:5` }],
    });
    await expect(readArrivals(join(folder, 'none.csv'))).rejects.toMatchObject({ kind: 'missing' });
  });

  it('costs less above the optimum than HPA at the load that HPA leaves unserved, on surging days', () => {
    const requests = seededSeries({
      ...SERIES_DEFAULTS,
      minutes: 4 * 1440,
      burstsPerDay: 24,
      burstFactor: 5,
      burstMinutes: 8,
      seed: 11,
    });
    const policies = scalingReport(requests, { bootMinutes: 5, peakReplicas: 20 }).cells[0]!.policies;
    for (const rival of ['hpa-0.5', 'hpa-0.7', 'hpa-0.9'])
      expect(costAgainst(policies, rival), rival).toBeLessThan(0.85);
  });

  it('cuts it by 30 % on calm days, for every target', () => {
    const requests = seededSeries({ ...SERIES_DEFAULTS, minutes: 3 * 1440, burstsPerDay: 0, seed: 11 });
    const policies = scalingReport(requests, { bootMinutes: 10, peakReplicas: 20 }).cells[0]!.policies;
    for (const rival of ['hpa-0.5', 'hpa-0.7', 'hpa-0.9'])
      expect(costAgainst(policies, rival), rival).toBeLessThan(0.7);
  });

  it('serves most of the load at its own price where it jumps from minute to minute', () => {
    for (const seed of [3, 4, 5]) {
      const requests = seededSeries({
        ...SERIES_DEFAULTS,
        minutes: 60,
        base: 200,
        burstsPerDay: 480,
        burstMinutes: 2,
        burstFactor: 10,
        seed,
      });
      const own = scalingReport(requests, { bootMinutes: 5, peakReplicas: 20 }).cells[0]!.policies.find(
        ({ name }) => name === 'bursar',
      );
      expect(number(own, 'unservedShare'), `seed ${seed}`).toBeLessThan(0.25);
    }
  });

  it('settles where the load falls as a coin does: at its own price within a third of the best static fleet of hindsight', () => {
    const price = 20;
    let own = 0;
    let best = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const random = mulberry32(seed);
      const load = Float64Array.from({ length: 60 }, () => poisson(random() < 0.5 ? 200 : 5, random) / 20);
      const limits = { bootMinutes: 5, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 };
      const bill = (policy: ScalingPolicy): number => {
        const run = simulate(load, limits, policy);
        return run.replicaMinutes + price * run.unserved;
      };
      own += bill(bursarPolicies(load, limits, startingReplicas(load, limits), [{ price, reserve: 0 }])[0]!);
      best += Math.min(...Array.from({ length: limits.maxReplicas }, (_, i) => bill(() => i + 1)));
    }
    expect(own / best).toBeLessThan(4 / 3);
  });

  it('cuts it by 30 % on the measured chat arrivals', async () => {
    const { cells } = await runScalingBacktest({ arrivals: MOONCAKE, bootMinutes: 3, peakReplicas: 20 });
    for (const rival of ['hpa-0.5', 'hpa-0.7']) expect(costAgainst(cells[0]!.policies, rival), rival).toBeLessThan(0.7);
  });

  it('makes the same series from the same seed', () => {
    const small = { ...SERIES_DEFAULTS, minutes: 500 };
    expect([...seededSeries(small)]).toEqual([...seededSeries(small)]);
    expect([...seededSeries(small)]).not.toEqual([...seededSeries({ ...small, seed: 2 })]);
  });
});
