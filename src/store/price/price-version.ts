/**
 * A statement of a price in the form for people and callers: amounts as exact fractions, times as texts.
 */
import { formatMoney } from '../../core/money.js';
import { formatInstant } from '../../core/time.js';
import type { ListedPrice } from './prices.js';

export interface PriceVersion {
  readonly id: string;
  readonly kind: 'price' | 'withdrawn';
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: string | null;
  readonly upfront: string | null;
  readonly component: string | null;
  readonly gpuModel: string | null;
  readonly gpus: number | null;
  readonly price: {
    readonly amount: string;
    readonly currency: string;
    readonly per: string;
    readonly unit: 'gpu-second' | 'gib-second' | 'gib';
  } | null;
  readonly effectiveFrom: string;
  readonly effectiveTo: string | null;
  readonly incrementSeconds: number | null;
  readonly minimumSeconds: number | null;
  readonly source: string;
  readonly origin: ListedPrice['origin'];
  readonly withdrawnAt: string | null;
  readonly withdrawnBy: string | null;
}

export function priceVersion({ id, event, source, ...statement }: ListedPrice): PriceVersion {
  if (event.kind === 'withdrawn') {
    const { kind, provider, sku, region } = event;
    return {
      id,
      kind,
      provider,
      sku,
      region,
      term: null,
      upfront: null,
      component: null,
      gpuModel: null,
      gpus: null,
      price: null,
      effectiveFrom: formatInstant(event.at),
      effectiveTo: null,
      incrementSeconds: null,
      minimumSeconds: null,
      source,
      ...statement,
    };
  }
  const { rate, effectiveFrom, effectiveTo, ...price } = event.price;
  return {
    id,
    kind: 'price',
    ...price,
    price: { amount: formatMoney(rate), currency: rate.currency, per: String(rate.quantity), unit: rate.unit },
    effectiveFrom: formatInstant(effectiveFrom),
    effectiveTo: effectiveTo === null ? null : formatInstant(effectiveTo),
    ...statement,
  };
}
