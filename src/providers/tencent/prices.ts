/**
 * Prices of all GPU types of the regions, pay-as-you-go and spot, and what can be had as spot now.
 *
 * A price is that of the account, after its discounts, of the first hours (where a price falls with the time of use,
 * the later steps are not taken: what is accrued is then too high, never too low). A price that all zones of a region
 * share is the region's; otherwise each zone is a region of its own, as in the histories that are imported. There is no
 * API for past spot prices: the history grows by asking. Source: CVM API Reference (2017-03-12),
 * "DescribeZoneInstanceConfigInfos" and data types InstanceTypeQuotaItem and ItemPrice.
 */
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { nanosOf } from '../../core/money.js';
import type { SpotReading } from '../../core/price/spot-reading.js';
import type { Price, PriceEvent } from '../../core/price/price.js';
import { decimalOf, instancePrice, type SeenPrices } from '../rpc.js';
import { CLOUD, type TencentClient } from './client.js';
import { readOffers, type ChargeType, type Offer } from './types.js';

const SOURCE = 'Tencent Cloud DescribeZoneInstanceConfigInfos';
const TERMS: readonly (readonly [ChargeType, 'on-demand' | 'spot'])[] = [
  ['POSTPAID_BY_HOUR', 'on-demand'],
  ['SPOTPAID', 'spot'],
];

const isGpu = ({ gpus }: Offer): boolean => gpus.gpus === null || gpus.gpus > 0;

/** Prices that were first seen since `since`, by region and charge type. @throws Failure */
export const readPrices = (
  client: TencentClient,
  seen: SeenPrices,
  since: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<PriceEvent[]> =>
  eachPart(client.settings.regions, since, partial, (region, own) => {
    const terms = new Map(TERMS.map((term) => [`${region}: ${term[1]}`, term]));
    return eachPart([...terms.keys()], own, partial, async function* (part, from) {
      const [charge, term] = terms.get(part) ?? [];
      if (charge === undefined || term === undefined) return;
      const byType = new Map<string, Offer[]>();
      for (const offer of (await readOffers(client, region, charge)).filter(isGpu))
        byType.set(offer.type, [...(byType.get(offer.type) ?? []), offer]);
      const prices = [...byType.values()]
        .flatMap((offers) => pricesOf(offers, region, term, client.settings.site.currency))
        .map((price) => seen.dated(price, now));
      yield prices.filter(({ effectiveFrom }) => effectiveFrom >= from).map((price) => ({ kind: 'price', price }));
    });
  });

/** One price of the region, or one of each zone where they differ. */
function pricesOf(offers: readonly Offer[], region: string, term: 'on-demand' | 'spot', currency: string): Price[] {
  const prices = offers.flatMap(
    ({ zone, type, gpus, hourly }) =>
      instancePrice(
        {
          provider: CLOUD,
          sku: type,
          region: zone,
          term,
          gpuModel: gpus.model,
          gpus: gpus.gpus,
          effectiveFrom: 0,
          source: SOURCE,
        },
        hourly,
        currency,
      ) ?? [],
  );
  const [first] = prices;
  if (first === undefined) return [];
  const shared = prices.every(({ rate }) => rate.nanos === first.rate.nanos && rate.quantity === first.rate.quantity);
  return shared ? [{ ...first, region }] : prices;
}

/** The present availability of spot, by zone: one reading per type. @throws Failure */
export async function* readSpot(
  client: TencentClient,
  since: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<SpotReading[]> {
  if (now < since) return;
  yield* eachPart(client.settings.regions, since, partial, async function* (region) {
    const offers = (await readOffers(client, region, 'SPOTPAID')).filter(isGpu);
    yield offers.map(({ zone, type, gpus, onSale, hourly }) => {
      const price = decimalOf(hourly);
      const nanos = price === null ? null : nanosOf(price);
      return {
        provider: CLOUD,
        region: zone,
        sku: type,
        gpuModel: gpus.model,
        at: now,
        available: onSale,
        price: nanos === null || nanos <= 0n ? null : { nanos, currency: client.settings.site.currency },
      };
    });
  });
}
