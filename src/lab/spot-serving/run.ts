/**
 * `bursar backtest spot-serving`: reads recordings of spot in many zones, cuts windows, hands them to the comparison
 * and returns its report.
 *
 * It computes nothing and prints nothing.
 */
import type { BacktestReport } from '../../core/policy/backtest.js';
import type { Problem } from '../../core/errors.js';
import { servingProblem, type ServingProblem } from '../../planning/spot-serving/problem.js';
import type { ZoneRecording } from '../spot-regions/recordings.js';
import {
  aligned,
  chosenPolicies,
  pastOf,
  readRecordings,
  refuse,
  reportOf,
  startsOf,
  type RecordingOptions,
} from '../spot-regions/windows.js';
import type { ServingCase } from './case.js';
import { compareServing, POLICIES, STANDARD, type ServingResult } from './compare.js';

export interface SpotServingOptions extends RecordingOptions {
  readonly replicas: number;
  readonly coldStartMinutes: number;
  readonly objective: number;
  readonly windowHours?: number;
}

export type SpotServingReport = BacktestReport & ServingResult;

/** Runs the backtest. Throws `invalid` with every problem of every file and term. */
export async function runSpotServingBacktest(options: SpotServingOptions): Promise<SpotServingReport> {
  const problems: Problem[] = [];
  const { zones, before, lessons } = await readRecordings(options, problems);
  const problem = problemOf(zones, options, problems);
  aligned(zones, before, problems);
  const starts = startsOf(zones, problem, options, problems);
  const policies = chosenPolicies(POLICIES, STANDARD, options.policies, problems);
  refuse(problems);
  const comparison = {
    problem,
    cases: starts.map((start) => caseOf(zones, before, problem, start)),
    lessons,
    policies,
  };
  const result = compareServing(comparison, options.progress);
  return { ...reportOf('spot-serving', options, result), ...result };
}

function problemOf(zones: readonly ZoneRecording[], options: SpotServingOptions, problems: Problem[]): ServingProblem {
  for (const one of zones)
    if (one.onDemandPrice === null || one.spotPerHour === null)
      problems.push({ path: one.zone, message: 'needs spot_price and on_demand_price' });
  refuse(problems);
  return servingProblem({
    replicas: options.replicas,
    coldStartSeconds: options.coldStartMinutes * 60,
    objective: options.objective,
    hours: options.windowHours ?? 48,
    tickSeconds: zones[0]?.tickSeconds ?? 0,
    zones: zones.map(({ zone, region, cloud, onDemandPrice }) => ({
      name: zone,
      region: `${cloud} ${region}`,
      onDemandPrice: onDemandPrice ?? NaN,
    })),
  });
}

/** The window at `start`, and what is known before it. */
function caseOf(
  zones: readonly ZoneRecording[],
  before: readonly ZoneRecording[],
  { ticks }: ServingProblem,
  start: number,
): ServingCase {
  return {
    start,
    window: {
      capacity: zones.map(({ gangs }) => gangs.subarray(start, start + ticks)),
      spotPerHour: zones.map(({ spotPerHour }) => (spotPerHour ?? new Float64Array()).subarray(start, start + ticks)),
    },
    pasts: zones.map((zone) => pastOf(zone, before, start, 0)),
  };
}
