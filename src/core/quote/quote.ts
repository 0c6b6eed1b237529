/**
 * Quotes: what a number of GPUs for a number of hours would cost, from the price book, with the uncertainty and the
 * alternatives.
 *
 * Never makes up a price: without a price the answer is a reason and similar names. The price at the requested time
 * holds for the whole run; the seller's increment and minimum and the peak schedule apply. If a rate was learned from
 * bills, the charged price is used, with the list price and the bill beside it.
 */
import { billableMs } from '../cost/cost.js';
import { ratioText, type EffectivePrices, type LearnedPrice } from '../price/effective-prices.js';
import { invalid, type Problem } from '../errors.js';
import type { FxTable } from '../price/fx.js';
import { modelOf } from '../fleet/gpu-model.js';
import { divideHalfEven, formatMoney } from '../money.js';
import type { PeakSchedule } from '../price/peak.js';
import type { Price, Upfront } from '../price/price.js';
import { providerName } from '../price/price.js';
import type { PriceBook, Priced, PriceQuery, UnpricedReason } from '../price/price-book.js';
import {
  storageNetworkOf,
  MOST_QUOTED_GIB,
  type PricedStorage,
  type StorageNetwork,
  type StorageNetworkAsked,
  type StorageNetworkUnpriced,
} from './storage-network.js';
import { catalogueOf, noComponentPrice, noQuote, type NoQuote } from './close.js';
import { perGpuHour, RunCosts, type BilledRun } from './cost.js';
import { exchangeTo, type Exchange } from './exchange.js';
import { intervalOf, type RunInterval } from './interval.js';
import { REFERENCE } from './reference-prices.js';
import type { DirtyPrices, Interruptions } from '../price/spot-history.js';
import { formatInstant, HOUR_MS } from '../time.js';
import { TERMS, type Term } from '../usage.js';

export { closest, type NoQuote } from './close.js';

export interface QuoteRequest extends StorageNetworkAsked {
  /** FOCUS ProviderName, or as people write it. */
  readonly provider: string;
  /** A SKU; a GPU model (`H100`) means the provider's cheapest SKU with it. */
  readonly sku: string;
  /** GPUs, not instances; thousandths are allowed. */
  readonly gpus: number;
  readonly hours: number;
  /** The run may end sooner, and later; absent or null: `hours`. */
  readonly hoursLow?: number | null;
  readonly hoursHigh?: number | null;
  /** Hours that an interruption of spot costs: what is computed again, and the start. */
  readonly restartHours?: number | null;
  readonly term: Term;
  /** Null: the cheapest region. */
  readonly region: string | null;
  /** How a reservation is paid; null: as the book prefers. */
  readonly upfront: Upfront | null;
  /** ISO 4217 code to quote in; null: the price's own. */
  readonly currency: string | null;
  /** FOCUS BillingAccountId that the run would be charged to, whose rates hold; absent or null: any. */
  readonly account?: string | null;
}

export interface QuoteContext {
  readonly book: PriceBook;
  /** The prices behind the book. */
  readonly prices: readonly Price[];
  /** Tells what of the book bills have taught; absent: all of it is what the lists say. */
  readonly effective?: Pick<EffectivePrices, 'learnedOf' | 'taught'>;
  /** Public list prices for SKUs that no imported list knows; absent: none are used. */
  readonly references?: { readonly book: PriceBook; readonly prices: readonly Price[] };
  readonly fx: FxTable;
  readonly peak: PeakSchedule;
  /** Epoch milliseconds: when the run begins, and whose prices hold. */
  readonly at: number;
  /** Observed interruptions of spot there; absent or null: not observed. */
  readonly interruptions?: Interruptions | null;
  /** Detects slipped prices of a series; absent: all are accepted. */
  readonly dirtyPrices?: DirtyPrices;
}

export interface QuoteAlternative {
  readonly term: Term;
  readonly upfront: Upfront;
  readonly region: string | null;
  /** Decimal strings in the currency of the quote. */
  readonly cost: string;
  readonly unitPrice: string;
  /** The bill that taught its price; null: it is the list price. */
  readonly learned: string | null;
}

/** The learned rate behind the price, and the list price. */
export interface QuoteLearned {
  /** `bill:<source>/<month>` */
  readonly source: string;
  /** The account of the bill. */
  readonly account: string | null;
  /** Charged over listed, to six digits. */
  readonly ratio: string;
  /** Decimal strings in the currency of the quote. */
  readonly listCost: string;
  readonly listUnitPrice: string;
}

export interface QuoteInterval {
  /** Decimal strings in the currency of the quote. */
  readonly low: string;
  readonly high: string;
  /** The causes of its width, as sentences. */
  readonly because: readonly string[];
  /** Influences on the cost that are not in the interval, because nothing is known about them. */
  readonly leavesOut: readonly string[];
}

export interface Quote {
  /** Decimal string. */
  readonly cost: string;
  readonly currency: string;
  /** The parts of the cost, each with its peak factor; decimal strings, null: not requested. */
  readonly parts: { readonly gpu: string; readonly storage: string | null; readonly network: string | null };
  readonly interval: QuoteInterval;
  /** By whose price the storage is; null: none is asked for, or it is the machine's own price or a general one. */
  readonly storageSku: string | null;
  /** Per GPU-hour, before the peak factor; to the nano. */
  readonly unitPrice: string;
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: Term;
  readonly upfront: Upfront;
  readonly gpus: number;
  readonly hours: number;
  /** After the seller's increment and minimum. */
  readonly billedHours: string;
  /** The price list. */
  readonly source: string;
  /** Null: no bill has taught anything about the price. */
  readonly learned: QuoteLearned | null;
  /** ISO 8601: since when the price holds. */
  readonly effectiveFrom: string;
  /** The assumptions, as sentences. */
  readonly assumptions: readonly string[];
  /** Other terms, and cheaper regions of the same SKU; cheapest first. */
  readonly alternatives: readonly QuoteAlternative[];
}

/** Three years: the longest term. */
export const MOST_QUOTED_HOURS = 26_304;
export const MOST_QUOTED_GPUS = 100_000;
const MOST_REGIONS = 5;

/** Everything a quote is asked to find: the request with the names as the book has them. */
type Question = Omit<PriceQuery, 'component'> & { readonly term: Term };

/** A question's context with what is reckoned once for all its answers. */
interface Run extends QuoteContext {
  readonly costs: RunCosts;
}

interface Costed {
  readonly nanos: bigint;
  readonly exchange: Exchange;
  readonly billedMs: number;
  readonly storageNetwork: StorageNetwork;
}

/** Costs in nanos: as quoted, and at the ends of the interval. */
export interface CostRange {
  readonly expected: bigint;
  readonly low: bigint;
  readonly high: bigint;
}

/** A quote with the data for judging budgets by it. */
export interface QuoteDetail {
  readonly quote: Quote;
  /** The cost of the first milliseconds of the run, or of the whole run if absent. In the quote's currency. */
  costWithin(withinMs?: number): CostRange;
}

/** The cost of the request, or why there is none. @throws Failure invalid naming every number that cannot be. */
export function quote(request: QuoteRequest, context: QuoteContext): Quote | NoQuote {
  const found = quoteInDetail(request, context);
  return 'unpriced' in found ? found : found.quote;
}

/** As `quote`, with the costs of any beginning of the run. */
export function quoteInDetail(request: QuoteRequest, given: QuoteContext): QuoteDetail | NoQuote {
  checkQuote(request);
  const { found, question, context: by } = priceFor(request, given);
  const context: Run = { ...by, costs: new RunCosts(given.peak, given.at, request.gpus) };
  if ('unpriced' in found) return noQuote(found.unpriced, question, request.sku, context.prices);
  const costed = costOfRun(found.price, request, context);
  if ('component' in costed) return noComponentPrice(costed, question, request.sku);
  if ('unpriced' in costed) return noQuote(costed.unpriced, question, request.sku, context.prices);
  const { price } = found;
  const { exchange, billedMs, storageNetwork } = costed;
  const { currency } = exchange;
  const learned = context.effective?.learnedOf(price) ?? null;
  const { costWithin, parts, interval } = uncertainCost(found, costed, request, context, learned);
  return {
    costWithin,
    quote: {
      cost: amount(costed.nanos, currency),
      currency,
      parts,
      interval,
      storageSku: storageNetwork.storage?.sku ?? null,
      unitPrice: amount(perGpuHour(price.rate, exchange), currency),
      provider: price.provider,
      sku: price.sku,
      region: price.region,
      term: price.term,
      upfront: price.upfront,
      gpus: request.gpus,
      hours: request.hours,
      billedHours: hoursText(billedMs),
      source: price.source,
      effectiveFrom: formatInstant(price.effectiveFrom),
      learned: learned === null ? null : learnedText(learned, costed, context.costs),
      assumptions: assumptionsOf(found, request, costed, context.costs, learned),
      alternatives: alternativesTo(found, costed, request, context),
    },
  };
}

/** The cost of the run and of any beginning of it, by parts, and between which ends it lies. */
function uncertainCost(
  { price, stale }: Priced,
  { exchange, billedMs, storageNetwork }: Costed,
  request: QuoteRequest,
  context: Run,
  learned: LearnedPrice | null,
): Pick<QuoteDetail, 'costWithin'> & Pick<Quote, 'parts' | 'interval'> {
  const ends = intervalOf(
    price,
    stale,
    {
      hours: request.hours,
      hoursLow: request.hoursLow ?? request.hours,
      hoursHigh: request.hoursHigh ?? request.hours,
      restartHours: request.restartHours ?? null,
    },
    {
      book: context.book,
      at: context.at,
      dirtyPrices: context.dirtyPrices ?? NONE_DIRTY,
      interruptions: context.interruptions ?? null,
      learned,
    },
  );
  const whole: BilledRun = { rate: price.rate, billedMs, storageNetwork };
  const costWithin = rangeOf(
    whole,
    { low: { ...ends.low, storageNetwork }, high: { ...ends.high, storageNetwork } },
    exchange,
    context.costs,
  );
  const { gpu, storage, network } = context.costs.parts(whole, exchange);
  const { low, high } = costWithin();
  const money = (nanos: bigint): string => amount(nanos, exchange.currency);
  return {
    costWithin,
    parts: {
      gpu: money(gpu),
      storage: storage === null ? null : money(storage),
      network: network === null ? null : money(network),
    },
    interval: { low: money(low), high: money(high), because: ends.because, leavesOut: ends.leavesOut },
  };
}

/** Why a price is searched among the references: nothing that was read says anything of it. */
const UNHEARD_OF: ReadonlySet<UnpricedReason> = new Set(['no-price-list', 'unknown-sku', 'unknown-model', 'no-region']);

/** The price of the lists that were read, whatever it is; a reference price where these know nothing of it. */
function priceFor(
  request: QuoteRequest,
  given: QuoteContext,
): ReturnType<typeof findPrice> & { readonly context: QuoteContext } {
  const own = { ...findPrice(request, given), context: given };
  const { references } = given;
  if (references === undefined || !('unpriced' in own.found) || !UNHEARD_OF.has(own.found.unpriced)) return own;
  const { effective: _, ...rest } = given;
  const context: QuoteContext = { ...rest, book: references.book, prices: references.prices };
  const reference = findPrice(request, context);
  return 'unpriced' in reference.found ? own : { ...reference, context };
}

const NONE_DIRTY: DirtyPrices = () => new Set();

/** The price that a request is about, as the book names it; a GPU model means the cheapest SKU with it. */
export function findPrice(
  request: QuoteRequest,
  { book, at }: Pick<QuoteContext, 'book' | 'at'>,
): { readonly found: ReturnType<PriceBook['find']>; readonly question: Question } {
  const asked: Question = {
    provider: providerName(request.provider),
    sku: request.sku,
    gpuModel: null,
    region: request.region,
    term: request.term,
    ...(request.upfront === null ? {} : { upfront: request.upfront }),
  };
  const found = book.find({ ...asked, component: 'gpu', at });
  const model = modelOf(request.sku);
  if ('unpriced' in found && found.unpriced === 'unknown-sku' && model !== null) {
    const byModel = { ...asked, sku: null, gpuModel: model };
    const other = book.find({ ...byModel, component: 'gpu', at });
    if (!('unpriced' in other) || other.unpriced !== 'unknown-model') return { found: other, question: byModel };
  }
  return { found, question: asked };
}

/** @throws Failure invalid naming every number that cannot be */
function checkQuote({
  gpus,
  hours,
  hoursLow,
  hoursHigh,
  restartHours,
  currency,
  storageGib,
  networkGib,
  storageSku,
}: QuoteRequest): void {
  const problems: Problem[] = [];
  const check = (path: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path, message });
  };
  const milli = gpus * 1000;
  check(
    'gpus',
    gpus > 0 && gpus <= MOST_QUOTED_GPUS && Math.abs(milli - Math.round(milli)) < 1e-6 && Math.round(milli) > 0,
    `is not above 0 and at most ${MOST_QUOTED_GPUS}, in thousandths`,
  );
  const fits = (value: number): boolean => value > 0 && value <= MOST_QUOTED_HOURS;
  check('hours', fits(hours), `is not above 0 and at most ${MOST_QUOTED_HOURS}`);
  check(
    'hoursLow',
    hoursLow === undefined || hoursLow === null || (fits(hoursLow) && hoursLow <= hours),
    'is not above 0 and at most hours',
  );
  check(
    'hoursHigh',
    hoursHigh === undefined || hoursHigh === null || (fits(hoursHigh) && hoursHigh >= hours),
    `is not hours or more, and at most ${MOST_QUOTED_HOURS}`,
  );
  check(
    'restartHours',
    restartHours === undefined || restartHours === null || (restartHours >= 0 && restartHours <= 168),
    'is not from 0 to 168',
  );
  const isHeld = (value: number | null | undefined): boolean =>
    value === undefined || value === null || (value >= 0 && value <= MOST_QUOTED_GIB);
  check('storageGib', isHeld(storageGib), `is not from 0 to ${MOST_QUOTED_GIB}`);
  check('networkGib', isHeld(networkGib), `is not from 0 to ${MOST_QUOTED_GIB}`);
  check(
    'storageSku',
    storageSku === undefined || storageSku === null || ((storageGib ?? 0) > 0 && storageSku.trim() !== ''),
    'names storage but no GiB of it, or is empty',
  );
  check('currency', currency === null || /^[A-Z]{3}$/.test(currency), 'is not an ISO 4217 code');
  if (problems.length > 0) throw invalid(`the quote has ${problems.length} problem(s)`, problems);
}

/** The interval holds what is quoted, whatever a peak factor below 1 does to a longer run. */
function rangeOf(
  quoted: BilledRun,
  { low, high }: Pick<RunInterval, 'low' | 'high'>,
  exchange: Exchange,
  costs: RunCosts,
): QuoteDetail['costWithin'] {
  return (withinMs = Infinity) => {
    const [expected, cheap, dear] = [quoted, low, high].map((run) => costs.nanos(run, exchange, withinMs)) as [
      bigint,
      bigint,
      bigint,
    ];
    return { expected, low: cheap < expected ? cheap : expected, high: dear > expected ? dear : expected };
  };
}

function learnedText(
  { list, source, account, ratio }: LearnedPrice,
  { exchange, billedMs, storageNetwork }: Costed,
  costs: RunCosts,
): QuoteLearned {
  const { currency } = exchange;
  return {
    source,
    account,
    ratio: ratioText(ratio),
    listCost: amount(costs.nanos({ rate: list.rate, billedMs, storageNetwork }, exchange), currency),
    listUnitPrice: amount(perGpuHour(list.rate, exchange), currency),
  };
}

const amount = (nanos: bigint, currency: string): string => formatMoney({ nanos, currency });

/** Hours with six digits at most. */
const hoursText = (milliseconds: number): string =>
  amount(divideHalfEven(BigInt(milliseconds) * 1_000_000n, BigInt(HOUR_MS)) * 1000n, '');

/**
 * What a run costs at a price, or why that is not known: no exchange rate on that day, no price of what it takes
 * storageNetwork.
 */
function costOfRun(
  price: Price,
  request: QuoteRequest,
  { book, fx, at, costs }: Run,
): Costed | StorageNetworkUnpriced | { readonly unpriced: 'no-fx-rate' } {
  const exchange = exchangeTo(request.currency, price.rate.currency, fx, at);
  if (exchange === null) return { unpriced: 'no-fx-rate' };
  const storageNetwork = storageNetworkOf(request, price, exchange.currency, { book, fx, at });
  if ('unpriced' in storageNetwork) return storageNetwork;
  const billedMs = billableMs(Math.round(request.hours * HOUR_MS), price);
  return {
    nanos: costs.nanos({ rate: price.rate, billedMs, storageNetwork }, exchange),
    exchange,
    billedMs,
    storageNetwork,
  };
}

function assumptionsOf(
  { price, assumed, stale }: Priced,
  request: QuoteRequest,
  { exchange, billedMs, storageNetwork }: Costed,
  costs: RunCosts,
  learned: LearnedPrice | null,
): string[] {
  const texts: string[] = [];
  if (assumed.includes('sku')) texts.push(`${price.sku} is the cheapest SKU with a ${price.gpuModel ?? request.sku}`);
  if (price.source.startsWith(REFERENCE))
    texts.push(
      `no price list that was read knows it: this is a reference price (${price.source.slice(REFERENCE.length)}), which may differ from what you are charged`,
    );
  if (assumed.includes('region')) texts.push(`${price.region ?? 'any region'} is the cheapest region`);
  if (assumed.includes('upfront')) texts.push(`the reservation is paid with ${price.upfront} upfront`);
  if (learned !== null)
    texts.push(
      `account ${learned.account ?? 'without a name'} is charged ${ratioText(learned.ratio)} of the list price, according to ${learned.source}`,
    );
  if (stale) texts.push('the catalogue no longer lists this price: it is the last one known');
  if (price.gpus !== null && price.gpus > 0 && request.gpus % price.gpus !== 0)
    texts.push(`${price.sku} has ${price.gpus} GPUs: ${request.gpus} are a share of whole instances`);
  if (price.term !== 'on-demand' && price.term !== 'spot')
    texts.push('the rate is amortised over the whole term, and the rest of the term is used elsewhere');
  if (price.term === 'spot') texts.push('the current spot price applies to the whole run, without interruptions');
  if (billedMs !== Math.round(request.hours * HOUR_MS))
    texts.push(`the seller bills at least ${price.minimumSeconds} s, in steps of ${price.incrementSeconds} s`);
  if (storageNetwork.storage !== null) texts.push(...storageTexts(storageNetwork.storage));
  if (storageNetwork.network !== null) texts.push('the traffic leaves evenly over the run');
  if (costs.isPeaked(billedMs)) texts.push('the peak schedule applies, with the run beginning now');
  if (exchange.used !== null) texts.push(`converted by the exchange rate of ${exchange.used.day}`);
  return texts;
}

function storageTexts({ sku, others }: PricedStorage): string[] {
  const held = 'the storage is kept for as long as the GPUs are billed';
  if (others.length === 0) return [held];
  const kinds = `the dearest of the ${others.length + 1} kinds that are sold there: name another (${others.join(', ')})`;
  return [held, `the storage is ${sku ?? ''}, ${kinds}`];
}

/** Every other term where the SKU is, and cheaper regions under the same term. */
function alternativesTo({ price }: Priced, own: Costed, request: QuoteRequest, context: Run): QuoteAlternative[] {
  const { book, at } = context;
  const ask = (term: Term, region: string | null, upfront: Upfront | null): PricedAlternative | null => {
    const found = book.find({
      provider: price.provider,
      sku: price.sku,
      gpuModel: null,
      region,
      term,
      component: 'gpu',
      at,
      ...(upfront === null ? {} : { upfront }),
    });
    if ('unpriced' in found || found.stale) return null;
    const costed = costOfRun(found.price, { ...request, currency: own.exchange.currency }, context);
    if ('unpriced' in costed) return null;
    const { upfront: paid, region: where } = found.price;
    return {
      nanos: costed.nanos,
      alternative: {
        term,
        upfront: paid,
        region: where,
        cost: amount(costed.nanos, costed.exchange.currency),
        unitPrice: amount(perGpuHour(found.price.rate, costed.exchange), costed.exchange.currency),
        learned: context.effective?.learnedOf(found.price)?.source ?? null,
      },
    };
  };
  const terms = TERMS.filter((term) => term !== price.term).flatMap((term) => ask(term, price.region, null) ?? []);
  const regions = [...(catalogueOf(context.prices).get(price.provider)?.get(price.sku) ?? [])].filter(
    (region) => region !== null && region !== price.region,
  );
  const cheaper = regions
    .flatMap((region) => ask(price.term, region, price.upfront) ?? [])
    .filter(({ nanos }) => nanos < own.nanos)
    .sort(byCost)
    .slice(0, MOST_REGIONS);
  return [...terms, ...cheaper].sort(byCost).map(({ alternative }) => alternative);
}

interface PricedAlternative {
  readonly nanos: bigint;
  readonly alternative: QuoteAlternative;
}

const byCost = (a: PricedAlternative, b: PricedAlternative): number =>
  a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : (a.alternative.region ?? '') < (b.alternative.region ?? '') ? -1 : 1;
