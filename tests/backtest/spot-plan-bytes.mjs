#!/usr/bin/env node
/**
 * Prints how much space the plan of a job takes up whole, and as it is kept while the job runs. Needs `npm run build`
 * first.
 *
 *   node tests/backtest/spot-plan-bytes.mjs
 */
import { availabilityModel, BUILT_IN_PARAMETERS } from '../../dist/src/planning/spot/availability-model.js';
import { KeptPlan } from '../../dist/src/planning/spot/kept-plan.js';
import { planSpot } from '../../dist/src/planning/spot/plan.js';
import { spotProblem } from '../../dist/src/planning/spot/problem.js';

const model = availabilityModel(BUILT_IN_PARAMETERS);
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

for (const [jobHours, deadlineHours] of [
  [48, 52],
  [48, 60],
  [48, 70],
  [60, 76],
  [48, 80],
]) {
  const problem = spotProblem({
    jobHours,
    deadlineHours,
    restartHours: 0.2,
    onDemandPrice: 3.06,
    spotPrice: 0.9731,
    tickSeconds: 600,
  });
  const [whole, kept] = [planSpot(problem, model), new KeptPlan(problem, model)];
  let bytes = 0;
  for (let tick = 0; tick < problem.ticks; tick += 1) bytes += whole.dearer(tick).byteLength;
  process.stdout.write(
    `${jobHours} h in ${deadlineHours} h: whole ${megabytes(bytes)} MB, kept ${megabytes(kept.bytes)} MB\n`,
  );
}
