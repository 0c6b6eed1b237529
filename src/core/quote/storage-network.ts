/**
 * The storage and traffic of a run: storage that it holds for as long as it is billed, and traffic that leaves over it.
 *
 * Never free for want of a price: without a price, or with only one of another region or one that is no longer listed,
 * there is a reason and the run has no quote. Storage has its own SKUs: the requested one is used, otherwise the
 * machine's own or the general price, otherwise the most expensive one of the place, which is reported, so that a run
 * is never quoted too low.
 */
import type { FxTable } from '../price/fx.js';
import type { Rate } from '../money.js';
import type { Price } from '../price/price.js';
import { compareRates, type PriceBook, type UnpricedReason } from '../price/price-book.js';
import { BYTES_PER_GIB } from '../usage.js';
import { exchangeTo, converted } from './exchange.js';

/** GiB held and sent; absent, null or 0: none. */
export interface StorageNetworkAsked {
  readonly storageGib?: number | null;
  readonly networkGib?: number | null;
  /** A SKU of storage (`EBS:VolumeUsage.gp3`) or how it ends (`gp3`); absent or null: it is not said. */
  readonly storageSku?: string | null;
}

/** A quantity with its rate in the currency of the quote: MiB held, or bytes sent. */
export interface PricedQuantity {
  readonly quantity: bigint;
  readonly rate: Rate;
}

/** Storage, by the SKU by which it is priced; null: the machine's own price, or the general one. */
export interface PricedStorage extends PricedQuantity {
  readonly sku: string | null;
  /** Other SKUs that are sold there and were not chosen. */
  readonly others: readonly string[];
}

/** Null: the run has no such part. */
export interface StorageNetwork {
  readonly storage: PricedStorage | null;
  readonly network: PricedQuantity | null;
}

export interface StorageNetworkUnpriced {
  readonly unpriced: UnpricedReason;
  readonly component: 'storage' | 'network';
  /** SKUs of storage that are sold there, where the one that was asked for is not among them. */
  readonly sold?: readonly string[];
}

export const MOST_QUOTED_GIB = 1e9;
const MIB_PER_GIB = 1024;

/** The place of a GPU price, whose storage and traffic are looked for, and when. */
interface Place {
  readonly price: Price;
  readonly currency: string;
  readonly book: PriceBook;
  readonly fx: FxTable;
  readonly at: number;
}

/**
 * What is asked for, at the prices of the place of a GPU price, in the currency of the quote; or which of it has no
 * price, and why.
 */
export function storageNetworkOf(
  { storageGib, networkGib, storageSku }: StorageNetworkAsked,
  price: Price,
  currency: string,
  { book, fx, at }: { readonly book: PriceBook; readonly fx: FxTable; readonly at: number },
): StorageNetwork | StorageNetworkUnpriced {
  const place: Place = { price, currency, book, fx, at };
  const [held, sent] = [
    Math.round((storageGib ?? 0) * MIB_PER_GIB),
    Math.round((networkGib ?? 0) * Number(BYTES_PER_GIB)),
  ];
  const storage = held === 0 ? null : storageOf(storageSku ?? null, place);
  if (storage !== null && 'unpriced' in storage) return storage;
  const network = sent === 0 ? null : rateOf('network', price.sku, place);
  if (network !== null && 'unpriced' in network) return network;
  return {
    storage: storage && { quantity: BigInt(held), ...storage },
    network: network && { quantity: BigInt(sent), rate: network },
  };
}

function rateOf(
  component: 'storage' | 'network',
  sku: string,
  { price: { provider, region, term }, currency, book, fx, at }: Place,
): Rate | StorageNetworkUnpriced {
  const found = book.find({ provider, sku, gpuModel: null, region, term, component, at });
  if ('unpriced' in found) return { unpriced: found.unpriced, component };
  if (found.stale) return { unpriced: 'withdrawn', component };
  if (found.assumed.includes('region')) return { unpriced: 'no-region', component };
  const exchange = exchangeTo(currency, found.price.rate.currency, fx, at);
  return exchange === null ? { unpriced: 'no-fx-rate', component } : converted(found.price.rate, exchange);
}

type StorageRate = Omit<PricedStorage, 'quantity'>;

function storageOf(asked: string | null, place: Place): StorageRate | StorageNetworkUnpriced {
  const own = asked === null ? rateOf('storage', place.price.sku, place) : null;
  if (own !== null && (!('unpriced' in own) || own.unpriced !== 'no-component'))
    return 'unpriced' in own ? own : { rate: own, sku: null, others: [] };
  const sold = soldAt(place);
  if (asked === null) {
    const [dearest, ...others] = sold.toSorted((a, b) => compareRates(b.rate, a.rate) || (a.sku < b.sku ? -1 : 1));
    if (dearest === undefined) return own ?? { unpriced: 'no-component', component: 'storage' };
    return { ...dearest, others: others.map(({ sku }) => sku).sort() };
  }
  const [named, another] = sold.filter(({ sku }) => isNamed(sku, asked));
  if (named !== undefined && another === undefined) return { ...named, others: [] };
  return { unpriced: 'unknown-sku', component: 'storage', sold: sold.map(({ sku }) => sku) };
}

/** SKUs of storage with a price at the place; what is sold under a machine's name is that machine's. */
function soldAt(place: Place): { readonly sku: string; readonly rate: Rate }[] {
  const { book, price } = place;
  const machines = new Set(book.skusOf(price.provider, 'gpu'));
  return book.skusOf(price.provider, 'storage').flatMap((sku) => {
    const rate = machines.has(sku) ? null : rateOf('storage', sku, place);
    return rate === null || 'unpriced' in rate ? [] : [{ sku, rate }];
  });
}

/** By its whole name, or by its last word. */
function isNamed(sku: string, asked: string): boolean {
  const [name, wanted] = [sku.toLowerCase(), asked.trim().toLowerCase()];
  return name === wanted || name.endsWith(`.${wanted}`) || name.endsWith(`:${wanted}`);
}
