/**
 * The saving of a commitment, hour by hour: the on-demand price of the usage that it covered, minus its cost whether
 * used or not. Counts only usage that is metered as covered: usage under the commitment's own term, in its scope, and
 * no more than it can cover. A reservation covers a number of machines; a savings plan covers usage at its own rates
 * until the hour's commitment is used up (price/term.ts).
 *
 * The invariant: the amounts due of all hours sum to the cost of the whole term.
 */
import { bearsOn, type Commitment, type Counterfactual, type SpendPlan } from './counterfactual.js';
import { cutsWithin, priceHour, type CostContext, type PriceKey } from '../cost/cost.js';
import { ONE } from '../money.js';
import {
  hourIndex,
  nothing,
  partMsWithin,
  summed,
  type ChainEvidence,
  type HourSaving,
  type Member,
  type Piece,
  type PriceUsed,
  type UnverifiableReason,
} from './evidence.js';
import { applySavingsPlan, type EligibleUsage } from '../price/term.js';
import { HOUR_MS, hourOf, type Interval } from '../time.js';
import { GPU_PARTS, PART_MS_PER_GPU_SECOND } from '../usage.js';

export const isPurchase = ({ counterfactual: { world } }: Member): boolean =>
  world.kind === 'commitment' || world.kind === 'plan';

/** Every hour of a commitment that can be judged. */
export function commitmentHours(
  { counterfactual, confirmedAt, takenBackAt }: Member,
  { metered, meteredHours }: ChainEvidence,
  context: CostContext,
  until: number,
): HourSaving[] {
  const { world, action, from } = counterfactual;
  if ((world.kind !== 'commitment' && world.kind !== 'plan') || confirmedAt === null) return [];
  const end = Math.min(until, counterfactual.until, takenBackAt ?? Infinity);
  const pieces = metered
    .filter(({ record }) => record.gpuParts !== null && record.end > from && bearsOn(record, counterfactual))
    .map(({ record, line }): Piece => ({ record, line, targets: [] }));
  const byHour = hourIndex(pieces);
  const savings: HourSaving[] = [];
  for (let hour = hourOf(from); hour < end; hour += HOUR_MS) {
    const own = byHour.get(hour) ?? [];
    const reason: UnverifiableReason | null =
      pieces.length === 0
        ? 'coverage-not-metered'
        : own.length === 0 && !meteredHours.has(hour)
          ? 'hour-not-metered'
          : null;
    const lines = own.flatMap(({ line }) => line ?? []);
    const part = { start: Math.max(hour, from), end: Math.min(hour + HOUR_MS, end) };
    const costs =
      reason !== null
        ? { reason }
        : world.kind === 'plan'
          ? planCosts({ ...counterfactual, world }, own, part, context)
          : commitmentCosts({ ...counterfactual, world }, own, part, context);
    if ('reason' in costs) savings.push(nothing(action, hour, costs.reason, lines));
    else savings.push({ action, hour, reason: null, ...costs, lines });
  }
  return savings;
}

type CommitmentCosts =
  | Pick<HourSaving, 'claimedMs' | 'counterfactual' | 'actual' | 'prices'>
  | { readonly reason: UnverifiableReason };

function commitmentCosts(
  { world, currency, from, until }: Counterfactual & { readonly world: Commitment },
  pieces: readonly Piece[],
  { start, end }: Interval,
  context: CostContext,
): CommitmentCosts {
  const { onDemand, paid, offer, units } = world;
  const found = context.book.find({ ...onDemand, component: 'gpu', at: start });
  if ('unpriced' in found) return { reason: `no-price: ${found.unpriced}` };
  const rate = paid.currency === currency ? ONE : context.fx?.rate(paid.currency, currency, start)?.rate;
  if (rate === undefined) return { reason: 'no-price: no-fx-rate' };
  const capacity = BigInt(units) * BigInt((found.price.gpus ?? 0) * GPU_PARTS);
  const bounds = [start, ...cutsWithin(onDemand, start, end, context), end];
  const slices = bounds.slice(1).map((to, at) => ({ start: bounds[at] ?? start, end: to }));
  const without = summed(
    priceHour(
      '',
      onDemand,
      slices.map((slice) => {
        const [used, most] = [partMsWithin(pieces, slice), capacity * BigInt(slice.end - slice.start)];
        return { ...slice, gpuPartMs: used < most ? used : most, storageMibMs: null, networkBytes: null };
      }),
      context,
    ),
  );
  if ('reason' in without) return without;
  const due = dueBy({ from, until }, paid.nanos * rate.numerator, rate.denominator);
  const price: PriceUsed = {
    source: `offer ${offer}`,
    effectiveFrom: from,
    nanos: paid.nanos,
    quantity: (capacity * BigInt(until - from)) / PART_MS_PER_GPU_SECOND,
    currency: paid.currency,
  };
  return {
    claimedMs: end - start,
    counterfactual: without.nanos,
    actual: due(end) - due(start),
    prices: [...without.prices, price],
  };
}

/**
 * The amount due from the beginning of a term until a time: floors, whose differences sum to the cost of the whole
 * term.
 */
const dueBy =
  ({ from, until }: Pick<Counterfactual, 'from' | 'until'>, numerator: bigint, denominator: bigint) =>
  (at: number): bigint =>
    (numerator * BigInt(at - from)) / (denominator * BigInt(until - from));

function planCosts(
  { world, currency, from, until }: Counterfactual & { readonly world: SpendPlan },
  pieces: readonly Piece[],
  interval: Interval,
  context: CostContext,
): CommitmentCosts {
  const { hourly, paid, offer } = world;
  const rate = paid.currency === currency ? ONE : context.fx?.rate(paid.currency, currency, interval.start)?.rate;
  if (rate === undefined) return { reason: 'no-price: no-fx-rate' };
  const usages = usagesOf(world, pieces, interval, context);
  if ('reason' in usages) return usages;
  const milliseconds = BigInt(interval.end - interval.start);
  const { usages: covered } = applySavingsPlan(
    (hourly.nanos * milliseconds) / BigInt(HOUR_MS),
    usages.map(({ eligible }) => eligible),
  );
  const without = summed(
    usages.flatMap(({ onDemand, eligible: { quantity, planRate } }, at) => {
      const taken = ((covered[at]?.covered ?? 0n) * PART_MS_PER_GPU_SECOND * planRate.quantity) / planRate.nanos;
      // Fully covered usage is covered to the last part, whatever the rounding of its cost.
      const gpuPartMs = covered[at]?.onDemand === 0n || taken > quantity ? quantity : taken;
      return priceHour('', onDemand, shared(onDemand, gpuPartMs, interval, context), context);
    }),
  );
  if ('reason' in without) return without;
  const due = dueBy({ from, until }, paid.nanos * rate.numerator, rate.denominator);
  const price: PriceUsed = {
    source: `offer ${offer}`,
    effectiveFrom: from,
    nanos: hourly.nanos,
    quantity: 3600n,
    currency: hourly.currency,
  };
  return {
    claimedMs: interval.end - interval.start,
    counterfactual: without.nanos,
    actual: due(interval.end) - due(interval.start),
    prices: [...without.prices, price],
  };
}

interface PlanUsage {
  readonly onDemand: PriceKey;
  readonly eligible: EligibleUsage;
}

/** The usage that a plan may have covered in an interval, by machine and place, with both of its rates. */
function usagesOf(
  { term, upfront, hourly }: SpendPlan,
  pieces: readonly Piece[],
  interval: Interval,
  { book }: CostContext,
): PlanUsage[] | { readonly reason: UnverifiableReason } {
  const groups = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const { provider, account, sku, gpuModel, region } = piece.record;
    const name = JSON.stringify([provider, account, sku, gpuModel, region]);
    groups.set(name, [...(groups.get(name) ?? []), piece]);
  }
  const usages: PlanUsage[] = [];
  for (const own of [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)) {
    const quantity = partMsWithin(own, interval);
    const [first] = own;
    if (first === undefined || quantity === 0n) continue;
    const { provider, account, sku, gpuModel, region } = first.record;
    const onDemand: PriceKey = { provider, account, sku, gpuModel, region, term: 'on-demand' };
    const [full, plan] = [
      book.find({ ...onDemand, component: 'gpu', at: interval.start }),
      book.find({ ...onDemand, term, upfront, component: 'gpu', at: interval.start }),
    ];
    if ('unpriced' in full) return { reason: `no-price: ${full.unpriced}` };
    if ('unpriced' in plan) return { reason: `no-price: ${plan.unpriced}` };
    if (full.assumed.length > 0 || plan.assumed.length > 0) return { reason: 'price-assumed' };
    if (full.price.rate.currency !== hourly.currency || plan.price.rate.currency !== hourly.currency)
      return { reason: 'no-price: no-fx-rate' };
    usages.push({
      onDemand,
      eligible: { quantity, scale: PART_MS_PER_GPU_SECOND, planRate: plan.price.rate, onDemandRate: full.price.rate },
    });
  }
  return usages;
}

/**
 * A quantity over the pieces of an interval in which one price and one factor hold, by their lengths: a plan serves an
 * hour as one.
 */
function shared(key: PriceKey, gpuPartMs: bigint, { start, end }: Interval, context: CostContext) {
  const bounds = [start, ...cutsWithin(key, start, end, context), end];
  const upTo = (at: number): bigint => (gpuPartMs * BigInt(at - start)) / BigInt(end - start);
  return bounds.slice(1).map((until, at) => {
    const since = bounds[at] ?? start;
    return { start: since, end: until, gpuPartMs: upTo(until) - upTo(since), storageMibMs: null, networkBytes: null };
  });
}
