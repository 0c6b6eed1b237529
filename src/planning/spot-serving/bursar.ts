/**
 * Bursar's own policy for the replicas of a service: how many on spot in which zones, how many on-demand, and when it
 * falls back, so that the objective is held at the least cost.
 *
 * It plays rules (rules.ts) out over futures drawn from its belief about the zones, each behind the guard, to the end
 * of the window: a rule that uses up what may go unserved pays for the on-demand that the guard then asks for. It goes
 * on with its rule unless a neighbour (one more spare, one on-demand replica less, ...) is cheaper by more than chance.
 * It learns from readings before the window and from what it holds and tries, never from the future.
 */
import { AVAILABLE_HOURS, CLASSES, type ZoneBelief } from '../spot-regions/availability.js';
import { Futures, type Random } from '../spot-regions/futures.js';
import type { ServingProblem, ServingWindow } from './problem.js';
import { actByRule, type Ranking, type Rule } from './rules.js';
import { Service, type Desk, type ServingPolicy } from './simulate.js';

export interface BursarServingOptions {
  /** The belief about each zone at the first tick: whether it has room for one replica. */
  readonly beliefs: readonly ZoneBelief[];
  readonly random: Random;
  /** Most times that the neighbours of the rule are looked at in one evaluation; absent: once; 0: its rule stands. */
  readonly rounds?: number;
  /** The rule that it begins with, as far as it is known. */
  readonly rule?: Partial<Rule>;
}

const SAMPLES = 16;
/** Time between two evaluations, while nothing happens and after a loss. */
const REPLAN_SECONDS = 3600;
const LOSS_REPLAN_SECONDS = 1800;
/** Standard errors, over the same futures, by which another rule must be better. */
const CHANGE_ERRORS = 1;
const CAUTIONS: readonly number[] = [4, 16];
export const SPARES: readonly number[] = [1, 2, 3];
/** How long a zone that had no more room is taken to be full. */
const FULL_SECONDS = 3600;
const MOST_PER_ZONE = 1e6;

/** The policy of one window. */
export function bursarServing(problem: ServingProblem, options: BursarServingOptions): ServingPolicy {
  const planner = new Planner(problem, options);
  return (desk) => planner.decide(desk);
}

class Planner {
  private readonly beliefs: ZoneBelief[];
  private readonly futures: Futures;
  private readonly rounds: number;
  private readonly replanTicks: number;
  private readonly lossTicks: number;
  private readonly fullTicks: number;
  private readonly fullAt: Float64Array;
  private readonly fullSince: Float64Array;
  private rule: Rule;
  private plannedAt = -Infinity;
  /** Something was lost since. */
  private happened = false;

  constructor(
    private readonly problem: ServingProblem,
    { beliefs, random, rounds = 1, rule = {} }: BursarServingOptions,
  ) {
    this.rounds = rounds;
    const { regionOf, ticks, tickSeconds, replicas, names } = problem;
    this.beliefs = beliefs.map((belief) => belief.copy());
    this.futures = new Futures(regionOf, ticks, SAMPLES, tickSeconds, random);
    const ticksOf = (seconds: number): number => Math.max(1, Math.round(seconds / tickSeconds));
    this.replanTicks = ticksOf(REPLAN_SECONDS);
    this.lossTicks = ticksOf(LOSS_REPLAN_SECONDS);
    this.fullTicks = ticksOf(FULL_SECONDS);
    this.fullAt = new Float64Array(names.length).fill(Infinity);
    this.fullSince = new Float64Array(names.length);
    this.rule = { base: 0, spares: 2, most: replicas, caution: 4, ...rule };
  }

  decide(desk: Desk): void {
    this.learn(desk);
    this.happened ||= desk.lost.length > 0;
    if (this.rounds > 0 && desk.tick - this.plannedAt >= (this.happened ? this.lossTicks : this.replanTicks))
      this.plan(desk);
    actByRule(this.problem, this.watched(desk), this.rule, this.ranking(desk, this.rule.caution));
  }

  private learn(desk: Desk): void {
    if (desk.tick > 0) for (const belief of this.beliefs) belief.advance();
    for (const zone of desk.lost) if (desk.held(zone) === 0) this.beliefs[zone]?.observe(0);
    this.beliefs.forEach((belief, zone) => {
      if (desk.held(zone) > 0) belief.observe(1);
      if (desk.tick - (this.fullSince[zone] ?? 0) >= this.fullTicks) this.fullAt[zone] = Infinity;
    });
    for (const zone of desk.lost) if (desk.held(zone) > 0) this.noteFull(desk, zone);
  }

  private noteFull(desk: Desk, zone: number): void {
    this.fullAt[zone] = desk.held(zone);
    this.fullSince[zone] = desk.tick;
  }

  /** The desk, with an eye on what a launch tells about its zone. */
  private watched(desk: Desk): Desk {
    const tryLaunch = (zone: number): boolean => {
      const ok = desk.tryLaunch(zone);
      if (ok || desk.held(zone) === 0) this.beliefs[zone]?.observe(ok ? 1 : 0);
      else this.noteFull(desk, zone);
      return ok;
    };
    return {
      tick: desk.tick,
      unserved: desk.unserved,
      zones: desk.zones,
      readyAt: desk.readyAt,
      lost: desk.lost,
      held: (zone) => desk.held(zone),
      spotPrice: (zone) => desk.spotPrice(zone),
      launchOnDemand: () => desk.launchOnDemand(),
      stop: (zone) => desk.stop(zone),
      tryLaunch,
    };
  }

  /** Zones that are cheaper than on-demand, best first: the price with the cold starts that a spell of theirs costs. */
  private ranking(desk: Desk, caution: number): Ranking {
    const { coldSeconds, onDemandPerHour } = this.problem;
    const cold = coldSeconds / 3600;
    const lifetime = Float64Array.from(this.beliefs, lifetimeHours);
    const effective = lifetime.map((hours, zone) => {
      const price = desk.spotPrice(zone);
      return price + ((price + caution * onDemandPerHour) * cold) / hours;
    });
    const order = [...effective.keys()]
      .filter((zone) => desk.spotPrice(zone) < onDemandPerHour)
      .sort((a, b) => (effective[a] ?? 0) - (effective[b] ?? 0));
    return { order, effective, lifetime, fullAt: this.fullAt };
  }

  private plan(desk: Desk): void {
    [this.plannedAt, this.happened] = [desk.tick, false];
    const windows = this.drawn(desk);
    let costs = this.played(desk, windows, this.rule);
    for (let round = 0; round < this.rounds; round += 1) {
      const before = this.rule;
      for (const other of neighbours(this.problem, before)) {
        const found = this.played(desk, windows, other);
        if (lowerBy(found, costs) > CHANGE_ERRORS * errorOf(found, costs)) [this.rule, costs] = [other, found];
      }
      if (this.rule === before) break;
    }
  }

  /** Futures of the rest of the window, at the present prices. */
  private drawn(desk: Desk): ServingWindow[] {
    const left = this.problem.ticks - desk.tick;
    const spotPerHour = this.beliefs.map((_, zone) => new Float64Array(left).fill(desk.spotPrice(zone)));
    return this.futures.draw(this.beliefs, desk.tick).map(({ believed }) => {
      const capacity = believed.map((row) => Uint8Array.from(row.subarray(0, left), (ends) => (ends > 0 ? 1 : 0)));
      // What is held is there now, whatever was drawn.
      for (const zone of desk.zones) capacity[zone]?.fill(1, 0, 1);
      return { capacity, spotPerHour };
    });
  }

  /** The cost of the rest of the window by a rule, in each future. A zone that has room has it for all replicas. */
  private played(desk: Desk, windows: readonly ServingWindow[], rule: Rule): Float64Array {
    const { problem } = this;
    const ranking = this.ranking(desk, rule.caution);
    return Float64Array.from(windows, (window) => {
      const service = new Service(problem, window, MOST_PER_ZONE, desk.tick);
      service.beginAs(desk);
      while (service.tick < problem.ticks) {
        service.open();
        actByRule(problem, service, rule, ranking);
        service.close();
      }
      return service.onDemandSpend + service.spotSpend;
    });
  }
}

/** Hours that spot of a zone lasts from now on, if it can be had now. */
function lifetimeHours({ weights }: ZoneBelief): number {
  let [total, hours] = [1e-9, 1e-9];
  AVAILABLE_HOURS.forEach((mean, k) => {
    const weight = weights[CLASSES + k] ?? 0;
    total += weight;
    hours += weight * mean;
  });
  return hours / total;
}

/** The rules that differ in one thing. */
function neighbours({ replicas }: ServingProblem, rule: Rule): Rule[] {
  const found: Rule[] = [];
  const add = (change: Partial<Rule>): void => void found.push({ ...rule, ...change });
  for (const spares of SPARES)
    if (Math.abs(SPARES.indexOf(spares) - SPARES.indexOf(rule.spares)) === 1) add({ spares });
  if (rule.base < replicas) add({ base: rule.base + 1 });
  if (rule.base > 0) add({ base: rule.base - 1 });
  for (const caution of CAUTIONS) if (caution !== rule.caution) add({ caution });
  for (const most of new Set([1, Math.ceil(replicas / 2), replicas])) if (most !== rule.most) add({ most });
  return found;
}

const lowerBy = (one: Float64Array, than: Float64Array): number =>
  one.reduce((sum, cost, i) => sum + ((than[i] ?? 0) - cost), 0) / one.length;

/** Standard error of the difference of two means over the same futures. */
function errorOf(one: Float64Array, other: Float64Array): number {
  const mean = -lowerBy(one, other);
  const squares = one.reduce((sum, cost, i) => sum + (cost - (other[i] ?? 0) - mean) ** 2, 0);
  return Math.sqrt(squares) / one.length;
}
