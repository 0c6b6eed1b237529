/**
 * What recorded use costs under what a policy did to it. Plain, and the same for a policy, its opponents and the
 * optimum.
 *
 * The model, part by part:
 * - demand: GPUs that commitments cover are owed by the hour, used or not; the rest is paid on demand at that hour's
 *   price times the peak factor,
 *   or at the spot price in the share of the hour in which the market was recorded as available. What is refused is not
 *   served and not paid.
 * - resources: a stopped resource costs nothing until it is needed again (its next reading that shows work, or that
 *   shows nothing at all), and
 *   then the restart. An hour that nobody recorded is nobody's saving.
 * - workloads: a fleet is paid by the minute, booting replicas included; load beyond the ready ones is unserved.
 * Amounts are currency units as numbers: they are compared, never billed.
 */
import type { RecordedHistory } from '../../core/policy/history.js';
import type { SpotMarket } from '../../core/policy/policy.js';
import { spotMarketAt } from '../../core/policy/spot-market.js';
import type { Rate } from '../../core/money.js';
import { HOUR_MS } from '../../core/time.js';

/** Currency units of one GPU for one hour. */
export const gpuHour = (rate: Rate): number => (Number(rate.nanos) * 3600) / Number(rate.quantity) / 1e9;

export interface Commitment {
  readonly series: number;
  readonly units: number;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly termHours: number;
  /** Currency units per GPU and hour. */
  readonly perHour: number;
}

/** A limit on the demand of a series in one hour, and whether it runs on spot. */
export interface Standing {
  /** Most GPUs that are served; Infinity: nothing is refused. */
  readonly level: number;
  readonly onSpot: boolean;
}

export interface DemandBill {
  readonly cost: number;
  readonly refusedGpuHours: number;
  readonly spotGpuHours: number;
  /** GPU-hours that wanted spot and had no recorded availability: paid on demand. */
  readonly unverifiedGpuHours: number;
  readonly unpricedGpuHours: number;
}

export const NO_BILL: DemandBill = {
  cost: 0,
  refusedGpuHours: 0,
  spotGpuHours: 0,
  unverifiedGpuHours: 0,
  unpricedGpuHours: 0,
};

export const addBills = (a: DemandBill, b: DemandBill): DemandBill => ({
  cost: a.cost + b.cost,
  refusedGpuHours: a.refusedGpuHours + b.refusedGpuHours,
  spotGpuHours: a.spotGpuHours + b.spotGpuHours,
  unverifiedGpuHours: a.unverifiedGpuHours + b.unverifiedGpuHours,
  unpricedGpuHours: a.unpricedGpuHours + b.unpricedGpuHours,
});

/** GPUs that a series asked for in an hour; 0 outside of what is recorded. */
export function demanded(history: RecordedHistory, series: number, hour: number): number {
  const one = history.demand[series];
  return one === undefined ? 0 : (one.gpus[(hour - one.from) / HOUR_MS] ?? 0);
}

/** One hour of one series. */
export function billHour(
  history: RecordedHistory,
  series: number,
  hour: number,
  commitments: readonly Commitment[],
  standing: Standing,
): DemandBill {
  const one = history.demand[series];
  if (one === undefined) return NO_BILL;
  const wanted = demanded(history, series, hour);
  const served = Math.min(wanted, standing.level);
  const active = commitments.filter(
    (each) => each.series === series && each.since <= hour && hour < each.since + each.termHours * HOUR_MS,
  );
  const owed = active.reduce((sum, { units, perHour }) => sum + units * perHour, 0);
  const rest = Math.max(0, served - active.reduce((sum, { units }) => sum + units, 0));
  const { onDemand } = history.pricesAt(one, hour);
  const base = { ...NO_BILL, refusedGpuHours: wanted - served };
  if (onDemand === null) return { ...base, cost: owed, unpricedGpuHours: rest };
  const peak = peakOf(history, hour);
  const spot = standing.onSpot ? spotOf(history, series, hour) : null;
  if (spot === null)
    return { ...base, cost: owed + rest * gpuHour(onDemand) * peak, unverifiedGpuHours: standing.onSpot ? rest : 0 };
  return {
    ...base,
    cost: owed + rest * peak * (spot.share * spot.perHour + (1 - spot.share) * gpuHour(onDemand)),
    spotGpuHours: rest * spot.share,
  };
}

/** Mean factor of an hour. */
export const peakOf = ({ peak }: RecordedHistory, hour: number): number =>
  peak
    .pieces(hour, hour + HOUR_MS)
    .reduce(
      (sum, { start, end, factor }) =>
        sum + ((end - start) / HOUR_MS) * (Number(factor.numerator) / Number(factor.denominator)),
      0,
    );

/** Share of the hour in which spot was seen, and its price; null if nobody looked or there is no price. */
function spotOf(
  history: RecordedHistory,
  series: number,
  hour: number,
): { readonly share: number; readonly perHour: number } | null {
  const one = history.demand[series];
  const market = one === undefined ? null : spotMarketAt(history.spotMarkets, one);
  const share = market === null ? null : availableShare(market, hour);
  if (share === null) return null;
  const prices = history
    .offersAt(hour)
    .filter(
      (offer) =>
        offer.term === 'spot' &&
        offer.provider === one?.provider &&
        (one.sku === null ? offer.gpuModel === one.gpuModel : offer.sku === one.sku) &&
        (offer.region === null || one.region === null || offer.region === one.region),
    );
  return prices.length === 0 ? null : { share, perHour: Math.min(...prices.map(({ rate }) => gpuHour(rate))) };
}

/** Unobserved ticks count as without spot; null if no tick of the hour was observed. */
export function availableShare(market: SpotMarket, hour: number): number | null {
  const tickMs = market.tickSeconds * 1000;
  const first = Math.floor((hour - market.from) / tickMs);
  const count = Math.max(1, Math.round(HOUR_MS / tickMs));
  const ticks = Array.from({ length: count }, (_, n) => market.available[first + n] ?? null);
  return ticks.every((tick) => tick === null) ? null : ticks.filter((tick) => tick === true).length / count;
}
