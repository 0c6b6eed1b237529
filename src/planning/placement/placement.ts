/**
 * The cheapest place for a workload, exactly, and why every other price lost.
 *
 * A training is placed by enumeration: every price is costed and sorted. An inference may be a mix, by the integer
 * program of cover.ts. It acts on nothing and converts nothing without a rate. Neither storage nor the peak factor is
 * in the cost (the factor multiplies all options of the same hours alike), and spot is costed as if it were not
 * interrupted: planning/spot accounts for that.
 */
import { assert } from '../../core/errors.js';
import type { Money } from '../../core/money.js';
import type { Price } from '../../core/price/price.js';
import { candidatesOf, type Candidate, type Refusal, type Refused } from './candidates.js';
import { cheapestCover } from './cover.js';
import { checkWorkload, type Market, type Workload } from './workload.js';

export interface PlanPart {
  readonly price: Price;
  readonly units: number;
  readonly gpus: number;
}

export interface Plan {
  readonly parts: readonly PlanPart[];
  /** GPUs rented, spare ones included. */
  readonly gpus: number;
  readonly hours: number;
  readonly cost: Money;
  /** Part of the cost. */
  readonly egressCost: Money;
}

export type Loss =
  | {
      readonly kind: 'dearer';
      readonly by: Money /** Cost over the cheapest; null where the cheapest is free. */;
      readonly ratio: number | null;
    }
  /** It costs as much as the chosen one and comes later in the list. */
  | { readonly kind: 'equal' }
  /** Renting whole units leaves GPUs that the workload does not need. */
  | { readonly kind: 'spare-gpus'; readonly rented: number; readonly needed: number }
  /** More of the GPUs would be spot than the workload tolerates. */
  | { readonly kind: 'too-much-spot'; readonly spotShareMax: number }
  | Refusal;

/** One price on its own. */
export interface Option {
  readonly price: Price;
  /** Null if it cannot serve the workload alone. */
  readonly plan: Plan | null;
  /** Empty for the cheapest. Refusals, or what makes it more expensive. */
  readonly losses: readonly Loss[];
}

export interface PlacementResult {
  /** Null: nothing can serve the workload; the options say why. */
  readonly best: Plan | null;
  /**
   * Every SKU, region, term and way of paying: the ones that can serve it alone, cheapest first, then the others in the
   * history's order.
   */
  readonly options: readonly Option[];
}

/** @throws Failure `invalid` naming every number of the workload that cannot be. */
export function place(workload: Workload, market: Market): PlacementResult {
  const { best, able, unable, refused } = search(workload, market, Infinity);
  return {
    best,
    options: [
      ...able.map((candidate) => optionOf(candidate, best, workload, market)),
      ...unable.map(({ price, losses }) => ({ price, plan: null, losses })),
      ...refused.map(({ price, refusals }) => ({ price, plan: null, losses: refusals })),
    ],
  };
}

/** The same for who needs some of the runners-up only; of the prices that cannot serve it alone, why. */
export interface ShortResult {
  readonly best: Plan | null;
  /** Cheapest first. */
  readonly runnersUp: readonly Option[];
  /** Prices that can serve it alone, beyond the best and the runners-up. */
  readonly more: number;
  /** Those that could be part of a mix. */
  readonly unable: readonly { readonly price: Price; readonly losses: readonly Loss[] }[];
  /** The others. */
  readonly refused: readonly Refused[];
}

/** @throws as `place` */
export function placeShort(workload: Workload, market: Market, most: number): ShortResult {
  const { best, able, unable, refused, count, isOfOne } = search(workload, market, most + 1);
  const options = able.slice(0, most + 1).map((candidate) => optionOf(candidate, best, workload, market));
  const runnersUp = options.filter(({ losses }) => losses.length > 0).slice(0, most);
  return { best, runnersUp, more: count - runnersUp.length - (isOfOne ? 1 : 0), unable, refused };
}

interface Found {
  readonly best: Plan | null;
  /** Cheapest first, as many as were asked for. */
  readonly able: readonly Candidate[];
  /** How many there are. */
  readonly count: number;
  /** Whether the best is one of them: of several that cost the same it need not be the first. */
  readonly isOfOne: boolean;
  readonly unable: ShortResult['unable'];
  readonly refused: readonly Refused[];
}

function search(workload: Workload, market: Market, most: number): Found {
  checkWorkload(workload, market);
  const { able: candidates, refused } = candidatesOf(workload, market);
  const alone: Candidate[] = [];
  const unable: Found['unable'][number][] = [];
  const isSteady = steadyNeed(workload) > 0;
  for (const candidate of candidates) {
    if (candidate.units <= candidate.unitLimit && !(isSteady && candidate.price.term === 'spot')) alone.push(candidate);
    else unable.push({ price: candidate.price, losses: cannotAlone(candidate, workload) });
  }
  const able = cheapestOf(alone, most);
  const cheapest = able[0];
  const best =
    workload.kind === 'inference'
      ? cheapestMix(candidates, workload, market)
      : cheapest === undefined
        ? null
        : planAlone(cheapest, market);
  const single = best?.parts.length === 1 ? best.parts[0] : undefined;
  const isOfOne =
    single !== undefined && alone.some(({ price, units }) => single.price === price && single.units === units);
  return { best, able, count: alone.length, isOfOne, unable, refused };
}

const totalOf = ({ unitCost, units, egressCost }: Candidate): bigint =>
  unitCost.nanos * BigInt(units) + egressCost.nanos;
const aboutTotal = ({ aboutNanos, units, egressCost }: Candidate): number =>
  aboutNanos * units + Number(egressCost.nanos);
/** More than floating point and the rounding of each unit can be off, in nanos. */
const surely = (about: number, { units }: Candidate): number => about + about * 1e-9 + units + 1;

/** The cheapest `most`, exactly: floating point only leaves out what is surely more expensive than all of them. */
function cheapestOf(candidates: readonly Candidate[], most: number): Candidate[] {
  let among = candidates;
  if (most < candidates.length) {
    const bounds = Float64Array.from(candidates, (candidate) => surely(aboutTotal(candidate), candidate)).sort();
    const bound = bounds[most - 1] ?? Infinity;
    among = candidates.filter((candidate) => {
      const nanos = aboutTotal(candidate);
      return 2 * nanos - surely(nanos, candidate) <= bound;
    });
  }
  return among
    .map((candidate) => ({ candidate, nanos: totalOf(candidate) }))
    .sort((a, b) => (a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0))
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

function optionOf(candidate: Candidate, best: Plan | null, workload: Workload, market: Market): Option {
  const plan = planAlone(candidate, market);
  return { price: candidate.price, plan, losses: best === null ? [] : lossesOf(plan, best, workload) };
}

/** The published habit: the cheapest on-demand price, one SKU. Null if none can serve. */
export function cheapestOnDemand(workload: Workload, market: Market): Plan | null {
  return (
    place(workload, market).options.find(({ plan, price }) => plan !== null && price.term === 'on-demand')?.plan ?? null
  );
}

/** The other habit: stay with one provider, and take the cheapest there. */
export function singleCloud(provider: string, workload: Workload, market: Market): Plan | null {
  if (workload.providers !== undefined && !workload.providers.includes(provider)) return null;
  return place({ ...workload, providers: [provider] }, market).best;
}

const compare = (a: Money, b: Money): number => (a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0);

/** Thousandths of GPUs that must not be spot: whole GPUs, rounded up. */
const steadyNeed = ({ gpus, spotShareMax }: Workload): number => Math.ceil(gpus * (1 - spotShareMax) - 1e-9) * 1000;

function cannotAlone({ price, units, unitLimit }: Candidate, workload: Workload): Loss[] {
  const losses: Loss[] = [];
  if (units > unitLimit) losses.push({ kind: 'too-few-units', units: unitLimit, neededUnits: units });
  if (price.term === 'spot' && steadyNeed(workload) > 0)
    losses.push({ kind: 'too-much-spot', spotShareMax: workload.spotShareMax });
  return losses;
}

const planAlone = (candidate: Candidate, market: Market): Plan =>
  planOf([{ candidate, units: candidate.units }], market);

function planOf(
  chosen: readonly { readonly candidate: Candidate; readonly units: number }[],
  { currency }: Market,
): Plan {
  const parts = chosen.map(({ candidate, units }) => ({
    price: candidate.price,
    units,
    gpus: units * candidate.gpusPerUnit,
  }));
  const { hours, egressCost } = chosen[0]!.candidate;
  const rented = chosen.reduce((sum, { candidate, units }) => sum + candidate.unitCost.nanos * BigInt(units), 0n);
  return {
    parts,
    gpus: parts.reduce((sum, { gpus }) => sum + gpus, 0),
    hours,
    cost: { nanos: rented + egressCost.nanos, currency },
    egressCost,
  };
}

function cheapestMix(candidates: readonly Candidate[], workload: Workload, market: Market): Plan | null {
  let best: Plan | null = null;
  for (const all of placesOf(candidates, workload)) {
    const group = undominated(all, workload);
    const items = group.map(({ capacityMilli, unitCost, unitLimit, price }) => ({
      capacity: capacityMilli,
      cost: unitCost.nanos,
      limit: unitLimit,
      steady: price.term !== 'spot',
    }));
    const cover = cheapestCover(items, workload.gpus * 1000, steadyNeed(workload), market.mostSteps);
    if (cover === null) continue;
    const chosen = group
      .map((candidate, i) => ({ candidate, units: cover.units[i]! }))
      .filter(({ units }) => units > 0);
    const plan = planOf(chosen, market);
    assert(plan.cost.nanos === cover.cost + plan.egressCost.nanos, 'the parts of a mix cost what the program says');
    if (best === null || compare(plan.cost, best.cost) < 0) best = plan;
  }
  return best;
}

/**
 * Candidates without those that another of their class beats at every number of units: it is as large, surely cheaper,
 * and can be had as often as the whole workload needs it.
 */
function undominated(candidates: readonly Candidate[], { gpus }: Workload): Candidate[] {
  const kept = new Set<Candidate>();
  const largest = { spot: { capacity: 0, bound: 0 }, steady: { capacity: 0, bound: 0 } };
  for (const candidate of [...candidates].sort(
    (a, b) => a.aboutNanos - b.aboutNanos || b.capacityMilli - a.capacityMilli,
  )) {
    const { aboutNanos, capacityMilli, unitLimit, price } = candidate;
    const beater = largest[price.term === 'spot' ? 'spot' : 'steady'];
    if (capacityMilli > beater.capacity || aboutNanos <= beater.bound) kept.add(candidate);
    if (capacityMilli > beater.capacity && unitLimit * capacityMilli >= gpus * 1000) {
      beater.capacity = capacityMilli;
      beater.bound = aboutNanos + aboutNanos * 2e-9 + 2;
    }
  }
  return candidates.filter((candidate) => kept.has(candidate));
}

/** Candidates that may be mixed: all of them, or those of one place with one egress price where data leaves. */
function placesOf(candidates: readonly Candidate[], { egressGib = 0 }: Workload): Candidate[][] {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const { provider, region } = candidate.price;
    const origin = egressGib === 0 ? '' : JSON.stringify([provider, region, String(candidate.egressCost.nanos)]);
    const group = groups.get(origin);
    if (group === undefined) groups.set(origin, [candidate]);
    else group.push(candidate);
  }
  return [...groups.values()];
}

function lossesOf(plan: Plan, best: Plan, { gpus, kind, relativeSpeeds }: Workload): Loss[] {
  if (isSame(plan, best)) return [];
  const by = plan.cost.nanos - best.cost.nanos;
  assert(by >= 0n, 'nothing is cheaper than the cheapest');
  const losses: Loss[] = [
    by === 0n
      ? { kind: 'equal' }
      : {
          kind: 'dearer',
          by: { nanos: by, currency: plan.cost.currency },
          ratio: best.cost.nanos === 0n ? null : Number(plan.cost.nanos) / Number(best.cost.nanos),
        },
  ];
  // With speeds an inference's GPUs are not counted one for one.
  if ((kind === 'training' || relativeSpeeds === undefined) && plan.gpus > gpus)
    losses.push({ kind: 'spare-gpus', rented: plan.gpus, needed: gpus });
  return losses;
}

const isSame = (a: Plan, b: Plan): boolean =>
  a.parts.length === b.parts.length &&
  a.parts.every(({ price, units }, i) => price === b.parts[i]!.price && units === b.parts[i]!.units);
