/**
 * `bursar backtest idle`: reads GPU samples from a CSV and hands them to the pure backtest.
 *
 * Decides nothing. A cell that is blank, `[N/A]`, NVIDIA's blank value or out of range is missing, which is never zero;
 * a row without a resource or a time stops the run with its line named. The column `useful` is the truth: it goes to
 * the scorer alone.
 */

import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, missing, type Problem } from '../../core/errors.js';
import { idleReport } from './backtest.js';
import { activityOf, utilisationOrMissing, type IdleEvidence, type IdleSample } from '../../planning/idle/samples.js';
import { instantMilliseconds, millisecondsPerUnit } from '../scaling/run.js';

export interface IdleBacktestOptions {
  /**
   * CSV with `resource,timestamp,gpu_util_percent`, and where known the other columns of the contract; `.gz` is
   * unpacked.
   */
  readonly samples: string;
  readonly restartMinutes: number;
  /** Accepted for the common form; the policies draw no random numbers. */
  readonly seed?: number;
  readonly progress?: BacktestProgress;
}

const MAXIMUM_PROBLEMS = 20;
const REQUIRED = ['resource', 'timestamp', 'gpu_util_percent'] as const;

/**
 * Runs the backtest. @throws invalid naming every line that cannot be read (the first twenty), missing when the file is
 * not there.
 */
export async function runIdleBacktest(options: IdleBacktestOptions): Promise<BacktestReport> {
  const { samples, truth } = await readSamples(options.samples);
  return idleReport(samples, options.restartMinutes, { samplesFile: options.samples, truth }, options.progress);
}

/**
 * Samples in file order. Without a column `useful` the truth is what the evidence shows afterwards: a sample is useful
 * unless it is quiet.
 */
export async function readSamples(
  file: string,
): Promise<{ samples: IdleSample[]; truth: 'useful column' | 'activity' }> {
  await access(file).catch(() => {
    throw missing(`there is no readable file ${file}`);
  });
  const bytes = file.endsWith('.gz') ? createReadStream(file).pipe(createGunzip()) : createReadStream(file);
  const problems: Problem[] = [];
  const rows: { evidence: IdleEvidence; useful: boolean | null; numeric: boolean }[] = [];
  let columns: ReadonlyMap<string, number> | null = null;
  let lineNumber = 0;
  for await (const line of createInterface({ input: bytes, crlfDelay: Infinity })) {
    lineNumber++;
    if (line.trim() === '') continue;
    const cells = cellsOf(line);
    if (columns === null) {
      columns = new Map(cells.map((cell, i) => [cell.replace(/^\uFEFF/, '').toLowerCase(), i]));
      const lacking = REQUIRED.filter((name) => !columns!.has(name));
      if (lacking.length > 0)
        throw invalid(
          'the samples cannot be read',
          lacking.map((name) => ({ path: `${file}:1`, message: `no column ${name}` })),
        );
      continue;
    }
    const row = rowOf(cells, columns);
    if (typeof row === 'string') {
      if (problems.push({ path: `${file}:${lineNumber}`, message: row }) >= MAXIMUM_PROBLEMS) break;
    } else rows.push(row);
  }
  const numbers = rows.filter((row) => row.numeric).length;
  if (numbers > 0 && numbers < rows.length)
    problems.push({ path: file, message: 'numbers and dates are mixed in the column timestamp' });
  if (rows.length === 0 && problems.length === 0) problems.push({ path: file, message: 'holds no sample' });
  if (problems.length > 0) throw invalid('the samples cannot be read', problems);
  const smallest = rows.reduce((least, row) => Math.min(least, row.evidence.minute), Infinity);
  const perUnit = (numbers > 0 ? millisecondsPerUnit(smallest) : 1) / 60_000;
  const known = columns!.has('useful');
  const samples = rows.map(({ evidence, useful }): IdleSample => {
    const inMinutes = { ...evidence, minute: evidence.minute * perUnit };
    return { evidence: inMinutes, useful: known ? useful : activityOf(inMinutes) !== 'quiet' };
  });
  return { samples, truth: known ? 'useful column' : 'activity' };
}

/** One row, its time still in the file's unit; a sentence when it cannot be read. */
function rowOf(
  cells: readonly string[],
  columns: ReadonlyMap<string, number>,
): { evidence: IdleEvidence; useful: boolean | null; numeric: boolean } | string {
  const cell = (name: string): string => {
    const at = columns.get(name);
    return at === undefined ? '' : (cells[at] ?? '');
  };
  const resource = cell('resource');
  if (resource === '') return 'no resource';
  const timestamp = cell('timestamp');
  const number = timestamp === '' ? NaN : Number(timestamp);
  const at = Number.isFinite(number) ? number : instantMilliseconds(timestamp);
  if (at === null) return `no time: ${JSON.stringify(timestamp.slice(0, 40))}`;
  const percent = measured(cell('gpu_util_percent'));
  const ratio = measured(cell('memory_used_ratio'));
  const requests = measured(cell('requests_per_second'));
  return {
    evidence: {
      resource,
      minute: at,
      gpuUtilPercent: percent === null ? null : utilisationOrMissing(percent),
      requestsPerSecond: requests !== null && requests >= 0 ? requests : null,
      memoryUsedRatio: ratio !== null && ratio >= 0 && ratio <= 1 ? ratio : null,
      workload: cell('workload') === '' ? null : cell('workload'),
    },
    useful: truthOf(cell('useful')),
    numeric: Number.isFinite(number),
  };
}

/** A finite number, with or without a percent sign; null for a blank, `N/A` and the like. */
function measured(text: string): number | null {
  const plain = text.replace(/\s*%$/, '');
  const value = plain === '' ? NaN : Number(plain);
  return Number.isFinite(value) ? value : null;
}

function truthOf(text: string): boolean | null {
  if (/^(1|1\.0|true|yes|t)$/i.test(text)) return true;
  return /^(0|0\.0|false|no|f)$/i.test(text) ? false : null;
}

/** Cells of one line; a quoted cell may hold commas and doubled quotes (RFC 4180), but no line break. */
function cellsOf(line: string): string[] {
  if (!line.includes('"')) return line.split(',').map((cell) => cell.trim());
  return [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((match) =>
    (match[1] !== undefined ? match[1].replace(/""/g, '"') : (match[2] ?? '')).trim(),
  );
}
