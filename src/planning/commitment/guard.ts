/**
 * The safeguard: which purchases may be made at all, so that no series of demand, however hostile, costs more than (2 -
 * alpha) times the optimum, and an allowance once (none unless one is given).
 *
 * It forecasts nothing. Three rules, in on-demand hours after `effectiveRatio` has taken alpha out (fee = break-even
 * hours):
 *
 * 0. Settle: where everything spent and owed before this hour is less than twice a proven lower bound of the optimum
 * for the demand up to one
 *    term ago, the past is settled: its hours argue for no purchase any more.
 * 1. Must: the break-even rule of Wang, Li and Liang (ICAC'13, Algorithm 1), kept on Bursar's own purchases: as soon as
 * the last term holds
 *    more than `fee` unsettled on-demand hours that no purchase explains, one GPU is reserved.
 * 2. May: a purchase before break-even, if after it everything spent and owed (all fees to the end of their terms, all
 * on-demand
 *    hours, this one too) is at most twice a proven lower bound of the optimum for the demand so far.
 *
 * Why the bound, and how far it is proven:
 * - With rule 1 alone it is the paper's Theorem 1: cost <= 2 x optimum.
 * - Rule 0 keeps that: let s be the last hour that settled the past. What was spent and owed before s is at most twice
 *   a dual value of hours up
 *   to s - term. From s on the break-even rule runs afresh on the demand that active reservations leave over: at most
 *   twice the optimum of
 *   the demand from s on, which is a dual value too. No window of one term holds hours of both, so the two duals
 *   together are feasible and the sum is
 *   at most twice the optimum of all demand. A tenant that was served well may thus let a burst end, where the bare
 *   rule must buy.
 * - The lower bound is weak duality: the dual of the linear program (optimum.ts) is max sum(d_t y_t), 0 <= y_t <= 1,
 *   where no term's
 *   window of y sums to more than `fee`. `y = effectiveRatio` is feasible; so is the greedy y that takes 1 until its
 *   window is
 *   full. Both are set hour by hour and stay feasible, so the larger of the two never falls.
 * - Hence at the instant of each purchase under rule 2 the bound holds even if demand ends there and the purchase is
 *   never used
 *   again; idle hours add nothing to either side.
 * - On-demand hours after that: an hour is paid on demand only when every reservation is in use (d_t > active), and
 *   rule 1 ends such a
 *   spell after `fee` of them per GPU. That rules 1 and 2 together keep the bound from any state is NOT proven here but
 *   searched for
 *   counterexamples: random and hill-climbed demand, the wishes chosen by the attacker, the exact optimum beside it.
 *   None
 *   exceeds 2 (which rule 1 alone attains).
 * - The allowance: rules 0 and 2 compare what is spent and owed, less the allowance, with twice the bound. It counts
 *   once, whatever was bought with it, so the cost is at most (2 - alpha) times the optimum and (1 - alpha) times the
 *   largest allowance. Without one a service that was there before its records began pays on demand for as long as one
 *   that may end tomorrow.
 * - Alpha: every demanded hour pays alpha whoever serves it, so cost = alpha D + (1 - alpha) c, optimum = alpha D + (1
 *   - alpha) o with c <= 2 o and
 *   o <= D; then (2 - alpha) optimum - cost >= alpha (1 - alpha) (D - o) >= 0.
 *
 * The optimum above pays whole terms. A report that charges only the hours inside its data lowers the optimum at the
 * end of the data; there no rule that cannot see the end does better than 1 / effectiveRatio on a tenant that has just
 * begun (reserve, and the demand ends; or do not, and the data ends), which is above 2 only for ratios under one half.
 */
import { BreakEvenLedger, HOURS_TOLERANCE } from './break-even.js';

/** Fees that may be spent ahead of what the lower bound has earned: the larger of two shares. */
export interface Allowance {
  /**
   * Share of the fees of all GPUs in use in the first hour. They were most likely there before the records began, and
   * what is met at a random moment mostly lasts long.
   */
  readonly first: number;
  /** Share of the fees of the most GPUs that were ever in use for `stoodHours` (1 or more) in a row. */
  readonly stood: number;
  readonly stoodHours: number;
}

const NO_ALLOWANCE: Allowance = { first: 0, stood: 0, stoodHours: 1 };

export class Guard {
  private readonly fee: number;
  private readonly own: BreakEvenLedger;
  private readonly dual: Float64Array;
  private dualInWindow = 0;
  /** Ring of one term: the lower bound after each hour; and the one of a term ago. */
  private readonly bounds: Float64Array;
  private boundOneTermAgo = 0;
  private greedyBound = 0;
  private flatBound = 0;
  private hour = 0;
  /** On-demand hours paid and all fees, to the end of their terms. */
  private committed = 0;
  private allowance = 0;
  /** Ring of demand, to see what stood. */
  private readonly recent: Int32Array;

  constructor(
    private readonly termHours: number,
    private readonly ratio: number,
    private readonly allowed: Allowance = NO_ALLOWANCE,
  ) {
    this.recent = new Int32Array(allowed.stoodHours);
    this.fee = ratio * termHours;
    this.own = new BreakEvenLedger(termHours, this.fee);
    this.dual = new Float64Array(termHours);
    this.bounds = new Float64Array(termHours);
  }

  /**
   * Takes the next hour with `gpus` demanded and `wanted` reservations in all, and returns how many to buy now. Nothing
   * is bought beyond the demand of the hour unless rule 1 demands it.
   */
  step(gpus: number, wanted: number): number {
    this.raiseBound(gpus);
    this.raiseAllowance(gpus);
    this.own.enter(gpus);
    if (this.committed - this.allowance < 2 * this.boundOneTermAgo - HOURS_TOLERANCE) this.own.settle();
    const due = this.own.buyDue();
    this.committed += due * this.fee;
    const early = this.affordable(Math.min(wanted, gpus) - this.own.active, gpus);
    this.own.buy(early);
    this.committed += early * this.fee + Math.max(0, gpus - this.own.active);
    return due + early;
  }

  /** Reservations that are active in the hour of the last step. */
  get activeReservations(): number {
    return this.own.active;
  }

  private raiseBound(gpus: number): void {
    const slot = this.hour++ % this.termHours;
    this.dualInWindow -= this.dual[slot]!;
    const dual = Math.max(0, Math.min(1, this.fee - this.dualInWindow));
    this.dual[slot] = dual;
    this.dualInWindow += dual;
    this.greedyBound += dual * gpus;
    this.flatBound += Math.min(1, this.ratio) * gpus;
    this.boundOneTermAgo = this.bounds[slot]!;
    this.bounds[slot] = this.lowerBound;
  }

  /** After `raiseBound`, which counts the hour. */
  private raiseAllowance(gpus: number): void {
    const { first, stood, stoodHours } = this.allowed;
    this.recent[this.hour % stoodHours] = gpus;
    if (this.hour === 1) this.allowance = first * gpus * this.fee;
    if (this.hour >= stoodHours) this.allowance = Math.max(this.allowance, stood * Math.min(...this.recent) * this.fee);
  }

  private get lowerBound(): number {
    return Math.max(this.greedyBound, this.flatBound);
  }

  /** Rule 2: how many of `wanted` more reservations keep what is committed within twice the lower bound. */
  private affordable(wanted: number, gpus: number): number {
    if (wanted <= 0 || this.ratio >= 1) return 0;
    const room = 2 * this.lowerBound + this.allowance - this.committed - (gpus - this.own.active);
    // Each purchase adds its fee and takes this hour off the on-demand bill.
    const added = this.fee - 1;
    if (added <= 0) return room >= -HOURS_TOLERANCE ? wanted : 0;
    return Math.max(0, Math.min(wanted, Math.floor(room / added + HOURS_TOLERANCE)));
  }
}
