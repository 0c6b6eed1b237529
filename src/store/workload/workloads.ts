/**
 * Data about teams' workloads other than metered hours and samples: workloads with their replicas and jobs, their
 * metrics by minute, leases, and the availability of spot. Collectors write it here; policies see it through views.ts.
 * A workload without a recent reading is unknown: a fleet that was not reported for a while has no known size. Nothing
 * is ever filled in.
 */
import type { JobFacts, LeaseView, MinuteSeries, SpotMarket, WorkloadView } from '../../core/policy/policy.js';
import { WORKLOAD_LABELS } from '../../core/policy/fleet-workload.js';
import { READINGS_DAYS, READY_REPLICAS } from '../../core/policy/policy.js';
import type { ModelAvailability } from '../../core/price/spot-reading.js';
import { DAY_MS, formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { recordJobs, type SeenFacts, type WorkloadFacts } from './recorded-jobs.js';

/** A lease as given; its price is looked up when it is read. */
export type LeaseFacts = Omit<LeaseView, 'hourlyNanos'> & {
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly gpuModel: string | null;
};

export interface MetricPoint {
  readonly workload: string;
  readonly name: string;
  /** Epoch milliseconds; the minute that holds it. */
  readonly at: number;
  readonly value: number;
}

/** The newest value of a metric of a workload, and in how many of the last minutes there is one. */
export interface NewestMetric {
  readonly team: string;
  readonly workload: string;
  readonly name: string;
  readonly minutes: number;
  /** ISO 8601. */
  readonly at: string;
  readonly value: number;
}

/** A series that is being filled. */
interface Series {
  readonly from: number;
  readonly values: (number | null)[];
  measuredGpus?: (number | null)[];
}

/** Older reports say nothing of how many replicas run now. */
const FLEET_STALE_MS = 15 * MINUTE_MS;
const SPOT_DAYS = 90;
/** As long as jobs are kept for backtests (recorded-jobs.ts). */
const SPOT_KEPT_MS = 400 * DAY_MS;
/**
 * Where fewer than two readings say how often a market is looked at (the traces of Wu et al., NSDI 2024, are of ten
 * minutes).
 */
const SPOT_TICK_MS = 600_000;

export class WorkloadStore {
  async save(
    tx: Queryable,
    organisation: string,
    team: string,
    { workload, ...facts }: WorkloadFacts,
    seenAt: number,
  ): Promise<void> {
    await tx.query(
      `insert into workload (organisation, id, team, facts, seen_at) values ($1, $2, $3, $4, $5)
       on conflict (organisation, id) do update set team = excluded.team, facts = excluded.facts, seen_at = excluded.seen_at where workload.seen_at <= excluded.seen_at`,
      [organisation, workload, team, JSON.stringify(facts), formatInstant(seenAt)],
    );
    await recordJobs(tx, organisation, [{ id: workload, team, seen: formatInstant(seenAt), facts }]);
  }

  async saveMetrics(tx: Queryable, organisation: string, points: readonly MetricPoint[]): Promise<void> {
    const minutes = new Map(
      points.map((point) => [`${point.workload}\u0001${point.name}\u0001${Math.floor(point.at / MINUTE_MS)}`, point]),
    );
    const all = [...minutes.values()];
    await tx.query(
      `insert into workload_metric (organisation, workload, name, at, value)
       select $1, workload, name, date_trunc('minute', at), value from unnest($2::text[], $3::text[], $4::timestamptz[], $5::double precision[]) as m(workload, name, at, value)
       on conflict (organisation, workload, name, at) do update set value = excluded.value, gpus = null`,
      [
        organisation,
        all.map((p) => p.workload),
        all.map((p) => p.name),
        all.map((p) => formatInstant(p.at)),
        all.map((p) => p.value),
      ],
    );
  }

  async saveLease(
    tx: Queryable,
    organisation: string,
    team: string,
    { lease, target, startedAt, expiresAt, active, ...facts }: LeaseFacts,
  ): Promise<void> {
    await tx.query(
      `insert into lease (organisation, id, team, target, facts, started_at, expires_at, active) values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (organisation, id) do update set team = excluded.team, target = excluded.target, facts = excluded.facts, started_at = excluded.started_at,
         expires_at = excluded.expires_at, active = excluded.active`,
      [
        organisation,
        lease,
        team,
        target,
        JSON.stringify(facts),
        formatInstant(startedAt),
        expiresAt === null ? null : formatInstant(expiresAt),
        active,
      ],
    );
  }

  /**
   * Keeps readings, and forgets those of the same markets that are older than SPOT_KEPT_MS before the newest of them.
   */
  async saveSpot(tx: Queryable, organisation: string, readings: readonly ModelAvailability[]): Promise<void> {
    if (readings.length === 0) return;
    const [providers, regions, models] = [
      readings.map((r) => r.provider),
      readings.map((r) => r.region ?? ''),
      readings.map((r) => r.gpuModel),
    ];
    await tx.query(
      `insert into spot_reading (organisation, provider, region, gpu_model, at, available)
       select distinct on (provider, region, gpu_model, at) $1, provider, region, gpu_model, at, available
       from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[]) as r(provider, region, gpu_model, at, available)
       on conflict (organisation, provider, region, gpu_model, at) do update set available = excluded.available`,
      [
        organisation,
        providers,
        regions,
        models,
        readings.map((r) => formatInstant(r.at)),
        readings.map((r) => r.available),
      ],
    );
    const newest = readings.reduce((last, { at }) => Math.max(last, at), -Infinity);
    await tx.query(
      `delete from spot_reading s using (select distinct * from unnest($2::text[], $3::text[], $4::text[]) as m(provider, region, gpu_model)) m
       where s.organisation = $1 and s.provider = m.provider and s.region = m.region and s.gpu_model = m.gpu_model and s.at < $5`,
      [organisation, providers, regions, models, formatInstant(newest - SPOT_KEPT_MS)],
    );
  }

  /** All that are known: their names, and their kinds (null: nobody said). */
  async kinds(db: Queryable, organisation: string): Promise<Map<string, string | null>> {
    const rows = await db.query<{ id: string; kind: string | null }>(
      `select id, facts ->> 'kind' as kind from workload where organisation = $1 order by id`,
      [organisation],
    );
    return new Map(rows.map(({ id, kind }) => [id, kind]));
  }

  /** A team's workloads as of an instant, with metrics of `days` before it. */
  async workloads(
    db: Queryable,
    organisation: string,
    team: string,
    asOf: number,
    days = READINGS_DAYS,
  ): Promise<WorkloadView[]> {
    const rows = await db.query<{ id: string; facts: Omit<WorkloadFacts, 'workload'>; seen: Date }>(
      `select id, facts, seen_at as seen from workload where organisation = $1 and team = $2 order by id`,
      [organisation, team],
    );
    return this.viewsOf(
      db,
      organisation,
      rows.map((row) => ({ ...row, seen: row.seen.getTime() })),
      asOf,
      days,
    );
  }

  /** The same of what was seen of workloads at instants of their own. */
  async viewsOf(
    db: Queryable,
    organisation: string,
    rows: readonly SeenFacts[],
    asOf: number,
    days: number,
  ): Promise<WorkloadView[]> {
    if (rows.length === 0) return [];
    const metrics = await this.metrics(
      db,
      organisation,
      rows.map(({ id }) => id),
      asOf,
      days,
    );
    return rows.map(({ id, facts, seen }) => {
      const own = metrics.get(id) ?? {};
      const { service, work: _work, ...rest } = facts;
      const load = service === null ? undefined : own[service.loadMetric];
      const isStale = asOf - seen > FLEET_STALE_MS;
      return {
        ...rest,
        workload: id,
        metrics: own,
        fleet: isStale ? null : rest.fleet,
        job: rest.job === null ? null : jobAt(rest.job, asOf),
        service:
          service === null || load === undefined
            ? null
            : { bootMinutes: service.bootMinutes, capacityPerReplica: service.capacityPerReplica, load },
      };
    });
  }

  /** Names of a team's workloads. */
  async namesOf(db: Queryable, organisation: string, team: string): Promise<string[]> {
    return (
      await db.query<{ id: string }>(`select id from workload where organisation = $1 and team = $2 order by id`, [
        organisation,
        team,
      ])
    ).map(({ id }) => id);
  }

  /** What is known minute by minute of workloads, of the days that policies look at. @param teams null: of all */
  async newestMetrics(
    db: Queryable,
    organisation: string,
    teams: readonly string[] | null,
    asOf: number,
  ): Promise<NewestMetric[]> {
    const rows = await db.query<{
      team: string;
      workload: string;
      name: string;
      minutes: number;
      at: Date;
      value: number;
    }>(
      `select w.team, m.workload, m.name, count(*)::int as minutes, max(m.at) as at, (array_agg(m.value order by m.at desc))[1] as value
       from workload w join workload_metric m on m.organisation = w.organisation and m.workload = w.id
       where w.organisation = $1 and ($2::text[] is null or w.team = any($2)) and m.at > $3 and m.at <= $4 group by 1, 2, 3 order by 1, 2, 3`,
      [organisation, teams, formatInstant(asOf - READINGS_DAYS * DAY_MS), formatInstant(asOf)],
    );
    return rows.map(({ at, ...one }) => ({ ...one, at: formatInstant(at.getTime()) }));
  }

  /** The ready replicas that a team's groups had which are gone by now, by the service that they were part of. */
  async goneReplicas(
    db: Queryable,
    organisation: string,
    team: string,
    asOf: number,
    days = READINGS_DAYS,
  ): Promise<Record<string, MinuteSeries[]>> {
    const rows = await db.query<{ target: string; service: string }>(
      `select target, body -> 'labels' ->> $3 as service from fleet_target f
       where organisation = $1 and team = $2 and body -> 'labels' ? $3 and gone_at > $4 and gone_at <= $5
         and not exists (select 1 from workload w where w.organisation = f.organisation and w.id = f.target)`,
      [organisation, team, WORKLOAD_LABELS.service, formatInstant(asOf - days * DAY_MS), formatInstant(asOf)],
    );
    if (rows.length === 0) return {};
    const names = rows.map(({ target }) => target);
    const metrics = await this.metrics(db, organisation, names, asOf, days);
    const gone: Record<string, MinuteSeries[]> = {};
    for (const { target, service } of rows) {
      const ready = metrics.get(target)?.[READY_REPLICAS];
      if (ready !== undefined) gone[service] = [...(gone[service] ?? []), ready];
    }
    return gone;
  }

  private async metrics(
    db: Queryable,
    organisation: string,
    workloads: readonly string[],
    asOf: number,
    days: number,
  ): Promise<Map<string, Record<string, MinuteSeries>>> {
    const to = Math.floor(asOf / MINUTE_MS) * MINUTE_MS;
    const from = to - days * DAY_MS;
    const rows = await db.query<{ workload: string; name: string; at: Date; value: number; gpus: number | null }>(
      `select workload, name, at, value, gpus from workload_metric where organisation = $1 and workload = any($2::text[]) and at >= $3 and at < $4`,
      [organisation, workloads, formatInstant(from), formatInstant(to)],
    );
    const blank = (): (number | null)[] => new Array<number | null>((to - from) / MINUTE_MS).fill(null);
    const all = new Map<string, Record<string, Series>>();
    for (const { workload, name, at, value, gpus } of rows) {
      const own = all.get(workload) ?? {};
      all.set(workload, own);
      const series = (own[name] ??= { from, values: blank() });
      const minute = (at.getTime() - from) / MINUTE_MS;
      series.values[minute] = value;
      if (gpus !== null) (series.measuredGpus ??= blank())[minute] = gpus;
    }
    return all;
  }

  async leases(db: Queryable, organisation: string, team: string, asOf: number): Promise<LeaseFacts[]> {
    const rows = await db.query<{
      id: string;
      target: string;
      facts: Omit<LeaseFacts, 'lease' | 'target' | 'startedAt' | 'expiresAt' | 'active'>;
      started: Date;
      expires: Date | null;
      active: boolean | null;
    }>(
      `select id, target, facts, started_at as started, expires_at as expires, active from lease where organisation = $1 and team = $2 and started_at <= $3 order by id`,
      [organisation, team, formatInstant(asOf)],
    );
    return rows.map(({ id, target, facts, started, expires, active }) => ({
      ...facts,
      lease: id,
      target,
      startedAt: started.getTime(),
      expiresAt: expires?.getTime() ?? null,
      active,
    }));
  }

  /** Every market that was looked at, up to an instant. */
  async spotMarkets(db: Queryable, organisation: string, asOf: number, days = SPOT_DAYS): Promise<SpotMarket[]> {
    const rows = await db.query<{
      provider: string;
      region: string;
      gpu_model: string;
      ats: string;
      available: string;
    }>(
      // Texts that are split are read many times as fast as arrays of instants.
      `select provider, region, gpu_model, string_agg((extract(epoch from at) * 1000)::bigint::text, ' ' order by at) as ats,
         string_agg(case when available then '1' else '0' end, '' order by at) as available
       from spot_reading
       where organisation = $1 and at > $2 and at <= $3 group by 1, 2, 3 order by 1, 2, 3`,
      [organisation, formatInstant(asOf - days * DAY_MS), formatInstant(asOf)],
    );
    return rows.map(({ provider, region, gpu_model: gpuModel, ats, available }) => {
      const instants = ats.split(' ').map(Number);
      const tickMs = instants.reduce(
        (least, at, n) => (n === 0 ? least : Math.min(least, at - (instants[n - 1] ?? at))),
        Infinity,
      );
      const step = Number.isFinite(tickMs) ? tickMs : SPOT_TICK_MS;
      const from = instants[0] ?? asOf;
      const ticks = new Array<boolean | null>(Math.floor(((instants.at(-1) ?? from) - from) / step) + 1).fill(null);
      instants.forEach((at, n) => (ticks[Math.floor((at - from) / step)] = available[n] === '1'));
      return {
        provider,
        region: region === '' ? null : region,
        gpuModel,
        from,
        tickSeconds: step / 1000,
        available: ticks,
      };
    });
  }
}

/** Anything that starts later waits for its start. */
const jobAt = (job: JobFacts, asOf: number): JobFacts =>
  job.startedAt !== null && job.startedAt > asOf ? { ...job, startedAt: null } : job;
