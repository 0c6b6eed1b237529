/**
 * The cost of idle GPUs, as money per hour, between two undisputed bounds.
 *
 * The low end counts only minutes in which readings show that nothing ran and no request arrived; a minute without a
 * reading counts as used. The high end counts all GPU time that no reading shows as used. Without a reading or a price
 * the value is unknown, which is not zero. A service may be useful at a low utilisation: the low end leaves it out as
 * long as it gets any request, and the high end is not a judgement.
 */

/** Below this a GPU computes nothing: DCGM tells utilisation in whole percent. */
const NOTHING_RATIO = 0.01;

/** What something costs an hour, and what of that is idle; null: unknown. */
export interface Faring {
  readonly hourly: bigint | null;
  readonly unused: UnusedCost | null;
}

/**
 * The idle cost of a group by its machines. A machine without a reading counts as used at the low end, and as idle at
 * the high end. Null: no machine has one.
 * @param hourlyNanos what the group costs an hour
 */
export function unusedOfGroup(hourlyNanos: bigint | null, machines: readonly Faring[]): UnusedCost | null {
  const read = machines.filter(({ unused }) => unused !== null);
  if (hourlyNanos === null || read.length === 0) return null;
  const sum = (of: (one: Faring) => bigint): bigint => read.reduce((all, one) => all + of(one), 0n);
  const unread = hourlyNanos - sum(({ hourly }) => hourly ?? 0n);
  return {
    low: sum(({ unused }) => unused?.low ?? 0n),
    high: sum(({ unused }) => unused?.high ?? 0n) + (unread > 0n ? unread : 0n),
  };
}

/** A minute as its readings show it. */
export interface UsedMinute {
  /** Utilisation of the busiest GPU, 0 to 1; null: blank. */
  readonly gpu: number | null;
  /** Requests a second; null: nobody counts them. */
  readonly rps: number | null;
}

export interface UnusedCost {
  /** Nanos an hour. */
  readonly low: bigint;
  readonly high: bigint;
}

/**
 * @param hourlyNanos what it costs an hour; null: no price
 * @param minutesOfWindow how many minutes there were to read
 */
export function unusedCost(
  hourlyNanos: bigint | null,
  minutes: readonly UsedMinute[],
  minutesOfWindow: number,
): UnusedCost | null {
  const read = minutes.filter(({ gpu }) => gpu !== null);
  const all = Math.max(minutesOfWindow, read.length);
  if (hourlyNanos === null || read.length === 0) return null;
  const busy = read.filter(({ gpu, rps }) => (gpu ?? 1) >= NOTHING_RATIO || (rps ?? 0) > 0);
  const idle = read.length - busy.length;
  // Readings are floats: a millionth is finer than they are. An idle minute is idle at both ends.
  const used = Math.round(1e6 * busy.reduce((sum, { gpu }) => sum + Math.min(1, Math.max(0, gpu ?? 0)), 0));
  const whole = BigInt(all) * 1_000_000n;
  return { low: (hourlyNanos * BigInt(idle)) / BigInt(all), high: (hourlyNanos * (whole - BigInt(used))) / whole };
}
