/**
 * Jobs as stated and observed, kept after their machines are gone: written with each reading of a fleet, read only for
 * backtests.
 *
 * Of the statements on one UTC day about a job's work the first stays, until the work is stated again. The invariant: a
 * target that leaves the fleet does not remove its job.
 */
import type { RecordedJob } from '../../core/policy/history.js';
import type { WorkloadView } from '../../core/policy/policy.js';
import { jobsWithin, type SaidJob } from '../../core/policy/recorded-jobs.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { JobWork } from '../../core/workload/job-work.js';
import type { Queryable } from '../database.js';

/**
 * A fleet's reading forgets those that were last seen longer ago: as long as what was refused at admission, a year and
 * a month.
 */
export const JOBS_KEPT_MS = 400 * DAY_MS;

/** A workload as its collector reports it; the load of a service is one of its metrics. */
export type WorkloadFacts = Omit<WorkloadView, 'metrics' | 'service'> & {
  readonly service: {
    readonly bootMinutes: number;
    readonly capacityPerReplica: number | null;
    readonly loadMetric: string;
  } | null;
  /** From what the job's work left is to be counted (job-usage.ts); absent: `job` says all that is known. */
  readonly work?: JobWork;
};

export interface SeenJob {
  readonly id: string;
  readonly team: string;
  /** ISO 8601. */
  readonly seen: string;
  readonly facts: Omit<WorkloadFacts, 'workload'>;
}

/** A workload's facts with the epoch milliseconds at which they were seen. */
export interface SeenFacts {
  readonly id: string;
  readonly facts: Omit<WorkloadFacts, 'workload'>;
  readonly seen: number;
}

/** Keeps those of a reading that end. */
export async function recordJobs(tx: Queryable, organisation: string, seen: readonly SeenJob[]): Promise<void> {
  const jobs = seen.filter(({ facts }) => facts.job !== null);
  if (jobs.length === 0) return;
  const day = (instant: number | undefined): string =>
    instant === undefined ? '-infinity' : formatInstant(instant).slice(0, 10);
  const started = ({ facts: { job } }: SeenJob): string =>
    job === null || job.startedAt === null ? '-infinity' : formatInstant(job.startedAt);
  await tx.query(
    `insert into recorded_job as known (organisation, workload, started, said_on, team, facts, first_seen_at, seen_at)
     select $1, id, started, said_on, team, facts, seen, seen from unnest($2::text[], $3::timestamptz[], $4::date[], $5::text[], $6::jsonb[], $7::timestamptz[]) as j(id, started, said_on, team, facts, seen)
     on conflict (organisation, workload, started, said_on) do update set team = excluded.team, seen_at = excluded.seen_at, facts = excluded.facts
       || case when coalesce((excluded.facts #>> '{fleet,ready}')::int + (excluded.facts #>> '{fleet,booting}')::int, 0) > 0 then '{}' else jsonb_build_object('fleet', known.facts -> 'fleet') end
       || case when known.facts #> '{work,since}' is not distinct from excluded.facts #> '{work,since}' then '{}' else jsonb_build_object('work', known.facts -> 'work') end
     where known.seen_at <= excluded.seen_at`,
    [
      organisation,
      jobs.map(({ id }) => id),
      jobs.map(started),
      jobs.map(({ facts: { work } }) => day(work?.since)),
      jobs.map(({ team }) => team),
      jobs.map(({ facts }) => JSON.stringify(facts)),
      jobs.map((one) => one.seen),
    ],
  );
}

/**
 * A team's jobs of [from, to), and beside its workloads those that no longer run. The newest job of a workload bears
 * its name, an older one the instant of its word too.
 * @param running its workloads as they are now; those that are jobs are replaced by what was seen of them
 * @param viewsOf what policies see of workloads, each as it was when it was seen
 */
export async function jobsOfWindow(
  db: Queryable,
  {
    organisation,
    team,
    from,
    to,
  }: { readonly organisation: string; readonly team: string; readonly from: number; readonly to: number },
  running: readonly WorkloadView[],
  viewsOf: (seen: readonly SeenFacts[]) => Promise<WorkloadView[]>,
): Promise<{ readonly jobs: RecordedJob[]; readonly workloads: WorkloadView[] }> {
  const rows = await db.query<{ id: string; facts: SeenJob['facts']; seen: Date }>(
    `select workload as id, facts, seen_at as seen from recorded_job where organisation = $1 and team = $2 and (first_seen_at < $3 or facts ? 'work')
       and workload in (select workload from recorded_job where organisation = $1 and team = $2 and seen_at >= $4)
     order by workload, started, said_on`,
    [organisation, team, formatInstant(to), formatInstant(from)],
  );
  const said = rows.flatMap(({ id, facts, seen }) =>
    facts.job === null
      ? []
      : [{ workload: id, job: facts.job, work: facts.work ?? null, fleet: facts.fleet, seenAt: seen.getTime(), facts }],
  );
  const found = jobsWithin(said, { from, to });
  const now = new Map(running.map((one) => [one.workload, one]));
  const names = found.map((one, at) => {
    const isNewest = found[at + 1]?.workload !== one.workload;
    return isNewest && now.get(one.workload)?.job !== null ? one.workload : `${one.workload} since ${wordOf(one)}`;
  });
  const views = await viewsOf(found.map(({ workload, facts, seenAt }) => ({ id: workload, facts, seen: seenAt })));
  const own = new Set(names);
  return {
    jobs: found.map(({ work, fleet }, at) => ({ workload: names[at] ?? '', work, fleet })),
    workloads: [
      ...running.filter(({ workload }) => !own.has(workload)),
      ...views.map((view, at) => ({ ...view, workload: names[at] ?? '' })),
    ],
  };
}

const wordOf = ({ work, job: { startedAt } }: SaidJob): string => {
  const instant = work?.since ?? startedAt;
  return instant === null ? 'an unknown instant' : formatInstant(instant);
};
