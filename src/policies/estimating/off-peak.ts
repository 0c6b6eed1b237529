/**
 * The cheapest whole hours in which a job can do its work before its deadline, in few pieces.
 *
 * Exact, by dynamic programming over (hour, starts, hours run, whether it runs): every start first loses a restart; a
 * job that already runs and continues loses none. It uses the price of each hour from a calendar; it forecasts nothing.
 */

export interface HoursProblem {
  /** Cost of running in each whole hour until the deadline. */
  readonly hourCost: Float64Array;
  readonly workHours: number;
  /** Hours lost at the start of every piece. */
  readonly restartHours: number;
  /** Most starts. */
  readonly mostStarts: number;
  /** It runs now: until its first pause it loses nothing. */
  readonly isRunning: boolean;
}

export interface HoursPlan {
  readonly cost: number;
  /** Half-open, in hours from now. */
  readonly pieces: readonly { readonly from: number; readonly to: number }[];
}

/** The plan that costs least, and of equals one with fewer starts; null if the work does not fit. */
export function cheapestHours({
  hourCost,
  workHours,
  restartHours,
  mostStarts,
  isRunning,
}: HoursProblem): HoursPlan | null {
  const hours = hourCost.length;
  const mostRun = Math.min(hours, Math.ceil(workHours + mostStarts * restartHours));
  const width = mostRun + 1;
  const states = (mostStarts + 1) * width * 2;
  const at = (starts: number, run: number, running: number): number => (starts * width + run) * 2 + running;
  let cost = new Float64Array(states).fill(Infinity);
  cost[at(0, 0, isRunning ? 1 : 0)] = 0;
  // Which running flag each state came from, per hour.
  const from: Uint8Array[] = [];
  for (let hour = 0; hour < hours; hour++) {
    const next = new Float64Array(states).fill(Infinity);
    const came = new Uint8Array(states);
    for (let starts = 0; starts <= mostStarts; starts++) {
      for (let run = 0; run <= mostRun; run++) {
        for (const running of [0, 1] as const) {
          const now = cost[at(starts, run, running)]!;
          if (now === Infinity) continue;
          relax(next, came, at(starts, run, 0), now, running);
          const begun = running === 1 ? starts : starts + 1;
          if (begun <= mostStarts && run < mostRun)
            relax(next, came, at(begun, run + 1, 1), now + hourCost[hour]!, running);
        }
      }
    }
    from.push(came);
    cost = next;
  }
  let best: { starts: number; run: number; running: 0 | 1; cost: number } | null = null;
  for (let starts = 0; starts <= mostStarts; starts++) {
    for (let run = 1; run <= mostRun; run++) {
      for (const running of [0, 1] as const) {
        const total = cost[at(starts, run, running)]!;
        if (run - starts * restartHours + 1e-9 >= workHours && total < (best?.cost ?? Infinity) - 1e-9)
          best = { starts, run, running, cost: total };
      }
    }
  }
  return best === null ? null : { cost: best.cost, pieces: walk(from, at, best) };
}

function relax(next: Float64Array, came: Uint8Array, state: number, cost: number, running: number): void {
  if (cost < next[state]! - 1e-9) {
    next[state] = cost;
    came[state] = running;
  }
}

function walk(
  from: readonly Uint8Array[],
  at: (starts: number, run: number, running: number) => number,
  end: { starts: number; run: number; running: 0 | 1 },
): HoursPlan['pieces'] {
  const ran: number[] = [];
  let { starts, run } = end;
  let running: number = end.running;
  for (let hour = from.length - 1; hour >= 0; hour--) {
    const before = from[hour]![at(starts, run, running)]!;
    if (running === 1) {
      ran.push(hour);
      run--;
      if (before === 0) starts--;
    }
    running = before;
  }
  return joined(ran.reverse());
}

function joined(hours: readonly number[]): { from: number; to: number }[] {
  const pieces: { from: number; to: number }[] = [];
  for (const hour of hours) {
    const last = pieces.at(-1);
    if (last !== undefined && last.to === hour) last.to = hour + 1;
    else pieces.push({ from: hour, to: hour + 1 });
  }
  return pieces;
}
