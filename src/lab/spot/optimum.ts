/**
 * The clairvoyant optimum: the least that the job can cost in a window whose whole availability is known.
 *
 * A backward dynamic program over (tick, instance held, work left), exact because every quantity is a whole number of
 * units (problem.ts) and the transitions are those of simulate.ts. It is a yardstick and never a policy. Wu et al.,
 * NSDI 2024, section
 * 5.3.1 state the same optimum as an integer program.
 */
import { type SpotProblem } from '../../planning/spot/problem.js';

/**
 * The values that restart left can have at the start of a tick on a held instance: 0, and what is left after whole
 * ticks of restart.
 */
function restartLevels(problem: SpotProblem): number[] {
  const levels = [0];
  for (let left = problem.restartUnits - problem.tickUnits; left > 0; left -= problem.tickUnits) levels.push(left);
  return levels;
}

/** Least cost of the window. `availability` holds 1 where spot can be had and covers every tick before the deadline. */
export function optimumCost(problem: SpotProblem, availability: Uint8Array): number {
  const { tickUnits, jobUnits, restartUnits, ticks } = problem;
  const levels = restartLevels(problem);
  const width = jobUnits + 1;
  // Row 0 is idle, rows 1.. spot by restart level, the rest on-demand by restart level.
  let next = new Float64Array(width * (1 + 2 * levels.length)).fill(Infinity);
  let value = new Float64Array(next.length).fill(Infinity);
  const run = (kind: 1 | 2, restart: number, work: number): number => {
    const price = problem.unitPrice[kind];
    const firstRow = kind === 1 ? 1 : 1 + levels.length;
    if (restart >= tickUnits) {
      const row = firstRow + Math.max(0, levels.indexOf(restart - tickUnits));
      return tickUnits * price + (next[row * width + work] ?? Infinity);
    }
    const progress = tickUnits - restart;
    if (work <= progress) return (restart + work) * price;
    return tickUnits * price + (next[firstRow * width + work - progress] ?? Infinity);
  };
  for (let tick = ticks - 1; tick >= 0; tick -= 1) {
    const available = availability[tick] === 1;
    value.fill(Infinity);
    const leastWork = Math.max(1, jobUnits - tick * tickUnits);
    const mostWork = Math.min(jobUnits, (ticks - tick) * tickUnits);
    for (let work = leastWork; work <= mostWork; work += 1) {
      let fresh = Math.min(next[work] ?? Infinity, run(2, restartUnits, work));
      if (available) fresh = Math.min(fresh, run(1, restartUnits, work));
      value[work] = fresh;
      for (let level = 0; level < levels.length; level += 1) {
        const restart = levels[level] ?? 0;
        const spotRow = (1 + level) * width + work;
        value[spotRow] = available ? Math.min(fresh, run(1, restart, work)) : fresh;
        value[spotRow + levels.length * width] = Math.min(fresh, run(2, restart, work));
      }
    }
    [value, next] = [next, value];
  }
  return next[jobUnits] ?? Infinity;
}
