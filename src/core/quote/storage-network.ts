/**
 * What a run takes besides GPUs: storage that it holds for as long as it is billed, and traffic that leaves over it.
 *
 * Never free for want of a price: what has none, or only one of another region or one that is listed no more, is a
 * reason, and the run has no quote.
 */
import type { FxTable } from '../price/fx.js';
import type { Rate } from '../money.js';
import type { Price } from '../price/price.js';
import type { PriceBook, UnpricedReason } from '../price/price-book.js';
import { BYTES_PER_GIB } from '../usage.js';
import { exchangeTo, through } from './exchange.js';

/** GiB held and sent; absent, null or 0: none. */
export interface StorageNetworkAsked {
  readonly storageGib?: number | null;
  readonly networkGib?: number | null;
}

/** A quantity with its rate in the currency of the quote: MiB held, or bytes sent. */
export interface PricedQuantity {
  readonly quantity: bigint;
  readonly rate: Rate;
}

/** Null: the run has no such part. */
export interface StorageNetwork {
  readonly storage: PricedQuantity | null;
  readonly network: PricedQuantity | null;
}

export interface StorageNetworkUnpriced {
  readonly unpriced: UnpricedReason;
  readonly component: 'storage' | 'network';
}

export const MOST_QUOTED_GIB = 1e9;
const MIB_PER_GIB = 1024;

/**
 * What is asked storageNetwork, at the prices of the place of a GPU price, in the currency of the quote; or which of it has no
 * price, and why.
 */
export function storageNetworkOf(
  { storageGib, networkGib }: StorageNetworkAsked,
  price: Price,
  currency: string,
  { book, fx, at }: { readonly book: PriceBook; readonly fx: FxTable; readonly at: number },
): StorageNetwork | StorageNetworkUnpriced {
  const rateOf = (component: 'storage' | 'network'): Rate | StorageNetworkUnpriced => {
    const { provider, sku, region, term } = price;
    const found = book.find({ provider, sku, gpuModel: null, region, term, component, at });
    if ('unpriced' in found) return { unpriced: found.unpriced, component };
    if (found.stale) return { unpriced: 'withdrawn', component };
    if (found.assumed.includes('region')) return { unpriced: 'no-region', component };
    const exchange = exchangeTo(currency, found.price.rate.currency, fx, at);
    return exchange === null ? { unpriced: 'no-fx-rate', component } : through(found.price.rate, exchange);
  };
  const [held, sent] = [
    Math.round((storageGib ?? 0) * MIB_PER_GIB),
    Math.round((networkGib ?? 0) * Number(BYTES_PER_GIB)),
  ];
  const storage = held === 0 ? null : rateOf('storage');
  if (storage !== null && 'unpriced' in storage) return storage;
  const network = sent === 0 ? null : rateOf('network');
  if (network !== null && 'unpriced' in network) return network;
  return {
    storage: storage && { quantity: BigInt(held), rate: storage },
    network: network && { quantity: BigInt(sent), rate: network },
  };
}
