/**
 * The scaling groups that hold the replicas of a service: each on spot at a place or on demand, with its price, its
 * market and what it holds; and of every other group the reason why it is none.
 *
 * Unknown is a reason, never a number: a group without a size, a price or a recorded market counts for nothing.
 */
import type { FleetFacts, LeftAlone, PolicyView, SpotMarket, WorkloadView } from '../../core/policy/policy.js';
import { spotMarketAt } from '../../core/policy/spot-market.js';
import { MINUTE_MS } from '../../core/time.js';
import { isLeft, leftAlone } from './explanations.js';
import { gpuHourNanos, ownOffer } from './money.js';
import { recordOf, sizedOn, type SpotRecord } from './spot.js';
import { seenNow } from './spot-places.js';

export interface ServingGroup {
  readonly one: WorkloadView;
  readonly fleet: FleetFacts;
  /** As people name it: the cloud and the zone or region. */
  readonly place: string;
  /** Nanos per hour of one replica. */
  readonly perHour: number;
  /** Null: it is on demand. `isThere` is null where its market was not read lately. */
  readonly spot: { readonly market: SpotMarket; readonly record: SpotRecord; readonly isThere: boolean | null } | null;
  /** What it asked for has not come for longer than a cold start takes: it is waited for, and not counted. */
  readonly isOverdue: boolean;
}

/** On demand, with a size and without a price: nothing is planned with it, and it may still stand in. */
export type UnpricedGroup = Omit<ServingGroup, 'perHour' | 'spot'>;

export interface ServingGroups {
  readonly spot: readonly ServingGroup[];
  /** The cheapest first. */
  readonly onDemand: readonly ServingGroup[];
  readonly unpriced: readonly UnpricedGroup[];
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
  const unpriced: UnpricedGroup[] = [];
  for (const one of all) {
    const made = groupOf(view, one, given);
    if (isLeft(made)) refused.set(one.workload, made);
    else if ('perHour' in made) able.push(made);
    else {
      refused.set(one.workload, NO_PRICE);
      unpriced.push(made);
    }
  }
  return {
    unpriced,
    spot: able.filter(({ spot }) => spot !== null),
    onDemand: able.filter(({ spot }) => spot === null).sort((a, b) => a.perHour - b.perHour),
    refused,
  };
}

const NO_PRICE = leftAlone(
  'no-price',
  'the price of its replicas is unknown',
  'a price of its provider, SKU, place and term',
);

function groupOf(view: PolicyView, one: WorkloadView, given: GroupParams): ServingGroup | UnpricedGroup | LeftAlone {
  const { provider, region, zone, followedBy } = one;
  if (followedBy !== undefined)
    return leftAlone(
      'own-policy',
      `${followedBy} sets its size already, and two would undo each other`,
      `the removal of ${followedBy}`,
    );
  const sized = sizedOn(one);
  if (isLeft(sized)) return sized;
  const { term, fleet, gpusPerReplica } = sized;
  const places = [zone ?? region, region];
  const offer =
    places.map((at) => ownOffer(view, { ...one, region: at }, term)).find((found) => found !== null) ?? null;
  const since = fleet.changedAt ?? view.asOf;
  const unpriced = {
    one,
    fleet,
    place: [provider, zone ?? region].filter((part) => part !== null).join(' '),
    isOverdue: fleet.booting > 0 && view.asOf > since + OVERDUE_COLD_STARTS * coldMs(given),
  };
  if (offer === null) return term === 'on-demand' ? unpriced : NO_PRICE;
  const group = { ...unpriced, perHour: gpuHourNanos(offer.rate) * gpusPerReplica, spot: null };
  if (term === 'on-demand') return group;
  const market = spotMarketAt(view.spotMarkets, one);
  const record = recordOf(view, market, given.historyDays);
  if (market === null || record === null)
    return leftAlone(
      'not-recorded',
      `the availability of spot there has not been recorded for ${given.historyDays} days`,
      'readings of its spot market',
    );
  return { ...group, spot: { market, record, isThere: seenNow({ market }, view.asOf) } };
}

/** Two minutes until a loss is read and answered come before the cold start. */
export const coldMs = ({ coldStartMinutes }: GroupParams): number => (coldStartMinutes + 2) * MINUTE_MS;

/** Replicas that were asked for. */
export const askedOf = ({ fleet }: Pick<ServingGroup, 'fleet'>): number => fleet.ready + fleet.booting;

/** Of those that boot, the ones that may be counted on. */
export const bootingOf = ({ fleet, spot = null, isOverdue }: UnpricedGroup & Partial<ServingGroup>): number =>
  isOverdue || (spot !== null && spot.isThere !== true) ? 0 : fleet.booting;

/** Replicas that all groups on demand may have together. */
export const fallbackMost = ({ onDemand, unpriced }: Pick<ServingGroups, 'onDemand' | 'unpriced'>): number =>
  [...onDemand, ...unpriced].reduce((sum, one) => sum + Math.max(one.fleet.maxReplicas, askedOf(one)), 0);
