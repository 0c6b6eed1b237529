/**
 * The attributes of an instance beyond its launch template, read when a replacement is started: the sizes and types of
 * its volumes, its user data, and the highest price of its spot request.
 *
 * User data contains secrets: it goes from EC2 to the request for the new instance, and nowhere else (no log, no
 * answer, no table). The invariant: an unreadable attribute is named, never guessed. If EC2 does not answer, the
 * reading is retried for a few seconds, and then the replacement continues: a dead machine does not wait for an
 * attribute. Sources: Amazon EC2 API Reference, "DescribeInstanceAttribute" (userData), "DescribeVolumes",
 * "DescribeSpotInstanceRequests" (SpotPrice), "RunInstances" and data type EbsBlockDevice (iops of gp3, io1 and io2,
 * throughput of gp3 alone).
 */
import { setTimeout as pause } from 'node:timers/promises';
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

/** Before asking again where EC2 gives no answer, is throttled or fails: four seconds for all of a machine's settings. */
const PAUSES_MS: readonly number[] = [500, 1_000, 2_500];

export interface Own {
  /** Undefined: as the template and the image say. */
  readonly volumes: RunInstancesCommandInput['BlockDeviceMappings'];
  readonly userData: string | undefined;
  readonly maxPrice: string | undefined;
  /** The unreadable attributes, each as a clause. */
  readonly lacks: readonly string[];
}

export const NOTHING_OWN: Own = { volumes: undefined, userData: undefined, maxPrice: undefined, lacks: [] };

/**
 * Reads what a replacement can do without. What stays unread is noted in `lacks`; for want of an answer all that is read
 * is asked again for a few seconds in total, however many reads go wrong.
 */
export class OwnReader {
  readonly lacks: string[] = [];
  private readonly pauses = [...PAUSES_MS];

  /** @param otherwise what holds then, as a clause */
  async orLacks<T>(otherwise: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const next = error.kind === 'unavailable' ? this.pauses.shift() : undefined;
      if (next !== undefined) {
        await pause(next);
        return this.orLacks(otherwise, read);
      }
      this.lacks.push(`${otherwise} (${error.message})`);
      return null;
    }
  }
}

export async function ownOf(
  clients: Clients,
  region: string,
  instance: Instance,
  template: ResponseLaunchTemplateData,
  reader: OwnReader,
): Promise<Own> {
  const volumes = await reader.orLacks("its volumes are the template's", () => volumesOf(clients, region, instance));
  const userData = await reader.orLacks("its user data is the template's", () => userDataOf(clients, region, instance));
  const maxPrice = await reader.orLacks('no highest price of its own is set', () =>
    maxPriceOf(clients, region, instance),
  );
  if (volumes?.length === 0 && (instance.BlockDeviceMappings ?? []).length > 0)
    reader.lacks.push("its volumes are the template's: EC2 tells no more of those of the old one");
  return {
    volumes: volumes === null ? undefined : mappingsOf(instance, template, volumes),
    userData: userData ?? undefined,
    maxPrice: maxPrice ?? undefined,
    lacks: reader.lacks,
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
 * Whether its owner keeps it from being ended (termination protection); of what has ended nothing is known against it.
 * Where that cannot be read the replacement goes on: EC2 itself refuses to end what is protected (Amazon EC2 User Guide,
 * "Change instance termination protection"), so that the worst is a second machine, which is told as half done.
 */
export async function isKeptFromEnding(
  clients: Clients,
  region: string,
  { InstanceId, State }: Instance,
  reader: OwnReader,
): Promise<boolean> {
  if (State?.Name === 'terminated' || State?.Name === 'shutting-down') return false;
  const command = new DescribeInstanceAttributeCommand({ InstanceId, Attribute: 'disableApiTermination' });
  const answer = await reader.orLacks(
    'whether its owner keeps it from being ended is not known, and EC2 ends none that is kept',
    () => reading(ATTRIBUTE, () => clients.ec2(region, 'act').send(command)),
  );
  return answer?.DisableApiTermination?.Value === true;
}

async function maxPriceOf(clients: Clients, region: string, instance: Instance): Promise<string | null> {
  const { InstanceLifecycle, SpotInstanceRequestId: id } = instance;
  if (InstanceLifecycle !== 'spot' || id === undefined) return null;
  return (await requestsOf(clients, region, [id])).get(id)?.SpotPrice ?? null;
}

/**
 * All mappings of the template, as those of a request may replace them, with the sizes and types that the volumes have
 * that end with the instance. One that is kept is not made again.
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
