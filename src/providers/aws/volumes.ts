/**
 * EBS volumes as metered storage: the hours of each volume, at its size and type in that hour.
 *
 * A volume is billed from its creation until it is deleted, attached or not, whether its machine runs or is stopped.
 * The invariant: only whole hours of existing volumes are metered, each once, so that the meter is at most an hour
 * short and never long. A modification counts from its start; before it the volume has AWS' stated previous values (of
 * the latest modification, the only one that AWS reports). Charges other than the size (provisioned IOPS and
 * throughput, requests of magnetic volumes) fit no unit of the cost model: they are metered as usage without a
 * quantity, so that they have no price and are listed among the amounts that totals lack. Sources: Amazon EC2 API
 * Reference, DescribeVolumes and DescribeVolumesModifications; Amazon EBS User Guide, "Amazon EBS volume types" (what
 * gp3 includes) and "Modify an Amazon EBS volume using Elastic Volumes operations" (the new configuration is charged
 * from the start of the modification).
 */
import {
  paginateDescribeVolumes,
  paginateDescribeVolumesModifications,
  type Volume,
  type VolumeModification,
} from '@aws-sdk/client-ec2';
import { formatInstant, HOUR_MS, hourOf, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import type { OwnedInstance } from './instances.js';
import { GROUP_TAG, labelsOf } from './targets.js';

const PERMISSION = 'ec2:DescribeVolumes';
const MODIFICATIONS_PERMISSION = 'ec2:DescribeVolumesModifications';
export const VOLUME_PERMISSIONS: readonly string[] = [PERMISSION, MODIFICATIONS_PERMISSION];

const MIB_PER_GIB = 1024;
/** Included with every gp3 volume (Amazon EBS User Guide, "General Purpose SSD volumes"). */
const GP3_INCLUDED = { iops: 3000, throughput: 125 };
/** Provisioned IOPS of io2 above these are of SKUs of their own (Amazon EBS pricing). */
const IO2_TIERS = [32_000, 64_000] as const;

/** The charged properties of a volume, over a period. */
export interface VolumeShape {
  readonly type: string;
  readonly gib: number | null;
  readonly iops: number | null;
  /** MiB a second. */
  readonly throughput: number | null;
}

/** A volume with the latest modification of it that did not fail. */
export interface ModifiedVolume {
  readonly volume: Volume;
  readonly modification: VolumeModification | null;
}

/** Volumes of a region, all pages. @throws Failure */
export async function readVolumes(clients: Clients, region: string): Promise<ModifiedVolume[]> {
  const client = clients.ec2(region);
  const latest = new Map<string, VolumeModification>();
  const changes = paginateDescribeVolumesModifications({ client }, { MaxResults: 500 });
  for await (const page of readingPages(MODIFICATIONS_PERMISSION, changes))
    for (const one of page.VolumesModifications ?? []) {
      const known = latest.get(one.VolumeId ?? '');
      if (one.ModificationState !== 'failed' && startOf(one) > (known === undefined ? -Infinity : startOf(known)))
        latest.set(one.VolumeId ?? '', one);
    }
  const found: ModifiedVolume[] = [];
  for await (const page of readingPages(PERMISSION, paginateDescribeVolumes({ client }, { MaxResults: 500 })))
    for (const volume of page.Volumes ?? [])
      found.push({ volume, modification: latest.get(volume.VolumeId ?? '') ?? null });
  return found;
}

const startOf = ({ StartTime }: VolumeModification): number => StartTime?.getTime() ?? -Infinity;

/** Where volumes are, and whose. */
export interface VolumePlace {
  readonly region: string;
  /** Null: neither the settings nor the machines name it. */
  readonly account: string | null;
  /** By instance id: what a volume is attached to. */
  readonly instances: ReadonlyMap<string, OwnedInstance>;
}

/**
 * The hours of a volume within a half-open interval of whole hours, and beside them what has no quantity. A volume that
 * is being made, or that failed to be, is not billed, one that is being deleted no more.
 */
export function recordsOf(one: ModifiedVolume, within: Interval, place: VolumePlace): UsageRecord[] {
  const { volume } = one;
  const { VolumeId: id, CreateTime, State } = volume;
  if (id === undefined || CreateTime === undefined || (State !== 'available' && State !== 'in-use')) return [];
  const made = CreateTime.getTime();
  return piecesOf(one).flatMap(({ start, end, shape }) => {
    const records: UsageRecord[] = [];
    const from = Math.max(start, made, within.start);
    const to = Math.min(end, within.end);
    for (let at = from; at < to; at = hourOf(at) + HOUR_MS) {
      const until = Math.min(hourOf(at) + HOUR_MS, to);
      const held = recordOf(one, id, at, until, place);
      const storageMib = shape.gib === null ? null : shape.gib * MIB_PER_GIB;
      records.push({ ...held, id: held.id, sku: storageSku(shape.type), storageMib });
      for (const sku of performanceSkus(shape))
        records.push({ ...held, id: `${held.id} ${sku}`, sku, storageMib: null });
    }
    return records;
  });
}

interface Piece extends Interval {
  readonly shape: VolumeShape;
}

/**
 * The past and present state of a volume; before its latest modification it had that modification's original values.
 */
function piecesOf({ volume, modification }: ModifiedVolume): Piece[] {
  const now: VolumeShape = {
    type: volume.VolumeType ?? '',
    gib: volume.Size ?? null,
    iops: volume.Iops ?? null,
    throughput: volume.Throughput ?? null,
  };
  const changedAt = modification === null ? -Infinity : startOf(modification);
  if (modification === null || changedAt === -Infinity) return [{ start: -Infinity, end: Infinity, shape: now }];
  const before: VolumeShape = {
    type: modification.OriginalVolumeType ?? now.type,
    gib: modification.OriginalSize ?? null,
    iops: modification.OriginalIops ?? null,
    throughput: modification.OriginalThroughput ?? null,
  };
  // While it goes on, what DescribeVolumes shows may still be what the volume was.
  const after: VolumeShape = {
    type: modification.TargetVolumeType ?? now.type,
    gib: modification.TargetSize ?? now.gib,
    iops: modification.TargetIops ?? now.iops,
    throughput: modification.TargetThroughput ?? now.throughput,
  };
  return [
    { start: -Infinity, end: changedAt, shape: before },
    { start: changedAt, end: Infinity, shape: after },
  ];
}

/** AWS' names in the price list and on the bill: io1 is `piops` there, magnetic volumes have no suffix. */
function storageSku(type: string): string {
  return type === 'standard' ? 'EBS:VolumeUsage' : `EBS:VolumeUsage.${suffixOf(type)}`;
}

const suffixOf = (type: string): string => (type === 'io1' ? 'piops' : type);

/** SKUs of what is charged for a volume apart from its size. */
function performanceSkus({ type, iops, throughput }: VolumeShape): string[] {
  switch (type) {
    case 'gp3':
      return [
        ...(iops !== null && iops > GP3_INCLUDED.iops ? ['EBS:VolumeP-IOPS.gp3'] : []),
        ...(throughput !== null && throughput > GP3_INCLUDED.throughput ? ['EBS:VolumeP-Throughput.gp3'] : []),
      ];
    case 'io1':
      return ['EBS:VolumeP-IOPS.piops'];
    case 'io2':
      return [
        'EBS:VolumeP-IOPS.io2',
        ...IO2_TIERS.flatMap((above, tier) =>
          iops !== null && iops > above ? [`EBS:VolumeP-IOPS.io2.tier${tier + 2}`] : [],
        ),
      ];
    case 'standard':
      return ['EBS:VolumeIOUsage'];
    default:
      return [];
  }
}

/** A volume that says nothing of its own under a key has the tag of the machine that it is attached to. */
function recordOf(
  { volume }: ModifiedVolume,
  id: string,
  start: number,
  end: number,
  { region, account, instances }: VolumePlace,
): UsageRecord {
  const machine = (volume.Attachments ?? []).map(({ InstanceId = '' }) => instances.get(InstanceId)).find(isThere);
  // A volume is no member of its machine's scaling group.
  const { [GROUP_TAG]: _, ...inherited } = labelsOf(machine?.instance.Tags);
  const tags = { ...inherited, ...labelsOf(volume.Tags) };
  return {
    id: `volume/${region}/${id}@${formatInstant(start)}`,
    provider: 'AWS',
    account: account ?? volume.OwnerId ?? null,
    subAccount: null,
    resource: id,
    namespace: null,
    service: null,
    sku: null,
    region: regionOf(volume, region),
    term: null,
    gpuModel: null,
    tags: Object.keys(tags).length === 0 ? null : tags,
    start,
    end,
    gpuParts: null,
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}

const isThere = <T>(one: T | undefined): one is T => one !== undefined;

/** Local Zones have prices of their own, under their zone's name without its letter (`us-west-2-lax-1`). */
const regionOf = ({ AvailabilityZone }: Volume, region: string): string =>
  AvailabilityZone === undefined ? region : AvailabilityZone.replace(/(?<=\d)[a-z]$/, '');
