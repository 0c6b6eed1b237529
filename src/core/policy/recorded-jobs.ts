/**
 * The jobs in a series of statements: for each job, the statement from which a backtest can run it.
 *
 * The invariant: no job occurs twice. Two statements are about one job if they name the same start; without a named
 * start, as long as the remaining hours only decrease. It decides nothing about a job's cost.
 */
import type { JobWork } from '../workload/job-work.js';
import type { FleetFacts, JobFacts } from './view.js';

/** A workload that ends, at the time of a statement about its work, and since. */
export interface SaidJob {
  readonly workload: string;
  readonly job: JobFacts;
  /** Null: nobody said how much, and since when. */
  readonly work: JobWork | null;
  readonly fleet: FleetFacts | null;
  /** Epoch milliseconds; the last time. */
  readonly seenAt: number;
}

/**
 * Each job that was seen at `from` or later, by its first statement in [from, to); without one by its last statement
 * before, and without that by its first after. If its fleet was stopped then, the fleet with which it ran later is
 * used, as far as known.
 */
export function jobsWithin<T extends SaidJob>(
  said: readonly T[],
  { from, to }: { readonly from: number; readonly to: number },
): T[] {
  const words = [...said].sort((a, b) =>
    a.workload < b.workload ? -1 : a.workload > b.workload ? 1 : startOf(a) - startOf(b) || sinceOf(a) - sinceOf(b),
  );
  const jobs: T[][] = [];
  for (const word of words) {
    const last = jobs.at(-1)?.at(-1);
    if (last !== undefined && isSame(last, word)) jobs.at(-1)?.push(word);
    else jobs.push([word]);
  }
  return jobs.flatMap((own) => {
    const first =
      own.find((word) => sinceOf(word) >= from && sinceOf(word) < to) ??
      own.findLast((word) => sinceOf(word) < from) ??
      own[0];
    if (first === undefined || own.every(({ seenAt }) => seenAt < from)) return [];
    const fleet = runs(first.fleet) ? first.fleet : (own.find((word) => runs(word.fleet))?.fleet ?? first.fleet);
    return [{ ...first, fleet, seenAt: Math.max(...own.map(({ seenAt }) => seenAt)) }];
  });
}

// Finite, as differences of them are compared.
const NEVER = Number.MIN_SAFE_INTEGER;
const startOf = ({ job }: SaidJob): number => job.startedAt ?? NEVER;
const sinceOf = ({ work }: SaidJob): number => work?.since ?? NEVER;

function isSame(last: SaidJob, next: SaidJob): boolean {
  if (last.workload !== next.workload || last.job.startedAt !== next.job.startedAt) return false;
  return next.job.startedAt !== null || last.work === null || next.work === null || next.work.hours <= last.work.hours;
}

const runs = (fleet: FleetFacts | null): boolean => fleet !== null && fleet.ready + fleet.booting > 0;
