/**
 * `bursar backtest spot-regions`: reads recordings of spot in many zones, cuts windows, hands them to the comparison
 * and returns its report.
 *
 * It computes nothing and prints nothing. The invariant: of the recording that a window is cut from, whichever file
 * tells of it, nothing at or after the window's start is learned from.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { UNREAD, type Readings } from '../../planning/spot-regions/availability.js';
import { regionsProblem, type RegionsProblem } from '../../planning/spot-regions/problem.js';
import { SPOT, ON_DEMAND } from '../../planning/spot-regions/problem.js';
import type { RegionsStep } from '../../planning/spot-regions/simulate.js';
import { compareRegions, POLICIES, type PolicyName, type RegionsCase, type RegionsResult } from './compare.js';
import { readZones, type ZoneRecording } from './recordings.js';

export interface SpotRegionsOptions {
  readonly traces: string;
  /** Earlier ticks of the same recording. */
  readonly past?: string;
  /** Other recordings to learn from. */
  readonly train?: readonly string[];
  readonly jobHours: number;
  readonly deadlineHours: number;
  readonly restartHours: number;
  readonly checkpointGb: number;
  readonly gang?: number;
  readonly zones?: readonly string[];
  readonly probeSeconds?: number;
  /** Seconds between two readings of the past; 0: every tick; null: none is known. */
  readonly pastEvery?: number | null;
  /** Ticks of the traces at which a window starts. */
  readonly starts?: readonly number[];
  /** Windows that start evenly over the ticks that leave room, where no starts are given. */
  readonly windows?: number;
  readonly policies?: readonly string[];
  /** A file for the decisions of `bursar`, one JSON line a tick. */
  readonly decisions?: string;
  readonly progress?: BacktestProgress;
}

export type SpotRegionsReport = BacktestReport & RegionsResult;

/** Runs the backtest. Throws `invalid` with every problem of every file and term. */
export async function runSpotRegionsBacktest(options: SpotRegionsOptions): Promise<SpotRegionsReport> {
  const problems: Problem[] = [];
  const { gang = 1, past, train = [], decisions, pastEvery = 0 } = options;
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
    cases: starts.map((start) => caseOf(zones, before, problem, start, pastEvery)),
    lessons: lessons
      .filter(({ set }) => !sets.has(set))
      .map(({ tickSeconds, available }): Readings => ({ tickSeconds, states: available })),
    policies,
  };
  const file = decisions === undefined ? null : await opened(decisions);
  try {
    const lines: string[] = [];
    const result = compareRegions(comparison, options.progress, (window, step) =>
      lines.push(JSON.stringify(decisionOf(problem, window, step))),
    );
    await file?.writeFile(lines.map((line) => `${line}\n`).join(''));
    return { ...reportOf(options, result), ...result };
  } finally {
    await file?.close();
  }
}

export function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid('the recordings cannot be used', problems);
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'w');
  } catch (error) {
    const message = `cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    throw invalid('the decisions cannot be kept', [{ path: 'decisions', message }]);
  }
}

/** The zones in the order of the file, all of them where none are named. */
export function chosenZones(
  read: readonly ZoneRecording[],
  named: readonly string[] | undefined,
  problems: Problem[],
): ZoneRecording[] {
  for (const name of named ?? [])
    if (!read.some(({ zone }) => zone === name)) problems.push({ path: 'zones', message: `there is no zone ${name}` });
  return read.filter(({ zone }) => named === undefined || named.includes(zone));
}

function policiesOf(named: readonly string[] | undefined, problems: Problem[]): PolicyName[] {
  const standard = POLICIES.filter((name) => !name.endsWith('-told'));
  for (const name of named ?? []) {
    if (!POLICIES.some((known) => known === name))
      problems.push({ path: 'policies', message: `there is no ${name}; there are ${POLICIES.join(', ')}` });
  }
  return named === undefined ? standard : POLICIES.filter((name) => named.includes(name));
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

/** All zones of the traces cover the same ticks; the past has the same tick. */
export function aligned(zones: readonly ZoneRecording[], past: readonly ZoneRecording[], problems: Problem[]): void {
  const [first] = zones;
  if (first === undefined) return;
  for (const { zone, tickSeconds, firstTick, available } of zones) {
    if (tickSeconds !== first.tickSeconds || firstTick !== first.firstTick)
      problems.push({ path: zone, message: `its ticks differ from those of ${first.zone}` });
    else if (available.length !== first.available.length)
      problems.push({ path: zone, message: `has another number of ticks than ${first.zone}` });
  }
  for (const { zone, tickSeconds } of past)
    if (tickSeconds !== first.tickSeconds)
      problems.push({ path: zone, message: 'its past has another gap_seconds than the traces' });
}

export function startsOf(
  zones: readonly ZoneRecording[],
  { ticks }: Pick<RegionsProblem, 'ticks'>,
  { starts, windows = 12 }: Pick<SpotRegionsOptions, 'starts' | 'windows'>,
  problems: Problem[],
): number[] {
  const length = zones[0]?.available.length ?? 0;
  const room = length - ticks;
  if (room < 0) {
    problems.push({ path: 'traces', message: `its ${length} ticks are fewer than the ${ticks} until the deadline` });
    return [];
  }
  for (const start of starts ?? [])
    if (start > room) problems.push({ path: 'starts', message: `${start} leaves no room: the last start is ${room}` });
  const even = Array.from({ length: windows }, (_, i) => (windows === 1 ? 0 : Math.floor((i * room) / (windows - 1))));
  return [...(starts ?? new Set(even))];
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

/** Readings of a zone before the start of a window, by the ticks of the recording. */
export function pastOf(
  zone: ZoneRecording,
  before: readonly ZoneRecording[],
  start: number,
  pastEvery: number | null,
): Readings {
  const { tickSeconds } = zone;
  if (pastEvery === null) return { tickSeconds, states: new Uint8Array() };
  const parts = [...before.filter((one) => one.set === zone.set && one.zone === zone.zone), zone];
  const end = zone.firstTick + start;
  const first = Math.min(end, ...parts.map(({ firstTick }) => firstTick));
  const states = new Uint8Array(end - first).fill(UNREAD);
  const read = (tick: number): boolean =>
    pastEvery <= tickSeconds ||
    Math.floor((tick * tickSeconds) / pastEvery) !== Math.floor(((tick - 1) * tickSeconds) / pastEvery);
  for (const { firstTick, available } of parts) {
    const last = Math.min(end, firstTick + available.length);
    for (let tick = firstTick; tick < last; tick += 1)
      if (read(tick)) states[tick - first] = available[tick - firstTick] ?? UNREAD;
  }
  return { tickSeconds, states };
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

/** The same as every backtest reports: one cell, the recording. */
function reportOf(options: SpotRegionsOptions, { windows, summary }: RegionsResult): BacktestReport {
  const { progress: _, ...settings } = options;
  const optimum = windows.reduce((sum, window) => sum + window.optimum, 0);
  const clairvoyant = { name: 'clairvoyant', meanCost: optimum / windows.length, meanShare: 1, misses: 0 };
  const policies = [clairvoyant, ...Object.entries(summary).map(([name, of]) => ({ name, ...of }))];
  const name = basename(options.traces).replace(/(\.jsonl|\.json|\.ndjson)?(\.gz)?$/, '');
  return {
    problem: 'spot-regions',
    settings: { ...settings, costUnit: 'USD' },
    cells: [{ name, count: windows.length, policies }],
    mean: policies.map(({ name: policy, meanShare, misses }) => ({ name: policy, meanShare, misses })),
  };
}
