/**
 * The cost of commitments: hourly demand in whole GPUs, reservations that each cover one GPU for a term, the rest on
 * demand.
 *
 * Costs are in on-demand GPU-hours (the on-demand price of one GPU for one hour is 1). This file decides nothing.
 * Invariant: an hour of demand is served either by a reservation that is active or on demand, never by both, and a
 * reservation that outlasts the data is charged for the hours inside it only.
 */
import { invalid, type Problem } from '../../core/errors.js';

/** Ten years. The planner remembers one term, hour by hour. */
const TERM_HOURS_MAX = 87_600;

/** The offer: one kind of reservation of one GPU. */
export interface CommitmentTerm {
  /** Hours that a reservation lasts, the hour of its purchase included. */
  readonly termHours: number;
  /** Price of a reservation per hour of its term, used in every hour, over the on-demand price per hour. */
  readonly priceRatio: number;
  /**
   * Share of the on-demand hourly price that a reservation pays only in the hours that use it, as in Wang, Li and Liang
   * (ICAC'13). It is part of `priceRatio`: `priceRatio - alpha` is owed for every hour, used or not. 0 = all of it is
   * owed.
   */
  readonly alpha: number;
}

/** Everything that is wrong with a term; nothing if it can be used. */
export function termProblems(term: CommitmentTerm): Problem[] {
  const problems: Problem[] = [];
  if (!Number.isSafeInteger(term.termHours) || term.termHours < 1 || term.termHours > TERM_HOURS_MAX) {
    problems.push({ path: 'termHours', message: `must be a whole number of hours from 1 to ${TERM_HOURS_MAX}` });
  }
  if (!Number.isFinite(term.priceRatio) || term.priceRatio <= 0)
    problems.push({ path: 'priceRatio', message: 'must be a finite number above 0' });
  if (!Number.isFinite(term.alpha) || term.alpha < 0 || term.alpha >= 1)
    problems.push({ path: 'alpha', message: 'must be 0 or more and below 1' });
  else if (term.alpha > term.priceRatio)
    problems.push({ path: 'alpha', message: 'is a part of priceRatio and cannot exceed it' });
  return problems;
}

/** The term, if it can be used; throws `invalid` with every problem otherwise. */
export function checkedTerm(term: CommitmentTerm): CommitmentTerm {
  const problems = termProblems(term);
  if (problems.length > 0) throw invalid('the commitment term cannot be used', problems);
  return term;
}

/**
 * The same problem without the share that is paid only when used: each hour of demand pays `alpha` whoever serves it,
 * and what is left is a purchase at `effectiveRatio` times what is left of the on-demand price.
 */
export const effectiveRatio = (term: CommitmentTerm): number => (term.priceRatio - term.alpha) / (1 - term.alpha);

/**
 * Hours of use within a term at which a reservation costs as much as on demand; more than the term where it never pays.
 */
export const breakEvenHours = (term: CommitmentTerm): number => effectiveRatio(term) * term.termHours;

/** Number of GPUs that the reservations cover in each hour; `purchases[t]` are bought at the start of hour t. */
export function coverage(purchases: Int32Array, termHours: number, existing?: Int32Array): Int32Array {
  const covered = new Int32Array(purchases.length);
  let active = 0;
  for (let hour = 0; hour < covered.length; hour++) {
    active += purchases[hour]! - (hour >= termHours ? purchases[hour - termHours]! : 0);
    covered[hour] = active + (existing?.[hour] ?? 0);
  }
  return covered;
}

/**
 * Cost in on-demand GPU-hours of serving `demand` (GPUs per hour) with these purchases. `existing` (GPUs per hour)
 * serves first; its fixed part is already owed and is not counted, its `alpha` is.
 */
export function commitmentCost(
  demand: Int32Array,
  purchases: Int32Array,
  term: CommitmentTerm,
  existing?: Int32Array,
): number {
  const covered = coverage(purchases, term.termHours, existing);
  let owedHours = 0;
  let reservedUseHours = 0;
  let onDemandHours = 0;
  for (let hour = 0; hour < demand.length; hour++) {
    owedHours += covered[hour]! - (existing?.[hour] ?? 0);
    const used = Math.min(demand[hour]!, covered[hour]!);
    reservedUseHours += used;
    onDemandHours += demand[hour]! - used;
  }
  return owedHours * (term.priceRatio - term.alpha) + reservedUseHours * term.alpha + onDemandHours;
}

/** Demand that the reservations already held leave over, in GPUs per hour. */
export function residualDemand(demand: Int32Array, existing: Int32Array | undefined): Int32Array {
  if (existing === undefined) return demand;
  return demand.map((gpus, hour) => Math.max(0, gpus - (existing[hour] ?? 0)));
}

/** Standard deviation over mean of the hourly demand (population form); null if nothing is demanded. */
export function coefficientOfVariation(demand: Int32Array): number | null {
  let sum = 0;
  for (const gpus of demand) sum += gpus;
  if (sum === 0) return null;
  const mean = sum / demand.length;
  let squares = 0;
  for (const gpus of demand) squares += (gpus - mean) ** 2;
  return Math.sqrt(squares / demand.length) / mean;
}
