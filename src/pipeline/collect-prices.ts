/**
 * price.collect of a connection: its price list, its commitments on sale and its spot data become prices, offers and
 * readings. A price that was stated before changes nothing; a new price causes the days that it affects to be priced
 * again. A price that is missing from a reading is not withdrawn; only the provider's own statement withdraws it.
 */
import type { CommitmentOffer } from '../core/price/commitment-offer.js';
import type { OfferOnSale } from '../core/action/acting.js';
import { eachPart, RecordedRead } from '../core/partial-read.js';
import type { ProviderConnection } from '../core/ports.js';
import type { Price, PriceEvent } from '../core/price/price.js';
import { planPrices } from '../core/price/plan-rates.js';
import { availabilityOf, regionalSpotPrices, spotPrices, type MachineSize } from '../core/price/spot-reading.js';
import { DAY_MS, HOUR_MS, hourOf } from '../core/time.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import { againSoon, askingAgain, opened, whatOf } from './collecting.js';
import { teamDayItems } from './keys.js';
import { reachingStage, type ApartWork, type Stage } from './stage.js';

/** Prices that were entered late are found so far back. */
const PRICES_OVERLAP_MS = 7 * DAY_MS;
const SPOT_OVERLAP_MS = HOUR_MS;
/** How far back the first reading of spot goes. */
const SPOT_FIRST_MS = 14 * DAY_MS;
/** Readings that are written together. */
const SPOT_BATCH = 20_000;

type Needed = Pick<Stores, 'db' | 'prices' | 'fleet' | 'workloads' | 'collections'>;

export function collectPricesStage(stores: Needed, connections: ReadonlyMap<string, ProviderConnection>): Stage {
  return reachingStage('price.collect', async (call) => {
    const connection = opened(connections, call.partition);
    const what = whatOf(call.key) === 'spot' ? 'spot' : 'prices';
    return askingAgain(stores, { ...call, what }, () =>
      what === 'spot' ? collectSpot(stores, connection, call) : collectPrices(stores, connection, call),
    );
  });
}

type Call = Parameters<ApartWork>[0];
type Save = Awaited<ReturnType<ApartWork>>;

async function collectPrices(
  stores: Needed,
  connection: ProviderConnection,
  { organisation, partition, now }: Call,
): Promise<Save> {
  const collection = { connection: partition, what: 'prices' as const };
  const before = await stores.collections.collectedBefore(stores.db, organisation, collection);
  const from = (readTo: number | null): number => (readTo === null ? 0 : readTo - PRICES_OVERLAP_MS);
  const partial = new RecordedRead(before.lacking, before.to, from);
  const { stated, onSale } = await readStated(connection, from(before.to), partial);
  return async (tx) => {
    // Read before anything is added: a book made from what may be rolled back would be remembered.
    const known = [...(await stores.prices.book(tx, organisation)).prices];
    for (const event of stated) if (event.kind === 'price') known.push(event.price);
    // One look is one statement: its pages do not contradict each other by the order in which they came.
    const fresh = [...(await stores.prices.add(tx, organisation, stated, partition))];
    if (onSale !== undefined) {
      const offers = offersOf(onSale, partition, known);
      await stores.fleet.saveOffers(tx, organisation, partition, offers, now, partial.lacking.length === 0);
      const source = `${partition} savings plans`;
      fresh.push(
        ...(await stores.prices.add(
          tx,
          organisation,
          planPrices(offers, known, hourOf(now), source),
          source,
          'derived',
        )),
      );
    }
    await stores.collections.saveCollected(tx, organisation, collection, now, now, partial.lacking);
    const days = await stores.prices.affected(tx, organisation, fresh);
    return [...teamDayItems('cost.price', days), ...againSoon(collection, partial, now)];
  };
}

interface Stated {
  readonly stated: readonly PriceEvent[];
  /** Absent: the connection has none, or none of them could be read. */
  readonly onSale: readonly CommitmentOffer[] | undefined;
}

/** The readable parts of the price list and of the offers. @throws Failure if neither can be read */
async function readStated(connection: ProviderConnection, since: number, partial: RecordedRead): Promise<Stated> {
  const stated: PriceEvent[] = [];
  let onSale: readonly CommitmentOffer[] | undefined;
  const kinds = [
    ...(connection.prices === undefined ? [] : ['the price list']),
    ...(connection.offers === undefined ? [] : ['commitments on sale']),
  ];
  const reading = eachPart(kinds, since, partial, async function* (kind, from) {
    if (kind === 'the price list') yield* connection.prices?.(from, partial) ?? [];
    else onSale = await connection.offers?.(partial);
  });
  for await (const events of reading) for (const event of events) stated.push(event);
  return { stated, onSale };
}

/**
 * Offers of SKUs that the price book knows: an offer itself states neither its seller nor the GPUs of a unit. A savings
 * plan is identified by the SKUs of its rates.
 */
function offersOf(offers: readonly CommitmentOffer[], connection: string, known: readonly Price[]): OfferOnSale[] {
  const sizeOf = sizes(known);
  const sellers = new Map(known.map(({ sku, provider }) => [sku, provider]));
  return offers.flatMap((offer) => {
    const sku =
      offer.kind === 'savings-plan' ? (offer.rates?.find((rate) => sellers.has(rate.sku))?.sku ?? null) : offer.sku;
    const provider = sku === null ? undefined : sellers.get(sku);
    if (provider === undefined || sku === null) return [];
    return [
      {
        ...offer,
        connection,
        provider,
        gpusPerUnit: offer.kind === 'savings-plan' ? null : (sizeOf(provider, sku)?.gpus ?? null),
      },
    ];
  });
}

type SpotReading = Parameters<typeof availabilityOf>[0][number];

async function collectSpot(
  stores: Needed,
  connection: ProviderConnection,
  { organisation, partition, now }: Call,
): Promise<Save> {
  if (connection.spotHistory === undefined) return async () => [];
  const collection = { connection: partition, what: 'spot' as const };
  const before = await stores.collections.collectedBefore(stores.db, organisation, collection);
  const first = now - SPOT_FIRST_MS;
  const from = (readTo: number | null): number => (readTo === null ? first : readTo - SPOT_OVERLAP_MS);
  const partial = new RecordedRead(before.lacking, before.to, (readTo) => Math.max(first, from(readTo)));
  const found: SpotReading[] = [];
  for await (const readings of connection.spotHistory(from(before.to), partial))
    for (const reading of readings) found.push(reading);
  return async (tx) => {
    const fresh = await saveSpot(stores, tx, organisation, `${partition} spot history`, found);
    await stores.collections.saveCollected(tx, organisation, collection, now, now, partial.lacking);
    const days = await stores.prices.affected(tx, organisation, fresh);
    return [...teamDayItems('cost.price', days), ...againSoon(collection, partial, now)];
  };
}

async function saveSpot(
  stores: Needed,
  tx: Transaction,
  organisation: string,
  source: string,
  read: readonly SpotReading[],
): Promise<PriceEvent[]> {
  const book = await stores.prices.book(tx, organisation);
  const sizeOf = sizes(book.prices);
  // If the price list itself states spot prices, those of the history are not used.
  const listed = new Set(
    book.prices.flatMap((price) =>
      price.term === 'spot' && price.source !== source ? [`${price.provider}\u0001${price.sku}`] : [],
    ),
  );
  const fresh: PriceEvent[] = [];
  for (let at = 0; at < read.length; at += SPOT_BATCH) {
    const batch = read.slice(at, at + SPOT_BATCH);
    await stores.workloads.saveSpot(tx, organisation, availabilityOf(batch));
    const events = spotPrices(
      batch,
      (provider, sku) => (listed.has(`${provider}\u0001${sku}`) ? null : sizeOf(provider, sku)),
      source,
    );
    fresh.push(...(await stores.prices.add(tx, organisation, events, source, 'derived')));
  }
  fresh.push(
    ...(await stores.prices.add(tx, organisation, regionalSpotPrices(book.prices, fresh, source), source, 'derived')),
  );
  return fresh;
}

/** Machine sizes by the price book: the number of GPUs that any price of a SKU states. */
function sizes(prices: readonly Price[]): (provider: string, sku: string) => MachineSize | null {
  const known = new Map<string, MachineSize>();
  for (const { provider, sku, gpus, gpuModel, component } of prices)
    if (component === 'gpu' && gpus !== null) known.set(`${provider}\u0001${sku}`, { gpus, gpuModel });
  return (provider, sku) => known.get(`${provider}\u0001${sku}`) ?? null;
}
