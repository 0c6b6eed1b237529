/**
 * `bursar backtest spot`: reads recorded spot availability, hands it to the planner's backtest, and returns its report.
 *
 * It computes nothing and prints nothing. The invariant: a trace file is never among the recordings that its own zone learns from.
 */
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { BacktestProgress, BacktestReport } from '../../core/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { compareSpot, type SpotZone } from '../../planning/spot/compare.js';

export interface SpotBacktestOptions {
  /** Files of JSON lines, gzip or not: `available` (a string of 1 and 0, one per tick), `gap_seconds`, and, where known, `start_tick`. */
  readonly traces: readonly string[];
  /** Files to learn from. With none, each trace learns from the other traces of the call; with a single trace, from what is built in. */
  readonly train?: readonly string[];
  readonly jobHours: number;
  readonly deadlineHours: number | readonly number[];
  readonly restartHours: number;
  /** Per hour, both in one unit. */
  readonly onDemandPrice: number;
  readonly spotPrice: number;
  readonly progress?: BacktestProgress;
}

/** One file: its windows as they stand, and the same readings as stretches without gap or repetition, to learn from. */
interface TraceFile {
  readonly path: string;
  readonly name: string;
  readonly tickSeconds: number;
  readonly windows: readonly Uint8Array[];
  readonly recordings: readonly Uint8Array[];
}

interface Window {
  readonly startTick: number | null;
  readonly available: Uint8Array;
}

/** Runs the backtest. Throws `invalid` with every problem of every file and term; a file that cannot be read is one of them. */
export async function runSpotBacktest(options: SpotBacktestOptions): Promise<BacktestReport> {
  const problems: Problem[] = [];
  const paths = [...new Set([...options.traces, ...(options.train ?? [])].map((path) => resolve(path)))];
  const files = new Map<string, TraceFile>();
  for (const path of paths) files.set(path, await readTrace(path, problems));
  const tested = options.traces.map((path) => files.get(resolve(path))).filter((file) => file !== undefined);
  const teachers = options.train?.length ? options.train : options.traces;
  const zones: SpotZone[] = tested.map((file) => {
    const others = [...new Set(teachers.map((path) => resolve(path)))].filter((path) => path !== file.path);
    const lessons = others.map((path) => files.get(path)).filter((other) => other !== undefined);
    for (const other of lessons) {
      if (other.tickSeconds !== file.tickSeconds) problems.push({ path: other.name, message: `its gap_seconds differ from those of ${file.name}` });
    }
    return { name: file.name, tickSeconds: file.tickSeconds, windows: file.windows, recordings: lessons.flatMap((other) => other.recordings) };
  });
  if (problems.length > 0) throw invalid('the traces cannot be used', problems);
  const deadlineHours = typeof options.deadlineHours === 'number' ? [options.deadlineHours] : options.deadlineHours;
  const { jobHours, restartHours, onDemandPrice, spotPrice } = options;
  const report = compareSpot({ terms: { jobHours, restartHours, onDemandPrice, spotPrice }, deadlineHours, zones }, options.progress);
  return { ...report, settings: { traces: options.traces, train: options.train ?? [], ...report.settings } };
}

async function readTrace(path: string, problems: Problem[]): Promise<TraceFile> {
  const name = basename(path).replace(/(\.jsonl|\.json|\.ndjson)?(\.gz)?$/, '');
  const lines = (await readText(path, problems)).split('\n');
  const windows: Window[] = [];
  const gaps = new Set<number>();
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const window = parseWindow(line, `${name}/${i + 1}`, gaps, problems);
    if (window !== null) windows.push(window);
  });
  if (gaps.size > 1) problems.push({ path: name, message: 'its windows have different gap_seconds' });
  const [tickSeconds = 600] = gaps;
  return { path, name, tickSeconds, windows: windows.map(({ available }) => available), recordings: stitched(windows) };
}

async function readText(path: string, problems: Problem[]): Promise<string> {
  try {
    const bytes = await readFile(path);
    const zipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return (zipped ? await promisify(gunzip)(bytes) : bytes).toString('utf8');
  } catch (error) {
    problems.push({ path, message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` });
    return '';
  }
}

function parseWindow(line: string, where: string, gaps: Set<number>, problems: Problem[]): Window | null {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    problems.push({ path: where, message: 'is not JSON' });
    return null;
  }
  const { available, gap_seconds: gap, start_tick: start } = (row ?? {}) as Readonly<Record<string, unknown>>;
  const readable = typeof available === 'string' && /^[01]+$/.test(available);
  if (!readable) problems.push({ path: `${where}/available`, message: 'must be a string of 1 (available) and 0' });
  if (typeof gap === 'number' && Number.isInteger(gap) && gap > 0) gaps.add(gap);
  else problems.push({ path: `${where}/gap_seconds`, message: 'must be a whole positive number of seconds' });
  if (!readable) return null;
  return { startTick: Number.isInteger(start) ? Number(start) : null, available: Uint8Array.from(available, (digit) => (digit === '1' ? 1 : 0)) };
}

/**
 * Overlapping windows of one recording, laid over each other by `start_tick`, so that no reading counts twice. Windows without a
 * start, or that contradict what already lies there, stay as they are.
 */
function stitched(windows: readonly Window[]): Uint8Array[] {
  const timeline = new Map<number, number>();
  const apart: Uint8Array[] = [];
  for (const { startTick, available } of windows) {
    const agrees = startTick !== null && available.every((reading, i) => (timeline.get(startTick + i) ?? reading) === reading);
    if (!agrees) apart.push(available);
    else available.forEach((reading, i) => timeline.set(startTick + i, reading));
  }
  const stretches: number[][] = [];
  let previous = Number.NaN;
  for (const tick of [...timeline.keys()].sort((a, b) => a - b)) {
    if (tick !== previous + 1) stretches.push([]);
    stretches.at(-1)?.push(timeline.get(tick) ?? 0);
    previous = tick;
  }
  return [...stretches.map((stretch) => Uint8Array.from(stretch)), ...apart];
}
