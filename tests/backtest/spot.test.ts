/**
 * The spot backtest on a slice of the measured availability (tests/fixtures/spot-availability): twelve windows of each
 * of four zones, each zone run by what the three others taught and by its own past. docs/decisions-quality/spot.md
 * holds the tables of the whole.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { runSpotBacktest, type SpotBacktestOptions } from '../../src/lab/spot/run.js';
import type { BacktestReport } from '../../src/core/policy/backtest.js';
import type { Failure } from '../../src/core/errors.js';
import { mulberry32 } from '../../src/lab/random.js';

const fixture = (zone: string): string =>
  path.join(import.meta.dirname, '../fixtures/spot-availability', `${zone}.jsonl.gz`);
const TRACES = ['us-west-2a_k80_8', 'us-west-2a_v100_8', 'us-west-2b_k80_1', 'us-west-2b_v100_1'].map(fixture);
const PUBLISHED = [
  'on-demand',
  'greedy',
  'greedy-whole-ticks',
  'time-sliced',
  'uniform-progress',
  'uniform-progress-keep',
  'uniform-progress-no-hysteresis',
  'uniform-progress-no-hysteresis-keep',
];

const options = (change: Partial<SpotBacktestOptions> = {}): SpotBacktestOptions => ({
  traces: TRACES,
  train: [],
  jobHours: 48,
  deadlineHours: 60,
  restartHours: 0.2,
  onDemandPrice: 3.06,
  spotPrice: 0.9731,
  ...change,
});
const share = (report: BacktestReport, name: string): number =>
  report.mean.find((row) => row.name === name)!.meanShare!;

describe('four zones, each taught by the others', () => {
  let report: BacktestReport;
  beforeAll(async () => {
    report = await runSpotBacktest(options({ deadlineHours: [54] }));
  });

  it('has a cell per trace file and deadline, with every policy in it', () => {
    expect(report.cells.map(({ name }) => name)).toEqual(
      TRACES.map((trace) => `${path.basename(trace, '.jsonl.gz')} 54h`),
    );
    for (const { count, policies } of report.cells) {
      expect(count).toBe(12);
      expect(policies.map(({ name }) => name).sort()).toEqual(['bursar', 'clairvoyant', ...PUBLISHED].sort());
    }
  });

  it('misses no deadline, and nobody is ahead of the optimum', () => {
    for (const { policies } of report.cells) {
      for (const result of policies) {
        expect(result['misses'], result.name).toBe(0);
        expect(result.meanShare, result.name).toBeLessThanOrEqual(1);
      }
    }
  });

  it('captures more of the optimum than every published policy', () => {
    for (const name of PUBLISHED) expect(share(report, 'bursar')).toBeGreaterThan(share(report, name) + 0.05);
    expect(share(report, 'clairvoyant')).toBe(1);
    expect(share(report, 'on-demand')).toBeCloseTo(0);
  });

  it('pools: the mean is the sum of savings over the sum of what could be saved', () => {
    const [baseline, own, optimum] = ['on-demand', 'bursar', 'clairvoyant'].map((name) =>
      report.cells.reduce(
        (sum, { count, policies }) => sum + count * Number(policies.find((result) => result.name === name)!.meanCost),
        0,
      ),
    ) as [number, number, number];
    expect(share(report, 'bursar')).toBeCloseTo((baseline - own) / (baseline - optimum), 9);
  });

  it('never lets a trace teach itself: naming all files as teachers changes nothing', async () => {
    const pair = TRACES.slice(0, 2);
    const unnamed = await runSpotBacktest(options({ deadlineHours: [52], traces: pair }));
    const named = await runSpotBacktest(options({ deadlineHours: [52], traces: pair, train: pair }));
    expect(named.cells).toEqual(unnamed.cells);
  });
});

describe('a window of a recording that other windows tell more of', () => {
  interface Line {
    readonly original_trace: string;
    readonly start_tick: number;
    readonly gap_seconds: number;
    readonly available: string;
  }
  let folder: string;
  let lines: Line[];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'spot-past-'));
    lines = gunzipSync(await readFile(TRACES[0]!))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  });
  const file = async (name: string, content: readonly object[]): Promise<string> => {
    const where = path.join(folder, `${name}.jsonl`);
    await writeFile(where, content.map((line) => JSON.stringify(line)).join('\n'));
    return where;
  };
  /** The same readings in another order, those before the tick or those from it on. */
  const shuffled = (line: Line, tick: number, part: 'before' | 'from'): Line => {
    const random = mulberry32(line.start_tick + 1);
    const cut = Math.min(Math.max(0, tick - line.start_tick), line.available.length);
    const mix = (digits: string): string =>
      [...digits]
        .map((digit) => ({ digit, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ digit }) => digit)
        .join('');
    const [past, ahead] = [line.available.slice(0, cut), line.available.slice(cut)];
    return { ...line, available: part === 'before' ? mix(past) + ahead : past + mix(ahead) };
  };
  const cellOf = async (window: Line, others: readonly Line[]): Promise<unknown> => {
    const [trace, train] = [await file('trace', [window]), await file('train', others)];
    const report = await runSpotBacktest(
      options({ traces: [trace], train: [train, ...TRACES.slice(1)], deadlineHours: [52] }),
    );
    return report.cells[0];
  };

  it('learns from what came before its start and never from what came at it or after, whichever file it stands in', async () => {
    let changed = 0;
    for (const start of [570, 684, 957]) {
      const window = lines.find((line) => line.start_tick === start)!;
      const others = lines.filter((line) => line !== window);
      const known = await cellOf(window, others);
      expect(
        await cellOf(
          window,
          others.map((line) => shuffled(line, start, 'from')),
        ),
      ).toEqual(known);
      if (
        !isDeepStrictEqual(
          await cellOf(
            window,
            others.map((line) => shuffled(line, start, 'before')),
          ),
          known,
        )
      )
        changed += 1;
    }
    expect(changed).toBeGreaterThan(0);
  });

  it('keeps each decision when the windows of its own file are shuffled from its start on', async () => {
    // The first window in time of the file: all that the others tell is its future.
    const first = lines.reduce((least, line) => (line.start_tick < least.start_tick ? line : least));
    const nothing = await cellOf(first, []);
    expect(
      await cellOf(
        first,
        lines.filter((line) => line !== first),
      ),
    ).toEqual(nothing);
  });

  it('runs as if alone where its place in the recording is not known', async () => {
    const bare = ({ gap_seconds, available }: Line): object => ({ gap_seconds, available });
    const teachers = TRACES.slice(1);
    const run = async (content: readonly object[]): Promise<BacktestReport> =>
      runSpotBacktest(options({ traces: [await file('bare', content)], train: teachers, deadlineHours: [52] }));
    const both = await run(lines.slice(0, 2).map(bare));
    const each = [await run([bare(lines[0]!)]), await run([bare(lines[1]!)])].map(
      (report) => report.cells[0]!.policies.find(({ name }) => name === 'bursar')!.meanCost,
    );
    expect(both.cells[0]!.policies.find(({ name }) => name === 'bursar')!.meanCost).toBeCloseTo(
      (each[0]! + each[1]!) / 2,
      9,
    );
  });
});

it('is close to the optimum where a restart is short', async () => {
  expect(
    share(await runSpotBacktest(options({ traces: TRACES.slice(2), restartHours: 0.05, deadlineHours: 52 })), 'bursar'),
  ).toBeGreaterThan(0.93);
});

it('runs a single zone on what is built in', async () => {
  const report = await runSpotBacktest(options({ traces: TRACES.slice(0, 1), deadlineHours: [54, 52] }));
  expect(report.cells.map(({ name }) => name)).toEqual(['us-west-2a_k80_8 54h', 'us-west-2a_k80_8 52h']);
  expect(report.settings['learned']).toMatchObject({ 'us-west-2a_k80_8': { recordings: 0, persistence: 0.95 } });
  expect(report.cells[0]!.policies.find(({ name }) => name === 'bursar')!.meanShare).toBeGreaterThan(0.8);
});

it('names every problem of every file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'spot-'));
  const bad = path.join(folder, 'bad.jsonl');
  await writeFile(bad, '{"gap_seconds":600,"available":"0102"}\nnot json\n{"gap_seconds":0,"available":"01"}\n');
  const failure: Failure = (await runSpotBacktest(options({ traces: [bad, path.join(folder, 'absent.jsonl')] })).catch(
    (error: Failure) => error,
  )) as Failure;
  expect(failure.kind).toBe('invalid');
  expect(failure.problems.map(({ path: where }) => where)).toEqual([
    'bad/1/available',
    'bad/2',
    'bad/3/gap_seconds',
    path.join(folder, 'absent.jsonl'),
  ]);
});

it('refuses windows that end before the deadline', async () => {
  await expect(runSpotBacktest(options({ deadlineHours: 100 }))).rejects.toMatchObject({
    kind: 'invalid',
    problems: [{}, {}, {}, {}],
  });
});
