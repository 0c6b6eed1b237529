/**
 * Futures of many zones, drawn from the belief: by sample and zone whether spot is available, from this tick on.
 *
 * Each zone is drawn twice in every sample: as believed, and given that spot is available there now, to evaluate a
 * successful launch. Random numbers are passed in. Nothing here decides.
 */
import { CLASSES, type ZoneBelief } from './availability.js';
import { nextPart, partOf } from './season.js';

export type Random = () => number;

export interface Future {
  /** By zone and tick from now: the tick at which the present spell ends, negative where spot cannot be had. */
  readonly believed: Int32Array[];
  readonly givenNow: Int32Array[];
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

/** Stretches of ticks from now, each within one part of the day. */
interface Stretch {
  readonly end: number;
  readonly part: number;
}

/** Fills `spells`, the first of class `first`; in a future that is `harder` spot lasts less, absence more. */
function fillSpells(
  spells: Int32Array,
  first: number,
  belief: ZoneBelief,
  stretches: readonly Stretch[],
  harder: number,
  random: Random,
): void {
  let [tick, k, stretch] = [0, first, 0];
  while (tick < spells.length) {
    const start = tick;
    let left = -Math.log(1 - random()) * (k < CLASSES ? harder : 1 / harder);
    for (; stretch < stretches.length; stretch += 1) {
      const { end, part } = stretches[stretch] ?? { end: 0, part: 0 };
      const rate = belief.endRates[part]?.[k] ?? 1;
      const lasts = left / rate;
      if (tick + lasts < end) {
        tick += Math.floor(lasts) + 1;
        break;
      }
      left -= (end - tick) * rate;
      tick = end;
    }
    while ((stretches[stretch]?.end ?? Infinity) <= tick) stretch += 1;
    const end = Math.min(spells.length, tick);
    spells.fill(k < CLASSES ? -end : end, start, end);
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

  constructor(
    private readonly regionOf: readonly number[],
    private readonly ticks: number,
    count: number,
    private readonly tickSeconds: number,
    private readonly random: Random,
  ) {
    const rows = (): Int32Array[] => regionOf.map(() => new Int32Array(ticks));
    this.samples = Array.from({ length: count }, () => ({ believed: rows(), givenNow: rows() }));
  }

  /** Draws again from tick `now` to the last; what was handed out before is overwritten. */
  draw(beliefs: readonly ZoneBelief[], now: number): readonly Future[] {
    const length = this.ticks - now;
    const stretches: Stretch[] = [];
    for (let tick = now; tick < this.ticks; tick = nextPart(tick, this.tickSeconds))
      stretches.push({ end: nextPart(tick, this.tickSeconds) - now, part: partOf(tick, this.tickSeconds) });
    for (const { believed, givenNow } of this.samples) {
      // By region; there are never more regions than zones.
      const common = COMMON_SD * normal(this.random);
      const harder = this.regionOf.map(() => Math.exp(common + REGION_SD * normal(this.random)));
      beliefs.forEach((belief, zone) => {
        const [plain, given] = [believed[zone], givenNow[zone]];
        if (plain === undefined || given === undefined) return;
        const hard = harder[this.regionOf[zone] ?? 0] ?? 1;
        const first = drawn(belief.weights, 0, 2 * CLASSES, this.random);
        fillSpells(plain.subarray(0, length), first, belief, stretches, hard, this.random);
        if (first >= CLASSES) given.set(plain);
        else {
          const up = drawn(belief.weights, CLASSES, 2 * CLASSES, this.random);
          fillSpells(given.subarray(0, length), up, belief, stretches, hard, this.random);
        }
      });
    }
    return this.samples;
  }
}
