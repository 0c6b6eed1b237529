/**
 * The origin of an instance: its launch template, and its other attributes at the launch. EC2 forgets most of this when
 * the instance is terminated, so it is read with the instance while the instance exists.
 */
import type { Instance } from '@aws-sdk/client-ec2';

/** Tags that EC2 puts on what it launches from a template. */
const TEMPLATE_TAG = 'aws:ec2launchtemplate:id';
const VERSION_TAG = 'aws:ec2launchtemplate:version';

export interface Template {
  readonly template: string;
  readonly version: string;
}

/** The launch template that an instance was made from; null: it was made otherwise. */
export function templateOf(labels: Readonly<Record<string, string>>): Template | null {
  const template = labels[TEMPLATE_TAG];
  const version = labels[VERSION_TAG];
  return template === undefined || version === undefined ? null : { template, version };
}

/** What another like it takes, in EC2's own words; undefined if nothing makes another, or EC2 tells no more. */
export function launchOf(
  instance: Instance,
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> | undefined {
  if (templateOf(labels) === null || instance.SubnetId === undefined) return undefined;
  const { ImageId, InstanceType, KeyName, IamInstanceProfile, EbsOptimized, SubnetId, InstanceLifecycle } = instance;
  const { GroupName, Tenancy } = instance.Placement ?? {};
  return {
    ImageId,
    InstanceType,
    KeyName,
    EbsOptimized,
    SubnetId,
    InstanceLifecycle,
    IamInstanceProfile: IamInstanceProfile?.Arn === undefined ? undefined : { Arn: IamInstanceProfile.Arn },
    Placement: { GroupName, Tenancy },
    SecurityGroups: (instance.SecurityGroups ?? []).map(({ GroupId }) => ({ GroupId })),
    BlockDeviceMappings: (instance.BlockDeviceMappings ?? []).map(({ Ebs }) => ({
      Ebs: { VolumeId: Ebs?.VolumeId, DeleteOnTermination: Ebs?.DeleteOnTermination },
    })),
  };
}

/** What EC2 tells of an instance now, and of what it does not what was told before. */
export const instanceOf = (launch: Readonly<Record<string, unknown>> | undefined, now: Instance): Instance => ({
  ...(launch as Instance | undefined),
  ...Object.fromEntries(
    Object.entries(now).filter(([, value]) => value !== undefined && (!Array.isArray(value) || value.length > 0)),
  ),
});
