/**
 * The past saving of spot, from prices and from the recorded availability of one market.
 *
 * An hour without a reading counts as one without spot, and as the loss of spot where it may have been one: a missing
 * reading never makes spot look better.
 */
import type {
  FleetFacts,
  GpuOffer,
  LeftAlone,
  PolicyView,
  SpotMarket,
  WorkloadView,
} from '../../core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import { leftAlone, PROTECTED } from './explanations.js';
import { mayTouch } from './minutes.js';
import { EIGHTY_PERCENT, gpuHourNanos, offerAt, ownOffer, type Place } from './money.js';

export interface SpotRecord {
  readonly from: number;
  readonly to: number;
  readonly tickSeconds: number;
  /** Share of the ticks in which spot was seen available. */
  readonly share: number;
  readonly interruptionsPerHour: number;
  /** The share of each day. */
  readonly dailyShares: readonly number[];
  /** The newest ticks up to the view's instant, oldest first. */
  readonly ticks: readonly (boolean | null)[];
}

/** What a policy of spot has to know of a workload before all else, or why it is left alone. */
export function sizedOn(
  one: WorkloadView,
): { readonly term: 'spot' | 'on-demand'; readonly fleet: FleetFacts; readonly gpusPerReplica: number } | LeftAlone {
  const { term, fleet, gpusPerReplica } = one;
  if (!mayTouch(one)) return PROTECTED;
  if (term !== 'spot' && term !== 'on-demand')
    return leftAlone('other-term', `it runs ${term ?? 'under an unknown term'}`, 'a term of spot or on-demand');
  if (fleet === null || gpusPerReplica === null)
    return leftAlone(
      'size-unknown',
      'the number of GPUs on which it runs is unknown',
      'its size, and GPUs of each replica',
    );
  return { term, fleet, gpusPerReplica };
}

/** The market's last `days`; null if it was not recorded for so long. */
export function recordOf(view: PolicyView, market: SpotMarket | null, days: number): SpotRecord | null {
  if (market === null) return null;
  const tickMs = market.tickSeconds * 1000;
  const count = Math.round((days * DAY_MS) / tickMs);
  const end = Math.floor((view.asOf - market.from) / tickMs);
  if (end < count || count < 1) return null;
  const ticks = Array.from({ length: count }, (_, n) => market.available[end - count + n] ?? null);
  const perDay = Math.max(1, Math.round(DAY_MS / tickMs));
  const dailyShares = Array.from({ length: Math.ceil(count / perDay) }, (_, day) =>
    shareOf(ticks.slice(day * perDay, (day + 1) * perDay)),
  );
  const from = market.from + (end - count) * tickMs;
  return {
    from,
    to: market.from + end * tickMs,
    tickSeconds: market.tickSeconds,
    share: shareOf(ticks),
    dailyShares,
    ticks,
    interruptionsPerHour: mostInterruptions(ticks) / ((count * tickMs) / HOUR_MS),
  };
}

/** How often spot was lost, for those values of the missing readings with which it was lost most often. */
function mostInterruptions(ticks: readonly (boolean | null)[]): number {
  let [there, gone] = [-Infinity, 0];
  for (const tick of ticks)
    [there, gone] = [
      tick === false ? -Infinity : Math.max(there, gone),
      tick === true ? -Infinity : Math.max(there + 1, gone),
    ];
  return Math.max(there, gone);
}

const shareOf = (ticks: readonly (boolean | null)[]): number =>
  ticks.filter((tick) => tick === true).length / Math.max(1, ticks.length);

export interface SpotPrices {
  /** Nanos per GPU-hour. */
  readonly onDemand: number;
  readonly spot: number;
  readonly offer: GpuOffer;
}

/** Both prices of a place, on spot that of its zone where it has one; null if one is missing. */
export function spotPrices(view: PolicyView, place: Place & Pick<WorkloadView, 'zone'>): SpotPrices | null {
  const inZone = place.zone === undefined ? null : ownOffer(view, { ...place, region: place.zone }, 'spot');
  const [own, offer] = [ownOffer(view, place, 'on-demand'), inZone ?? offerAt(view, place, 'spot')];
  return own === null || offer === null
    ? null
    : { onDemand: gpuHourNanos(own.rate), spot: gpuHourNanos(offer.rate), offer };
}

export interface HourlySaving {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Nanos that one GPU saves per hour when it is on spot while there is spot and on demand while there is none: the price
 * difference in the hours with spot, less a restart at either price for every interruption (away and back). The
 * interval is that of the mean of the days.
 */
export function spotSaving({ onDemand, spot }: SpotPrices, record: SpotRecord, restartHours: number): HourlySaving {
  const lost = record.interruptionsPerHour * restartHours * (onDemand + spot);
  const savingAt = (share: number): number => share * (onDemand - spot) - lost;
  const { dailyShares, share } = record;
  const variance = dailyShares.reduce((sum, one) => sum + (one - share) ** 2, 0) / Math.max(1, dailyShares.length - 1);
  const spread = dailyShares.length > 1 ? EIGHTY_PERCENT * Math.sqrt(variance / dailyShares.length) : share;
  return {
    mean: savingAt(share),
    low: savingAt(Math.max(0, share - spread)),
    high: savingAt(Math.min(1, share + spread)),
  };
}
