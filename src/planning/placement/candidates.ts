/**
 * From a price list to candidates: what each GPU price would mean for a workload, or every reason why it cannot serve it.
 *
 * Unknown is a reason, never a number: no GPU count, memory, speed, egress price or exchange rate is taken for granted.
 * Each unit (instance) is billed for itself and rounded once, so that costs of units add up exactly.
 */
import { billableMs } from '../../core/cost.js';
import { costOf, type Money } from '../../core/money.js';
import type { Price } from '../../core/price.js';
import { PriceBook, type PriceHistory, type UnpricedReason } from '../../core/price-book.js';
import { termHours } from '../../core/term.js';
import { HOUR_MS } from '../../core/time.js';
import { memoryGib } from './gpu-memory.js';
import type { Market, Workload } from './workload.js';

export type Refusal =
  | { readonly kind: 'not-allowed'; readonly what: 'provider' | 'region' | 'model' | 'term' }
  /** The book has none at the instant. */
  | { readonly kind: 'no-price'; readonly reason: UnpricedReason }
  | { readonly kind: 'no-longer-listed' | 'part-of-a-gpu' | 'model-unknown' | 'memory-unknown' | 'speed-unknown' | 'spot-not-tolerated' | 'no-egress-price' | 'no-fx-rate' }
  | { readonly kind: 'too-little-memory'; readonly gib: number; readonly neededGib: number }
  | { readonly kind: 'deadline-missed'; readonly hours: number; readonly deadlineHours: number }
  | { readonly kind: 'too-few-gpus-per-unit'; readonly gpus: number; readonly neededGpus: number }
  | { readonly kind: 'too-few-units'; readonly units: number; readonly neededUnits: number };

/** A GPU price that can serve, whole units at a time. */
export interface Candidate {
  readonly price: Price;
  readonly gpusPerUnit: number;
  /** Thousandths of a GPU of reference speed that a unit is, rounded down. */
  readonly capacityMilli: number;
  readonly hours: number;
  /** For the whole run, without egress. */
  readonly unitCost: Money;
  /** Units of it alone that serve the workload. */
  readonly units: number;
  /** Most units that can be had. */
  readonly unitLimit: number;
  /** For the whole workload, from this place. */
  readonly egressCost: Money;
}

export interface Refused {
  readonly price: Price;
  readonly refusals: readonly Refusal[];
}

export const isCandidate = (found: Candidate | Refused): found is Candidate => 'unitCost' in found;

/** As `unitLimits` of a market names a price. */
export const limitKey = ({ provider, region, sku, term }: Price): string => `${provider}/${region ?? '*'}/${sku}/${term}`;

/** Every SKU, region, term and way of paying that the history knows a GPU price of, as it stands at the market's instant. */
export function candidatesOf(workload: Workload, market: Market): (Candidate | Refused)[] {
  const { history, at } = market;
  const egress = egressBook(workload, market);
  return [...groupsOf(history).values()].flatMap((prices) => {
    const { provider, sku, region } = prices[0]!;
    // A book of this place alone: in the whole one a price without a region gives way to the cheapest region's.
    const book = new PriceBook({ prices, withdrawals: history.withdrawals.filter((gone) => gone.provider === provider && gone.sku === sku && gone.region === region) });
    return slotsOf(prices).map((slot) => {
      const found = book.find({ provider, sku, gpuModel: null, region, term: slot.term, component: 'gpu', upfront: slot.upfront, at });
      if ('unpriced' in found) return { price: slot, refusals: [{ kind: 'no-price', reason: found.unpriced } as const] };
      if (found.stale) return { price: found.price, refusals: [{ kind: 'no-longer-listed' } as const] };
      return candidateOf(found.price, workload, market, egress);
    });
  });
}

/** GPU prices by provider, SKU and region, in the order of the history. */
function groupsOf({ prices }: PriceHistory): Map<string, Price[]> {
  const groups = new Map<string, Price[]>();
  for (const price of prices) {
    if (price.component !== 'gpu') continue;
    const name = JSON.stringify([price.provider, price.sku, price.region]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [price]);
    else group.push(price);
  }
  return groups;
}

/** One price per term and way of paying, which names the slot; only reservations have ways of paying that a book can tell apart. */
function slotsOf(prices: readonly Price[]): Price[] {
  const slots = new Map<string, Price>();
  for (const price of prices) slots.set(price.term.startsWith('reserved') ? `${price.term} ${price.upfront}` : price.term, price);
  return [...slots.values()];
}

/** Egress cost of the whole workload from where a price is. */
type Egress = (price: Price) => Money | 'no-egress-price' | 'no-fx-rate';

function candidateOf(price: Price, workload: Workload, market: Market, egress: Egress): Candidate | Refused {
  const refusals: Refusal[] = [...notAllowed(price, workload), ...doesNotFit(price, workload, market)];
  const speed = speedOf(price, workload);
  if (speed === null) refusals.push({ kind: 'speed-unknown' });
  const hours = workload.kind === 'training' ? workload.hours / (speed ?? 1) : workload.hours;
  const { deadlineHours } = workload;
  if (speed !== null && deadlineHours !== undefined && hours > deadlineHours) refusals.push({ kind: 'deadline-missed', hours, deadlineHours });
  if (price.term === 'spot' && (workload.kind === 'training' ? workload.spotShareMax < 1 : workload.spotShareMax === 0)) refusals.push({ kind: 'spot-not-tolerated' });
  const gpus = price.gpus ?? 0;
  if (!Number.isSafeInteger(gpus) || gpus === 0) refusals.push({ kind: 'part-of-a-gpu' });
  else if (gpus < (workload.gpusPerUnitMin ?? 1)) refusals.push({ kind: 'too-few-gpus-per-unit', gpus, neededGpus: workload.gpusPerUnitMin ?? 1 });
  const egressCost = egress(price);
  if (typeof egressCost === 'string') refusals.push({ kind: egressCost });
  const ratio = market.fx.rate(price.rate.currency, market.currency, market.at)?.rate ?? null;
  if (ratio === null && egressCost !== 'no-fx-rate') refusals.push({ kind: 'no-fx-rate' });
  if (refusals.length > 0 || speed === null || typeof egressCost === 'string' || ratio === null) return { price, refusals };

  const capacityMilli = workload.kind === 'training' ? gpus * 1000 : Math.floor(gpus * speed * 1000 + 1e-6);
  const units = Math.ceil((workload.gpus * 1000) / capacityMilli);
  const unitLimit = market.unitLimits?.[limitKey(price)] ?? Infinity;
  if (workload.kind === 'training' && units > unitLimit) return { price, refusals: [{ kind: 'too-few-units', units: unitLimit, neededUnits: units }] };
  const gpuMs = BigInt(gpus) * BigInt(billedMs(price, hours, workload));
  const unitCost = { ...costOf(gpuMs, 1000n, price.rate, ratio), currency: market.currency };
  return { price, gpusPerUnit: gpus, capacityMilli, hours, unitCost, units, unitLimit, egressCost };
}

function notAllowed({ provider, region, gpuModel, term }: Price, { providers, regions, models, terms }: Workload): Refusal[] {
  const refusals: Refusal[] = [];
  if (providers !== undefined && !providers.includes(provider)) refusals.push({ kind: 'not-allowed', what: 'provider' });
  // A list without regions holds everywhere (see Price).
  if (regions !== undefined && region !== null && !regions.includes(region)) refusals.push({ kind: 'not-allowed', what: 'region' });
  if (models !== undefined && gpuModel !== null && !models.includes(gpuModel)) refusals.push({ kind: 'not-allowed', what: 'model' });
  if (terms !== undefined && !terms.includes(term)) refusals.push({ kind: 'not-allowed', what: 'term' });
  return refusals;
}

function doesNotFit({ gpuModel }: Price, { memoryGibPerGpu }: Workload, { measuredMemoryGib }: Market): Refusal[] {
  if (gpuModel === null) return [{ kind: 'model-unknown' }];
  const gib = memoryGib(gpuModel, measuredMemoryGib);
  if (gib === null) return [{ kind: 'memory-unknown' }];
  return gib < memoryGibPerGpu ? [{ kind: 'too-little-memory', gib, neededGib: memoryGibPerGpu }] : [];
}

function speedOf({ gpuModel }: Price, { relativeSpeeds }: Workload): number | null {
  if (relativeSpeeds === undefined) return 1;
  return gpuModel !== null && Object.hasOwn(relativeSpeeds, gpuModel) ? (relativeSpeeds[gpuModel] ?? null) : null;
}

/** What a unit is billed for: the run, by the seller's increment and minimum, or whole terms of a reservation. */
function billedMs(price: Price, hours: number, { restOfTermUsed }: Workload): number {
  const ms = Math.ceil(hours * HOUR_MS - 1e-6);
  const term = termHours(price.term);
  if (term !== null && !restOfTermUsed) return Math.ceil(ms / (term * HOUR_MS)) * term * HOUR_MS;
  return billableMs(ms, price);
}

function egressBook({ egressGib = 0 }: Workload, { history, fx, currency, at }: Market): Egress {
  if (egressGib === 0) return () => ({ nanos: 0n, currency });
  const book = new PriceBook(history);
  return ({ provider, sku, region }) => {
    const found = book.find({ provider, sku, gpuModel: null, region, term: null, component: 'network', at });
    // An assumed region means that the place's own price is not known.
    if ('unpriced' in found || found.stale || found.assumed.includes('region')) return 'no-egress-price';
    const ratio = fx.rate(found.price.rate.currency, currency, at)?.rate;
    return ratio === undefined ? 'no-fx-rate' : { ...costOf(BigInt(Math.ceil(egressGib * 1e6 - 1e-6)), 1_000_000n, found.price.rate, ratio), currency };
  };
}
