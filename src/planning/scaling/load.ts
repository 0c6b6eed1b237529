/**
 * From arrivals to load: requests per calendar minute, and how many of them one replica serves in a minute.
 *
 * Reads no file and no clock. A minute without arrivals between the first and the last arrival is a measured zero;
 * minutes outside them are unknown and are not in the series.
 */

import { invalid } from '../../core/errors.js';

const MINUTE_MILLISECONDS = 60_000;

/** Two years: a longer series is a mistaken unit of time, not a trace. */
const MAXIMUM_MINUTES = 1_051_200;

/**
 * Requests per minute, from the minute of the first arrival to the minute of the last, both as far as they were seen.
 *
 * @param arrivalMilliseconds instants in milliseconds since any origin that is itself a whole minute; any order.
 * @throws invalid when there is none, one is not finite, or they span more than two years.
 */
export function requestsPerMinute(arrivalMilliseconds: ArrayLike<number>): Float64Array {
  let first = Infinity;
  let last = -Infinity;
  let strange = 0;
  for (let i = 0; i < arrivalMilliseconds.length; i++) {
    const at = arrivalMilliseconds[i]!;
    if (!Number.isFinite(at)) strange++;
    first = Math.min(first, at);
    last = Math.max(last, at);
  }
  if (arrivalMilliseconds.length === 0) throw invalid('no arrivals');
  if (strange > 0) throw invalid(`${strange} arrivals have no finite time`);
  const firstMinute = Math.floor(first / MINUTE_MILLISECONDS);
  const minutes = Math.floor(last / MINUTE_MILLISECONDS) - firstMinute + 1;
  if (minutes > MAXIMUM_MINUTES)
    throw invalid(`the arrivals span ${minutes} minutes, more than ${MAXIMUM_MINUTES}: is the unit of time right?`);
  const requests = new Float64Array(minutes);
  for (let i = 0; i < arrivalMilliseconds.length; i++) {
    const minute = Math.floor(arrivalMilliseconds[i]! / MINUTE_MILLISECONDS) - firstMinute;
    requests[minute] = requests[minute]! + 1;
  }
  return requests;
}

/**
 * Quantile of a sample with linear interpolation between order statistics (Hyndman and Fan 1996, type 7: the default
 * of R and NumPy). `probability` is in [0, 1]; the sample must not be empty.
 */
export function quantile(sample: ArrayLike<number>, probability: number): number {
  const sorted = Float64Array.from(sample).sort();
  if (sorted.length === 0) throw invalid('a quantile of an empty sample');
  const position = probability * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (position - below);
}

/**
 * Requests that one replica serves in a minute, such that `peakReplicas` serve the 99th percentile of a minute's load.
 *
 * @throws invalid when that percentile is zero: the load of such a series has no scale.
 */
export function capacityPerReplica(requests: ArrayLike<number>, peakReplicas: number): number {
  const peakLoad = quantile(requests, 0.99);
  if (!(peakLoad > 0))
    throw invalid('the 99th percentile of the load is zero: the arrivals are too few to scale a fleet for');
  return peakLoad / peakReplicas;
}

/** Replicas that serve `load` (in replicas, fractions allowed) whole; tolerates the rounding of a division. */
export const replicasFor = (load: number): number => Math.ceil(load - 1e-9);
