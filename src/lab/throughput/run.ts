/**
 * `bursar backtest throughput`: reads measured throughputs and hands them to the pure backtest.
 *
 * Decides nothing. JSON lines, gzip or not, one measurement each. A row without `samples_per_s` (it ran out of memory,
 * or was not measured) is skipped and counted; a row that cannot be read stops the run with its line named. What a
 * measurement tells of its own outcome (`step_ms`, `peak_mem_mib`) is never read: it would give the answer away.
 */
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { throughputReport } from './backtest.js';
import type { Measurement } from '../../core/workload/measurement.js';
import { readTextOf } from '../read-text.js';

export interface ThroughputBacktestOptions {
  /**
   * JSON lines with `model`, `gpu`, `gpu_count`, `batch`, `samples_per_s`, and where known the other fields of the
   * contract.
   */
  readonly measurements: string;
  /** Rows of a model that the prediction may see. */
  readonly points: number;
  /** Of the random choice of those rows; 1 unless given. */
  readonly seed?: number;
  readonly progress?: BacktestProgress;
}

const PROBLEMS_MAX = 100;

/**
 * Errors in the report are fractions. @throws invalid with every problem of the options or the file, missing when the
 * file is not there.
 */
export async function runThroughputBacktest(options: ThroughputBacktestOptions): Promise<BacktestReport> {
  const { measurements: file, points, seed = 1 } = options;
  if (!Number.isSafeInteger(seed))
    throw invalid('the settings cannot be used', [{ path: 'seed', message: 'must be an integer' }]);
  const { measurements, skipped } = parseMeasurements(await readText(file), file);
  return throughputReport(
    measurements,
    points,
    seed,
    { measurements: file, skippedWithoutThroughput: skipped },
    options.progress,
  );
}

/** @throws missing when the file is not there. */
export const readText = (file: string): Promise<string> => readTextOf('measurements', file);

/** Measurements in file order, and how many rows had no throughput. */
export function parseMeasurements(text: string, file: string): { measurements: Measurement[]; skipped: number } {
  const { rows, skipped } = readMeasurements(text, file);
  return { measurements: rows.map(({ measurement }) => measurement), skipped };
}

/**
 * The same with the row that each was read from, for what a row tells of its own outcome. @throws invalid with every
 * problem of the file.
 */
export function readMeasurements(
  text: string,
  file: string,
): { rows: { readonly measurement: Measurement; readonly row: Row }[]; skipped: number } {
  const rows: { readonly measurement: Measurement; readonly row: Row }[] = [];
  const problems: Problem[] = [];
  let skipped = 0;
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .forEach((line, index) => {
      if (line.trim() === '' || problems.length >= PROBLEMS_MAX) return;
      const path = `${file}:${index + 1}`;
      const row = objectOf(line);
      if (row === null) problems.push({ path, message: 'is not a JSON object' });
      else if (absent(row['samples_per_s']) || !absent(row['error'])) skipped++;
      else {
        const found = measurementOf(row);
        if ('problems' in found) problems.push(...found.problems.map((message) => ({ path, message })));
        else rows.push({ measurement: found, row });
      }
    });
  if (rows.length === 0 && problems.length === 0) problems.push({ path: file, message: 'holds no measured row' });
  if (problems.length > 0) throw invalid('the measurements cannot be read', problems.slice(0, PROBLEMS_MAX));
  return { rows, skipped };
}

type Row = Readonly<Record<string, unknown>>;

const absent = (value: unknown): boolean => value === undefined || value === null;

function objectOf(line: string): Row | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : null;
  } catch {
    return null;
  }
}

function measurementOf(row: Row): Measurement | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const text = (name: string, needed: boolean): string | null => {
    const value = row[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (needed) problems.push(`has no ${name}`);
    else if (!absent(value) && value !== '') problems.push(`${name} is not text`);
    return null;
  };
  const number = (name: string, needed: boolean, whole: boolean): number | null => {
    const value = row[name];
    if (absent(value) && !needed) return null;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0 && (!whole || Number.isSafeInteger(value)))
      return value;
    problems.push(absent(value) ? `has no ${name}` : `${name} is not a ${whole ? 'whole ' : ''}number above 0`);
    return null;
  };
  const measurement: Measurement = {
    model: text('model', true) ?? '',
    gpu: text('gpu', true) ?? '',
    gpuCount: number('gpu_count', true, true) ?? 0,
    batch: number('batch', true, false) ?? 0,
    samplesPerSecond: number('samples_per_s', true, false) ?? 0,
    family: text('family', false),
    params: number('params', false, false),
    size: number('size', false, false),
    optimizer: text('optimizer', false),
    precision: text('precision', false),
    nodes: number('nodes', false, true),
  };
  return problems.length > 0 ? { problems } : measurement;
}
