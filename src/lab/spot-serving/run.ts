/**
 * `bursar backtest spot-serving`: the terms of the service, the windows of a recording, and the report of their
 * comparison.
 *
 * It computes nothing and prints nothing.
 */
import type { BacktestReport } from '../../core/policy/backtest.js';
import { servingProblem, type ServingProblem } from '../../planning/spot-serving/problem.js';
import type { ZoneRecording } from '../spot-regions/recordings.js';
import { pastOf, prepared, reportOf, type PricedZone, type RecordingOptions } from '../spot-regions/windows.js';
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
  const { zones, before, problem, starts, ...taught } = await prepared(options, {
    policies: POLICIES,
    standard: STANDARD,
    termsOf: (read) => problemOf(read, options),
  });
  const cases = starts.map((start) => caseOf(zones, before, problem, start));
  const result = compareServing({ problem, cases, ...taught }, options.progress);
  return { ...reportOf('spot-serving', options, result), ...result };
}

function problemOf(zones: readonly PricedZone[], options: SpotServingOptions): ServingProblem {
  return servingProblem({
    replicas: options.replicas,
    coldStartSeconds: options.coldStartMinutes * 60,
    objective: options.objective,
    hours: options.windowHours ?? 48,
    tickSeconds: zones[0]?.tickSeconds ?? 0,
    zones: zones.map(({ zone, region, cloud, onDemandPrice }) => ({
      name: zone,
      region: `${cloud} ${region}`,
      onDemandPrice,
    })),
  });
}

/** The window at `start`, and what is known before it. */
function caseOf(
  zones: readonly PricedZone[],
  before: readonly ZoneRecording[],
  { ticks }: ServingProblem,
  start: number,
): ServingCase {
  return {
    start,
    window: {
      capacity: zones.map(({ gangs }) => gangs.subarray(start, start + ticks)),
      spotPerHour: zones.map(({ spotPerHour }) => spotPerHour.subarray(start, start + ticks)),
    },
    pasts: zones.map((zone) => pastOf(zone, before, start, 0)),
  };
}
