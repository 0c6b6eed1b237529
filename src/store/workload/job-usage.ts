/**
 * The remaining work of a team's jobs, if it has to be computed: the value of their labels minus the usage metered
 * since. Reads only.
 *
 * Hour sums do not keep the resource, so it reads blocks again, and only if a job needs it. Core has the rule
 * (core/workload/job-work.ts); an unknown value stays null.
 */
import { tellsOf, workLeft, type JobWork, type MeteredRun } from '../../core/workload/job-work.js';
import type { FleetFacts, WorkloadView } from '../../core/policy/policy.js';
import { DAY_MS, formatInstant, HOUR_MS, hourOf } from '../../core/time.js';
import { countedRecords, type StoredBlock } from '../usage/block.js';
import { blocksOf } from '../usage/reading.js';
import type { Queryable } from '../database.js';

/** Jobs with an older start or statement are not computed: the work has to be stated again. */
const MOST_COUNTED_DAYS = 31;
/** Payloads at a time: a full one is about a megabyte. */
const PAGE_BLOCKS = 64;
/** A meter that is read every minute has tens of thousands of deliveries in a month: no statement names all of them. */
const DELIVERIES_AT_A_TIME = 512;

interface Counted {
  readonly one: WorkloadView;
  readonly work: JobWork;
  readonly runs: MeteredRun[];
}

export class JobUsage {
  /** The same workloads, their jobs' work left counted up to `asOf`. */
  async counted(
    db: Queryable,
    organisation: string,
    team: string,
    asOf: number,
    workloads: readonly WorkloadView[],
  ): Promise<WorkloadView[]> {
    if (workloads.every(({ job }) => job === null)) return [...workloads];
    const rows = await db.query<{ id: string; work: JobWork }>(
      `select id, facts -> 'work' as work from workload where organisation = $1 and team = $2 and facts -> 'work' is not null`,
      [organisation, team],
    );
    const jobs = new Map(
      rows.flatMap(({ id, work }) => {
        const one = workloads.find(({ workload }) => workload === id);
        return one === undefined || asOf - work.since > MOST_COUNTED_DAYS * DAY_MS
          ? []
          : [[id, { one, work, runs: [] } satisfies Counted] as const];
      }),
    );
    await this.meter(db, organisation, team, asOf, [...jobs.values()]);
    return workloads.map((one) => {
      const counted = jobs.get(one.workload);
      return counted === undefined || one.job === null
        ? one
        : { ...one, job: { ...one.job, workLeftHours: leftOf(counted, asOf) } };
    });
  }

  private async meter(
    db: Queryable,
    organisation: string,
    team: string,
    asOf: number,
    jobs: readonly Counted[],
  ): Promise<void> {
    const since = Math.min(...jobs.map(({ work }) => work.since));
    if (since >= asOf) return;
    for await (const block of this.blocks(db, organisation, team, since, asOf)) {
      for (const record of countedRecords(block)) {
        if (record.start >= asOf) continue;
        for (const { work, runs } of jobs)
          if (tellsOf(record, work))
            runs.push({ resource: record.resource, start: record.start, end: record.end, gpuParts: record.gpuParts });
      }
    }
  }

  /** Blocks of a team's metered usage within [since, asOf], and of the hour before. */
  private async *blocks(
    db: Queryable,
    organisation: string,
    team: string,
    since: number,
    asOf: number,
  ): AsyncGenerator<StoredBlock> {
    const deliveries = await db.query<{ delivery: string }>(
      `select distinct u.delivery::text as delivery from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       where u.organisation = $1 and u.team = $2 and u.hour >= $3 and u.hour < $4 order by 1`,
      [organisation, team, formatInstant(hourOf(since) - HOUR_MS), formatInstant(asOf)],
    );
    for (let first = 0; first < deliveries.length; first += DELIVERIES_AT_A_TIME) {
      const ids = deliveries.slice(first, first + DELIVERIES_AT_A_TIME).map(({ delivery }) => delivery);
      yield* blocksOf(db, organisation, ids, { start: since, end: asOf }, PAGE_BLOCKS);
    }
  }
}

function leftOf({ one: { fleet, gpusPerReplica, job }, work, runs }: Counted, asOf: number): number | null {
  const replicas = fleet === null ? null : replicasOf(fleet);
  if (replicas === null || gpusPerReplica === null || gpusPerReplica <= 0) return null;
  return workLeft(work, runs, { gpus: replicas * gpusPerReplica, restartHours: job?.restartHours ?? null, asOf });
}

/** Its replicas, present or at its start; null: it is stopped, and the number at its start is unknown. */
function replicasOf({ ready, booting, maxReplicas }: FleetFacts): number | null {
  const now = ready + booting;
  return now > 0 ? now : maxReplicas === 1 ? 1 : null;
}
