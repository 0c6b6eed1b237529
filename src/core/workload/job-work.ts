/**
 * The remaining work of a job, from its owner's last statement and the usage metered since. It never underestimates the
 * rest: time counts as work only if a meter shows the machines, the part lost to a start is subtracted, more GPUs than
 * the job has now count no more than those, and usage that was not metered in time has not happened yet. If the meter
 * shows nothing of the target, or the cost of a start is unknown, the result is unknown.
 */
import { isOf } from '../fleet/membership.js';
import { HOUR_MS } from '../time.js';
import { GPU_PARTS, isOfMachine, type UsageRecord } from '../usage.js';

/** An owner's word on a job's work. */
export interface JobWork {
  readonly target: string;
  /** FOCUS ProviderName of the target. */
  readonly provider: string;
  /** Work that there was at `since`, in hours of the job's GPUs. */
  readonly hours: number;
  /** Epoch milliseconds. */
  readonly since: number;
  /** It is all the job's work, and `since` its start: that start costs a restart as others do. */
  readonly isWhole: boolean;
}

export type MeteredRun = Pick<UsageRecord, 'resource' | 'start' | 'end' | 'gpuParts'>;

/**
 * Whether metered usage says something of the job since then. A record that ends right then says that its machine ran
 * before.
 */
export function tellsOf(record: UsageRecord, { target, provider, since }: JobWork): boolean {
  // Pods are filed under the cloud of their node, which is not their cluster's own name.
  const isPod = /^(?:deployment|statefulset|pod)\//.test(target);
  return (
    record.charge === null &&
    isOfMachine(record) &&
    record.end >= since &&
    (isPod || record.provider === provider) &&
    isOf(record, target)
  );
}

/**
 * Hours of work left at `asOf`; null: unknown.
 * @param runs metered records that tell of the job, in any order; of one machine's overlapping ones the first counts
 * @param gpus that the job has now; hours are of these. With fewer the work went slower in proportion, with more no
 * faster
 * @param restartHours lost at each start; null: unknown, and then no start may have happened
 */
export function workLeft(
  work: JobWork,
  runs: readonly MeteredRun[],
  { gpus, restartHours, asOf }: { readonly gpus: number; readonly restartHours: number | null; readonly asOf: number },
): number | null {
  const { hours, since, isWhole } = work;
  if (since >= asOf) return hours;
  const { stretches, starts } = stretchesOf(runs, since, asOf);
  if (stretches.length === 0) return null;
  if (isWhole) starts.push(since);
  if (restartHours === null && starts.length > 0) return null;
  return Math.max(0, hours - effectiveMs(stretches, starts, gpus, (restartHours ?? 0) * HOUR_MS) / HOUR_MS);
}

interface Stretch {
  readonly start: number;
  end: number;
  readonly gpuParts: number;
}

/**
 * Time that the machines ran within [since, asOf), and the instants at which one of them came up. A gap on one machine
 * is a stop and a start.
 */
function stretchesOf(
  runs: readonly MeteredRun[],
  since: number,
  asOf: number,
): { stretches: Stretch[]; starts: number[] } {
  const stretches: Stretch[] = [];
  const starts: number[] = [];
  const machines = new Map<string | null, { end: number; last: Stretch | null }>();
  for (const { resource, start, end, gpuParts } of [...runs].sort((a, b) => a.start - b.start)) {
    const machine = machines.get(resource) ?? { end: -Infinity, last: null };
    machines.set(resource, machine);
    if (start > machine.end && start >= since && start < asOf) starts.push(start);
    const [from, to] = [Math.max(start, machine.end, since), Math.min(end, asOf)];
    machine.end = Math.max(machine.end, end);
    if (from >= to) continue;
    const { last } = machine;
    // For a machine with an unknown number of GPUs it is only certain that it ran.
    const parts = gpuParts ?? 0;
    if (last !== null && last.end === from && last.gpuParts === parts) last.end = to;
    else stretches.push((machine.last = { start: from, end: to, gpuParts: parts }));
  }
  return { stretches, starts };
}

/** Milliseconds of the job's present GPUs, outside the time that starts have cost. */
function effectiveMs(
  stretches: readonly Stretch[],
  starts: readonly number[],
  gpus: number,
  restartMs: number,
): number {
  const steps = [
    ...stretches.flatMap(({ start, end, gpuParts }) => [
      { at: start, parts: gpuParts, restarts: 0 },
      { at: end, parts: -gpuParts, restarts: 0 },
    ]),
    ...starts.flatMap((start) => [
      { at: start, parts: 0, restarts: 1 },
      { at: start + restartMs, parts: 0, restarts: -1 },
    ]),
  ].sort((a, b) => a.at - b.at);
  let [sum, parts, restarts] = [0, 0, 0];
  steps.forEach((step, n) => {
    parts += step.parts;
    restarts += step.restarts;
    const until = steps[n + 1]?.at ?? step.at;
    if (restarts === 0) sum += (until - step.at) * Math.min(1, parts / (gpus * GPU_PARTS));
  });
  return sum;
}
