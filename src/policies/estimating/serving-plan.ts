/**
 * The sizes of a service's groups: what the planner (planning/spot-serving) wants of its replicas as they stand, and how
 * far that may be gone now.
 *
 * More comes before less: the invariant is that a proposal takes ready replicas away only where as many as are promised
 * stay ready without them, whichever of the other proposals are carried out, in whatever order.
 */
import { Failure } from '../../core/errors.js';
import type { WorkloadView } from '../../core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import {
  beliefAfter,
  learnZones,
  UNREAD,
  type Readings,
  type ZoneBelief,
} from '../../planning/spot-regions/availability.js';
import { servingProblem, type ServingProblem } from '../../planning/spot-serving/problem.js';
import { servingSizes, type HeldReplicas, type ServingSizes } from '../../planning/spot-serving/sizes.js';
import { random } from './random.js';
import type { Served } from './served.js';
import {
  askedOf,
  bootingOf,
  coldMs,
  type GroupParams,
  type ServingGroup,
  type ServingGroups,
} from './serving-groups.js';
import { regionOfPlace } from '../../core/price/zone.js';

export interface ServiceParams extends GroupParams {
  readonly replicas: number;
  readonly objective: number;
}

/** The size that each group should have now, by its name. */
export type Sizes = ReadonlyMap<string, number>;

const TICK_SECONDS = 600;
const PAST_DAYS = 14;
const ROUNDS = 3;

/** A sentence: why the promise cannot be planned for. */
export function plannedSizes(
  groups: ServingGroups,
  served: Served,
  given: ServiceParams,
  asOf: number,
): Sizes | string {
  const problem = problemOf(groups, served, given);
  if (typeof problem === 'string') return problem;
  const tick = Math.min(problem.ticks - 1, Math.floor((asOf - served.from) / 1000 / TICK_SECONDS));
  const seconds = (at: number): number => (at - served.from) / 1000;
  const held = (group: ServingGroup): HeldReplicas => ({
    ready: group.fleet.ready,
    booting: bootingOf(group),
    readyAt: seconds(Math.max(group.fleet.changedAt ?? asOf, asOf - coldMs(given)) + coldMs(given)),
  });
  const sizes = servingSizes(
    problem,
    {
      tick,
      unserved: served.unservedSeconds,
      zones: groups.spot.map((group) => ({ ...held(group), room: roomOf(group), spotPerHour: group.perHour / 1e9 })),
      onDemand: together(groups.onDemand.map(held)),
    },
    {
      beliefs: beliefsOf(groups.spot, problem, served.from, tick),
      random: random(Math.floor(asOf / HOUR_MS)),
      rounds: ROUNDS,
    },
  );
  return withoutLoss(groups, wantedSizes(groups, sizes), given.replicas);
}

function problemOf(
  { spot, onDemand }: ServingGroups,
  { from, until }: Served,
  given: ServiceParams,
): ServingProblem | string {
  const [cheapest] = onDemand;
  try {
    return servingProblem({
      replicas: given.replicas,
      coldStartSeconds: coldMs(given) / 1000,
      objective: given.objective,
      hours: (until - from) / HOUR_MS,
      tickSeconds: TICK_SECONDS,
      zones: spot.map(({ one, place }) => ({
        name: place,
        region: `${one.provider ?? ''} ${regionOfPlace(one.provider ?? '', one.zone ?? one.region ?? '')}`,
        onDemandPrice: (cheapest?.perHour ?? NaN) / 1e9,
      })),
    });
  } catch (error) {
    if (error instanceof Failure) return error.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw error;
  }
}

/**
 * None is launched where there is none now, nor where what was asked for has not come. A reading says that a zone has
 * spot, not how much: it is asked for one replica at a time.
 */
function roomOf({ fleet, spot, isOverdue }: ServingGroup): number {
  if (spot?.isThere !== true || isOverdue) return fleet.ready;
  const more = fleet.booting > 0 ? fleet.booting : 1;
  return Math.max(fleet.ready, Math.min(fleet.maxReplicas, fleet.ready + more));
}

/** Those of several groups as one: the latest decides. */
const together = (all: readonly HeldReplicas[]): HeldReplicas => ({
  ready: all.reduce((sum, { ready }) => sum + ready, 0),
  booting: all.reduce((sum, { booting }) => sum + booting, 0),
  readyAt: Math.max(0, ...all.map(({ readyAt }) => readyAt)),
});

/** What is believed of each zone now: taught by what was read before the window, and stepped through the window. */
function beliefsOf(spot: readonly ServingGroup[], problem: ServingProblem, from: number, tick: number): ZoneBelief[] {
  const before = Math.round((PAST_DAYS * DAY_MS) / 1000 / TICK_SECONDS);
  const pasts = spot.map((group) => readingsOf(group, from - before * TICK_SECONDS * 1000, before));
  const models = learnZones(
    pasts.map((past, zone) => ({ region: problem.regionOf[zone] ?? 0, past })),
    [],
  );
  return spot.flatMap((group, zone) => {
    const [model, past] = [models[zone], pasts[zone]];
    if (model === undefined || past === undefined) return [];
    const belief = beliefAfter(model, past);
    const since = readingsOf(group, from, tick + 1).states;
    for (let at = 0; at <= tick; at += 1) {
      const state = since[since.length - 1 - tick + at] ?? UNREAD;
      if (at > 0) belief.advance();
      if (state !== UNREAD) belief.observe(state);
    }
    return [belief];
  });
}

/** Readings of a zone on the planner's ticks; before the first of them nothing is said. */
function readingsOf({ spot }: ServingGroup, from: number, ticks: number): Readings {
  const market = spot?.market;
  const states = Uint8Array.from({ length: ticks }, (_, n) => {
    const at = from + n * TICK_SECONDS * 1000;
    const seen = market?.available[Math.floor((at - market.from) / (market.tickSeconds * 1000))] ?? null;
    return seen === null ? UNREAD : seen ? 1 : 0;
  });
  const first = states.findIndex((state) => state !== UNREAD);
  return { tickSeconds: TICK_SECONDS, states: first < 0 ? new Uint8Array() : states.subarray(first) };
}

/** What was asked for and does not come, or may not have come because nobody looks, is asked for on. */
const asksOn = ({ isOverdue, spot }: ServingGroup): boolean =>
  (isOverdue && spot?.isThere === true) || spot?.isThere === null;

/** The planner's replicas as sizes of groups. */
function wantedSizes({ spot, onDemand }: ServingGroups, sizes: ServingSizes): Map<string, number> {
  const wanted = new Map<string, number>();
  spot.forEach((group, zone) => {
    const size = sizes.spot[zone] ?? 0;
    wanted.set(group.one.workload, asksOn(group) ? Math.max(size, askedOf(group)) : size);
  });
  // The cheapest first, and what is there before what would have to be launched.
  let left = sizes.onDemand;
  for (const group of onDemand) {
    const kept = Math.min(left, group.fleet.ready + bootingOf(group));
    left -= kept;
    wanted.set(group.one.workload, kept);
  }
  for (const group of onDemand) {
    const kept = wanted.get(group.one.workload) ?? 0;
    if (group.isOverdue) wanted.set(group.one.workload, Math.max(kept, askedOf(group)));
    else {
      const more = Math.max(0, Math.min(left, group.fleet.maxReplicas - kept));
      left -= more;
      wanted.set(group.one.workload, kept + more);
    }
  }
  return wanted;
}

/**
 * Where nothing can be planned: what is missing of the promised replicas is added on demand, and on spot that is there
 * where that is not enough; nothing is taken away.
 */
export function standInSizes(
  { spot, onDemand, unpriced }: ServingGroups,
  all: readonly WorkloadView[],
  { replicas }: Pick<ServiceParams, 'replicas'>,
): Sizes {
  const ready = all.reduce((sum, { fleet }) => sum + (fleet?.ready ?? 0), 0);
  const fallback = [...onDemand, ...unpriced];
  let missing = replicas - ready - [...spot, ...fallback].reduce((sum, one) => sum + bootingOf(one), 0);
  const mostOf = [
    ...fallback.map((group) => ({ group, most: group.isOverdue ? 0 : group.fleet.maxReplicas })),
    ...spot.map((group) => ({ group, most: roomOf(group) })),
  ];
  return new Map(
    mostOf.map(({ group, most }): [string, number] => {
      const asked = askedOf(group);
      const more = Math.max(0, Math.min(missing, most - asked));
      missing -= more;
      return [group.one.workload, asked + more];
    }),
  );
}

/** Within bounds, and no smaller than leaves the promised replicas ready: on-demand, and what is dear, goes first. */
function withoutLoss({ spot, onDemand }: ServingGroups, wanted: Map<string, number>, replicas: number): Sizes {
  const all = [...onDemand.toReversed(), ...spot.toSorted((a, b) => b.perHour - a.perHour)];
  let spare = Math.max(0, all.reduce((sum, { fleet }) => sum + fleet.ready, 0) - replicas);
  const sizes = new Map<string, number>();
  for (const group of all) {
    const { minReplicas, maxReplicas, ready } = group.fleet;
    const asked = askedOf(group);
    const bounded = Math.max(minReplicas, Math.min(maxReplicas, wanted.get(group.one.workload) ?? asked));
    const cut = Math.max(0, asked - bounded);
    // Whether a cloud ends one that serves or one that boots is its own choice.
    const loses = Math.min(cut, ready) <= spare ? cut : spare;
    spare -= Math.min(loses, ready);
    sizes.set(group.one.workload, cut > 0 ? asked - loses : bounded);
  }
  return sizes;
}
