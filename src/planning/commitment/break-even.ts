/**
 * The books of the break-even rule: which hours of the last term were served on demand, and how many of them no
 * purchase explains yet.
 *
 * From Algorithm 1 of Wang, Li and Liang, "To Reserve or Not to Reserve: Optimal Online Multi-Instance Acquisition in
 * IaaS Clouds" (ICAC'13, arXiv:1305.5608): a purchase serves its whole term from now on, and counts as a phantom in the
 * term before, so that no hour argues for two purchases. This file decides nothing; it says when a purchase is due.
 * Invariant: `unexplainedHours` is the number of hours of the last term, since the past was last settled, whose demand
 * exceeds the purchases that explain it.
 */

/** Rounding slack in hours. */
export const HOURS_TOLERANCE = 1e-9;

export class BreakEvenLedger {
  /**
   * Rings of one term: demand, purchases that explain the hour (real ones and phantoms), purchases made in the hour.
   */
  private readonly demand: Int32Array;
  private readonly explained: Int32Array;
  private readonly bought: Int32Array;
  private unexplainedHours = 0;
  private hour = -1;
  private reserved = 0;
  /** Hours before this one argue for no purchase. */
  private firstHour = 0;

  /** A purchase is due when more than `thresholdHours` hours are unexplained. */
  constructor(
    private readonly termHours: number,
    private readonly thresholdHours: number,
  ) {
    this.demand = new Int32Array(termHours);
    this.explained = new Int32Array(termHours);
    this.bought = new Int32Array(termHours);
  }

  /** Reservations that are active in the present hour. */
  get active(): number {
    return this.reserved;
  }

  get isDue(): boolean {
    return this.unexplainedHours > this.thresholdHours + HOURS_TOLERANCE;
  }

  /** Takes the next hour. */
  enter(gpus: number): void {
    this.hour++;
    const slot = this.hour % this.termHours;
    // Until it is overwritten the slot holds the hour that now leaves the term.
    if (this.hour - this.termHours >= this.firstHour && this.demand[slot]! > this.explained[slot]!)
      this.unexplainedHours--;
    this.reserved -= this.bought[slot]!;
    this.bought[slot] = 0;
    this.demand[slot] = gpus;
    this.explained[slot] = this.reserved;
    if (gpus > this.reserved) this.unexplainedHours++;
  }

  /** Buys `count` reservations in the present hour. */
  buy(count: number): void {
    if (count === 0) return;
    this.bought[this.hour % this.termHours]! += count;
    this.reserved += count;
    this.unexplainedHours = 0;
    for (let hour = Math.max(this.firstHour, this.hour - this.termHours + 1); hour <= this.hour; hour++) {
      const slot = hour % this.termHours;
      this.explained[slot]! += count;
      if (this.demand[slot]! > this.explained[slot]!) this.unexplainedHours++;
    }
  }

  /** From now on the hours before the present one argue for no purchase; reservations stay active. */
  settle(): void {
    this.firstHour = this.hour;
    const slot = this.hour % this.termHours;
    this.unexplainedHours = this.demand[slot]! > this.explained[slot]! ? 1 : 0;
  }

  /** Buys one at a time for as long as a purchase is due, and returns how many. */
  buyDue(): number {
    let count = 0;
    for (; this.isDue; count++) this.buy(1);
    return count;
  }
}
