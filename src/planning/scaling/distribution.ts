/**
 * A distribution of a load, in bins of a quarter replica up to a largest fleet; loads beyond that share the last bin.
 *
 * Holds weights and nothing else; weights need not add up to 1, an empty one has no shortfall.
 */

/** Bins per replica: finer bins change no decision, a replica being the unit. */
const BINS = 4;

export class Distribution {
  private readonly weights: Float64Array;
  private total = 0;

  /** @param maxReplicas the largest fleet whose shortfall is asked for. */
  constructor(private readonly maxReplicas: number) {
    this.weights = new Float64Array(maxReplicas * BINS + 2);
  }

  /** Adds a load given by its square root (negative ones count as no load). */
  add(root: number, weight: number): void {
    const load = root > 0 ? root * root : 0;
    const bin = Math.min(this.weights.length - 1, Math.round(load * BINS));
    this.weights[bin] = this.weights[bin]! + weight;
    this.total += weight;
  }

  /** Expected load beyond k replicas, in replicas, for k from 0 to the largest fleet. */
  shortfall(): Float64Array {
    const beyond = new Float64Array(this.maxReplicas + 1);
    if (this.total === 0) return beyond;
    let above = this.weights[this.maxReplicas * BINS + 1]! / this.total;
    beyond[this.maxReplicas] = above;
    for (let k = this.maxReplicas; k >= 1; k--) {
      let served = above;
      for (let q = 1; q <= BINS; q++) {
        const share = this.weights[(k - 1) * BINS + q]! / this.total;
        served += (share * q) / BINS;
        above += share;
      }
      beyond[k - 1] = beyond[k]! + served;
    }
    return beyond;
  }
}
