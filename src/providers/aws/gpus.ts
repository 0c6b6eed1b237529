/**
 * The GPUs of instance types, as EC2 itself states them (DescribeInstanceTypes, GpuInfo).
 *
 * Keeps no table of its own. The invariant: a type that EC2 did not describe is unknown; only a type that it described
 * without a GPU has none. Source: Amazon EC2 API Reference, data types GpuInfo and GpuDeviceInfo.
 */
import { paginateDescribeInstanceTypes, type GpuDeviceInfo, type InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';

export interface TypeGpus {
  /** As modelOf names it; null if EC2's name is not one that is known here. */
  readonly model: string | null;
  /** Whole GPUs, or a fraction of one (an eighth of an L4 in g6f.large). */
  readonly gpus: number;
  readonly memoryMib: number | null;
  /** It has an instance store (InstanceStorageInfo), whose data a stop loses. */
  readonly localDisks?: true;
}

export const PERMISSION = 'ec2:DescribeInstanceTypes';
/** Values of one filter (Amazon EC2 User Guide, "Filter resources": at most 200 for a request). */
const MOST_TYPES = 100;
/**
 * All GPU families are named so: g4dn, g6e, gr6, p4d, p6-b200 (Amazon EC2 instance types guide, "Accelerated
 * computing").
 */
const GPU_FAMILIES = ['g*', 'p*'];

/**
 * The GPUs of a type as EC2 describes it; null if it has none. Gaudi cards (Habana) are listed there, but are no GPUs.
 */
function gpusOf(type: InstanceTypeInfo): TypeGpus | null {
  const devices = (type.GpuInfo?.Gpus ?? []).filter((device) => device.Manufacturer !== 'Habana');
  const first = devices[0];
  if (first === undefined) return null;
  const gpus = devices.reduce(
    (sum, { Count, LogicalGpuCount, GpuPartitionSize }) =>
      sum + (LogicalGpuCount ?? Count ?? 0) * (GpuPartitionSize ?? 1),
    0,
  );
  const models = new Set(devices.map(deviceModel));
  return {
    model: models.size === 1 ? deviceModel(first) : null,
    gpus,
    memoryMib: type.GpuInfo?.TotalGpuMemoryInMiB ?? null,
    ...((type.InstanceStorageInfo?.TotalSizeInGB ?? 0) > 0 ? { localDisks: true as const } : {}),
  };
}

/**
 * EC2's name and the memory of a whole card: `A100` of 40,960 MiB is an A100-40GB. EC2 puts "Server" into the names of
 * the RTX PRO.
 */
function deviceModel({ Manufacturer = '', Name = '', MemoryInfo, GpuPartitionSize = 1 }: GpuDeviceInfo): string | null {
  const name = `${Manufacturer} ${Name.replace(/\bServer /i, '')}`;
  const mib = MemoryInfo?.SizeInMiB;
  return (
    modelOf(mib === undefined || GpuPartitionSize !== 1 ? name : `${name} ${Math.round(mib / 1024)}GB`) ?? modelOf(name)
  );
}

export class InstanceTypes {
  /** By region and type. What a type is does not change. */
  private readonly known = new Map<string, TypeGpus | null>();

  constructor(private readonly clients: Clients) {}

  /** The GPUs of types that are there in the region; null for one without a GPU. */
  async gpusOf(region: string, types: Iterable<string>): Promise<ReadonlyMap<string, TypeGpus | null>> {
    const wanted = [...new Set(types)];
    const missing = wanted.filter((type) => !this.known.has(`${region} ${type}`));
    for (let at = 0; at < missing.length; at += MOST_TYPES) {
      // Named as InstanceType.N, one type that the region does not know fails the whole request.
      const Values = missing.slice(at, at + MOST_TYPES);
      await this.describe(region, { Filters: [{ Name: 'instance-type', Values }], MaxResults: 100 });
    }
    return new Map(
      wanted.flatMap((type): [string, TypeGpus | null][] => {
        const gpus = this.known.get(`${region} ${type}`);
        return gpus === undefined ? [] : [[type, gpus]];
      }),
    );
  }

  /** Every type with a GPU that the region offers, asked again. */
  async withGpus(region: string): Promise<ReadonlyMap<string, TypeGpus>> {
    const described = await this.describe(region, {
      Filters: [{ Name: 'instance-type', Values: GPU_FAMILIES }],
      MaxResults: 100,
    });
    return new Map(
      [...described].flatMap(([type, gpus]): [string, TypeGpus][] => (gpus === null ? [] : [[type, gpus]])),
    );
  }

  private async describe(
    region: string,
    request: Parameters<typeof paginateDescribeInstanceTypes>[1],
  ): Promise<Map<string, TypeGpus | null>> {
    const described = new Map<string, TypeGpus | null>();
    for await (const page of readingPages(
      PERMISSION,
      paginateDescribeInstanceTypes({ client: this.clients.ec2(region) }, request),
    )) {
      for (const type of page.InstanceTypes ?? []) {
        if (type.InstanceType === undefined) continue;
        described.set(type.InstanceType, gpusOf(type));
        this.known.set(`${region} ${type.InstanceType}`, gpusOf(type));
      }
    }
    return described;
  }
}
