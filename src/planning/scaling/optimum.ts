/**
 * The fewest replica-minutes that serve every minute whole, knowing the load ahead: the yardstick of `costRatio`.
 *
 * Never a policy: it reads the future. It chooses its own starting fleet, pays `bootMinutes` for every replica that it
 * starts later, and is held to the same minimum and maximum; load beyond the maximum is lost to everyone.
 *
 * Exact, because the fleet splits into levels: level k must be ready in the minutes whose need is k or more, and these
 * sets are nested. Between two such minutes a level is either kept (one replica-minute per minute) or let go and booted
 * again, which is paid for `bootMinutes`, so a gap of g minutes costs min(g, bootMinutes) and never more. Before its
 * first use a level boots likewise, or belongs to the starting fleet. No fleet can do better in any level, and the
 * levels together are one valid fleet. A brute force over all fleets confirms it in the tests.
 */

import { clamp, type FleetLimits } from './simulate.js';
import { replicasFor } from './load.js';

export interface Optimum {
  readonly replicaMinutes: number;
  /** Load in replica-minutes beyond the maximum fleet; zero where the maximum allows the peak. */
  readonly unserved: number;
}

/** @param load load of each minute, in replicas. Time O(minutes + total change of need). */
export function clairvoyant(load: Float64Array, limits: FleetLimits): Optimum {
  // lastNeeded[k] is the last minute that needed level k; -1 before its first use, so that the gap counts from zero.
  const lastNeeded = new Int32Array(limits.maxReplicas + 1).fill(-1);
  let replicaMinutes = 0;
  let unserved = 0;
  let previous = 0;
  for (let minute = 0; minute < load.length; minute++) {
    const need = clamp(replicasFor(load[minute]!), limits);
    for (let level = previous + 1; level <= need; level++) {
      const gap = minute - lastNeeded[level]! - 1;
      replicaMinutes += Math.min(gap, limits.bootMinutes);
    }
    for (let level = need + 1; level <= previous; level++) lastNeeded[level] = minute - 1;
    replicaMinutes += need;
    unserved += Math.max(0, load[minute]! - limits.maxReplicas);
    previous = need;
  }
  return { replicaMinutes, unserved };
}
