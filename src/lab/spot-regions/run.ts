/**
 * `bursar backtest spot-regions`: reads recordings of spot in many zones, cuts windows, hands them to the comparison
 * and returns its report.
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
import {
  aligned,
  chosenPolicies,
  pastOf,
  readRecordings,
  refuse,
  reportOf,
  startsOf,
  type RecordingOptions,
} from './windows.js';

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
  const problems: Problem[] = [];
  const { zones, before, lessons } = await readRecordings(options, problems);
  const problem = problemOf(zones, options, problems);
  aligned(zones, before, problems);
  const starts = startsOf(zones, problem, options, problems);
  const standard = POLICIES.filter((name) => !name.endsWith('-told'));
  const policies = chosenPolicies(POLICIES, standard, options.policies, problems);
  refuse(problems);
  const comparison = {
    problem,
    cases: starts.map((start) => caseOf(zones, before, problem, start, pastEvery)),
    lessons,
    policies,
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

/** The problem of the zones. Regions go by their name in the egress prices, which therefore one cloud must own. */
function problemOf(zones: readonly ZoneRecording[], options: SpotRegionsOptions, problems: Problem[]): RegionsProblem {
  for (const one of zones) {
    if (one.onDemandPrice === null || one.spotPerHour === null)
      problems.push({ path: one.zone, message: 'needs spot_price and on_demand_price' });
    const twin = zones.find(({ region, cloud }) => region === one.region && cloud !== one.cloud);
    if (twin !== undefined)
      problems.push({ path: one.zone, message: `its region has the same name as one of ${twin.cloud}` });
  }
  refuse(problems);
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
      onDemandPrice: onDemandPrice ?? NaN,
      egressPerGb,
    })),
  });
}

/** The window at `start`, and what is known before it. */
function caseOf(
  zones: readonly ZoneRecording[],
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
      spotPerHour: zones.map(({ spotPerHour }) => part(spotPerHour ?? new Float64Array())),
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
