/**
 * The share of a month's possible saving by commitments that was reached: the month as it was bought, compared with the
 * optimum that had known it. Counts whole GPUs per hour, as commitments are sold; usage on spot is a separate choice
 * and left out. Metering shows a commitment only while it is used, so it is assumed to have been held all day at the
 * day's highest use. A commitment that outlasts the month is charged for its hours inside it (model.ts), for the
 * optimum and for the real purchases alike. Amounts are hours times quoted prices as of the month's end, not the
 * bill's.
 */
import { costOf, type Rate } from '../../core/money.js';
import type { DemandFacts } from '../../core/report/facts.js';
import { amountText, nanosText, ratioOf } from '../../core/report/spend.js';
import {
  stated,
  notStated,
  type ReportOptimum,
  type ReportOptimumPlace,
  type Stated,
} from '../../core/report/report.js';
import { coverage, type CommitmentTerm } from './model.js';
import { optimum } from './optimum.js';

const HOURS_PER_DAY = 24;
/** An excess below this over a whole number of GPUs is rounding. */
const TOLERANCE = 1e-9;

/** Hours of one GPU on demand, and hours for which one GPU was committed, used or not. */
export interface BoughtHours {
  readonly onDemand: number;
  readonly committed: number;
}

export interface Hindsight {
  readonly demandHours: number;
  readonly actual: BoughtHours;
  readonly optimum: BoughtHours;
}

const whole = (gpus: number): number => Math.ceil(gpus - TOLERANCE);

/** GPUs taken to be held in each hour: the highest use of the day. */
function heldEachHour(used: Float64Array): Int32Array {
  const held = new Int32Array(used.length);
  for (let day = 0; day < used.length; day += HOURS_PER_DAY) {
    const most = used.subarray(day, day + HOURS_PER_DAY).reduce((level, gpus) => Math.max(level, whole(gpus)), 0);
    held.fill(most, day, day + HOURS_PER_DAY);
  }
  return held;
}

function bought(demand: Int32Array, held: Int32Array): BoughtHours {
  let [onDemand, committed] = [0, 0];
  for (let hour = 0; hour < demand.length; hour++) {
    onDemand += Math.max(0, (demand[hour] ?? 0) - (held[hour] ?? 0));
    committed += held[hour] ?? 0;
  }
  return { onDemand, committed };
}

/** @param onDemandGpus GPUs used on demand, and `committedGpus` by commitments, in each hour from a day's first on */
export function hindsight(onDemandGpus: Float64Array, committedGpus: Float64Array, term: CommitmentTerm): Hindsight {
  const demand = Int32Array.from(onDemandGpus, (gpus, hour) => whole(gpus + (committedGpus[hour] ?? 0)));
  const { purchases } = optimum(demand, term);
  return {
    demandHours: demand.reduce((sum, gpus) => sum + gpus, 0),
    actual: bought(demand, heldEachHour(committedGpus)),
    optimum: bought(demand, coverage(purchases, term.termHours)),
  };
}

interface Compared {
  readonly place: ReportOptimumPlace;
  readonly saved: bigint;
  readonly possible: bigint;
}

const hourCost = (rate: Rate, hours: number): bigint => costOf(BigInt(hours) * 3600n, 1n, rate).nanos;

function compared({
  provider,
  region,
  sku,
  gpuModel,
  onDemandGpus,
  committedGpus,
  onDemand,
  offer,
}: DemandFacts): Compared | null {
  if (onDemand === null || offer === null || onDemand.nanos <= 0n) return null;
  const priceRatio = Number(offer.rate.nanos * onDemand.quantity) / Number(onDemand.nanos * offer.rate.quantity);
  if (!Number.isFinite(priceRatio) || priceRatio <= 0) return null;
  const {
    demandHours,
    actual,
    optimum: best,
  } = hindsight(onDemandGpus, committedGpus, { termHours: offer.termHours, priceRatio, alpha: 0 });
  const cost = (hours: BoughtHours): bigint =>
    hourCost(onDemand, hours.onDemand) + hourCost(offer.rate, hours.committed);
  const [without, actualCost, optimumCost] = [hourCost(onDemand, demandHours), cost(actual), cost(best)];
  return {
    saved: without - actualCost,
    possible: without - optimumCost,
    place: {
      provider,
      region,
      sku,
      gpuModel,
      term: offer.term,
      gpuHours: `${demandHours}`,
      onDemandCost: nanosText(without),
      actualCost: nanosText(actualCost),
      optimumCost: nanosText(optimumCost),
      share: ratioOf(without - actualCost, without - optimumCost),
    },
  };
}

const gpuHoursOf = ({ onDemandGpus, committedGpus }: DemandFacts): number =>
  [...onDemandGpus, ...committedGpus].reduce((sum, gpus) => sum + gpus, 0);

/** Over all places that can be compared; a reason where there is none. The places with the most to save come first. */
export function optimumOf(demand: readonly DemandFacts[]): Stated<ReportOptimum> {
  if (demand.length === 0) return notStated('nothing-metered');
  const all = demand.map((facts) => ({ facts, found: compared(facts) }));
  const found = all.flatMap((one) => (one.found === null ? [] : [one.found]));
  if (found.length === 0)
    return notStated(demand.every(({ onDemand }) => onDemand === null) ? 'no-on-demand-price' : 'no-commitment-offer');
  const sum = (of: (one: Compared) => bigint): bigint => found.reduce((total, one) => total + of(one), 0n);
  const [saved, possible] = [sum((one) => one.saved), sum((one) => one.possible)];
  const leftOut = all.reduce((total, one) => total + (one.found === null ? gpuHoursOf(one.facts) : 0), 0);
  return stated({
    share: ratioOf(saved, possible),
    saved: nanosText(saved),
    possible: nanosText(possible),
    places: found
      .toSorted((a, b) => (a.possible > b.possible ? -1 : a.possible < b.possible ? 1 : 0))
      .map(({ place }) => place),
    leftOutGpuHours: amountText({ unscaled: BigInt(Math.round(leftOut * 1e6)), scale: 6 }),
  });
}
