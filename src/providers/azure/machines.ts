/**
 * Virtual machines with GPUs as fleet targets, those of flexible scale sets among them.
 *
 * Names and states come in two lists (the machines, and with `statusOnly` their power states), addresses in a third.
 * The invariant: a value missing from one of these lists is unknown for that machine, and removes no machine; a machine
 * of a scale set names its set, unless the set is known to create no machines of its own. Sources: Compute REST API,
 * "Virtual Machines - List All", "- Get" and data type VirtualMachine; Network REST API, "Network Interfaces - List
 * All"; "Ephemeral OS disks for Azure VMs" (no stop-deallocate).
 */
import { azureIdOf } from '../../core/fleet/azure-id.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { TARGET_TAG } from '../../core/fleet/membership.js';
import { providerName } from '../../core/price/price.js';
import type { Term } from '../../core/usage.js';
import { unlessDenied, unlessFailed } from '../rpc.js';
import type { AzureClient } from './client.js';
import { OPERATIONS, type Interface, type Machine, type ScaleSet } from './operations.js';
import { sizeIn, type Sizes, type SizeTable } from './sizes.js';
import { addressesOf, keyOf, labelsOf, nodePoolOf, powerOf, targetOf, valuesOf, type AzureTarget } from './targets.js';

export const PROVIDER = providerName('azure');

export const MACHINE_PERMISSIONS: readonly string[] = [
  OPERATIONS.machines.permission,
  OPERATIONS.interfaces.permission,
];

/** The data behind a machine, in addition to its own entry. */
export interface About {
  readonly sizes: SizeTable;
  /** Its network interfaces, by their ids in one case. */
  readonly interfaces: ReadonlyMap<string, Interface>;
  /** The scale sets that are known, by their ids in one case. */
  readonly sets: ReadonlyMap<string, ScaleSet>;
}

/** Whether a set brings and takes machines: a flexible one without a profile only holds what others put into it. */
export const bringsMachines = ({ properties }: ScaleSet): boolean =>
  properties?.orchestrationMode !== 'Flexible' || (properties.virtualMachineProfile ?? null) !== null;

/** Spot is Low too, as it was called in scale sets before. */
export const isSpot = (priority: string | null | undefined): boolean => priority === 'Spot' || priority === 'Low';

export const NO_DEALLOCATION = 'its operating system is on an ephemeral disk: Azure does not deallocate such a machine';

function machineAsTarget(one: Machine, account: string | null, about: About): FleetTarget | null {
  const { properties } = one;
  const region = keyOf(one.location);
  const target = targetOf(one.id, region);
  if (target === null) return null;
  const vmSize = properties?.hardwareProfile?.vmSize ?? null;
  const size = vmSize === null ? null : sizeIn(about.sizes, vmSize);
  const power = powerOf(properties?.instanceView?.statuses, properties?.provisioningState);
  const computer = properties?.osProfile?.computerName ?? properties?.instanceView?.computerName ?? null;
  const own = (properties?.networkProfile?.networkInterfaces ?? []).flatMap(
    ({ id }) => about.interfaces.get(keyOf(id)) ?? [],
  );
  const set = setOf(one, about.sets, region);
  const pool = nodePoolOf(one.tags);
  return {
    target,
    kind: 'instance',
    name: one.name,
    provider: PROVIDER,
    account,
    region,
    sku: size?.name ?? null,
    gpuModel: size?.model ?? null,
    gpus: size?.gpus ?? null,
    term: termOf(one),
    state: power.state,
    billing: power.billing,
    replicas: null,
    spotRatio: null,
    labels: set === null ? labelsOf(one.tags) : { ...labelsOf(one.tags), [TARGET_TAG]: set },
    launchedAt: power.since,
    revision: null,
    ...addressesOf(computer, own),
    paid: isPaidElsewhere(one) ? 'elsewhere' : 'hourly',
    ...(size?.localDisks === true ? { localDisks: true as const } : {}),
    ...(properties?.storageProfile?.osDisk?.diffDiskSettings?.option === 'Local'
      ? { ruledOut: { stop: NO_DEALLOCATION } }
      : {}),
    ...(pool === null ? {} : { managedBy: [pool] }),
  };
}

function setOf({ properties }: Machine, sets: About['sets'], region: string): string | null {
  const id = properties?.virtualMachineScaleSet?.id ?? null;
  const known = sets.get(keyOf(id));
  return id === null || (known !== undefined && !bringsMachines(known)) ? null : targetOf(id, region);
}

const isPaidElsewhere = ({ properties }: Machine): boolean =>
  (properties?.host ?? null) !== null ||
  (properties?.hostGroup ?? null) !== null ||
  (properties?.capacityReservation?.capacityReservationGroup ?? null) !== null;

/** On a dedicated host the host is paid, not the machine. */
function termOf({ properties }: Machine): Term | null {
  if (isSpot(properties?.priority)) return 'spot';
  return (properties?.host ?? properties?.hostGroup ?? null) === null ? 'on-demand' : null;
}

/**
 * The GPU machines of a subscription in some regions.
 * @param lacks receives what could not be read beside the machines themselves
 * @throws Failure
 */
export async function gpuMachines(
  client: AzureClient,
  sizes: Sizes,
  sets: Promise<readonly ScaleSet[] | null>,
  subscriptionId: string,
  lacks: (what: string) => void,
): Promise<FleetTarget[]> {
  const { regions, account } = client.settings;
  const values = { subscriptionId };
  const machines = (await client.list(OPERATIONS.machines, values)).filter(({ location }) =>
    regions.includes(keyOf(location)),
  );
  const orNone = async <Item>(what: string, list: () => Promise<Item[]>): Promise<Item[]> =>
    (await unlessFailed(list, (message) => lacks(`the ${what} could not be read: ${message}`))) ?? [];
  const states = await orNone('power states', () => client.list(OPERATIONS.machines, values, { statusOnly: 'true' }));
  const interfaces = await orNone('network interfaces', () => client.list(OPERATIONS.interfaces, values));
  const byId = new Map(states.map((one) => [keyOf(one.id), one]));
  const tables = new Map<string, SizeTable>();
  for (const region of new Set(machines.map(({ location }) => keyOf(location))))
    tables.set(region, await sizes.orNames(subscriptionId, region, lacks));
  const known = {
    interfaces: new Map(interfaces.map((one) => [keyOf(one.id), one])),
    sets: new Map((await sets)?.map((one) => [keyOf(one.id), one]) ?? []),
  };
  return machines
    .map((one) => withState(one, byId.get(keyOf(one.id))))
    .flatMap((one) => {
      const table = tables.get(keyOf(one.location)) ?? new Map();
      const target = machineAsTarget(one, account, { ...known, sizes: table });
      return target === null || target.gpus === 0 ? [] : [target];
    });
}

/** The list of machines has their settings, that of states their instance views. */
function withState(one: Machine, state: Machine | undefined): Machine {
  return { ...one, properties: { ...one.properties, instanceView: state?.properties?.instanceView ?? null } };
}

/** Null: Azure says that it is not there. @throws Failure */
export async function readMachine(
  client: AzureClient,
  sizes: Sizes,
  { region, values }: AzureTarget,
): Promise<FleetTarget | null> {
  const one = await client.find(OPERATIONS.machine, values, { $expand: 'instanceView' });
  if (one === null || keyOf(one.location) !== region) return null;
  const interfaces = new Map<string, Interface>();
  for (const { id } of one.properties?.networkProfile?.networkInterfaces ?? []) {
    const named = valuesOf(id ?? '', 'networkInterfaceName');
    const found = named === null ? null : await unlessDenied(() => client.find(OPERATIONS.interface, named));
    if (found !== null) interfaces.set(keyOf(id), found);
  }
  const setId = one.properties?.virtualMachineScaleSet?.id ?? null;
  const set = setId === null ? null : await readSetOf(client, setId);
  const table = await sizes.orNames(values['subscriptionId'] ?? '', region, () => undefined);
  return machineAsTarget(one, client.settings.account, {
    sizes: table,
    interfaces,
    sets: new Map(set === null ? [] : [[keyOf(setId), set]]),
  });
}

async function readSetOf(client: AzureClient, id: string): Promise<ScaleSet | null> {
  const values = valuesOf(id, 'vmScaleSetName');
  return values === null || azureIdOf(id) === null
    ? null
    : unlessDenied(() => client.find(OPERATIONS.scaleSet, values));
}
