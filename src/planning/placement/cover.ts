/**
 * Covering a capacity at least cost with whole units: an exact integer program by dynamic programming.
 *
 * minimise sum(cost x units) subject to sum(capacity x units) >= need, sum over steady items >= steadyNeed, and
 * units <= limit. Two tables hold the least cost of covering each capacity with steady and with interruptible items;
 * every feasible choice splits at some capacity between the two, so the least sum over the splits is the optimum. Costs
 * are exact.
 */
import { invalid } from '../../core/errors.js';

export interface CoverItem {
  /** Whole, above 0. */
  readonly capacity: number;
  readonly cost: bigint;
  readonly limit: number;
  /** Counts towards `steadyNeed`. */
  readonly steady: boolean;
}

export interface Cover {
  readonly cost: bigint;
  /** Units of each item, in the order given. */
  readonly units: readonly number[];
}

/** Steps of all table updates together; beyond them capacities are too finely divided to be solved in a moment. */
const MOST_STEPS = 50_000_000;

interface Bundle {
  readonly item: number;
  readonly units: number;
  readonly capacity: number;
  readonly cost: bigint;
}

/** Least cost of covering 0, 1, ... with one class of items; null if it cannot be covered. */
interface Table {
  readonly least: readonly (bigint | null)[];
  readonly bundles: readonly Bundle[];
  /** Per bundle, 1 at capacities whose least cost uses it. */
  readonly taken: readonly Uint8Array[];
}

/**
 * The cheapest cover, or null if the limits leave none. @throws Failure `invalid` if the capacities are too finely
 * divided.
 */
export function cheapestCover(
  items: readonly CoverItem[],
  need: number,
  steadyNeed: number,
  mostSteps = MOST_STEPS,
): Cover | null {
  const unit = [need, steadyNeed, ...items.map(({ capacity }) => capacity)].reduce(greatestCommonDivisor);
  const target = need / unit;
  const steady = tableOf(bundlesOf(items, true, unit, target), target, mostSteps);
  const interruptible = tableOf(bundlesOf(items, false, unit, target), target, mostSteps);
  let best: { cost: bigint; split: number } | null = null;
  for (let split = steadyNeed / unit; split <= target; split++) {
    const [a, b] = [steady.least[split], interruptible.least[target - split]];
    if (a === null || a === undefined || b === null || b === undefined) continue;
    if (best === null || a + b < best.cost) best = { cost: a + b, split };
  }
  if (best === null) return null;
  const units = items.map(() => 0);
  addTaken(steady, best.split, units);
  addTaken(interruptible, target - best.split, units);
  return { cost: best.cost, units };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/**
 * Items that another beats at every number of units are left out; the rest is bundled by powers of two, so that each
 * limit is met exactly.
 */
function bundlesOf(items: readonly CoverItem[], steady: boolean, unit: number, target: number): Bundle[] {
  const order = items
    .map((item, index) => ({ ...item, index }))
    .filter((item) => item.steady === steady && item.limit > 0)
    .sort((a, b) => (a.cost < b.cost ? -1 : a.cost > b.cost ? 1 : b.capacity - a.capacity || a.index - b.index));
  const kept: typeof order = [];
  let unlimitedCapacity = 0;
  for (const item of order) {
    if (item.capacity <= unlimitedCapacity) continue;
    kept.push(item);
    if (item.limit * item.capacity >= target * unit) unlimitedCapacity = item.capacity;
  }
  return kept.flatMap(({ index, capacity, cost, limit }) => {
    const bundles: Bundle[] = [];
    let left = Math.min(limit, Math.ceil((target * unit) / capacity));
    for (let size = 1; left > 0; size *= 2) {
      const units = Math.min(size, left);
      bundles.push({ item: index, units, capacity: (units * capacity) / unit, cost: cost * BigInt(units) });
      left -= units;
    }
    return bundles;
  });
}

function tableOf(bundles: readonly Bundle[], target: number, mostSteps: number): Table {
  if (bundles.length * target > mostSteps)
    throw invalid('the mix cannot be solved', [
      { path: 'relativeSpeeds', message: 'divide the GPUs too finely: give them fewer digits, or ask for fewer GPUs' },
    ]);
  const least: (bigint | null)[] = Array.from({ length: target + 1 }, (_, capacity) => (capacity === 0 ? 0n : null));
  const taken = bundles.map(({ capacity, cost }) => {
    const used = new Uint8Array(target + 1);
    for (let covered = target; covered > 0; covered--) {
      const before = least[Math.max(0, covered - capacity)];
      if (before === null || before === undefined) continue;
      const now = least[covered];
      if (now !== null && now !== undefined && now <= before + cost) continue;
      least[covered] = before + cost;
      used[covered] = 1;
    }
    return used;
  });
  return { least, bundles, taken };
}

function addTaken({ bundles, taken }: Table, capacity: number, units: number[]): void {
  let left = capacity;
  for (let b = bundles.length - 1; b >= 0 && left > 0; b--) {
    const bundle = bundles[b]!;
    if (taken[b]![left] !== 1) continue;
    units[bundle.item] = units[bundle.item]! + bundle.units;
    left = Math.max(0, left - bundle.capacity);
  }
}
