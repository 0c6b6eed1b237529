/**
 * Metered usage without a price that is not GPU time: the entries that are shown beside a sum that lacks them.
 */
import type { Component } from '../price/price.js';
import type { UnpricedReason } from '../price/price-book.js';

export interface UnpricedUsage {
  readonly provider: string;
  readonly sku: string | null;
  readonly component: Component;
  readonly reason: UnpricedReason;
  /** Decimal string, GiB-hours of storage or GiB of traffic; null: it has none. */
  readonly quantity: string | null;
  /** Hours of teams in which it was used. */
  readonly hours: number;
}

/** In words, without a full stop. @param quantityText how a quantity is shown */
export function sayUnpriced(
  { provider, sku, component, reason, quantity, hours }: UnpricedUsage,
  quantityText: (decimal: string) => string,
): string {
  const name = `${provider} ${sku ?? 'without a SKU'}`;
  if (quantity === null) return `${name}, of unknown quantity, in ${hours} hours`;
  return `${quantityText(quantity)} ${component === 'network' ? 'GiB sent' : 'GiB-hours stored'} of ${name} without a price (${reason})`;
}
