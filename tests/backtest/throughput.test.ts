import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { learnThroughput } from '../../src/planning/throughput/hierarchy.js';
import { byModel } from '../../src/planning/throughput/measurement.js';
import { predictWith } from '../../src/planning/throughput/predict.js';
import { mulberry32 } from '../../src/lab/random.js';
import { parseMeasurements, readText, runThroughputBacktest } from '../../src/lab/throughput/run.js';

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
    expect(bursar['meanAbsolutePercentageError']).toBeLessThan(0.086);
    expect(bursar['coverage90']).toBeGreaterThan(0.85);
    expect(bursar['coverage90']).toBeLessThan(0.95);
  });

  it('stays under 12.3 % pooled from 4 points, with intervals that hold', async () => {
    const report = await runThroughputBacktest({ measurements, points: 4 });
    const bursar = report.mean.find(({ name }) => name === 'bursar')!;
    expect(bursar['meanAbsolutePercentageError']).toBeLessThan(0.123);
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

describe('throughput of one to eight GPUs of three kinds (tests/fixtures/gavel-throughput)', () => {
  it('from 8 random points of each model, three draws: under a third off, and intervals that hold', async () => {
    const file = path.join(import.meta.dirname, '..', 'fixtures', 'gavel-throughput', 'throughput.jsonl');
    const { measurements: all } = parseMeasurements(await readText(file), file);
    const random = mulberry32(1);
    const cases = [...byModel(all)].flatMap(([model, rows]) => {
      const others = all.filter((row) => row.model !== model);
      const knowledge = learnThroughput(others, rows);
      return [1, 2, 3].flatMap(() => {
        const order = rows.map((row) => ({ row, at: random() })).sort((a, b) => a.at - b.at);
        const [measured, held] = [order.slice(0, 8), order.slice(8)].map((some) => some.map(({ row }) => row));
        return predictWith(knowledge, measured!, held!).map(({ samplesPerSecond, low, high }, i) => {
          const truth = held![i]!.samplesPerSecond;
          return { error: Math.abs(samplesPerSecond / truth - 1), isInside: low <= truth && truth <= high };
        });
      });
    });
    expect(cases).toHaveLength(3 * (477 - 5 * 8));
    const mean = (of: (one: (typeof cases)[number]) => number): number =>
      cases.reduce((sum, one) => sum + of(one), 0) / cases.length;
    const inside = mean(({ isInside }) => Number(isInside));
    expect(mean(({ error }) => error)).toBeLessThan(0.33);
    expect(inside).toBeGreaterThan(0.82);
    expect(inside).toBeLessThan(0.95);
  });
});
