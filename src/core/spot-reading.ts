/**
 * What readings of spot say: whether a model could be had at a place, and which prices of the price book they are.
 *
 * A reading that knows only the price says nothing about availability, and one without a price none about prices. Nothing is filled in.
 */
import type { SpotReading } from './ports.js';
import type { Price, PriceEvent } from './price.js';

/** Whether spot of a GPU model could be had at a place, by any kind of machine. */
export interface ModelAvailability {
  readonly provider: string;
  readonly region: string;
  readonly gpuModel: string;
  readonly at: number;
  readonly available: boolean;
}

/** One statement per place, model and instant: it was to be had where any of its machines was. */
export function availabilityOf(readings: readonly SpotReading[]): ModelAvailability[] {
  const found = new Map<string, ModelAvailability>();
  for (const { provider, region, gpuModel, at, available } of readings) {
    if (gpuModel === null || available === null) continue;
    const key = `${provider}\u0001${region}\u0001${gpuModel}\u0001${at}`;
    found.set(key, { provider, region, gpuModel, at, available: available || (found.get(key)?.available ?? false) });
  }
  return [...found.values()];
}

/** GPUs and model of one machine of a SKU. */
export interface MachineSize {
  readonly gpus: number;
  readonly gpuModel: string | null;
}

/**
 * Prices for the book, one where a price differs from the one before it at the place; of SKUs whose number of GPUs is not known none.
 * @param sizeOf what the price book knows of a SKU; null: nothing
 * @param source the name under which they stand in the book
 */
export function spotPrices(readings: readonly SpotReading[], sizeOf: (provider: string, sku: string) => MachineSize | null, source: string): PriceEvent[] {
  const last = new Map<string, string>();
  const events: PriceEvent[] = [];
  for (const reading of [...readings].sort((a, b) => a.at - b.at)) {
    const { provider, region, sku, at, price } = reading;
    const size = sizeOf(provider, sku);
    if (price === null || price.nanos <= 0n || size === null || size.gpus < 1 || !Number.isInteger(size.gpus)) continue;
    const place = `${provider}\u0001${region}\u0001${sku}`;
    const said = `${price.nanos} ${price.currency}`;
    if (last.get(place) === said) continue;
    last.set(place, said);
    const stated: Price = {
      provider, sku, region, term: 'spot', upfront: 'none', component: 'gpu', gpuModel: reading.gpuModel ?? size.gpuModel, gpus: size.gpus,
      rate: { nanos: price.nanos, currency: price.currency, quantity: BigInt(size.gpus) * 3600n, unit: 'gpu-second' },
      effectiveFrom: at, effectiveTo: null, incrementSeconds: 1, minimumSeconds: 60, source,
    };
    events.push({ kind: 'price', price: stated });
  }
  return events;
}
