/**
 * The backtest of a service on spot over many zones, on recordings made here: the objective is held in every window, not
 * far above any opponent that holds it. docs/decisions-quality/spot-serving.md has the figures of real recordings.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Failure } from '../../src/core/errors.js';
import { mulberry32, type Random } from '../../src/lab/random.js';
import { runSpotServingBacktest, type SpotServingOptions } from '../../src/lab/spot-serving/run.js';

const TICKS = 300;
/** Mean ticks with room and without, and a price of spot. */
const PLACES: readonly (readonly [zone: string, region: string, up: number, down: number, price: number])[] = [
  ['east-a', 'east', 30, 8, 10],
  ['east-b', 'east', 12, 12, 9],
  ['west-a', 'west', 50, 20, 12],
  ['europe-a', 'europe', 60, 10, 16],
];

/** The number of instances, 0 to 4, by tick. */
function counts(random: Random, up: number, down: number): string {
  let [digits, state] = ['', random() < up / (up + down) ? 4 : 0];
  while (digits.length < TICKS) {
    const ticks = 1 + Math.floor(-Math.log(1 - random()) * (state > 0 ? up : down));
    digits += String(state).repeat(ticks);
    state = state > 0 ? 0 : 2 + Math.floor(random() * 3);
  }
  return digits.slice(0, TICKS);
}

describe('bursar backtest spot-serving', () => {
  let folder = '';
  let traces = '';
  const file = async (name: string, content: readonly object[]): Promise<string> => {
    const where = path.join(folder, name);
    await writeFile(where, content.map((line) => JSON.stringify(line)).join('\n'));
    return where;
  };
  const recording = (seed: number): object[] => {
    const random = mulberry32(seed);
    return PLACES.map(([zone, region, up, down, price]) => ({
      set: `made ${seed}`,
      zone,
      region,
      cloud: 'aws',
      gap_seconds: 600,
      available: '1'.repeat(TICKS),
      counts: counts(random, up, down),
      count_of: 4,
      spot_price: [
        [0, price],
        [150, price * 1.2],
      ],
      on_demand_price: 40,
    }));
  };
  const options = (change: Partial<SpotServingOptions> = {}): SpotServingOptions => ({
    traces,
    replicas: 3,
    coldStartMinutes: 5,
    objective: 0.98,
    windowHours: 24,
    windows: 3,
    ...change,
  });
  const problemsOf = async (change: Partial<SpotServingOptions>): Promise<string> => {
    const failure = await runSpotServingBacktest(options(change)).then(
      () => null,
      (error: unknown) => error as Failure,
    );
    return (failure?.problems ?? []).map((problem) => `${problem.path}: ${problem.message}`).join('\n');
  };

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'spot-serving-'));
    traces = await file('a.jsonl', recording(11));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('holds the objective in every window, not far above SpotHedge, and nobody who holds it is below the optimum', async () => {
    const { windows, summary } = await runSpotServingBacktest(options());
    expect(windows.map(({ start }) => start)).toEqual([0, 78, 156]);
    for (const { optimum, onDemand, policies } of windows) {
      expect(onDemand).toBeCloseTo(3 * 24 * 40, 9);
      for (const [name, run] of Object.entries(policies)) {
        if (run.servedShare >= 0.98 - 1e-9) expect(run.cost, name).toBeGreaterThanOrEqual(optimum - 1e-6);
        expect(run.onDemandSpend, name).toBeLessThanOrEqual(run.cost);
      }
    }
    for (const name of ['bursar', 'spothedge-guarded', 'on-demand']) expect(summary[name]).toMatchObject({ misses: 0 });
    expect(summary['bursar']!.worstServedShare).toBeGreaterThanOrEqual(0.98 - 1e-9);
    for (const name of ['fixed-share', 'cheapest-zone-guarded', 'on-demand'])
      expect(summary['bursar']!.meanCost, name).toBeLessThan(summary[name]!.meanCost);
    // Here SpotHedge behind the guard is ahead, by 3 %; without the guard it misses a window.
    expect(summary['bursar']!.meanCost).toBeLessThan(1.05 * summary['spothedge-guarded']!.meanCost);
    expect(summary['spothedge']!.misses).toBeGreaterThan(0);
    const mean = windows.reduce((sum, { policies }) => sum + policies['bursar']!.cost, 0) / 3;
    expect(summary['bursar']!.meanCost).toBeCloseTo(mean, 9);
  });

  it('counts what a zone has room for in gangs, and learns from no line of its own recording that trains', async () => {
    const only = (change: Partial<SpotServingOptions>) =>
      runSpotServingBacktest(options({ windows: 1, policies: ['bursar'], ...change }));
    const [one, four] = [await only({}), await only({ gang: 4 })];
    expect(four.windows[0]!.optimum).toBeGreaterThan(one.windows[0]!.optimum);
    expect((await only({ train: [traces] })).windows).toEqual(one.windows);
    expect(await problemsOf({ gang: 5 })).toContain('no gang of 5 was asked for');
  });

  it('names everything that is wrong', async () => {
    expect(await problemsOf({ objective: 0.999 })).toMatch(/^objective: cannot be held/);
    expect(await problemsOf({ starts: [250], policies: ['none'] })).toMatch(
      /^starts: 250 leaves no room.*\npolicies: there is no none/,
    );
    expect(await problemsOf({ zones: ['nowhere'] })).toContain('there is no zone nowhere');
    const { spot_price: _, ...line } = recording(1)[0] as { spot_price: unknown };
    expect(await problemsOf({ traces: await file('b.jsonl', [line]) })).toBe(
      'east-a: needs spot_price and on_demand_price',
    );
  });
});
