/**
 * The one place that says what a tick does to the replicas of a service. Every policy runs under these rules, in a
 * recorded window and in the futures that a planner draws.
 *
 * - At the start of a tick spot of which a zone has less than is held is lost, the instances that started last first.
 * - A policy then knows what it holds and the present prices. It may try launches: one that fails is free, and how much
 *   a zone has is known no other way. On-demand can always be had. Instances may be stopped, those that started last
 *   first.
 * - Every instance held is paid for the tick; it serves from the end of its cold start on. More than the wanted
 *   replicas do not count.
 */
import { assert } from '../../core/errors.js';
import { ON_DEMAND, type ServingProblem, type ServingWindow } from './problem.js';

/** What a policy knows and may do in a tick. */
export interface Desk {
  readonly tick: number;
  /** Replica-seconds unserved before this tick. */
  readonly unserved: number;
  /** Instances held, those that started first first: the zone (or ON_DEMAND), and when it serves, in seconds. */
  readonly zones: readonly number[];
  readonly readyAt: readonly number[];
  /** Zones of the instances that were lost at the start of this tick. */
  readonly lost: readonly number[];
  /** The number held in a zone, or of on-demand. */
  held(zone: number): number;
  /** Per hour. */
  spotPrice(zone: number): number;
  tryLaunch(zone: number): boolean;
  launchOnDemand(): void;
  /** Stops the one that started last there. */
  stop(zone: number): void;
}

/** Decides one tick by what it does at the desk. */
export type ServingPolicy = (desk: Desk) => void;

export interface ServingRun {
  readonly cost: number;
  readonly onDemandSpend: number;
  /** Share of the wanted replica time that was served. */
  readonly servedShare: number;
  readonly preemptions: number;
  readonly attempts: number;
  readonly launches: number;
}

/** The replicas of a service in a window. */
export class Service implements Desk {
  tick = 0;
  unserved = 0;
  zones: number[] = [];
  readyAt: number[] = [];
  lost: number[] = [];
  onDemandSpend = 0;
  spotSpend = 0;
  preemptions = 0;
  attempts = 0;
  launches = 0;
  private readonly counts: Int32Array;

  /** `each`: replicas that one of the window's capacity holds; `from`: the tick of the problem at which it begins. */
  constructor(
    private readonly problem: ServingProblem,
    private readonly window: ServingWindow,
    private readonly each = 1,
    private readonly from = 0,
  ) {
    this.counts = new Int32Array(problem.names.length + 1);
  }

  /** Begins in the state of another desk. */
  beginAs({ tick, unserved, zones, readyAt }: Pick<Desk, 'tick' | 'unserved' | 'zones' | 'readyAt'>): void {
    [this.tick, this.unserved, this.zones, this.readyAt] = [tick, unserved, [...zones], [...readyAt]];
    for (const zone of zones) this.count(zone, 1);
  }

  private count(zone: number, by: number): void {
    this.counts[zone + 1] = (this.counts[zone + 1] ?? 0) + by;
  }

  private capacity(zone: number): number {
    const here = this.window.capacity[zone]?.[this.tick - this.from] ?? 0;
    return here === 0 ? 0 : here * this.each;
  }

  held(zone: number): number {
    return this.counts[zone + 1] ?? 0;
  }

  spotPrice(zone: number): number {
    return this.window.spotPerHour[zone]?.[this.tick - this.from] ?? NaN;
  }

  tryLaunch(zone: number): boolean {
    this.attempts += 1;
    if (this.held(zone) >= this.capacity(zone)) return false;
    this.add(zone);
    return true;
  }

  launchOnDemand(): void {
    this.add(ON_DEMAND);
  }

  private add(zone: number): void {
    this.launches += 1;
    this.zones.push(zone);
    this.readyAt.push(this.tick * this.problem.tickSeconds + this.problem.coldSeconds);
    this.count(zone, 1);
  }

  stop(zone: number): void {
    const at = this.zones.lastIndexOf(zone);
    assert(at >= 0, 'what is stopped is held');
    this.zones.splice(at, 1);
    this.readyAt.splice(at, 1);
    this.count(zone, -1);
  }

  /** Opens the tick: what its zone no longer holds is lost. */
  open(): void {
    this.lost.length = 0;
    for (let i = this.zones.length - 1; i >= 0; i -= 1) {
      const zone = this.zones[i] ?? ON_DEMAND;
      if (zone === ON_DEMAND || this.held(zone) <= this.capacity(zone)) continue;
      this.stop(zone);
      this.lost.push(zone);
      this.preemptions += 1;
    }
  }

  /** Ends the tick: pays it, and counts what was served. */
  close(): void {
    const { tickSeconds } = this.problem;
    for (const zone of this.zones) {
      if (zone === ON_DEMAND) this.onDemandSpend += (this.problem.onDemandPerHour * tickSeconds) / 3600;
      else this.spotSpend += (this.spotPrice(zone) * tickSeconds) / 3600;
    }
    this.unserved += unservedInTick(this.problem, this);
    this.tick += 1;
  }
}

/** Replica-seconds that go unserved in the tick of a desk with what is held; `without`: but for that instance. */
export function unservedInTick({ replicas, tickSeconds }: ServingProblem, desk: Desk, without = -1): number {
  const { readyAt, tick } = desk;
  const [start, end] = [tick * tickSeconds, (tick + 1) * tickSeconds];
  let full = 0;
  const later: number[] = [];
  for (let i = 0; i < readyAt.length; i += 1) {
    const at = readyAt[i] ?? Infinity;
    if (i === without || at >= end) continue;
    if (at <= start) full += 1;
    else later.push(at);
  }
  if (full >= replicas) return 0;
  later.sort((a, b) => a - b);
  let unserved = (replicas - full) * tickSeconds;
  for (let i = 0; i < later.length && i < replicas - full; i += 1) unserved -= end - (later[i] ?? end);
  return unserved;
}

/** Runs one policy over one window. */
export function simulateServing(problem: ServingProblem, window: ServingWindow, policy: ServingPolicy): ServingRun {
  const service = new Service(problem, window);
  while (service.tick < problem.ticks) {
    service.open();
    policy(service);
    service.close();
  }
  const { onDemandSpend, spotSpend, preemptions, attempts, launches } = service;
  const cost = onDemandSpend + spotSpend;
  assert(Number.isFinite(cost), 'every price that was paid is known');
  const servedShare = 1 - service.unserved / problem.wantedSeconds;
  return { cost, onDemandSpend, servedShare, preemptions, attempts, launches };
}
