/**
 * `bursar backtest scaling`: reads arrivals from a CSV and hands them to the pure backtest.
 *
 * Decides nothing and writes nothing. A row whose time cannot be read stops the run with its line named: a dropped
 * arrival would make a fleet look cheaper than it is.
 */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, missing, type Problem } from '../../core/errors.js';
import { requestsPerMinute } from '../../planning/scaling/load.js';
import { scalingReport } from './backtest.js';

export interface ScalingBacktestOptions {
  /** CSV whose first column is the time of an arrival; `.gz` is unpacked. */
  readonly arrivals: string;
  readonly bootMinutes: number;
  readonly peakReplicas: number;
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  /** Accepted for the common form; the planner draws no random numbers. */
  readonly seed?: number;
  readonly progress?: BacktestProgress;
}

const MAXIMUM_PROBLEMS = 20;
const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;

/**
 * Milliseconds since 1970 of `YYYY-MM-DD HH:MM:SS.fffffff` or ISO 8601, with up to nanosecond digits; without a zone it
 * is UTC. Null when the text is no such instant, or names a day or hour that does not exist.
 */
export function instantMilliseconds(text: string): number | null {
  const match = INSTANT.exec(text.trim());
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const whole = Date.UTC(year, month - 1, day, hour, minute, second);
  const back = new Date(whole);
  if (back.getUTCMonth() !== month - 1 || back.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
    return null;
  const fraction = match[7] === undefined ? 0 : Number(`0.${match[7]}`) * 1000;
  const zone = match[8]?.toUpperCase();
  if (zone === undefined || zone === 'Z' || zone === 'UTC') return whole + fraction;
  const offsetMinutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return whole + fraction - (zone.startsWith('-') ? -1 : 1) * offsetMinutes * 60_000;
}

/**
 * Which unit a column of plain numbers has, by its smallest: from 10^11 Unix milliseconds (1973), from 10^8 Unix
 * seconds (1973), below that milliseconds from the start. Returns milliseconds per unit.
 */
export const millisecondsPerUnit = (smallest: number): number => (smallest >= 1e8 && smallest < 1e11 ? 1000 : 1);

/**
 * Runs the backtest. @throws invalid naming every line that cannot be read (the first twenty), missing when the file is
 * not there.
 */
export async function runScalingBacktest(options: ScalingBacktestOptions): Promise<BacktestReport> {
  const arrivals = await readArrivals(options.arrivals);
  return scalingReport(requestsPerMinute(arrivals), options, { arrivals: options.arrivals }, options.progress);
}

/** Milliseconds of each arrival in a CSV's first column, in file order. */
export async function readArrivals(file: string): Promise<Float64Array> {
  const milliseconds: number[] = [];
  const problems: Problem[] = [];
  let smallest = Infinity;
  let numbers = 0;
  let lineNumber = 0;
  for await (const line of linesOf(file)) {
    lineNumber++;
    const cell = (line.split(',', 1)[0] ?? '')
      .trim()
      .replace(/^"|"$/g, '')
      .replace(/^\uFEFF/, '');
    if (cell === '' && line.trim() === '') continue;
    const number = cell === '' ? NaN : Number(cell);
    const at = Number.isFinite(number) ? number : instantMilliseconds(cell);
    if (at === null) {
      // The first line may be the header.
      if (
        lineNumber > 1 &&
        problems.push({
          path: `${file}:${lineNumber}`,
          message: `no time in the first column: ${JSON.stringify(cell.slice(0, 40))}`,
        }) >= MAXIMUM_PROBLEMS
      )
        break;
      continue;
    }
    if (Number.isFinite(number)) {
      numbers++;
      smallest = Math.min(smallest, number);
    }
    milliseconds.push(at);
  }
  if (numbers > 0 && numbers < milliseconds.length)
    problems.push({ path: file, message: 'numbers and dates are mixed in the first column' });
  if (smallest < 0) problems.push({ path: file, message: 'a time is negative' });
  if (milliseconds.length === 0 && problems.length === 0) problems.push({ path: file, message: 'holds no arrival' });
  if (problems.length > 0) throw invalid('the arrivals cannot be read', problems);
  const scale = numbers > 0 ? millisecondsPerUnit(smallest) : 1;
  return Float64Array.from(milliseconds, (value) => value * scale);
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const raw = createReadStream(file);
  const failed = new Promise<never>((_, reject) => raw.once('error', reject));
  failed.catch(() => undefined);
  try {
    await Promise.race([new Promise((resolve) => raw.once('open', resolve)), failed]);
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? missing(`there is no file ${file}`)
      : error;
  }
  const bytes = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  yield* createInterface({ input: bytes, crlfDelay: Infinity });
}
