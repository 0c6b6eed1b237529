/**
 * Bursar's own policy for a job under a deadline over many zones: it rolls rules out over futures drawn from its
 * belief, and chooses the cheapest on average.
 *
 * At each evaluation it computes the cost of the job if it stayed, waited or took on-demand now and the best of a
 * family of rules (rules.ts) ran the rest; then, zone by zone, the saving of a successful launch. It tries the zones
 * with a saving, best first; failed launches are free, and update the belief at once. It never probes: a launch that is
 * worth its restart gives the same information for free.
 *
 * It learns from readings before the job and from its own instances and tries, never from the future. The invariant is
 * `keepsDeadline`: a choice that could cost the deadline is never made, whatever the model believes.
 */
import { CLASSES, AVAILABLE_HOURS, type ZoneBelief } from './availability.js';
import { Futures, type Future, type Random } from './futures.js';
import { IDLE, moveCost, NOWHERE, ON_DEMAND, onDemandZone, SPOT, type RegionsProblem } from './problem.js';
import { Rollout, type RolloutTerms, type Rule, type Standing } from './rules.js';
import { keepsDeadline, STAY_IDLE, type Place, type RegionsPolicy, type RegionsView } from './simulate.js';

export interface BursarRegionsOptions {
  /** The belief about each zone at the first tick. */
  readonly beliefs: readonly ZoneBelief[];
  /** Begins the random numbers of one window. */
  readonly random: () => Random;
  /** Futures per look. */
  readonly samples?: number;
}

const SAMPLES = 40;
const PACES: readonly number[] = [0, 0.5, 1, Infinity];
/** What an hour of slack may be worth, in hours of on-demand: each makes its own order and its own moves. */
const SLACK_PRICES: readonly number[] = [0, 2, 8];
/** Each order takes the zones up to so many times the best effective price. */
const CAPS: readonly number[] = [1.25, 2, Infinity];
/** Futures on which all rules run, and how many of the rules go on to the rest and to evaluating launches. */
const HEAT_SAMPLES = 12;
const FINALISTS = 3;
/** Time between two evaluations while nothing happens, on spot and without. */
const SPOT_REPLAN_SECONDS = 1800;
const REPLAN_SECONDS = 600;
/** What leaving spot for other spot must save, as a share of a restart at the new zone's price. */
const MARGIN = 0.1;
/** The apparent loss against waiting at which a launch is still tried, likewise. */
const IDLE_MARGIN = 0.1;
/** Standard errors, over the same futures, by which a change must be better. */
const CHANGE_ERRORS = 2;
const EARLY_ERRORS = 4;

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

interface Choice {
  /** The choice if nothing that is tried succeeds. */
  readonly fallback: Place;
  /** Zones to try, best first. */
  readonly tries: readonly number[];
}

class Planner {
  private readonly beliefs: ZoneBelief[];
  private readonly futures: Futures;
  private readonly samples: number;
  private readonly replanTicks: number;
  private readonly spotReplanTicks: number;
  private choice: Choice = { fallback: STAY_IDLE, tries: [] };
  private plannedAt = -Infinity;
  private before: Place = STAY_IDLE;

  constructor(
    private readonly problem: RegionsProblem,
    options: BursarRegionsOptions,
  ) {
    const tickSeconds = problem.tickUnits * problem.unitSeconds;
    this.beliefs = options.beliefs.map((belief) => belief.copy());
    this.samples = options.samples ?? SAMPLES;
    this.futures = new Futures(problem.regionOf, problem.ticks, this.samples, tickSeconds, options.random());
    const ticksOf = (seconds: number): number => Math.max(1, Math.round(seconds / tickSeconds));
    [this.replanTicks, this.spotReplanTicks] = [ticksOf(REPLAN_SECONDS), ticksOf(SPOT_REPLAN_SECONDS)];
  }

  decide(view: RegionsView): Place {
    if (view.tick > 0) for (const belief of this.beliefs) belief.advance();
    if (view.lost !== NOWHERE) this.beliefs[view.lost]?.observe(0);
    if (view.mode === SPOT) this.beliefs[view.zone]?.observe(1);
    const happened = view.mode !== this.before.mode || view.zone !== this.before.zone;
    const due = view.mode === SPOT ? this.spotReplanTicks : this.replanTicks;
    if (happened || view.tick - this.plannedAt >= due) this.plan(view);
    const place = this.tried(view);
    this.before = place;
    return place;
  }

  private plan(view: RegionsView): void {
    this.choice = new Evaluation(this.problem, this.beliefs, this.futures, view).choice();
    this.plannedAt = view.tick;
  }

  /** Tries what the evaluation names, and falls back in the light of what failed. */
  private tried(view: RegionsView): Place {
    let failed = 0;
    const { tries } = this.choice;
    for (const zone of tries) {
      const launch: Place = { mode: SPOT, zone };
      if (!keepsDeadline(this.problem, view, launch)) continue;
      const ok = view.tryLaunch(zone);
      this.beliefs[zone]?.observe(ok ? 1 : 0);
      if (ok) {
        this.plannedAt = -Infinity;
        return launch;
      }
      failed += 1;
      // Capacity that was just absent and returns begins a new spell; the next evaluation counts it as such.
      this.choice = { ...this.choice, tries: this.choice.tries.filter((other) => other !== zone) };
    }
    const held: Place = { mode: view.mode, zone: view.zone };
    if (view.mode === SPOT && keepsDeadline(this.problem, view, held)) return held;
    let { fallback } = this.choice;
    if (failed > 0 && view.mode !== SPOT)
      fallback = new Evaluation(this.problem, this.beliefs, this.futures, view).fallback();
    if (keepsDeadline(this.problem, view, fallback)) return fallback;
    return view.mode === ON_DEMAND ? held : { mode: ON_DEMAND, zone: cheapestFrom(this.problem, view) };
  }
}

/** Hours of on-demand over which a more expensive egress is compared with a cheaper price. */
const ON_DEMAND_HOURS = 3;

const workHours = ({ restartUnits, unitSeconds }: RegionsProblem, workLeft: number): number =>
  ((workLeft + restartUnits) * unitSeconds) / 3600;

/** The on-demand zone for the work that is left, or for a spell. */
const cheapestFrom = (problem: RegionsProblem, view: RegionsView, most = Infinity): number =>
  onDemandZone(problem, view.region, Math.min(most, workHours(problem, view.workLeft)));

/** Whether less work is done than an even pace asks for now, or so many units from now (as Uniform Progress counts). */
const behindPace = (
  { jobUnits, tickUnits, ticks }: RegionsProblem,
  { workLeft, tick }: RegionsView,
  units = 0,
): boolean => (jobUnits - workLeft) * ticks * tickUnits < (tick * tickUnits + units) * jobUnits;

/** One look: the rules, the futures and what each choice costs on them. */
class Evaluation {
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
    this.futures = futures.draw(beliefs, view.tick);
  }

  /**
   * What is done without a launch, with the rules that follow it best. Going on as before, or where nothing is held
   * what Uniform Progress would do, stands unless another choice is better by more than the futures could show by
   * chance.
   */
  private best(): { readonly place: Place; readonly rules: readonly Rule[] } {
    const { view } = this;
    const held: Place = { mode: view.mode, zone: view.zone };
    const choices: Place[] = view.mode === IDLE ? [STAY_IDLE] : [held];
    if (view.mode === ON_DEMAND) choices.push(STAY_IDLE);
    if (view.mode === IDLE) {
      const zones = new Set([cheapestFrom(this.problem, view), cheapestFrom(this.problem, view, ON_DEMAND_HOURS)]);
      const onDemand = [...zones].map((zone): Place => ({ mode: ON_DEMAND, zone }));
      if (behindPace(this.problem, view)) choices.unshift(...onDemand);
      else choices.push(...onDemand);
    }
    let found: { readonly place: Place; readonly ranked: readonly Evaluated[] } | null = null;
    for (const place of choices) {
      if (!keepsDeadline(this.problem, view, place)) continue;
      const ranked = this.ranked(place);
      const [first] = ranked;
      const stands = found?.ranked[0];
      if (first === undefined) continue;
      if (stands === undefined || lowerBy(first, stands) > CHANGE_ERRORS * errorOf(first, stands))
        found = { place, ranked };
    }
    const rules = found?.ranked.map(({ rule }) => rule) ?? this.rules;
    return { place: found?.place ?? held, rules };
  }

  /** The rules that follow a choice best: all on some of the futures, the best of them on all. */
  private ranked(place: Place): Evaluated[] {
    const byMean = (a: Evaluated, b: Evaluated): number => a.mean - b.mean;
    const heats = this.rules.map((rule) => this.evaluate(place, rule, NOWHERE, HEAT_SAMPLES)).sort(byMean);
    return heats
      .slice(0, FINALISTS)
      .map(({ rule }) => this.evaluate(place, rule))
      .sort(byMean);
  }

  fallback(): Place {
    return this.best().place;
  }

  choice(): Choice {
    const { place, rules } = this.best();
    const { problem, view } = this;
    const worth: { zone: number; cost: number }[] = [];
    for (const zone of problem.names.keys()) {
      if (view.mode === SPOT && (zone === view.zone || !this.couldBeat(zone))) continue;
      if (view.mode !== SPOT && !this.rules.some(({ order }) => order.includes(zone))) continue;
      const launch: Place = { mode: SPOT, zone };
      if (!keepsDeadline(problem, view, launch)) continue;
      const launched = least(rules.map((rule) => this.evaluate(launch, rule, zone)));
      const without = least(rules.map((rule) => this.evaluate(place, rule, zone)));
      const restart = problem.restartUnits * (this.terms.spotPrice[zone] ?? 0);
      const needed =
        view.mode === IDLE
          ? -IDLE_MARGIN * restart
          : MARGIN * restart + this.changeErrors() * errorOf(launched, without);
      if (lowerBy(launched, without) > needed) worth.push({ zone, cost: launched.mean - without.mean });
    }
    return { fallback: place, tries: worth.sort((a, b) => a.cost - b.cost).map(({ zone }) => zone) };
  }

  /** Uniform Progress does not leave on-demand before it is ahead by two restarts: against that, more must speak. */
  private changeErrors(): number {
    const { problem, view } = this;
    const early = view.mode === ON_DEMAND && behindPace(problem, view, 2 * problem.restartUnits);
    return early ? EARLY_ERRORS : CHANGE_ERRORS;
  }

  /** Whether a launch there might be worth leaving the spot that is held. */
  private couldBeat(zone: number): boolean {
    const { spotPrice } = this.terms;
    return (spotPrice[zone] ?? 0) < 1.1 * (spotPrice[this.view.zone] ?? 0);
  }

  /** The cost in each future; `up`: a zone of which it is given that spot can be had there now. */
  private evaluate(first: Place, rule: Rule, up = NOWHERE, count = this.futures.length): Evaluated {
    const costs = new Float64Array(Math.min(count, this.futures.length));
    for (let i = 0; i < costs.length; i += 1) {
      const { believed, givenNow } = this.futures[i] ?? { believed: [], givenNow: [] };
      const given = up === NOWHERE ? undefined : givenNow[up];
      const plain = believed[up];
      if (given !== undefined) believed[up] = given;
      costs[i] = this.rollout.cost(this.now, first, rule, believed);
      if (given !== undefined && plain !== undefined) believed[up] = plain;
    }
    return { rule, costs, mean: costs.reduce((sum, cost) => sum + cost, 0) / costs.length };
  }
}

/** A choice with a rule, on every future. */
interface Evaluated {
  readonly rule: Rule;
  readonly costs: Float64Array;
  readonly mean: number;
}

const least = (all: readonly Evaluated[]): Evaluated => all.reduce((best, one) => (one.mean < best.mean ? one : best));
const lowerBy = (one: Evaluated, than: Evaluated): number => than.mean - one.mean;

/** Standard error of the difference of two means over the same futures. */
function errorOf(one: Evaluated, other: Evaluated): number {
  const mean = one.mean - other.mean;
  const squares = one.costs.reduce((sum, cost, i) => sum + (cost - (other.costs[i] ?? 0) - mean) ** 2, 0);
  return Math.sqrt(squares) / one.costs.length;
}

/** The family of rules at this tick. */
function rulesOf(problem: RegionsProblem, beliefs: readonly ZoneBelief[], view: RegionsView): Rule[] {
  const spell = Math.min(ON_DEMAND_HOURS, workHours(problem, view.workLeft));
  const onDemandFrom = [...problem.egress.keys(), NOWHERE].map((region) => onDemandZone(problem, region, spell));
  const cheapest = Math.min(...problem.onDemandPerHour);
  const zones = [...problem.names.keys()];
  const paces = [...PACES, evenPace(problem, view)];
  const rules = SLACK_PRICES.flatMap((times) => {
    const effective = (zone: number, region: number): number =>
      effectivePrice(problem, beliefs[zone], view, { zone, region, slackPrice: times * cheapest });
    const fromHere = zones.map((zone) => effective(zone, view.region));
    const priceFrom = (zone: number): number => fromHere[zone] ?? Infinity;
    const all = zones.filter(
      (zone) => effectivePrice(problem, beliefs[zone], view, { zone, region: view.region }) < cheapest,
    );
    all.sort((a, b) => priceFrom(a) - priceFrom(b));
    const better = zones.map((held) => {
      const region = problem.regionOf[held] ?? 0;
      return all.filter((zone) => zone !== held && effective(zone, region) < view.spotPrice(held));
    });
    const orders = CAPS.map((cap) => all.filter((zone) => priceFrom(zone) <= cap * priceFrom(all[0] ?? 0)));
    const unlike = orders.filter((order, i) => i === 0 || order.length > (orders[i - 1]?.length ?? 0));
    return unlike.flatMap((order) => paces.map((pace): Rule => ({ pace, order, late: all, better, onDemandFrom })));
  });
  const none = problem.names.map(() => []);
  return [...rules, { pace: Infinity, order: [], late: [], better: none, onDemandFrom }];
}

/** The pace whose line is that of an even pace over the whole job: behind it, slack is won back by on-demand. */
function evenPace({ ticks, tickUnits, jobUnits, restartUnits }: RegionsProblem, view: RegionsView): number {
  const slack = Math.max(1, view.timeLeft - view.workLeft - restartUnits);
  return ((1 - jobUnits / (ticks * tickUnits)) * view.timeLeft) / slack;
}

interface Asked {
  readonly zone: number;
  /** Where the checkpoint lies. */
  readonly region: number;
  /** What an hour of slack is worth, which every start uses up. */
  readonly slackPrice?: number;
}

/**
 * Price of an hour of work in a zone that is found available: with the restart, the way there and the slack that a
 * spell of it costs.
 */
function effectivePrice(
  problem: RegionsProblem,
  belief: ZoneBelief | undefined,
  view: RegionsView,
  { zone, region, slackPrice = 0 }: Asked,
): number {
  const restart = (problem.restartUnits * problem.unitSeconds) / 3600;
  const most = workHours(problem, view.workLeft);
  let [spells, paid, useful] = [0, 0, 0];
  AVAILABLE_HOURS.forEach((mean, k) => {
    const hours = Math.min(mean, most);
    const weight = (belief?.shares[CLASSES + k] ?? 0) * mean;
    spells += weight;
    paid += weight * hours;
    useful += weight * hours * Math.exp(-restart / hours);
  });
  const start = moveCost(problem, region, zone) + slackPrice * restart;
  return (view.spotPrice(zone) * paid + start * spells) / useful;
}
