/**
 * Spot prices of GPU sizes over the last ninety days, from Azure Resource Graph.
 *
 * Returns prices, never availability: only a request for a machine shows whether Azure has one. The invariant: an
 * unreadable row is skipped, and hides no other. Source: learn.microsoft.com, "Use Azure Spot Virtual Machines",
 * pricing and eviction history (table SpotResources, type microsoft.compute/skuspotpricehistory, prices in US dollars);
 * Resource Graph REST API, "Resources" (pages of at most 1,000 rows).
 */
import { z } from 'zod';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { nanosOf } from '../../core/money.js';
import type { SpotReading } from '../../core/price/spot-reading.js';
import { decimalOf, orNull } from '../rpc.js';
import type { AzureClient } from './client.js';
import { PROVIDER } from './machines.js';
import { OPERATIONS } from './operations.js';
import { SIZES_PERMISSION, type Size, type Sizes } from './sizes.js';

export const SPOT_PERMISSIONS: readonly string[] = [SIZES_PERMISSION, OPERATIONS.graph.permission];

const ROWS = 1000;
const MOST_PAGES = 50;
/** A row of the answer to the question below. */
const ROW = z.object({
  skuName: z.string(),
  location: z.string(),
  spotPrices: z.array(z.object({ priceUSD: z.number(), effectiveDate: z.string() })),
});

const quoted = (words: Iterable<string>): string => [...words].map((word) => `'${word}'`).join(', ');

/** By region. @throws Failure */
export const readSpotHistory = (
  client: AzureClient,
  sizes: Sizes,
  since: number,
  partial?: PartialRead,
): AsyncGenerator<readonly SpotReading[]> =>
  eachPart(client.settings.regions, since, partial, (region, from) => historyOf(client, sizes, region, from));

async function* historyOf(
  client: AzureClient,
  sizes: Sizes,
  region: string,
  since: number,
): AsyncGenerator<readonly SpotReading[]> {
  const { subscriptions } = client.settings;
  const table = await sizes.ofAny(region);
  if (table.size === 0) return;
  const query = [
    'SpotResources',
    "where type =~ 'microsoft.compute/skuspotpricehistory/ostype/location'",
    `where sku.name in~ (${quoted(table.keys())})`,
    "where properties.osType =~ 'linux'",
    `where location =~ '${region}'`,
    'project skuName = tostring(sku.name), location, spotPrices = properties.spotPrices',
    'order by skuName asc',
  ].join(' | ');
  let $skipToken: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const options = { $top: ROWS, resultFormat: 'objectArray', ...($skipToken === null ? {} : { $skipToken }) };
    const reply: z.output<typeof OPERATIONS.graph.reply> = await client.ask(OPERATIONS.graph, {
      subscriptions,
      query,
      options,
    });
    const readings = reply.data.flatMap((row) => readingsOf(row, table, region, since));
    if (readings.length > 0) yield readings;
    $skipToken = orNull(reply.$skipToken);
    if ($skipToken === null) break;
  }
}

function readingsOf(row: unknown, table: ReadonlyMap<string, Size>, region: string, since: number): SpotReading[] {
  const parsed = ROW.safeParse(row).data;
  const size = table.get(parsed?.skuName.toLowerCase() ?? '');
  if (parsed === undefined || size === undefined) return [];
  return parsed.spotPrices.flatMap(({ priceUSD, effectiveDate }): SpotReading[] => {
    const at = Date.parse(effectiveDate);
    const price = decimalOf(priceUSD);
    const nanos = price === null ? null : nanosOf(price);
    if (Number.isNaN(at) || at < since || nanos === null || nanos <= 0n) return [];
    return [
      {
        provider: PROVIDER,
        region,
        sku: size.name,
        gpuModel: size.model,
        at,
        available: null,
        price: { nanos, currency: 'USD' },
      },
    ];
  });
}
