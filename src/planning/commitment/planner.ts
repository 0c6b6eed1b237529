/**
 * Bursar's own rule: how many reservations to hold, decided hour by hour from the tenant's past alone.
 *
 * No one look-back suits every tenant: a project that starts and stops wants hours, an office week wants seven days, a bursty
 * one should hardly reserve. So a panel of look-backs (windows of some hours to a month, strict and lenient about how often a level must have been in
 * use) is run beside each other on paper; each is charged what its reservations would have cost so far, and the panel votes with weights that
 * fall exponentially with that cost (Hedge: Freund and Schapire, "A decision-theoretic generalization of on-line learning", 1997). The weighted
 * median level is the wish; the guard decides what of it may be bought.
 *
 * It never reads ahead, never reserves for a GPU that is not in use in the hour of the purchase, and keeps the guard's bound.
 */
import { Guard } from './guard.js';
import { LevelCounts } from './level-counts.js';
import { type CommitmentTerm, effectiveRatio } from './model.js';

/** What the panel is made of. The defaults were chosen on seeded series; `docs/decisions-quality/commitment.md` says on which. */
export interface PlannerOptions {
  /** Windows of the look-backs, in hours, rising. */
  readonly windowHours: readonly number[];
  /** How far above break-even, as a share of the way to always, a level must have been in use. */
  readonly margins: readonly number[];
  /** Weight lost per cost: a term of the tenant's mean demand divides a weight by e to this power. */
  readonly learningRate: number;
  /** Hours of demand that must have been seen before a look-back with a longer window speaks. */
  readonly firstHours: number;
}

export const PLANNER_DEFAULTS: PlannerOptions = {
  windowHours: [6, 12, 24, 48, 96, 168, 336, 720],
  margins: [0, 0.5],
  learningRate: 4,
  firstHours: 12,
};

/** A look-back that runs on paper: what it wishes, what it holds and what that has cost. */
interface Panelist {
  readonly window: LevelCounts;
  readonly windowHours: number;
  readonly share: number;
  /** Ring of one term. */
  readonly bought: Int32Array;
  active: number;
  cost: number;
}

export class ReservationPlanner {
  private readonly ratio: number;
  private readonly guard: Guard;
  private readonly panel: Panelist[];
  /** Ring of the longest window. */
  private readonly past: Int32Array;
  private hour = 0;
  private demanded = 0;
  private wished = 0;

  constructor(
    private readonly term: CommitmentTerm,
    private readonly options: PlannerOptions = PLANNER_DEFAULTS,
  ) {
    this.ratio = effectiveRatio(term);
    this.guard = new Guard(term.termHours, this.ratio);
    this.past = new Int32Array(Math.max(...options.windowHours) + 1);
    this.panel = options.windowHours.flatMap((windowHours) =>
      options.margins.map((margin) => ({
        window: new LevelCounts(),
        windowHours,
        share: this.ratio + margin * (1 - this.ratio),
        bought: new Int32Array(term.termHours),
        active: 0,
        cost: 0,
      })),
    );
  }

  /** Takes the GPUs demanded in the next hour and returns the reservations to buy at its beginning. */
  step(gpus: number): number {
    this.past[this.hour % this.past.length] = gpus;
    this.demanded += gpus;
    for (const panelist of this.panel) this.advance(panelist, gpus);
    this.hour++;
    if (this.ratio >= 1) return 0;
    this.wished = this.median();
    return this.guard.step(gpus, this.wished);
  }

  /** Reservations that the panel would hold in the hour of the last step, whatever the guard allowed. */
  get wish(): number {
    return this.wished;
  }

  /** Reservations that were held in the hour of the last step. */
  get held(): number {
    return this.guard.activeReservations;
  }

  /** How much each window counts at present; the weights sum to 1. */
  windowWeights(): { readonly windowHours: number; readonly weight: number }[] {
    const weights = this.weights();
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return this.panel.map(({ windowHours }, index) => ({ windowHours, weight: weights[index]! / total }));
  }

  private advance(panelist: Panelist, gpus: number): void {
    const { window, windowHours } = panelist;
    window.add(gpus);
    if (this.hour >= windowHours) window.remove(this.past[(this.hour - windowHours) % this.past.length]!);
    const slot = this.hour % this.term.termHours;
    panelist.active -= panelist.bought[slot]!;
    const seenHours = Math.min(this.hour + 1, windowHours);
    const speaks = seenHours >= Math.min(windowHours, this.options.firstHours);
    const level = speaks ? Math.min(gpus, window.levelAbove(panelist.share * seenHours)) : 0;
    panelist.bought[slot] = Math.max(0, level - panelist.active);
    panelist.active += panelist.bought[slot]!;
    panelist.cost += this.ratio * panelist.active + Math.max(0, gpus - panelist.active);
  }

  /** Exponential in what each has cost above the cheapest, in terms of the tenant's mean demand. */
  private weights(): number[] {
    const least = this.panel.reduce((cost, panelist) => Math.min(cost, panelist.cost), Infinity);
    const hours = Math.max(1, this.hour);
    const termCost = Math.max(1, this.demanded / hours) * this.ratio * this.term.termHours;
    return this.panel.map(({ cost }) => Math.exp((-this.options.learningRate * (cost - least)) / termCost));
  }

  /** The weighted median of what the panel holds. */
  private median(): number {
    const weights = this.weights();
    const votes = this.panel.map(({ active }, index) => ({ level: active, weight: weights[index]! }));
    votes.sort((one, other) => other.level - one.level);
    let left = weights.reduce((sum, weight) => sum + weight, 0) / 2;
    for (const vote of votes) {
      left -= vote.weight;
      if (left <= 0) return vote.level;
    }
    return 0;
  }
}

/** The purchases that the planner makes over a whole series, hour by hour. */
export function plannedPurchases(demand: Int32Array, term: CommitmentTerm, options: PlannerOptions = PLANNER_DEFAULTS): Int32Array {
  const planner = new ReservationPlanner(term, options);
  return demand.map((gpus) => planner.step(gpus));
}
