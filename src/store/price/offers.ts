/**
 * Prices in the form in which policies see them: per GPU, in one currency, at a given time. Computed from the price
 * book; never made up.
 */
import type { EgressOffer, GpuOffer, ReservedOffer } from '../../core/policy/policy.js';
import type { FxTable } from '../../core/price/fx.js';
import type { Rate } from '../../core/money.js';
import type { Price } from '../../core/price/price.js';
import { termHours } from '../../core/price/term.js';
import { hourOf } from '../../core/time.js';
import { TERMS, type Term } from '../../core/usage.js';
import type { CurrentPrices } from './prices.js';

/** Where GPUs are bought. */
export interface PriceKey {
  readonly provider: string;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly region: string | null;
}

const OFFERED: readonly Term[] = ['on-demand', 'spot'];
const COMMITTED = TERMS.filter((term) => termHours(term) !== null);
const MOST_CACHED = 50;

interface Listed {
  readonly offers: readonly GpuOffer[];
  readonly names: ReadonlySet<string>;
}

export class OfferBook {
  private readonly cache = new Map<string, Listed>();
  /** The last egress prices that were asked for. */
  private sent: { readonly name: string; readonly offers: readonly EgressOffer[] } | null = null;

  /** Every SKU of a known model that is on offer, and beside them the own places of the asker under their own names. */
  offers(current: CurrentPrices, currency: string, asOf: number, own: readonly PriceKey[]): readonly GpuOffer[] {
    const { offers, names } = this.listed(current, currency, hourOf(asOf));
    const more = new Map<string, GpuOffer>();
    for (const key of own) {
      for (const offer of OFFERED.flatMap((term) =>
        key.sku === null ? [] : offerOf(current, currency, asOf, key, term),
      )) {
        if (!names.has(nameOf(offer))) more.set(nameOf(offer), offer);
      }
    }
    return more.size === 0 ? offers : [...offers, ...more.values()];
  }

  /** The price of data that leaves each place of the list. */
  egress(current: CurrentPrices, currency: string, asOf: number): readonly EgressOffer[] {
    const { book, fx, prices, version } = current;
    const name = `${version}\u0001${currency}\u0001${hourOf(asOf)}`;
    if (this.sent?.name === name) return this.sent.offers;
    const keys = new Map<string, Pick<Price, 'provider' | 'sku' | 'region'>>();
    for (const { provider, sku, region, component } of prices)
      if (component === 'network') keys.set([provider, sku, region].join('\u0001'), { provider, sku, region });
    const offers = [...keys.values()].flatMap((key): EgressOffer[] => {
      const found = book.find({ ...key, gpuModel: null, term: null, component: 'network', at: hourOf(asOf) });
      // An assumed region means that the place's own price is unknown.
      if ('unpriced' in found || found.stale || found.assumed.includes('region')) return [];
      const rate = inCurrency(found.price, fx, currency, hourOf(asOf));
      return rate === null ? [] : [{ ...key, rate, source: found.price.source }];
    });
    this.sent = { name, offers };
    return offers;
  }

  private listed(current: CurrentPrices, currency: string, at: number): Listed {
    const name = `${current.version}\u0001${currency}\u0001${at}`;
    const cached = this.cache.get(name);
    if (cached !== undefined) return cached;
    const keys = new Map<string, PriceKey & { term: Term }>();
    for (const { provider, sku, region, term, component, gpuModel } of current.prices) {
      if (component === 'gpu' && gpuModel !== null && OFFERED.includes(term))
        keys.set([provider, sku, region, term].join('\u0001'), { provider, sku, region, term, gpuModel });
    }
    const offers = [...keys.values()].flatMap(({ term, ...key }) => offerOf(current, currency, at, key, term));
    if (this.cache.size >= MOST_CACHED) this.cache.clear();
    const listed = { offers, names: new Set(offers.map(nameOf)) };
    this.cache.set(name, listed);
    return listed;
  }
}

const nameOf = ({ provider, sku, region, term }: GpuOffer): string => [provider, sku, region, term].join('\u0001');

function offerOf({ book, fx }: CurrentPrices, currency: string, at: number, key: PriceKey, term: Term): GpuOffer[] {
  const found = book.find({
    provider: key.provider,
    sku: key.sku,
    gpuModel: null,
    region: key.region,
    term,
    component: 'gpu',
    at,
  });
  if ('unpriced' in found) return [];
  const { price } = found;
  const rate = inCurrency(price, fx, currency, at);
  const gpuModel = price.gpuModel ?? key.gpuModel;
  if (rate === null || gpuModel === null || price.gpus === null || key.sku === null) return [];
  // A price without a SKU's own region is used for it only if the list states none.
  if (price.region !== null && price.region !== key.region) return [];
  return [
    {
      provider: price.provider,
      sku: key.sku,
      region: key.region,
      gpuModel,
      term,
      gpus: price.gpus,
      rate,
      source: price.source,
    },
  ];
}

type Upfronts = ReadonlyMap<string, ReadonlySet<Price['upfront']>>;

const offered = (provider: string, sku: string | null, term: Term): string => [provider, sku, term].join('\u0001');

/**
 * The upfront options of GPU prices, by provider, SKU and term: computed once for a list, because every hour of a
 * backtest needs it.
 */
const known = new WeakMap<readonly Price[], Upfronts>();
function upfrontsIn(prices: readonly Price[]): Upfronts {
  const made = known.get(prices);
  if (made !== undefined) return made;
  const all = new Map<string, Set<Price['upfront']>>();
  for (const { provider, sku, term, component, upfront } of prices) {
    if (component !== 'gpu') continue;
    const key = offered(provider, sku, term);
    all.set(key, (all.get(key) ?? new Set()).add(upfront));
  }
  known.set(prices, all);
  return all;
}

/** The on-demand price of a place and the reservations on offer for the same SKU and region. */
export function pricesOf(
  { book, fx, prices }: CurrentPrices,
  key: PriceKey,
  currency: string,
  at: number,
): { readonly onDemand: Rate | null; readonly reserved: ReservedOffer[] } {
  const found = book.find({ ...key, term: 'on-demand', component: 'gpu', at });
  if ('unpriced' in found) return { onDemand: null, reserved: [] };
  // A reservation is for the SKU that the on-demand price is of, in the same region.
  const { sku, region } = found.price;
  const reserved = COMMITTED.flatMap((term) => {
    const upfronts = upfrontsIn(prices).get(offered(key.provider, sku, term)) ?? [];
    return [...upfronts].flatMap((upfront): ReservedOffer[] => {
      const offer = book.find({
        provider: key.provider,
        sku,
        gpuModel: null,
        region,
        term,
        component: 'gpu',
        upfront,
        at,
      });
      if ('unpriced' in offer) return [];
      const rate = inCurrency(offer.price, fx, currency, at);
      return rate === null
        ? []
        : [{ term, upfront, termHours: termHours(term) ?? 8760, rate, source: offer.price.source }];
    });
  });
  return { onDemand: inCurrency(found.price, fx, currency, at), reserved };
}

/**
 * The cost per hour of a number of GPUs under their term, on demand if it is not stated; null: no price, or an unknown
 * number.
 */
export function hourlyNanos(
  { book, fx }: CurrentPrices,
  key: Omit<PriceKey, 'provider'> & { readonly provider: string | null; readonly term?: Term | null },
  gpus: number | null,
  currency: string,
  at: number,
): bigint | null {
  if (key.provider === null || gpus === null) return null;
  const found = book.find({ ...key, provider: key.provider, term: key.term ?? 'on-demand', component: 'gpu', at });
  const rate = 'unpriced' in found ? null : inCurrency(found.price, fx, currency, at);
  // Shares of a GPU are exact to a thousandth.
  return rate === null ? null : (rate.nanos * 3600n * BigInt(Math.round(gpus * 1000))) / (rate.quantity * 1000n);
}

function inCurrency({ rate }: Price, fx: FxTable, currency: string, at: number): Rate | null {
  const used = fx.rate(rate.currency, currency, at);
  if (used === null) return null;
  return {
    ...rate,
    currency,
    nanos: rate.nanos * used.rate.numerator,
    quantity: rate.quantity * used.rate.denominator,
  };
}
