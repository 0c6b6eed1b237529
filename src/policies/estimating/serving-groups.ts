/**
 * The scaling groups that hold the replicas of a service: each on spot at a place or on demand, with its price, its
 * market and what it holds; and of every other group the reason why it is none.
 *
 * Unknown is a reason, never a number: a group without a size, a price or a recorded market counts for nothing.
 */
import type { FleetFacts, LeftAlone, PolicyView, SpotMarket, WorkloadView } from '../../core/policy/policy.js';
import { MINUTE_MS } from '../../core/time.js';
import { isLeft, leftAlone } from './explanations.js';
import { gpuHourNanos, ownOffer } from './money.js';
import { marketOf, recordOf, sizedOn, type SpotRecord } from './spot.js';
import { isThereNow } from './spot-places.js';

export interface ServingGroup {
  readonly one: WorkloadView;
  readonly fleet: FleetFacts;
  /** As people name it: the cloud and the zone or region. */
  readonly place: string;
  /** Nanos per hour of one replica. */
  readonly perHour: number;
  /** Null: it is on demand. */
  readonly spot: { readonly market: SpotMarket; readonly record: SpotRecord; readonly isThere: boolean } | null;
  /** What it asked for has not come for longer than a cold start takes: it is waited for, and not counted. */
  readonly isOverdue: boolean;
}

export interface ServingGroups {
  readonly spot: readonly ServingGroup[];
  /** The cheapest first. */
  readonly onDemand: readonly ServingGroup[];
  readonly refused: ReadonlyMap<string, LeftAlone>;
}

export interface GroupParams {
  readonly coldStartMinutes: number;
  readonly historyDays: number;
}

/** Cold starts after which what was asked for is taken not to come. */
const OVERDUE_COLD_STARTS = 2;

export function groupsOf(view: PolicyView, all: readonly WorkloadView[], given: GroupParams): ServingGroups {
  const refused = new Map<string, LeftAlone>();
  const able: ServingGroup[] = [];
  for (const one of all) {
    const made = groupOf(view, one, given);
    if (isLeft(made)) refused.set(one.workload, made);
    else able.push(made);
  }
  return {
    spot: able.filter(({ spot }) => spot !== null),
    onDemand: able.filter(({ spot }) => spot === null).sort((a, b) => a.perHour - b.perHour),
    refused,
  };
}

function groupOf(view: PolicyView, one: WorkloadView, given: GroupParams): ServingGroup | LeftAlone {
  const { provider, region, zone, gpuModel } = one;
  const sized = sizedOn(one);
  if (isLeft(sized)) return sized;
  const { term, fleet, gpusPerReplica } = sized;
  const places = [zone ?? region, region];
  const offer =
    places.map((at) => ownOffer(view, { ...one, region: at }, term)).find((found) => found !== null) ?? null;
  if (offer === null)
    return leftAlone(
      'no-price',
      'the price of its replicas is unknown',
      'a price of its provider, SKU, place and term',
    );
  const since = fleet.changedAt ?? view.asOf;
  const group = {
    one,
    fleet,
    place: [provider, zone ?? region].filter((part) => part !== null).join(' '),
    perHour: gpuHourNanos(offer.rate) * gpusPerReplica,
    spot: null,
    isOverdue: fleet.booting > 0 && view.asOf > since + OVERDUE_COLD_STARTS * coldMs(given),
  };
  if (term === 'on-demand') return group;
  const market = places.map((at) => marketOf(view, provider, at, gpuModel)).find((found) => found !== null) ?? null;
  const record = recordOf(view, market, given.historyDays);
  if (market === null || record === null)
    return leftAlone(
      'not-recorded',
      `the availability of spot there has not been recorded for ${given.historyDays} days`,
      'readings of its spot market',
    );
  return { ...group, spot: { market, record, isThere: isThereNow({ market }, view.asOf) } };
}

/** Two minutes until a loss is read and answered come before the cold start. */
export const coldMs = ({ coldStartMinutes }: GroupParams): number => (coldStartMinutes + 2) * MINUTE_MS;

/** Replicas that were asked for. */
export const askedOf = ({ fleet }: ServingGroup): number => fleet.ready + fleet.booting;

/** Of those that boot, the ones that may be counted on. */
export const bootingOf = ({ fleet, spot, isOverdue }: ServingGroup): number =>
  isOverdue || spot?.isThere === false ? 0 : fleet.booting;
