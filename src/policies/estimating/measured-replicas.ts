/**
 * The number of a workload's replicas that a minute covers. A value measured per GPU is the mean of the measured
 * replicas; the others are unknown, and are assumed neither idle nor equal to the mean.
 */
import type { WorkloadView } from '../../core/policy/policy.js';
import { MINUTE_MS } from '../../core/time.js';
import type { Window } from './minutes.js';

/** Measures of GPUs whose maximum is 1. */
const OF_GPUS: ReadonlySet<string> = new Set(['gpu_utilisation_ratio', 'memory_used_ratio']);

/**
 * Replicas that a value is of, a part of one where some of its GPUs were measured; null: nobody knows how many
 * GPUs a replica has. A value that somebody sent is of all.
 * @param gpus of how many GPUs the value is; null: it was sent
 */
export function measuredReplicas({ fleet, gpusPerReplica }: WorkloadView, gpus: number | null): number | null {
  const ready = fleet?.ready ?? 0;
  if (gpus === null) return ready;
  return gpusPerReplica === null || gpusPerReplica <= 0 ? null : gpus / gpusPerReplica;
}

/** The measure of a replica that is wholly used; null: it has no such end that is known. */
export const wholeOf = (metric: string): number | null => (OF_GPUS.has(metric) ? 1 : null);

/** The bounds of the mean over all ready replicas. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** The bounds of a measured minute; null: unknown. */
export function boundsOf(one: WorkloadView, metric: string, value: number, gpus: number | null): Bounds | null {
  if (gpus === null) return { least: value, most: value };
  const ready = one.fleet?.ready ?? 0;
  const measured = measuredReplicas(one, gpus);
  if (measured === null || ready === 0) return null;
  const whole = Math.max(value, wholeOf(metric) ?? Infinity);
  if (measured === ready) return { least: value, most: value };
  // Some of them leave or boot, and the ready ones did all that was done, or what the others cannot have done.
  if (measured > ready)
    return {
      least: Math.max(0, value * measured - (measured - ready) * whole) / ready,
      most: Math.min(whole, (value * measured) / ready),
    };
  const part = (value * measured) / ready;
  const rest = (ready - measured) / ready;
  return { least: part, most: part + rest * whole };
}

/** Whether every minute of the window was measured and passes, whatever the replicas without data do. */
export const isEveryOf = (
  one: WorkloadView,
  metric: string,
  window: Window | null,
  passes: (bounds: Bounds) => boolean,
): boolean =>
  window !== null &&
  window.isWhole &&
  window.values.every((value, n) => {
    const bounds = value === null ? null : boundsOf(one, metric, value, window.gpus[n] ?? null);
    return bounds !== null && passes(bounds);
  });

/**
 * Whether a load is the sum of all ready replicas in every measured minute of its window, since those that came last
 * serve. Where it is not, it was more than is known.
 */
export function isOfAllReplicas(one: WorkloadView, window: Window): boolean {
  const since = (one.fleet?.changedAt ?? window.from) + (one.service?.bootMinutes ?? 0) * MINUTE_MS;
  return window.values.every((value, n) => {
    const gpus = window.gpus[n] ?? null;
    if (value === null || gpus === null || window.from + n * MINUTE_MS < since) return true;
    const measured = measuredReplicas(one, gpus);
    return measured !== null && measured >= (one.fleet?.ready ?? 0);
  });
}

const count = (replicas: number): string => String(Number(replicas.toPrecision(3)));

/** As a sentence; null: every one was measured. */
export function aboutUnmeasured(one: WorkloadView, gpus: number | null): string | null {
  const ready = one.fleet?.ready ?? 0;
  const measured = measuredReplicas(one, gpus);
  if (measured === null) return `${gpus} GPUs were measured, but the number of GPUs per replica is unknown`;
  if (measured === ready) return null;
  if (measured > ready)
    return `${gpus} GPUs were measured, of ${count(measured)} replicas, and ${ready} are ready: what the ready ones did alone is not known`;
  return `${count(measured)} of ${ready} ready replicas were measured (${gpus} GPUs): the others count as idle before replicas are added, and as wholly used before any is taken away`;
}
