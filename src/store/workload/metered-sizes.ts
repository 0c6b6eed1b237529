/**
 * The size of a team's workloads as their meter recorded it, hour by hour: what a replay takes for their past.
 *
 * Hour sums do not keep the resource, so it reads the blocks of the window again. Reads only. An hour counts from the
 * first on in which the workload was metered, and only if the meter of its provider was heard in it: then silence
 * about the workload means that nothing ran. Any other hour is not recorded.
 */
import type { Grouping } from '../../core/cost/rollup.js';
import { isOf } from '../../core/fleet/membership.js';
import type { MeteredGpus, RecordedSizes } from '../../core/policy/history.js';
import type { WorkloadView } from '../../core/policy/policy.js';
import { formatInstant, HOUR_MS, hourOf, type Interval } from '../../core/time.js';
import { GPU_PARTS, isOfMachine, type UsageRecord } from '../../core/usage.js';
import { countedRecords } from '../usage/block.js';
import { blocksOf } from '../usage/reading.js';
import type { Queryable } from '../database.js';

/** Blocks that are decoded at a time: about 100,000 records. */
const PAGE_BLOCKS = 6;

interface Asked {
  readonly organisation: string;
  readonly team: string;
  /** Whole hours. */
  readonly from: number;
  readonly to: number;
  readonly grouping: Grouping;
}

/** By hour, and in it by place and term. */
type Metered = Map<number, Map<string, MeteredGpus>>;

export async function meteredSizes(
  db: Queryable,
  asked: Asked,
  workloads: readonly WorkloadView[],
): Promise<ReadonlyMap<string, RecordedSizes>> {
  const { organisation, team, from, to, grouping } = asked;
  if (workloads.length === 0 || from >= to) return new Map();
  const metered = new Map<string, Metered>(workloads.map(({ workload }) => [workload, new Map()]));
  const targetsOf = new Map<string, readonly string[]>();
  const deliveries = await db.query<{ delivery: string }>(
    `select distinct u.delivery::text as delivery from usage_hour u
     join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
     where u.organisation = $1 and u.team = $2 and u.hour >= $3 and u.hour < $4`,
    [organisation, team, formatInstant(from), formatInstant(to)],
  );
  const ids = deliveries.map(({ delivery }) => delivery);
  for await (const block of blocksOf(db, organisation, ids, { start: from, end: to }, PAGE_BLOCKS)) {
    for (const record of countedRecords(block)) {
      if (record.charge !== null || !isOfMachine(record) || record.start >= to || record.end <= from) continue;
      const names = namesOf(record, workloads, targetsOf);
      if (names.length === 0 || grouping.groupOf(record).team !== team) continue;
      for (const name of names) add(metered.get(name), record, { start: from, end: to });
    }
  }
  const heard = await heardHours(db, organisation, { start: from, end: to });
  return new Map(
    workloads.map(({ workload, provider }) => [workload, sizesOf(metered.get(workload) ?? new Map(), heard, provider)]),
  );
}

/** The workloads that a record is of; most records are of the same few resources. */
function namesOf(
  record: UsageRecord,
  workloads: readonly WorkloadView[],
  known: Map<string, readonly string[]>,
): readonly string[] {
  const key = JSON.stringify([record.provider, record.resource, record.region, record.tags]);
  const found =
    known.get(key) ??
    workloads
      .filter(
        ({ workload, provider }) =>
          (provider === null || isOfPods(workload) || provider === record.provider) && isOf(record, workload),
      )
      .map(({ workload }) => workload);
  known.set(key, found);
  return found;
}

/** Pods are filed under the cloud of their node, which is not their cluster's own name. */
const isOfPods = (workload: string): boolean => /^(?:deployment|statefulset|pod)\//.test(workload);

function add(metered: Metered | undefined, record: UsageRecord, { start, end }: Interval): void {
  const { provider, region, sku, gpuModel, term } = record;
  const key = JSON.stringify([provider, region, sku, gpuModel, term]);
  const until = Math.min(end, record.end);
  for (let hour = hourOf(Math.max(start, record.start)); hour < until; hour += HOUR_MS) {
    const ms = Math.min(until, hour + HOUR_MS) - Math.max(record.start, hour);
    const gpus = ((record.gpuParts ?? 0) * ms) / (GPU_PARTS * HOUR_MS);
    if (metered === undefined || gpus <= 0) continue;
    const own = metered.get(hour) ?? new Map<string, MeteredGpus>();
    metered.set(hour, own);
    own.set(key, { provider, region, sku, gpuModel, term, gpus: gpus + (own.get(key)?.gpus ?? 0) });
  }
}

/** Hours in which the meter of each provider reported GPUs, of whomever. */
async function heardHours(
  db: Queryable,
  organisation: string,
  { start, end }: Interval,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const teams = await db.query<{ id: string }>(`select id from team where organisation = $1`, [organisation]);
  const rows = await db.query<{ provider: string; hours: string }>(
    `select d.provider, string_agg(distinct extract(epoch from u.hour)::bigint::text, ',') as hours
     from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
     where u.organisation = $1 and u.team = any($2::text[]) and u.hour >= $3 and u.hour < $4 and u.gpu_part_ms is not null
     group by 1`,
    [organisation, ['unallocated', ...teams.map(({ id }) => id)], formatInstant(start), formatInstant(end)],
  );
  return new Map(
    rows.map(({ provider, hours }) => [provider, new Set(hours.split(',').map((hour) => Number(hour) * 1000))]),
  );
}

function sizesOf(
  metered: Metered,
  heard: ReadonlyMap<string, ReadonlySet<number>>,
  provider: string | null,
): RecordedSizes {
  const sizes = new Map<number, readonly MeteredGpus[]>();
  const first = Math.min(...metered.keys());
  if (provider !== null) for (const hour of heard.get(provider) ?? []) if (hour >= first) sizes.set(hour, []);
  for (const [hour, own] of metered) sizes.set(hour, [...own.values()]);
  return sizes;
}
