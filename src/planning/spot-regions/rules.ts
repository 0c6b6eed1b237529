/**
 * Rules that could run the rest of the job, and what one of them would cost in one drawn future.
 *
 * A rule is a pace and an order of zones. Spot is taken in the first zone of the order that has it, and left for one
 * that is worth the move. Without spot it waits while the slack (time left beyond work and one restart) is above a line
 * that falls to zero at the deadline; below it more expensive spot is taken, or else on-demand: pace 0 waits until the
 * last safe tick, pace 1 keeps the present share of slack as Uniform Progress does (Wu et al., NSDI 2024, section 5.2),
 * and as it does on-demand is kept until it is ahead by two restarts. The invariant: no rule ever leaves too little
 * time for on-demand.
 */
import { IDLE, NOWHERE, ON_DEMAND, SPOT, type Mode, type RegionsProblem } from './problem.js';

export interface Rule {
  /**
   * Share of the present slack's line below which on-demand is taken; Infinity: on-demand whenever there is no spot.
   */
  readonly pace: number;
  /** Zones where spot is taken above the line, best first. */
  readonly order: readonly number[];
  /** Zones where it is taken below the line, before on-demand. */
  readonly late: readonly number[];
  /** By zone held: the zones that it is left for, best first. */
  readonly better: readonly (readonly number[])[];
  /** The on-demand zone, by region of the checkpoint; the last: it lies nowhere. */
  readonly onDemandFrom: readonly number[];
}

/** Where a job stands, in units of the problem. */
export interface Standing {
  readonly mode: Mode;
  readonly zone: number;
  readonly restartLeft: number;
  readonly workLeft: number;
  readonly timeLeft: number;
  readonly region: number;
}

/** What stays the same over all futures of an evaluation. */
export interface RolloutTerms {
  readonly problem: RegionsProblem;
  /** Per unit of time, by zone. */
  readonly spotPrice: Float64Array;
  readonly onDemandPrice: Float64Array;
}

export interface FirstStep {
  readonly mode: Mode;
  readonly zone: number;
}

/** Plays rules out. One object serves any number of futures, one after the other. */
export class Rollout {
  private mode: Mode = IDLE;
  private zone = NOWHERE;
  private restartLeft = 0;
  private workLeft = 0;
  private timeLeft = 0;
  private region = NOWHERE;
  private nextMode: Mode = IDLE;
  private nextZone = NOWHERE;
  /** Of the slack line: units of slack by unit of time left. */
  private line = 0;

  constructor(private readonly terms: RolloutTerms) {}

  /** The cost to continue from `now` with `first` in this tick and `rule` after it, in one future (futures.ts). */
  cost(now: Standing, first: FirstStep, rule: Rule, spells: readonly Int32Array[]): number {
    const { restartUnits, tickUnits } = this.terms.problem;
    this.mode = now.mode;
    this.zone = now.zone;
    this.restartLeft = now.restartLeft;
    this.workLeft = now.workLeft;
    this.timeLeft = now.timeLeft;
    this.region = now.region;
    this.line = rule.pace * (Math.max(0, now.timeLeft - now.workLeft - restartUnits) / now.timeLeft + 1e-9);
    this.nextMode = first.mode;
    this.nextZone = first.zone;
    let cost = this.spend();
    for (let tick = 1; this.workLeft > 0; ) {
      // A choice of this tick that is not safe is refused before it is evaluated; later ones are safe by the rule.
      if (this.timeLeft < tickUnits) return Infinity;
      const same = this.repeats(tick, rule, spells);
      if (same > 0) {
        cost += this.repeat(same);
        tick += same;
        continue;
      }
      this.choose(tick, rule, spells);
      cost += this.spend();
      tick += 1;
    }
    return cost;
  }

  /** Whole ticks from `tick` on in which what is held surely goes on, so that they are spent at one stroke. */
  private repeats(tick: number, rule: Rule, spells: readonly Int32Array[]): number {
    const { tickUnits, restartUnits } = this.terms.problem;
    const { mode, timeLeft, workLeft, line } = this;
    const slack = timeLeft - workLeft - restartUnits;
    const whole = Math.ceil(workLeft / tickUnits) - 1;
    if (mode === IDLE) {
      const behind = Math.min(
        slack / tickUnits - 1,
        (slack - line * timeLeft) / (tickUnits * Math.max(1e-9, 1 - line)),
      );
      return Math.min(Math.ceil(behind), ticksWithout(rule.order, spells, tick));
    }
    if (this.restartLeft > 0 || whole <= 0) return 0;
    const launchable = slack - tickUnits + Math.max(0, tickUnits - restartUnits) >= 0;
    if (mode === SPOT) {
      const ends = (spells[this.zone]?.[tick] ?? -1) - tick;
      if (slack < 0 || ends <= 0) return 0;
      const held = Math.min(whole, ends);
      return launchable ? Math.min(held, ticksWithout(rule.better[this.zone], spells, tick)) : held;
    }
    if (rule.pace === Infinity) return launchable ? Math.min(whole, ticksWithout(rule.late, spells, tick)) : whole;
    if (slack < tickUnits) return whole;
    return Math.min(whole, Math.floor((timeLeft - (slack - 2 * restartUnits) / line) / tickUnits));
  }

  private repeat(ticks: number): number {
    const { problem, spotPrice, onDemandPrice } = this.terms;
    const units = ticks * problem.tickUnits;
    this.timeLeft -= units;
    if (this.mode === IDLE) return 0;
    this.workLeft -= units;
    return units * ((this.mode === SPOT ? spotPrice[this.zone] : onDemandPrice[this.zone]) ?? 0);
  }

  private choose(tick: number, rule: Rule, spells: readonly Int32Array[]): void {
    const { tickUnits, restartUnits } = this.terms.problem;
    const { timeLeft, workLeft } = this;
    if (this.mode === SPOT && !((spells[this.zone]?.[tick] ?? -1) > 0)) this.mode = IDLE;
    this.nextMode = this.mode;
    this.nextZone = this.zone;
    const slack = timeLeft - workLeft - restartUnits;
    const room = slack - tickUnits;
    const behind = room < 0 || slack <= this.line * timeLeft;
    const launchable = room + Math.max(0, tickUnits - restartUnits) >= 0 || workLeft + restartUnits <= tickUnits;
    const caughtUp = room >= 0 && slack - 2 * restartUnits > this.line * timeLeft;
    if (this.mode === ON_DEMAND && !caughtUp && rule.pace !== Infinity) return;
    const zones = this.mode === SPOT ? rule.better[this.zone] : behind ? rule.late : rule.order;
    const target = launchable ? firstAvailable(zones, spells, tick) : NOWHERE;
    if (target !== NOWHERE) {
      this.nextMode = SPOT;
      this.nextZone = target;
    } else if (this.mode === SPOT) {
      const left = this.restartLeft;
      const kept = room + Math.max(0, tickUnits - left) >= 0 || workLeft + left <= tickUnits;
      if (!kept) this.takeOnDemand(rule);
    } else if (this.mode === ON_DEMAND) {
      if (caughtUp) this.nextMode = IDLE;
    } else if (behind) this.takeOnDemand(rule);
  }

  private takeOnDemand({ onDemandFrom }: Rule): void {
    this.nextMode = ON_DEMAND;
    this.nextZone = onDemandFrom.at(this.region) ?? 0;
  }

  /** Spends a tick as chosen, and returns what it costs. */
  private spend(): number {
    const { problem, spotPrice, onDemandPrice } = this.terms;
    const { tickUnits, regionOf, egress } = problem;
    const { nextMode, nextZone } = this;
    let cost = 0;
    this.timeLeft -= tickUnits;
    if (nextMode === IDLE) {
      this.mode = IDLE;
      return 0;
    }
    if (nextMode !== this.mode || nextZone !== this.zone) {
      const to = regionOf[nextZone] ?? 0;
      if (this.region !== NOWHERE && this.region !== to) cost = egress[this.region]?.[to] ?? 0;
      this.region = to;
      this.restartLeft = problem.restartUnits;
      this.mode = nextMode;
      this.zone = nextZone;
    }
    const price = (nextMode === SPOT ? spotPrice[nextZone] : onDemandPrice[nextZone]) ?? 0;
    const occupied = Math.min(tickUnits, this.restartLeft + this.workLeft);
    const restarting = Math.min(occupied, this.restartLeft);
    this.restartLeft -= restarting;
    this.workLeft -= occupied - restarting;
    return cost + occupied * price;
  }
}

function firstAvailable(zones: readonly number[] | undefined, spells: readonly Int32Array[], tick: number): number {
  if (zones === undefined) return NOWHERE;
  for (const zone of zones) if ((spells[zone]?.[tick] ?? -1) > 0) return zone;
  return NOWHERE;
}

/** Ticks from `tick` on until the first of the zones has spot. */
function ticksWithout(zones: readonly number[] | undefined, spells: readonly Int32Array[], tick: number): number {
  let least = Infinity;
  if (zones === undefined) return least;
  for (const zone of zones) {
    const ends = spells[zone]?.[tick] ?? 0;
    if (ends > 0) return 0;
    least = Math.min(least, -ends - tick);
  }
  return least;
}
