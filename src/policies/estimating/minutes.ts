/**
 * Windows of measured minutes. A window is whole or it is not: a missing minute is unknown, and unknown is never idle.
 */
import type { MinuteSeries, WorkloadView } from '../../core/policy/policy.js';
import { MINUTE_MS } from '../../core/time.js';

export interface Window {
  /** Values of the minutes, oldest first; those not measured are null. */
  readonly values: readonly (number | null)[];
  /** The number of GPUs behind each value; null: the sender states the value for the whole workload. */
  readonly gpus: readonly (number | null)[];
  /** The first minute's first millisecond, and the millisecond after the last minute. */
  readonly from: number;
  readonly to: number;
  /** Whether every minute was measured. */
  readonly isWhole: boolean;
}

/** The last `minutes` whole minutes before `asOf`; null if there is no series. */
export function windowBefore(series: MinuteSeries | undefined, asOf: number, minutes: number): Window | null {
  if (series === undefined) return null;
  const to = Math.floor((asOf - series.from) / MINUTE_MS);
  const values = Array.from({ length: minutes }, (_, n) => {
    const value = series.values[to - minutes + n] ?? null;
    return value !== null && Number.isFinite(value) ? value : null;
  });
  return {
    values,
    gpus: values.map((_, n) => series.measuredGpus?.[to - minutes + n] ?? null),
    from: series.from + (to - minutes) * MINUTE_MS,
    to: series.from + to * MINUTE_MS,
    isWhole: minutes > 0 && values.every((value) => value !== null),
  };
}

/** The measured minutes at the end of a window, up to its last missing one. */
export function knownTail({ values }: Window): number[] {
  const tail: number[] = [];
  for (let at = values.length - 1; at >= 0; at--) {
    const value = values[at] ?? null;
    if (value === null) break;
    tail.push(value);
  }
  return tail.reverse();
}

/** Whether its owner has not protected it. */
export const mayTouch = ({ isProtected }: WorkloadView): boolean => isProtected !== true;
