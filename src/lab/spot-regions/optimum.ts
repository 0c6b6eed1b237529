/**
 * The clairvoyant optimum over many zones: the least that the job can cost in a window that is wholly known.
 *
 * A backward dynamic program over (tick, instance held or region of the checkpoint, restart left, work left), exact
 * because every quantity of time is a whole number of units and the transitions are those of
 * planning/spot-regions/simulate.ts. It probes nothing and tries only what succeeds. Of the on-demand offers of one
 * region only the cheapest counts: it is always there, so no other is ever better. A yardstick and never a policy.
 */
import { ON_DEMAND, SPOT, type RegionsProblem, type RegionsWindow } from '../../planning/spot-regions/problem.js';

/** An instance that can be held, with its rows: one per level of restart left. */
interface Offer {
  readonly mode: typeof SPOT | typeof ON_DEMAND;
  readonly zone: number;
  readonly region: number;
}

function offersOf({ names, regionOf, onDemandPerHour }: RegionsProblem): Offer[] {
  const spot = names.map((_, zone): Offer => ({ mode: SPOT, zone, region: regionOf[zone] ?? 0 }));
  const onDemand = [...new Set(regionOf)].map((region): Offer => {
    const zones = names.map((_, zone) => zone).filter((zone) => regionOf[zone] === region);
    const zone = zones.reduce((best, one) =>
      (onDemandPerHour[one] ?? Infinity) < (onDemandPerHour[best] ?? Infinity) ? one : best,
    );
    return { mode: ON_DEMAND, zone, region };
  });
  return [...spot, ...onDemand];
}

/** Least cost of the window, which covers every tick before the deadline; Infinity where it cannot be finished. */
export function regionsOptimum(problem: RegionsProblem, window: RegionsWindow): number {
  const { jobUnits, tickUnits, restartUnits, ticks, egress } = problem;
  const width = jobUnits + 1;
  const levels = [0];
  for (let left = restartUnits - tickUnits; left > 0; left -= tickUnits) levels.push(left);
  const offers = offersOf(problem);
  const rows = (): Float64Array[][] =>
    offers.map(() => levels.map(() => new Float64Array(width).fill(Infinity).fill(0, 0, 1)));
  /** Without an instance, by the region of the checkpoint; the last: it lies nowhere yet. */
  const idleRows = (): Float64Array[] =>
    [...egress, []].map(() => new Float64Array(width).fill(Infinity).fill(0, 0, 1));
  let [held, nextHeld] = [rows(), rows()];
  let [idle, nextIdle] = [idleRows(), idleRows()];
  const launch = egress.map(() => new Float64Array(width));
  for (let tick = ticks - 1; tick >= 0; tick -= 1) {
    const from = Math.max(1, jobUnits - tick * tickUnits);
    const to = Math.min(jobUnits, (ticks - tick) * tickUnits);
    const prices = offers.map(({ mode, zone }) => {
      const perHour = mode === SPOT ? window.spotPerHour[zone]?.[tick] : problem.onDemandPerHour[zone];
      return ((perHour ?? NaN) * problem.unitSeconds) / 3600;
    });
    const there = offers.map(({ mode, zone }) => mode === ON_DEMAND || window.available[zone]?.[tick] === 1);
    for (const row of launch) row.fill(Infinity);
    offers.forEach(({ region }, i) => {
      const row = launch[region];
      if (there[i] && row !== undefined)
        runInto(row, nextHeld[i] ?? [], {
          price: prices[i] ?? NaN,
          restart: restartUnits,
          tickUnits,
          levels,
          from,
          to,
        });
    });
    idle.forEach((row, region) => chooseFresh(row, nextIdle[region] ?? row, launch, egress[region], from, to));
    offers.forEach(({ region }, i) =>
      levels.forEach((restart, level) => {
        const row = held[i]?.[level];
        const fresh = idle[region];
        if (row === undefined || fresh === undefined) return;
        for (let work = from; work <= to; work += 1) row[work] = fresh[work] ?? Infinity;
        const terms = { price: prices[i] ?? NaN, restart, tickUnits, levels, from, to };
        if (there[i]) runInto(row, nextHeld[i] ?? [], terms);
      }),
    );
    [held, nextHeld] = [nextHeld, held];
    [idle, nextIdle] = [nextIdle, idle];
  }
  return nextIdle.at(-1)?.[jobUnits] ?? Infinity;
}

interface RunTerms {
  readonly price: number;
  readonly restart: number;
  readonly tickUnits: number;
  readonly levels: readonly number[];
  readonly from: number;
  readonly to: number;
}

/** Lowers `into` to what a tick on an instance costs with what follows; `next`: its rows in the next tick, by level. */
function runInto(into: Float64Array, next: readonly Float64Array[], terms: RunTerms): void {
  const { price, restart, tickUnits, levels, from, to } = terms;
  const whole = tickUnits * price;
  const level = restart > tickUnits ? levels.indexOf(restart - tickUnits) : 0;
  const progress = Math.max(0, tickUnits - restart);
  const row = next[level];
  if (row === undefined) return;
  for (let work = from; work <= to; work += 1) {
    const cost = work <= progress ? (restart + work) * price : whole + (row[work - progress] ?? Infinity);
    if (cost < (into[work] ?? Infinity)) into[work] = cost;
  }
}

/** The least of waiting and of every launch with its egress. */
function chooseFresh(
  into: Float64Array,
  waiting: Float64Array,
  launch: readonly Float64Array[],
  egress: readonly number[] | undefined,
  from: number,
  to: number,
): void {
  for (let work = from; work <= to; work += 1) into[work] = waiting[work] ?? Infinity;
  launch.forEach((row, region) => {
    const move = egress?.[region] ?? 0;
    for (let work = from; work <= to; work += 1) {
      const cost = (row[work] ?? Infinity) + move;
      if (cost < (into[work] ?? Infinity)) into[work] = cost;
    }
  });
}
