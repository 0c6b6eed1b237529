/**
 * AWS' metered usage other than machines: the hours of volumes, and the outgoing traffic of GPU instances.
 *
 * The invariant: an hour is metered once, in the first reading after it is over (and after CloudWatch has it), by the
 * volumes and instances of that time. A reading within an hour that was already read sends AWS no request.
 */
import { eachPart, orLacking, type PartialRead } from '../../core/partial-read.js';
import { HOUR_MS, hourOf, MINUTE_MS, type Interval } from '../../core/time.js';
import type { RecordBatch, UsageRecord } from '../../core/usage.js';
import type { Clients } from './clients.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes } from './gpus.js';
import { PERMISSION as INSTANCE_PERMISSION, readInstances, type OwnedInstance } from './instances.js';
import { readTraffic, TRAFFIC_PERMISSIONS } from './traffic.js';
import { readVolumes, recordsOf, VOLUME_PERMISSIONS } from './volumes.js';

export const USAGE_PERMISSIONS: readonly string[] = [
  ...VOLUME_PERMISSIONS,
  INSTANCE_PERMISSION,
  TYPE_PERMISSION,
  ...TRAFFIC_PERMISSIONS,
];

/** Data points of basic monitoring are of five minutes, and come some minutes late. */
const TRAFFIC_SETTLES_MS = 15 * MINUTE_MS;

/** The query; `meteredTo` is the end of the last kept reading, null if there was none. */
export interface Asked {
  readonly from: number;
  readonly to: number;
  readonly meteredTo: number | null;
}

/**
 * The hours of [from, to) that are over and were not metered before, by region.
 * @throws Failure
 */
export const readUsage = (
  clients: Clients,
  types: InstanceTypes,
  asked: Asked,
  partial?: PartialRead,
): AsyncGenerator<RecordBatch> =>
  eachPart(clients.settings.regions, asked.from, partial, (region) => usageOf(clients, types, region, asked, partial));

/** A part that lags behind is asked for from there on, as if that before had ended there. */
const lagging = (asked: Asked, part: string, partial?: PartialRead): Asked => {
  const behind = partial?.resumeFrom(part) ?? null;
  return behind === null ? asked : { ...asked, from: Math.min(asked.from, behind), meteredTo: behind };
};

async function* usageOf(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  asked: Asked,
  partial?: PartialRead,
): AsyncGenerator<RecordBatch> {
  const traffic = `${region}: traffic`;
  const own = lagging(asked, region, partial);
  const hours = hoursBetween(own, 0);
  const sent = clients.settings.traffic ? hoursBetween(lagging(own, traffic, partial), TRAFFIC_SETTLES_MS) : EMPTY;
  if (isEmpty(hours) && isEmpty(sent)) return;
  const instances = await readInstances(clients, region, { MaxResults: 1000 });
  const byId = new Map(instances.map((one) => [one.instance.InstanceId ?? '', one]));
  // Instances are the account's own; one that is shared with it is not listed.
  const account = clients.settings.account ?? instances[0]?.owner ?? null;
  const place = { region, account, instances: byId };
  const records: UsageRecord[] = [];
  if (!isEmpty(hours))
    for (const volume of await readVolumes(clients, region)) records.push(...recordsOf(volume, hours, place));
  if (!isEmpty(sent)) {
    const read = async (): Promise<UsageRecord[]> =>
      readTraffic(clients, region, await withGpus(types, region, instances), sent);
    records.push(...(await orLacking(partial, traffic, read, [])));
  }
  if (records.length > 0) yield { records, rejects: [] };
}

const EMPTY: Interval = { start: 0, end: 0 };
const isEmpty = ({ start, end }: Interval): boolean => start >= end;

/** Whole hours of [from, to) that were over `lateMs` ago, but not yet at the reading before. */
function hoursBetween({ from, to, meteredTo }: Asked, lateMs: number): Interval {
  const first = from === hourOf(from) ? from : hourOf(from) + HOUR_MS;
  const start = meteredTo === null ? first : Math.max(first, hourOf(meteredTo - lateMs));
  return { start, end: hourOf(to - lateMs) };
}

async function withGpus(
  types: InstanceTypes,
  region: string,
  instances: readonly OwnedInstance[],
): Promise<OwnedInstance[]> {
  const gpus = await types.gpusOf(
    region,
    instances.flatMap(({ instance }) => instance.InstanceType ?? []),
  );
  // A type that EC2 did not describe may have GPUs.
  return instances.filter(({ instance }) => gpus.get(instance.InstanceType ?? '') !== null);
}
