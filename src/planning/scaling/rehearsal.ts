/**
 * Simple scaling rules, each run on an imagined fleet beside the real one, so that the past shows which of them pays
 * off.
 *
 * Never orders a replica: the imagined fleets follow exactly the semantics of simulate.ts (boot delay paid, scale-in at
 * once, the youngest booting replicas go first), see the same past, and only their bills are read. The rules:
 *   head-room: the load as it is plus z standard deviations, but at least a multiple of the calm load, with or without
 *   a band in
 *     which the fleet stays as it is (a replica let go by the noise of a minute is booted again, which is paid);
 *   the newsvendor's quantile of the forecast, or of the last hours' loads as if the load had no memory, at a price;
 *   the last minute's load times a factor.
 */

import { clamp, type FleetLimits } from './simulate.js';
import { replicasFor } from './load.js';

const MARGINS = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4] as const;
const ROOMS = [1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.3, 2.7, 3.2] as const;
/** Width of the band: in deviations above the margin, and as a share of the calm load per deviation. */
const BANDS = [0, 0.5] as const;
const BAND_OF_CALM = 0.08;
const LAST_FACTORS = [1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.3] as const;
const PRICES = [1.1, 1.5, 2, 3, 5, 8, 15, 30, 60, 150, 500, 3000] as const;
const RULES = MARGINS.length * ROOMS.length * BANDS.length + LAST_FACTORS.length + 2 * PRICES.length;
/**
 * Every rule runs twice: without and with holding its highest wish. It is held for a boot delay, as a boot is worth
 * about one delay of waiting (the ski-rental argument), and for at least the 300 s after which Kubernetes lets go.
 */
const WAYS = 2;
const LEAST_HOLD_MINUTES = 5;
/** After this many minutes a bill counts half: a rule that paid last week may not pay today. */
const BILL_HALF_LIFE = 4000;

/**
 * What the rules decide by, for the minute in which a replica ordered now begins to serve; roots are square roots of
 * replicas.
 */
export interface LoadForecast {
  /** The calm load and the standard deviation of its forecast. */
  readonly calmRoot: number;
  readonly calmDeviation: number;
  /** The load as it is: the level of a surge while one lasts, otherwise the calm load. */
  readonly presentRoot: number;
  /** Expected load beyond k replicas, k from 0 to the largest fleet; and where the load had no memory. */
  readonly shortfall: Float64Array;
  readonly memoryless: Float64Array;
}

/**
 * Fewest replicas at which one more would save less than it costs, unserved load being worth `price` per
 * replica-minute.
 */
export function newsvendor(shortfall: Float64Array, price: number): number {
  let replicas = 0;
  while (replicas + 1 < shortfall.length && price * (shortfall[replicas]! - shortfall[replicas + 1]!) > 1) replicas++;
  return replicas;
}

export class Rehearsal {
  readonly count = RULES * WAYS;
  /** Replicas that each rule wants now, after its hold; paid and lost replica-minutes of its fleet, with forgetting. */
  readonly wanted = new Int32Array(this.count);
  readonly paid = new Float64Array(this.count);
  readonly lost = new Float64Array(this.count);

  /** What each rule wants before its hold: it orders below `least` and lets go above `most`. */
  private readonly least = new Int32Array(RULES);
  private readonly most = new Int32Array(RULES);
  private readonly ready = new Int32Array(this.count);
  private readonly booting = new Int32Array(this.count);
  /** Orders by the minute in which they were placed, modulo the boot delay. */
  private readonly orders: Int32Array;
  /** Wishes of each rule, the last ones in a ring. */
  private readonly recent: Int32Array;
  private readonly holdMinutes: number;
  private minute = 0;

  constructor(
    private readonly limits: FleetLimits,
    startingReplicas: number,
  ) {
    this.holdMinutes = Math.max(LEAST_HOLD_MINUTES, limits.bootMinutes);
    this.orders = new Int32Array(this.count * Math.max(1, limits.bootMinutes));
    this.recent = new Int32Array(RULES * (this.holdMinutes + 1)).fill(startingReplicas);
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
    for (let rule = 0; rule < RULES; rule++) {
      const least = this.least[rule]!;
      const held = Math.max(this.most[rule]!, this.hold(rule, least));
      for (let way = 0; way < WAYS; way++) {
        const fleet = rule * WAYS + way;
        const have = this.ready[fleet]! + this.booting[fleet]!;
        this.wanted[fleet] = least >= have ? least : Math.min(have, way === 0 ? this.most[rule]! : held);
        this.move(fleet);
      }
    }
  }

  private decidePlainly(forecast: LoadForecast, lastLoad: number): void {
    const { calmRoot, calmDeviation, presentRoot } = forecast;
    const calm = calmRoot * calmRoot;
    let rule = 0;
    for (const band of BANDS) {
      for (const room of ROOMS) {
        for (const margin of MARGINS) {
          this.least[rule] = this.replicasAt(presentRoot + margin * calmDeviation, room * calm);
          this.most[rule++] = this.replicasAt(
            presentRoot + (margin + band) * calmDeviation,
            room * (1 + BAND_OF_CALM * band) * calm,
          );
        }
      }
    }
    const plainly = (replicas: number): void => {
      this.least[rule] = this.most[rule] = clamp(replicas, this.limits);
      rule++;
    };
    for (const factor of LAST_FACTORS) plainly(replicasFor(factor * lastLoad));
    for (const price of PRICES) {
      plainly(newsvendor(forecast.shortfall, price));
      plainly(newsvendor(forecast.memoryless, price));
    }
  }

  private replicasAt(root: number, leastLoad: number): number {
    return clamp(replicasFor(Math.max(root > 0 ? root * root : 0, leastLoad)), this.limits);
  }

  /** Notes the wish of a rule; returns its highest of the last minutes, this one included. */
  private hold(rule: number, wish: number): number {
    const size = this.holdMinutes + 1;
    const row = rule * size;
    this.recent[row + (this.minute % size)] = wish;
    let highest = wish;
    for (let i = 0; i < size; i++) highest = Math.max(highest, this.recent[row + i]!);
    return highest;
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
