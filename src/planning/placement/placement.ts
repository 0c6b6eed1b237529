/**
 * The cheapest place for a workload, exactly, and why every other price lost.
 *
 * A training is placed by enumeration: every price is costed and sorted. An inference may be a mix, by the integer program
 * of cover.ts. It acts on nothing and converts nothing without a rate. Neither storage nor the peak factor is in the cost (the
 * factor multiplies all options of the same hours alike), and spot is costed as if it were not interrupted:
 * planning/spot weighs that.
 */
import { assert } from '../../core/errors.js';
import type { Money } from '../../core/money.js';
import type { Price } from '../../core/price.js';
import { candidatesOf, isCandidate, type Candidate, type Refusal, type Refused } from './candidates.js';
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
  | { readonly kind: 'dearer'; readonly by: Money; /** Cost over the cheapest; null where the cheapest is free. */ readonly ratio: number | null }
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
  /** Null where it cannot serve the workload alone. */
  readonly plan: Plan | null;
  /** Empty for the cheapest. Refusals, or what makes it dearer. */
  readonly losses: readonly Loss[];
}

export interface PlacementResult {
  /** Null: nothing can serve the workload; the options say why. */
  readonly best: Plan | null;
  /** Every SKU, region, term and way of paying: the ones that can serve it alone, cheapest first, then the others in the history's order. */
  readonly options: readonly Option[];
}

/** @throws Failure `invalid` naming every number of the workload that cannot be. */
export function place(workload: Workload, market: Market): PlacementResult {
  checkWorkload(workload, market);
  const found = candidatesOf(workload, market);
  const candidates = found.filter(isCandidate);
  const alone = candidates.map((candidate) => ({ candidate, refusals: cannotAlone(candidate, workload) }));
  const plans = alone.filter(({ refusals }) => refusals.length === 0).map(({ candidate }) => planAlone(candidate, market))
    .sort((a, b) => compare(a.cost, b.cost));
  const best = workload.kind === 'training' ? (plans[0] ?? null) : cheapestMix(candidates, workload, market);
  const refused = found.filter((one): one is Refused => !isCandidate(one));
  return {
    best,
    options: [
      ...plans.map((plan) => ({ price: plan.parts[0]!.price, plan, losses: best === null ? [] : lossesOf(plan, best, workload) })),
      ...alone.filter(({ refusals }) => refusals.length > 0).map(({ candidate, refusals }) => ({ price: candidate.price, plan: null, losses: refusals })),
      ...refused.map(({ price, refusals }) => ({ price, plan: null, losses: refusals })),
    ],
  };
}

/** The published habit: the cheapest on-demand price, one SKU. Null where none can serve. */
export function cheapestOnDemand(workload: Workload, market: Market): Plan | null {
  return place(workload, market).options.find(({ plan, price }) => plan !== null && price.term === 'on-demand')?.plan ?? null;
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
  if (price.term === 'spot' && steadyNeed(workload) > 0) losses.push({ kind: 'too-much-spot', spotShareMax: workload.spotShareMax });
  return losses;
}

const planAlone = (candidate: Candidate, market: Market): Plan => planOf([{ candidate, units: candidate.units }], market);

function planOf(chosen: readonly { readonly candidate: Candidate; readonly units: number }[], { currency }: Market): Plan {
  const parts = chosen.map(({ candidate, units }) => ({ price: candidate.price, units, gpus: units * candidate.gpusPerUnit }));
  const { hours, egressCost } = chosen[0]!.candidate;
  const rented = chosen.reduce((sum, { candidate, units }) => sum + candidate.unitCost.nanos * BigInt(units), 0n);
  return { parts, gpus: parts.reduce((sum, { gpus }) => sum + gpus, 0), hours, cost: { nanos: rented + egressCost.nanos, currency }, egressCost };
}

function cheapestMix(candidates: readonly Candidate[], workload: Workload, market: Market): Plan | null {
  let best: Plan | null = null;
  for (const group of placesOf(candidates, workload)) {
    const items = group.map(({ capacityMilli, unitCost, unitLimit, price }) => ({ capacity: capacityMilli, cost: unitCost.nanos, limit: unitLimit, steady: price.term !== 'spot' }));
    const cover = cheapestCover(items, workload.gpus * 1000, steadyNeed(workload));
    if (cover === null) continue;
    const chosen = group.map((candidate, i) => ({ candidate, units: cover.units[i]! })).filter(({ units }) => units > 0);
    const plan = planOf(chosen, market);
    assert(plan.cost.nanos === cover.cost + plan.egressCost.nanos, 'the parts of a mix cost what the program says');
    if (best === null || compare(plan.cost, best.cost) < 0) best = plan;
  }
  return best;
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
  const losses: Loss[] = [by === 0n ? { kind: 'equal' } : { kind: 'dearer', by: { nanos: by, currency: plan.cost.currency }, ratio: best.cost.nanos === 0n ? null : Number(plan.cost.nanos) / Number(best.cost.nanos) }];
  // With speeds an inference's GPUs are not counted one for one.
  if ((kind === 'training' || relativeSpeeds === undefined) && plan.gpus > gpus) losses.push({ kind: 'spare-gpus', rented: plan.gpus, needed: gpus });
  return losses;
}

const isSame = (a: Plan, b: Plan): boolean => a.parts.length === b.parts.length && a.parts.every(({ price, units }, i) => price === b.parts[i]!.price && units === b.parts[i]!.units);
