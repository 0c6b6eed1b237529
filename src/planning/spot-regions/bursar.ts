/**
 * Bursar's own policy for a job under a deadline over many zones: it rolls rules out over futures drawn from what is
 * believed, and does what was cheapest on average.
 *
 * At each look it asks what the job would cost if it stayed, waited or took on-demand now and the best of a family of
 * rules (rules.ts) ran the rest; then, zone by zone, what a launch that succeeds would save. Zones that would save are
 * tried, best first; launches that fail are free, and what they show is believed at once. It never probes: a launch
 * that is worth its restart tells the same for nothing.
 *
 * It learns from readings before the job and from what it holds and tries, never from what lies ahead. The invariant is
 * `keepsDeadline`: a choice that could cost the deadline is never made, whatever the model believes.
 */
import { CLASSES, CLASS_HOURS, type ZoneBelief } from './availability.js';
import { Futures, type Future, type Random } from './futures.js';
import { IDLE, moveCost, NOWHERE, ON_DEMAND, onDemandZone, SPOT, type RegionsProblem } from './problem.js';
import { Rollout, type RolloutTerms, type Rule, type Standing } from './rules.js';
import { keepsDeadline, STAY_IDLE, type Place, type RegionsPolicy, type RegionsView } from './simulate.js';

export interface BursarRegionsOptions {
  /** What is believed of each zone at the first tick. */
  readonly beliefs: readonly ZoneBelief[];
  /** Begins the random numbers of one window. */
  readonly random: () => Random;
  /** Futures per look. */
  readonly samples?: number;
}

const SAMPLES = 48;
const PACES: readonly number[] = [0, 0.5, 0.9, 1.3, Infinity];
/** Zones up to this many times the best effective price make the narrow order. */
const NARROW = 1.25;
/** Rules that are kept for weighing launches. */
const FINALISTS = 3;
/** Time between two looks while nothing happens. */
const LOOK_SECONDS = 600;
/** What leaving spot for other spot must save, as a share of a restart at the new zone's price. */
const MARGIN = 0.1;
/** What a launch may seem to lose against waiting and still be tried, likewise. */
const IDLE_MARGIN = 0.1;
/** Standard errors by which a change must be better. */
const CHANGE_ERRORS = 1;

/** The policy of one window's beliefs. */
export function bursarRegions(problem: RegionsProblem, options: BursarRegionsOptions): RegionsPolicy {
  return {
    name: 'bursar',
    start: () => {
      const planner = new Planner(problem, options);
      return (view) => planner.decide(view);
    },
  };
}

interface Look {
  /** What is done where nothing that is tried succeeds. */
  readonly fallback: Place;
  /** Zones to try, best first. */
  readonly tries: readonly number[];
}

class Planner {
  private readonly beliefs: ZoneBelief[];
  private readonly futures: Futures;
  private readonly samples: number;
  private readonly lookTicks: number;
  private look: Look = { fallback: STAY_IDLE, tries: [] };
  private lookedAt = -Infinity;
  private before: Place = STAY_IDLE;

  constructor(
    private readonly problem: RegionsProblem,
    options: BursarRegionsOptions,
  ) {
    const tickSeconds = problem.tickUnits * problem.unitSeconds;
    this.beliefs = options.beliefs.map((belief) => belief.copy());
    this.samples = options.samples ?? SAMPLES;
    this.futures = new Futures(problem.names.length, problem.ticks, this.samples, tickSeconds, options.random());
    this.lookTicks = Math.max(1, Math.round(LOOK_SECONDS / tickSeconds));
  }

  decide(view: RegionsView): Place {
    if (view.tick > 0) for (const belief of this.beliefs) belief.advance();
    if (view.lost !== NOWHERE) this.beliefs[view.lost]?.observe(0);
    if (view.mode === SPOT) this.beliefs[view.zone]?.observe(1);
    const happened = view.mode !== this.before.mode || view.zone !== this.before.zone;
    if (happened || view.tick - this.lookedAt >= this.lookTicks) this.plan(view);
    const place = this.tried(view);
    this.before = place;
    return place;
  }

  private plan(view: RegionsView): void {
    this.look = new Weighing(this.problem, this.beliefs, this.futures, view).look();
    this.lookedAt = view.tick;
  }

  /** Tries what the look names, and falls back in the light of what failed. */
  private tried(view: RegionsView): Place {
    let failed = 0;
    for (const zone of this.look.tries) {
      const launch: Place = { mode: SPOT, zone };
      if (!keepsDeadline(this.problem, view, launch)) continue;
      const ok = view.tryLaunch(zone);
      this.beliefs[zone]?.observe(ok ? 1 : 0);
      if (ok) {
        this.lookedAt = -Infinity;
        return launch;
      }
      failed += 1;
    }
    const held: Place = { mode: view.mode, zone: view.zone };
    if (view.mode === SPOT && keepsDeadline(this.problem, view, held)) return held;
    let { fallback } = this.look;
    if (failed > 0 && view.mode !== SPOT)
      fallback = new Weighing(this.problem, this.beliefs, this.futures, view).fallback();
    if (keepsDeadline(this.problem, view, fallback)) return fallback;
    return view.mode === ON_DEMAND ? held : { mode: ON_DEMAND, zone: cheapestFrom(this.problem, view) };
  }
}

/** Hours of on-demand over which a dearer egress is weighed against a cheaper price. */
const ON_DEMAND_HOURS = 3;

const workHours = ({ restartUnits, unitSeconds }: RegionsProblem, workLeft: number): number =>
  ((workLeft + restartUnits) * unitSeconds) / 3600;

/** The on-demand zone for the work that is left, or for a spell. */
const cheapestFrom = (problem: RegionsProblem, view: RegionsView, most = Infinity): number =>
  onDemandZone(problem, view.region, Math.min(most, workHours(problem, view.workLeft)));

/** One look: the rules, the futures and what each choice costs on them. */
class Weighing {
  private readonly terms: RolloutTerms;
  private readonly rollout: Rollout;
  private readonly now: Standing;
  private readonly rules: readonly Rule[];
  private readonly futures: readonly Future[];

  constructor(
    private readonly problem: RegionsProblem,
    beliefs: readonly ZoneBelief[],
    futures: Futures,
    private readonly view: RegionsView,
  ) {
    const unitHours = problem.unitSeconds / 3600;
    this.terms = {
      problem,
      spotPrice: Float64Array.from(problem.names, (_, zone) => view.spotPrice(zone) * unitHours),
      onDemandPrice: Float64Array.from(problem.onDemandPerHour, (price) => price * unitHours),
    };
    this.rollout = new Rollout(this.terms);
    const { mode, zone, restartLeft, workLeft, timeLeft, region } = view;
    this.now = { mode, zone, restartLeft, workLeft, timeLeft, region };
    this.rules = rulesOf(problem, beliefs, view);
    this.futures = futures.draw(beliefs, problem.ticks - view.tick);
  }

  /**
   * What is done without a launch, with the rules that follow it best. Going on as before stands unless another choice
   * is better by more than its standard error: what the futures cannot tell apart is not worth a change.
   */
  private best(): { readonly place: Place; readonly rules: readonly Rule[] } {
    const { view } = this;
    const held: Place = { mode: view.mode, zone: view.zone };
    const choices: Place[] = view.mode === IDLE ? [STAY_IDLE] : [held];
    if (view.mode === ON_DEMAND) choices.push(STAY_IDLE);
    if (view.mode === IDLE) {
      const zones = new Set([cheapestFrom(this.problem, view), cheapestFrom(this.problem, view, ON_DEMAND_HOURS)]);
      choices.push(...[...zones].map((zone): Place => ({ mode: ON_DEMAND, zone })));
    }
    let found: { readonly place: Place; readonly ranked: readonly Weighed[] } | null = null;
    for (const place of choices) {
      if (!keepsDeadline(this.problem, view, place)) continue;
      const ranked = this.rules.map((rule) => this.weigh(place, rule)).sort((a, b) => a.mean - b.mean);
      const [first] = ranked;
      const stands = found?.ranked[0];
      if (first === undefined) continue;
      if (stands === undefined || lowerBy(first, stands) > CHANGE_ERRORS * errorOf(first, stands))
        found = { place, ranked };
    }
    const rules = found?.ranked.slice(0, FINALISTS).map(({ rule }) => rule) ?? this.rules;
    return { place: found?.place ?? held, rules };
  }

  fallback(): Place {
    return this.best().place;
  }

  look(): Look {
    const { place, rules } = this.best();
    const { problem, view } = this;
    const worth: { zone: number; cost: number }[] = [];
    for (const zone of problem.names.keys()) {
      if (view.mode === SPOT && (zone === view.zone || !this.couldBeat(zone))) continue;
      if (view.mode !== SPOT && !this.rules.some(({ order }) => order.includes(zone))) continue;
      const launch: Place = { mode: SPOT, zone };
      if (!keepsDeadline(problem, view, launch)) continue;
      const launched = least(rules.map((rule) => this.weigh(launch, rule, zone)));
      const without = least(rules.map((rule) => this.weigh(place, rule, zone)));
      const restart = problem.restartUnits * (this.terms.spotPrice[zone] ?? 0);
      const needed =
        view.mode === SPOT ? MARGIN * restart + CHANGE_ERRORS * errorOf(launched, without) : -IDLE_MARGIN * restart;
      if (lowerBy(launched, without) > needed) worth.push({ zone, cost: launched.mean - without.mean });
    }
    return { fallback: place, tries: worth.sort((a, b) => a.cost - b.cost).map(({ zone }) => zone) };
  }

  /** Whether a launch there might be worth leaving the spot that is held. */
  private couldBeat(zone: number): boolean {
    const { spotPrice } = this.terms;
    return (spotPrice[zone] ?? 0) < 1.1 * (spotPrice[this.view.zone] ?? 0);
  }

  /** The cost in each future; `up`: a zone of which it is given that spot can be had there now. */
  private weigh(first: Place, rule: Rule, up = NOWHERE): Weighed {
    const costs = new Float64Array(this.futures.length);
    this.futures.forEach(({ believed, givenNow }, i) => {
      const given = up === NOWHERE ? undefined : givenNow[up];
      const plain = believed[up];
      if (given !== undefined) believed[up] = given;
      costs[i] = this.rollout.cost(this.now, first, rule, believed);
      if (given !== undefined && plain !== undefined) believed[up] = plain;
    });
    return { rule, costs, mean: costs.reduce((sum, cost) => sum + cost, 0) / costs.length };
  }
}

/** A choice with a rule, on every future. */
interface Weighed {
  readonly rule: Rule;
  readonly costs: Float64Array;
  readonly mean: number;
}

const least = (all: readonly Weighed[]): Weighed => all.reduce((best, one) => (one.mean < best.mean ? one : best));
const lowerBy = (one: Weighed, than: Weighed): number => than.mean - one.mean;

/** Standard error of the difference of two means over the same futures. */
function errorOf(one: Weighed, other: Weighed): number {
  const mean = one.mean - other.mean;
  const squares = one.costs.reduce((sum, cost, i) => sum + (cost - (other.costs[i] ?? 0) - mean) ** 2, 0);
  return Math.sqrt(squares) / one.costs.length;
}

/** The family of rules at this tick. */
function rulesOf(problem: RegionsProblem, beliefs: readonly ZoneBelief[], view: RegionsView): Rule[] {
  const prices = problem.names.map((_, zone) => view.spotPrice(zone));
  const effective = (zone: number, region: number): number =>
    effectivePrice(problem, beliefs[zone], prices[zone] ?? Infinity, zone, region, view.workLeft);
  const fromHere = problem.names.map((_, zone) => effective(zone, view.region));
  const dearest = Math.min(...problem.onDemandPerHour);
  const all = [...problem.names.keys()]
    .filter((zone) => (fromHere[zone] ?? Infinity) < dearest)
    .sort((a, b) => (fromHere[a] ?? 0) - (fromHere[b] ?? 0));
  const lowest = fromHere[all[0] ?? 0] ?? Infinity;
  const narrow = all.filter((zone) => (fromHere[zone] ?? Infinity) <= NARROW * lowest);
  const spell = Math.min(ON_DEMAND_HOURS, workHours(problem, view.workLeft));
  const onDemandFrom = [...problem.egress.keys(), NOWHERE].map((region) => onDemandZone(problem, region, spell));
  const better = problem.names.map((_, held) => {
    const region = problem.regionOf[held] ?? 0;
    return all.filter((zone) => zone !== held && effective(zone, region) < (prices[held] ?? 0));
  });
  const orders = narrow.length < all.length ? [all, narrow] : [all];
  const rules = orders.flatMap((order) => PACES.map((pace): Rule => ({ pace, order, better, onDemandFrom })));
  return [...rules, { pace: Infinity, order: [], better: problem.names.map(() => []), onDemandFrom }];
}

/** Price of an hour of work in a zone that is found available: with the restart, and the way there, of its spell. */
function effectivePrice(
  problem: RegionsProblem,
  belief: ZoneBelief | undefined,
  price: number,
  zone: number,
  region: number,
  workLeft: number,
): number {
  const restart = (problem.restartUnits * problem.unitSeconds) / 3600;
  const most = workHours(problem, workLeft);
  let [spells, paid, useful] = [0, 0, 0];
  CLASS_HOURS.forEach((mean, k) => {
    const hours = Math.min(mean, most);
    const weight = (belief?.shares[CLASSES + k] ?? 0) * mean;
    spells += weight;
    paid += weight * hours;
    useful += weight * hours * Math.exp(-restart / hours);
  });
  return (price * paid + moveCost(problem, region, zone) * spells) / useful;
}
