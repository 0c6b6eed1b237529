/**
 * `bursar backtest spot-serving`: reads recordings of spot in many zones, cuts windows, hands them to the comparison
 * and returns its report.
 *
 * It computes nothing and prints nothing. The invariant: of the recording that a window is cut from, nothing at or
 * after the window's start is learned from.
 */
import { basename } from 'node:path';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import type { Problem } from '../../core/errors.js';
import type { Readings } from '../../planning/spot-regions/availability.js';
import { servingProblem, type ServingProblem } from '../../planning/spot-serving/problem.js';
import { readZones, type ZoneRecording } from '../spot-regions/recordings.js';
import { aligned, chosenZones, pastOf, refuse, startsOf } from '../spot-regions/run.js';
import type { ServingCase } from './case.js';
import { compareServing, POLICIES, STANDARD, type PolicyName, type ServingResult } from './compare.js';

export interface SpotServingOptions {
  readonly traces: string;
  /** Earlier ticks of the same recording. */
  readonly past?: string;
  /** Other recordings to learn from. */
  readonly train?: readonly string[];
  readonly replicas: number;
  readonly coldStartMinutes: number;
  readonly objective: number;
  readonly gang?: number;
  readonly zones?: readonly string[];
  readonly windowHours?: number;
  /** Ticks of the traces at which a window starts. */
  readonly starts?: readonly number[];
  /** Windows that start evenly over the ticks that leave room, where no starts are given. */
  readonly windows?: number;
  readonly policies?: readonly string[];
  readonly progress?: BacktestProgress;
}

export type SpotServingReport = BacktestReport & ServingResult;

/** Runs the backtest. Throws `invalid` with every problem of every file and term. */
export async function runSpotServingBacktest(options: SpotServingOptions): Promise<SpotServingReport> {
  const problems: Problem[] = [];
  const { gang = 1, past, train = [] } = options;
  const read = await readZones(options.traces, gang, problems);
  const zones = chosenZones(read, options.zones, problems);
  const before = past === undefined ? [] : await readZones(past, gang, problems);
  const lessons: ZoneRecording[] = [];
  for (const path of train) lessons.push(...(await readZones(path, 1, problems)));
  refuse(problems);
  const problem = problemOf(zones, options, problems);
  aligned(zones, before, problems);
  const starts = startsOf(zones, problem, options, problems);
  const policies = policiesOf(options.policies, problems);
  refuse(problems);
  const sets = new Set(zones.map(({ set }) => set));
  const comparison = {
    problem,
    cases: starts.map((start) => caseOf(zones, before, problem, start)),
    lessons: lessons
      .filter(({ set }) => !sets.has(set))
      .map(({ tickSeconds, available }): Readings => ({ tickSeconds, states: available })),
    policies,
  };
  const result = compareServing(comparison, options.progress);
  return { ...reportOf(options, result), ...result };
}

function policiesOf(named: readonly string[] | undefined, problems: Problem[]): PolicyName[] {
  for (const name of named ?? [])
    if (!POLICIES.some((known) => known === name))
      problems.push({ path: 'policies', message: `there is no ${name}; there are ${POLICIES.join(', ')}` });
  return named === undefined ? STANDARD : POLICIES.filter((name) => named.includes(name));
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

/** The same as every backtest reports: one cell, the recording. */
function reportOf(options: SpotServingOptions, { windows, summary }: ServingResult): BacktestReport {
  const { progress: _, ...settings } = options;
  const optimum = windows.reduce((sum, window) => sum + window.optimum, 0);
  const clairvoyant = { name: 'clairvoyant', meanCost: optimum / windows.length, meanShare: 1, misses: 0 };
  const policies = [clairvoyant, ...Object.entries(summary).map(([name, of]) => ({ name, ...of }))];
  const name = basename(options.traces).replace(/(\.jsonl|\.json|\.ndjson)?(\.gz)?$/, '');
  return {
    problem: 'spot-serving',
    settings: { ...settings, costUnit: 'USD' },
    cells: [{ name, count: windows.length, policies }],
    mean: policies.map(({ name: policy, meanShare, misses }) => ({ name: policy, meanShare, misses })),
  };
}
