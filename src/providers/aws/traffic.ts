/**
 * The outgoing traffic of GPU instances, hour by hour, as CloudWatch counts it (AWS/EC2, NetworkOut).
 *
 * The counter covers all interfaces and does not show the destination: the internet, another region, or the same zone,
 * which costs nothing. So it is a quantity without a price in AWS' lists: only people's own price applies, and until
 * then it is listed among the amounts that totals lack. An hour without a data point is unknown, and never zero. Each
 * query costs money (GetMetricData: by the metric), so an hour is queried once. Sources: Amazon EC2 User Guide,
 * "CloudWatch metrics that are available for your instances"; Amazon CloudWatch API Reference, GetMetricData (at most
 * 500 queries).
 */
import { paginateGetMetricData, type MetricDataQuery, type MetricDataResult } from '@aws-sdk/client-cloudwatch';
import { unavailable } from '../../core/errors.js';
import { TRAFFIC_SKU } from '../../core/price/aws-usage-type.js';
import { formatInstant, HOUR_MS, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import type { OwnedInstance } from './instances.js';
import { labelsOf } from './targets.js';

const PERMISSION = 'cloudwatch:GetMetricData';
export const TRAFFIC_PERMISSIONS: readonly string[] = [PERMISSION];

const MOST_QUERIES = 500;

/** Records of whole hours within an interval. @throws Failure */
export async function readTraffic(
  clients: Clients,
  region: string,
  instances: readonly OwnedInstance[],
  { start, end }: Interval,
): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for (let at = 0; at < instances.length; at += MOST_QUERIES) {
    const asked = instances.slice(at, at + MOST_QUERIES);
    const request = {
      StartTime: new Date(start),
      EndTime: new Date(end),
      ScanBy: 'TimestampAscending' as const,
      MetricDataQueries: asked.map(({ instance }, place) => queryOf(instance.InstanceId ?? '', place)),
    };
    const pages = paginateGetMetricData({ client: clients.cloudWatch(region) }, request);
    for await (const page of readingPages(PERMISSION, pages))
      for (const result of page.MetricDataResults ?? []) {
        const one = asked[Number(result.Id?.slice(1))];
        if (one !== undefined) records.push(...recordsOf(result, one, region, clients.settings.account));
      }
  }
  return records;
}

/** An id begins with a small letter. */
const queryOf = (instance: string, place: number): MetricDataQuery => ({
  Id: `i${place}`,
  MetricStat: {
    Metric: { Namespace: 'AWS/EC2', MetricName: 'NetworkOut', Dimensions: [{ Name: 'InstanceId', Value: instance }] },
    Period: HOUR_MS / 1000,
    Stat: 'Sum',
    Unit: 'Bytes',
  },
});

/** @throws Failure unavailable if CloudWatch has an error of its own for the metric */
function recordsOf(
  { StatusCode, Timestamps = [], Values = [] }: MetricDataResult,
  { instance, owner }: OwnedInstance,
  region: string,
  account: string | null,
): UsageRecord[] {
  if (StatusCode === 'InternalError' || StatusCode === 'Forbidden')
    throw unavailable(`AWS did not tell NetworkOut of ${instance.InstanceId ?? ''} (${StatusCode})`);
  const tags = labelsOf(instance.Tags);
  return Timestamps.flatMap((timestamp, at): UsageRecord[] => {
    const bytes = Values[at];
    if (bytes === undefined || !Number.isSafeInteger(Math.round(bytes)) || bytes < 0) return [];
    const start = timestamp.getTime();
    return [
      {
        id: `traffic/${region}/${instance.InstanceId ?? ''}@${formatInstant(start)}`,
        provider: 'AWS',
        account: account ?? owner,
        subAccount: null,
        resource: instance.InstanceId ?? null,
        namespace: null,
        service: null,
        sku: TRAFFIC_SKU,
        region,
        term: null,
        gpuModel: null,
        tags: Object.keys(tags).length === 0 ? null : tags,
        start,
        end: start + HOUR_MS,
        gpuParts: null,
        storageMib: null,
        networkBytes: Math.round(bytes),
        charge: null,
      },
    ];
  });
}
