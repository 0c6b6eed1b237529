/**
 * Futures of many zones, drawn from the belief: by sample and zone whether spot is available, from this tick on.
 *
 * Each zone is drawn twice in every sample: as believed, and given that spot is available there now, to evaluate a
 * successful launch. Random numbers are passed in. Nothing here decides.
 */
import { CLASSES, endChances, type ZoneBelief } from './availability.js';

export type Random = () => number;

export interface Future {
  /** By zone: 1 where spot can be had, by tick from now. */
  readonly believed: Uint8Array[];
  readonly givenNow: Uint8Array[];
}

/** A class by its weights, which need not sum to one; from..to is the half that counts. */
function drawn(weights: Float64Array, from: number, to: number, random: Random): number {
  let total = 0;
  for (let k = from; k < to; k += 1) total += weights[k] ?? 0;
  let left = random() * total;
  for (let k = from; k < to; k += 1) {
    left -= weights[k] ?? 0;
    if (left < 0) return k;
  }
  return to - 1;
}

/**
 * Fills `states` with spells, the first of class `first`; in a future that is `harder` spot lasts less, absence more.
 */
function fillSpells(
  states: Uint8Array,
  first: number,
  belief: ZoneBelief,
  logStay: Float64Array,
  harder: number,
  random: Random,
): void {
  let [tick, k] = [0, first];
  while (tick < states.length) {
    const drawnTicks = Math.log(1 - random()) / (logStay[k] ?? -1);
    const ticks = 1 + Math.floor(k < CLASSES ? drawnTicks * harder : drawnTicks / harder);
    const end = Math.min(states.length, tick + ticks);
    states.fill(k < CLASSES ? 0 : 1, tick, end);
    tick = end;
    k = k < CLASSES ? drawn(belief.shares, CLASSES, 2 * CLASSES, random) : drawn(belief.shares, 0, CLASSES, random);
  }
}

/** A normal variate (Box and Muller). */
const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/**
 * Standard deviations, in logarithms of length, of how much harder a future is than what was seen: everywhere at once,
 * and in a region. Events that make many zones worse together use up the slack, and no zone's own past shows them.
 */
const COMMON_SD = 0.4;
const REGION_SD = 0.4;

/** Buffers that are filled again and again. */
export class Futures {
  private readonly samples: Future[];
  private readonly logStay: Float64Array;

  constructor(
    private readonly regionOf: readonly number[],
    private readonly ticks: number,
    count: number,
    tickSeconds: number,
    private readonly random: Random,
  ) {
    const rows = (): Uint8Array[] => regionOf.map(() => new Uint8Array(ticks));
    this.samples = Array.from({ length: count }, () => ({ believed: rows(), givenNow: rows() }));
    this.logStay = endChances(tickSeconds).map((end) => Math.log(1 - end));
  }

  /** Draws again, `ticks` far; what was handed out before is overwritten. */
  draw(beliefs: readonly ZoneBelief[], ticks: number): readonly Future[] {
    const length = Math.min(ticks, this.ticks);
    for (const { believed, givenNow } of this.samples) {
      // By region; there are never more regions than zones.
      const common = COMMON_SD * normal(this.random);
      const harder = this.regionOf.map(() => Math.exp(common + REGION_SD * normal(this.random)));
      beliefs.forEach((belief, zone) => {
        const [plain, given] = [believed[zone], givenNow[zone]];
        if (plain === undefined || given === undefined) return;
        const hard = harder[this.regionOf[zone] ?? 0] ?? 1;
        const first = drawn(belief.weights, 0, 2 * CLASSES, this.random);
        fillSpells(plain.subarray(0, length), first, belief, this.logStay, hard, this.random);
        if (first >= CLASSES) given.set(plain);
        else {
          const up = drawn(belief.weights, CLASSES, 2 * CLASSES, this.random);
          fillSpells(given.subarray(0, length), up, belief, this.logStay, hard, this.random);
        }
      });
    }
    return this.samples;
  }
}
