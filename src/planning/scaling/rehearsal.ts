/**
 * Simple scaling rules, each run on an imagined fleet beside the real one, so that the past says which of them pays.
 *
 * Never orders a replica: the imagined fleets follow exactly the semantics of simulate.ts (boot delay paid, scale-in at
 * once, the youngest booting replicas go first), see the same past, and only their bills are read. A rule is a level plus
 * a margin, held or not after a peak:
 *   direct or followed forecast plus z standard deviations, but at least `headroom` times the calm level;
 *   the last minute times a factor; the newsvendor quantile of the forecast, or of the last hours' loads, at a price.
 */

import type { LoadForecast } from './forecast.js';
import { clamp, type FleetLimits } from './simulate.js';
import { replicasFor } from './load.js';

const MARGINS = [-1, -0.3, 0.2, 0.6, 1, 1.4, 1.8, 2.3, 3, 4] as const;
const HEADROOMS = [0, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3] as const;
const LAST_FACTORS = [1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.3] as const;
const PRICES = [1.1, 1.5, 2, 3, 5, 8, 15, 30, 60, 150, 500, 3000] as const;
/** How long a peak is held, in boot delays: a boot is worth about one delay of waiting (the ski-rental argument). */
const HOLDS = [0, 1, 2] as const;
const RULES = 2 * MARGINS.length * HEADROOMS.length + LAST_FACTORS.length + 2 * PRICES.length;
/** After this many minutes a bill counts half: a rule that paid last week may not pay today. */
const BILL_HALF_LIFE = 4000;

/** Fewest replicas at which one more would save less than it costs, unserved load being worth `price` per replica-minute. */
export function newsvendor(shortfall: Float64Array, price: number): number {
  let replicas = 0;
  while (replicas + 1 < shortfall.length && price * (shortfall[replicas]! - shortfall[replicas + 1]!) > 1) replicas++;
  return replicas;
}

export class Rehearsal {
  readonly count = RULES * HOLDS.length;
  /** Replicas that each rule wants now, after its hold; paid and lost replica-minutes of its fleet, with forgetting. */
  readonly wanted = new Int32Array(this.count);
  readonly paid = new Float64Array(this.count);
  readonly lost = new Float64Array(this.count);
  /** What each rule wants before its hold; the fleets of one rule lie next to each other. */
  readonly plain = new Int32Array(RULES);
  readonly holds = HOLDS.length;

  private readonly ready = new Int32Array(this.count);
  private readonly booting = new Int32Array(this.count);
  /** Orders by the minute in which they were placed, modulo the boot delay. */
  private readonly orders: Int32Array;
  private readonly recent: Int32Array;
  private readonly memory: number;
  private minute = 0;

  constructor(private readonly limits: FleetLimits, startingReplicas: number) {
    this.memory = HOLDS[HOLDS.length - 1]! * limits.bootMinutes + 1;
    this.orders = new Int32Array(this.count * Math.max(1, limits.bootMinutes));
    this.recent = new Int32Array(this.count * this.memory).fill(startingReplicas);
    this.ready.fill(startingReplicas);
    this.wanted.fill(startingReplicas);
  }

  /** Bills the minute that just ended to every fleet; `load` in replicas. */
  settle(load: number): void {
    const keep = 0.5 ** (1 / BILL_HALF_LIFE);
    for (let i = 0; i < this.count; i++) {
      const beyond = load - this.ready[i]!;
      this.paid[i] = this.paid[i]! * keep + this.ready[i]! + this.booting[i]!;
      this.lost[i] = this.lost[i]! * keep + (beyond > 0 ? beyond : 0);
    }
    this.minute++;
  }

  /** Lets every rule decide for the minute that begins. */
  decide(forecast: LoadForecast, lastLoad: number): void {
    this.decidePlainly(forecast, lastLoad);
    const now = this.minute % this.memory;
    for (let i = 0; i < this.count; i++) {
      const plain = this.plain[Math.floor(i / HOLDS.length)]!;
      const held = this.held(i, now, plain, HOLDS[i % HOLDS.length]! * this.limits.bootMinutes);
      const have = this.ready[i]! + this.booting[i]!;
      this.wanted[i] = plain >= have ? plain : Math.min(have, held);
    }
    for (let i = 0; i < this.count; i++) this.move(i);
  }

  private decidePlainly(forecast: LoadForecast, lastLoad: number): void {
    const floors = HEADROOMS.map((headroom) => headroom * forecast.calm);
    const at = (root: number, floor: number): number => this.within(Math.max(root > 0 ? root * root : 0, floor));
    let rule = 0;
    for (const margin of MARGINS) {
      const direct = forecast.direct + margin * forecast.directSpread;
      const followed = forecast.followed + margin * forecast.followedSpread;
      for (const floor of floors) {
        this.plain[rule++] = at(direct, floor);
        this.plain[rule++] = at(followed, floor);
      }
    }
    for (const factor of LAST_FACTORS) this.plain[rule++] = this.within(factor * lastLoad);
    for (const price of PRICES) {
      this.plain[rule++] = clamp(newsvendor(forecast.shortfall, price), this.limits);
      this.plain[rule++] = clamp(newsvendor(forecast.marginal, price), this.limits);
    }
  }

  private within(load: number): number {
    return clamp(replicasFor(load), this.limits);
  }

  private held(fleet: number, now: number, plain: number, minutes: number): number {
    const row = fleet * this.memory;
    this.recent[row + now] = plain;
    let most = plain;
    for (let ago = 1; ago <= minutes; ago++) {
      const then = now - ago;
      most = Math.max(most, this.recent[row + (then < 0 ? then + this.memory : then)]!);
    }
    return most;
  }

  /** Matures, orders and cuts one fleet, as simulate.ts does. */
  private move(fleet: number): void {
    const boot = this.limits.bootMinutes;
    const wanted = this.wanted[fleet]!;
    if (boot === 0) {
      this.ready[fleet] = wanted;
      return;
    }
    const row = fleet * boot;
    const slot = this.minute % boot;
    const matured = this.orders[row + slot]!;
    this.ready[fleet] = this.ready[fleet]! + matured;
    this.booting[fleet] = this.booting[fleet]! - matured;
    this.orders[row + slot] = 0;
    const have = this.ready[fleet]! + this.booting[fleet]!;
    if (wanted > have) {
      this.orders[row + slot] = wanted - have;
      this.booting[fleet] = this.booting[fleet]! + wanted - have;
      return;
    }
    let cut = have - wanted;
    for (let age = 1; age < boot && cut > 0 && this.booting[fleet]! > 0; age++) {
      const young = row + ((slot - age + boot) % boot);
      const gone = Math.min(cut, this.orders[young]!);
      this.orders[young] = this.orders[young]! - gone;
      this.booting[fleet] = this.booting[fleet]! - gone;
      cut -= gone;
    }
    this.ready[fleet] = this.ready[fleet]! - cut;
  }
}
