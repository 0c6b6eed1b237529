/**
 * The meaning of readings of spot: whether a model was available at a place, and the resulting prices of the price
 * book.
 *
 * A reading with only a price says nothing about availability, and one without a price nothing about prices. Nothing is
 * filled in. A meter or a policy knows only the region of a place: if a cloud prices spot by zone, the region's price
 * is that of its most expensive zone.
 */
import { compareRates } from './price-book.js';
import type { Price, PriceEvent } from './price.js';
import { regionOfZone } from './zone.js';

/** Whether spot of a model could be had at a place at an instant, and at what price per instance-hour. */
export interface SpotReading {
  readonly provider: string;
  readonly region: string;
  readonly sku: string;
  readonly gpuModel: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Null: only the price is known. */
  readonly available: boolean | null;
  readonly price: { readonly nanos: bigint; readonly currency: string } | null;
}

/**
 * Whether spot of a GPU model could be had at a place, by any kind of machine. A region of null: wherever the provider
 * is. `at` in epoch milliseconds.
 */
export interface ModelAvailability {
  readonly provider: string;
  readonly region: string | null;
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
 * Prices for the book, one where a price differs from the one before it at the place; of SKUs whose number of GPUs is
 * not known none.
 * @param sizeOf what the price book knows of a SKU; null: nothing
 * @param source the name under which they stand in the book
 */
export function spotPrices(
  readings: readonly SpotReading[],
  sizeOf: (provider: string, sku: string) => MachineSize | null,
  source: string,
): PriceEvent[] {
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
      provider,
      sku,
      region,
      term: 'spot',
      upfront: 'none',
      component: 'gpu',
      gpuModel: reading.gpuModel ?? size.gpuModel,
      gpus: size.gpus,
      rate: { nanos: price.nanos, currency: price.currency, quantity: BigInt(size.gpus) * 3600n, unit: 'gpu-second' },
      effectiveFrom: at,
      effectiveTo: null,
      incrementSeconds: 1,
      minimumSeconds: 60,
      source,
    };
    events.push({ kind: 'price', price: stated });
  }
  return events;
}

/** Of the clouds only AWS prices spot by zone and on demand by region. */
const regionOf = (zone: string): string | null => regionOfZone('AWS', zone);

const placeOf = ({ provider, sku }: Price, region: string): string => `${provider}\u0001${sku}\u0001${region}`;

/**
 * Spot prices of regions, of those of their zones: at every change the most expensive zone's that is known, so that no
 * run there is said to cost less than it may, and no move to spot to save more. Only of regions in which the SKU is
 * sold on demand too.
 * @param known the prices of the book; those of zones, and those on demand, matter
 * @param fresh prices that have just become known: their regions are made, from the first of them on
 */
export function regionalSpotPrices(
  known: readonly Price[],
  fresh: readonly PriceEvent[],
  source: string,
): PriceEvent[] {
  const added = fresh.flatMap((event) => (event.kind === 'price' ? [event.price] : []));
  const since = new Map<string, number>();
  for (const price of added) {
    const region = regionOf(price.region ?? '');
    if (region === null) continue;
    const place = placeOf(price, region);
    since.set(place, Math.min(since.get(place) ?? Infinity, price.effectiveFrom));
  }
  const sold = new Set(
    known.flatMap((price) =>
      price.component === 'gpu' && price.term === 'on-demand' && price.region !== null
        ? [placeOf(price, price.region)]
        : [],
    ),
  );
  const [ofZones, ofRegions] = [new Map<string, Price[]>(), new Map<string, Price[]>()];
  for (const price of new Set([...known, ...added])) {
    if (price.component !== 'gpu' || price.term !== 'spot' || price.source !== source || price.region === null)
      continue;
    const region = regionOf(price.region);
    const place = placeOf(price, region ?? price.region);
    if (!since.has(place) || !sold.has(place)) continue;
    const into = region === null ? ofRegions : ofZones;
    into.set(place, [...(into.get(place) ?? []), price]);
  }
  return [...ofZones].flatMap(([place, prices]) =>
    dearestOver(prices, ofRegions.get(place) ?? [], since.get(place) ?? Infinity),
  );
}

/**
 * The most expensive of some zones at each change from an instant on.
 * @param said what was said of the region before: a zone that comes to be known late may show that it was too little
 */
function dearestOver(prices: readonly Price[], said: readonly Price[], since: number): PriceEvent[] {
  const saidAt = new Map(said.map((price) => [price.effectiveFrom, price]));
  const now = new Map<string | null, Price>();
  const events: PriceEvent[] = [];
  let before: Price | null = null;
  const ordered = [...prices].sort((a, b) => a.effectiveFrom - b.effectiveFrom || compareRates(a.rate, b.rate));
  for (const [at, price] of ordered.entries()) {
    now.set(price.region, price);
    // Zones that change at one instant change together.
    if (ordered[at + 1]?.effectiveFrom === price.effectiveFrom) continue;
    const dearest = [...now.values()].reduce((most, one) => (compareRates(one.rate, most.rate) > 0 ? one : most));
    const region = regionOf(dearest.region ?? '');
    const old = saidAt.get(price.effectiveFrom);
    const differs =
      before === null ||
      compareRates(before.rate, dearest.rate) !== 0 ||
      (old !== undefined && compareRates(old.rate, dearest.rate) < 0);
    if (price.effectiveFrom >= since && differs)
      events.push({ kind: 'price', price: { ...dearest, region, effectiveFrom: price.effectiveFrom } });
    before = dearest;
  }
  return events;
}
