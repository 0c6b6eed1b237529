/**
 * One fleet out of many rules: their median, weighted by what each would have cost so far; their mean where the median
 * has cost too much.
 *
 * Knows only the bills of the imagined fleets (rehearsal.ts) and the loads so far. A rule's weight falls by e for every
 * tolerance by which its bill, paid replica-minutes plus `price` times the lost ones, is above another's (exponential
 * weights: Littlestone and Warmuth 1994); beside the bill so far it is charged what its present fleet would cost for
 * some minutes like the recent ones. The tolerance grows with the noise of such sums, and never shrinks. The median and
 * not the mean: a mean moves with every rule, and each replica let go and ordered again is paid while it boots.
 *
 * No load makes the mixture dear. An account is kept of what the rules' bills come to by their weights, and of two
 * replica-minutes a minute beside them. While the mixture's own bill is above its account, the mean of the rules is
 * held, which cannot leave the account further behind. So its bill is at most the best rule's, plus one tolerance for
 * each e of the number of rules, plus two replica-minutes a minute, plus what the weights move in a minute and within a
 * boot delay, which shrinks as the tolerance grows, plus a boot delay and a minute of the dearest minute.
 * tests/property/scaling.test.ts states it term by term and holds it on arbitrary loads. Why: weights that knew the
 * minute to come would cost at most the best rule's bill and the tolerance times the logarithm of the number of rules
 * (be the leader); a bill is convex in the fleet, so that the mean of the fleets costs at most the mean of the bills;
 * and a replica serves once it was held through a boot delay.
 *
 * One rule may be trusted from the start, as somebody runs it today: it has three quarters of the weight, and decides
 * alone until others have cost a tolerance less for each e of the odds. In its bound the logarithm of the number of
 * rules is then that of 4/3 beside the trusted rule, and of four times the number of rules beside any other.
 */

import type { Rehearsal } from './rehearsal.js';

export interface MixtureSettings {
  /** Minutes like the recent ones that a rule's present fleet is charged for beside its bill. */
  readonly expectedMinutes: number;
  /** How far from another bill a rule still counts, in the noise of the loads so far. */
  readonly tolerance: number;
}

/** Chosen by `node tests/backtest/scaling-choosing.mjs`, each source left out in turn. */
export const MIXTURE_SETTINGS: MixtureSettings = { expectedMinutes: 10, tolerance: 1 };

/** The noise of a bill grows with the price of what it lost, less than in proportion. */
const TOLERANCE_EXPONENT = 0.7;
/** Beyond this many tolerances a rule counts less than one in 10^15. */
const NO_WEIGHT_DISTANCE = 35;
/** The share of a replica that may be missing from the mean; never worth more than one replica. */
const MOST_MISSING = 0.25;
/** The weight that a trusted rule begins with. */
const TRUST = 0.75;
/** What the account has beside the rules' bills for whole replicas. */
const ALLOWED_REPLICAS = 2;

export class Mixture {
  /** Weight of each rule in the present decision; they add up to 1. */
  readonly weights: Float64Array;
  private readonly bills: Float64Array;
  private readonly missing: number;
  /** Replicas held in the last minutes, as many as a boot delay and the present one. */
  private readonly recentlyHeld: number[];
  private largestNoise = 0;
  /** Its own bill above its account. */
  private excess = 0;
  /** Tolerances by which a rule is behind before anything is known. */
  private readonly handicaps: Float64Array;

  /**
   * @param price worth of a replica-minute of unserved load, in replica-minutes.
   * @param held the fleet in the first minute.
   * @param trusted the rule that is trusted from the start; null: none is.
   */
  constructor(
    private readonly price: number,
    private held: number,
    rules: number,
    private readonly bootMinutes: number,
    private readonly settings: MixtureSettings = MIXTURE_SETTINGS,
    trusted: number | null = null,
  ) {
    this.weights = new Float64Array(rules).fill(trusted === null ? 1 / rules : (1 - TRUST) / (rules - 1));
    if (trusted !== null) this.weights[trusted] = TRUST;
    this.handicaps = this.weights.map((weight) => -Math.log(weight));
    this.bills = new Float64Array(rules);
    this.missing = Math.min(MOST_MISSING, 1 / price);
    this.recentlyHeld = [held];
  }

  /** What a rule's bill may be above another's until its weight falls by e; in replica-minutes. */
  get tolerance(): number {
    return Math.max(1e-9, this.settings.tolerance * this.largestNoise * this.price ** TOLERANCE_EXPONENT);
  }

  /** Replicas held in the present minute. */
  get replicas(): number {
    return this.held;
  }

  /**
   * Decides for the minute that begins.
   *
   * @param rehearsal its rules were billed for the minute that ended, and have decided for the one that begins.
   * @param load of the minute that ended, in replicas.
   * @param recentBeyond mean load beyond k replicas, k from 0 to the largest fleet, in the recent minutes.
   * @param noise deviation of the sum of the loads so far, in replica-minutes.
   */
  decide(rehearsal: Rehearsal, load: number, recentBeyond: Float64Array, noise: number): void {
    this.settle(rehearsal, load);
    this.largestNoise = Math.max(this.largestNoise, noise);
    this.weightRules(rehearsal, recentBeyond);
    this.held = this.excess > 0 ? this.nearMean(rehearsal) : this.median(rehearsal, recentBeyond.length);
    this.recentlyHeld.push(this.held);
    if (this.recentlyHeld.length > this.bootMinutes + 1) this.recentlyHeld.shift();
  }

  /** Bills the minute that ended to the account, by the weights of then, and to itself. */
  private settle({ paid, lost }: Rehearsal, load: number): void {
    const { weights, bills, price } = this;
    let mixed = 0;
    for (let i = 0; i < weights.length; i++) {
      const bill = paid[i]! + price * lost[i]!;
      mixed += weights[i]! * (bill - bills[i]!);
      bills[i] = bill;
    }
    const unserved = Math.max(0, load - Math.min(...this.recentlyHeld));
    this.excess += this.held + price * unserved - mixed - ALLOWED_REPLICAS;
  }

  private weightRules({ wanted }: Rehearsal, recentBeyond: Float64Array): void {
    const { weights, bills, price, tolerance } = this;
    let best = Infinity;
    for (let i = 0; i < weights.length; i++) {
      const replicas = wanted[i]!;
      const bill = bills[i]! + this.settings.expectedMinutes * (replicas + price * recentBeyond[replicas]!);
      weights[i] = bill / tolerance + this.handicaps[i]!;
      if (weights[i]! < best) best = weights[i]!;
    }
    let all = 0;
    for (let i = 0; i < weights.length; i++) {
      const distance = weights[i]! - best;
      weights[i] = distance > NO_WEIGHT_DISTANCE ? 0 : Math.exp(-distance);
      all += weights[i]!;
    }
    for (let i = 0; i < weights.length; i++) weights[i] = weights[i]! / all;
  }

  /** The fewest replicas that rules of half the weight are content with. */
  private median({ wanted }: Rehearsal, sizes: number): number {
    const votes = new Float64Array(sizes);
    this.weights.forEach((weight, i) => (votes[wanted[i]!] = votes[wanted[i]!]! + weight));
    let below = 0;
    for (let replicas = 0; replicas < sizes; replicas++) {
      below += votes[replicas]!;
      if (below >= 0.5 - 1e-12) return replicas;
    }
    return sizes - 1;
  }

  /** The fleet as it is while it is less than a replica from the mean, else the nearest such one. */
  private nearMean({ wanted }: Rehearsal): number {
    const mean = this.weights.reduce((sum, weight, i) => sum + weight * wanted[i]!, 0);
    const least = Math.ceil(mean - this.missing - 1e-9);
    const most = Math.floor(mean - this.missing + 1 + 1e-9);
    return Math.min(most, Math.max(least, this.held));
  }
}
