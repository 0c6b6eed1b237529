/**
 * Bursar's own rule: how many reservations to hold, decided hour by hour from the tenant's past alone.
 *
 * No one rule suits every tenant, so a panel (panel.ts) trusts each by what it would have cost so far. On it are
 * look-backs (windows of some hours to a month, strict and lenient about how often a level must have been in use),
 * which are best where the future is like the recent past; the forecast of each level (use-forecast.ts) at several
 * margins, which knows bursts, projects and steps from their spells; and buying nothing, for terms that demand does not
 * fill. Before anything is known the forecast is trusted most. The weighted median is the wish; the guard decides what
 * of it may be bought.
 *
 * GPUs that are in use in the very first hour are wished for at once: the records began later than they did.
 *
 * It never reads ahead, never reserves for a GPU that is not in use in the hour of the purchase, and keeps the guard's
 * bound.
 */
import { type Allowance, Guard } from './guard.js';
import { LevelCounts } from './level-counts.js';
import { type CommitmentTerm, effectiveRatio } from './model.js';
import { UseForecast } from './use-forecast.js';
import { Panel } from './panel.js';

/**
 * What the panel is made of. The defaults were chosen on seeded series; `docs/decisions-quality/commitment.md` says on
 * which.
 */
export interface PlannerOptions {
  /** Windows of the look-backs, in hours, rising. */
  readonly windowHours: readonly number[];
  /** How far above break-even, as a share of the way to always, a level must have been in use in the window. */
  readonly margins: readonly number[];
  /** The same of the use that the forecast expects; rising. */
  readonly forecastMargins: readonly number[];
  /**
   * Trust before anything is known, beside 1 for each look-back: of each margin of the forecast, and of buying nothing.
   */
  readonly forecastPrior: number;
  readonly nothingPrior: number;
  /** Weight lost per cost: see `Panel`. */
  readonly learningRate: number;
  /** Hours of demand that must have been seen before a look-back with a longer window speaks. */
  readonly firstHours: number;
  /**
   * What the guard lets be spent ahead, by the price ratio and the break-even hours; null: nothing, and the first hour
   * is like any other.
   */
  readonly allowance: ((ratio: number, breakEvenHours: number) => Allowance) | null;
}

const PLANNER_DEFAULTS: PlannerOptions = {
  windowHours: [6, 12, 24, 48, 96, 168, 336, 720],
  margins: [0, 0.5],
  forecastMargins: [0, 0.15, 0.3],
  forecastPrior: 8,
  nothingPrior: 4,
  learningRate: 1,
  firstHours: 12,
  // The dearer a reservation, the less it saves on what lasts, and the more is lost on what does not.
  allowance: (ratio, breakEvenHours) => ({
    first: Math.min(1, 2.5 * (1 - ratio)),
    stood: 0.25,
    stoodHours: Math.max(24, Math.round(0.4 * breakEvenHours)),
  }),
};

/** Cost at most (2 - alpha) times the optimum, without an allowance. */
export const STRICT_PLANNER: PlannerOptions = { ...PLANNER_DEFAULTS, allowance: null };

interface LookBack {
  readonly window: LevelCounts;
  readonly windowHours: number;
  readonly share: number;
}

export class ReservationPlanner {
  private readonly ratio: number;
  private readonly guard: Guard;
  private readonly useForecast: UseForecast;
  private readonly lookBacks: readonly LookBack[];
  private readonly panel: Panel;
  /** What each rule would hold: the look-backs, the forecast's margins, nothing. */
  private readonly wishes: Int32Array;
  /** Ring of the longest window. */
  private readonly past: Int32Array;
  private hour = 0;
  private wished = 0;

  constructor(
    term: CommitmentTerm,
    private readonly options: PlannerOptions = PLANNER_DEFAULTS,
  ) {
    this.ratio = effectiveRatio(term);
    this.guard = new Guard(term.termHours, this.ratio, options.allowance?.(this.ratio, this.ratio * term.termHours));
    this.useForecast = new UseForecast(term.termHours);
    this.past = new Int32Array(Math.max(...options.windowHours) + 1);
    this.lookBacks = options.windowHours.flatMap((windowHours) =>
      options.margins.map((margin) => ({ window: new LevelCounts(), windowHours, share: this.shareAt(margin) })),
    );
    const priors = [
      ...this.lookBacks.map(() => 1),
      ...options.forecastMargins.map(() => options.forecastPrior),
      options.nothingPrior,
    ];
    this.panel = new Panel(priors, term.termHours, this.ratio, options.learningRate);
    this.wishes = new Int32Array(priors.length);
  }

  /** Takes the GPUs demanded in the next hour and returns the reservations to buy at its beginning. */
  step(gpus: number): number {
    if (this.ratio >= 1) return 0;
    this.past[this.hour % this.past.length] = gpus;
    this.lookBacks.forEach((lookBack, rule) => (this.wishes[rule] = this.levelOf(lookBack, gpus)));
    this.hour++;
    this.useForecast.step(gpus);
    let most = this.useForecast.peak;
    this.options.forecastMargins.forEach((margin, index) => {
      most = this.useForecast.levelAbove(this.shareAt(margin), most);
      this.wishes[this.lookBacks.length + index] = most;
    });
    this.panel.charge(gpus, this.wishes);
    this.wished = this.panel.vote(this.wishes);
    const isFirst = this.hour === 1 && this.options.allowance !== null;
    return this.guard.step(gpus, isFirst ? Math.max(gpus, this.wished) : this.wished);
  }

  /**
   * Reservations that the panel wishes to hold after the last step, in use in that hour or not, whatever the guard
   * allowed.
   */
  get wish(): number {
    return this.wished;
  }

  /** Reservations that were held in the hour of the last step. */
  get held(): number {
    return this.guard.activeReservations;
  }

  /** How much each window counts at present among the look-backs; the weights sum to 1. */
  windowWeights(): { readonly windowHours: number; readonly weight: number }[] {
    const weights = this.panel.weights(this.lookBacks.length);
    return this.lookBacks.map(({ windowHours }, index) => ({ windowHours, weight: weights[index]! }));
  }

  private shareAt(margin: number): number {
    return this.ratio + margin * (1 - this.ratio);
  }

  /** The largest level that was in use for more than its share of the look-back's window, which takes the hour. */
  private levelOf({ window, windowHours, share }: LookBack, gpus: number): number {
    window.add(gpus);
    if (this.hour >= windowHours) window.remove(this.past[(this.hour - windowHours) % this.past.length]!);
    const seenHours = Math.min(this.hour + 1, windowHours);
    return seenHours < Math.min(windowHours, this.options.firstHours) ? 0 : window.levelAbove(share * seenHours);
  }
}

/** The purchases that the planner makes over a whole series, hour by hour. */
export function plannedPurchases(
  demand: Int32Array,
  term: CommitmentTerm,
  options: PlannerOptions = PLANNER_DEFAULTS,
): Int32Array {
  const planner = new ReservationPlanner(term, options);
  return demand.map((gpus) => planner.step(gpus));
}
