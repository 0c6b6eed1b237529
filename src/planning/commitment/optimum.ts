/**
 * The clairvoyant optimum: the cheapest purchases for a demand that is known in advance, exactly.
 *
 * It is the linear program `min sum(fee_s r_s + o_t)` subject to `sum(r_s active in t) + o_t >= d_t`. Each column has
 * its ones in consecutive rows, so the matrix is totally unimodular and the program is a minimum-cost flow on a line
 * (Ahuja, Magnanti, Orlin, Network Flows, section 9.6): `peak` units walk from hour 0 to the end, an hour is crossed
 * idle (free, but by at most peak - d_t units), on demand (one hour's price) or inside a reservation (an arc of one
 * term). This file never estimates: the cost is the optimum's, and the purchases attain it.
 */
import { type CommitmentTerm, commitmentCost, effectiveRatio, residualDemand } from './model.js';

export interface Optimum {
  /** GPUs bought at the start of each hour. */
  readonly purchases: Int32Array;
  /** On-demand GPU-hours. */
  readonly cost: number;
}

/** The cheapest purchases for `demand` (GPUs per hour), and what they cost; `existing` as in `commitmentCost`. */
export function optimum(demand: Int32Array, term: CommitmentTerm, existing?: Int32Array): Optimum {
  const residual = residualDemand(demand, existing);
  const ratio = effectiveRatio(term);
  const purchases = ratio < 1 ? new LineFlow(residual, term.termHours, ratio).solve() : new Int32Array(demand.length);
  return { purchases, cost: commitmentCost(demand, purchases, term, existing) };
}

/** Below this a difference of path costs is rounding; costs are at most some thousand on-demand hours. */
const TOLERANCE = 1e-9;

/** The arc by which a shortest path enters a node. */
const Enter = { idle: 1, onDemand: 2, reservation: 3, idleUndone: 4, onDemandUndone: 5, reservationUndone: 6 } as const;

/** Successive shortest paths: each path carries as many units as it can, and the last one leaves an optimal flow. */
class LineFlow {
  private readonly hours: number;
  private readonly peak: number;
  private readonly idleRoom: Int32Array;
  private readonly idle: Int32Array;
  private readonly onDemand: Int32Array;
  private readonly reserved: Int32Array;
  private readonly distance: Float64Array;
  private readonly enteredBy: Int8Array;
  private readonly enteredFrom: Int32Array;

  constructor(
    demand: Int32Array,
    private readonly termHours: number,
    private readonly ratio: number,
  ) {
    this.hours = demand.length;
    this.peak = demand.reduce((most, gpus) => Math.max(most, gpus), 0);
    this.idleRoom = demand.map((gpus) => this.peak - gpus);
    this.idle = new Int32Array(this.hours);
    this.onDemand = new Int32Array(this.hours);
    this.reserved = new Int32Array(this.hours);
    this.distance = new Float64Array(this.hours + 1);
    this.enteredBy = new Int8Array(this.hours + 1);
    this.enteredFrom = new Int32Array(this.hours + 1);
  }

  solve(): Int32Array {
    let left = this.peak;
    while (left > 0) {
      this.findDistances();
      left -= this.push(left);
    }
    return this.reserved;
  }

  /**
   * Bellman-Ford with the line's own order: a sweep forwards settles every arc that goes forwards, a sweep backwards
   * the undoing ones; it ends when a pair of sweeps changes nothing. No residual cycle is negative, so it ends.
   */
  private findDistances(): void {
    this.distance.fill(Infinity);
    this.distance[0] = 0;
    let changed = true;
    while (changed) changed = this.sweepForwards() && this.sweepBackwards();
  }

  private sweepForwards(): boolean {
    const { hours, termHours, ratio, distance, idle, idleRoom, enteredBy, enteredFrom } = this;
    let changed = false;
    for (let hour = 0; hour < hours; hour++) {
      const here = distance[hour]!;
      const isFree = idle[hour]! < idleRoom[hour]!;
      const step = here + (isFree ? 0 : 1);
      if (step < distance[hour + 1]! - TOLERANCE) {
        distance[hour + 1] = step;
        enteredBy[hour + 1] = isFree ? Enter.idle : Enter.onDemand;
        enteredFrom[hour + 1] = hour;
        changed = true;
      }
      const end = Math.min(hour + termHours, hours);
      const jump = here + ratio * (end - hour);
      if (jump < distance[end]! - TOLERANCE) {
        distance[end] = jump;
        enteredBy[end] = Enter.reservation;
        enteredFrom[end] = hour;
        changed = true;
      }
    }
    return changed;
  }

  private sweepBackwards(): boolean {
    const { hours, termHours, ratio, distance, idle, onDemand, reserved, enteredBy, enteredFrom } = this;
    let changed = false;
    for (let hour = hours - 1; hour >= 0; hour--) {
      if (reserved[hour]! > 0) {
        const end = Math.min(hour + termHours, hours);
        const undone = distance[end]! - ratio * (end - hour);
        if (undone < distance[hour]! - TOLERANCE) {
          distance[hour] = undone;
          enteredBy[hour] = Enter.reservationUndone;
          enteredFrom[hour] = end;
          changed = true;
        }
      }
      const isOnDemand = onDemand[hour]! > 0;
      if (!isOnDemand && idle[hour] === 0) continue;
      const back = distance[hour + 1]! - (isOnDemand ? 1 : 0);
      if (back < distance[hour]! - TOLERANCE) {
        distance[hour] = back;
        enteredBy[hour] = isOnDemand ? Enter.onDemandUndone : Enter.idleUndone;
        enteredFrom[hour] = hour + 1;
        changed = true;
      }
    }
    return changed;
  }

  /** Sends as many units as fit along the path just found, and says how many. */
  private push(most: number): number {
    let units = most;
    for (let node = this.hours; node !== 0; node = this.enteredFrom[node]!)
      units = Math.min(units, this.roomInto(node));
    for (let node = this.hours; node !== 0; node = this.enteredFrom[node]!) this.shift(node, units);
    return units;
  }

  private roomInto(node: number): number {
    const from = this.enteredFrom[node]!;
    switch (this.enteredBy[node]) {
      case Enter.idle:
        return this.idleRoom[from]! - this.idle[from]!;
      case Enter.idleUndone:
        return this.idle[node]!;
      case Enter.onDemandUndone:
        return this.onDemand[node]!;
      case Enter.reservationUndone:
        return this.reserved[node]!;
      default:
        return Infinity;
    }
  }

  private shift(node: number, units: number): void {
    const from = this.enteredFrom[node]!;
    switch (this.enteredBy[node]) {
      case Enter.idle:
        this.idle[from]! += units;
        break;
      case Enter.onDemand:
        this.onDemand[from]! += units;
        break;
      case Enter.reservation:
        this.reserved[from]! += units;
        break;
      case Enter.idleUndone:
        this.idle[node]! -= units;
        break;
      case Enter.onDemandUndone:
        this.onDemand[node]! -= units;
        break;
      default:
        this.reserved[node]! -= units;
    }
  }
}
