/**
 * What the backtests on recordings of many zones share: their options, what is read and checked, the windows and the
 * report.
 *
 * It compares nothing. The invariant: of the recording that a window is cut from, whichever file tells of it, nothing at
 * or after the window's start is learned from.
 */
import { basename } from 'node:path';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { UNREAD, type Readings } from '../../planning/spot-regions/availability.js';
import { readZones, type ZoneRecording } from './recordings.js';

export interface RecordingOptions {
  readonly traces: string;
  /** Earlier ticks of the same recording. */
  readonly past?: string;
  /** Other recordings to learn from. */
  readonly train?: readonly string[];
  readonly gang?: number;
  readonly zones?: readonly string[];
  /** Ticks of the traces at which a window starts. */
  readonly starts?: readonly number[];
  /** Windows that start evenly over the ticks that leave room, where no starts are given. */
  readonly windows?: number;
  readonly policies?: readonly string[];
  readonly progress?: BacktestProgress;
}

/** A zone of the traces: its prices are known. */
export type PricedZone = ZoneRecording & { readonly onDemandPrice: number; readonly spotPerHour: Float64Array };

/** What differs between the backtests. */
interface Backtested<Terms, Name extends string> {
  readonly policies: readonly Name[];
  /** Those that run where none are named. */
  readonly standard: readonly Name[];
  /** What the zones must be beyond having prices. */
  readonly problemsOf?: (zones: readonly ZoneRecording[]) => readonly Problem[];
  /** The problem of the zones. Throws `invalid` with every one of its terms that cannot be. */
  readonly termsOf: (zones: readonly PricedZone[]) => Terms;
}

interface Prepared<Terms, Name extends string> {
  readonly zones: readonly PricedZone[];
  /** Earlier parts of the same recording. */
  readonly before: readonly ZoneRecording[];
  /** Of other recordings than the traces. */
  readonly lessons: readonly Readings[];
  readonly problem: Terms;
  readonly starts: readonly number[];
  readonly policies: readonly Name[];
}

/** What the options name. Throws `invalid` with every problem of every file and option. */
export async function prepared<Terms extends { readonly ticks: number }, Name extends string>(
  options: RecordingOptions,
  { policies, standard, problemsOf, termsOf }: Backtested<Terms, Name>,
): Promise<Prepared<Terms, Name>> {
  const problems: Problem[] = [];
  const { zones: read, before, lessons } = await readRecordings(options, problems);
  for (const one of read)
    if (!isPriced(one)) problems.push({ path: one.zone, message: 'needs spot_price and on_demand_price' });
  problems.push(...(problemsOf?.(read) ?? []));
  refuse(problems);
  const zones = read.filter(isPriced);
  const problem = termsOf(zones);
  aligned(zones, before, problems);
  const starts = startsOf(zones, problem, options, problems);
  const chosen = chosenPolicies(policies, standard, options.policies, problems);
  refuse(problems);
  return { zones, before, lessons, problem, starts, policies: chosen };
}

const isPriced = (zone: ZoneRecording): zone is PricedZone => zone.onDemandPrice !== null && zone.spotPerHour !== null;

/** Throws `invalid` if a file cannot be read. */
async function readRecordings(
  { traces, past, train = [], gang = 1, zones: named }: RecordingOptions,
  problems: Problem[],
): Promise<{ zones: ZoneRecording[]; before: ZoneRecording[]; lessons: Readings[] }> {
  const zones = chosenZones(await readZones(traces, gang, problems), named, problems);
  const before = past === undefined ? [] : await readZones(past, gang, problems);
  const others: ZoneRecording[] = [];
  for (const path of train) others.push(...(await readZones(path, 1, problems)));
  refuse(problems);
  const sets = new Set(zones.map(({ set }) => set));
  const lessons = others.filter(({ set }) => !sets.has(set));
  return { zones, before, lessons: lessons.map(({ tickSeconds, available: states }) => ({ tickSeconds, states })) };
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid('the recordings cannot be used', problems);
}

/** The zones in the order of the file, all of them where none are named. */
function chosenZones(
  read: readonly ZoneRecording[],
  named: readonly string[] | undefined,
  problems: Problem[],
): ZoneRecording[] {
  for (const name of named ?? [])
    if (!read.some(({ zone }) => zone === name)) problems.push({ path: 'zones', message: `there is no zone ${name}` });
  return read.filter(({ zone }) => named === undefined || named.includes(zone));
}

/** The policies that are named, in the order of all; where none are, the standard ones. */
function chosenPolicies<Name extends string>(
  all: readonly Name[],
  standard: readonly Name[],
  named: readonly string[] | undefined,
  problems: Problem[],
): readonly Name[] {
  for (const name of named ?? [])
    if (!all.some((known) => known === name))
      problems.push({ path: 'policies', message: `there is no ${name}; there are ${all.join(', ')}` });
  return named === undefined ? standard : all.filter((name) => named.includes(name));
}

/** All zones of the traces cover the same ticks; the past has the same tick. */
function aligned(zones: readonly ZoneRecording[], past: readonly ZoneRecording[], problems: Problem[]): void {
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

function startsOf(
  zones: readonly ZoneRecording[],
  { ticks }: { readonly ticks: number },
  { starts, windows = 12 }: RecordingOptions,
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

interface Compared {
  readonly windows: readonly { readonly optimum: number }[];
  readonly summary: Readonly<
    Record<string, { readonly meanCost: number; readonly meanShare: number | null; readonly misses: number }>
  >;
}

/** The same as every backtest reports: one cell, the recording. */
export function reportOf(
  problem: BacktestReport['problem'],
  options: RecordingOptions,
  { windows, summary }: Compared,
): BacktestReport {
  const { progress: _, ...settings } = options;
  const optimum = windows.reduce((sum, window) => sum + window.optimum, 0);
  const clairvoyant = { name: 'clairvoyant', meanCost: optimum / windows.length, meanShare: 1, misses: 0 };
  const policies = [clairvoyant, ...Object.entries(summary).map(([name, of]) => ({ name, ...of }))];
  const name = basename(options.traces).replace(/(\.jsonl|\.json|\.ndjson)?(\.gz)?$/, '');
  return {
    problem,
    settings: { ...settings, costUnit: 'USD' },
    cells: [{ name, count: windows.length, policies }],
    mean: policies.map(({ name: policy, meanShare, misses }) => ({ name: policy, meanShare, misses })),
  };
}
