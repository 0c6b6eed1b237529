/**
 * `bursar backtest spot`: reads recorded spot availability, hands it to the planner's backtest, and returns its report.
 *
 * It computes nothing and prints nothing. Windows that were cut from one recording (`original_trace`; else the file)
 * tell each other's past by `start_tick`. The invariant: of the recording that a window was cut from, nothing at or
 * after the window's start is learned from, whichever file it stands in.
 */
import { basename, resolve } from 'node:path';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { compareSpot, type SpotZone } from './compare.js';
import { readText } from '../read-text.js';

export interface SpotBacktestOptions {
  /**
   * Files of JSON lines, gzip or not: `available` (a string of 1 and 0, one per tick), `gap_seconds`, and, where known,
   * `start_tick` and `original_trace`.
   */
  readonly traces: readonly string[];
  /**
   * Files to learn from. With none, each trace learns from the other traces of the call; with a single trace, from what
   * is built in.
   */
  readonly train?: readonly string[];
  readonly jobHours: number;
  readonly deadlineHours: number | readonly number[];
  readonly restartHours: number;
  /** Per hour, both in one unit. */
  readonly onDemandPrice: number;
  readonly spotPrice: number;
  readonly progress?: BacktestProgress;
}

interface TraceFile {
  readonly path: string;
  readonly name: string;
  readonly tickSeconds: number;
  readonly windows: readonly Window[];
}

interface Window {
  /** What it was cut from: the recording that the line names, else the file. */
  readonly recording: string;
  readonly startTick: number | null;
  readonly available: Uint8Array;
}

/**
 * Runs the backtest. Throws `invalid` with every problem of every file and term; a file that cannot be read is one of
 * them.
 */
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
      if (other.tickSeconds !== file.tickSeconds)
        problems.push({ path: other.name, message: `its gap_seconds differ from those of ${file.name}` });
    }
    const own = new Set(file.windows.map(({ recording }) => recording));
    return {
      name: file.name,
      tickSeconds: file.tickSeconds,
      windows: file.windows.map(({ available }) => available),
      pasts: pastsOf(
        file.windows,
        lessons.flatMap((other) => other.windows),
      ),
      recordings: lessons.flatMap((other) => stitched(other.windows.filter(({ recording }) => !own.has(recording)))),
    };
  });
  if (problems.length > 0) throw invalid('the traces cannot be used', problems);
  const deadlineHours = typeof options.deadlineHours === 'number' ? [options.deadlineHours] : options.deadlineHours;
  const { jobHours, restartHours, onDemandPrice, spotPrice } = options;
  const report = compareSpot(
    { terms: { jobHours, restartHours, onDemandPrice, spotPrice }, deadlineHours, zones },
    options.progress,
  );
  return { ...report, settings: { traces: options.traces, train: options.train ?? [], ...report.settings } };
}

async function readTrace(path: string, problems: Problem[]): Promise<TraceFile> {
  const name = basename(path).replace(/(\.jsonl|\.json|\.ndjson)?(\.gz)?$/, '');
  const lines = (await readText(path, problems)).split('\n');
  const windows: Window[] = [];
  const gaps = new Set<number>();
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const window = parseWindow(line, path, `${name}/${i + 1}`, gaps, problems);
    if (window !== null) windows.push(window);
  });
  if (gaps.size > 1) problems.push({ path: name, message: 'its windows have different gap_seconds' });
  const [tickSeconds = 600] = gaps;
  return { path, name, tickSeconds, windows };
}

function parseWindow(line: string, file: string, where: string, gaps: Set<number>, problems: Problem[]): Window | null {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    problems.push({ path: where, message: 'is not JSON' });
    return null;
  }
  const {
    available,
    gap_seconds: gap,
    start_tick: start,
    original_trace: recording,
  } = (row ?? {}) as Readonly<Record<string, unknown>>;
  const readable = typeof available === 'string' && /^[01]+$/.test(available);
  if (!readable) problems.push({ path: `${where}/available`, message: 'must be a string of 1 (available) and 0' });
  if (typeof gap === 'number' && Number.isInteger(gap) && gap > 0) gaps.add(gap);
  else problems.push({ path: `${where}/gap_seconds`, message: 'must be a whole positive number of seconds' });
  if (!readable) return null;
  return {
    recording: typeof recording === 'string' && recording !== '' ? recording : file,
    startTick: Number.isInteger(start) ? Number(start) : null,
    available: Uint8Array.from(available, (digit) => (digit === '1' ? 1 : 0)),
  };
}

/**
 * Overlapping windows of one recording, laid over each other by `start_tick`, so that no reading counts twice. Windows
 * without a start, or that contradict what already lies there, stay as they are.
 */
function stitched(windows: readonly Window[]): Uint8Array[] {
  const timeline = new Map<number, number>();
  const apart: Uint8Array[] = [];
  for (const { startTick, available } of windows) {
    const agrees =
      startTick !== null && available.every((reading, i) => (timeline.get(startTick + i) ?? reading) === reading);
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

/**
 * Length of a recording in ticks beyond which its windows are taken to be apart (two centuries of ten minutes): a stray
 * tick must not ask for all memory.
 */
const MOST_TICKS = 10_000_000;
const UNREAD = 2;

/**
 * For each window the readings of its recording that end right before its start, as this and the `other` windows tell
 * them. Each tick stands on its own, so that what comes later, or contradicts itself later, cannot change what came
 * before.
 */
function pastsOf(windows: readonly Window[], other: readonly Window[]): Uint8Array[] {
  const pasts: Uint8Array[] = windows.map(() => new Uint8Array());
  for (const recording of new Set(windows.map((window) => window.recording))) {
    const cut = [...windows, ...other].filter((window) => window.recording === recording && window.startTick !== null);
    const first = cut.reduce((least, { startTick }) => Math.min(least, startTick ?? least), Infinity);
    const end = cut.reduce(
      (most, { startTick, available }) => Math.max(most, (startTick ?? 0) + available.length),
      -Infinity,
    );
    if (cut.length < 2 || end - first > MOST_TICKS) continue;
    const readings = new Uint8Array(end - first).fill(UNREAD);
    for (const { startTick, available } of cut) {
      available.forEach((reading, i) => {
        const at = (startTick ?? 0) - first + i;
        if (readings[at] === UNREAD) readings[at] = reading;
      });
    }
    windows.forEach((window, i) => {
      if (window.recording !== recording || window.startTick === null) return;
      const start = window.startTick - first;
      pasts[i] = start === 0 ? new Uint8Array() : readings.subarray(readings.lastIndexOf(UNREAD, start - 1) + 1, start);
    });
  }
  return pasts;
}
