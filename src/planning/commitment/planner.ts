/**
 * Bursar's own rule: how many reservations to hold, decided hour by hour from the tenant's past alone.
 *
 * The k-th GPU is worth a reservation where its expected use over the coming term (outlook.ts) is above break-even by a margin, and
 * the guard decides what of that may be bought. The margin stands for what the outlook cannot know: a reservation is bought in the hour in which
 * the outlook is at its best (the winner's curse), and an hour of waiting costs little and tells something.
 *
 * It never reads ahead, never reserves for a GPU that is not in use in the hour of the purchase, and keeps the guard's bound.
 */
import { Guard } from './guard.js';
import { type CommitmentTerm, effectiveRatio } from './model.js';
import { Outlook } from './outlook.js';

/**
 * How far above break-even, as a share of the way to always, the expected use must be. Chosen on seeded series; `docs/decisions-quality/commitment.md`
 * says on which.
 */
export const MARGIN = 0.15;

export class ReservationPlanner {
  private readonly ratio: number;
  private readonly share: number;
  private readonly guard: Guard;
  private readonly outlook: Outlook;

  constructor(term: CommitmentTerm, margin = MARGIN) {
    this.ratio = effectiveRatio(term);
    this.share = this.ratio + margin * (1 - this.ratio);
    this.guard = new Guard(term.termHours, this.ratio);
    this.outlook = new Outlook(term.termHours);
  }

  /** Takes the GPUs demanded in the next hour and returns the reservations to buy at its beginning. */
  step(gpus: number): number {
    this.outlook.step(gpus);
    if (this.ratio >= 1) return 0;
    return this.guard.step(gpus, this.outlook.levelAbove(this.share, gpus));
  }

  /** Reservations that are worth holding after the last step, in use in that hour or not, whatever the guard allows. */
  get wish(): number {
    return this.ratio >= 1 ? 0 : this.outlook.levelAbove(this.share, this.outlook.peak);
  }

  /** Reservations that were held in the hour of the last step. */
  get held(): number {
    return this.guard.activeReservations;
  }

  /** Expected share of the coming term in which demand reaches `level` (1 or more); 0 before the first step. */
  expectedUse(level: number): number {
    return this.outlook.peak === 0 ? 0 : this.outlook.expectedUse(level);
  }
}

/** The purchases that the planner makes over a whole series, hour by hour. */
export function plannedPurchases(demand: Int32Array, term: CommitmentTerm, margin = MARGIN): Int32Array {
  const planner = new ReservationPlanner(term, margin);
  return demand.map((gpus) => planner.step(gpus));
}
