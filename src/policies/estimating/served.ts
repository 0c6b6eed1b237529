/**
 * What a service has served of its promise, from the recorded ready replicas of its groups.
 *
 * A minute is never made better than it was read: between two readings the smaller counts, and where nobody read for a
 * quarter of an hour the group counts as gone.
 */
import type { MinuteSeries } from '../../core/policy/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';

/** A window of the promise: from its start, from the first reading, or from the promise itself. */
export interface Served {
  readonly from: number;
  readonly until: number;
  /** Replica-seconds that were wanted since and not served. */
  readonly unservedSeconds: number;
}

/** Longest time between two readings that are taken for one stretch. */
const GAP_MINUTES = 15;

/**
 * The window that runs: whole windows since 1970, the first from the first reading to the end of the next. What was not
 * served before it was promised is not missed.
 * @param series ready replicas of each group, those included that are gone by now
 * @param since when the promise was made, changed or resumed; -Infinity: unknown
 */
export function servedOf(
  series: readonly MinuteSeries[],
  { replicas, windowHours }: { readonly replicas: number; readonly windowHours: number },
  since: number,
  asOf: number,
): Served {
  const windowMs = windowHours * HOUR_MS;
  const start = Math.floor(asOf / windowMs) * windowMs;
  const now = Math.floor(asOf / MINUTE_MS) * MINUTE_MS;
  const promised = Math.ceil(since / MINUTE_MS) * MINUTE_MS;
  const first = Math.min(now, Math.max(promised, Math.min(...series.map(firstOf))));
  const isFirst = first > start;
  const from = isFirst ? first : start;
  const minutes = Math.floor((asOf - from) / MINUTE_MS);
  const ready = new Float64Array(minutes);
  for (const one of series) addReady(ready, one, from);
  const missing = ready.reduce((sum, held) => sum + Math.max(0, replicas - held), 0);
  return { from, until: start + (isFirst ? 2 : 1) * windowMs, unservedSeconds: missing * 60 };
}

function firstOf({ from, values }: MinuteSeries): number {
  const at = values.findIndex((value) => value !== null);
  return at < 0 ? Infinity : from + at * MINUTE_MS;
}

function addReady(sum: Float64Array, { from, values }: MinuteSeries, start: number): void {
  const first = Math.round((start - from) / MINUTE_MS);
  let last = values.slice(Math.max(0, first - GAP_MINUTES), Math.max(0, first)).findLast((one) => one !== null) ?? null;
  let since = 0;
  for (let minute = 0; minute < sum.length; minute += 1) {
    const value = values[first + minute] ?? null;
    const isEnd = minute === sum.length - 1;
    if (value === null && !isEnd) continue;
    const held = last !== null && minute - since <= GAP_MINUTES ? (value === null ? last : Math.min(last, value)) : 0;
    for (let at = since; at < minute; at += 1) sum[at] = (sum[at] ?? 0) + held;
    sum[minute] = (sum[minute] ?? 0) + (value ?? held);
    [last, since] = [value ?? last, minute + 1];
  }
}
