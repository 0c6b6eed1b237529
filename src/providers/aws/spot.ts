/**
 * Spot prices of GPU types over time, by availability zone (DescribeSpotPriceHistory, up to 90 days back).
 *
 * A price says nothing about availability, which stays unknown. Spot has no single price in a region, so the zone is
 * the reading's region.
 */
import { paginateDescribeSpotPriceHistory, type SpotPrice, type _InstanceType } from '@aws-sdk/client-ec2';
import { parseDecimal } from '../../core/decimal.js';
import { nanosOf } from '../../core/money.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import type { SpotReading } from '../../core/price/spot-reading.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes, type TypeGpus } from './gpus.js';

const PERMISSION = 'ec2:DescribeSpotPriceHistory';
export const SPOT_PERMISSIONS: readonly string[] = [TYPE_PERMISSION, PERMISSION];

/** By region. @param since epoch milliseconds; the price that held then comes too @throws Failure */
export const readSpotHistory = (
  clients: Clients,
  types: InstanceTypes,
  since: number,
  partial?: PartialRead,
): AsyncGenerator<readonly SpotReading[]> =>
  eachPart(clients.settings.regions, since, partial, (region, from) => historyOf(clients, types, region, from));

async function* historyOf(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  since: number,
): AsyncGenerator<readonly SpotReading[]> {
  const gpus = await types.withGpus(region);
  if (gpus.size === 0) return;
  const request = {
    StartTime: new Date(since),
    InstanceTypes: [...gpus.keys()] as _InstanceType[],
    ProductDescriptions: ['Linux/UNIX'],
    MaxResults: 1000,
  };
  for await (const page of readingPages(
    PERMISSION,
    paginateDescribeSpotPriceHistory({ client: clients.ec2(region) }, request),
  )) {
    const readings = (page.SpotPriceHistory ?? []).flatMap((point) => readingOf(point, gpus) ?? []);
    if (readings.length > 0) yield readings;
  }
}

function readingOf(
  { AvailabilityZone, InstanceType, SpotPrice: price, Timestamp }: SpotPrice,
  gpus: ReadonlyMap<string, TypeGpus>,
): SpotReading | null {
  if (AvailabilityZone === undefined || InstanceType === undefined || Timestamp === undefined) return null;
  const amount = price === undefined ? null : parseDecimal(price);
  const nanos = amount === null ? null : nanosOf(amount);
  return {
    provider: 'AWS',
    region: AvailabilityZone,
    sku: InstanceType,
    gpuModel: gpus.get(InstanceType)?.model ?? null,
    at: Timestamp.getTime(),
    available: null,
    // The answer names no currency: it is that in which AWS bills the partition.
    price: nanos === null ? null : { nanos, currency: AvailabilityZone.startsWith('cn-') ? 'CNY' : 'USD' },
  };
}
