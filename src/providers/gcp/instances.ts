/**
 * Compute Engine instances as fleet targets.
 *
 * Only instances with a GPU, or with an unknown type, are in the fleet. Of an instance's metadata only the entry that
 * names its group is used; the rest (including start scripts) is dropped at the reading. The invariant: an instance
 * whose machine Google may go on billing after a stop (a reservation, a sole-tenant node) is never reported as ended.
 * Sources: Compute Engine, "VM instance lifecycle" (states, and what each is charged for), "Spot VMs", "Internal DNS",
 * "Reservations of Compute Engine zonal resources" and, for the group, "View info about MIGs and managed instances"
 * (the metadata entry `created-by`).
 */
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import { TARGET_TAG } from '../../core/fleet/membership.js';
import type { Term } from '../../core/usage.js';
import { CLOUD, type GoogleClient } from './client.js';
import { listed, type Lacks } from './lists.js';
import { INSTANCE, OPERATIONS, type Instance, type MachineType } from './operations.js';
import { groupTarget, instanceTarget, lastOf, partOf, plainLabels, PROJECT_LABEL, regionOf } from './targets.js';
import { attachedCards, gpusOf, skuOf, type MachineTypes } from './types.js';

export const INSTANCE_PERMISSIONS: readonly string[] = [
  OPERATIONS.instances.permission,
  OPERATIONS.instance.permission,
  OPERATIONS.machineType.permission,
];

/** The GPU instances of a project. @throws Failure */
export async function gpuInstances(
  client: GoogleClient,
  types: MachineTypes,
  project: string,
  lacks: Lacks,
): Promise<FleetTarget[]> {
  const found = await readInstances(client, project, lacks);
  const known = await types.gpusOf(project, found.map(typeOf), lacks);
  return found
    .map((one) => instanceAsTarget(one, project, client.settings.account, known.get(typeOf(one).name)))
    .filter(({ gpus }) => gpus !== 0);
}

/** All instances of a project in the configured regions. @throws Failure */
export const readInstances = (client: GoogleClient, project: string, lacks: Lacks): Promise<Instance[]> =>
  listed(client, { project, name: 'instances', entry: INSTANCE }, lacks);

/** An instance as the API states it now; null: it is not there. @throws Failure */
export function findInstance(
  client: GoogleClient,
  project: string,
  zone: string,
  instance: string,
): Promise<Instance | null> {
  return client.find(OPERATIONS.instance, { path: { project, zone, instance } });
}

/** Null: Google says that it is not there. @throws Failure */
export async function readInstance(
  client: GoogleClient,
  types: MachineTypes,
  project: string,
  zone: string,
  id: string,
): Promise<FleetTarget | null> {
  const one = await findInstance(client, project, zone, id);
  if (one === null) return null;
  const known = await types.gpusOf(project, [typeOf(one)], () => undefined);
  return instanceAsTarget(one, project, client.settings.account, known.get(typeOf(one).name));
}

export const typeOf = ({ machineType, zone }: Instance): { readonly name: string; readonly zone: string } => ({
  name: lastOf(machineType ?? ''),
  zone: lastOf(zone),
});

const STATES: Readonly<Record<NonNullable<Instance['status']>, RunState>> = {
  PENDING: 'starting',
  PROVISIONING: 'starting',
  STAGING: 'starting',
  RUNNING: 'running',
  REPAIRING: 'unknown',
  PENDING_STOP: 'stopping',
  STOPPING: 'stopping',
  STOPPED: 'stopped',
  TERMINATED: 'stopped',
  SUSPENDING: 'stopping',
  SUSPENDED: 'stopped',
  DEPROVISIONING: 'stopping',
};

function instanceAsTarget(
  one: Instance,
  project: string,
  account: string | null,
  type: MachineType | undefined,
): FleetTarget {
  const zone = lastOf(one.zone);
  const attached = attachedCards(one.guestAccelerators);
  const gpus = gpusOf(type, attached);
  const machineType = lastOf(one.machineType ?? '');
  const network = one.networkInterfaces?.[0]?.network ?? '';
  return {
    target: instanceTarget(project, zone, one.id),
    kind: 'instance',
    name: one.name,
    provider: CLOUD,
    account: account ?? project,
    region: regionOf(zone),
    sku: machineType === '' ? null : skuOf(machineType, attached),
    gpuModel: gpus.model,
    gpus: gpus.gpus,
    term: termOf(one.scheduling),
    state: typeof one.status === 'string' ? STATES[one.status] : 'unknown',
    billing: billingOf(one),
    replicas: null,
    spotRatio: null,
    labels: labelsOf(one, project),
    launchedAt: instantOf(one.lastStartTimestamp) ?? instantOf(one.creationTimestamp),
    revision: null,
    knownAs: namesOf(one, project, zone),
    paid: isPaidElsewhere(one) ? 'elsewhere' : 'hourly',
    ...((one.disks ?? []).some((disk) => disk.type === 'SCRATCH') ? { localDisks: true as const } : {}),
    ...(one.deletionProtection === true
      ? { ruledOut: { terminate: 'its deletion protection is on', replace: 'its deletion protection is on' } }
      : {}),
    ...(network === '' ? {} : { network }),
  };
}

function labelsOf(one: Instance, project: string): Record<string, string> {
  const group = groupOf(one, project);
  return { ...plainLabels(one.labels), [PROJECT_LABEL]: project, ...(group === null ? {} : { [TARGET_TAG]: group }) };
}

/** The group that made an instance and keeps it, as its metadata say; the project stands there by its number. */
function groupOf({ metadata }: Instance, project: string): string | null {
  const maker = metadata?.items?.find(({ key }) => key === 'created-by')?.value ?? '';
  const name = partOf(maker, 'instanceGroupManagers');
  const place = partOf(maker, 'zones') ?? partOf(maker, 'regions');
  return name === null || place === null ? null : groupTarget(project, place, name);
}

/** Host names within its network, of both kinds of internal DNS; its addresses; and how a cluster calls its machine. */
function namesOf(one: Instance, project: string, zone: string): string[] {
  const domain = `c.${project.split(':').reverse().join('.')}.internal`;
  const addresses = (one.networkInterfaces ?? []).flatMap(({ networkIP, ipv6Address }) => [networkIP, ipv6Address]);
  const all = [
    one.hostname,
    `${one.name}.${zone}.${domain}`,
    `${one.name}.${domain}`,
    ...addresses,
    `gce://${project}/${zone}/${one.name}`,
  ];
  return [...new Set(all.filter((name): name is string => name !== undefined && name !== null && name !== ''))];
}

/** A machine of a flexible start or bound to a reservation has a price of its own, which no list here states. */
export function termOf(scheduling: Instance['scheduling']): Term | null {
  const { provisioningModel, preemptible } = scheduling ?? {};
  if (provisioningModel === 'SPOT' || preemptible === true) return 'spot';
  return provisioningModel === 'FLEX_START' || provisioningModel === 'RESERVATION_BOUND' ? null : 'on-demand';
}

/** Whether its machine is paid for by itself, running or not: a reservation's, or a sole-tenant node's. */
function isPaidElsewhere({ resourceStatus, reservationAffinity, scheduling }: Instance): boolean {
  return (
    (resourceStatus?.reservationConsumptionInfo?.consumedReservation ?? '') !== '' ||
    reservationAffinity?.consumeReservationType === 'SPECIFIC_RESERVATION' ||
    scheduling?.provisioningModel === 'RESERVATION_BOUND' ||
    (scheduling?.nodeAffinities ?? []).length > 0
  );
}

/** Disks and reserved addresses go on after a stop, and of what is suspended its memory too. */
function billingOf(one: Instance): BillingState {
  switch (one.status) {
    case 'RUNNING':
    case 'PENDING_STOP':
      return 'billed';
    case 'PENDING':
    case 'PROVISIONING':
    case 'STAGING':
    case 'STOPPING':
    case 'SUSPENDING':
    case 'STOPPED':
    case 'TERMINATED':
    case 'SUSPENDED':
      return isPaidElsewhere(one) ? 'unknown' : 'partly';
    default:
      return 'unknown';
  }
}

export function instantOf(timestamp: string | null | undefined): number | null {
  const at = Date.parse(timestamp ?? '');
  return Number.isNaN(at) ? null : at;
}
