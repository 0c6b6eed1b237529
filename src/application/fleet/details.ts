/**
 * Details of the fleet: each machine and group with its cost, the state of its GPUs, its waste, its recommendations and
 * its last action. Loads from the stores of the fleet, samples, prices, recommendations and actions.
 *
 * Reads only. An unknown value is null, with its reason if one is known, and never zero.
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { listedGroups } from '../../core/fleet/membership.js';
import { unusedCost, unusedOfGroup, type Faring } from '../../core/fleet/unused.js';
import { formatDecimal } from '../../core/decimal.js';
import { HOUR_MS, MINUTE_MS, formatInstant } from '../../core/time.js';
import { fleetTargetJson, type FleetTargetJson } from '../../store/fleet/fleet-json.js';
import type { SeenTarget } from '../../store/fleet/fleet.js';
import { minutesOfTeams, type ResourceMinute, type ResourceMinutes } from '../../store/fleet/resource-minutes.js';
import { hourlyNanos } from '../../store/price/offers.js';
import type { CurrentPrices } from '../../store/price/prices.js';
import type { Stores } from '../../store/stores.js';

type Needed = Pick<Stores, 'db' | 'fleet' | 'organisations' | 'prices' | 'recommendations' | 'actions'>;

/** Readings so far back say how the GPUs fare. */
const WINDOW_HOURS = 6;
const MOST_TARGETS = 5000;
const MOST_OTHERS = 5000;

/** Why something of a target is unknown. */
export type NotKnown = 'no-price' | 'no-gpus' | 'not-measured' | 'not-billed';

export interface FleetDetail {
  readonly target: FleetTargetJson;
  /** GPUs of all replicas; null: unknown. */
  readonly gpus: number | null;
  readonly utilisationRatio: number | null;
  readonly memoryUsedRatio: number | null;
  readonly evidence: { readonly minutes: number; readonly newestAt: string; readonly ageSeconds: number } | null;
  /** Decimal texts an hour, at the price of its term. */
  readonly hourlyCost: string | null;
  readonly unused: { readonly low: string; readonly high: string } | null;
  readonly currency: string;
  /** The reason why the cost or the waste is null; null: both are known. */
  readonly because: NotKnown | null;
  readonly recommendation: {
    readonly id: string;
    readonly title: string;
    readonly action: string;
    readonly estimatedMonthlySavings: string | null;
    readonly estimatedMonthlySavingsLow: string | null;
    readonly estimatedMonthlySavingsHigh: string | null;
    readonly currency: string;
  } | null;
  readonly lastAction: {
    readonly id: string;
    readonly effect: string;
    readonly state: string;
    readonly proposedAt: string;
  } | null;
}

export interface FleetDetails {
  readonly asOf: string;
  readonly windowHours: number;
  readonly items: readonly FleetDetail[];
  /** Targets that are not listed. */
  readonly more: boolean;
}

export async function fleetDetails(
  stores: Needed,
  organisation: string,
  teams: readonly string[] | null,
  currency: string,
  now: number,
): Promise<FleetDetails> {
  const { db } = stores;
  const asOf = await stores.organisations.asOf(db, organisation, now);
  const all = await stores.fleet.list(db, organisation, { teams }, null, MOST_TARGETS + 1);
  const targets = all.slice(0, MOST_TARGETS);
  const seenTeams = [...new Set(targets.map(({ team }) => team))];
  const [prices, minutes, recommendations, actions] = await Promise.all([
    stores.prices.book(db, organisation),
    minutesOfTeams(db, organisation, seenTeams, asOf - WINDOW_HOURS * HOUR_MS, asOf),
    stores.recommendations.list(organisation, { status: 'open', teams }, null, MOST_OTHERS),
    stores.actions.list(organisation, { teams }, null, MOST_OTHERS),
  ]);
  const measured = new Map(minutes.map((one) => [keyOf(one.newest.connection, one.newest.resource), one]));
  const lasts = new Map(
    actions.toReversed().map(({ action }) => [keyOf(action.connection, action.target), action] as const),
  );
  const faring = faringOf(targets, (one) =>
    faresAlone(one, measured.get(keyOf(one.connection, one.seen.target)), prices, currency, asOf),
  );
  return {
    asOf: formatInstant(asOf),
    windowHours: WINDOW_HOURS,
    items: targets.map((one): FleetDetail => {
      const { connection, team, seen } = one;
      const recommended = recommendations.find(
        (each) => each.team === team && (each.target === seen.target || each.target === seen.name),
      );
      const last = lasts.get(keyOf(connection, seen.target));
      return {
        target: fleetTargetJson(one, now),
        ...shownFaring(faring(one), asOf),
        currency,
        recommendation:
          recommended === undefined
            ? null
            : {
                id: recommended.id,
                title: recommended.title,
                action: recommended.action,
                estimatedMonthlySavings: recommended.estimatedMonthlySavings,
                estimatedMonthlySavingsLow: recommended.estimatedMonthlySavingsLow,
                estimatedMonthlySavingsHigh: recommended.estimatedMonthlySavingsHigh,
                currency: recommended.currency,
              },
        lastAction:
          last === undefined
            ? null
            : { id: last.id, effect: last.effect.kind, state: last.state, proposedAt: formatInstant(last.proposedAt) },
      };
    }),
    more: all.length > MOST_TARGETS,
  };
}

const keyOf = (connection: string | null, target: string): string => `${connection ?? ''}\u0001${target}`;

/** How a target fares by itself: its money, its GPUs and its readings. */
interface Fares extends Faring {
  readonly stands: boolean;
  readonly gpus: number | null;
  readonly minutes: readonly ResourceMinute[];
}

function faresAlone(
  { seen, firstSeenAt }: SeenTarget,
  measured: ResourceMinutes | undefined,
  prices: CurrentPrices,
  currency: string,
  asOf: number,
): Fares {
  const gpus = gpusOf(seen);
  const stands = seen.state === 'stopped' || seen.billing === 'ended';
  const { provider, sku, region, gpuModel, term } = seen;
  const hourly = stands ? null : hourlyNanos(prices, { provider, sku, region, gpuModel, term }, gpus, currency, asOf);
  const minutes = measured?.minutes ?? [];
  const there = Math.max(asOf - WINDOW_HOURS * HOUR_MS, seen.launchedAt ?? firstSeenAt);
  return { stands, gpus, hourly, minutes, unused: unusedCost(hourly, minutes, Math.round((asOf - there) / MINUTE_MS)) };
}

/** A group that nothing is known of by itself fares as its machines in the list do. */
function faringOf(targets: readonly SeenTarget[], alone: (one: SeenTarget) => Fares): (one: SeenTarget) => Fares {
  const listed = targets.map((one) => ({ ...one.seen, connection: one.connection, one, fares: alone(one) }));
  const groupIn = listedGroups(listed);
  const machines = new Map<SeenTarget, Fares[]>();
  for (const machine of listed) {
    const group = groupIn(machine)?.one;
    if (group === undefined || machine.fares.stands) continue;
    const others = machines.get(group);
    if (others === undefined) machines.set(group, [machine.fares]);
    else others.push(machine.fares);
  }
  const all = new Map(
    listed.map(({ one, fares }) => [one, fares.stands ? fares : withMachines(fares, machines.get(one) ?? [])]),
  );
  return (one) => all.get(one) ?? alone(one);
}

function withMachines(group: Fares, machines: readonly Fares[]): Fares {
  const priced = machines.flatMap(({ hourly }) => (hourly === null ? [] : [hourly]));
  const counted = machines.flatMap(({ gpus }) => (gpus === null ? [] : [gpus]));
  const isWhole = <T>(known: readonly T[]): boolean => known.length > 0 && known.length === machines.length;
  const hourly = group.hourly ?? (isWhole(priced) ? priced.reduce((sum, one) => sum + one, 0n) : null);
  return {
    stands: group.stands,
    gpus: group.gpus ?? (isWhole(counted) ? counted.reduce((sum, one) => sum + one, 0) : null),
    hourly,
    minutes: group.minutes.length > 0 ? group.minutes : machines.flatMap(({ minutes }) => minutes),
    unused: group.unused ?? unusedOfGroup(hourly, machines),
  };
}

function shownFaring(
  { stands, gpus, hourly, unused, minutes }: Fares,
  asOf: number,
): Pick<
  FleetDetail,
  'gpus' | 'utilisationRatio' | 'memoryUsedRatio' | 'evidence' | 'hourlyCost' | 'unused' | 'because'
> {
  const times = [...new Set(minutes.map(({ at }) => at))];
  const newest = times.length === 0 ? null : times.reduce((last, at) => Math.max(last, at));
  return {
    gpus,
    utilisationRatio: meanOf(minutes.map(({ gpu }) => gpu)),
    memoryUsedRatio: meanOf(minutes.map(({ memory }) => memory)),
    evidence:
      newest === null
        ? null
        : { minutes: times.length, newestAt: formatInstant(newest), ageSeconds: Math.max(0, asOf - newest) / 1000 },
    hourlyCost: hourly === null ? null : amountOf(hourly),
    unused: unused === null ? null : { low: amountOf(unused.low), high: amountOf(unused.high) },
    because: stands
      ? 'not-billed'
      : gpus === null
        ? 'no-gpus'
        : hourly === null
          ? 'no-price'
          : unused === null
            ? 'not-measured'
            : null,
  };
}

/** The GPUs of an instance; for a group, those of the ready or desired replicas. */
function gpusOf({ gpus, replicas }: FleetTarget): number | null {
  if (gpus === null || replicas === null) return gpus;
  return gpus * (replicas.ready ?? replicas.desired);
}

const amountOf = (nanos: bigint): string => formatDecimal({ unscaled: nanos, scale: 9 });

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
