/**
 * From prices to monthly savings, in the same way in every policy. Only for estimates: billed amounts are computed
 * elsewhere, exactly.
 *
 * Never invents a price: without one the answer is null, and so is every saving computed from it.
 */
import {
  HOURS_PER_MONTH,
  type GpuOffer,
  type PolicyView,
  type SavingsEstimate,
  type WorkloadView,
} from '../../core/policy/policy.js';
import type { Rate } from '../../core/money.js';
import type { Evidence } from '../../core/evidence.js';
import type { Term } from '../../core/usage.js';
import { formatInstant } from '../../core/time.js';

/** Half the width of an 80 % interval, in standard deviations of a normal distribution. */
export const EIGHTY_PERCENT = 1.2816;

/** Nanos of one GPU for one hour, as a number. */
export const gpuHourNanos = (rate: Rate): number => (Number(rate.nanos) * 3600) / Number(rate.quantity);

/** `2.490000`: currency units of nanos, for a computation that people read. */
export const units = (nanos: number): string => (nanos / 1e9).toFixed(6);

/** The same for a sentence: cents, and more digits only where there are some. */
export const inCents = (nanos: number): string => units(nanos).replace(/(\.\d\d\d*?)0+$/, '$1');

/**
 * The monthly cost of a number of nanos per hour; null: unknown. Rounded like a saving, so that a saving of the whole
 * cost equals it.
 */
export const monthlyCostOf = (hourlyNanos: number | null): bigint | null =>
  hourlyNanos === null ? null : BigInt(Math.round(hourlyNanos * HOURS_PER_MONTH));

/** A saving of so many nanos per hour, month by month, certain as far as prices are. */
export function monthly(hourlyNanos: number): SavingsEstimate {
  const mean = BigInt(Math.round(hourlyNanos * HOURS_PER_MONTH));
  return { mean, low: mean, high: mean };
}

/** The same with the ends of its interval. The ends are put around the mean where rounding or skew has them inside. */
export function monthlyBetween(mean: number, low: number, high: number): SavingsEstimate {
  const perMonth = (nanos: number): bigint => BigInt(Math.round(nanos * HOURS_PER_MONTH));
  return { mean: perMonth(mean), low: perMonth(Math.min(low, mean)), high: perMonth(Math.max(high, mean)) };
}

/** A saving that happens once, such as that of one job: the month that has it has it whole. */
export function oneTime(nanos: number): SavingsEstimate {
  const mean = BigInt(Math.round(nanos));
  return { mean, low: mean, high: mean };
}

/** The same with the ends of its interval. */
export function onceBetween(mean: number, low: number, high: number): SavingsEstimate {
  const whole = (nanos: number): bigint => BigInt(Math.round(nanos));
  return { mean: whole(mean), low: whole(Math.min(low, mean)), high: whole(Math.max(high, mean)) };
}

/** A cost that is paid once, such as for one job; null: unknown. */
export const costOnce = (nanos: number | null): bigint | null => (nanos === null ? null : BigInt(Math.round(nanos)));

export function evidenceOf(view: PolicyView, what: string, from: number, to: number): Evidence {
  return { what, from: formatInstant(from), to: formatInstant(to), ageSeconds: Math.max(0, (view.asOf - to) / 1000) };
}

/** Where something is bought. */
export interface Place {
  readonly provider: string | null;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
}

/**
 * The price paid at a place: the offer of exactly this SKU and region. Null if either does not match: another offer
 * that stood in for a missing one might be more expensive, and a saving against it would be larger than the truth.
 */
export function ownOffer(view: PolicyView, { provider, region, sku }: Place, term: Term): GpuOffer | null {
  if (provider === null || sku === null) return null;
  return (
    view.offers.find(
      (offer) => offer.provider === provider && offer.sku === sku && offer.region === region && offer.term === term,
    ) ?? null
  );
}

/**
 * The possible purchase there under a term: the cheapest offer of the SKU, or of the model if no SKU is known. Null:
 * there is none.
 */
export function offerAt(view: PolicyView, { provider, region, sku, gpuModel }: Place, term: Term): GpuOffer | null {
  return cheapest(
    view.offers.filter(
      (offer) =>
        offer.provider === provider &&
        offer.term === term &&
        (sku === null ? offer.gpuModel === gpuModel : offer.sku === sku) &&
        (offer.region === null || region === null || offer.region === region),
    ),
  );
}

export const cheapest = (offers: readonly GpuOffer[]): GpuOffer | null =>
  offers.reduce<GpuOffer | null>(
    (best, offer) => (best === null || gpuHourNanos(offer.rate) < gpuHourNanos(best.rate) ? offer : best),
    null,
  );

/** Nanos per hour of one replica under its own term; null: unknown. */
export function replicaHourNanos(view: PolicyView, workload: WorkloadView): number | null {
  const offer = workload.term === null ? null : ownOffer(view, workload, workload.term);
  return offer === null || workload.gpusPerReplica === null ? null : gpuHourNanos(offer.rate) * workload.gpusPerReplica;
}

/** Replicas held, booting ones included; null: unknown. */
export const replicasOf = ({ fleet }: WorkloadView): number | null =>
  fleet === null ? null : fleet.ready + fleet.booting;

/** Nanos per hour of all its replicas; null: unknown. */
export function workloadHourNanos(view: PolicyView, workload: WorkloadView): number | null {
  const [perReplica, replicas] = [replicaHourNanos(view, workload), replicasOf(workload)];
  return perReplica === null || replicas === null ? null : perReplica * replicas;
}
