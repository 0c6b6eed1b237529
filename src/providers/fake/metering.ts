/**
 * The usage and the bill of the fake cloud, computed from the real runs.
 *
 * Usage is cut into pieces of one length on the clock's own grid and shown when a piece is over, so that a record is
 * the same at every reading; a bill contains the finished days. A stopped machine has no usage, so a stop is visible.
 */
import { divideHalfEven } from '../../core/money.js';
import { civilFromDays, DAY_MS, daysFromCivil, HOUR_MS } from '../../core/time.js';
import { GPU_PARTS, type UsageRecord } from '../../core/usage.js';
import { CURRENCY, kindOf, PROVIDER, type Catalogue } from './catalogue.js';
import { billedUntil, GROUP_LABEL, type Commitment, type Run } from './machines.js';

export interface Metered {
  readonly account: string;
  readonly runs: readonly Readonly<Run>[];
  readonly commitments: readonly Commitment[];
  readonly meterSeconds: number;
  /** The present. */
  readonly now: number;
}

/**
 * Records of the pieces that lie whole within [from, to) and are over, run by run, in the order of time within each.
 */
export function* usageOf(metered: Metered, from: number, to: number): Generator<UsageRecord> {
  const lengthMs = metered.meterSeconds * 1000;
  const until = Math.min(to, metered.now);
  for (const run of metered.runs) {
    const billedTo = billedUntil(run, metered.now);
    const covers = coverOf(run, metered);
    const fixed = fixedPart(run, metered.account);
    const first = Math.max(Math.floor(run.start / lengthMs), Math.ceil(from / lengthMs)) * lengthMs;
    for (let piece = first; piece < billedTo && piece + lengthMs <= until; piece += lengthMs) {
      const { provider, account, subAccount, resource, namespace, service, sku, region, gpuModel, tags, gpuParts } =
        fixed;
      // Written out: copying an object is most of what a month of records takes.
      yield {
        id: `${run.machine}/${run.no}/${piece / 1000}`,
        provider,
        account,
        subAccount,
        resource,
        namespace,
        service,
        sku,
        region,
        term: covers(piece, lengthMs) ? 'reserved-1y' : run.term,
        gpuModel,
        tags,
        start: Math.max(run.start, piece),
        end: Math.min(billedTo, piece + lengthMs),
        gpuParts,
        storageMib: null,
        networkBytes: null,
        charge: null,
      };
    }
  }
}

function fixedPart(run: Run, account: string): Omit<UsageRecord, 'id' | 'term' | 'start' | 'end'> {
  const kind = kindOf(run.sku);
  return {
    provider: PROVIDER,
    account,
    subAccount: null,
    resource: run.machine,
    namespace: null,
    service: 'Machines',
    sku: run.sku,
    region: run.region,
    gpuModel: kind?.gpuModel ?? null,
    tags: run.group === null ? run.labels : { ...run.labels, [GROUP_LABEL]: run.group },
    gpuParts: kind === undefined ? null : kind.gpus * GPU_PARTS,
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}

/**
 * Whether a commitment covers a piece of a run: as many on-demand machines of its kind and place as it has units, the
 * oldest first.
 */
function coverOf(run: Run, { runs, commitments, now }: Metered): (piece: number, lengthMs: number) => boolean {
  const own = commitments.filter(({ sku, region }) => sku === run.sku && region === run.region);
  if (run.term !== 'on-demand' || own.length === 0) return () => false;
  const older = runs
    .slice(0, runs.indexOf(run))
    .filter((other) => other.term === 'on-demand' && other.sku === run.sku && other.region === run.region);
  return (piece, lengthMs) => {
    const units = own
      .filter(({ start, end }) => start <= piece && piece + lengthMs <= end)
      .reduce((sum, one) => sum + one.units, 0);
    return (
      units > 0 &&
      older.filter((other) => other.start < piece + lengthMs && billedUntil(other, now) > piece).length < units
    );
  };
}

/**
 * Bill lines of the days that lie whole within [from, to) and were over at `upTo`: one a day, machine and term, at the
 * catalogue's price less the discount; and what a commitment has left unused, so that it is paid for whole.
 */
export function* billOf(
  metered: Metered,
  catalogue: Catalogue,
  discountPercent: number,
  from: number,
  to: number,
  upTo: number,
): Generator<UsageRecord> {
  for (let day = Math.ceil(from / DAY_MS) * DAY_MS; day + DAY_MS <= Math.min(to, upTo); day += DAY_MS) {
    const lines = new Map<string, { record: UsageRecord; nanoMs: bigint; gpuMs: number }>();
    const usedMs = new Map<string, number>();
    for (const record of usageOf(metered, day, day + DAY_MS)) {
      const { sku, region, term, resource } = record;
      if (sku === null || region === null || term === null) continue;
      const key = `${resource ?? ''}/${term}`;
      const line = lines.get(key) ?? { record, nanoMs: 0n, gpuMs: 0 };
      line.nanoMs += (catalogue.hourlyNanos(sku, region, term, record.start) ?? 0n) * BigInt(record.end - record.start);
      line.gpuMs += record.end - record.start;
      lines.set(key, line);
      if (term === 'reserved-1y')
        usedMs.set(`${sku}/${region}`, (usedMs.get(`${sku}/${region}`) ?? 0) + record.end - record.start);
    }
    for (const [key, { record, nanoMs, gpuMs }] of lines)
      yield billLine(record, `${day / DAY_MS}/${key}`, day, nanoMs, discountPercent, gpuMs);
    yield* unusedLines(metered, catalogue, day, usedMs, discountPercent);
  }
}

function* unusedLines(
  { account, commitments }: Metered,
  catalogue: Catalogue,
  day: number,
  usedMs: Map<string, number>,
  discountPercent: number,
): Generator<UsageRecord> {
  for (const { id, sku, region, units, start, end } of commitments) {
    const held = Math.max(0, Math.min(end, day + DAY_MS) - Math.max(start, day)) * units;
    const key = `${sku}/${region}`;
    const used = Math.min(held, usedMs.get(key) ?? 0);
    usedMs.set(key, (usedMs.get(key) ?? 0) - used);
    if (held === used) continue;
    const line: UsageRecord = {
      id: '',
      provider: PROVIDER,
      account,
      subAccount: null,
      resource: id,
      namespace: null,
      service: 'Commitments',
      sku,
      region,
      term: 'reserved-1y',
      gpuModel: kindOf(sku)?.gpuModel ?? null,
      tags: null,
      start: day,
      end: day + DAY_MS,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: null,
    };
    yield billLine(
      line,
      `${day / DAY_MS}/${id}`,
      day,
      (catalogue.hourlyNanos(sku, region, 'reserved-1y', day) ?? 0n) * BigInt(held - used),
      discountPercent,
      0,
    );
  }
}

/** @param nanoMs nanos per hour times milliseconds, summed @param gpuMs how long the machine was used */
function billLine(
  record: UsageRecord,
  id: string,
  day: number,
  nanoMs: bigint,
  discountPercent: number,
  gpuMs: number,
): UsageRecord {
  const list = divideHalfEven(nanoMs, BigInt(HOUR_MS));
  const billed = divideHalfEven(nanoMs * BigInt(100 - discountPercent), BigInt(HOUR_MS) * 100n);
  const { year, month } = civilFromDays(day / DAY_MS);
  return {
    ...record,
    id,
    start: day,
    end: day + DAY_MS,
    // Averaged over the day, so that the line's quantity is what was used.
    gpuParts: record.gpuParts === null ? null : Math.round((record.gpuParts * gpuMs) / DAY_MS),
    charge: {
      category: 'Usage',
      currency: CURRENCY,
      billed: { unscaled: billed, scale: 9 },
      effective: { unscaled: billed, scale: 9 },
      list: { unscaled: list, scale: 9 },
      periodStart: daysFromCivil(year, month, 1) * DAY_MS,
      periodEnd: daysFromCivil(year, month + 1, 1) * DAY_MS,
    },
  };
}

/**
 * GPU-milliseconds that were billed within [from, to) by runs that pass, straight from the runs: what any metering must
 * add up to.
 */
export function recount(
  runs: readonly Readonly<Run>[],
  from: number,
  to: number,
  passes: (run: Readonly<Run>) => boolean = () => true,
): number {
  let sum = 0;
  for (const run of runs) {
    if (passes(run))
      sum += Math.max(0, Math.min(to, billedUntil(run, to)) - Math.max(from, run.start)) * (kindOf(run.sku)?.gpus ?? 0);
  }
  return sum;
}
