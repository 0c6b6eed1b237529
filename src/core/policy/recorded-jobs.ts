/**
 * Which jobs a row of sayings tells of: of what was said of each at different times, the word from which a backtest can
 * run it.
 *
 * The invariant: no job stands twice. Two words tell of one job where they name the same start; where nobody names one,
 * as long as the hours that are left only fall. It decides nothing of what a job costs.
 */
import type { JobWork } from '../workload/job-work.js';
import type { FleetFacts, JobFacts } from './view.js';

/** A workload that ends, as it was when something was said of its work, and since. */
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
 * Each job that was seen at `from` or later, as its first word in [from, to) has it; where there is none, as its last
 * before, and where there is none either, as its first after.
 * A fleet that stood still then is the one with which it ran later, as far as that was seen.
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
