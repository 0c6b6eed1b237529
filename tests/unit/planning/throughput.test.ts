import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMeasurements } from '../../../src/lab/throughput/run.js';
import { Failure } from '../../../src/core/errors.js';
import { throughputReport } from '../../../src/lab/throughput/backtest.js';
import { learnThroughput } from '../../../src/planning/throughput/hierarchy.js';
import {
  cholesky,
  inverseFactored,
  solveFactored,
  varianceAlong,
} from '../../../src/planning/throughput/linear-algebra.js';
import type { Measurement } from '../../../src/core/workload/measurement.js';
import { familyOf, precisionOf } from '../../../src/planning/throughput/measurement.js';
import {
  leastSquares,
  linearGlobal,
  linearPerModel,
  linearPerModelFeatures,
  logLinearPerModel,
} from '../../../src/lab/throughput/opponents.js';
import { predictThroughput, predictWith, studentQuantile95 } from '../../../src/planning/throughput/predict.js';

const row = (batch: number, samplesPerSecond: number, more: Partial<Measurement> = {}): Measurement => ({
  model: 'm',
  gpu: 'A',
  gpuCount: 1,
  batch,
  samplesPerSecond,
  family: 'cnn',
  params: 3e7,
  size: 224,
  optimizer: 'sgd',
  precision: 'tf32',
  nodes: null,
  ...more,
});

/** Samples per second where a step takes the longer of 20 ms and 0.4 ms per sample of 224 pixels. */
const physical = (batch: number, size: number, slowdown = 1): number =>
  batch / Math.max(0.02, 0.0004 * batch * (size / 224) ** 2 * slowdown);

describe('measurements that lie far from each other', () => {
  it('are answered all the same, with a wide interval', () => {
    const between = (min: number, max: number) => fc.integer({ min, max }).map((power) => 10 ** power);
    const [batches, rates] = [between(-3, 9), between(-9, 12)];
    const rows = fc.array(
      fc.record({
        batch: batches,
        rate: rates,
        params: between(0, 15),
        size: between(0, 8),
        gpu: fc.constantFrom('A', 'B'),
        model: fc.constantFrom('m', 'n'),
      }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(rows, batches, (all, batch) => {
        const known = all.map(({ rate, batch: of, ...more }) => row(of, rate, more));
        const [own, others] = [known.filter(({ model }) => model === 'm'), known.filter(({ model }) => model !== 'm')];
        const { samplesPerSecond: expected, low, high } = predictThroughput(own, others, row(batch, 1));
        expect([expected, low, high].map((one) => (one > 0 && Number.isFinite(one)) || one)).toEqual([
          true,
          true,
          true,
        ]);
        expect(low).toBeLessThanOrEqual(high);
      }),
      { numRuns: 200 },
    );
  });
});

describe('linear algebra', () => {
  const matrix = Float64Array.of(4, 0, 2, 3);
  it('factors, solves and inverts a matrix of two', () => {
    const lower = cholesky(matrix, 2);
    expect([...lower]).toEqual([2, 0, 1, Math.SQRT2]);
    // [[4, 2], [2, 3]] x (1, 2) = (8, 8)
    const solved = [...solveFactored(lower, Float64Array.of(8, 8))];
    expect(solved[0]).toBeCloseTo(1, 12);
    expect(solved[1]).toBeCloseTo(2, 12);
    const inverse = [...inverseFactored(lower, 2)];
    [3 / 8, -2 / 8, -2 / 8, 4 / 8].forEach((value, i) => expect(inverse[i]).toBeCloseTo(value, 12));
    expect(varianceAlong(lower, Float64Array.of(1, 1))).toBeCloseTo(3 / 8, 12);
  });

  it('refuses a matrix that is not positive definite', () => {
    expect(() => cholesky(Float64Array.of(1, 0, 2, 1), 2)).toThrow(/positive definite/);
    for (const none of [0, -1, Number.NaN]) expect(() => cholesky(Float64Array.of(none), 1)).toThrow();
  });

  it('takes one of which rounding leaves nothing', () => {
    const lower = cholesky(Float64Array.of(1, 0, 1, 1 - 1e-16), 2);
    expect([...lower].every(Number.isFinite)).toBe(true);
    expect([...solveFactored(lower, Float64Array.of(1, 1))].every(Number.isFinite)).toBe(true);
  });
});

describe('opponents', () => {
  it('draws the least-squares line of three points, worked by hand: 13/14 x batch + 1/2', () => {
    const line = linearPerModel([row(1, 1), row(2, 3), row(4, 4)]);
    expect(line(row(0, 1))).toBeCloseTo(0.5, 6);
    expect(line(row(14, 1))).toBeCloseTo(13.5, 6);
  });

  it('recovers a x batch + b x log(params) + c x gpus + d across models', () => {
    const made = (batch: number, params: number, gpuCount: number): Measurement =>
      row(batch, 2 * batch - 3 * Math.log(params) + 5 * gpuCount + 100, { params, gpuCount, model: String(params) });
    const line = linearGlobal(
      [made(8, 1e6, 1), made(16, 1e6, 2)],
      [made(8, 1e8, 4), made(32, 1e7, 1), made(64, 1e8, 2)],
    );
    const asked = made(50, 5e6, 3);
    expect(line(asked)).toBeCloseTo(asked.samplesPerSecond, 4);
  });

  it('gives a column that does not vary no coefficient, and an unstated value the mean', () => {
    const line = leastSquares([row(1, 10), row(3, 30)], ({ batch, params }) => [batch, params]);
    expect(line(row(2, 1, { params: 1 }))).toBeCloseTo(20, 6);
    expect(leastSquares([row(1, 10), row(3, 30)], ({ size }) => [size])(row(9, 1, { size: null }))).toBeCloseTo(20, 6);
  });

  it('reads the per-model fit widely and in logarithms', () => {
    const wide = linearPerModelFeatures([
      row(1, 10),
      row(2, 20),
      row(1, 110, { precision: 'bf16' }),
      row(2, 120, { precision: 'bf16' }),
    ]);
    expect(wide(row(3, 1))).toBeCloseTo(30, 4);
    expect(wide(row(3, 1, { precision: 'BFloat16' }))).toBeCloseTo(130, 4);
    expect(logLinearPerModel([row(1, 3), row(4, 6)])(row(16, 1))).toBeCloseTo(12, 6);
  });
});

describe('prediction', () => {
  const sizes = [128, 224, 320];
  const batches = [8, 32, 64, 128, 256, 512];
  const grid = sizes.flatMap((size) => batches.map((batch) => row(batch, physical(batch, size), { size })));
  const measured = [0, 3, 5, 7, 9, 11, 14, 17].map((i) => grid[i]!);

  it('finds launch and compute from eight points without any background', () => {
    for (const asked of grid) {
      const { samplesPerSecond, low, high } = predictThroughput(measured, [], asked);
      expect(Math.abs(samplesPerSecond / asked.samplesPerSecond - 1)).toBeLessThan(0.12);
      expect(low).toBeLessThanOrEqual(samplesPerSecond);
      expect(high).toBeGreaterThan(samplesPerSecond);
    }
  });

  it('takes a GPU kind from background: what is slow elsewhere is slow here', () => {
    const background = ['x', 'y', 'z'].flatMap((model) =>
      grid.flatMap((r) => [
        { ...r, model },
        { ...r, model, gpu: 'B', samplesPerSecond: physical(r.batch, r.size!, 3) },
      ]),
    );
    const asked = row(512, physical(512, 320, 3), { size: 320, gpu: 'B' });
    const { samplesPerSecond } = predictThroughput(measured, background, asked);
    expect(Math.abs(samplesPerSecond / asked.samplesPerSecond - 1)).toBeLessThan(0.15);
  });

  it.each([
    ['of all GPUs', 1],
    ['of each GPU', 0],
  ] as const)('learns from the rows that batch counts the samples %s', (_, all) => {
    const scaled = (r: Measurement, gpuCount: number): Measurement => ({
      ...r,
      gpuCount,
      batch: all === 1 ? r.batch * gpuCount : r.batch,
      samplesPerSecond: r.samplesPerSecond * gpuCount * 0.95,
    });
    const counts = [1, 2, 4, 8];
    const background = ['x', 'y'].flatMap((model) => grid.map((r, i) => ({ ...scaled(r, counts[i % 4]!), model })));
    const known = measured.map((r, i) => scaled(r, counts[i % 4]!));
    const asked = scaled(grid[16]!, 8);
    const { samplesPerSecond } = predictThroughput(known, background, asked);
    expect(Math.abs(samplesPerSecond / asked.samplesPerSecond - 1)).toBeLessThan(0.12);
  });

  /** Samples per second where gradients take `exchange` seconds between nodes, a tenth of it within one, none alone. */
  const shared = (batch: number, gpuCount: number, nodes: number, exchange: number, computing = 0.004): number => {
    const perNode = gpuCount / nodes;
    const waiting = gpuCount === 1 ? 0 : exchange * (nodes === 1 ? 0.1 : 1) * perNode ** 0.3;
    return batch / (((computing * batch) / gpuCount) ** 2.5 + 0.02 ** 2.5 + waiting ** 2.5) ** 0.4;
  };
  const placements = [1, 2, 4].flatMap((nodes) => [1, 2, 4].map((perNode) => ({ nodes, gpuCount: nodes * perNode })));
  const placed = (model: string, exchange: number, computing?: number): Measurement[] =>
    placements.flatMap(({ nodes, gpuCount }) =>
      [8, 32, 128].map((perGpu) => {
        const batch = perGpu * gpuCount;
        return row(batch, shared(batch, gpuCount, nodes, exchange, computing), {
          model,
          nodes,
          gpuCount,
          params: null,
        });
      }),
    );
  const worst = (own: readonly Measurement[], known: readonly number[], others: readonly Measurement[]): number => {
    const predicted = predictWith(
      learnThroughput(others, own),
      known.map((index) => own[index]!),
      own,
    );
    return Math.max(...own.map((r, i) => Math.abs(predicted[i]!.samplesPerSecond / r.samplesPerSecond - 1)));
  };

  it('tells exchanging from computing: six points say what 27 placements and batches do', () => {
    const others = [placed('x', 0.2), placed('y', 0.6, 0.01), placed('z', 0.1, 0.002)].flat();
    // One GPU with 8 and 128 samples; four on a node; two and eight on two nodes; four on four.
    expect(worst(placed('m', 0.35), [0, 2, 6, 9, 17, 18], others)).toBeLessThan(0.2);
  });

  it('finds a curve that the belief has far below the others', () => {
    // Every sample takes 300 times as long as those of the others: without a start of its own the fit stays with a launch.
    const others = [placed('x', 0.2), placed('y', 0.6, 0.003), placed('z', 0.1, 0.002)].flat();
    expect(worst(placed('m', 0.35, 1.2), [0, 2, 6, 9, 17, 18], others)).toBeLessThan(0.2);
  });

  it('weighs both readings of a batch where the rows fit either', () => {
    const own = [row(32, 100), row(32, 195, { gpuCount: 2 }), row(32, 370, { gpuCount: 4 })];
    const asked = row(32, 1, { gpuCount: 8 });
    const knowledge = learnThroughput([], [...own, asked]);
    const [both, ofAll, ofEach] = [knowledge, ...knowledge.map((one) => [one])].map(
      (some) => predictWith(some, own, [asked])[0]!,
    );
    expect(both!.samplesPerSecond).toBeGreaterThan(ofAll!.samplesPerSecond);
    expect(both!.samplesPerSecond).toBeLessThan(ofEach!.samplesPerSecond);
    expect(both!.low).toBeLessThan(ofEach!.low);
  });

  it('answers without a single measurement, with a wide interval', () => {
    const { samplesPerSecond, low, high } = predictThroughput(
      [],
      [],
      row(64, 1, { samplesPerSecond: undefined } as Partial<Measurement>),
    );
    expect(Number.isFinite(samplesPerSecond)).toBe(true);
    expect(high / low).toBeGreaterThan(20);
  });

  it('says when it ends and what that costs, for all GPUs', () => {
    const rate = { nanos: 3_600_000_000n, currency: 'USD', quantity: 3600n, unit: 'gpu-second' as const };
    const query = { ...row(256, 1), gpuCount: 2, samples: 1_000_000, rate };
    const { samplesPerSecond, low, secondsToFinish, cost } = predictThroughput(measured, [], query);
    expect(secondsToFinish!.expected).toBeCloseTo(1_000_000 / samplesPerSecond, 9);
    expect(secondsToFinish!.high).toBeCloseTo(1_000_000 / low, 9);
    // 3.60 USD per hour is a million nanos per GPU-second.
    expect(Number(cost!.expected.nanos)).toBeCloseTo(2 * Math.round(secondsToFinish!.expected * 1000) * 1000, -1);
    expect(cost!.low.nanos < cost!.expected.nanos && cost!.expected.nanos < cost!.high.nanos).toBe(true);
    expect(predictThroughput(measured, [], row(256, 1))).not.toHaveProperty('cost');
  });

  it('names every problem', () => {
    const wrong = (): unknown =>
      predictThroughput([row(8, 0, { model: 'other' })], [row(8, 1, { gpuCount: 1.5 })], row(-1, 1, { size: NaN }));
    expect(wrong).toThrow(Failure);
    try {
      wrong();
    } catch (error) {
      expect((error as Failure).problems.map(({ path }) => path)).toEqual([
        'measured/0/samplesPerSecond',
        'measured/0/model',
        'background/0/gpuCount',
        'query/batch',
        'query/size',
      ]);
    }
  });

  it('never reads a value that is to be predicted', () => {
    const background = grid.map((r) => ({ ...r, model: 'x', samplesPerSecond: r.samplesPerSecond * 2 }));
    const held = grid.filter((r) => !measured.includes(r));
    const lies = held.map((r, i) => ({ ...r, samplesPerSecond: 1 + i * 1e6 }));
    const honest = predictWith(learnThroughput(background, [...measured, ...held]), measured, held);
    expect(predictWith(learnThroughput(background, [...measured, ...lies]), measured, lies)).toEqual(honest);
  });

  it("knows the quantiles of Student's t", () => {
    expect(studentQuantile95(8)).toBeCloseTo(1.8595, 3);
    expect(studentQuantile95(12)).toBeCloseTo(1.7823, 3);
    expect(studentQuantile95(1e9)).toBeCloseTo(1.64485, 4);
  });
});

describe('report', () => {
  const grid = (model: string, count: number, factor: number): Measurement[] =>
    Array.from({ length: count }, (_, i) => row(8 * (i + 1), factor * physical(8 * (i + 1), 224), { model }));

  it('has a cell per model with twelve rows, the measurements as optimum, and pools over cases', () => {
    const report = throughputReport([...grid('a', 14, 1), ...grid('b', 12, 2), ...grid('c', 11, 3)], 8, 1);
    expect(report.cells.map(({ name, count }) => [name, count])).toEqual([
      ['a', 600],
      ['b', 400],
    ]);
    expect(report.settings['backgroundOnly']).toEqual(['c']);
    const errorOf = (cell: number, name: string): number =>
      Number(report.cells[cell]!.policies.find((policy) => policy.name === name)!.meanCost);
    for (const { policies } of report.cells) {
      expect(policies.find(({ name }) => name === 'clairvoyant')).toMatchObject({
        meanCost: 0,
        meanShare: 1,
        meanAbsolutePercentageError: 0,
      });
      expect(policies.find(({ name }) => name === 'linear-global')!.meanShare).toBe(0);
    }
    const mean = report.mean.find(({ name }) => name === 'bursar')!;
    expect(mean['meanAbsolutePercentageError']).toBeCloseTo(
      (600 * errorOf(0, 'bursar') + 400 * errorOf(1, 'bursar')) / 1000,
      12,
    );
    const baseline = 600 * errorOf(0, 'linear-global') + 400 * errorOf(1, 'linear-global');
    expect(mean.meanShare).toBeCloseTo(1 - (600 * errorOf(0, 'bursar') + 400 * errorOf(1, 'bursar')) / baseline, 12);
  });

  it('refuses points that leave nothing to predict, and no points', () => {
    expect(() => throughputReport(grid('a', 14, 1), 14, 1)).toThrow(/cannot be run/);
    expect(() => throughputReport(grid('a', 14, 1), 0, 1)).toThrow(/cannot be run/);
  });
});

describe('measurements file', () => {
  const good =
    '{"model":"m","gpu":"A","gpu_count":1,"batch":8,"samples_per_s":10.5,"family":"cnn","params":1000,"size":224,"optimizer":"sgd","precision":"tf32","step_ms":1}';

  it('reads rows, and counts those without a throughput', () => {
    const { measurements, skipped } = parseMeasurements(
      `\uFEFF${good}\n\n{"model":"m","batch":512,"error":"out_of_memory"}\r\n{"model":"m","batch":512,"samples_per_s":0,"error":"out_of_memory"}\n`,
      'f',
    );
    expect(skipped).toBe(2);
    expect(measurements).toEqual([
      {
        model: 'm',
        gpu: 'A',
        gpuCount: 1,
        batch: 8,
        samplesPerSecond: 10.5,
        family: 'cnn',
        params: 1000,
        size: 224,
        optimizer: 'sgd',
        precision: 'tf32',
        nodes: null,
      },
    ]);
  });

  it('names every line that cannot be read', () => {
    try {
      parseMeasurements(`${good}\nnot json\n{"model":"","gpu":"A","gpu_count":0,"batch":"8","samples_per_s":-1}`, 'f');
      expect.unreachable();
    } catch (error) {
      expect((error as Failure).problems).toEqual([
        { path: 'f:2', message: 'is not a JSON object' },
        { path: 'f:3', message: 'has no model' },
        { path: 'f:3', message: 'gpu_count is not a whole number above 0' },
        { path: 'f:3', message: 'batch is not a number above 0' },
        { path: 'f:3', message: 'samples_per_s is not a number above 0' },
      ]);
    }
    expect(() => parseMeasurements('\n', 'f')).toThrow(Failure);
  });

  it('writes levels one way', () => {
    expect(precisionOf(row(1, 1, { precision: ' torch.BFloat16 ' }))).toBe('bf16');
    expect(familyOf(row(1, 1, { family: null, model: 'vit_b_16' }))).toBe('cnn');
    expect(familyOf(row(1, 1, { family: null, model: 'lstm_512x2' }))).toBe('rnn');
    expect(familyOf(row(1, 1, { family: null, model: 'mystery' }))).toBe('');
  });
});
