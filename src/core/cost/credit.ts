/**
 * Credits that reduce Bursar's own accrual: promotional grants and free tiers, each an amount that usage consumes in
 * order. A used credit is a separate negative line beside the cost that it reduces: no cost is changed. Credits stated
 * by a bill belong to the bill, and are not repeated here.
 *
 * The invariant: no cost is credited below zero and no credit is spent twice.
 */
import { invalid, type Problem } from '../errors.js';
import { parseDecimal } from '../decimal.js';
import { nanosOf } from '../money.js';
import type { FxTable } from '../price/fx.js';
import { DAY_MS, parseDay } from '../time.js';

export const CREDIT_KINDS = ['promotional', 'free-tier'] as const;
export type CreditKind = (typeof CREDIT_KINDS)[number];

export interface Credit {
  readonly id: string;
  readonly kind: CreditKind;
  /** FOCUS ProviderName; null: for every provider. */
  readonly provider: string | null;
  /** Null: for every team. */
  readonly team: string | null;
  /** All that it is worth, above zero. */
  readonly nanos: bigint;
  readonly currency: string;
  /** Half-open, epoch milliseconds: usage of this time may take it. */
  readonly start: number;
  readonly end: number;
}

/** A credit as people write it: amounts as decimal strings, days in UTC. */
export interface CreditSpec {
  readonly id: string;
  readonly kind: CreditKind;
  readonly provider?: string | null | undefined;
  readonly team?: string | null | undefined;
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  /** First day, YYYY-MM-DD. */
  readonly from: string;
  /** The day after the last. */
  readonly until: string;
}

/** A cost that credits may be taken against. */
export interface Creditable {
  readonly team: string;
  readonly provider: string;
  /** Epoch milliseconds at which the usage began. */
  readonly at: number;
  readonly nanos: bigint;
  readonly currency: string;
}

export interface TakenCredit<Cost> {
  readonly cost: Cost;
  readonly credit: Credit;
  /** Below zero, in the cost's currency. */
  readonly nanos: bigint;
}

/** Nanos of a credit that so much of a cost takes, by the rate of the cost's day; null: there is no rate. */
export function takenOf(
  nanos: bigint,
  { currency, at }: Pick<Creditable, 'currency' | 'at'>,
  credit: Pick<Credit, 'currency'>,
  fx: FxTable,
): bigint | null {
  const rate = fx.rate(currency, credit.currency, at)?.rate;
  // Rounded up: a pot never gives more than it is worth.
  return rate === undefined ? null : (nanos * rate.numerator + rate.denominator - 1n) / rate.denominator;
}

/**
 * What is taken of the credits, in the order of the costs (give them by time); of several credits the one that ends
 * first goes first, then by id. A cost of another currency takes by the rate of its day; without a rate it takes
 * nothing. Of a pot in another currency less than a nano of the cost's may stay.
 */
export function applyCredits<Cost extends Creditable>(
  costs: Iterable<Cost>,
  credits: readonly Credit[],
  fx: FxTable,
): TakenCredit<Cost>[] {
  const pots = [...credits]
    .sort((a, b) => a.end - b.end || (a.id < b.id ? -1 : 1))
    .map((credit) => ({ credit, left: credit.nanos }));
  const taken: TakenCredit<Cost>[] = [];
  for (const cost of costs) {
    let due = cost.nanos;
    for (const pot of pots) {
      const { credit } = pot;
      const fits =
        credit.start <= cost.at &&
        cost.at < credit.end &&
        (credit.provider === null || credit.provider === cost.provider) &&
        (credit.team === null || credit.team === cost.team);
      if (!fits || due <= 0n || pot.left <= 0n) continue;
      const rate = fx.rate(cost.currency, credit.currency, cost.at)?.rate;
      if (rate === undefined) continue;
      const most = (pot.left * rate.denominator) / rate.numerator;
      const nanos = most < due ? most : due;
      if (nanos === 0n) continue;
      pot.left -= takenOf(nanos, cost, credit, fx) ?? 0n;
      due -= nanos;
      taken.push({ cost, credit, nanos: -nanos });
    }
  }
  return taken;
}

/** Credits as people wrote them. @throws Failure invalid naming every problem by its path. */
export function readCredits(specs: readonly CreditSpec[]): Credit[] {
  const problems: Problem[] = [];
  const credits = specs.map((spec, at): Credit => {
    const check = (field: string, fine: boolean, message: string): void => {
      if (!fine) problems.push({ path: `credits/${at}/${field}`, message });
    };
    const amount = parseDecimal(spec.amount);
    const nanos = (amount === null ? null : nanosOf(amount)) ?? 0n;
    const [first, after] = [parseDay(spec.from), parseDay(spec.until)];
    const [start, end] = [(first ?? 0) * DAY_MS, (after ?? 0) * DAY_MS];
    check('id', /^[\w.-]{1,100}$/.test(spec.id), 'is not a name of 1 to 100 letters, digits and . _ -');
    check('id', specs.findIndex(({ id }) => id === spec.id) === at, `is there twice: ${spec.id}`);
    check('amount', nanos > 0n, 'is not an amount above 0 with at most nine digits after the point');
    check('currency', /^[A-Z]{3}$/.test(spec.currency), 'is not an ISO 4217 code');
    check('from', first !== null, 'is not a day, YYYY-MM-DD');
    check('until', after !== null && end > start, 'is not a day after from, YYYY-MM-DD');
    return {
      id: spec.id,
      kind: spec.kind,
      provider: spec.provider ?? null,
      team: spec.team ?? null,
      nanos,
      currency: spec.currency,
      start,
      end,
    };
  });
  if (problems.length > 0) throw invalid(`the credits have ${problems.length} problem(s)`, problems);
  return credits;
}
