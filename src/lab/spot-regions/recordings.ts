/**
 * Reads recordings of spot in many zones: JSON lines, gzip or not, one zone a line, aligned in time.
 *
 * It decides nothing. What cannot be read is a problem that names the line; an unknown price or count is never zero.
 */
import { basename } from 'node:path';
import type { Problem } from '../../core/errors.js';
import { readText } from '../read-text.js';

/** One zone of one recording. */
export interface ZoneRecording {
  /** The recording, as the line names it; else the file. */
  readonly set: string;
  readonly zone: string;
  readonly region: string;
  readonly cloud: string;
  readonly tickSeconds: number;
  /** The first tick of this part in its recording. */
  readonly firstTick: number;
  /** 1 where the gang could be had, by tick. */
  readonly available: Uint8Array;
  /** The number of such gangs that could be had at once; where the recording asked for one instance, of one. */
  readonly gangs: Uint8Array;
  /** Per hour, by tick; null: the line states none. */
  readonly spotPerHour: Float64Array | null;
  readonly onDemandPrice: number | null;
  readonly egressPerGb: Readonly<Record<string, number>>;
}

/** The zones of a file; `gang`: how many instances must be there at once for a tick to count as available. */
export async function readZones(path: string, gang: number, problems: Problem[]): Promise<ZoneRecording[]> {
  const zones: ZoneRecording[] = [];
  const lines = (await readText(path, problems)).split('\n');
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const zone = parseZone(line, `${basename(path)}/${i + 1}`, basename(path), gang, problems);
    if (zone !== null) zones.push(zone);
  });
  if (zones.length === 0 && problems.length === 0) problems.push({ path, message: 'has no zone' });
  return zones;
}

type Row = Readonly<Record<string, unknown>>;

function parseZone(line: string, where: string, file: string, gang: number, problems: Problem[]): ZoneRecording | null {
  let row: Row;
  try {
    row = (JSON.parse(line) ?? {}) as Row;
  } catch {
    problems.push({ path: where, message: 'is not JSON' });
    return null;
  }
  const before = problems.length;
  const wrong = (field: string, message: string): void => void problems.push({ path: `${where}/${field}`, message });
  const text = (field: string, otherwise?: string): string => {
    const value = row[field] ?? otherwise;
    if (typeof value === 'string' && value !== '') return value;
    wrong(field, 'must be a name');
    return '';
  };
  const tickSeconds = Number(row['gap_seconds']);
  if (!Number.isInteger(tickSeconds) || tickSeconds <= 0)
    wrong('gap_seconds', 'must be a whole positive number of seconds');
  const firstTick = Number(row['first_tick'] ?? 0);
  if (!Number.isInteger(firstTick) || firstTick < 0) wrong('first_tick', 'must be a whole number of ticks');
  const gangs = gangsOf(row, gang, wrong);
  const available = gangs.map((count) => (count > 0 ? 1 : 0));
  const onDemand = row['on_demand_price'];
  if (onDemand !== undefined && !(typeof onDemand === 'number' && Number.isFinite(onDemand) && onDemand > 0))
    wrong('on_demand_price', 'must be a positive price per hour');
  const zone: Omit<ZoneRecording, 'spotPerHour'> = {
    set: text('set', file),
    zone: text('zone', `${file}/${where}`),
    region: text('region', file),
    cloud: text('cloud', 'unknown'),
    tickSeconds,
    firstTick,
    available,
    gangs,
    onDemandPrice: typeof onDemand === 'number' ? onDemand : null,
    egressPerGb: egressOf(row['egress_usd_per_gb'], wrong),
  };
  const spotPerHour = pricesOf(row['spot_price'], firstTick, available.length, wrong);
  return problems.length > before ? null : { ...zone, spotPerHour };
}

type Wrong = (field: string, message: string) => void;

/** Where counts are stated they decide: `available` says no more than that one could be had. */
function gangsOf(row: Row, gang: number, wrong: Wrong): Uint8Array {
  const { available, counts, count_of: asked } = row;
  if (counts === undefined) {
    if (gang > 1) wrong('counts', `must be there for a gang of ${gang}`);
    if (typeof available === 'string' && /^[01]+$/.test(available))
      return Uint8Array.from(available, (digit) => (digit === '1' ? 1 : 0));
    wrong('available', 'must be a string of 1 (available) and 0');
    return new Uint8Array();
  }
  if (typeof asked === 'number' && asked < gang) wrong('count_of', `is ${asked}: no gang of ${gang} was asked for`);
  if (typeof counts === 'string' && /^[0-9a-g]+$/.test(counts))
    return Uint8Array.from(counts, (digit) => Math.floor(parseInt(digit, 17) / gang));
  wrong('counts', 'must be a string of base 17 digits');
  return new Uint8Array();
}

function egressOf(value: unknown, wrong: Wrong): Readonly<Record<string, number>> {
  if (value === undefined) return {};
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const readable = entries.filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]) && entry[1] >= 0,
  );
  if (entries.length === 0 || readable.length < entries.length)
    wrong('egress_usd_per_gb', 'must be prices of zero or more by region');
  return Object.fromEntries(readable);
}

/** `[[tick, price], ...]`, each until the next; ticks count from the first of the part, or of the recording. */
function pricesOf(value: unknown, firstTick: number, ticks: number, wrong: Wrong): Float64Array | null {
  if (value === undefined) return null;
  const steps = Array.isArray(value) ? (value as unknown[]) : [];
  const first = Array.isArray(steps[0]) ? Number(steps[0][0]) : NaN;
  const shift = first === firstTick ? firstTick : 0;
  if (first !== shift) {
    wrong('spot_price', 'must begin with the first tick');
    return null;
  }
  const prices = new Float64Array(ticks);
  let last = -1;
  for (const step of steps) {
    const [at, price] = Array.isArray(step) ? (step as unknown[]) : [];
    const tick = Number(at) - shift;
    if (!Number.isInteger(tick) || tick <= last || typeof price !== 'number' || !Number.isFinite(price) || price < 0) {
      wrong('spot_price', 'must be pairs of a rising tick and a price of zero or more');
      return null;
    }
    last = tick;
    prices.fill(price, tick);
  }
  return prices;
}
