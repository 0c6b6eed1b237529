/**
 * Three readings of Bursar's planner that run only where they are asked for: asked anew at every tick, as the policy
 * `spot-serving` asks it; told how the zones of the window are; and the one rule that turned out best in the window,
 * which shows how far any choice among its rules could get.
 *
 * Each runs behind the guard, as the planner does. The last two know what nobody can know.
 */
import { beliefAfter, learnZones, type ZoneBelief, type ZoneModel } from '../../planning/spot-regions/availability.js';
import { bursarServing, SPARES } from '../../planning/spot-serving/bursar.js';
import { ON_DEMAND, type ServingProblem } from '../../planning/spot-serving/problem.js';
import type { Rule } from '../../planning/spot-serving/rules.js';
import {
  simulateServing,
  type Desk,
  type ServingPolicy,
  type ServingRun,
} from '../../planning/spot-serving/simulate.js';
import { servingSizes, type HeldReplicas } from '../../planning/spot-serving/sizes.js';
import { mulberry32 } from '../random.js';
import type { ServingCase } from './case.js';

const SEED = 20_260_118;
/** As the policy has them. */
const LIVE_ROUNDS = 3;
const OVERDUE_COLD_STARTS = 2;

const believed = (models: readonly ZoneModel[], { pasts }: ServingCase): ZoneBelief[] =>
  pasts.flatMap((past, zone) => {
    const own = models[zone];
    return own === undefined ? [] : [beliefAfter(own, past)];
  });

/** Told how often spells of which class come in each zone of this very window, and at which hours they end. */
export function informedServing(problem: ServingProblem, one: ServingCase): ServingPolicy {
  const models = one.window.capacity.flatMap((row) =>
    learnZones(
      [{ region: 0, past: { tickSeconds: problem.tickSeconds, states: row.map((count) => Math.min(1, count)) } }],
      [],
    ),
  );
  return bursarServing(problem, { beliefs: believed(models, one), random: mulberry32(SEED) });
}

/** The cheapest of the rules that each stand for the whole window; the best is known once it is over. */
export function bestRuleServing(problem: ServingProblem, one: ServingCase): ServingRun {
  const models = learnZones(
    one.pasts.map((past, zone) => ({ region: problem.regionOf[zone] ?? 0, past })),
    [],
  );
  const beliefs = believed(models, one);
  const runs = allRules(problem).map((rule) =>
    simulateServing(
      problem,
      one.window,
      bursarServing(problem, { beliefs, random: mulberry32(SEED), rounds: 0, rule }),
    ),
  );
  return runs.reduce((best, run) => (run.cost < best.cost ? run : best));
}

function allRules({ replicas }: ServingProblem): Rule[] {
  const mosts = [...new Set([1, Math.ceil(replicas / 2), replicas])];
  const bases = Array.from({ length: replicas + 1 }, (_, base) => base);
  return bases.flatMap((base) =>
    [0, 0.5, ...SPARES].flatMap((spares) =>
      mosts.flatMap((most) => [0, 1, 4, 16].map((caution) => ({ base, spares, most, caution }))),
    ),
  );
}

/**
 * The policy's way: at each tick the state alone is asked about, and the readings of all markets are known. What was
 * asked for and does not come is not counted on; nothing that serves goes unless the promised replicas stay ready.
 */
export function liveServing(problem: ServingProblem, one: ServingCase): ServingPolicy {
  const models = learnZones(
    one.pasts.map((past, zone) => ({ region: problem.regionOf[zone] ?? 0, past })),
    [],
  );
  const beliefs = believed(models, one);
  /** Seconds at which a zone was first asked in vain; Infinity: it was not. */
  const unfilled = new Float64Array(problem.names.length).fill(Infinity);
  return (desk) => {
    const now = desk.tick * problem.tickSeconds;
    const isThere = one.window.capacity.map((row) => (row[desk.tick] ?? 0) > 0);
    beliefs.forEach((belief, zone) => {
      if (desk.tick > 0) belief.advance();
      belief.observe(isThere[zone] === true ? 1 : 0);
      if (isThere[zone] !== true) unfilled[zone] = Infinity;
    });
    const mayAsk = (zone: number): boolean =>
      isThere[zone] === true && now <= (unfilled[zone] ?? Infinity) + OVERDUE_COLD_STARTS * problem.coldSeconds;
    const sizes = servingSizes(
      problem,
      {
        tick: desk.tick,
        unserved: desk.unserved,
        zones: beliefs.map((_, zone) => ({
          ...heldOf(desk, zone, now),
          room: desk.held(zone) + (mayAsk(zone) ? 1 : 0),
          spotPerHour: desk.spotPrice(zone),
        })),
        onDemand: heldOf(desk, ON_DEMAND, now),
      },
      { beliefs, random: mulberry32(SEED + Math.floor(now / 3600)), rounds: LIVE_ROUNDS },
    );
    while (desk.held(ON_DEMAND) < sizes.onDemand) desk.launchOnDemand();
    sizes.spot.forEach((size, zone) => {
      // What did not come goes on being asked for.
      const wanted = Number.isFinite(unfilled[zone] ?? Infinity) ? Math.max(size, desk.held(zone) + 1) : size;
      while (desk.held(zone) < wanted && desk.tryLaunch(zone)) unfilled[zone] = Infinity;
      if (desk.held(zone) < wanted) unfilled[zone] = Math.min(unfilled[zone] ?? Infinity, now);
    });
    lower(problem, desk, sizes.onDemand, ON_DEMAND, now);
    sizes.spot.forEach((size, zone) => lower(problem, desk, Math.max(size, 0), zone, now));
  };
}

/** Takes replicas away, those that started last first, as long as the promised ones are ready without them. */
function lower({ replicas }: ServingProblem, desk: Desk, size: number, zone: number, now: number): void {
  while (desk.held(zone) > size) {
    const isReady = (desk.readyAt[desk.zones.lastIndexOf(zone)] ?? Infinity) <= now;
    if (isReady && desk.readyAt.filter((at) => at <= now).length <= replicas) return;
    desk.stop(zone);
  }
}

function heldOf(desk: Desk, zone: number, now: number): HeldReplicas {
  const own = desk.readyAt.filter((_, at) => desk.zones[at] === zone);
  const boots = own.filter((at) => at > now);
  return { ready: own.length - boots.length, booting: boots.length, readyAt: Math.max(0, ...boots) };
}
