/**
 * `bursar backtest spot-regions`: the terms of the job, the windows of a recording, the report of their comparison, and
 * the file of decisions.
 *
 * It computes nothing and prints nothing.
 */
import { open, type FileHandle } from 'node:fs/promises';
import type { BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { regionsProblem, type RegionsProblem } from '../../planning/spot-regions/problem.js';
import { SPOT, ON_DEMAND } from '../../planning/spot-regions/problem.js';
import type { RegionsStep } from '../../planning/spot-regions/simulate.js';
import { compareRegions, POLICIES, type RegionsCase, type RegionsResult } from './compare.js';
import type { ZoneRecording } from './recordings.js';
import { pastOf, prepared, reportOf, type PricedZone, type RecordingOptions } from './windows.js';

export interface SpotRegionsOptions extends RecordingOptions {
  readonly jobHours: number;
  readonly deadlineHours: number;
  readonly restartHours: number;
  readonly checkpointGb: number;
  readonly probeSeconds?: number;
  /** Seconds between two readings of the past; 0: every tick; null: none is known. */
  readonly pastEvery?: number | null;
  /** A file for the decisions of `bursar`, one JSON line a tick. */
  readonly decisions?: string;
}

export type SpotRegionsReport = BacktestReport & RegionsResult;

/** Runs the backtest. Throws `invalid` with every problem of every file and term. */
export async function runSpotRegionsBacktest(options: SpotRegionsOptions): Promise<SpotRegionsReport> {
  const { decisions, pastEvery = 0 } = options;
  const { zones, before, problem, starts, ...taught } = await prepared(options, {
    policies: POLICIES,
    standard: POLICIES.filter((name) => !name.endsWith('-told')),
    problemsOf: sharedRegions,
    termsOf: (read) => problemOf(read, options),
  });
  const comparison = {
    problem,
    cases: starts.map((start) => caseOf(zones, before, problem, start, pastEvery)),
    ...taught,
  };
  const file = decisions === undefined ? null : await opened(decisions);
  try {
    const lines: string[] = [];
    const result = compareRegions(comparison, options.progress, (window, step) =>
      lines.push(JSON.stringify(decisionOf(problem, window, step))),
    );
    await file?.writeFile(lines.map((line) => `${line}\n`).join(''));
    return { ...reportOf('spot-regions', options, result), ...result };
  } finally {
    await file?.close();
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'w');
  } catch (error) {
    const message = `cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    throw invalid('the decisions cannot be kept', [{ path: 'decisions', message }]);
  }
}

/** Regions go by their name in the egress prices, which therefore one cloud must own. */
function sharedRegions(zones: readonly ZoneRecording[]): Problem[] {
  return zones.flatMap(({ zone, region, cloud }) => {
    const twin = zones.find((one) => one.region === region && one.cloud !== cloud);
    return twin === undefined ? [] : [{ path: zone, message: `its region has the same name as one of ${twin.cloud}` }];
  });
}

function problemOf(zones: readonly PricedZone[], options: SpotRegionsOptions): RegionsProblem {
  return regionsProblem({
    jobHours: options.jobHours,
    deadlineHours: options.deadlineHours,
    restartHours: options.restartHours,
    checkpointGb: options.checkpointGb,
    probeSeconds: options.probeSeconds ?? 60,
    tickSeconds: zones[0]?.tickSeconds ?? 0,
    zones: zones.map(({ zone, region, onDemandPrice, egressPerGb }) => ({
      name: zone,
      region,
      onDemandPrice,
      egressPerGb,
    })),
  });
}

/** The window at `start`, and what is known before it. */
function caseOf(
  zones: readonly PricedZone[],
  before: readonly ZoneRecording[],
  problem: RegionsProblem,
  start: number,
  pastEvery: number | null,
): RegionsCase {
  const part = <Row extends Uint8Array | Float64Array>(row: Row): Row =>
    row.subarray(start, start + problem.ticks) as Row;
  return {
    start,
    window: {
      available: zones.map(({ available }) => part(available)),
      spotPerHour: zones.map(({ spotPerHour }) => part(spotPerHour)),
    },
    pasts: zones.map((zone) => pastOf(zone, before, start, pastEvery)),
  };
}

function decisionOf(problem: RegionsProblem, window: number, step: RegionsStep): object {
  const named = (asked: RegionsStep['attempts']): unknown[] => asked.map(([zone, ok]) => [problem.names[zone], ok]);
  return {
    window,
    tick: step.tick,
    attempts: named(step.attempts),
    probes: named(step.probes),
    mode: step.mode === SPOT ? 'spot' : step.mode === ON_DEMAND ? 'on-demand' : 'idle',
    zone: problem.names[step.zone] ?? null,
    cost: step.cost,
  };
}
