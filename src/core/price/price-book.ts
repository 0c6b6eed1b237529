/**
 * The price book: which price held for a SKU (or a GPU model) at a given time, and where it changed in between.
 *
 * Built from facts (price versions, the time and the author of each statement, withdrawals from a catalogue), never
 * from the order in which they are read. It never converts money and never makes up a price: without a price it gives
 * the reason. Removing a price can only reduce the priced usage: a version that no longer hides an older one lets that
 * one hold again, and nothing else replaces it.
 */
import { DAY_MS } from '../time.js';
import type { Rate } from '../money.js';
import { PRICE_ORIGINS, type Component, type Price, type PriceEvent, type Upfront } from './price.js';
import { termHours } from './term.js';
import type { Term } from '../usage.js';

/** Why a quantity has no price. */
export const UNPRICED_REASONS = [
  'no-price-list', // no list of this provider has been read
  'no-sku', // the record names neither a SKU nor a GPU model
  'unknown-sku',
  'unknown-model',
  'no-component', // the SKU is known, but not what its storage or network costs
  'no-term', // known, but not under this term (or not paid this way)
  'no-region', // known, but not in this region
  'gpu-count-unknown', // the list does not say how many GPUs share the price
  'before-first-price',
  'withdrawn',
  'no-fx-rate', // priced, but not convertible on that day: see quote/cost.ts
  'quantity-unknown', // nothing metered: see quote/cost.ts
] as const;
export type UnpricedReason = (typeof UNPRICED_REASONS)[number];

/** The assumption made to find a price; evidence on the cost line. */
export type Assumption = 'sku' | 'region' | 'term' | 'upfront';

export interface PriceQuery {
  /** FOCUS ProviderName. */
  readonly provider: string;
  readonly sku: string | null;
  /** Used only where `sku` is null: the cheapest SKU with this GPU is used instead, which is an assumption. */
  readonly gpuModel: string | null;
  /** Null: the cheapest region stands in, and that is an assumption. */
  readonly region: string | null;
  /**
   * Null is treated as `on-demand`, which is an assumption. Only GPUs have terms: storage and network are always on
   * demand.
   */
  readonly term: Term | null;
  readonly component: Component;
  /**
   * How a commitment is paid; other terms ignore it. Absent: `none`, then `partial`, `all`, assumed where there is a
   * choice.
   */
  readonly upfront?: Upfront;
}

export interface Priced {
  readonly price: Price;
  readonly assumed: readonly Assumption[];
  /** The catalogue no longer listed it at the time; the last known price holds until the absence is confirmed. */
  readonly stale: boolean;
}

export interface Unpriced {
  readonly unpriced: UnpricedReason;
}

export type PriceFound = Priced | Unpriced;

/** A half-open piece of time with one answer. */
export interface PricePiece {
  readonly start: number;
  readonly end: number;
  readonly found: PriceFound;
}

/** A SKU that a catalogue no longer listed at an instant. */
export interface Withdrawal {
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly at: number;
}

/** Everything that price lists have stated, as they stated it. */
export interface PriceHistory {
  readonly prices: readonly Price[];
  readonly withdrawals: readonly Withdrawal[];
}

export const NO_PRICES: PriceHistory = { prices: [], withdrawals: [] };

/** A SKU gone for less than this was a flap of the catalogue (AWS' g7e types vanished for two days in January 2026). */
const ABSENCE_CONFIRMED_MS = 7 * DAY_MS;

/** The SKU under which a list states a provider's general storage or network price. */
export const ANY_SKU = '*';

const SEPARATOR = '\u0000';
const key = (...parts: readonly (string | number | bigint | null)[]): string =>
  parts.map((part) => (part === null ? '\u0001' : String(part))).join(SEPARATOR);

const catalogueKey = (entry: { provider: string; sku: string; region: string | null }): string =>
  key(entry.provider, entry.sku, entry.region);
const slotKey = (price: Price): string =>
  key(price.provider, price.sku, price.region, price.term, price.upfront, price.component);
const priceKey = (price: Price): string =>
  key(
    slotKey(price),
    price.effectiveFrom,
    price.effectiveTo,
    price.gpuModel,
    price.gpus,
    price.rate.nanos,
    price.rate.currency,
    price.rate.quantity,
    price.rate.unit,
    price.incrementSeconds,
    price.minimumSeconds,
    price.source,
  );

/**
 * Adds a list's events to what is known. The same facts in any order, in any portions and any number of times give the
 * same history. Nothing is closed here: when a version ends follows from its successors, in `PriceBook`.
 */
export function applyPriceEvents(existing: PriceHistory, events: readonly PriceEvent[]): PriceHistory {
  const prices = new Map(existing.prices.map((price) => [priceKey(price), price]));
  const withdrawals = new Map(existing.withdrawals.map((gone) => [key(catalogueKey(gone), gone.at), gone]));
  for (const event of events) {
    if (event.kind === 'price') {
      const known = prices.get(priceKey(event.price));
      if (known === undefined || compareStatements(event.price, known) >= 0)
        prices.set(priceKey(event.price), event.price);
    } else {
      const { provider, sku, region, at } = event;
      withdrawals.set(key(catalogueKey(event), at), { provider, sku, region, at });
    }
  }
  const sorted = <T>(map: Map<string, T>): T[] =>
    [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, value]) => value);
  return { prices: sorted(prices), withdrawals: sorted(withdrawals) };
}

/**
 * Negative, zero or positive as a is cheaper, equal or more expensive. Currencies do not compare: USD goes first, then
 * A to Z.
 */
export function compareRates(a: Rate, b: Rate): number {
  if (a.currency !== b.currency) {
    if (a.currency === 'USD') return -1;
    if (b.currency === 'USD') return 1;
    return a.currency < b.currency ? -1 : 1;
  }
  const difference = a.nanos * b.quantity - b.nanos * a.quantity;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** A price with the time over which it may hold. */
interface Version {
  readonly price: Price;
  readonly slot: string;
  readonly from: number;
  readonly to: number;
  /** Pieces of time in which the catalogue did not list it. */
  readonly absences: readonly { readonly start: number; readonly end: number }[];
}

interface ProviderIndex {
  readonly bySku: Map<string, Version[]>;
  readonly byModel: Map<string, Version[]>;
}

/**
 * The answers to one query over all time. `at` is a binary search; `pieces` cuts an interval where the answer changes.
 */
export class PriceTimeline {
  constructor(
    /** Ascending; the first is minus infinity. Answer i holds from starts[i] until starts[i + 1]. */
    private readonly starts: Float64Array,
    private readonly answers: readonly PriceFound[],
  ) {}

  private indexAt(instant: number): number {
    const { starts } = this;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? Infinity) <= instant) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The answer at an instant. */
  at(instant: number): PriceFound {
    return this.answers[this.indexAt(instant)] ?? { unpriced: 'no-price-list' };
  }

  /** The half-open time around an instant in which one answer holds. */
  span(instant: number): readonly [from: number, to: number] {
    const index = this.indexAt(instant);
    return [this.starts[index] ?? -Infinity, this.starts[index + 1] ?? Infinity];
  }

  /** Whether one answer holds all over [from, to). */
  isConstant(from: number, to: number): boolean {
    return (this.starts[this.indexAt(from) + 1] ?? Infinity) >= to;
  }

  /** [from, to) in order, cut where the price, its staleness or the reason changes. */
  pieces(from: number, to: number): PricePiece[] {
    const pieces: PricePiece[] = [];
    let index = this.indexAt(from);
    for (let start = from; start < to; index += 1) {
      const end = Math.min(this.starts[index + 1] ?? Infinity, to);
      pieces.push({ start, end, found: this.answers[index] ?? { unpriced: 'no-price-list' } });
      start = end;
    }
    return pieces;
  }
}

const UPFRONT_ORDER: Readonly<Record<Upfront, number>> = { none: 0, partial: 1, all: 2 };
const MOST_TIMELINES = 200_000;

/** Prices of all providers, answering by Map and binary search. Immutable; a new list means a new book. */
export class PriceBook {
  private readonly providers = new Map<string, ProviderIndex>();
  private readonly timelines = new Map<string, PriceTimeline>();
  private readonly byUsage = new WeakMap<object, Readonly<Record<Component, PriceTimeline>>>();

  /** @param providers the providers with known prices, even if none is among these (a book of some SKUs alone) */
  constructor(history: PriceHistory, providers: Iterable<string> = []) {
    for (const provider of providers) this.providers.set(provider, { bySku: new Map(), byModel: new Map() });
    for (const version of versionsOf(history)) {
      const { provider, sku, gpuModel } = version.price;
      let index = this.providers.get(provider);
      if (index === undefined) this.providers.set(provider, (index = { bySku: new Map(), byModel: new Map() }));
      append(index.bySku, sku, version);
      if (gpuModel !== null) append(index.byModel, gpuModel, version);
    }
  }

  /** The price at an instant, or the reason why there is none. */
  find(query: PriceQuery & { readonly at: number }): PriceFound {
    return this.timeline(query).at(query.at);
  }

  /** The names under which a provider's prices of a component are stated, in order; a general price has none. */
  skusOf(provider: string, component: Component): string[] {
    const skus = [...(this.providers.get(provider)?.bySku ?? [])].flatMap(([sku, versions]) =>
      sku !== ANY_SKU && versions.some(({ price }) => price.component === component) ? [sku] : [],
    );
    return skus.sort();
  }

  /** Half-open pieces of [from, to), in order, each with one price or one reason. */
  intervals(query: PriceQuery, from: number, to: number): PricePiece[] {
    return this.timeline(query).pieces(from, to);
  }

  /** The timelines of all three parts of the cost model; the same object again costs one look-up. */
  timelinesOf(usage: Omit<PriceQuery, 'component'>): Readonly<Record<Component, PriceTimeline>> {
    let timelines = this.byUsage.get(usage);
    if (timelines === undefined) {
      const timelineOf = (component: Component): PriceTimeline => this.timeline({ ...usage, component });
      timelines = { gpu: timelineOf('gpu'), storage: timelineOf('storage'), network: timelineOf('network') };
      this.byUsage.set(usage, timelines);
    }
    return timelines;
  }

  /** All answers to a query. Kept, so that a hot loop pays one Map look-up. */
  timeline(query: PriceQuery): PriceTimeline {
    const name = `${query.provider}\u0000${query.sku ?? '\u0001'}\u0000${query.gpuModel ?? '\u0001'}\u0000${query.region ?? '\u0001'}\u0000${
      query.term ?? ''
    }\u0000${query.component}\u0000${query.upfront ?? ''}`;
    let timeline = this.timelines.get(name);
    if (timeline === undefined) {
      timeline = this.build(query);
      if (this.timelines.size >= MOST_TIMELINES) this.timelines.clear();
      this.timelines.set(name, timeline);
    }
    return timeline;
  }

  private build(query: PriceQuery): PriceTimeline {
    const candidates = candidatesFor(query, this.providers.get(query.provider));
    if (!Array.isArray(candidates)) return new PriceTimeline(Float64Array.of(-Infinity), [candidates]);
    const choice = new Set(candidates.map((version) => version.price.upfront)).size > 1;
    const instants = new Set([-Infinity]);
    for (const { from, to, absences } of candidates) {
      for (const instant of [from, to, ...absences.flatMap((absence) => [absence.start, absence.end])])
        instants.add(instant);
    }
    instants.delete(Infinity);
    const starts: number[] = [];
    const answers: PriceFound[] = [];
    for (const instant of [...instants].sort((a, b) => a - b)) {
      const answer = answerAt(query, candidates, choice, instant);
      const last = answers.at(-1);
      if (last !== undefined && sameAnswer(last, answer)) continue;
      starts.push(instant);
      answers.push(answer);
    }
    return new PriceTimeline(Float64Array.from(starts), answers);
  }
}

function append(map: Map<string, Version[]>, name: string, version: Version): void {
  const list = map.get(name);
  if (list === undefined) map.set(name, [version]);
  else list.push(version);
}

/** Prices with their ends: stated by the list, or seven days after a withdrawal that nothing took back. */
function versionsOf(history: PriceHistory): Version[] {
  const seen = new Map<string, number[]>();
  for (const price of history.prices) {
    const name = catalogueKey(price);
    const instants = seen.get(name);
    if (instants === undefined) seen.set(name, [price.effectiveFrom]);
    else instants.push(price.effectiveFrom);
  }
  const absences = new Map<string, { start: number; end: number }[]>();
  for (const gone of history.withdrawals) {
    const name = catalogueKey(gone);
    const back = Math.min(Infinity, ...(seen.get(name) ?? []).filter((instant) => instant >= gone.at));
    const list = absences.get(name);
    if (list === undefined) absences.set(name, [{ start: gone.at, end: back }]);
    else list.push({ start: gone.at, end: back });
  }
  return history.prices.map((price) => {
    const own = (absences.get(catalogueKey(price)) ?? []).filter(
      ({ start, end }) => start >= price.effectiveFrom && start < end,
    );
    const confirmed = own
      .filter(({ start, end }) => end - start >= ABSENCE_CONFIRMED_MS)
      .map(({ start }) => start + ABSENCE_CONFIRMED_MS);
    const to = Math.min(price.effectiveTo ?? Infinity, ...confirmed);
    const within = own.filter(({ start }) => start < to).map(({ start, end }) => ({ start, end: Math.min(end, to) }));
    return { price, slot: slotKey(price), from: price.effectiveFrom, to, absences: within };
  });
}

/** Versions that may answer the query at some time, or why there can be none. */
function candidatesFor(query: PriceQuery, index: ProviderIndex | undefined): Version[] | Unpriced {
  if (index === undefined) return { unpriced: 'no-price-list' };
  const gpu = query.component === 'gpu';
  if (gpu && query.sku === null && query.gpuModel === null) return { unpriced: 'no-sku' };
  const known =
    query.sku !== null
      ? index.bySku.get(query.sku)
      : query.gpuModel !== null
        ? index.byModel.get(query.gpuModel)
        : undefined;
  const ofComponent = (known ?? []).filter(({ price }) => price.component === query.component);
  if (!gpu && ofComponent.length === 0) {
    ofComponent.push(...(index.bySku.get(ANY_SKU) ?? []).filter(({ price }) => price.component === query.component));
  }
  if (ofComponent.length === 0) {
    if (known !== undefined || !gpu) return { unpriced: 'no-component' };
    return { unpriced: query.sku !== null ? 'unknown-sku' : 'unknown-model' };
  }
  const term = gpu ? (query.term ?? 'on-demand') : 'on-demand';
  const upfront = termHours(term) === null ? undefined : query.upfront;
  const ofTerm = ofComponent.filter(({ price }) => price.term === term && (upfront ?? price.upfront) === price.upfront);
  if (ofTerm.length === 0) return { unpriced: 'no-term' };
  const ofRegion = ofTerm.filter(
    ({ price }) => query.region === null || price.region === null || price.region === query.region,
  );
  if (ofRegion.length === 0) return { unpriced: 'no-region' };
  const usable = ofRegion.filter(({ price }) => !gpu || (price.gpus !== null && price.gpus > 0));
  return usable.length === 0 ? { unpriced: 'gpu-count-unknown' } : usable;
}

/** Positive where `a` was stated by who counts before who stated `b`, or later by the same. */
function compareStatements(a: Price, b: Price): number {
  const rank = ({ origin = 'provider' }: Price): number => PRICE_ORIGINS.indexOf(origin);
  return (
    rank(b) - rank(a) || (a.stated?.list ?? 0) - (b.stated?.list ?? 0) || (a.stated?.row ?? 0) - (b.stated?.row ?? 0)
  );
}

/**
 * Which of two versions of one slot hides the other: the one that holds from later on; of two from one instant the one
 * that counts by who stated it and when; of two that one list states the more expensive, then by name.
 */
function hides(a: Price, b: Price): boolean {
  if (a.effectiveFrom !== b.effectiveFrom) return a.effectiveFrom > b.effectiveFrom;
  const stated = compareStatements(a, b);
  if (stated !== 0) return stated > 0;
  const dearer = compareRates(a.rate, b.rate);
  return dearer === 0 ? priceKey(a) > priceKey(b) : dearer > 0;
}

/** The order of slots that all hold: own region, then how it is paid, then the cheapest, then by name. */
function compareSlots(query: PriceQuery, a: Price, b: Price): number {
  const elsewhere = (price: Price): number => (query.region !== null && price.region !== query.region ? 1 : 0);
  return (
    elsewhere(a) - elsewhere(b) ||
    UPFRONT_ORDER[a.upfront] - UPFRONT_ORDER[b.upfront] ||
    compareRates(a.rate, b.rate) ||
    (slotKey(a) < slotKey(b) ? -1 : 1)
  );
}

function answerAt(query: PriceQuery, candidates: readonly Version[], choice: boolean, instant: number): PriceFound {
  const bySlot = new Map<string, Version>();
  for (const version of candidates) {
    if (version.from > instant || version.to <= instant) continue;
    const other = bySlot.get(version.slot);
    if (other === undefined || hides(version.price, other.price)) bySlot.set(version.slot, version);
  }
  let best: Version | null = null;
  for (const version of bySlot.values()) {
    if (best === null || compareSlots(query, version.price, best.price) < 0) best = version;
  }
  if (best === null)
    return { unpriced: candidates.some(({ to }) => to <= instant) ? 'withdrawn' : 'before-first-price' };
  const gpu = query.component === 'gpu';
  const assumed: Assumption[] = [];
  if (gpu && query.sku === null) assumed.push('sku');
  if (query.region === null && best.price.region !== null) assumed.push('region');
  if (gpu && query.term === null) assumed.push('term');
  if (query.upfront === undefined && choice) assumed.push('upfront');
  return {
    price: best.price,
    assumed,
    stale: best.absences.some(({ start, end }) => start <= instant && instant < end),
  };
}

function sameAnswer(a: PriceFound, b: PriceFound): boolean {
  if ('unpriced' in a || 'unpriced' in b) return 'unpriced' in a && 'unpriced' in b && a.unpriced === b.unpriced;
  return a.price === b.price && a.stale === b.stale;
}
