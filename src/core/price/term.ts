/**
 * The cost of a commitment per hour: reservations amortised over their term, and savings plans as a spend per hour.
 *
 * Never decides whether to commit (planning does). The invariant: amortisation divides nothing; the rate keeps the
 * upfront and all hourly payments over the whole term as one exact fraction, so a fully used term costs exactly what
 * was paid.
 */
import { assert } from '../errors.js';
import { addDecimal, type Decimal } from '../decimal.js';
import { divideHalfEven, rateOf, type Rate } from '../money.js';
import type { Term } from '../usage.js';

/**
 * Hours of a committed term: 365 and 3 x 365 days (AWS counts 31,536,000 and 94,608,000 seconds); null: no commitment.
 */
export function termHours(term: Term): number | null {
  switch (term) {
    case 'reserved-1y':
    case 'savings-plan-1y':
      return 8760;
    case 'reserved-3y':
    case 'savings-plan-3y':
      return 26_280;
    default:
      return null;
  }
}

export interface Reservation {
  readonly term: Term;
  /** Paid once for one instance; zero for `none`. */
  readonly upfront: Decimal;
  /** Paid for each hour of the term for one instance, used or not; zero for `all`. */
  readonly hourly: Decimal;
  /** GPUs of one instance; parts of a GPU are allowed. */
  readonly gpus: number;
  readonly currency: string;
}

/** upfront / term hours + hourly, per GPU-second: an exact rate for a Price of that term. */
export function amortisedRate({ term, upfront, hourly, gpus, currency }: Reservation): Rate {
  const hours = termHours(term);
  assert(hours !== null, `a reservation has a committed term (${term})`);
  const gpuSeconds = hours * 3600 * gpus;
  assert(
    Number.isSafeInteger(gpuSeconds) && gpuSeconds > 0,
    `a reservation is for GPUs whose seconds can be counted (${gpus})`,
  );
  const overTerm = addDecimal(upfront, { unscaled: hourly.unscaled * BigInt(hours), scale: hourly.scale });
  return rateOf(overTerm, currency, BigInt(gpuSeconds), 'gpu-second');
}

/**
 * An hour's eligible usage: GPU-seconds times `scale`, at the plan's and at the on-demand rate, in the plan's currency.
 */
export interface EligibleUsage {
  readonly quantity: bigint;
  readonly scale: bigint;
  readonly planRate: Rate;
  readonly onDemandRate: Rate;
}

export interface PlanHour {
  /** Per usage, in the order given: nanos of the commitment that it took up, and nanos left to pay on demand. */
  readonly usages: readonly { readonly covered: bigint; readonly onDemand: bigint }[];
  /** Nanos of the commitment that nobody used, and that are paid all the same. */
  readonly unused: bigint;
}

/**
 * Applies an hour's savings-plan commitment as AWS does: to the usage with the highest saving percentage first, at plan
 * rates, until the commitment is used up; the rest is on demand. Covered plus unused is the commitment to the nano.
 * Source: AWS Savings Plans User Guide, "Understanding how Savings Plans apply to your usage".
 */
export function applySavingsPlan(commitmentNanos: bigint, usages: readonly EligibleUsage[]): PlanHour {
  assert(commitmentNanos >= 0n, 'a commitment is not negative');
  const share = (usage: EligibleUsage): { readonly plan: bigint; readonly full: bigint } => ({
    plan: usage.planRate.nanos * usage.onDemandRate.quantity,
    full: usage.onDemandRate.nanos * usage.planRate.quantity,
  });
  const order = usages
    .map((usage, index) => ({ usage, index, ...share(usage) }))
    .sort((a, b) => {
      const difference = a.plan * b.full - b.plan * a.full;
      return difference < 0n ? -1 : difference > 0n ? 1 : a.index - b.index;
    });
  const result = usages.map(() => ({ covered: 0n, onDemand: 0n }));
  let left = commitmentNanos;
  for (const { usage, index } of order) {
    const atPlan = divideHalfEven(usage.quantity * usage.planRate.nanos, usage.scale * usage.planRate.quantity);
    const covered = atPlan < left ? atPlan : left;
    left -= covered;
    result[index] = { covered, onDemand: uncovered(usage, covered, atPlan) };
  }
  return { usages: result, unused: left };
}

/** The on-demand cost of the usage beyond the commitment. */
function uncovered(usage: EligibleUsage, covered: bigint, atPlan: bigint): bigint {
  if (covered === atPlan) return 0n;
  const { quantity, scale, planRate, onDemandRate } = usage;
  // Left over in units of quantity is quantity - covered / planRate; both terms over the plan rate's nanos stay whole.
  const remaining = quantity * planRate.nanos - covered * scale * planRate.quantity;
  return divideHalfEven(remaining * onDemandRate.nanos, scale * planRate.nanos * onDemandRate.quantity);
}
