/**
 * Savings plans on sale as prices per GPU, and the commitment for a number of GPUs.
 *
 * Pure. A plan is a spend per hour, not a number of machines: its price of a GPU is its own rate for the machine. The
 * invariant: without a rate there is no price; a commitment is rounded down, so that never more is bought than
 * requested.
 */
import type { CommitmentOffer, PlanRate } from './commitment-offer.js';
import { rateOf } from '../money.js';
import { compareRates } from './price-book.js';
import type { Price, PriceEvent } from './price.js';
import { termHours } from './term.js';
import { TERMS, type Term } from '../usage.js';

/** A plan with whose it is. */
export type PlanOffer = Pick<CommitmentOffer, 'kind' | 'termHours' | 'upfront' | 'currency' | 'rates'> & {
  readonly provider: string;
};

const slotOf = ({
  provider,
  sku,
  region,
  term,
  upfront,
}: Pick<Price, 'provider' | 'sku' | 'region' | 'term' | 'upfront'>): string =>
  JSON.stringify([provider, sku, region, term, upfront]);

const planTerm = (hours: number): Term | null =>
  TERMS.find((term) => term.startsWith('savings-plan') && termHours(term) === hours) ?? null;

/**
 * The prices that plans on sale give to machines, of several plans for the same place, term and payment the cheapest;
 * only what differs from what is known.
 * A plan's rates say not since when they hold: they hold from when they were first read.
 * @param known every price that the book has
 * @param at epoch milliseconds
 * @param source the name that these prices carry; other lists' prices are left as they are
 */
export function planPrices(
  offers: readonly PlanOffer[],
  known: readonly Price[],
  at: number,
  source: string,
): PriceEvent[] {
  const best = new Map<string, Price>();
  for (const offer of offers) {
    for (const price of pricesOfPlan(offer, at, source)) {
      const other = best.get(slotOf(price));
      if (other === undefined || compareRates(price.rate, other.rate) < 0) best.set(slotOf(price), price);
    }
  }
  const last = new Map<string, Price>();
  for (const price of known) {
    if (price.source !== source || price.component !== 'gpu') continue;
    const other = last.get(slotOf(price));
    if (other === undefined || price.effectiveFrom > other.effectiveFrom) last.set(slotOf(price), price);
  }
  return [...best].flatMap(([slot, price]): PriceEvent[] => {
    const before = last.get(slot);
    const isSame =
      before !== undefined &&
      compareRates(before.rate, price.rate) === 0 &&
      before.gpus === price.gpus &&
      before.rate.currency === price.rate.currency;
    return isSame ? [] : [{ kind: 'price', price }];
  });
}

function pricesOfPlan(
  { kind, provider, termHours: hours, upfront, currency, rates = [] }: PlanOffer,
  at: number,
  source: string,
): Price[] {
  const term = planTerm(hours);
  if (kind !== 'savings-plan' || term === null) return [];
  return rates.flatMap(({ sku, region, gpuModel, gpus, hourlyNanos }): Price[] => {
    const gpuSeconds = 3600 * gpus;
    if (hourlyNanos <= 0n || !Number.isSafeInteger(gpuSeconds) || gpuSeconds <= 0) return [];
    return [
      {
        provider,
        sku,
        region,
        term,
        upfront,
        component: 'gpu',
        gpuModel,
        gpus,
        rate: rateOf({ unscaled: hourlyNanos, scale: 9 }, currency, BigInt(gpuSeconds), 'gpu-second'),
        // As the machine is billed on demand (Amazon EC2 On-Demand Pricing, "Per-second billing").
        effectiveFrom: at,
        effectiveTo: null,
        incrementSeconds: 1,
        minimumSeconds: 60,
        source,
      },
    ];
  });
}

/**
 * A plan bought for some GPUs: units of hourly commitment, what they cost over the term, and the GPUs that they hold.
 */
export interface PlanPurchase {
  /**
   * One is one currency unit per hour; thousandths, as small as AWS sells them (Savings Plans API Reference,
   * CreateSavingsPlan: at least 0.001).
   */
  readonly units: number;
  readonly mostNanos: bigint;
  readonly gpus: number;
}

/**
 * The commitment of a plan for a number of GPUs of a machine; null: the plan states no rate for it, or sells no
 * commitment that small.
 */
export function planPurchase(
  {
    rates = [],
    upfrontNanos,
    hourlyNanos,
    termHours: hours,
  }: Pick<CommitmentOffer, 'rates' | 'upfrontNanos' | 'hourlyNanos' | 'termHours'>,
  gpus: number,
  sku: string,
  region: string,
): PlanPurchase | null {
  const rate = rates.find((one: PlanRate) => one.sku === sku && one.region === region);
  if (rate === undefined || rate.hourlyNanos <= 0n || rate.gpus <= 0) return null;
  const wanted = (BigInt(Math.floor(gpus)) * 1000n * rate.hourlyNanos) / BigInt(Math.round(rate.gpus * 1000));
  const thousandths = wanted / 1_000_000n;
  if (thousandths < 1n) return null;
  const perUnit = upfrontNanos + hourlyNanos * BigInt(Math.ceil(hours));
  return {
    units: Number(thousandths) / 1000,
    mostNanos: (thousandths * perUnit + 999n) / 1000n,
    gpus: (Number(thousandths) * 1e6 * rate.gpus) / Number(rate.hourlyNanos),
  };
}
