/**
 * What AWS meters besides machines: the hours of volumes, and what GPU instances send.
 *
 * The invariant: an hour is metered once, in the first look after it is over (and after CloudWatch has it), by what is
 * there then. A look within an hour that was looked at before asks AWS nothing.
 */
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

/**
 * The hours of [from, to) that are over and were not metered before.
 * @param meteredTo up to when a look was kept before; null: none was
 * @throws Failure
 */
export async function* readUsage(
  clients: Clients,
  types: InstanceTypes,
  from: number,
  to: number,
  meteredTo: number | null,
): AsyncGenerator<RecordBatch> {
  const hours = hoursBetween(from, to, meteredTo, 0);
  const sent = clients.settings.traffic ? hoursBetween(from, to, meteredTo, TRAFFIC_SETTLES_MS) : EMPTY;
  if (isEmpty(hours) && isEmpty(sent)) return;
  for (const region of clients.settings.regions) {
    const instances = await readInstances(clients, region, { MaxResults: 1000 });
    const byId = new Map(instances.map((one) => [one.instance.InstanceId ?? '', one]));
    // Instances are the account's own; one that is shared with it is not listed.
    const account = clients.settings.account ?? instances[0]?.owner ?? null;
    const place = { region, account, instances: byId };
    const records: UsageRecord[] = [];
    if (!isEmpty(hours))
      for (const volume of await readVolumes(clients, region)) records.push(...recordsOf(volume, hours, place));
    if (!isEmpty(sent)) {
      const machines = await withGpus(types, region, instances);
      records.push(...(await readTraffic(clients, region, machines, sent)));
    }
    if (records.length > 0) yield { records, rejects: [] };
  }
}

const EMPTY: Interval = { start: 0, end: 0 };
const isEmpty = ({ start, end }: Interval): boolean => start >= end;

/** Whole hours of [from, to) that were over `lateMs` ago, but not yet at the look before. */
function hoursBetween(from: number, to: number, meteredTo: number | null, lateMs: number): Interval {
  const first = from === hourOf(from) ? from : hourOf(from) + HOUR_MS;
  const start = meteredTo === null ? first : Math.max(first, hourOf(meteredTo - lateMs));
  return { start, end: hourOf(to - lateMs) };
}

async function withGpus(
  types: InstanceTypes,
  region: string,
  instances: readonly OwnedInstance[],
): Promise<OwnedInstance[]> {
  const gpus = await types.of(
    region,
    instances.flatMap(({ instance }) => instance.InstanceType ?? []),
  );
  // A type that EC2 did not describe may have GPUs.
  return instances.filter(({ instance }) => gpus.get(instance.InstanceType ?? '') !== null);
}
