/**
 * Quotes: what a number of GPUs for a number of hours would cost, from the price book, with what else would do.
 *
 * Never makes up a price: what has none is a reason and the names that come close. The price that holds at the asked
 * instant holds for the whole run; the seller's increment and minimum and the peak schedule apply.
 */
import { billableMs, QUANTITY_SCALE } from './cost.js';
import type { FxTable, FxUsed } from './fx.js';
import { modelOf } from './gpu-model.js';
import { divideHalfEven, formatMoney, ONE, type Rate, type Ratio } from './money.js';
import type { PeakSchedule } from './peak.js';
import type { Price, Upfront } from './price.js';
import { providerName } from './price.js';
import type { PriceBook, Priced, PriceQuery, UnpricedReason } from './price-book.js';
import { formatInstant, HOUR_MS } from './time.js';
import { GPU_PARTS, TERMS, type Term } from './usage.js';

export interface QuoteRequest {
  /** FOCUS ProviderName, or as people write it. */
  readonly provider: string;
  /** A SKU; a GPU model (`H100`) stands for the provider's cheapest SKU with it. */
  readonly sku: string;
  /** GPUs, not instances; thousandths are allowed. */
  readonly gpus: number;
  readonly hours: number;
  readonly term: Term;
  /** Null: the cheapest region. */
  readonly region: string | null;
  /** How a reservation is paid; null: as the book prefers. */
  readonly upfront: Upfront | null;
  /** ISO 4217 code to quote in; null: the price's own. */
  readonly currency: string | null;
}

export interface QuoteContext {
  readonly book: PriceBook;
  /** The prices behind the book. */
  readonly prices: readonly Price[];
  readonly fx: FxTable;
  readonly peak: PeakSchedule;
  /** Epoch milliseconds: when the run begins, and whose prices hold. */
  readonly at: number;
}

export interface QuoteAlternative {
  readonly term: Term;
  readonly upfront: Upfront;
  readonly region: string | null;
  /** Decimal strings in the currency of the quote. */
  readonly cost: string;
  readonly unitPrice: string;
}

export interface Quote {
  /** Decimal string. */
  readonly cost: string;
  readonly currency: string;
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
  /** ISO 8601: since when the price holds. */
  readonly effectiveFrom: string;
  /** What was taken for granted, as sentences. */
  readonly assumptions: readonly string[];
  /** Other terms, and cheaper regions of the same SKU; cheapest first. */
  readonly alternatives: readonly QuoteAlternative[];
}

export interface NoQuote {
  readonly unpriced: UnpricedReason;
  readonly message: string;
  /** SKUs (or providers) that are known and come close. */
  readonly close: readonly string[];
}

/** Three years: the longest term. */
export const MOST_QUOTED_HOURS = 26_304;
const MOST_CLOSE = 5;
const MOST_REGIONS = 5;

/** Everything a quote is asked to find: the request with the names as the book has them. */
type Question = Omit<PriceQuery, 'component'> & { readonly term: Term };

/** A question's context with what is reckoned once for all its answers. */
interface Run extends QuoteContext {
  readonly weighed: Map<number, { readonly milliseconds: Ratio; readonly peaked: boolean }>;
}

interface Costed {
  readonly nanos: bigint;
  readonly unitNanos: bigint;
  readonly currency: string;
  readonly fx: FxUsed | null;
  readonly billedMs: number;
  readonly peaked: boolean;
}

/** The cost of the request, or why there is none. `gpus` and `hours` are above 0 (checked by the caller). */
export function quote(request: QuoteRequest, given: QuoteContext): Quote | NoQuote {
  const context: Run = { ...given, weighed: new Map() };
  const { book, at } = context;
  const asked: Question = {
    provider: providerName(request.provider), sku: request.sku, gpuModel: null, region: request.region, term: request.term,
    ...(request.upfront === null ? {} : { upfront: request.upfront }),
  };
  let question = asked;
  let found = book.find({ ...asked, component: 'gpu', at });
  const model = modelOf(request.sku);
  if ('unpriced' in found && found.unpriced === 'unknown-sku' && model !== null) {
    const byModel = { ...asked, sku: null, gpuModel: model };
    const other = book.find({ ...byModel, component: 'gpu', at });
    if (!('unpriced' in other) || other.unpriced !== 'unknown-model') [question, found] = [byModel, other];
  }
  if ('unpriced' in found) return noQuote(found.unpriced, question, request, context);
  const costed = costOfRun(found.price, request, context);
  if (costed === null) return noQuote('no-fx-rate', question, request, context);
  const { price } = found;
  return {
    cost: amount(costed.nanos, costed.currency), currency: costed.currency, unitPrice: amount(costed.unitNanos, costed.currency),
    provider: price.provider, sku: price.sku, region: price.region, term: price.term, upfront: price.upfront,
    gpus: request.gpus, hours: request.hours, billedHours: hoursText(costed.billedMs), source: price.source, effectiveFrom: formatInstant(price.effectiveFrom),
    assumptions: assumptionsOf(found, request, costed), alternatives: alternativesTo(found, costed, request, context),
  };
}

const amount = (nanos: bigint, currency: string): string => formatMoney({ nanos, currency });

/** Hours with six digits at most. */
const hoursText = (milliseconds: number): string => amount(divideHalfEven(BigInt(milliseconds) * 1_000_000n, BigInt(HOUR_MS)) * 1000n, '');

/** Null where the price cannot be converted to the asked currency on that day. */
function costOfRun(price: Price, request: QuoteRequest, run: Run): Costed | null {
  const { fx, at } = run;
  const { rate } = price;
  const currency = request.currency ?? rate.currency;
  const used = currency === rate.currency ? null : fx.rate(rate.currency, currency, at);
  if (currency !== rate.currency && used === null) return null;
  const exchange = used?.rate ?? ONE;
  const billedMs = billableMs(Math.round(request.hours * HOUR_MS), price);
  const parts = BigInt(Math.round(request.gpus * 1000)) * BigInt(GPU_PARTS / 1000);
  const { milliseconds, peaked } = weigh(billedMs, run);
  const nanos = divideHalfEven(parts * milliseconds.numerator * rate.nanos * exchange.numerator, milliseconds.denominator * QUANTITY_SCALE.gpu * rate.quantity * exchange.denominator);
  return { nanos, unitNanos: perGpuHour(rate, exchange), currency, fx: used, billedMs, peaked };
}

/** The run's milliseconds, each times its peak factor, as one exact fraction. */
function weigh(billedMs: number, { weighed, peak, at }: Run): { readonly milliseconds: Ratio; readonly peaked: boolean } {
  const known = weighed.get(billedMs);
  if (known !== undefined) return known;
  let milliseconds: Ratio = { numerator: 0n, denominator: 1n };
  let peaked = false;
  for (const { start, end, factor } of peak.pieces(at, at + billedMs)) {
    peaked ||= factor.numerator !== factor.denominator;
    milliseconds = reduced({
      numerator: milliseconds.numerator * factor.denominator + BigInt(end - start) * factor.numerator * milliseconds.denominator,
      denominator: milliseconds.denominator * factor.denominator,
    });
  }
  const result = { milliseconds, peaked };
  weighed.set(billedMs, result);
  return result;
}

function reduced({ numerator, denominator }: Ratio): Ratio {
  let [a, b] = [numerator, denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  return a === 0n ? { numerator: 0n, denominator: 1n } : { numerator: numerator / a, denominator: denominator / a };
}

const perGpuHour = (rate: Rate, exchange: Ratio): bigint =>
  divideHalfEven(3600n * rate.nanos * exchange.numerator, rate.quantity * exchange.denominator);

function assumptionsOf({ price, assumed, stale }: Priced, request: QuoteRequest, { fx, billedMs, peaked }: Costed): string[] {
  const texts: string[] = [];
  if (assumed.includes('sku')) texts.push(`${price.sku} is the cheapest SKU with a ${price.gpuModel ?? request.sku}`);
  if (assumed.includes('region')) texts.push(`${price.region ?? 'any region'} is the cheapest region`);
  if (assumed.includes('upfront')) texts.push(`the reservation is paid with ${price.upfront} upfront`);
  if (stale) texts.push('the catalogue no longer lists this price: it is the last one known');
  if (price.gpus !== null && price.gpus > 0 && request.gpus % price.gpus !== 0) texts.push(`${price.sku} has ${price.gpus} GPUs: ${request.gpus} are a share of whole instances`);
  if (price.term !== 'on-demand' && price.term !== 'spot') texts.push('the rate is amortised over the whole term, and the rest of the term is used elsewhere');
  if (price.term === 'spot') texts.push('the spot price of now holds for the whole run, without interruptions');
  if (billedMs !== Math.round(request.hours * HOUR_MS)) texts.push(`the seller bills at least ${price.minimumSeconds} s, in steps of ${price.incrementSeconds} s`);
  if (peaked) texts.push('the peak schedule applies, with the run beginning now');
  if (fx !== null) texts.push(`converted by the exchange rate of ${fx.day}`);
  return texts;
}

/** Every other term where the SKU is, and cheaper regions under the same term. */
function alternativesTo({ price }: Priced, own: Costed, request: QuoteRequest, context: Run): QuoteAlternative[] {
  const { book, at } = context;
  const ask = (term: Term, region: string | null, upfront: Upfront | null): WeighedAlternative | null => {
    const found = book.find({ provider: price.provider, sku: price.sku, gpuModel: null, region, term, component: 'gpu', at, ...(upfront === null ? {} : { upfront }) });
    if ('unpriced' in found || found.stale) return null;
    const costed = costOfRun(found.price, { ...request, currency: own.currency }, context);
    if (costed === null) return null;
    const { upfront: paid, region: where } = found.price;
    return { nanos: costed.nanos, alternative: { term, upfront: paid, region: where, cost: amount(costed.nanos, costed.currency), unitPrice: amount(costed.unitNanos, costed.currency) } };
  };
  const terms = TERMS.filter((term) => term !== price.term).flatMap((term) => ask(term, price.region, null) ?? []);
  const regions = [...(catalogueOf(context.prices).get(price.provider)?.get(price.sku) ?? [])].filter((region) => region !== null && region !== price.region);
  const cheaper = regions.flatMap((region) => ask(price.term, region, price.upfront) ?? [])
    .filter(({ nanos }) => nanos < own.nanos).sort(byCost).slice(0, MOST_REGIONS);
  return [...terms, ...cheaper].sort(byCost).map(({ alternative }) => alternative);
}

interface WeighedAlternative {
  readonly nanos: bigint;
  readonly alternative: QuoteAlternative;
}

const byCost = (a: WeighedAlternative, b: WeighedAlternative): number =>
  a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : (a.alternative.region ?? '') < (b.alternative.region ?? '') ? -1 : 1;

/** Providers, their SKUs, and the regions of each. Made once for a list of prices. */
type Catalogue = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string | null>>>;
const catalogues = new WeakMap<readonly Price[], Catalogue>();

function catalogueOf(prices: readonly Price[]): Catalogue {
  const known = catalogues.get(prices);
  if (known !== undefined) return known;
  const catalogue = new Map<string, Map<string, Set<string | null>>>();
  for (const { provider, sku, region, component } of prices) {
    if (component !== 'gpu') continue;
    const skus = catalogue.get(provider) ?? new Map<string, Set<string | null>>();
    catalogue.set(provider, skus.set(sku, (skus.get(sku) ?? new Set<string | null>()).add(region)));
  }
  catalogues.set(prices, catalogue);
  return catalogue;
}

const WHY: Readonly<Record<UnpricedReason, string>> = {
  'no-price-list': 'no price list of this provider has been read', 'no-sku': 'no SKU is named', 'unknown-sku': 'the provider\'s price lists do not have this SKU',
  'unknown-model': 'no SKU of the provider has this GPU', 'no-component': 'the price lists do not say what a GPU of this SKU costs',
  'no-term': 'the SKU is not sold under this term', 'no-region': 'the SKU is not sold in this region', 'gpu-count-unknown': 'the price list does not say how many GPUs share the price',
  'before-first-price': 'the first known price begins later', withdrawn: 'the SKU has gone from the catalogue', 'no-fx-rate': 'there is no exchange rate to this currency',
  'quantity-unknown': 'the quantity is not known',
};

function noQuote(unpriced: UnpricedReason, { provider, sku }: Question, request: QuoteRequest, { prices }: QuoteContext): NoQuote {
  const catalogue = catalogueOf(prices);
  const skus = catalogue.get(provider);
  const message = `${provider} ${request.sku}: ${WHY[unpriced]}`;
  if (skus === undefined) return { unpriced, message, close: closest(provider, [...catalogue.keys()]) };
  if (unpriced === 'no-region' && sku !== null) return { unpriced, message, close: [...(skus.get(sku) ?? [])].flatMap((region) => region ?? []).sort().slice(0, 2 * MOST_CLOSE) };
  return { unpriced, message, close: closest(request.sku, [...skus.keys()].filter((name) => name !== sku)) };
}

/** The names with the fewest edits to get there, in order. */
export function closest(name: string, names: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const distance = (candidate: string): number => {
    const text = candidate.toLowerCase();
    return editDistance(wanted, text) - (text.includes(wanted) || wanted.includes(text) ? Math.abs(text.length - wanted.length) : 0);
  };
  return names.map((candidate) => ({ candidate, edits: distance(candidate) }))
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1)).slice(0, MOST_CLOSE).map(({ candidate }) => candidate);
}

/** Insertions, deletions and replacements from a to b (Levenshtein 1966). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
