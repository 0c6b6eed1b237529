/**
 * Converts new samples, and older rows, to the storage form. A measure has the precision of PostgreSQL's `real`, as
 * before packing: the shortest decimal number that is nearest to the same number of 32 bits (PostgreSQL's
 * documentation, "Floating-Point Types"). The network's latency keeps its precision; counters are whole numbers.
 */
import type { GpuSample } from '../../core/ports.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import type { SampleEntry } from './device-hours.js';
import { MEASURES, type Measure, type SampleGroup } from './sample-block.js';

/**
 * The place of a sample, from the fleet; fields that the fleet does not know come from the series' own labels, or are
 * null.
 */
export interface Place {
  readonly team: string;
  readonly workload: string | null;
  /** The connection and its target; null: the fleet knows none, and then nothing can be done to it. */
  readonly connection: string | null;
  readonly target: string | null;
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
}

/** A sample with what it is of. */
export interface PlacedSample extends GpuSample, Place {
  /** `training`, `inference`, ...; null: nobody said. */
  readonly workloadKind: string | null;
  /** A card whose MIG instances have samples of their own: it is no device to count beside them. */
  readonly isPartitioned: boolean;
}

/** Six digits always come back from 32 bits (C's FLT_DIG), nine always suffice. */
const [LEAST_DIGITS, MOST_DIGITS] = [6, 9];

/** The number that PostgreSQL gives back for one that was put into a `real`. */
export function asReal(value: number): number {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 24) return value + 0;
  const real = Math.fround(value);
  for (let digits = LEAST_DIGITS; digits <= MOST_DIGITS; digits += 1) {
    const short = Number(real.toPrecision(digits));
    if (Math.fround(short) === real) return short === real ? short : evenOf(real, short, digits);
  }
  return real;
}

/** Of two equally near decimals PostgreSQL takes the even one, JavaScript the larger one. */
function evenOf(real: number, short: number, digits: number): number {
  // Ten digits that end in 5 hold no smaller part of two than this.
  if (!Number.isInteger(real * 2 ** 14)) return short;
  const [mantissa = '', exponent = ''] = real.toExponential(digits).split('e');
  if (!mantissa.endsWith('5') || Number(`${mantissa}e${exponent}`) !== real) return short;
  const smaller = mantissa.slice(0, -1);
  return /[02468]$/.test(smaller) ? Number(`${smaller}e${exponent}`) : short;
}

/** NaN: not measured, which a number that is not finite is too. */
function kept(measure: Measure, value: number | null): number {
  if (value === null || !Number.isFinite(value)) return Number.NaN;
  if (measure === 'pcieReplays') return Math.round(value) + 0;
  return measure === 'networkLatencySeconds' ? value + 0 : asReal(value);
}

export function entryOf(sample: PlacedSample): SampleEntry {
  return {
    group: groupOf(sample),
    seenAt: Math.floor(sample.at),
    values: MEASURES.map((measure) => kept(measure, sample[measure])),
    fault: sample.fault ?? null,
  };
}

const groupOf = (sample: PlacedSample): SampleGroup => ({
  resource: sample.resource,
  gpu: sample.gpu,
  migInstance: sample.migInstance === '' ? null : sample.migInstance,
  gpuModel: sample.gpuModel,
  namespace: sample.namespace,
  pod: sample.pod,
  exporter: sample.exporter ?? null,
  team: sample.team,
  workload: sample.workload,
  workloadKind: sample.workloadKind,
  isPartitioned: sample.isPartitioned,
  connection: sample.connection,
  target: sample.target,
  provider: sample.provider,
  sku: sample.sku,
  region: sample.region,
  term: sample.term,
});

/** A row of the table `sample`, into which the previous version wrote. */
interface WideRow extends Omit<SampleGroup, 'term'> {
  readonly source: string;
  readonly at: Date;
  readonly seen: Date | null;
  readonly term: Term | null;
  readonly fault: string | null;
  readonly values: readonly (number | string | null)[];
}

const WIDE = `source, resource, at, seen_at as seen, gpu, nullif(mig_instance, '') as "migInstance",
  gpu_model as "gpuModel", namespace, pod, exporter, team, workload_id as workload, workload as "workloadKind", partitioned as "isPartitioned",
  connection, target, provider, sku, region, term, fault,
  json_build_array(gpu_utilisation_ratio, memory_used_ratio, memory_used_mib, temperature_celsius, power_watts,
    pcie_replays, requests_per_second, network_latency_seconds) as values`;

export interface SourceEntry {
  readonly source: string;
  readonly entry: SampleEntry;
}

function entryOfRow({ source, at, seen, fault, values, ...group }: WideRow): SourceEntry {
  const number = (value: number | string | null): number =>
    value === null || !Number.isFinite(Number(value)) ? Number.NaN : Number(value);
  const minute = at.getTime();
  const seenAt = seen?.getTime() ?? minute;
  const isOfMinute = Math.floor(seenAt / MINUTE_MS) * MINUTE_MS === minute;
  return { source, entry: { group, seenAt: isOfMinute ? seenAt : minute, values: values.map(number), fault } };
}

/**
 * Rows that the previous version wrote and nobody has carried over yet, by a condition on them.
 * @param minutes first and last, epoch milliseconds
 */
export async function wideEntries(
  db: Queryable,
  organisation: string,
  [first, last]: readonly [number, number],
  condition: string,
  given: readonly unknown[],
): Promise<SourceEntry[]> {
  const rows = await db.query<WideRow>(
    `select ${WIDE} from sample where organisation = $1 and at >= $2 and at <= $3 and ${condition} order by at`,
    [organisation, formatInstant(first), formatInstant(last), ...given],
  );
  return rows.map(entryOfRow);
}

/** Takes such rows of a source out of their table. @param minutes from the first to before the last */
export async function takeWideEntries(
  tx: Queryable,
  organisation: string,
  source: string,
  from: number,
  to: number,
): Promise<SampleEntry[]> {
  const rows = await tx.query<WideRow>(
    `with gone as (delete from sample where organisation = $1 and source = $2 and at >= $3 and at < $4 returning *)
     select ${WIDE} from gone`,
    [organisation, source, formatInstant(from), formatInstant(to)],
  );
  return rows.map((row) => entryOfRow(row).entry);
}
