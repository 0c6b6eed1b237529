/**
 * Prices of EBS volumes from the Price List Query API: a GB-month as a rate by the second, month by month.
 *
 * AWS charges the part of the month during which a volume existed: 2,000 GB for 12 hours of a 30-day month are 2,000 x
 * 43,200 / 2,592,000 GB-months. So a GB-month costs the same in February and in March, but an hour of it does not: each
 * calendar month (UTC) has its own rate, an exact fraction, and the rates of the neighbouring months are stated. A GB
 * is a GiB here: DescribeVolumes states GiB, and the bill has the same number of GB-months. The invariant: a price of
 * zero, in tiers, in several currencies or in another unit is not a price. Sources: Amazon EBS pricing (the example of
 * a part of a month); AWS re:Post, "How are charges for Amazon EBS volumes calculated on my bill?"; AWS Price List,
 * product family Storage (units GB-Mo and GB-month).
 */
import { paginateGetProducts, type Filter } from '@aws-sdk/client-pricing';
import { z } from 'zod';
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { rateOf } from '../../core/money.js';
import { storageOrTrafficSku } from '../../core/price/aws-usage-type.js';
import type { PriceEvent } from '../../core/price/price.js';
import { periodOf, type Interval } from '../../core/time.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';

const PERMISSION = 'pricing:GetProducts';
const SOURCE = 'AWS Price List Query API';
const UNITS: ReadonlySet<string> = new Set(['GB-Mo', 'GB-month']);

const listed = z.object({
  product: z.object({ attributes: z.object({ usagetype: z.string(), regionCode: z.string() }) }),
  terms: z.object({
    OnDemand: z.record(
      z.string(),
      z.object({
        effectiveDate: z.string(),
        priceDimensions: z.record(
          z.string(),
          z.object({ unit: z.string(), pricePerUnit: z.record(z.string(), z.string()) }),
        ),
      }),
    ),
  }),
});
type Listed = z.infer<typeof listed>;
type ListedTerm = Listed['terms']['OnDemand'][string];

/**
 * The prices of volumes in every region, for the month before `now`, its own and the one after: when a month begins,
 * its rate is known.
 * @param now epoch milliseconds
 * @throws Failure
 */
export function readStoragePrices(
  clients: Clients,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<readonly PriceEvent[]> {
  const months = monthsAround(now);
  const regions = new Map(clients.settings.regions.map((region) => [`${region}: volumes`, region]));
  return eachPart([...regions.keys()], 0, partial, (part) => pricesOf(clients, regions.get(part) ?? '', months));
}

async function* pricesOf(
  clients: Clients,
  region: string,
  months: readonly Interval[],
): AsyncGenerator<readonly PriceEvent[]> {
  const filters: Filter[] = [
    { Type: 'TERM_MATCH', Field: 'productFamily', Value: 'Storage' },
    { Type: 'TERM_MATCH', Field: 'regionCode', Value: region },
  ];
  const pages = paginateGetProducts(
    { client: clients.pricing() },
    { ServiceCode: 'AmazonEC2', FormatVersion: 'aws_v1', Filters: filters, MaxResults: 100 },
  );
  for await (const page of readingPages(PERMISSION, pages)) {
    const events = (page.PriceList ?? []).flatMap((text: unknown) => eventsOf(String(text), months));
    if (events.length > 0) yield events;
  }
}

/** Calendar months (UTC): the last one, this one and the next one. */
function monthsAround(now: number): Interval[] {
  const own = periodOf('month', now, 'UTC');
  return [periodOf('month', own.start - 1, 'UTC'), own, periodOf('month', own.end, 'UTC')];
}

/** Nothing for what is no volume's, or not of the form. */
function eventsOf(text: string, months: readonly Interval[]): PriceEvent[] {
  const product = listed.safeParse(parsed(text));
  if (!product.success) return [];
  const { usagetype, regionCode } = product.data.product.attributes;
  const sku = storageOrTrafficSku(usagetype);
  if (sku?.startsWith('EBS:VolumeUsage') !== true) return [];
  return Object.values(product.data.terms.OnDemand).flatMap((one) => {
    const found = monthlyOf(one);
    const since = Date.parse(one.effectiveDate);
    if (found === null || Number.isNaN(since)) return [];
    return months
      .filter(({ end }) => end > since)
      .map((month) => priceEvent({ sku, region: regionCode, ...found }, month, since));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Monthly {
  readonly amount: Decimal;
  readonly currency: string;
}

/** The price of a GB-month; null if the term does not state exactly one. */
function monthlyOf({ priceDimensions }: ListedTerm): Monthly | null {
  const [dimension, other] = Object.values(priceDimensions);
  if (dimension === undefined || other !== undefined || !UNITS.has(dimension.unit)) return null;
  const [stated, another] = Object.entries(dimension.pricePerUnit);
  if (stated === undefined || another !== undefined) return null;
  const [currency, text] = stated;
  const amount = parseDecimal(text);
  return amount === null || amount.unscaled <= 0n ? null : { amount, currency };
}

function priceEvent(
  { sku, region, amount, currency }: Monthly & { readonly sku: string; readonly region: string },
  { start, end }: Interval,
  since: number,
): PriceEvent {
  return {
    kind: 'price',
    price: {
      provider: 'AWS',
      sku,
      region,
      term: 'on-demand',
      upfront: 'none',
      component: 'storage',
      gpuModel: null,
      gpus: null,
      rate: rateOf(amount, currency, BigInt((end - start) / 1000), 'gib-second'),
      effectiveFrom: Math.max(start, since),
      effectiveTo: end,
      // By the second, at least a minute (Amazon EBS pricing).
      incrementSeconds: 1,
      minimumSeconds: 60,
      source: SOURCE,
    },
  };
}
