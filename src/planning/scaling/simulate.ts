/**
 * One fleet against one load, minute by minute. Every policy, Bursar's and the published ones, runs through this file.
 *
 * Semantics of minute t, in this order:
 *   1. replicas that have booted for `bootMinutes` become ready;
 *   2. the policy sees the loads of the minutes before t and the fleet, and names the replicas it wants;
 *   3. the wish is held between `minReplicas` and `maxReplicas`; more: the difference starts to boot now; fewer: the
 *      youngest booting replicas go first, then ready ones, at once (Kubernetes deletes pods that are not ready first).
 *      For `cooldownMinutes` after a scale-in there is no further scale-in;
 *   4. every replica, booting or ready, is paid for the minute; only ready ones serve;
 *   5. load beyond the ready replicas is lost, not queued: it is the unserved load.
 * All start with the same ready fleet, the one that serves the first minute. A policy cannot see the load of minute t
 * or later: it is handed a view that ends before t.
 */

import { invalid, type Problem } from '../../core/errors.js';
import { replicasFor } from './load.js';

export interface FleetLimits {
  /** Minutes from the order of a replica until it serves; whole, 0 or more. */
  readonly bootMinutes: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Minutes after a scale-in without another one. */
  readonly cooldownMinutes: number;
}

/** The information that a policy has at the start of a minute. */
export interface FleetView {
  /** Index of the minute that begins. */
  readonly minute: number;
  /** Load of each earlier minute, in replicas (1 = what one replica serves); `past.length === minute`. */
  readonly past: Float64Array;
  readonly ready: number;
  readonly booting: number;
  /** Replicas that served the minute before: those that its metrics are about; 0 in the first minute. */
  readonly served: number;
  readonly limits: FleetLimits;
}

/** A policy with its own memory for one run: called once per minute, in order. Returns the total replicas wanted. */
export type ScalingPolicy = (view: FleetView) => number;

export interface FleetRun {
  /** Paid replica-minutes, booting ones included. */
  readonly replicaMinutes: number;
  /** Load in replica-minutes that no ready replica served. */
  readonly unserved: number;
  readonly load: number;
  /** Paid replicas in each minute. */
  readonly replicas: Int32Array;
}

/** @throws invalid naming every limit that is out of range. */
export function checkLimits(limits: FleetLimits): void {
  const problems: Problem[] = [];
  const whole = (path: keyof FleetLimits, least: number, most: number): void => {
    const value = limits[path];
    if (!Number.isInteger(value) || value < least || value > most) {
      problems.push({ path, message: `must be a whole number from ${least} to ${most}, got ${value}` });
    }
  };
  whole('bootMinutes', 0, 1440);
  whole('minReplicas', 1, 100_000);
  whole('maxReplicas', 1, 100_000);
  whole('cooldownMinutes', 0, 1440);
  if (limits.maxReplicas < limits.minReplicas) problems.push({ path: 'maxReplicas', message: 'is below minReplicas' });
  if (problems.length > 0) throw invalid('the limits of the fleet are not usable', problems);
}

/** The fleet that every policy starts with: ready for the first minute, within the limits. */
export function startingReplicas(load: ArrayLike<number>, limits: FleetLimits): number {
  return clamp(replicasFor(load[0] ?? 0), limits);
}

export const clamp = (replicas: number, limits: FleetLimits): number =>
  Math.min(limits.maxReplicas, Math.max(limits.minReplicas, replicas));

/**
 * Runs one policy over a load.
 *
 * @param load load of each minute, in replicas.
 * @throws invalid on limits out of range; an ordinary error when the policy wants something that is not a number.
 */
export function simulate(load: Float64Array, limits: FleetLimits, policy: ScalingPolicy): FleetRun {
  checkLimits(limits);
  // readyAt[i] is when the i-th booting replica becomes ready; oldest first, so the youngest are cut from the end.
  let readyAt: number[] = [];
  let ready = startingReplicas(load, limits);
  let lastScaleIn = -Infinity;
  let replicaMinutes = 0;
  let unserved = 0;
  let total = 0;
  let served = 0;
  const replicas = new Int32Array(load.length);
  for (let minute = 0; minute < load.length; minute++) {
    while (readyAt.length > 0 && readyAt[0]! <= minute) {
      readyAt.shift();
      ready++;
    }
    const have = ready + readyAt.length;
    const wish = policy({ minute, past: load.subarray(0, minute), ready, booting: readyAt.length, served, limits });
    if (!Number.isFinite(wish)) throw new Error(`a scaling policy wants ${wish} replicas at minute ${minute}`);
    const wanted = clamp(Math.ceil(wish), limits);
    if (wanted > have) {
      for (let i = have; i < wanted; i++) readyAt.push(minute + limits.bootMinutes);
      if (limits.bootMinutes === 0) {
        ready += readyAt.length;
        readyAt = [];
      }
    } else if (wanted < have && minute - lastScaleIn > limits.cooldownMinutes) {
      const cut = have - wanted;
      const cutBooting = Math.min(cut, readyAt.length);
      readyAt.length -= cutBooting;
      ready -= cut - cutBooting;
      lastScaleIn = minute;
    }
    const paid = ready + readyAt.length;
    replicas[minute] = paid;
    replicaMinutes += paid;
    total += load[minute]!;
    unserved += Math.max(0, load[minute]! - ready);
    served = ready;
  }
  return { replicaMinutes, unserved, load: total, replicas };
}
