/**
 * The published rules that Bursar is measured against. Each sees the demand of an hour when the hour begins, as the
 * model of Wang, Li and Liang has it, and never a later one. This file holds no rule of Bursar's own.
 */
import { BreakEvenLedger, HOURS_TOLERANCE } from '../../planning/commitment/break-even.js';
import { LevelCounts } from '../../planning/commitment/level-counts.js';
import { breakEvenHours, type CommitmentTerm, effectiveRatio } from '../../planning/commitment/model.js';

/** How a look-back rule is read where its vendor leaves it open. */
export interface LookBackReading {
  /** Hours of usage that the recommendation is made from. */
  readonly windowHours: number;
  /**
   * `whole`: nothing is recommended before the window is full. `partial`: from one day on, what there is stands for it.
   */
  readonly start: 'whole' | 'partial';
  /** Hours between two evaluations: AWS and Azure refresh their recommendations daily. */
  readonly everyHours: number;
}

/**
 * The best constant of a window, as cloud vendors recommend it: simulate each number of reservations over the past
 * hours and take the one that saves most; what is already reserved is taken off. Sources: AWS Cost Explorer,
 * `ReservationPurchaseRecommendation`, whose `LookbackPeriodInDays` is SEVEN_DAYS, THIRTY_DAYS or SIXTY_DAYS
 * (docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_ReservationPurchaseRecommendation.html) and
 * "simulates every combination of reservations ... to maximize your estimated savings" (its
 * GetReservationPurchaseRecommendation); Azure, "past 7, 30, and 60 days", "the quantity that maximizes the savings is
 * recommended"
 * (learn.microsoft.com/azure/cost-management-billing/reservations/reserved-instance-purchase-recommendations).
 *
 * A constant of k saves most where k is the largest level in use for more than `effectiveRatio` of the window.
 */
export function lookBack(demand: Int32Array, term: CommitmentTerm, reading: LookBackReading): Int32Array {
  const purchases = new Int32Array(demand.length);
  const window = new LevelCounts();
  const ratio = effectiveRatio(term);
  const firstHours = reading.start === 'whole' ? reading.windowHours : Math.min(reading.windowHours, 24);
  let active = 0;
  for (let hour = 0; hour < demand.length; hour++) {
    window.add(demand[hour]!);
    if (hour >= reading.windowHours) window.remove(demand[hour - reading.windowHours]!);
    if (hour >= term.termHours) active -= purchases[hour - term.termHours]!;
    const seenHours = Math.min(hour + 1, reading.windowHours);
    if (seenHours < firstHours || (hour + 1 - firstHours) % reading.everyHours !== 0) continue;
    purchases[hour] = Math.max(0, window.levelAbove(ratio * seenHours) - active);
    active += purchases[hour]!;
  }
  return purchases;
}

/**
 * Algorithm 1 of Wang, Li and Liang, "To Reserve or Not to Reserve: Optimal Online Multi-Instance Acquisition in IaaS
 * Clouds" (ICAC'13, arXiv:1305.5608): while the on-demand hours of the last term that no reservation explains exceed
 * the threshold, reserve one GPU from now on, and count it as a phantom in the term before. With the break-even hours
 * as threshold the cost is at most (2 - alpha) times the optimum.
 *
 * The paper asks for "more than" the threshold; `inclusive` reserves on reaching it.
 */
export function onlineThreshold(
  demand: Int32Array,
  term: CommitmentTerm,
  thresholdHours: number,
  inclusive = false,
): Int32Array {
  const ledger = new BreakEvenLedger(term.termHours, inclusive ? thresholdHours - 2 * HOURS_TOLERANCE : thresholdHours);
  return demand.map((gpus) => {
    ledger.enter(gpus);
    return ledger.buyDue();
  });
}

/** The deterministic rule: the threshold is the break-even. */
export const onlineDeterministic = (demand: Int32Array, term: CommitmentTerm, inclusive = false): Int32Array =>
  onlineThreshold(demand, term, breakEvenHours(term), inclusive);

/**
 * The randomised rule of the same paper: the threshold is drawn once, from the density `(1 - a) e^((1 - a) z) / (e - 1
 * + a)` on [0, b) and the mass `a / (e - 1 + a)` at b, where the fee is 1, b = 1 / (1 - a) is the break-even and a is
 * alpha. `uniform` in [0, 1) is the draw, inverted here; the expected cost is at most e / (e - 1 + a) times the
 * optimum.
 */
export function onlineRandomised(
  demand: Int32Array,
  term: CommitmentTerm,
  uniform: number,
  inclusive = false,
): Int32Array {
  const fraction = Math.min(1, Math.log(1 + uniform * (Math.E - 1 + term.alpha)));
  return onlineThreshold(demand, term, fraction * breakEvenHours(term), inclusive);
}
