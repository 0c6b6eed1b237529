/**
 * EC2 instances as fleet targets.
 *
 * Only instances with a GPU are in the fleet. The invariant: an instance whose machine AWS may go on billing after a
 * stop (a dedicated host, a capacity reservation or block of its own) is never reported as ended. Sources: Amazon EC2
 * User Guide, "Amazon EC2 instance state changes" (billing by state) and "Capacity Reservation pricing and billing".
 */
import { paginateDescribeInstances, type DescribeInstancesCommandInput, type Instance } from '@aws-sdk/client-ec2';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { withUnwell } from '../unwell.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import type { InstanceTypes, TypeGpus } from './gpus.js';
import { launchOf } from './launch.js';
import { withSpotRequests } from './spot-requests.js';
import { unwellInstances } from './status.js';
import { instanceTarget, labelsOf } from './targets.js';

export const PERMISSION = 'ec2:DescribeInstances';

export interface OwnedInstance {
  readonly instance: Instance;
  readonly owner: string | null;
}

/** Instances of a region, all pages. @throws Failure */
export async function readInstances(
  clients: Clients,
  region: string,
  request: DescribeInstancesCommandInput,
): Promise<OwnedInstance[]> {
  const found: OwnedInstance[] = [];
  for await (const page of readingPages(
    PERMISSION,
    paginateDescribeInstances({ client: clients.ec2(region) }, request),
  )) {
    for (const { Instances, OwnerId } of page.Reservations ?? []) {
      for (const instance of Instances ?? []) found.push({ instance, owner: OwnerId ?? null });
    }
  }
  return found;
}

/**
 * The GPU instances of a region, those that were terminated within the last hour too.
 * @param notRead is called if their status checks or spot requests could not be read; the instances are kept
 * @throws Failure
 */
export async function gpuInstances(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  now: number,
  notRead: (what: string) => void,
): Promise<readonly FleetTarget[]> {
  const states = ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'];
  const found = await readInstances(clients, region, {
    Filters: [{ Name: 'instance-state-name', Values: states }],
    MaxResults: 1000,
  });
  const gpus = await types.gpusOf(
    region,
    found.flatMap(({ instance }) => instance.InstanceType ?? []),
  );
  const targets = found.flatMap((one) => {
    const type = gpus.get(one.instance.InstanceType ?? '');
    return type === null ? [] : [instanceAsTarget(one, region, type, clients.settings.account)];
  });
  const idOf = ({ target }: FleetTarget): string => target.slice(instanceTarget(region, '').length);
  const instances = found.map(({ instance }) => instance);
  return withUnwell(
    await withSpotRequests(clients, region, instances, targets, notRead),
    idOf,
    () => unwellInstances(clients, region, now),
    (why) => notRead(`status checks were not read: ${why}`),
  );
}

const STATES: Readonly<Record<string, RunState>> = {
  pending: 'starting',
  running: 'running',
  stopping: 'stopping',
  stopped: 'stopped',
  'shutting-down': 'stopping',
  terminated: 'gone',
};

/** @param gpus of its type; null: it has none, undefined: not known */
export function instanceAsTarget(
  { instance, owner }: OwnedInstance,
  region: string,
  gpus: TypeGpus | null | undefined,
  account: string | null,
): FleetTarget {
  const id = instance.InstanceId ?? '';
  const labels = labelsOf(instance.Tags);
  const launch = launchOf(instance, labels);
  return {
    target: instanceTarget(region, id),
    kind: 'instance',
    name: labels['Name'] ?? id,
    provider: 'AWS',
    account: account ?? owner,
    region,
    sku: instance.InstanceType ?? null,
    gpuModel: gpus?.model ?? null,
    gpus: gpus === undefined ? null : (gpus?.gpus ?? 0),
    term: termOf(instance),
    state: STATES[instance.State?.Name ?? ''] ?? 'unknown',
    billing: billingOf(instance),
    replicas: null,
    spotRatio: null,
    labels,
    launchedAt: instance.LaunchTime?.getTime() ?? null,
    revision: null,
    knownAs: namesOf(instance),
    paid: isPaidElsewhere(instance) ? 'elsewhere' : 'hourly',
    ...(gpus?.localDisks === true ? { localDisks: true as const } : {}),
    ...(instance.VpcId === undefined ? {} : { network: instance.VpcId }),
    ...endedOf(instance),
    ...(launch === undefined ? {} : { launch }),
  };
}

/** A spot machine whose interruption stops it, a host that was retired, one that failed. */
const STOPPED_BY_AWS: ReadonlySet<string> = new Set([
  'Server.SpotInstanceShutdown',
  'Server.ScheduledStop',
  'Server.InternalError',
]);

/**
 * Who ends or ended it, by the state reason's code: `Server.` codes are AWS' own doing (a spot interruption, a host
 * that failed), `Client.` codes a request, the machine's own shutdown, or what it was launched with (Amazon EC2 API
 * Reference, data type StateReason). A stopped machine says only that AWS has stopped it; and a spot machine that was
 * interrupted so is started by AWS alone (Amazon EC2 User Guide, "Spot Instance interruption behavior").
 */
function endedOf({ State, StateReason }: Instance): Pick<FleetTarget, 'ended' | 'ruledOut'> {
  const code = StateReason?.Code;
  if (code === undefined) return {};
  const because = `StateReason ${code}`;
  if (State?.Name === 'stopped')
    return STOPPED_BY_AWS.has(code)
      ? {
          ended: { by: 'cloud', because },
          ...(code === 'Server.SpotInstanceShutdown'
            ? { ruledOut: { start: 'its spot request was interrupted: AWS starts it again when it has capacity' } }
            : {}),
        }
      : {};
  if (State?.Name !== 'shutting-down' && State?.Name !== 'terminated') return {};
  return { ended: { by: code.startsWith('Server.') ? 'cloud' : 'somebody', because } };
}

/**
 * Host names and addresses within its VPC: the private DNS name (by its address, or by its id where the subnet is set
 * so), and every address of its interfaces, those that a cluster gives to pods included (Amazon EC2 User Guide, "EC2
 * instance hostnames and domains"; Amazon EKS User Guide, "Amazon VPC CNI").
 */
function namesOf({ PrivateDnsName, PrivateIpAddress, NetworkInterfaces = [] }: Instance): string[] {
  const interfaces = NetworkInterfaces.flatMap(
    ({ PrivateDnsName: name, PrivateIpAddress: own, PrivateIpAddresses = [] }) => [
      name,
      own,
      ...PrivateIpAddresses.map(({ PrivateIpAddress: address }) => address),
    ],
  );
  const all = [PrivateDnsName, PrivateIpAddress, ...interfaces];
  return [...new Set(all.filter((name): name is string => name !== undefined && name !== ''))];
}

/**
 * Reservations and savings plans cover hours, not instances: an instance that is no spot runs at the on-demand rate or
 * below.
 */
function termOf({ InstanceLifecycle, Placement }: Instance): Term | null {
  if (InstanceLifecycle === 'spot') return 'spot';
  return InstanceLifecycle === undefined && Placement?.Tenancy !== 'host' ? 'on-demand' : null;
}

/** Whether its machine is paid for by itself, running or not. */
function isPaidElsewhere({ InstanceLifecycle, Placement, CapacityReservationSpecification }: Instance): boolean {
  return (
    Placement?.Tenancy === 'host' ||
    CapacityReservationSpecification?.CapacityReservationTarget?.CapacityReservationId !== undefined ||
    InstanceLifecycle === 'capacity-block' ||
    InstanceLifecycle === 'scheduled' ||
    InstanceLifecycle === 'interruptible-capacity-reservation'
  );
}

function billingOf(instance: Instance): BillingState {
  const state = instance.State?.Name;
  if (state === 'running') return 'billed';
  if (isPaidElsewhere(instance)) return 'unknown';
  switch (state) {
    // An instance that stops in order to hibernate is billed until it has stopped; the volumes of every other go on.
    case 'stopping':
      return instance.StateReason?.Code === 'Client.UserInitiatedHibernate' ? 'billed' : 'partly';
    case 'pending':
    case 'stopped':
    case 'shutting-down':
      return 'partly';
    case 'terminated':
      return 'ended';
    default:
      return 'unknown';
  }
}
