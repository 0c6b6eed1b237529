/**
 * CVM instances as fleet targets.
 *
 * Only instances with a GPU are in the fleet. The invariant: a stopped instance is not said to have ended: without
 * charges when shut down, CPU, memory and GPUs are free, but disks, bandwidth and images are billed on (CVM, "Shutting
 * Down Pay-as-You-Go Instances to Avoid Charges"), and not every instance supports it. Fields: CVM API Reference
 * (2017-03-12), "DescribeInstances" and data type Instance.
 */
import { z } from 'zod';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { instanceTarget, orAbsent, reading } from '../rpc.js';
import { CLOUD, permissionOf, type Params, type TencentClient } from './client.js';
import { modelOfType } from './types.js';

export const INSTANCES_PERMISSION = permissionOf('cvm', 'DescribeInstances');
const LIMIT = 100;

const text = z.string().nullish();
const INSTANCE = z.object({
  InstanceId: z.string(),
  InstanceName: text,
  InstanceType: text,
  InstanceState: text,
  InstanceChargeType: text,
  StopChargingMode: text,
  CreatedTime: text,
  GPUInfo: z.object({ GPUCount: z.number().nullish(), GPUType: text }).nullish(),
  Tags: z.array(z.object({ Key: z.string(), Value: z.string() })).nullish(),
  IsolatedSource: text,
  PrivateIpAddresses: z.array(z.string()).nullish(),
  VirtualPrivateCloud: z.object({ VpcId: text }).nullish(),
});
export type Instance = z.output<typeof INSTANCE>;
const REPLY = z.object({ TotalCount: z.number(), InstanceSet: z.array(INSTANCE) });
const NONE = { TotalCount: 0, InstanceSet: [] };

/** Instances of a region, all pages. @throws Failure */
async function readInstances(client: TencentClient, region: string, filter: Params = {}): Promise<Instance[]> {
  const found: Instance[] = [];
  for (;;) {
    const params: Params = 'InstanceIds' in filter ? filter : { ...filter, Offset: found.length, Limit: LIMIT };
    const reply = await reading(CLOUD, INSTANCES_PERMISSION, REPLY, () =>
      orAbsent(client.call('cvm', 'DescribeInstances', region, params), NONE),
    );
    found.push(...reply.InstanceSet);
    if (reply.InstanceSet.length === 0 || found.length >= reply.TotalCount) return found;
  }
}

/** An instance without GPUInfo has none (DescribeInstances). @throws Failure */
export async function gpuInstances(client: TencentClient, region: string): Promise<FleetTarget[]> {
  const found = await readInstances(client, region);
  return found.map((one) => instanceAsTarget(one, region, client.settings.account)).filter(({ gpus }) => gpus !== 0);
}

/** Null: the cloud says that it is not there. @throws Failure */
export async function readInstance(client: TencentClient, region: string, id: string): Promise<FleetTarget | null> {
  const one = (await readInstances(client, region, { InstanceIds: [id] })).find(({ InstanceId }) => InstanceId === id);
  return one === undefined ? null : instanceAsTarget(one, region, client.settings.account);
}

/** CVM API Reference, data type Instance: instance states. SHUTDOWN is stopped and about to be terminated. */
const STATES: Readonly<Record<string, RunState>> = {
  PENDING: 'starting',
  STARTING: 'starting',
  RUNNING: 'running',
  REBOOTING: 'running',
  STOPPING: 'stopping',
  STOPPED: 'stopped',
  SHUTDOWN: 'stopped',
  TERMINATING: 'stopping',
};

function instanceAsTarget(one: Instance, region: string, account: string | null): FleetTarget {
  const launched = Date.parse(one.CreatedTime ?? '');
  const info = one.GPUInfo ?? null;
  const gpus = info === null ? 0 : (info.GPUCount ?? null);
  return {
    target: instanceTarget(region, one.InstanceId),
    kind: 'instance',
    name: one.InstanceName ?? one.InstanceId,
    provider: CLOUD,
    account,
    region,
    sku: one.InstanceType ?? null,
    gpuModel: gpus === 0 ? null : modelOfType(one.InstanceType ?? '', info?.GPUType ?? ''),
    gpus,
    term: termOf(one),
    state: STATES[one.InstanceState ?? ''] ?? 'unknown',
    billing: billingOf(one),
    replicas: null,
    spotRatio: null,
    labels: Object.fromEntries((one.Tags ?? []).map(({ Key, Value }) => [Key, Value])),
    launchedAt: Number.isNaN(launched) ? null : launched,
    revision: null,
    ...paidOf(one),
    // CVM tells no host name of an instance: it is known by its addresses.
    knownAs: [...new Set(one.PrivateIpAddresses ?? [])],
    ...((one.VirtualPrivateCloud?.VpcId ?? '') === '' ? {} : { network: one.VirtualPrivateCloud?.VpcId ?? '' }),
    // Isolated by hand: it waits in the recycle bin for its release (CVM API Reference, data type Instance,
    // IsolatedSource). That a spot instance is reclaimed shows only inside the machine (CVM User Guide, "Spot
    // instances", metadata spot/termination-time).
    ...(one.IsolatedSource === 'MANMADE'
      ? { ended: { by: 'somebody' as const, because: 'IsolatedSource MANMADE' } }
      : {}),
  };
}

/** The length of a subscription (PREPAID) is not stated with the instance. */
function termOf({ InstanceChargeType }: Instance): Term | null {
  if (InstanceChargeType === 'SPOTPAID') return 'spot';
  return InstanceChargeType === 'POSTPAID_BY_HOUR' ? 'on-demand' : null;
}

/** CVM API Reference, data type InstanceChargePrepaid and parameter InstanceChargeType: CDHPAID lies on a host of its own. */
function paidOf({ InstanceChargeType }: Instance): Pick<FleetTarget, 'paid' | 'mayKeepCharging'> {
  switch (InstanceChargeType) {
    case 'PREPAID':
      return { paid: 'prepaid' };
    case 'CDHPAID':
      return { paid: 'elsewhere' };
    case 'POSTPAID_BY_HOUR':
    case 'SPOTPAID':
      return { paid: 'hourly', mayKeepCharging: true };
    default:
      return {};
  }
}

function billingOf({ InstanceChargeType, InstanceState, StopChargingMode }: Instance): BillingState {
  if (InstanceChargeType === 'PREPAID') return 'billed';
  if (InstanceChargeType !== 'POSTPAID_BY_HOUR' && InstanceChargeType !== 'SPOTPAID') return 'unknown';
  switch (InstanceState) {
    case 'RUNNING':
    case 'REBOOTING':
    case 'STARTING':
    case 'STOPPING':
    case 'PENDING':
      return 'billed';
    case 'STOPPED':
      return (StopChargingMode ?? '') === '' ? 'unknown' : StopChargingMode === 'STOP_CHARGING' ? 'partly' : 'billed';
    default:
      return 'unknown';
  }
}
