/**
 * The same plan in a small part of the space, for one that is kept while its job runs.
 *
 * An evaluation asks for the tables of one tick, and a job's next evaluations for those of the ticks that follow. All
 * of a tick's tables follow from the expected costs (`TickSolver`'s values) of the tick after it. Kept are those costs
 * at every n-th tick, n the root of the number of ticks, and the tables of the n ticks last asked about; any other
 * tick's are solved again from the kept costs that follow it, at most n ticks of work. Costs are kept in the 64 bits in
 * which they are solved and nothing is rounded, packed or left out. The invariant: the tables of every tick are those
 * of `planSpot` bit for bit, and so is every decision, whatever the belief.
 */
import type { AvailabilityModel } from './availability-model.js';
import { reserveGrid, TickSolver, type ReserveGrid, type SpotPlan } from './plan.js';
import type { SpotProblem } from './problem.js';

const bytesOf = (arrays: readonly ArrayBufferView[]): number =>
  arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);

export class KeptPlan implements SpotPlan {
  readonly grid: ReserveGrid;
  /** The most that its tables and costs ever take up. */
  readonly bytes: number;
  /** Ticks of a stretch. */
  private readonly stride: number;
  /** By stretch: the costs of the first tick after it; none after the last. */
  private readonly after: (readonly Float64Array[] | null)[];
  /** The tables of the stretch that was asked about last. */
  private stretch = 0;
  private tables: readonly Float32Array[];

  /** Plans `problem` under `model`: as long as `planSpot`. */
  constructor(
    readonly problem: SpotProblem,
    readonly model: AvailabilityModel,
  ) {
    this.grid = reserveGrid(problem);
    this.stride = Math.max(1, Math.ceil(Math.sqrt(problem.ticks)));
    const last = Math.ceil(problem.ticks / this.stride) - 1;
    this.after = new Array<null>(last + 1).fill(null);
    const solver = this.solver();
    for (let stretch = last; stretch > 0; stretch -= 1) {
      this.solve(solver, stretch);
      this.after[stretch - 1] = solver.valuesOf(stretch * this.stride);
    }
    this.tables = this.solve(solver, 0);
    // No stretch has larger tables than the first: the most work is left there.
    this.bytes = bytesOf(this.tables) + this.after.reduce((sum, values) => sum + bytesOf(values ?? []), 0);
  }

  dearer(tick: number): Float32Array | undefined {
    if (tick < 0 || tick >= this.problem.ticks) return undefined;
    const stretch = Math.floor(tick / this.stride);
    if (stretch !== this.stretch) {
      const solver = this.solver();
      const values = this.after[stretch] ?? null;
      if (values !== null) solver.resume(values);
      this.tables = this.solve(solver, stretch);
      this.stretch = stretch;
    }
    return this.tables[tick - stretch * this.stride];
  }

  /** Holds as much as some ticks' tables, so that none is kept. */
  private solver(): TickSolver {
    return new TickSolver(this.problem, this.model, this.grid);
  }

  /** The tables of a stretch by a solver that stands right after it. */
  private solve(solver: TickSolver, stretch: number): Float32Array[] {
    const first = stretch * this.stride;
    const tables: Float32Array[] = [];
    for (let tick = Math.min(this.problem.ticks, first + this.stride) - 1; tick >= first; tick -= 1)
      tables[tick - first] = solver.solve(tick);
    return tables;
  }
}
