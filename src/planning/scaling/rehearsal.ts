/**
 * Scaling rules, each run on an imagined fleet beside the real one, so that the past shows which of them pays off.
 *
 * Never orders a replica: the imagined fleets follow exactly the semantics of simulate.ts (boot delay paid, scale-in at
 * once, the youngest booting replicas go first), see the same past, and only their bills are read. The rules:
 *   head-room: the load as it is plus z standard deviations of its forecast, but at least a multiple of the calm load;
 *   what would have been cheapest in the recent minutes, at some prices; both without and with holding the highest
 *   wish;
 *   the published ones of opponents.ts, the HPA's at many targets, as the HPA that somebody has is one of them.
 */

import { replicasFor } from './load.js';
import { hpa, recentPeak, stepScaling, targetTracking } from './opponents.js';
import { clamp, type FleetLimits, type ScalingPolicy } from './simulate.js';

const MARGINS = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4] as const;
const ROOMS = [1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.3, 2.7, 3.2] as const;
/**
 * Each of these runs twice: without and with holding its highest wish. It is held for a boot delay, as a boot is
 * worth about one delay of waiting (the ski-rental argument), and for at least the 300 s after which Kubernetes lets
 * go.
 */
const WAYS = 2;
const LEAST_HOLD_MINUTES = 5;
const PRICES = [1.1, 1.5, 2, 3, 5, 8, 15, 30, 60, 150, 500, 3000] as const;
const OWN = (MARGINS.length * ROOMS.length + PRICES.length) * WAYS;

const HPA_TARGETS = [0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2] as const;
/** The rule that is the HPA of a target, the nearest of those that run. */
export function hpaRule(target: number): number {
  const distances = HPA_TARGETS.map((one) => Math.abs(one - target));
  return OWN + distances.indexOf(Math.min(...distances));
}

const TRACKED_TARGETS = [0.5, 0.7, 0.9] as const;
const PEAK_MINUTES = [10, 20, 40, 60, 120] as const;
const PEAK_FACTORS = [0.8, 1, 1.2] as const;

const publishedRules = (): ScalingPolicy[] => [
  ...HPA_TARGETS.map((target) => hpa({ target })),
  ...TRACKED_TARGETS.map((target) => targetTracking({ target })),
  stepScaling({ outAbove: 0.7, outReplicas: 2, inBelow: 0.3 }),
  ...PEAK_MINUTES.flatMap((minutes) => PEAK_FACTORS.map((factor) => recentPeak({ minutes, factor }))),
];

/**
 * What the rules decide by, for the minute in which a replica ordered now begins to serve; roots are square roots
 * of replicas.
 */
export interface LoadForecast {
  /** The calm load and the standard deviation of its forecast. */
  readonly calmRoot: number;
  readonly calmDeviation: number;
  /** The load as it is: the level of a surge while one lasts, otherwise the calm load. */
  readonly presentRoot: number;
  /** Mean load beyond k replicas, k from 0 to the largest fleet, in the recent minutes. */
  readonly recentBeyond: Float64Array;
}

/**
 * Fewest replicas at which one more would save less than it costs, unserved load being worth `price` per
 * replica-minute.
 */
function newsvendor(beyond: Float64Array, price: number): number {
  let replicas = 0;
  while (replicas + 1 < beyond.length && price * (beyond[replicas]! - beyond[replicas + 1]!) > 1) replicas++;
  return replicas;
}

export class Rehearsal {
  readonly count: number;
  /** Replicas that each rule has now, booting ones included; paid and lost replica-minutes of its fleet so far. */
  readonly wanted: Int32Array;
  readonly paid: Float64Array;
  readonly lost: Float64Array;

  private readonly published = publishedRules();
  private readonly ready: Int32Array;
  private readonly served: Int32Array;
  private readonly booting: Int32Array;
  /** Orders by the minute in which they were placed, modulo the boot delay. */
  private readonly orders: Int32Array;
  /** Wishes of the first rules, the last ones in a ring. */
  private readonly recent: Int32Array;
  private readonly holdMinutes: number;
  private past = new Float64Array(1024);
  private minute = 0;

  constructor(
    private readonly limits: FleetLimits,
    startingReplicas: number,
  ) {
    this.count = OWN + this.published.length;
    this.wanted = new Int32Array(this.count).fill(startingReplicas);
    this.paid = new Float64Array(this.count);
    this.lost = new Float64Array(this.count);
    this.ready = new Int32Array(this.count).fill(startingReplicas);
    this.served = new Int32Array(this.count);
    this.booting = new Int32Array(this.count);
    this.orders = new Int32Array(this.count * Math.max(1, limits.bootMinutes));
    this.holdMinutes = Math.max(LEAST_HOLD_MINUTES, limits.bootMinutes);
    this.recent = new Int32Array((OWN / WAYS) * (this.holdMinutes + 1)).fill(startingReplicas);
    this.decidePublished();
  }

  /** Bills the minute that just ended to every fleet; `load` in replicas. */
  settle(load: number): void {
    for (let i = 0; i < this.count; i++) {
      const beyond = load - this.ready[i]!;
      this.paid[i] = this.paid[i]! + this.ready[i]! + this.booting[i]!;
      this.lost[i] = this.lost[i]! + (beyond > 0 ? beyond : 0);
    }
    if (this.minute === this.past.length) {
      const longer = new Float64Array(2 * this.past.length);
      longer.set(this.past);
      this.past = longer;
    }
    this.past[this.minute] = load;
    this.minute++;
  }

  /** Lets every rule decide for the minute that begins. */
  decide(forecast: LoadForecast): void {
    for (let fleet = 0; fleet < this.count; fleet++) this.mature(fleet);
    this.decideOwn(forecast);
    this.decidePublished();
  }

  private decideOwn({ calmRoot, calmDeviation, presentRoot, recentBeyond }: LoadForecast): void {
    const calm = calmRoot * calmRoot;
    let fleet = 0;
    const decide = (wish: number): void => {
      const have = this.wanted[fleet + 1]!;
      const held = this.hold(fleet / WAYS, wish);
      this.move(fleet, wish);
      this.move(fleet + 1, wish >= have ? wish : Math.min(have, held));
      fleet += WAYS;
    };
    for (const room of ROOMS) {
      for (const margin of MARGINS) {
        const root = presentRoot + margin * calmDeviation;
        decide(clamp(replicasFor(Math.max(root > 0 ? root * root : 0, room * calm)), this.limits));
      }
    }
    for (const price of PRICES) decide(clamp(newsvendor(recentBeyond, price), this.limits));
  }

  private decidePublished(): void {
    const view = { minute: this.minute, past: this.past.subarray(0, this.minute), limits: this.limits };
    this.published.forEach((rule, i) => {
      const fleet = OWN + i;
      const wish = rule({
        ...view,
        ready: this.ready[fleet]!,
        booting: this.booting[fleet]!,
        served: this.served[fleet]!,
      });
      this.move(fleet, clamp(Math.ceil(wish), this.limits));
    });
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

  /** What was ordered a boot delay ago begins to serve. */
  private mature(fleet: number): void {
    this.served[fleet] = this.ready[fleet]!;
    const boot = this.limits.bootMinutes;
    if (boot === 0) return;
    const slot = fleet * boot + (this.minute % boot);
    const matured = this.orders[slot]!;
    this.ready[fleet] = this.ready[fleet]! + matured;
    this.booting[fleet] = this.booting[fleet]! - matured;
    this.orders[slot] = 0;
  }

  /** Orders or cuts one fleet, as simulate.ts does. */
  private move(fleet: number, wanted: number): void {
    const boot = this.limits.bootMinutes;
    this.wanted[fleet] = wanted;
    if (boot === 0) {
      this.ready[fleet] = wanted;
      return;
    }
    const row = fleet * boot;
    const slot = this.minute % boot;
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
