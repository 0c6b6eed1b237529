/**
 * The least that a job can cost until an instant, for somebody who knows every price and every hour with spot: a
 * yardstick, never a policy.
 *
 * A forward dynamic program over (slot, machine held and its size, restart left, work left). If two ways lead to the
 * same machine and restart, and one has no more work left and cost no more, it dominates the other: it can do whatever
 * the other does, and finishes no later. So only the undominated ways are kept, with their exact work left; nothing is
 * rounded, so the answer is exact. It decides at the start of each slot, as the published rules do; policies decide at
 * some of these.
 */
import { HOUR_MS } from '../../core/time.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from '../spot/problem.js';
import { spendSlot, wayOf, type JobSize, type JobSlot, type JobState } from './job-run.js';

export interface ScheduleProblem {
  /** In order, without a gap, up to the instant by which the work has to be done. */
  readonly slots: readonly JobSlot[];
  readonly first: JobState;
  readonly restartMs: number;
  /** Sizes that it may have beside its own. */
  readonly sizes?: readonly JobSize[];
  /** The same slots at other places, from the place numbered 1 on. */
  readonly elsewhere?: readonly (readonly JobSlot[])[];
  /** What the data costs from place to place (`wayOf`); a way that is not named is not open. */
  readonly sent?: ReadonlyMap<string, number>;
  /** The permitted modes; absent: all, and none. If only spot is permitted, it waits while spot is gone. */
  readonly modes?: readonly Mode[];
}

interface Way {
  readonly state: JobState;
  readonly cost: number;
}

/** A place of null: where its checkpoint lies. */
interface Machine {
  readonly mode: Mode;
  readonly size?: JobSize;
  readonly place: number | null;
}

const MODES: readonly Mode[] = [IDLE, SPOT, ON_DEMAND];

/**
 * @param known what some schedule that is done in time costs: the answer is never more. Infinity: none is known of
 * @returns currency units; Infinity: it cannot be done in time
 */
export function cheapestSchedule(
  { slots, first, restartMs, sizes = [], elsewhere = [], sent = new Map(), modes = MODES }: ScheduleProblem,
  known = Infinity,
): number {
  if (first.workLeftMs <= 0) return 0;
  // The least that an hour of its own work takes, and the least share of its own machines' hours that it costs.
  const fastest = Math.max(1, ...sizes.map(({ speed }) => speed));
  const leanest = Math.min(1, ...sizes.map(({ share, speed }) => share / speed));
  const places = [slots, ...elsewhere];
  const machines = modes.flatMap((mode): Machine[] =>
    mode === IDLE
      ? [{ mode, place: null }]
      : places.flatMap((_, place) => [{ mode, place }, ...sizes.map((size) => ({ mode, size, place }))]),
  );
  const { timeLeft, cheapest } = aheadOf(places);
  let best = known;
  let ways: readonly Way[] = [{ state: first, cost: 0 }];
  slots.forEach((own, at) => {
    const next = new Map<number, Way[]>();
    for (const { state, cost } of ways) {
      machines.forEach(({ mode, size, place }, machine) => {
        const from = state.place ?? 0;
        const slot = places[place ?? from]?.[at] ?? own;
        const egress = place === null || place === from ? 0 : sent.get(wayOf(from, place));
        if (egress === undefined) return;
        if (mode === SPOT && slot.spot === null && modes.includes(IDLE)) return;
        const spent = spendSlot(slot, state, mode, restartMs, size, { place: place ?? from, egress });
        const whole = cost + spent.cost;
        const { restartLeftMs, workLeftMs } = spent.state;
        if (workLeftMs <= 0) {
          best = Math.min(best, whole);
          return;
        }
        // It cannot be done in time any more, or not for less.
        if (
          workLeftMs / fastest + restartLeftMs > (timeLeft[at + 1] ?? 0) ||
          whole + (workLeftMs / HOUR_MS) * leanest * (cheapest[at + 1] ?? 0) >= best
        )
          return;
        const name = (restartLeftMs * machines.length + machine) * places.length + (spent.state.place ?? 0);
        const alike = next.get(name);
        if (alike === undefined) next.set(name, [{ state: spent.state, cost: whole }]);
        else alike.push({ state: spent.state, cost: whole });
      });
    }
    ways = [...next.values()].flatMap(unbeaten);
  });
  return best;
}

/** Before each slot: the time that there is, and the least that an hour costs from there on. */
function aheadOf(places: readonly (readonly JobSlot[])[]): {
  readonly timeLeft: Float64Array;
  readonly cheapest: Float64Array;
} {
  const slots = places[0] ?? [];
  const timeLeft = new Float64Array(slots.length + 1);
  const cheapest = new Float64Array(slots.length + 1).fill(Infinity);
  for (let at = slots.length - 1; at >= 0; at--) {
    timeLeft[at] = timeLeft[at + 1]! + slots[at]!.ms;
    const prices = places.flatMap((there) => [there[at]?.onDemand ?? Infinity, there[at]?.spot ?? Infinity]);
    cheapest[at] = Math.min(cheapest[at + 1]!, ...prices);
  }
  return { timeLeft, cheapest };
}

/** Among ways to the same machine, those that no other way beats in both cost and work left. */
function unbeaten(ways: Way[]): Way[] {
  ways.sort((a, b) => a.cost - b.cost || a.state.workLeftMs - b.state.workLeftMs);
  let least = Infinity;
  return ways.filter(({ state }) => state.workLeftMs < least && ((least = state.workLeftMs), true));
}
