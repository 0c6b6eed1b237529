import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../src/core/workload/measurement.js';
import { leastSquares } from '../../src/lab/throughput/opponents.js';
import { predictThroughput } from '../../src/planning/throughput/predict.js';

const measurement = (model: string): fc.Arbitrary<Measurement> =>
  fc.record({
    model: fc.constant(model),
    gpu: fc.constantFrom('A', 'B'),
    gpuCount: fc.constantFrom(1, 2, 8),
    batch: fc.integer({ min: 1, max: 4096 }),
    samplesPerSecond: fc.double({ min: 0.01, max: 1e6, noNaN: true }),
    family: fc.constantFrom('cnn', 'transformer', 'rnn', 'other', null),
    params: fc.option(fc.integer({ min: 1000, max: 1e11 })),
    size: fc.option(fc.integer({ min: 1, max: 8192 })),
    optimizer: fc.constantFrom('sgd', 'adamw', null),
    precision: fc.constantFrom('fp32', 'bf16', 'int3', null),
    nodes: fc.constantFrom(null, 1, 2),
  });
const settings = { numRuns: 60 };

describe('throughput', () => {
  it('is always a finite number inside its interval, however wild the measurements', () => {
    fc.assert(
      fc.property(
        fc.array(measurement('m'), { maxLength: 8 }),
        fc.array(measurement('other'), { maxLength: 8 }),
        measurement('m'),
        (measured, background, query) => {
          const { samplesPerSecond, low, high } = predictThroughput(measured, background, query);
          expect(low).toBeGreaterThan(0);
          expect(low).toBeLessThanOrEqual(samplesPerSecond);
          expect(samplesPerSecond).toBeLessThan(high);
          expect(Number.isFinite(high)).toBe(true);
        },
      ),
      settings,
    );
  });

  it('does not depend on the order of the measured rows, and never on the value that is asked for', () => {
    fc.assert(
      fc.property(fc.array(measurement('m'), { minLength: 1, maxLength: 6 }), measurement('m'), (measured, query) => {
        const one = predictThroughput(measured, [], query);
        const other = predictThroughput([...measured].reverse(), [], {
          ...query,
          samplesPerSecond: query.samplesPerSecond * 7,
        } as Measurement);
        expect(Math.log(other.samplesPerSecond)).toBeCloseTo(Math.log(one.samplesPerSecond), 3);
      }),
      settings,
    );
  });

  it('leaves residuals of least squares that no column explains', () => {
    fc.assert(
      fc.property(fc.array(measurement('m'), { minLength: 3, maxLength: 12 }), (rows) => {
        const line = leastSquares(rows, ({ batch }) => [batch]);
        const scale = Math.max(...rows.map(({ samplesPerSecond }) => samplesPerSecond));
        const residuals = rows.map((row) => (row.samplesPerSecond - line(row)) / scale);
        expect(residuals.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 6);
        expect(residuals.reduce((sum, residual, i) => sum + (residual * rows[i]!.batch) / 4096, 0)).toBeCloseTo(0, 6);
      }),
      settings,
    );
  });
});
