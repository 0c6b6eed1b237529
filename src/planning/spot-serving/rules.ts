/**
 * What a tick does by a rule, for a given order of zones: replicas on spot and on-demand, spares, moves and fallback;
 * and the guard behind which every rule runs.
 *
 * A rule never sees the future, and asks for zones only by trying them. The invariant is the guard: what may go
 * unserved always covers the loss of all spot at the next tick, so that the objective is held whatever happens.
 */
import { ON_DEMAND, type ServingProblem } from './problem.js';
import { unservedInTick, type Desk } from './simulate.js';

export interface Rule {
  /** On-demand replicas that are held at all times. */
  readonly base: number;
  /** Spot replicas beyond those that are wanted, at an even use of what may go unserved; more as less is left. */
  readonly spares: number;
  /** Most spot replicas in one zone, unless too few are found. */
  readonly most: number;
  /** What a cold start without a replacement is worth, in hours of on-demand per hour: orders zones by lifetime. */
  readonly caution: number;
}

/** What the zones are worth to a rule. */
export interface Ranking {
  /** Best first. */
  readonly order: readonly number[];
  /** Price per hour of serving, by zone, with the cold starts that it asks for. */
  readonly effective: Float64Array;
  /** Hours that spot lasts, by zone. */
  readonly lifetime: Float64Array;
  /** The number of replicas that a zone was last seen to be full with. */
  readonly fullAt: Float64Array;
}

/** A move must save this share of the effective price. */
const MOVE_MARGIN = 0.05;
/** From here on zones hold one replica each. */
const SPREAD_SCARCITY = 2;

export function actByRule(problem: ServingProblem, desk: Desk, rule: Rule, ranking: Ranking): void {
  const places = problem.replicas - rule.base;
  const scarce = scarcity(problem, desk);
  const wantedSpot = places > 0 ? places + Math.min(problem.replicas, Math.round(rule.spares * scarce)) : 0;
  const most = scarce >= SPREAD_SCARCITY ? 1 : rule.most;
  const now = desk.tick * problem.tickSeconds;
  let spot = desk.zones.length - desk.held(ON_DEMAND);
  spot += launchSpot(desk, ranking, most, wantedSpot - spot);
  spot += launchSpot(desk, ranking, Infinity, places - spot);
  let ready = 0;
  for (let i = 0; i < desk.zones.length; i += 1)
    if (desk.zones[i] !== ON_DEMAND && (desk.readyAt[i] ?? 0) <= now) ready += 1;
  while (spot > wantedSpot && ready > wantedSpot) {
    const zone = dearestReady(desk, now, ranking.effective);
    if (zone === ON_DEMAND) break;
    desk.stop(zone);
    [spot, ready] = [spot - 1, ready - 1];
  }
  if (spot === wantedSpot && ready === wantedSpot) spot += move(problem, desk, most, ranking);
  // Where spot is too scarce for the spares, on-demand takes over: what is left unserved then stays for a return.
  const short = Math.min(places, Math.max(0, wantedSpot - spot));
  while (desk.held(ON_DEMAND) < rule.base + short) desk.launchOnDemand();
  while (desk.held(ON_DEMAND) > rule.base + short && ready + desk.held(ON_DEMAND) > problem.replicas) {
    if (!mayStopOnDemand(problem, desk)) break;
    desk.stop(ON_DEMAND);
  }
  guard(problem, desk);
}

/** What an even use over the window would leave, over what is left, both without one loss of everything. */
export function scarcity(
  { allowedSeconds, replicas, coldSeconds, ticks }: ServingProblem,
  { unserved, tick }: Pick<Desk, 'unserved' | 'tick'>,
): number {
  const once = replicas * coldSeconds;
  const even = Math.max(0, allowedSeconds - once) * (1 - tick / ticks);
  return even / Math.max(1e-9, allowedSeconds - once - unserved);
}

/** Tries up to `wanted` launches, best zones first; the number that succeeded. */
function launchSpot(desk: Desk, ranking: Ranking, most: number, wanted: number): number {
  let launched = 0;
  for (const zone of ranking.order) {
    if (launched >= wanted) break;
    while (launched < wanted && desk.held(zone) < limit(most, ranking, zone) && desk.tryLaunch(zone)) launched += 1;
  }
  return launched;
}

const limit = (most: number, { fullAt }: Ranking, zone: number): number => Math.min(most, fullAt[zone] ?? Infinity);

/** The zone of a serving spot replica that is dearest; ON_DEMAND: there is none, or its newest is not serving yet. */
function dearestReady(desk: Desk, now: number, effective: Float64Array): number {
  let [found, most] = [ON_DEMAND, -Infinity];
  for (let i = 0; i < desk.zones.length; i += 1) {
    const zone = desk.zones[i] ?? ON_DEMAND;
    if (zone === ON_DEMAND || (effective[zone] ?? 0) <= most) continue;
    if ((desk.readyAt[desk.zones.lastIndexOf(zone)] ?? 0) > now) continue;
    [found, most] = [zone, effective[zone] ?? 0];
  }
  return found;
}

/** Tries one cheaper zone in place of the dearest that is held; the old one is stopped once the new one serves. */
function move(problem: ServingProblem, desk: Desk, most: number, ranking: Ranking): number {
  const { effective, order } = ranking;
  const now = desk.tick * problem.tickSeconds;
  const from = dearestReady(desk, now, effective);
  if (from === ON_DEMAND) return 0;
  const hours = ((problem.ticks - desk.tick) * problem.tickSeconds - problem.coldSeconds) / 3600;
  const overlap = Math.max(problem.tickSeconds, problem.coldSeconds) / 3600;
  for (const zone of order) {
    const saving = (effective[from] ?? 0) - (effective[zone] ?? 0);
    if (saving <= MOVE_MARGIN * (effective[from] ?? 0)) return 0;
    if (zone === from || desk.held(zone) >= limit(most, ranking, zone)) continue;
    const stay = Math.min(hours, ranking.lifetime[zone] ?? 0);
    if (saving * stay > desk.spotPrice(zone) * overlap && desk.tryLaunch(zone)) return 1;
  }
  return 0;
}

/** What may still go unserved after this tick; `without`: as if that instance had been stopped. */
const allowed = (problem: ServingProblem, desk: Desk, without = -1): number =>
  problem.allowedSeconds - desk.unserved - unservedInTick(problem, desk, without) + 1e-6;

/**
 * Replica-seconds that go unserved after this tick if all spot is lost at the next and on-demand takes its place at
 * once; `without`: as if so many of the newest on-demand replicas had been stopped.
 */
function risk({ replicas, coldSeconds, tickSeconds, ticks }: ServingProblem, desk: Desk, without = 0): number {
  const end = (desk.tick + 1) * tickSeconds;
  const left = ticks * tickSeconds - end;
  let [places, seconds, kept] = [replicas, 0, desk.held(ON_DEMAND) - without];
  for (let i = 0; i < desk.zones.length && places > 0 && kept > 0; i += 1) {
    if (desk.zones[i] !== ON_DEMAND) continue;
    [places, kept] = [places - 1, kept - 1];
    seconds += Math.min(left, Math.max(0, (desk.readyAt[i] ?? 0) - end));
  }
  return seconds + places * Math.min(coldSeconds, left);
}

/** Whether the objective would be held without the newest on-demand replica if all spot were lost at the next tick. */
export function mayStopOnDemand(problem: ServingProblem, desk: Desk): boolean {
  const last = desk.zones.lastIndexOf(ON_DEMAND);
  return risk(problem, desk, 1) <= allowed(problem, desk, last);
}

/** Launches on-demand until the objective would be held if all spot were lost at the next tick. */
export function guard(problem: ServingProblem, desk: Desk): void {
  while (desk.held(ON_DEMAND) < problem.replicas && risk(problem, desk) > allowed(problem, desk)) desk.launchOnDemand();
}
