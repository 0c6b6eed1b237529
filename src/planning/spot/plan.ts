/**
 * The exact dynamic program of the availability model: for every tick, reserve, instance held and spell, how much more
 * expensive each other choice is than on-demand, in expectation over the model's futures.
 *
 * "Reserve" is the time that could still be wasted with the deadline kept by on-demand: slack (time left minus work
 * left) minus the restart into on-demand where on-demand is not held. Waiting a tick costs a tick of it, a launch of
 * spot one restart, a change from on-demand to spot two. Cost follows from time: what is occupied is paid, so the value
 * needs no work axis of its own.
 * The frailty component is treated as known from the next tick on (QMDP: Littman, Cassandra, Kaelbling, ICML 1995); the
 * policy averages over its belief, and so needs the price of a choice for each component, not only which choice is best
 * for it. The plan reads a model only, never a window. The invariant: no choice below a reserve of zero is priced.
 */
import { AGE_GRID, COMPONENTS, agePosition, type AvailabilityModel } from './availability-model.js';
import type { SpotProblem } from './problem.js';

/** Of this file, for its inner loops: a module runner (the tests') asks another file for each use of its exports. */
const [AGES, EACH] = [AGE_GRID.length, COMPONENTS];
/** Cells of one row of a table: ages times components. */
export const WIDTH = AGES * EACH;

/** The tables of one tick: how much more expensive than on-demand a choice is, by what is held and what is seen. */
export const WAIT_WHEN_ABSENT = 0;
export const WAIT_WHEN_AVAILABLE = 1;
export const SPOT_WHEN_AVAILABLE = 2;
/** The same with on-demand held: to release it, or to move to spot. */
export const RELEASE_WHEN_ABSENT = 3;
export const MOVE_WHEN_AVAILABLE = 4;
export const TABLES = 5;

export interface SpotPlan {
  readonly problem: SpotProblem;
  readonly model: AvailabilityModel;
  readonly grid: ReserveGrid;
  /**
   * The tables of a tick: TABLES x grid points x ages x components, in the unit of the prices; undefined beyond the
   * last tick.
   */
  dearer(tick: number): Float32Array | undefined;
}

/** Reserve in units: fine near zero, where a restart decides, whole ticks above. */
export interface ReserveGrid {
  readonly points: Float64Array;
  /** Index of the point at or below a reserve that is not negative; the last but one if it is beyond the grid. */
  position(reserve: number): number;
}

const FINE_TICKS = 8;
const FINE_STEPS_PER_TICK = 5;

export function reserveGrid(problem: SpotProblem): ReserveGrid {
  const { tickUnits, ticks, jobUnits } = problem;
  const most = ticks * tickUnits - jobUnits;
  const fineStep = tickUnits / Math.min(FINE_STEPS_PER_TICK, tickUnits);
  const finePoints = Math.round((FINE_TICKS * tickUnits) / fineStep);
  const points: number[] = [];
  for (let i = 0; (points.at(-1) ?? -1) < most + tickUnits; i += 1) {
    points.push(i <= finePoints ? i * fineStep : (FINE_TICKS + i - finePoints) * tickUnits);
  }
  const position = (reserve: number): number => {
    const raw = reserve < FINE_TICKS * tickUnits ? reserve / fineStep : finePoints + reserve / tickUnits - FINE_TICKS;
    return Math.min(points.length - 2, Math.floor(raw));
  };
  return { points: Float64Array.from(points), position };
}

/**
 * The position of a reserve after a subtraction, for every grid point: index below and fraction; -1 where it is
 * negative.
 */
interface Shift {
  readonly index: Int32Array;
  readonly fraction: Float64Array;
}

function shiftBy(grid: ReserveGrid, change: number): Shift {
  const index = new Int32Array(grid.points.length).fill(-1);
  const fraction = new Float64Array(grid.points.length);
  grid.points.forEach((point, i) => {
    const reserve = point + change;
    if (reserve < 0) return;
    const at = grid.position(reserve);
    const below = grid.points[at] ?? 0;
    index[i] = at;
    fraction[i] = Math.min(1, (reserve - below) / ((grid.points[at + 1] ?? below) - below));
  });
  return { index, fraction };
}

/** Expected cost from the next tick on, by grid point x age x component, for what is held and what is seen now. */
interface ExpectedCosts {
  readonly idle: readonly [Float64Array, Float64Array];
  readonly onDemand: readonly [Float64Array, Float64Array];
  readonly spot: Float64Array;
  /** Spot that was launched this tick: if it is lost at once, the restart that was not spent comes back. */
  readonly launched: Float64Array;
}

type Values = Omit<ExpectedCosts, 'launched'>;

/**
 * Plans `problem` under `model` and holds the tables of every tick, for a plan that many windows use at once. Time and
 * space grow with ticks x slack; about a second and 110 MB for 80 hours of ten minutes. A plan that is kept is a
 * KeptPlan (kept-plan.ts).
 */
export function planSpot(problem: SpotProblem, model: AvailabilityModel): SpotPlan {
  const grid = reserveGrid(problem);
  const tables: Float32Array[] = new Array<Float32Array>(problem.ticks);
  const solver = new TickSolver(problem, model, grid);
  for (let tick = problem.ticks - 1; tick >= 0; tick -= 1) tables[tick] = solver.solve(tick);
  return { problem, model, grid, dearer: (tick) => tables[tick] };
}

const emptyValues = (size: number): Values => ({
  idle: [new Float64Array(size), new Float64Array(size)],
  onDemand: [new Float64Array(size), new Float64Array(size)],
  spot: new Float64Array(size),
});

/**
 * Stands for "cannot be chosen"; finite, so that interpolation stays finite. Prices are in units of a currency (3.06),
 * never in nanos.
 */
const BARRED = 1e9;

/**
 * Solves tick after tick backwards. What follows from a tick on is in its values alone, so that a solver can go on from
 * those of any tick.
 */
export class TickSolver {
  private readonly values: Values;
  private readonly expected: ExpectedCosts;
  private readonly wait: Shift;
  private readonly launch: Shift;
  private readonly release: Shift;
  private readonly move: Shift;
  private readonly refund: Shift;
  private readonly nextAge = AGE_GRID.map((age) => agePosition(age + 1));

  constructor(
    private readonly problem: SpotProblem,
    private readonly model: AvailabilityModel,
    private readonly grid: ReserveGrid,
  ) {
    const size = grid.points.length * WIDTH;
    this.values = emptyValues(size);
    this.expected = { ...emptyValues(size), launched: new Float64Array(size) };
    const { tickUnits, restartUnits } = problem;
    this.wait = shiftBy(grid, -tickUnits);
    this.launch = shiftBy(grid, -restartUnits);
    this.release = shiftBy(grid, -tickUnits - restartUnits);
    this.move = shiftBy(grid, -2 * restartUnits);
    this.refund = shiftBy(grid, Math.max(0, restartUnits - tickUnits));
  }

  /** Values of this tick from those of the next, and the tables of its decisions. Ticks come in falling order. */
  solve(tick: number): Float32Array {
    const { problem } = this;
    const timeLeft = (problem.ticks - tick) * problem.tickUnits;
    const rows = this.rowsOf(tick);
    this.expect(tick === problem.ticks - 1, rows);
    const tables = new Float32Array(TABLES * rows * WIDTH);
    for (let row = 0; row < rows; row += 1) this.solveRow(row, timeLeft, tables, rows);
    return tables;
  }

  /** A copy of the values of the tick that was solved last. */
  valuesOf(tick: number): readonly Float64Array[] {
    const used = this.rowsOf(tick) * WIDTH;
    return this.layers().map((values) => values.slice(0, used));
  }

  /** Restores the values of a tick; `solve` then continues with the tick before it. */
  resume(values: readonly Float64Array[]): void {
    this.layers().forEach((own, i) => {
      const kept = values[i] ?? own;
      own.set(kept);
      // No work is left beyond, and nothing to pay.
      own.fill(0, kept.length);
    });
  }

  private layers(): Float64Array[] {
    const { idle, onDemand, spot } = this.values;
    return [...idle, ...onDemand, spot];
  }

  /** Grid points of a tick; beyond that reserve no work is left at all. */
  private rowsOf(tick: number): number {
    const { problem, grid } = this;
    const timeLeft = (problem.ticks - tick) * problem.tickUnits;
    let rows = 0;
    while (rows < grid.points.length && (grid.points[rows] ?? 0) < timeLeft + problem.tickUnits) rows += 1;
    return rows;
  }

  private solveRow(row: number, timeLeft: number, tables: Float32Array, rows: number): void {
    const { problem, grid, expected, values } = this;
    const { tickUnits, restartUnits } = problem;
    const [, spotPrice, onDemandPrice] = problem.unitPrice;
    const reserve = grid.points[row] ?? 0;
    const workHeld = timeLeft - reserve;
    const workIdle = workHeld - restartUnits;
    /** Occupies this tick with `units` still to occupy before the end, then continues as in `then`. */
    const run = (units: number, price: number, then: Float64Array, shift: Shift | null, h: number): number => {
      if (units <= tickUnits) return Math.max(0, units) * price;
      if (shift !== null && (shift.index[row] ?? -1) < 0) return BARRED;
      return tickUnits * price + (shift === null ? (then[row * WIDTH + h] ?? 0) : this.at(then, shift, row, h));
    };
    const pick = (then: Float64Array, shift: Shift, h: number): number =>
      (shift.index[row] ?? -1) < 0 ? BARRED : this.at(then, shift, row, h);
    const put = (table: number, h: number, value: number): void => {
      tables[(table * rows + row) * WIDTH + h] = value;
    };
    for (let h = 0; h < WIDTH; h += 1) {
      const cell = row * WIDTH + h;
      for (const seen of [0, 1] as const) {
        const onDemand = run(workHeld, onDemandPrice, expected.onDemand[seen], null, h);
        const wait = workIdle <= 0 ? 0 : pick(expected.idle[seen], this.wait, h);
        const spot = seen === 1 ? run(workHeld, spotPrice, expected.launched, this.launch, h) : BARRED;
        put(seen === 1 ? WAIT_WHEN_AVAILABLE : WAIT_WHEN_ABSENT, h, wait - onDemand);
        if (seen === 1) put(SPOT_WHEN_AVAILABLE, h, spot - onDemand);
        values.idle[seen][cell] = workIdle <= 0 ? 0 : Math.min(onDemand, wait, spot);
        const release = seen === 0 ? pick(expected.idle[0], this.release, h) : BARRED;
        const move = seen === 1 ? run(workHeld + restartUnits, spotPrice, expected.launched, this.move, h) : BARRED;
        if (seen === 0) put(RELEASE_WHEN_ABSENT, h, release - onDemand);
        else put(MOVE_WHEN_AVAILABLE, h, move - onDemand);
        values.onDemand[seen][cell] = workHeld <= 0 ? 0 : Math.min(onDemand, release, move);
      }
      values.spot[cell] = workIdle <= 0 ? 0 : run(workIdle, spotPrice, expected.spot, null, h);
    }
  }

  private at(table: Float64Array, shift: Shift, row: number, h: number): number {
    const from = (shift.index[row] ?? 0) * WIDTH + h;
    const fraction = shift.fraction[row] ?? 0;
    return (table[from] ?? 0) * (1 - fraction) + (table[from + WIDTH] ?? 0) * fraction;
  }

  /** Expectation over the next tick's reading. After the last tick work that is left cannot be done. */
  private expect(last: boolean, rows: number): void {
    const { expected, values } = this;
    if (last) {
      for (const table of [...expected.idle, ...expected.onDemand, expected.spot, expected.launched])
        table.fill(BARRED);
      return;
    }
    const reach = Math.min(this.grid.points.length, rows + 1);
    for (let row = 0; row < reach; row += 1) {
      this.expectRow(expected.idle[0], 0, values.idle[0], values.idle[1], row);
      this.expectRow(expected.idle[1], 1, values.idle[1], values.idle[0], row);
      this.expectRow(expected.onDemand[0], 0, values.onDemand[0], values.onDemand[1], row);
      this.expectRow(expected.onDemand[1], 1, values.onDemand[1], values.onDemand[0], row);
      this.expectRow(expected.spot, 1, values.spot, values.idle[0], row);
      this.expectRow(expected.launched, 1, values.spot, values.idle[0], row, this.refund);
    }
  }

  private expectRow(
    out: Float64Array,
    state: 0 | 1,
    stays: Float64Array,
    ends: Float64Array,
    row: number,
    shift: Shift | null = null,
  ): void {
    const { reversion, persistence, stay } = this.model;
    const start = row * WIDTH;
    const after = (k: number): number => (shift === null ? (ends[start + k] ?? 0) : this.at(ends, shift, row, k));
    let fresh = 0;
    for (let k = 0; k < EACH; k += 1) fresh += (reversion[k] ?? 0) * after(k);
    for (let k = 0; k < EACH; k += 1) {
      const ended = persistence * after(k) + (1 - persistence) * fresh;
      for (let age = 0; age < AGES; age += 1) {
        const h = age * EACH + k;
        const next = this.nextAge[age];
        const from = start + (next?.index ?? 0) * EACH + k;
        const fraction = next?.fraction ?? 0;
        const older = (stays[from] ?? 0) * (1 - fraction) + (fraction > 0 ? (stays[from + EACH] ?? 0) * fraction : 0);
        const p = stay[state][h] ?? 0;
        out[start + h] = p * older + (1 - p) * ended;
      }
    }
  }
}
