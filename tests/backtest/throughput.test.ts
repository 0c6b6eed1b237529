import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runThroughputBacktest } from '../../src/lab/throughput/run.js';

const measurements = path.join(import.meta.dirname, '..', 'fixtures', 'h200-throughput', 'throughput.jsonl');
const PER_MODEL = [
  'linear-per-model',
  'linear-per-model-features',
  'log-linear-per-model',
  'log-linear-per-model-features',
];

describe('throughput on measured models, each known by a few rows', () => {
  it('stays under 15 % from 8 points in every model, and under half the error of every per-model fit', async () => {
    const report = await runThroughputBacktest({ measurements, points: 8 });
    expect(report.cells).toHaveLength(7);
    expect(report.settings['skippedWithoutThroughput']).toBe(10);
    for (const { policies } of report.cells) {
      const error = (name: string): number =>
        Number(policies.find((policy) => policy.name === name)!['meanAbsolutePercentageError']);
      expect(error('bursar')).toBeLessThan(0.15);
      for (const name of PER_MODEL) expect(error('bursar')).toBeLessThan(error(name) / 2);
    }
    const bursar = report.mean.find(({ name }) => name === 'bursar')!;
    expect(bursar['meanAbsolutePercentageError']).toBeLessThan(0.095);
    expect(bursar['coverage90']).toBeGreaterThan(0.85);
    expect(bursar['coverage90']).toBeLessThan(0.95);
  });

  it('stays under 15 % pooled from 4 points, with intervals that hold', async () => {
    const report = await runThroughputBacktest({ measurements, points: 4 });
    const bursar = report.mean.find(({ name }) => name === 'bursar')!;
    expect(bursar['meanAbsolutePercentageError']).toBeLessThan(0.15);
    expect(bursar['coverage90']).toBeGreaterThan(0.85);
    expect(bursar['coverage90']).toBeLessThan(0.95);
  });

  it('is the same for the same seed, and another for another', async () => {
    const [a, b, c] = await Promise.all(
      [1, 1, 2].map((seed) => runThroughputBacktest({ measurements, points: 8, seed })),
    );
    expect(a).toEqual(b);
    expect(c!.mean).not.toEqual(a!.mean);
  });
});
