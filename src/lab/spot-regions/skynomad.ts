/**
 * SkyNomad (Li et al., arXiv 2601.06520, NSDI '27) as an opponent, written anew from its abstract and from what the
 * notes and the program of its public artifact say; the paper's text was not read, and none of its code is here.
 *
 * Progress has a value V in money per hour that grows as the job falls behind. A zone's expected lifetime L follows
 * from a survival curve (Nelson-Aalen) over the runs seen there, real ones and virtual ones that a probe begins. Spot
 * earns V (1 - restart / L) - price - egress / L an hour (what is held spends no restart), on-demand V - price with its
 * egress spread over the work left, waiting nothing; what earns most is tried first, and what is held is left only for
 * what is better by a margin. What differs between its notes, its figures and its code is a setting: all run, and the
 * best over a call is the opponent.
 */
import {
  IDLE,
  moveCost,
  NOWHERE,
  ON_DEMAND,
  onDemandZone,
  SPOT,
  type RegionsProblem,
  type RegionsWindow,
} from '../../planning/spot-regions/problem.js';
import {
  keepsDeadline,
  STAY_IDLE,
  type Place,
  type RegionsPolicy,
  type RegionsView,
} from '../../planning/spot-regions/simulate.js';

export interface SkyNomadSetting {
  /** V is the on-demand price times the required over the planned rate, or times the required over the past rate. */
  readonly value: 'planned-rate' | 'past-rate';
  /** Whether a virtual run is probed (and paid) again and again, as its notes say, or once, as its code does. */
  readonly probesAgain: boolean;
  /** The longest lifetime that is believed. */
  readonly mostHours: number;
  /** Among equals: as in the file, or the other way round. */
  readonly fileOrder: boolean;
}

const both = [true, false] as const;
export const SETTINGS: readonly SkyNomadSetting[] = (['planned-rate', 'past-rate'] as const).flatMap((value) =>
  both.flatMap((probesAgain) =>
    [2, Infinity].flatMap((mostHours) =>
      both.map((fileOrder): SkyNomadSetting => ({ value, probesAgain, mostHours, fileOrder })),
    ),
  ),
);

const PROBE_SECONDS = 3600;
/** What a change must be better by, per hour: a base, and a share of V. */
const MARGIN_BASE = 0.5;
const MARGIN_SHARE = 0.05;

/** A zone's runs, real and virtual. */
class Lifetimes {
  private readonly ended: { readonly hours: number; readonly lost: boolean }[] = [];
  /** Hours of the run that goes on; null: none does. */
  age: number | null = null;

  begin(): void {
    this.age ??= 0;
  }

  end(lost: boolean): void {
    if (this.age !== null) this.ended.push({ hours: this.age, lost });
    this.age = null;
  }

  /** Expected further hours of a run at its age: the area below the survival curve, its last step going on. */
  expected(most: number): number {
    const losses = [...new Set(this.ended.filter(({ lost }) => lost).map(({ hours }) => hours))].sort((a, b) => a - b);
    let [time, survival, sum, rate] = [this.age ?? 0, 1, 0, 0];
    let before = 0;
    for (const hours of losses) {
      const atRisk = this.ended.filter((run) => run.hours >= hours).length;
      const step = this.ended.filter((run) => run.lost && run.hours === hours).length / atRisk;
      rate = step / Math.max(hours - before, 1 / 6);
      before = hours;
      if (hours <= time) continue;
      sum += survival * (hours - time);
      survival *= Math.exp(-step);
      time = hours;
    }
    return Math.min(most, rate > 0 ? sum + survival / rate : Infinity);
  }
}

/** `told`: the true further lifetime of spot, in hours, where the opponent is told the future. */
export function skyNomad(
  problem: RegionsProblem,
  setting: SkyNomadSetting,
  lifetimeOf?: (tick: number, zone: number) => number,
): RegionsPolicy {
  return {
    name: lifetimeOf === undefined ? 'skynomad' : 'skynomad-told',
    start: () => {
      const run = new SkyNomadRun(problem, setting, lifetimeOf);
      return (view) => run.decide(view);
    },
  };
}

/** The true further lifetimes of a window, in hours. */
export function trueLifetimes(problem: RegionsProblem, window: RegionsWindow): (tick: number, zone: number) => number {
  const tickHours = (problem.tickUnits * problem.unitSeconds) / 3600;
  const hours = window.available.map((available) => {
    const left = new Float64Array(problem.ticks + 1);
    for (let tick = problem.ticks - 1; tick >= 0; tick -= 1)
      left[tick] = available[tick] === 1 ? (left[tick + 1] ?? 0) + tickHours : 0;
    return left;
  });
  return (tick, zone) => hours[zone]?.[tick] ?? 0;
}

interface Option extends Place {
  readonly worth: number;
}

class SkyNomadRun {
  private readonly lifetimes: Lifetimes[];
  private readonly nextProbe: number[];
  private readonly tickHours: number;

  constructor(
    private readonly problem: RegionsProblem,
    private readonly setting: SkyNomadSetting,
    private readonly lifetimeOf: ((tick: number, zone: number) => number) | undefined,
  ) {
    this.lifetimes = problem.names.map(() => new Lifetimes());
    this.nextProbe = problem.names.map(() => 0);
    this.tickHours = (problem.tickUnits * problem.unitSeconds) / 3600;
  }

  decide(view: RegionsView): Place {
    if (view.tick > 0) for (const life of this.lifetimes) if (life.age !== null) life.age += this.tickHours;
    if (view.lost !== NOWHERE) this.lifetimes[view.lost]?.end(true);
    const place = this.chosen(view);
    if (this.lifetimeOf === undefined) this.probeOthers(view, place);
    if (view.mode === SPOT && !(place.mode === SPOT && place.zone === view.zone)) this.lifetimes[view.zone]?.end(false);
    return place;
  }

  private chosen(view: RegionsView): Place {
    const { problem } = this;
    const value = this.valueOfProgress(view);
    const held: Option = { mode: view.mode, zone: view.zone, worth: this.worthOfHeld(view, value) };
    const margin = view.mode === IDLE ? 0 : MARGIN_BASE + MARGIN_SHARE * value;
    const zone = onDemandZone(problem, view.region, this.hours(view.workLeft + problem.restartUnits));
    const options = [...this.spotOptions(view, value), this.onDemandOption(view, zone, value)]
      .filter(({ worth }) => worth > held.worth + margin && worth >= 0)
      .sort((a, b) => b.worth - a.worth);
    for (const option of options) {
      if (!keepsDeadline(problem, view, option)) continue;
      if (option.mode === ON_DEMAND) return view.mode === ON_DEMAND ? held : option;
      if (this.launched(view, option.zone)) return option;
    }
    const kept = view.mode === IDLE ? STAY_IDLE : held;
    if (keepsDeadline(problem, view, kept)) return kept;
    return view.mode === ON_DEMAND ? held : { mode: ON_DEMAND, zone };
  }

  private launched(view: RegionsView, zone: number): boolean {
    const ok = view.tryLaunch(zone);
    if (ok) this.lifetimes[zone]?.begin();
    else this.lifetimes[zone]?.end(true);
    return ok;
  }

  private hours(units: number): number {
    return (units * this.problem.unitSeconds) / 3600;
  }

  /** What an hour of work is worth: more, the further behind. */
  private valueOfProgress(view: RegionsView): number {
    const { jobUnits, ticks, tickUnits, onDemandPerHour } = this.problem;
    const dearest = Math.min(...onDemandPerHour);
    const [all, gone] = [ticks * tickUnits, view.tick * tickUnits];
    const required = view.workLeft / view.timeLeft;
    const done = jobUnits - view.workLeft;
    const planned = jobUnits / all;
    const past = gone > 0 && done > 0 ? done / gone : planned;
    const least = Math.min(...this.problem.names.map((_, zone) => view.spotPrice(zone)));
    return Math.max(least, dearest * (required / (this.setting.value === 'planned-rate' ? planned : past)));
  }

  private lifetime(view: RegionsView, zone: number): number {
    const left = this.hours(view.timeLeft);
    if (this.lifetimeOf !== undefined) return Math.min(left, this.lifetimeOf(view.tick, zone));
    return Math.min(left, this.lifetimes[zone]?.expected(this.setting.mostHours) ?? 0);
  }

  private worthOfHeld(view: RegionsView, value: number): number {
    if (view.mode === SPOT) return value - view.spotPrice(view.zone);
    return view.mode === ON_DEMAND ? value - (this.problem.onDemandPerHour[view.zone] ?? NaN) : 0;
  }

  private spotOptions(view: RegionsView, value: number): Option[] {
    const zones = [...this.problem.names.keys()].filter((zone) => !(view.mode === SPOT && zone === view.zone));
    if (!this.setting.fileOrder) zones.reverse();
    return zones.map((zone) => {
      const life = this.lifetime(view, zone);
      const share = 1 - this.hours(this.problem.restartUnits) / life;
      const move = moveCost(this.problem, view.region, zone);
      const worth = share > 0 ? value * share - view.spotPrice(zone) - move / life : -Infinity;
      return { mode: SPOT, zone, worth };
    });
  }

  private onDemandOption(view: RegionsView, zone: number, value: number): Option {
    const move = moveCost(this.problem, view.region, zone) / this.hours(view.workLeft + this.problem.restartUnits);
    return { mode: ON_DEMAND, zone, worth: value - (this.problem.onDemandPerHour[zone] ?? NaN) - move };
  }

  private probeOthers(view: RegionsView, place: Place): void {
    const every = Math.max(1, Math.round(PROBE_SECONDS / 3600 / this.tickHours));
    this.lifetimes.forEach((life, zone) => {
      if (zone === place.zone && place.mode === SPOT) return;
      if (view.tick < (this.nextProbe[zone] ?? 0) || (life.age !== null && !this.setting.probesAgain)) return;
      this.nextProbe[zone] = view.tick + every;
      if (view.probe(zone)) life.begin();
      else life.end(true);
    });
  }
}
