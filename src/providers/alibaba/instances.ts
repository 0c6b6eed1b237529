/**
 * ECS instances as fleet targets.
 *
 * Only instances with a GPU are in the fleet. The invariant: a stopped instance is never reported as ended: in
 * economical mode its disks are still billed, and an instance that does not support that mode is stopped without an
 * error and billed in full (ECS API Reference, "StopInstance"; ECS User Guide, "Economical mode"). Fields: ECS API
 * Reference (2014-05-26), "DescribeInstances".
 */
import { z } from 'zod';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { instanceTarget, reading } from '../rpc.js';
import { permissionOf, type AlibabaClient, type Params } from './client.js';
import { CLOUD, gpusOf, type InstanceTypes } from './types.js';

export const INSTANCES_PERMISSION = permissionOf('ecs', 'DescribeInstances');
const MOST_RESULTS = 100;

const INSTANCE = z.object({
  InstanceId: z.string(),
  InstanceName: z.string().optional(),
  InstanceType: z.string().optional(),
  Status: z.string().optional(),
  StoppedMode: z.string().optional(),
  InstanceChargeType: z.string().optional(),
  SpotStrategy: z.string().optional(),
  GPUAmount: z.number().optional(),
  GPUSpec: z.string().optional(),
  StartTime: z.string().optional(),
  CreationTime: z.string().optional(),
  HostName: z.string().optional(),
  VpcAttributes: z
    .object({
      VpcId: z.string().optional(),
      PrivateIpAddress: z.object({ IpAddress: z.array(z.string()).optional() }).optional(),
    })
    .optional(),
  InnerIpAddress: z.object({ IpAddress: z.array(z.string()).optional() }).optional(),
  NetworkInterfaces: z
    .object({ NetworkInterface: z.array(z.object({ PrimaryIpAddress: z.string().optional() })).optional() })
    .optional(),
  OperationLocks: z
    .object({ LockReason: z.array(z.object({ LockReason: z.string().optional() })).optional() })
    .optional(),
  Tags: z.object({ Tag: z.array(z.object({ TagKey: z.string(), TagValue: z.string().optional() })) }).optional(),
});
export type Instance = z.output<typeof INSTANCE>;

const REPLY = z.object({ NextToken: z.string().optional(), Instances: z.object({ Instance: z.array(INSTANCE) }) });

/** Instances of a region, all pages. @throws Failure */
export async function readInstances(client: AlibabaClient, region: string, filter: Params = {}): Promise<Instance[]> {
  const found: Instance[] = [];
  let token = '';
  do {
    const params: Params = {
      ...filter,
      RegionId: region,
      MaxResults: MOST_RESULTS,
      ...(token === '' ? {} : { NextToken: token }),
    };
    const reply = await reading(CLOUD, INSTANCES_PERMISSION, REPLY, () =>
      client.call('ecs', 'DescribeInstances', region, params),
    );
    found.push(...reply.Instances.Instance);
    token = reply.NextToken ?? '';
  } while (token !== '');
  return found;
}

/** Null: the cloud says that it is not there. @throws Failure */
export async function readInstance(client: AlibabaClient, region: string, id: string): Promise<Instance | null> {
  const found = await readInstances(client, region, { InstanceIds: JSON.stringify([id]) });
  return found.find(({ InstanceId }) => InstanceId === id) ?? null;
}

/** The memory of a card, which is part of some models' names, is stated by the type alone. @throws Failure */
export async function gpuInstances(
  client: AlibabaClient,
  types: InstanceTypes,
  region: string,
): Promise<FleetTarget[]> {
  const found = (await readInstances(client, region)).filter(({ GPUAmount }) => GPUAmount !== 0);
  return instancesAsTargets(client, types, region, found);
}

export async function instancesAsTargets(
  client: AlibabaClient,
  types: InstanceTypes,
  region: string,
  found: readonly Instance[],
): Promise<FleetTarget[]> {
  const known = await types.gpusOf(
    region,
    found.flatMap(({ InstanceType }) => InstanceType ?? []),
  );
  return found.map((one) => instanceAsTarget(one, region, client.settings.account, known));
}

const STATES: Readonly<Record<string, RunState>> = {
  Pending: 'starting',
  Starting: 'starting',
  Running: 'running',
  Stopping: 'stopping',
  Stopped: 'stopped',
};

function instanceAsTarget(
  one: Instance,
  region: string,
  account: string | null,
  known: Awaited<ReturnType<InstanceTypes['gpusOf']>>,
): FleetTarget {
  const sku = one.InstanceType ?? null;
  const { model, gpus } = known.get(sku ?? '') ?? gpusOf(sku ?? '', one.GPUAmount, one.GPUSpec);
  // What stands still may have no StartTime any more: when it was made is not when it was started last.
  const standsStill = one.Status === 'Stopping' || one.Status === 'Stopped';
  const launched = Date.parse((one.StartTime ?? '') || (standsStill ? '' : (one.CreationTime ?? '')));
  return {
    target: instanceTarget(region, one.InstanceId),
    kind: 'instance',
    name: one.InstanceName ?? one.InstanceId,
    provider: CLOUD,
    account,
    region,
    sku,
    gpuModel: model,
    gpus,
    term: termOf(one),
    state: STATES[one.Status ?? ''] ?? 'unknown',
    billing: billingOf(one),
    replicas: null,
    spotRatio: null,
    labels: Object.fromEntries((one.Tags?.Tag ?? []).map(({ TagKey, TagValue }) => [TagKey, TagValue ?? ''])),
    launchedAt: Number.isNaN(launched) ? null : launched,
    revision: null,
    knownAs: namesOf(one),
    ...(one.InstanceChargeType === 'PrePaid' ? { paid: 'prepaid' as const } : {}),
    ...(one.InstanceChargeType === 'PostPaid' ? { paid: 'hourly' as const, mayKeepCharging: true as const } : {}),
    ...((one.VpcAttributes?.VpcId ?? '') === '' ? {} : { network: one.VpcAttributes?.VpcId }),
    // A spot instance is locked so some minutes before it is released, and is not listed after that (ECS API Reference,
    // "DescribeInstances", OperationLocks; ECS User Guide, "Query the interruption events of spot instances").
    ...(one.OperationLocks?.LockReason?.some(({ LockReason }) => LockReason === 'Recycling') === true
      ? { ended: { by: 'cloud' as const, because: 'LockReason Recycling' } }
      : {}),
  };
}

function namesOf({ HostName, VpcAttributes, InnerIpAddress, NetworkInterfaces }: Instance): string[] {
  const all = [
    HostName,
    ...(VpcAttributes?.PrivateIpAddress?.IpAddress ?? []),
    ...(InnerIpAddress?.IpAddress ?? []),
    ...(NetworkInterfaces?.NetworkInterface ?? []).map(({ PrimaryIpAddress }) => PrimaryIpAddress),
  ];
  return [...new Set(all.filter((name): name is string => name !== undefined && name !== ''))];
}

/** A subscription's length is not stated with the instance. */
function termOf({ InstanceChargeType, SpotStrategy }: Instance): Term | null {
  if (SpotStrategy === 'SpotAsPriceGo' || SpotStrategy === 'SpotWithPriceLimit') return 'spot';
  return InstanceChargeType === 'PostPaid' ? 'on-demand' : null;
}

function billingOf({ InstanceChargeType, Status, StoppedMode }: Instance): BillingState {
  if (InstanceChargeType === 'PrePaid') return 'billed';
  if (InstanceChargeType !== 'PostPaid' || STATES[Status ?? ''] === undefined) return 'unknown';
  if (Status !== 'Stopped') return 'billed';
  switch (StoppedMode) {
    case 'StopCharging':
      return 'partly';
    case 'KeepCharging':
    case 'Not-applicable':
      return 'billed';
    default:
      return 'unknown';
  }
}
