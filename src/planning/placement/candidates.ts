/**
 * From a price list to candidates: the cost of each GPU price for a workload, or every reason why it cannot serve it.
 *
 * Unknown is a reason, never a number: no GPU count, memory, speed, egress price or exchange rate is assumed. Each unit
 * (instance) is billed separately and rounded once, so that costs of units add up exactly.
 */
import { billableMs } from '../../core/cost/cost.js';
import { costOf, type Money, type Ratio } from '../../core/money.js';
import type { Price } from '../../core/price/price.js';
import { PriceBook, type PriceHistory, type PriceTimeline, type UnpricedReason } from '../../core/price/price-book.js';
import { termHours } from '../../core/price/term.js';
import { HOUR_MS } from '../../core/time.js';
import { memoryGib } from './gpu-memory.js';
import type { Market, Workload } from './workload.js';

export type Refusal =
  | { readonly kind: 'not-allowed'; readonly what: 'provider' | 'region' | 'model' | 'term' }
  /** The book has none at the instant. */
  | { readonly kind: 'no-price'; readonly reason: UnpricedReason }
  | {
      readonly kind:
        | 'no-longer-listed'
        | 'part-of-a-gpu'
        | 'model-unknown'
        | 'memory-unknown'
        | 'speed-unknown'
        | 'spot-not-tolerated'
        | 'no-egress-price'
        | 'no-fx-rate';
    }
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
  /** For the whole run, without egress; reckoned when somebody asks. */
  readonly unitCost: Money;
  /** The same in floating point, off by far less than a billionth: for leaving out what is surely more expensive. */
  readonly aboutNanos: number;
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

/** Thousands of prices are looked at, and a few are costed. */
class LazyCandidate implements Candidate {
  private cost: Money | null = null;

  constructor(
    readonly price: Price,
    readonly gpusPerUnit: number,
    readonly capacityMilli: number,
    readonly hours: number,
    readonly units: number,
    readonly unitLimit: number,
    readonly egressCost: Money,
    readonly aboutNanos: number,
    private readonly ms: number,
    private readonly exchange: Exchange,
  ) {}

  get unitCost(): Money {
    this.cost ??= {
      ...costOf(BigInt(this.gpusPerUnit) * BigInt(this.ms), 1000n, this.price.rate, this.exchange.ratio),
      currency: this.exchange.currency,
    };
    return this.cost;
  }
}

export interface Candidates {
  readonly able: readonly Candidate[];
  /** The same list again for a workload that differs in nothing that decides who is on it. */
  readonly refused: readonly Refused[];
}

/** As `unitLimits` of a market names a price. */
const limitKey = ({ provider, region, sku, term }: Price): string => `${provider}/${region ?? '*'}/${sku}/${term}`;

/**
 * Every SKU, region, term and way of paying that the history knows a GPU price of, as it stands at the market's
 * instant, in the order of the history.
 */
export function candidatesOf(workload: Workload, market: Market): Candidates {
  const books = booksOf(market.history);
  const { found, fits } = pricesAt(books, market.at);
  const exchange = exchangesOf(market);
  const shape = shapeOf(workload, market);
  const known = shape === null ? undefined : fits.get(shape);
  if (
    known !== undefined &&
    known.currencies.every(([currency, isKnown]) => (exchange(currency) !== null) === isKnown)
  ) {
    const none: Money = { nanos: 0n, currency: market.currency };
    return {
      able: known.able.map((held) => costed(held, workload, market, none, exchange(held.price.rate.currency)!)),
      refused: known.refused,
    };
  }
  const egress = egressBook(workload, market, books);
  const [ableHeld, able, refused]: [Held[], Candidate[], Refused[]] = [[], [], []];
  for (const one of found) {
    const candidate = 'refusals' in one ? one : candidateOf(one, workload, market, { egress, exchange });
    if ('refusals' in candidate) refused.push(candidate);
    else {
      able.push(candidate);
      ableHeld.push(one as Held);
    }
  }
  if (shape !== null) {
    if (fits.size >= MOST_FITS) fits.clear();
    fits.set(shape, {
      able: ableHeld,
      refused,
      currencies: [...new Set(found.map(({ price }) => price.rate.currency))].map((currency) => [
        currency,
        exchange(currency) !== null,
      ]),
    });
  }
  return { able, refused };
}

/**
 * All of a workload that decides who can serve it, where neither its size nor its length, nor its data, nor the market
 * does so too; null if they may. Programs ask about the same kinds of workload again and again.
 */
function shapeOf(
  {
    kind,
    memoryGibPerGpu,
    gpusPerUnitMin,
    hours,
    deadlineHours = Infinity,
    egressGib = 0,
    providers,
    regions,
    models,
    terms,
    relativeSpeeds,
    spotShareMax,
  }: Workload,
  { unitLimits, measuredMemoryGib }: Market,
): string | null {
  const slowest = Math.min(...Object.values(relativeSpeeds ?? { any: 1 }));
  if (
    egressGib > 0 ||
    unitLimits !== undefined ||
    measuredMemoryGib !== undefined ||
    !(hours / slowest <= deadlineHours)
  )
    return null;
  const toleratesSpot = kind === 'training' ? spotShareMax >= 1 : spotShareMax > 0;
  return JSON.stringify([
    kind,
    memoryGibPerGpu,
    gpusPerUnitMin,
    providers,
    regions,
    models,
    terms,
    relativeSpeeds,
    toleratesSpot,
  ]);
}

/** The answers of one slot over all time. */
interface Slot {
  readonly price: Price;
  readonly timeline: PriceTimeline;
}

/** A price that holds, with the memory that the data sheet of its GPU states. */
interface Held {
  readonly price: Price;
  readonly sheetGib: number | null;
  /** Price of one GPU, in floating point. */
  readonly nanosPerMs: number;
}

/** Who can serve workloads of a shape. */
interface Fits {
  readonly able: readonly Held[];
  readonly refused: readonly Refused[];
  /** In which prices are stated, and whether there was a rate of exchange for each. */
  readonly currencies: readonly (readonly [currency: string, isKnown: boolean])[];
}

/** Shapes remembered; one holds some hundred kilobytes. */
const MOST_FITS = 32;

/** Every slot's answer from an instant until another, between which none changes. */
interface Answers {
  readonly from: number;
  readonly to: number;
  readonly found: readonly (Held | Refused)[];
  /** By shape. */
  readonly fits: Map<string, Fits>;
}

interface Books {
  readonly slots: readonly Slot[];
  /** Of all prices; made when somebody asks. */
  whole: PriceBook | null;
  /** The last that was asked for. */
  answers: Answers | null;
}

const booksMade = new WeakMap<PriceHistory, Books>();

/** The books of a history, made once: many workloads are placed by one. */
function booksOf(history: PriceHistory): Books {
  const known = booksMade.get(history);
  if (known !== undefined) return known;
  const slots = [...groupsOf(history).values()].flatMap((prices): Slot[] => {
    const { provider, sku, region } = prices[0]!;
    // A book of this place alone: in the whole one a price without a region gives way to the cheapest region's.
    const book = new PriceBook({
      prices,
      withdrawals: history.withdrawals.filter(
        (gone) => gone.provider === provider && gone.sku === sku && gone.region === region,
      ),
    });
    return slotsOf(prices).map((price) => ({
      price,
      timeline: book.timeline({
        provider,
        sku,
        gpuModel: null,
        region,
        term: price.term,
        component: 'gpu',
        upfront: price.upfront,
      }),
    }));
  });
  const books: Books = { slots, whole: null, answers: null };
  booksMade.set(history, books);
  return books;
}

/**
 * The price of each slot at an instant, or why it has none; prices change seldom, so they are looked up once for as
 * long as they hold.
 */
function pricesAt(books: Books, at: number): Answers {
  if (books.answers !== null && books.answers.from <= at && at < books.answers.to) return books.answers;
  let [from, to] = [-Infinity, Infinity];
  const found = books.slots.map(({ price, timeline }): Held | Refused => {
    const [start, end] = timeline.span(at);
    [from, to] = [Math.max(from, start), Math.min(to, end)];
    const answer = timeline.at(at);
    if ('unpriced' in answer) return { price, refusals: [{ kind: 'no-price', reason: answer.unpriced }] };
    if (answer.stale) return { price: answer.price, refusals: [{ kind: 'no-longer-listed' }] };
    const { gpuModel, rate } = answer.price;
    return {
      price: answer.price,
      sheetGib: gpuModel === null ? null : memoryGib(gpuModel),
      nanosPerMs: Number(rate.nanos) / Number(rate.quantity) / 1000,
    };
  });
  books.answers = { from, to, found, fits: new Map() };
  return books.answers;
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

/**
 * One price per term and way of paying, which names the slot; only reservations have ways of paying that a book can
 * tell apart.
 */
function slotsOf(prices: readonly Price[]): Price[] {
  const slots = new Map<string, Price>();
  for (const price of prices)
    slots.set(price.term.startsWith('reserved') ? `${price.term} ${price.upfront}` : price.term, price);
  return [...slots.values()];
}

/** Egress cost of the whole workload from where a price is. */
type Egress = (price: Price) => Money | 'no-egress-price' | 'no-fx-rate';
/** Into the market's currency. */
interface Exchange {
  readonly ratio: Ratio;
  readonly about: number;
  readonly currency: string;
}

/** Null: there is no rate. */
type Exchanges = (currency: string) => Exchange | null;

function exchangesOf({ fx, currency, at }: Market): Exchanges {
  const known = new Map<string, Exchange | null>();
  return (from) => {
    let exchange = known.get(from);
    if (exchange !== undefined) return exchange;
    const ratio = fx.rate(from, currency, at)?.rate;
    exchange =
      ratio === undefined ? null : { ratio, about: Number(ratio.numerator) / Number(ratio.denominator), currency };
    known.set(from, exchange);
    return exchange;
  };
}

function candidateOf(
  held: Held,
  workload: Workload,
  market: Market,
  { egress, exchange: exchanges }: { readonly egress: Egress; readonly exchange: Exchanges },
): Candidate | Refused {
  const { price, sheetGib } = held;
  const refusals = notAllowed(price, workload);
  const unfit = doesNotFit(price, sheetGib, workload, market);
  if (unfit !== null) refusals.push(unfit);
  const speed = speedOf(price, workload);
  if (speed === null) refusals.push({ kind: 'speed-unknown' });
  const hours = hoursOf(workload, speed);
  const { deadlineHours } = workload;
  if (speed !== null && deadlineHours !== undefined && hours > deadlineHours)
    refusals.push({ kind: 'deadline-missed', hours, deadlineHours });
  if (price.term === 'spot' && (workload.kind === 'training' ? workload.spotShareMax < 1 : workload.spotShareMax === 0))
    refusals.push({ kind: 'spot-not-tolerated' });
  const gpus = price.gpus ?? 0;
  if (!Number.isSafeInteger(gpus) || gpus === 0) refusals.push({ kind: 'part-of-a-gpu' });
  else if (gpus < (workload.gpusPerUnitMin ?? 1))
    refusals.push({ kind: 'too-few-gpus-per-unit', gpus, neededGpus: workload.gpusPerUnitMin ?? 1 });
  const egressCost = egress(price);
  if (typeof egressCost === 'string') refusals.push({ kind: egressCost });
  const exchange = exchanges(price.rate.currency);
  if (exchange === null && egressCost !== 'no-fx-rate') refusals.push({ kind: 'no-fx-rate' });
  if (refusals.length > 0 || typeof egressCost === 'string' || exchange === null) return { price, refusals };

  const candidate = costed(held, workload, market, egressCost, exchange);
  const { units, unitLimit } = candidate;
  return workload.kind === 'training' && units > unitLimit
    ? { price, refusals: [{ kind: 'too-few-units', units: unitLimit, neededUnits: units }] }
    : candidate;
}

const hoursOf = ({ kind, hours }: Workload, speed: number | null): number =>
  kind === 'training' ? hours / (speed ?? 1) : hours;

/** The cost under a price that can serve. */
function costed(
  { price, nanosPerMs }: Held,
  workload: Workload,
  { unitLimits }: Market,
  egressCost: Money,
  exchange: Exchange,
): Candidate {
  const speed = speedOf(price, workload) ?? 1;
  const hours = hoursOf(workload, speed);
  const gpus = price.gpus ?? 0;
  const capacityMilli = workload.kind === 'training' ? gpus * 1000 : Math.floor(gpus * speed * 1000 + 1e-6);
  const billed = billedMs(price, hours, workload);
  return new LazyCandidate(
    price,
    gpus,
    capacityMilli,
    hours,
    Math.ceil((workload.gpus * 1000) / capacityMilli),
    unitLimits?.[limitKey(price)] ?? Infinity,
    egressCost,
    gpus * billed * nanosPerMs * exchange.about,
    billed,
    exchange,
  );
}

function notAllowed(
  { provider, region, gpuModel, term }: Price,
  { providers, regions, models, terms }: Workload,
): Refusal[] {
  const refusals: Refusal[] = [];
  if (providers !== undefined && !providers.includes(provider))
    refusals.push({ kind: 'not-allowed', what: 'provider' });
  // A list without regions holds everywhere (see Price).
  if (regions !== undefined && region !== null && !regions.includes(region))
    refusals.push({ kind: 'not-allowed', what: 'region' });
  if (models !== undefined && gpuModel !== null && !models.includes(gpuModel))
    refusals.push({ kind: 'not-allowed', what: 'model' });
  if (terms !== undefined && !terms.includes(term)) refusals.push({ kind: 'not-allowed', what: 'term' });
  return refusals;
}

function doesNotFit(
  { gpuModel }: Price,
  sheetGib: number | null,
  { memoryGibPerGpu }: Workload,
  { measuredMemoryGib }: Market,
): Refusal | null {
  if (gpuModel === null) return { kind: 'model-unknown' };
  const gib = measuredMemoryGib === undefined ? sheetGib : memoryGib(gpuModel, measuredMemoryGib);
  if (gib === null) return { kind: 'memory-unknown' };
  return gib < memoryGibPerGpu ? { kind: 'too-little-memory', gib, neededGib: memoryGibPerGpu } : null;
}

function speedOf({ gpuModel }: Price, { relativeSpeeds }: Workload): number | null {
  if (relativeSpeeds === undefined) return 1;
  return gpuModel !== null && Object.hasOwn(relativeSpeeds, gpuModel) ? (relativeSpeeds[gpuModel] ?? null) : null;
}

/** The billed time of a unit: the run, by the seller's increment and minimum, or whole terms of a reservation. */
function billedMs(price: Price, hours: number, { restOfTermUsed }: Workload): number {
  const ms = Math.ceil(hours * HOUR_MS - 1e-6);
  const term = termHours(price.term);
  if (term !== null && !restOfTermUsed) return Math.ceil(ms / (term * HOUR_MS)) * term * HOUR_MS;
  return billableMs(ms, price);
}

function egressBook({ egressGib = 0 }: Workload, { history, fx, currency, at }: Market, books: Books): Egress {
  const none: Money = { nanos: 0n, currency };
  if (egressGib === 0) return () => none;
  const book = (books.whole ??= new PriceBook(history));
  return ({ provider, sku, region }) => {
    const found = book.find({ provider, sku, gpuModel: null, region, term: null, component: 'network', at });
    // An assumed region means that the place's own price is unknown.
    if ('unpriced' in found || found.stale || found.assumed.includes('region')) return 'no-egress-price';
    const ratio = fx.rate(found.price.rate.currency, currency, at)?.rate;
    return ratio === undefined
      ? 'no-fx-rate'
      : { ...costOf(BigInt(Math.ceil(egressGib * 1e6 - 1e-6)), 1_000_000n, found.price.rate, ratio), currency };
  };
}
