/**
 * A panel of rules that run in parallel on paper: each is charged the cost that following it would have had so far, and
 * they vote.
 *
 * Weights fall exponentially with that cost (Hedge: Freund and Schapire, "A decision-theoretic generalization of
 * on-line learning and an application to boosting", Journal of Computer and System Sciences 55, 1997), from a prior
 * that states the initial trust in each rule. A rule votes with its present wish, not with its holdings: a purchase of
 * last week that it would not repeat does not count now. The panel knows neither the rules nor the guard, and buys
 * nothing. Invariant: the weights depend on demand and wishes up to the present hour only, and sum to 1.
 */

/** What one rule holds on paper, and what that has cost in on-demand GPU-hours. */
interface Books {
  /** Ring of one term: reservations bought in each hour. */
  readonly bought: Int32Array;
  active: number;
  cost: number;
}

export class Panel {
  private readonly books: readonly Books[];
  private hours = 0;
  private demanded = 0;

  /**
   * @param priors trust in each rule, in any unit
   * @param ratio price of a reservation per hour of its term, in on-demand hours
   * @param learningRate a rule that costs a term of the tenant's mean demand more than another loses weight to it by e
   * to this power
   */
  constructor(
    private readonly priors: readonly number[],
    private readonly termHours: number,
    private readonly ratio: number,
    private readonly learningRate: number,
  ) {
    this.books = priors.map(() => ({ bought: new Int32Array(termHours), active: 0, cost: 0 }));
  }

  /**
   * Takes an hour in which `gpus` were demanded and each rule wished to hold `wishes[rule]` reservations; none buys
   * more than is in use.
   */
  charge(gpus: number, wishes: Int32Array): void {
    const slot = this.hours++ % this.termHours;
    this.demanded += gpus;
    for (let rule = 0; rule < this.books.length; rule++) {
      const books = this.books[rule]!;
      books.active -= books.bought[slot]!;
      books.bought[slot] = Math.max(0, Math.min(gpus, wishes[rule]!) - books.active);
      books.active += books.bought[slot]!;
      books.cost += this.ratio * books.active + Math.max(0, gpus - books.active);
    }
  }

  /** How far each of the first `count` rules is trusted at present, beside each other alone; the weights sum to 1. */
  weights(count = this.books.length): number[] {
    const books = this.books.slice(0, count);
    const least = books.reduce((cost, one) => Math.min(cost, one.cost), Infinity);
    const termCost = Math.max(1, this.demanded / Math.max(1, this.hours)) * this.ratio * this.termHours;
    const weights = books.map(
      ({ cost }, rule) => this.priors[rule]! * Math.exp((-this.learningRate * (cost - least)) / termCost),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  /** The weighted median: the most reservations that rules with half of the trust wish for. */
  vote(wishes: Int32Array): number {
    const weights = this.weights();
    const votes = [...wishes.keys()].sort((one, other) => wishes[other]! - wishes[one]!);
    let left = 0.5;
    for (const rule of votes) {
      left -= weights[rule]!;
      if (left <= 0) return wishes[rule]!;
    }
    return 0;
  }
}
