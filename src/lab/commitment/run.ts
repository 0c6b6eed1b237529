/**
 * `bursar backtest commitment`: reads a demand file, runs the comparison and returns the report. It decides nothing.
 *
 * The file is CSV (gzip or not) with the columns `tenant`, `hour`, `gpus` in any order; others are ignored. An hour is
 * an integer of any origin. The data's range is the first to the last hour of the whole file. A tenant's missing row
 * inside that range means that nothing was demanded: 0 GPUs. Parts of a GPU are rounded up, since a whole GPU is what
 * is rented. A file with problems is refused with every problem named, never half read.
 */

import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import { compareCommitments } from './comparison.js';
import { checkedTerm } from '../../planning/commitment/model.js';
import type { DemandSeries } from './series.js';
import { readTextOf } from '../read-text.js';

export interface CommitmentBacktestOptions {
  /** Path of the demand file. */
  readonly demand: string;
  readonly termHours: number;
  /** A reservation's price per hour of its term over the on-demand price per hour. */
  readonly priceRatio: number;
  /** The part of `priceRatio`, as a share of the on-demand price, that is paid in used hours only; 0 = none. */
  readonly alpha?: number;
  /** For the randomised opponent; 1 unless given. */
  readonly seed?: number;
  readonly progress?: BacktestProgress;
}

/** Longest range and largest demand that are read; beyond them a column is more likely mistaken than meant. */
const HOURS_MAX = 1_000_000;
const GPUS_MAX = 1_000_000;
const PROBLEMS_MAX = 100;

/** Costs in the report are on-demand GPU-hours. Throws `invalid` with every problem of the options or the file. */
export async function runCommitmentBacktest(options: CommitmentBacktestOptions): Promise<BacktestReport> {
  const term = checkedTerm({ termHours: options.termHours, priceRatio: options.priceRatio, alpha: options.alpha ?? 0 });
  const seed = options.seed ?? 1;
  if (!Number.isSafeInteger(seed))
    throw invalid('the settings cannot be used', [{ path: 'seed', message: 'must be an integer' }]);
  const tenants = parseDemand(await readTextOf('demand', options.demand), options.demand);
  const { cells, mean } = compareCommitments(tenants, term, seed, options.progress);
  const settings = {
    demand: options.demand,
    ...term,
    seed,
    unit: 'on-demand GPU-hours',
    tenants: tenants.length,
    hours: tenants[0]!.demand.length,
    missingHour: '0 GPUs',
  };
  return { problem: 'commitment', settings, cells, mean };
}

interface DemandRow {
  readonly tenant: string;
  readonly hour: number;
  readonly gpus: number;
}

/** Tenants in the order of their first row, each with the whole file's range of hours. */
export function parseDemand(text: string, file: string): DemandSeries[] {
  const problems: Problem[] = [];
  const rows = parseRows(text, problems);
  if (rows.length === 0 && problems.length === 0) problems.push({ path: null, message: 'holds no rows' });
  const { first, last } = range(rows);
  if (last - first >= HOURS_MAX) problems.push({ path: 'hour', message: `spans more than ${HOURS_MAX} hours` });
  const refuse = (): never => {
    const listed = problems.slice(0, PROBLEMS_MAX);
    if (problems.length > listed.length)
      listed.push({ path: null, message: `and ${problems.length - listed.length} more` });
    throw invalid(`the demand file ${file} cannot be used`, listed);
  };
  if (problems.length > 0) refuse();
  const byTenant = new Map<string, { demand: Int32Array; seen: Uint8Array }>();
  for (const { tenant, hour, gpus } of rows) {
    const hours = last - first + 1;
    let series = byTenant.get(tenant);
    if (series === undefined)
      byTenant.set(tenant, (series = { demand: new Int32Array(hours), seen: new Uint8Array(hours) }));
    if (series.seen[hour - first] === 1) problems.push({ path: `${tenant}/${hour}`, message: 'is there twice' });
    series.seen[hour - first] = 1;
    series.demand[hour - first] = Math.ceil(gpus);
  }
  if (problems.length > 0) refuse();
  return [...byTenant].map(([tenant, { demand }]) => ({ tenant, demand }));
}

function range(rows: readonly DemandRow[]): { first: number; last: number } {
  let [first, last] = [Infinity, -Infinity];
  for (const { hour } of rows) {
    first = Math.min(first, hour);
    last = Math.max(last, hour);
  }
  return { first, last };
}

function parseRows(text: string, problems: Problem[]): DemandRow[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const header = splitLine(lines[0] ?? '').map((name) => name.trim().toLowerCase());
  const [tenantAt, hourAt, gpusAt] = ['tenant', 'hour', 'gpus'].map((name) => {
    const at = header.indexOf(name);
    if (at < 0) problems.push({ path: 'line 1', message: `has no column ${name}` });
    return at;
  }) as [number, number, number];
  const rows: DemandRow[] = [];
  if (problems.length > 0) return rows;
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index]!;
    if (line.trim() === '') continue;
    const cells = splitLine(line);
    const tenant = (cells[tenantAt] ?? '').trim();
    const hour = toNumber(cells[hourAt]);
    const gpus = toNumber(cells[gpusAt]);
    const at = `line ${index + 1}`;
    if (tenant === '') problems.push({ path: `${at}/tenant`, message: 'is empty' });
    if (!Number.isSafeInteger(hour)) problems.push({ path: `${at}/hour`, message: 'must be an integer' });
    if (!(gpus >= 0 && gpus <= GPUS_MAX))
      problems.push({ path: `${at}/gpus`, message: `must be a number from 0 to ${GPUS_MAX}` });
    rows.push({ tenant, hour, gpus });
  }
  return rows;
}

/** NaN for what is absent, blank or not a plain decimal number. */
const toNumber = (cell: string | undefined): number =>
  /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(cell ?? '') ? Number(cell) : NaN;

/** Cells of one line; a quoted cell may hold commas and doubled quotes, not line breaks. */
function splitLine(line: string): string[] {
  if (!line.includes('"')) return line.split(',');
  const cells = line.match(/("([^"]|"")*"|[^",]*)(,|$)/g) ?? [];
  if (cells.at(-1) === '' && !line.endsWith(',')) cells.pop();
  return cells.map((cell) => {
    const bare = cell.endsWith(',') ? cell.slice(0, -1) : cell;
    return bare.startsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : bare;
  });
}
