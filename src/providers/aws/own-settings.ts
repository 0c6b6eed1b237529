/**
 * What an instance has of its own beside its launch template, read when another like it is started: the sizes and types
 * of its volumes, its user data, and the highest price that its spot request pays.
 *
 * User data holds secrets: it goes from EC2 to the request for the new instance, and nowhere else (no log, no answer, no
 * table). The invariant: what could not be read is named, never guessed. Sources: Amazon EC2 API Reference,
 * "DescribeInstanceAttribute" (userData), "DescribeVolumes", "DescribeSpotInstanceRequests" (SpotPrice), "RunInstances"
 * and data type EbsBlockDevice (iops of gp3, io1 and io2, throughput of gp3 alone).
 */
import {
  DescribeInstanceAttributeCommand,
  DescribeVolumesCommand,
  type EbsBlockDevice,
  type Instance,
  type ResponseLaunchTemplateData,
  type RunInstancesCommandInput,
  type Volume,
} from '@aws-sdk/client-ec2';
import { Failure } from '../../core/errors.js';
import type { Clients } from './clients.js';
import { reading } from './failures.js';
import { requestsOf } from './spot-requests.js';

const VOLUMES = 'ec2:DescribeVolumes';
const ATTRIBUTE = 'ec2:DescribeInstanceAttribute';
/** Asked with the credentials for acting: who reads the fleet needs no user data. The others are the fleet's own. */
export const OWN_PERMISSIONS: readonly string[] = [ATTRIBUTE];

export interface Own {
  /** Undefined: as the template and the image say. */
  readonly volumes: RunInstancesCommandInput['BlockDeviceMappings'];
  readonly userData: string | undefined;
  readonly maxPrice: string | undefined;
  /** What could not be read, each as a clause. */
  readonly lacks: readonly string[];
}

export const NOTHING_OWN: Own = { volumes: undefined, userData: undefined, maxPrice: undefined, lacks: [] };

/** @throws Failure where EC2 cannot be asked now: it is asked again before anything is started */
export async function ownOf(
  clients: Clients,
  region: string,
  instance: Instance,
  template: ResponseLaunchTemplateData,
): Promise<Own> {
  const lacks: string[] = [];
  const orLacks = async <T>(what: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Failure) || error.kind === 'unavailable') throw error;
      lacks.push(`${what} (${error.message})`);
      return null;
    }
  };
  const volumes = await orLacks("its volumes are the template's", () => volumesOf(clients, region, instance));
  const userData = await orLacks("its user data is the template's", () => userDataOf(clients, region, instance));
  const maxPrice = await orLacks('no highest price of its own is set', () => maxPriceOf(clients, region, instance));
  if (volumes?.length === 0 && (instance.BlockDeviceMappings ?? []).length > 0)
    lacks.push("its volumes are the template's: EC2 tells no more of those of the old one");
  return {
    volumes: volumes === null ? undefined : mappingsOf(instance, template, volumes),
    userData: userData ?? undefined,
    maxPrice: maxPrice ?? undefined,
    lacks,
  };
}

async function volumesOf(clients: Clients, region: string, { InstanceId = '' }: Instance): Promise<Volume[]> {
  const command = new DescribeVolumesCommand({ Filters: [{ Name: 'attachment.instance-id', Values: [InstanceId] }] });
  return (await reading(VOLUMES, () => clients.ec2(region).send(command))).Volumes ?? [];
}

/** Base64, as RunInstances takes it. Of what is terminated EC2 tells none. */
async function userDataOf(clients: Clients, region: string, { InstanceId }: Instance): Promise<string | null> {
  const command = new DescribeInstanceAttributeCommand({ InstanceId, Attribute: 'userData' });
  return (await reading(ATTRIBUTE, () => clients.ec2(region, 'act').send(command))).UserData?.Value ?? null;
}

/**
 * Whether its owner keeps it from being ended (termination protection); of what has ended, and where that may not be
 * asked, nothing is known against it.
 * @throws Failure where EC2 cannot be asked now
 */
export async function isKeptFromEnding(
  clients: Clients,
  region: string,
  { InstanceId, State }: Instance,
): Promise<boolean> {
  if (State?.Name === 'terminated' || State?.Name === 'shutting-down') return false;
  const command = new DescribeInstanceAttributeCommand({ InstanceId, Attribute: 'disableApiTermination' });
  try {
    const answer = await reading(ATTRIBUTE, () => clients.ec2(region, 'act').send(command));
    return answer.DisableApiTermination?.Value === true;
  } catch (error) {
    if (!(error instanceof Failure) || error.kind === 'unavailable') throw error;
    return false;
  }
}

async function maxPriceOf(clients: Clients, region: string, instance: Instance): Promise<string | null> {
  const { InstanceLifecycle, SpotInstanceRequestId: id } = instance;
  if (InstanceLifecycle !== 'spot' || id === undefined) return null;
  return (await requestsOf(clients, region, [id])).get(id)?.SpotPrice ?? null;
}

/**
 * All mappings of the template, as those of a request may replace them, with the sizes and types that the volumes have
 * that end with the instance. One that is kept is not made anew.
 */
function mappingsOf(
  { RootDeviceName }: Instance,
  { BlockDeviceMappings: given = [] }: ResponseLaunchTemplateData,
  volumes: readonly Volume[],
): Own['volumes'] {
  if (volumes.length === 0) return undefined;
  const own = new Map(
    volumes.flatMap((volume) => {
      const attachment = volume.Attachments?.[0];
      return attachment?.Device === undefined || attachment.DeleteOnTermination === false
        ? []
        : [[attachment.Device, ebsOf(volume)] as const];
    }),
  );
  const devices = [...new Set([...given.flatMap(({ DeviceName }) => DeviceName ?? []), RootDeviceName ?? []].flat())];
  const mappings = devices.flatMap((DeviceName) => {
    const before = given.find((one) => one.DeviceName === DeviceName);
    const ebs = own.get(DeviceName);
    if (ebs === undefined) return before === undefined ? [] : [before];
    return [{ ...before, DeviceName, Ebs: { SnapshotId: before?.Ebs?.SnapshotId, ...ebs } }];
  });
  return mappings.length === 0 ? undefined : (mappings as Own['volumes']);
}

const WITH_IOPS: ReadonlySet<string | undefined> = new Set(['gp3', 'io1', 'io2']);

const ebsOf = ({ Size, VolumeType, Iops, Throughput, Encrypted, KmsKeyId }: Volume): EbsBlockDevice => ({
  VolumeSize: Size,
  VolumeType,
  Iops: WITH_IOPS.has(VolumeType) ? Iops : undefined,
  Throughput: VolumeType === 'gp3' ? Throughput : undefined,
  Encrypted: Encrypted === true ? true : undefined,
  KmsKeyId: Encrypted === true ? KmsKeyId : undefined,
  DeleteOnTermination: true,
});
