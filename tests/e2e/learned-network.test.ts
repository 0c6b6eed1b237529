/** The numbers of the commitment planner's forecast on tenants that no fit has seen; made again they are the same file. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');

interface Checked {
  readonly samples: number;
  readonly inputDistance: number;
  readonly meanShare: number;
  readonly meanPrediction: number;
  readonly squaredError: number;
  readonly squaredErrorOfMean: number;
}

it('the fitted forecast of use says what the demand that it was learned from does', async () => {
  const script = path.join(ROOT, 'tests/backtest/fit-commitment-forecast.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--check'], { cwd: ROOT });
  const checked = JSON.parse(stdout) as Checked;
  expect(checked.samples).toBeGreaterThan(50_000);
  expect(checked.inputDistance).toBeLessThan(0.15);
  expect(Math.abs(checked.meanPrediction - checked.meanShare)).toBeLessThan(0.015);
  // 0.0276 of 0.1130.
  expect(checked.squaredError / checked.squaredErrorOfMean).toBeLessThan(0.26);
});
