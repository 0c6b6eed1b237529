/**
 * Spot instances that EC2 cannot stop, by their spot requests. RunInstances makes one-time requests by default, and EC2
 * refuses StopInstances for their instances.
 *
 * The invariant: an unknown request is no obstacle. Sources: Amazon EC2 User Guide, "Manage your Spot Instances" (Stop
 * a Spot Instance: of a persistent request that is not cancelled, and of no fleet, launch group or Availability Zone
 * group); Amazon EC2 API Reference, data type SpotInstanceRequest.
 */
import { paginateDescribeSpotInstanceRequests, type Instance, type SpotInstanceRequest } from '@aws-sdk/client-ec2';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { unlessFailed, type Tell } from '../rpc.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import { instanceTarget, labelsOf } from './targets.js';

export const SPOT_REQUEST_PERMISSION = 'ec2:DescribeSpotInstanceRequests';

/** Values that one filter takes (Amazon EC2 Developer Guide, "List and filter"). */
const MOST_VALUES = 200;

/** Tags that EC2 Fleet and Spot Fleet put on what they launch. */
const FLEET_TAGS = ['aws:ec2:fleet-id', 'aws:ec2spot:fleet-request-id'];

/**
 * Targets of a region, with what rules out a stop of those that are spot instances.
 * @param notRead is called if the requests could not be read; the targets are kept
 */
export async function withSpotRequests(
  clients: Clients,
  region: string,
  instances: readonly Instance[],
  targets: readonly FleetTarget[],
  notRead: Tell,
): Promise<readonly FleetTarget[]> {
  const spot = instances.filter(
    ({ InstanceLifecycle, State }) => InstanceLifecycle === 'spot' && State?.Name !== 'terminated',
  );
  if (spot.length === 0) return targets;
  const ids = [...new Set(spot.flatMap(({ SpotInstanceRequestId }) => SpotInstanceRequestId ?? []))];
  const requests =
    (await unlessFailed(
      () => requestsOf(clients, region, ids),
      (why) => notRead(`spot requests were not read: ${why}`),
    )) ?? new Map<string, SpotInstanceRequest>();
  const unstoppable = new Map(
    spot.flatMap((one) => {
      const why = whyNotStopped(one, requests.get(one.SpotInstanceRequestId ?? ''));
      return why === null ? [] : [[instanceTarget(region, one.InstanceId ?? ''), why] as const];
    }),
  );
  return targets.map((target) => {
    const stop = unstoppable.get(target.target);
    return stop === undefined ? target : { ...target, ruledOut: { ...target.ruledOut, stop } };
  });
}

/** Requests of a region by their ids. @throws Failure */
export async function requestsOf(
  clients: Clients,
  region: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SpotInstanceRequest>> {
  const found = new Map<string, SpotInstanceRequest>();
  for (let from = 0; from < ids.length; from += MOST_VALUES) {
    // As a filter, an id that is not there is no error.
    const Filters = [{ Name: 'spot-instance-request-id', Values: ids.slice(from, from + MOST_VALUES) }];
    const pages = paginateDescribeSpotInstanceRequests({ client: clients.ec2(region) }, { Filters });
    for await (const page of readingPages(SPOT_REQUEST_PERMISSION, pages))
      for (const one of page.SpotInstanceRequests ?? []) found.set(one.SpotInstanceRequestId ?? '', one);
  }
  return found;
}

/** As a clause; null: nothing that is known. */
function whyNotStopped({ Tags }: Instance, request: SpotInstanceRequest | undefined): string | null {
  const labels = labelsOf(Tags);
  if (FLEET_TAGS.some((tag) => labels[tag] !== undefined))
    return 'it is a spot instance of a fleet, which EC2 does not stop: the fleet would have to be changed';
  if (request === undefined) return null;
  if (request.Type !== 'persistent')
    return 'it is a spot instance of a one-time request, which EC2 does not stop: it can only be terminated';
  if (request.State === 'cancelled' || request.State === 'closed')
    return `its spot request is ${request.State}, and EC2 stops no instance of such a one`;
  return request.LaunchGroup !== undefined || request.AvailabilityZoneGroup !== undefined
    ? 'its spot request is of a launch group, of which EC2 stops no instance'
    : null;
}
