/**
 * Rates learned from bills: what a provider really charged for a metered SKU, as an exact share of its list price. It
 * is a share, not a price: it follows changes of the list, and it holds for one account, which a price list does not
 * know. It only multiplies an existing price, so unpriced usage never becomes priced, and it holds from the first hour
 * after the bill's period. The order of the rates does not matter. Never reads a bill itself: bill/reconciliation.ts
 * passes in the evidence.
 */
import { assert } from '../errors.js';
import { tenTo, type Decimal } from '../decimal.js';
import type { Ratio } from '../money.js';
import { HOUR_MS } from '../time.js';
import { PART_MS_PER_GPU_HOUR, type Term } from '../usage.js';

/** Metered usage that shares a rate, as the meter writes it. */
export interface RateKey {
  /** FOCUS ProviderName. */
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
}

/** The evidence of a closed bill period and the metered usage of the same time about one key, over all teams. */
export interface RateEvidence {
  readonly key: RateKey;
  /** Accounts of the bills' lines that it was compared with. */
  readonly billedAccounts: readonly (string | null)[];
  /** Half-open, epoch milliseconds. */
  readonly periodStart: number;
  readonly periodEnd: number;
  /** UTC days with metered usage that has a price. */
  readonly days: number;
  /** GPU part-milliseconds that were metered and have a price. */
  readonly meteredPartMs: bigint;
  /** The bill's; null if a line states none. */
  readonly billedPartMs: bigint | null;
  /** The cost of the metered usage by the price list, without any learned rate. */
  readonly listNanos: bigint;
  /** The bill's charge: effective (amortised), or billed if it states none. */
  readonly charged: Decimal;
  /** The bill's own list cost; null if a line states none. */
  readonly billedList: Decimal | null;
  readonly currency: string;
  readonly hasUnpriced: boolean;
  /** The bill covers some of it by a commitment and does not say what that is worth. */
  readonly lacksAmortisation: boolean;
}

/** Why a rate is shown but not applied. */
export type Distrust =
  | 'no-accrual' // nothing to be a share of
  | 'unpriced' // a part of the usage has no price
  | 'few-days'
  | 'little-usage'
  | 'quantity-differs' // the bill is about more or less usage than was metered
  | 'quantity-unknown' // the bill states neither GPU-hours nor a list cost to tell by
  | 'not-amortised' // a commitment covers usage and the bill has no effective cost of it
  | 'implausible'; // outside of what discounts and stale lists explain

export interface JudgedRate {
  /** Charged / list for the same usage, in lowest terms; null if there is none. */
  readonly ratio: Ratio | null;
  readonly distrust: readonly Distrust[];
}

/**
 * A rate is trusted from so much usage on: seven days hold every weekday, 100 GPU-hours outweigh the rounding of any
 * bill.
 */
const TRUSTED_DAYS = 7;
const TRUSTED_GPU_HOURS = 100n;
/** Metered and billed quantities (or list costs) may differ by one part in so many. */
const QUANTITY_TOLERANCE = 20n;
/** As a share of the list price: a discount of 95 %, and a list price of half the invoice, are the accepted limits. */
const LOWEST: Ratio = { numerator: 1n, denominator: 20n };
const HIGHEST: Ratio = { numerator: 2n, denominator: 1n };

/**
 * The rule of trust. If the bill states the quantity, the ratio is that of the two unit prices. If it states only a
 * list cost that agrees with ours, the usage is the same and the ratio is that of the bill's own two amounts, so that a
 * missing day teaches no discount. A distrusted rate keeps its ratio, for people to see.
 */
export function judgeRate(evidence: RateEvidence): JudgedRate {
  const { listNanos, meteredPartMs, billedPartMs, days } = evidence;
  const distrust: Distrust[] = [];
  if (evidence.hasUnpriced) distrust.push('unpriced');
  if (days < TRUSTED_DAYS) distrust.push('few-days');
  if (meteredPartMs < TRUSTED_GPU_HOURS * PART_MS_PER_GPU_HOUR) distrust.push('little-usage');
  if (evidence.lacksAmortisation) distrust.push('not-amortised');
  const same = sameUsage(evidence);
  if (same !== 'yes') distrust.push(same);
  if (listNanos <= 0n || meteredPartMs <= 0n) return { ratio: null, distrust: [...distrust, 'no-accrual'] };
  const amounts = asRatio(evidence.charged, { numerator: listNanos, denominator: tenTo(9) });
  const { billedList } = evidence;
  const ratio =
    billedPartMs !== null && billedPartMs > 0n
      ? reduced({ numerator: amounts.numerator * meteredPartMs, denominator: amounts.denominator * billedPartMs })
      : billedList !== null && billedList.unscaled > 0n
        ? asRatio(evidence.charged, { numerator: billedList.unscaled, denominator: tenTo(billedList.scale) })
        : amounts;
  if (isBelow(ratio, LOWEST) || isBelow(HIGHEST, ratio)) distrust.push('implausible');
  return { ratio, distrust };
}

function sameUsage({
  meteredPartMs,
  billedPartMs,
  listNanos,
  billedList,
}: RateEvidence): 'yes' | 'quantity-differs' | 'quantity-unknown' {
  if (billedPartMs !== null)
    return isNear(meteredPartMs, billedPartMs, QUANTITY_TOLERANCE) ? 'yes' : 'quantity-differs';
  if (billedList === null) return 'quantity-unknown';
  return isNear(listNanos * tenTo(billedList.scale), billedList.unscaled * tenTo(9), QUANTITY_TOLERANCE)
    ? 'yes'
    : 'quantity-differs';
}

/** Whether b differs from a by at most one part in `parts` of a. */
export function isNear(a: bigint, b: bigint, parts: bigint): boolean {
  const difference = a < b ? b - a : a - b;
  return difference * parts <= (a < 0n ? -a : a);
}

const isBelow = (a: Ratio, b: Ratio): boolean => a.numerator * b.denominator < b.numerator * a.denominator;

/** amount / whole in lowest terms. */
function asRatio(amount: Decimal, whole: Ratio): Ratio {
  return reduced({
    numerator: amount.unscaled * whole.denominator,
    denominator: tenTo(amount.scale) * whole.numerator,
  });
}

function reduced({ numerator, denominator }: Ratio): Ratio {
  assert(denominator > 0n, 'a denominator is positive');
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  return { numerator: numerator / a, denominator: denominator / a };
}

/** A rate that is applied. */
export interface LearnedRate {
  readonly key: RateKey;
  readonly ratio: Ratio;
  /** `bill:<source>/<month>`: what taught it; named on every cost line that it bears on. */
  readonly source: string;
  /** Epoch milliseconds, the start of a UTC hour: it holds from here until a newer period's rate does. */
  readonly appliesFrom: number;
  readonly periodEnd: number;
  /** Metered usage behind it: of two bills about one period the one with more usage counts. */
  readonly meteredPartMs: bigint;
}

/** A cost line's record of the learned rate that applies to it. */
export interface LearnedUsed {
  readonly source: string;
  readonly ratio: Ratio;
}

/**
 * From when a rate holds: the first hour after its period, and after every period that was closed before this bill came
 * or with it.
 * @param closedBefore ends of the account's periods that were closed no later than this one, epoch milliseconds
 */
export function appliesFrom(periodEnd: number, closedBefore: readonly number[]): number {
  return Math.ceil(Math.max(periodEnd, ...closedBefore) / HOUR_MS) * HOUR_MS;
}

const keyText = ({
  provider,
  account,
  sku,
  region,
  term,
}: Omit<RateKey, 'account'> & { readonly account?: string | null }): string =>
  JSON.stringify([provider, account ?? null, sku, region, term]);

/** The rates that hold, by what they are about. Immutable. */
export class LearnedRates {
  private readonly byKey = new Map<string, readonly LearnedRate[]>();
  private readonly byUsage = new WeakMap<object, readonly LearnedRate[]>();
  /** Of every account, by what they are about without it. */
  private readonly byPlace = new Map<string, readonly LearnedRate[]>();
  private readonly beginnings: readonly number[];

  /** @param rates in any order */
  constructor(rates: readonly LearnedRate[]) {
    for (const rate of [...rates].sort(newestFirst)) {
      assert(rate.appliesFrom % HOUR_MS === 0, 'a learned rate begins with an hour');
      const name = keyText(rate.key);
      this.byKey.set(name, [...(this.byKey.get(name) ?? []), rate]);
      const place = keyText({ ...rate.key, account: null });
      this.byPlace.set(place, [...(this.byPlace.get(place) ?? []), rate]);
    }
    this.beginnings = rates.map(({ appliesFrom: from }) => from).sort((a, b) => a - b);
  }

  /**
   * The rates that bear on usage of any account at an instant, one per account; that with the most metered usage behind
   * it first.
   */
  ofAccounts(usage: Omit<RateKey, 'account'>, instant: number): readonly LearnedRate[] {
    if (this.byPlace.size === 0) return [];
    const { provider, sku, region, term } = usage;
    const found = new Map<string | null, LearnedRate>();
    for (const rate of this.byPlace.get(keyText({ provider, sku, region, term })) ?? []) {
      if (rate.appliesFrom <= instant && !found.has(rate.key.account)) found.set(rate.key.account, rate);
    }
    return [...found.values()].sort((a, b) =>
      a.meteredPartMs === b.meteredPartMs ? newestFirst(a, b) : a.meteredPartMs > b.meteredPartMs ? -1 : 1,
    );
  }

  /** When the next rate begins to hold after an instant; infinity: none is to come. */
  nextAfter(instant: number): number {
    return this.beginnings.find((from) => from > instant) ?? Infinity;
  }

  /**
   * The rate that bears on usage at an instant: the newest closed period's that holds by then; null if none does. Never
   * changes within a UTC hour.
   */
  at(usage: Omit<RateKey, 'account'> & { readonly account?: string | null }, instant: number): LearnedUsed | null {
    if (this.byKey.size === 0) return null;
    let rates = this.byUsage.get(usage);
    if (rates === undefined) this.byUsage.set(usage, (rates = this.byKey.get(keyText(usage)) ?? []));
    const rate = rates.find((one) => one.appliesFrom <= instant);
    return rate === undefined ? null : { source: rate.source, ratio: rate.ratio };
  }
}

function newestFirst(a: LearnedRate, b: LearnedRate): number {
  if (a.periodEnd !== b.periodEnd) return b.periodEnd - a.periodEnd;
  if (a.meteredPartMs !== b.meteredPartMs) return a.meteredPartMs > b.meteredPartMs ? -1 : 1;
  return a.source < b.source ? -1 : a.source > b.source ? 1 : 0;
}
