/**
 * Evidence about GPUs as it was sampled: one row per GPU (or MIG instance), resource and minute, how far each source
 * was read, and how long it all is kept.
 *
 * The newest look of a minute replaces an older one and nothing else: sent again, or twice, it changes nothing. What
 * was not measured is null. It decides nothing about teams (take-samples.ts) or health (core/fleet/health.ts).
 */
import type { SilentExporter } from '../../core/fleet/silence.js';
import type { DeviceHistory, DeviceReading } from '../../core/fleet/health.js';
import type { GpuSample } from '../../core/ports.js';
import { READINGS_DAYS } from '../../core/policy/policy.js';
import { DAY_MS, formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { silencesOf, type Silences } from './machines.js';

/**
 * What a sample is of, as the fleet knows it; what the fleet does not know is as the series' own labels say, or null.
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

/** How far a source was read, and what its newest reading said of itself. */
export interface SourceState {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly readTo: number;
  /** Share of the expected exporters that answered; null: not known. */
  readonly coverage: number | null;
  /** Null: the source cannot tell. */
  readonly exportersUp: readonly string[] | null;
  /** Exporters that fell silent; absent: none, or the source cannot tell. */
  readonly silent?: readonly SilentExporter[];
  /** When exporters that name no card any more were started, epoch milliseconds; absent: not known. */
  readonly startedAt?: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

const ROWS_PER_STATEMENT = 5000;
const MOST_PROBLEMS = 50;

/**
 * Days that samples are kept, unless the organisation says otherwise: policies look at READINGS_DAYS of them, a
 * backtest at more.
 */
export const DEFAULT_RETENTION_DAYS = 90;
export const LEAST_RETENTION_DAYS = READINGS_DAYS;
export const RETENTION_SETTING = 'sample-retention-days';

/** Columns and how they are cast. */
const COLUMNS: readonly (readonly [
  name: string,
  type: string,
  of: (sample: PlacedSample) => string | number | boolean | null,
])[] = [
  ['resource', 'text', (s) => s.resource],
  ['at', 'timestamptz', (s) => formatInstant(Math.floor(s.at / MINUTE_MS) * MINUTE_MS)],
  ['gpu', 'text', (s) => s.gpu],
  ['mig_instance', 'text', (s) => s.migInstance ?? ''],
  ['seen_at', 'timestamptz', (s) => formatInstant(s.at)],
  ['team', 'text', (s) => s.team],
  ['workload_id', 'text', (s) => s.workload],
  ['workload', 'text', (s) => s.workloadKind],
  ['partitioned', 'boolean', (s) => s.isPartitioned],
  ['connection', 'text', (s) => s.connection],
  ['target', 'text', (s) => s.target],
  ['provider', 'text', (s) => s.provider],
  ['sku', 'text', (s) => s.sku],
  ['region', 'text', (s) => s.region],
  ['term', 'text', (s) => s.term],
  ['gpu_model', 'text', (s) => s.gpuModel],
  ['gpus', 'int', (s) => (s.migInstance === null ? 1 : null)],
  ['namespace', 'text', (s) => s.namespace],
  ['pod', 'text', (s) => s.pod],
  ['exporter', 'text', (s) => s.exporter ?? null],
  ['gpu_utilisation_ratio', 'real', (s) => s.gpuUtilisationRatio],
  ['memory_used_ratio', 'real', (s) => s.memoryUsedRatio],
  ['memory_used_mib', 'real', (s) => s.memoryUsedMib],
  ['temperature_celsius', 'real', (s) => s.temperatureCelsius],
  ['power_watts', 'real', (s) => s.powerWatts],
  ['pcie_replays', 'bigint', (s) => (s.pcieReplays === null ? null : Math.round(s.pcieReplays))],
  ['requests_per_second', 'real', (s) => s.requestsPerSecond],
  ['network_latency_seconds', 'double precision', (s) => s.networkLatencySeconds],
  ['fault', 'text', (s) => s.fault ?? null],
];
const KEY = ['resource', 'at', 'gpu', 'mig_instance'];

const NAMES = COLUMNS.map(([name]) => name).join(', ');
const UPSERT = `insert into sample (organisation, source, ${NAMES})
  select $1, $2, ${NAMES} from unnest(${COLUMNS.map(([, type], at) => `$${at + 3}::${type}[]`).join(', ')}) as s(${NAMES})
  on conflict (organisation, source, ${KEY.join(', ')}) do update set ${COLUMNS.filter(([name]) => !KEY.includes(name))
    .map(([name]) => `${name} = excluded.${name}`)
    .join(', ')}
  where sample.seen_at is null or sample.seen_at <= excluded.seen_at`;

interface HistoryRow {
  resource: string;
  gpu: string;
  mig: string;
  team: string;
  workload: string | null;
  exporter: string | null;
  seen: Date;
  util: number | null;
  celsius: number | null;
  replays: string | null;
  latency: number | null;
  fault: string | null;
}

export class SampleStore {
  /** Adds samples; of two of one GPU, resource and minute the newer stays. */
  async save(tx: Queryable, organisation: string, source: string, samples: readonly PlacedSample[]): Promise<void> {
    const newest = new Map<string, PlacedSample>();
    for (const sample of samples) {
      const key = JSON.stringify([sample.resource, Math.floor(sample.at / MINUTE_MS), sample.gpu, sample.migInstance]);
      if ((newest.get(key)?.at ?? -Infinity) <= sample.at) newest.set(key, sample);
    }
    const all = [...newest.values()];
    for (let first = 0; first < all.length; first += ROWS_PER_STATEMENT) {
      const rows = all.slice(first, first + ROWS_PER_STATEMENT);
      await tx.query(UPSERT, [organisation, source, ...COLUMNS.map(([, , of]) => rows.map(of))]);
    }
  }

  /**
   * Writes the minutes of workloads into their metrics: the mean use of their GPUs where every one was measured, and
   * the requests of their resources.
   * A workload of which a card was blank in a minute has no value for it.
   */
  async saveWorkloadMinutes(
    tx: Queryable,
    organisation: string,
    workloads: readonly string[],
    from: number,
    to: number,
  ): Promise<void> {
    if (workloads.length === 0) return;
    const measured = ['gpu_utilisation_ratio', 'memory_used_ratio'].map(
      (name) =>
        `select workload, '${name}' as name, at, avg(${name})::double precision as value from minute group by workload, at having count(*) = count(${name})`,
    );
    await tx.query(
      `with minute as (
         select workload_id as workload, at, resource, gpu_utilisation_ratio, memory_used_ratio, requests_per_second from sample
         where organisation = $1 and workload_id = any($2::text[]) and at >= $3 and at <= $4 and not partitioned
       ), requests as (
         select workload, at, sum(requests) as value from (select workload, at, resource, max(requests_per_second)::double precision as requests from minute group by 1, 2, 3) r
         group by workload, at having count(*) = count(requests)
       )
       insert into workload_metric (organisation, workload, name, at, value)
       select $1, workload, name, at, value from (${measured.join(' union all ')} union all select workload, 'requests_per_second', at, value from requests) m
       on conflict (organisation, workload, name, at) do update set value = excluded.value`,
      [organisation, workloads, formatInstant(Math.floor(from / MINUTE_MS) * MINUTE_MS), formatInstant(to)],
    );
  }

  /** Every device of a source that was seen within `minutes` before `now`, as each resource held it. */
  async histories(
    tx: Queryable,
    organisation: string,
    source: string,
    now: number,
    minutes: number,
  ): Promise<DeviceHistory[]> {
    const rows = await tx.query<HistoryRow>(
      `select resource, gpu, mig_instance as mig, team, workload_id as workload, exporter, coalesce(seen_at, at) as seen, gpu_utilisation_ratio as util, temperature_celsius as celsius,
         pcie_replays::text as replays, network_latency_seconds as latency, fault
       from sample where organisation = $1 and source = $2 and at > $3 and at <= $4 order by seen`,
      [organisation, source, formatInstant(now - minutes * MINUTE_MS), formatInstant(now)],
    );
    const state = await this.state(tx, organisation, source);
    const silences = await silencesOf(tx, organisation, state?.silent ?? [], rows);
    return historiesOf(rows, state, silences);
  }

  async state(db: Queryable, organisation: string, source: string): Promise<SourceState | null> {
    return (await this.states(db, organisation)).find(({ name }) => name === source) ?? null;
  }

  async states(db: Queryable, organisation: string): Promise<SourceState[]> {
    const rows = await db.query<{
      name: string;
      read_to: Date;
      coverage: number | null;
      exporters_up: string[] | null;
      silent: SilentExporter[];
      started_at: Record<string, number>;
      problems: string[];
    }>(
      `select name, read_to, coverage, exporters_up, silent, started_at, problems from telemetry_source where organisation = $1 order by name`,
      [organisation],
    );
    return rows.map((row) => ({
      name: row.name,
      readTo: row.read_to.getTime(),
      coverage: row.coverage,
      exportersUp: row.exporters_up,
      silent: row.silent,
      startedAt: row.started_at,
      problems: row.problems,
    }));
  }

  async saveState(tx: Queryable, organisation: string, state: SourceState, now: number): Promise<void> {
    await tx.query(
      `insert into telemetry_source (organisation, name, read_to, coverage, exporters_up, problems, read_at, silent, started_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       on conflict (organisation, name) do update set read_to = excluded.read_to, coverage = excluded.coverage, exporters_up = excluded.exporters_up, problems = excluded.problems, read_at = excluded.read_at, silent = excluded.silent, started_at = excluded.started_at`,
      [
        organisation,
        state.name,
        formatInstant(state.readTo),
        state.coverage,
        state.exportersUp,
        state.problems.slice(0, MOST_PROBLEMS),
        formatInstant(now),
        JSON.stringify(state.silent ?? []),
        JSON.stringify(state.startedAt ?? {}),
      ],
    );
  }

  /** Gives what was sampled of a resource since an instant its place anew, where that is another. */
  async place(
    tx: Queryable,
    organisation: string,
    source: string,
    resource: string,
    since: number,
    { team, workload, connection, target, provider, sku, region, term }: Place,
  ): Promise<void> {
    await tx.query(
      `update sample set team = $5, workload_id = $6, connection = $7, target = $8, provider = $9, sku = $10,
         region = $11, term = $12
       where organisation = $1 and source = $2 and resource = $3 and at >= $4
         and (team, workload_id, connection, target, provider, sku, region, term)
           is distinct from ($5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        organisation,
        source,
        resource,
        formatInstant(since),
        team,
        workload,
        connection,
        target,
        provider,
        sku,
        region,
        term,
      ],
    );
  }

  /**
   * Forgets what is older than so many days before `now`: samples, workloads' minutes, and findings that were cleared.
   */
  async purge(tx: Queryable, organisation: string, days: number, now: number): Promise<void> {
    const before = formatInstant(now - Math.max(LEAST_RETENTION_DAYS, days) * DAY_MS);
    await tx.query(`delete from sample where organisation = $1 and at < $2`, [organisation, before]);
    await tx.query(`delete from workload_metric where organisation = $1 and at < $2`, [organisation, before]);
    await tx.query(`delete from health_finding where organisation = $1 and cleared_at < $2`, [organisation, before]);
  }
}

/** @param rows in the order in which they were seen */
function historiesOf(rows: readonly HistoryRow[], state: SourceState | null, silences: Silences): DeviceHistory[] {
  const cards = new Map<string, number>();
  const exporters = new Map<string, number>();
  const devices = new Map<string, { last: HistoryRow; readings: DeviceReading[] }>();
  for (const row of rows) {
    const seen = row.seen.getTime();
    cards.set(row.gpu, seen);
    if (row.exporter !== null) exporters.set(row.exporter, seen);
    const key = JSON.stringify([row.resource, row.gpu, row.mig]);
    const device = devices.get(key) ?? { last: row, readings: [] };
    device.last = row;
    device.readings.push({
      at: seen,
      gpuUtilisationRatio: row.util,
      temperatureCelsius: row.celsius,
      pcieReplays: row.replays === null ? null : Number(row.replays),
      networkLatencySeconds: row.latency,
      fault: row.fault,
    });
    devices.set(key, device);
  }
  return [...devices.values()].map(({ last, readings }) => ({
    resource: last.resource,
    gpu: last.gpu,
    migInstance: last.mig === '' ? null : last.mig,
    team: last.team,
    workload: last.workload,
    readings,
    cardSeenAt: cards.get(last.gpu) ?? last.seen.getTime(),
    ...answerOf(last.exporter, exporters, state),
    ...silences(last.exporter, last.workload),
  }));
}

/** When an exporter that is up answered last: of machines that report at other seconds of a minute, each by its own. */
function answerOf(
  exporter: string | null,
  newest: ReadonlyMap<string, number>,
  state: SourceState | null,
): Pick<DeviceHistory, 'exporterUpAt' | 'exporterNamesCards'> {
  if (exporter === null || state?.exportersUp?.includes(exporter) !== true)
    return { exporterUpAt: null, exporterNamesCards: false };
  const named = newest.get(exporter) ?? 0;
  const isNaming = state.readTo - named < MINUTE_MS;
  // One that names none and runs since before has surely looked for them.
  const runsOn = (state.startedAt?.[exporter] ?? Infinity) < named;
  return { exporterUpAt: isNaming && !runsOn ? named : state.readTo, exporterNamesCards: isNaming || runsOn };
}
