/**
 * The one place that says what a tick does to a job over many zones. Every policy and the optimum run under these
 * rules.
 *
 * - Spot that is not available at the start of a tick has been lost: the job is idle, its restart is lost, and its
 *   checkpoint stays in the region where it last ran.
 * - A policy then knows the present prices everywhere, and of availability only what it holds, tries or probes. A
 *   launch that fails is free; one that succeeds is what the job runs on in this tick. A probe that succeeds is charged
 *   `probeSeconds` of spot, one that fails nothing. On-demand can always be had.
 * - Any other mode or zone than the held one is a new instance: it first spends the restart without progress, carried
 *   over into following ticks, at its own price; where its region is not the one of the checkpoint, egress is paid.
 * - Occupied time is paid at the price of that tick; when the work ends within a tick, only the time until then is.
 *
 * The shapes are those of single-zone spot (planning/spot/simulate.ts, after Wu et al., NSDI 2024) and of SkyNomad (Li
 * et al., arXiv 2601.06520). The invariant: a decision rests on what was asked here, so that neither the future nor the
 * present of a zone that nobody asked for can change it; one that breaks the rules stops the program.
 */
import { assert } from '../../core/errors.js';
import { IDLE, NOWHERE, ON_DEMAND, SPOT, type Mode, type RegionsProblem, type RegionsWindow } from './problem.js';

/** What is held, or will be: `zone` is meaningless if the mode is idle. */
export interface Place {
  readonly mode: Mode;
  readonly zone: number;
}

/** What a policy knows, and may ask, at the start of a tick. The object is reused: a policy copies what it keeps. */
export interface RegionsView extends Place {
  readonly tick: number;
  /** Units of restart still to spend on what is held. */
  readonly restartLeft: number;
  /** Units of work still to do; always positive. */
  readonly workLeft: number;
  /** Units until the last whole tick before the deadline ends. */
  readonly timeLeft: number;
  /** Where the checkpoint lies; NOWHERE before the first start. */
  readonly region: number;
  /** Spot that was held at the end of the last tick and is gone; NOWHERE where none was lost. */
  readonly lost: number;
  /** The present price of spot, per hour. */
  spotPrice(zone: number): number;
  /** Tries to start spot. Once it says yes, this tick is spent there, and nothing more may be tried. */
  tryLaunch(zone: number): boolean;
  /** Checks whether spot could be had, at a price where it can. */
  probe(zone: number): boolean;
}

export interface RegionsPolicy {
  readonly name: string;
  /** Begins one window and returns its decision function, which is called once per tick, in order. */
  start(): (view: RegionsView) => Place;
}

/** One tick as it was decided and paid. */
export interface RegionsStep extends Place {
  readonly tick: number;
  readonly attempts: readonly (readonly [zone: number, ok: boolean])[];
  readonly probes: readonly (readonly [zone: number, ok: boolean])[];
  readonly cost: number;
}

export interface RegionsRun {
  /** All that was paid: spot (with what probes cost), on-demand and egress. */
  readonly cost: number;
  readonly spot: number;
  readonly onDemandSpend: number;
  readonly egress: number;
  readonly probes: number;
  /** Launches of spot that were tried. */
  readonly attempts: number;
  /** Instances that were started. */
  readonly restarts: number;
  /** Changes of region. */
  readonly moves: number;
  /** Whether the work was done by the deadline. */
  readonly finished: boolean;
}

export const STAY_IDLE: Place = { mode: IDLE, zone: NOWHERE };

/** The job between two ticks, and the desk at which a policy asks. */
class Job implements RegionsView {
  tick = 0;
  mode: Mode = IDLE;
  zone = NOWHERE;
  restartLeft = 0;
  workLeft: number;
  timeLeft: number;
  region = NOWHERE;
  lost = NOWHERE;
  attempts: [number, boolean][] = [];
  probes: [number, boolean][] = [];
  private launched = NOWHERE;
  readonly paid = { spot: 0, onDemand: 0, egress: 0 };
  restarts = 0;
  moves = 0;

  constructor(
    private readonly problem: RegionsProblem,
    private readonly window: RegionsWindow,
  ) {
    this.workLeft = problem.jobUnits;
    this.timeLeft = problem.ticks * problem.tickUnits;
  }

  private available(zone: number): boolean {
    return this.window.available[zone]?.[this.tick] === 1;
  }

  spotPrice(zone: number): number {
    const price = this.window.spotPerHour[zone]?.[this.tick];
    assert(price !== undefined, 'the price of a zone of the window is known');
    return price;
  }

  tryLaunch(zone: number): boolean {
    assert(this.launched === NOWHERE, 'nothing may be tried after a launch');
    assert(!(this.mode === SPOT && this.zone === zone), 'what is held cannot be launched');
    const ok = this.available(zone);
    this.attempts.push([zone, ok]);
    if (ok) this.launched = zone;
    return ok;
  }

  probe(zone: number): boolean {
    const ok = this.available(zone);
    this.probes.push([zone, ok]);
    if (ok) this.paid.spot += (this.spotPrice(zone) * this.problem.probeSeconds) / 3600;
    return ok;
  }

  /** Opens the tick: spot that is gone is lost, and what was known of other zones is forgotten. */
  open(): void {
    [this.attempts, this.probes, this.launched, this.lost] = [[], [], NOWHERE, NOWHERE];
    if (this.mode !== SPOT || this.available(this.zone)) return;
    this.lost = this.zone;
    [this.mode, this.zone, this.restartLeft] = [IDLE, NOWHERE, 0];
  }

  /** Spends the tick at `place`. */
  spend(place: Place): void {
    const { problem } = this;
    this.refuse(place);
    if (place.mode !== IDLE && (place.mode !== this.mode || place.zone !== this.zone)) this.begin(place);
    this.mode = place.mode;
    this.zone = place.mode === IDLE ? NOWHERE : place.zone;
    if (this.mode !== IDLE) {
      const occupied = Math.min(problem.tickUnits, this.restartLeft + this.workLeft);
      const restarting = Math.min(occupied, this.restartLeft);
      this.restartLeft -= restarting;
      this.workLeft -= occupied - restarting;
      const hours = (occupied * problem.unitSeconds) / 3600;
      if (this.mode === SPOT) this.paid.spot += hours * this.spotPrice(this.zone);
      else this.paid.onDemand += hours * (problem.onDemandPerHour[this.zone] ?? NaN);
    } else this.restartLeft = 0;
    this.tick += 1;
    this.timeLeft -= problem.tickUnits;
  }

  private refuse({ mode, zone }: Place): void {
    const held = mode === SPOT && this.mode === SPOT && zone === this.zone;
    if (mode !== IDLE) assert(zone >= 0 && zone < this.problem.names.length, 'a zone of the problem was chosen');
    if (this.launched !== NOWHERE) assert(mode === SPOT && zone === this.launched, 'what was launched is run on');
    else assert(mode !== SPOT || held, 'spot was chosen that is neither held nor launched');
  }

  private begin({ zone }: Place): void {
    const to = this.problem.regionOf[zone] ?? NOWHERE;
    this.restartLeft = this.problem.restartUnits;
    this.restarts += 1;
    if (this.region !== NOWHERE && this.region !== to) {
      this.moves += 1;
      this.paid.egress += this.problem.egress[this.region]?.[to] ?? NaN;
    }
    this.region = to;
  }
}

/**
 * Runs one policy over one window, which covers every tick before the deadline, and tells `record` of each tick until
 * the work is done.
 */
export function simulateRegions(
  problem: RegionsProblem,
  window: RegionsWindow,
  policy: RegionsPolicy,
  record: (step: RegionsStep) => void = () => undefined,
): RegionsRun {
  const job = new Job(problem, window);
  const decide = policy.start();
  const sum = (): number => job.paid.spot + job.paid.onDemand + job.paid.egress;
  let [attempts, probes] = [0, 0];
  while (job.tick < problem.ticks && job.workLeft > 0) {
    const { tick } = job;
    const before = sum();
    job.open();
    const place = decide(job);
    job.spend(place);
    attempts += job.attempts.length;
    probes += job.probes.length;
    record({ ...place, tick, attempts: job.attempts, probes: job.probes, cost: sum() - before });
  }
  const { spot, onDemand, egress } = job.paid;
  assert(Number.isFinite(sum()), 'every price that was paid is known');
  const { restarts, moves } = job;
  const finished = job.workLeft === 0;
  return { cost: sum(), spot, onDemandSpend: onDemand, egress, probes, attempts, restarts, moves, finished };
}

/**
 * Whether the deadline can still be promised after this tick is spent at `place`, even if spot is gone from then on:
 * time left >= work left + (on-demand is held ? its restart left : a restart), as for one zone
 * (planning/spot/safety.ts).
 */
export function keepsDeadline(problem: RegionsProblem, view: RegionsView, place: Place): boolean {
  const { tickUnits, restartUnits } = problem;
  const timeAfter = view.timeLeft - tickUnits;
  if (place.mode === IDLE) return timeAfter >= view.workLeft + restartUnits;
  const held = place.mode === view.mode && place.zone === view.zone;
  const restart = held ? view.restartLeft : restartUnits;
  const workAfter = view.workLeft - Math.max(0, tickUnits - restart);
  if (workAfter <= 0) return true;
  const restartAfter = place.mode === ON_DEMAND ? Math.max(0, restart - tickUnits) : restartUnits;
  return timeAfter >= workAfter + restartAfter;
}
