/**
 * Virtual machine scale sets as fleet targets, and the instances of those of uniform orchestration.
 *
 * A set is in the fleet if it may create a GPU machine, even while it is empty; a flexible set without a profile
 * creates nothing and is left out. The invariant: a value missing from a set's instances, autoscale settings or sizes
 * is unknown, and a set with machines of several sizes is never described as if it had one. Sources: Compute REST API,
 * data types VirtualMachineScaleSet, PriorityMixPolicy and VirtualMachineScaleSetVM; Monitor REST API, data type
 * AutoscaleSettingResource; "Orchestration modes for Virtual Machine Scale Sets"; "Terminate notification for Azure
 * Virtual Machine Scale Set instances"; "Support policies for Azure Kubernetes Service".
 */
import type { BillingState, FleetTarget, GroupSettings, Replicas, RunState } from '../../core/fleet/fleet.js';
import { TARGET_TAG } from '../../core/fleet/membership.js';
import type { Term } from '../../core/usage.js';
import { unlessDenied, unlessFailed } from '../rpc.js';
import type { AzureClient, Values } from './client.js';
import { bringsMachines, isSpot, NO_DEALLOCATION, PROVIDER } from './machines.js';
import { OPERATIONS, type Autoscale, type Interface, type Machine, type Member, type ScaleSet } from './operations.js';
import { sizeIn, type Size, type Sizes, type SizeTable } from './sizes.js';
import {
  addressesOf,
  keyOf,
  labelsOf,
  nodePoolOf,
  powerOf,
  targetOf,
  valuesOf,
  type AzureTarget,
  type Power,
} from './targets.js';

export const SET_PERMISSIONS: readonly string[] = [
  OPERATIONS.scaleSets.permission,
  OPERATIONS.members.permission,
  OPERATIONS.interfacesOfSet.permission,
  OPERATIONS.interfacesOfMember.permission,
  OPERATIONS.autoscale.permission,
];

/** The machines of a set, as far as the cloud states them. */
interface Inside {
  readonly powers: readonly Power[];
  readonly protectedMembers: number;
}

interface Around {
  readonly sizes: SizeTable;
  /** The autoscale settings of the subscription; null: they may not be read. */
  readonly autoscale: readonly Autoscale[] | null;
}

const INSTANCE_VIEW = { $expand: 'instanceView' };
const isUniform = ({ properties }: ScaleSet): boolean => properties?.orchestrationMode !== 'Flexible';

/** The sizes that a set may bring. */
const sizesOf = ({ sku, properties }: ScaleSet, table: SizeTable): Size[] => {
  const several = (properties?.skuProfile?.vmSizes ?? []).flatMap(({ name }) => name ?? []);
  const names = several.length > 0 ? several : [sku?.name ?? ''].filter((name) => name !== '');
  return names.map((name) => sizeIn(table, name));
};

/** The sets of a subscription in the configured regions. @throws Failure */
export async function readScaleSets(client: AzureClient, subscriptionId: string): Promise<ScaleSet[]> {
  const found = await client.list(OPERATIONS.scaleSets, { subscriptionId });
  return found.filter(({ location }) => client.settings.regions.includes(keyOf(location)));
}

/**
 * The sets of a subscription that may bring GPUs, and the instances of the uniform ones.
 * @param lacks receives what could not be read beside the sets themselves
 * @throws Failure
 */
export async function gpuScaleSets(
  client: AzureClient,
  sizes: Sizes,
  sets: Promise<readonly ScaleSet[]>,
  subscriptionId: string,
  lacks: (what: string) => void,
): Promise<FleetTarget[]> {
  const found: FleetTarget[] = [];
  const add = (target: FleetTarget | null): void => {
    if (target !== null) found.push(target);
  };
  const all = (await sets).filter(bringsMachines);
  if (all.length === 0) return found;
  const autoscale = await unlessFailed(
    () => client.list(OPERATIONS.autoscale, { subscriptionId }),
    (message) => lacks(`the autoscale settings could not be read: ${message}`),
  );
  for (const set of all) {
    const table = await sizes.orNames(subscriptionId, keyOf(set.location), lacks);
    if (sizesOf(set, table).every(({ gpus }) => gpus === 0)) continue;
    const values = valuesOf(set.id, 'vmScaleSetName') ?? {};
    const tell = (message: string): void => lacks(`the instances of ${set.name} could not be read: ${message}`);
    const inside = await unlessFailed(() => readInside(client, set, values), tell);
    add(setAsTarget(set, client.settings.account, inside, { sizes: table, autoscale }));
    if (inside === null || !isUniform(set)) continue;
    const interfaces = await unlessFailed(
      () => client.list(OPERATIONS.interfacesOfSet, setValues(values)),
      (message) => lacks(`the network interfaces of ${set.name} could not be read: ${message}`),
    );
    for (const member of inside.members)
      add(memberAsTarget(member, set, client.settings.account, table, interfaces ?? []));
  }
  return found;
}

/** The reference has two names for the same parameter. */
const setValues = (values: Values): Values => ({
  ...values,
  virtualMachineScaleSetName: values['vmScaleSetName'] ?? '',
});

async function readInside(
  client: AzureClient,
  set: ScaleSet,
  values: Values,
): Promise<Inside & { readonly members: readonly Member[] }> {
  if (isUniform(set)) {
    const members = await client.list(OPERATIONS.members, setValues(values), INSTANCE_VIEW);
    return {
      members,
      powers: members.map(({ properties }) =>
        powerOf(properties?.instanceView?.statuses, properties?.provisioningState),
      ),
      protectedMembers: members.filter(({ properties }) => properties?.protectionPolicy?.protectFromScaleIn === true)
        .length,
    };
  }
  // Azure expands the view of a list only where the list is of one set.
  const machines: Machine[] = await client.list(
    OPERATIONS.machines,
    { subscriptionId: values['subscriptionId'] ?? '' },
    { $filter: `'virtualMachineScaleSet/id' eq '${set.id}'`, ...INSTANCE_VIEW },
  );
  // Only instances of uniform sets can be protected.
  return {
    members: [],
    powers: machines.map(({ properties }) =>
      powerOf(properties?.instanceView?.statuses, properties?.provisioningState),
    ),
    protectedMembers: 0,
  };
}

function setAsTarget(
  set: ScaleSet,
  account: string | null,
  inside: Inside | null,
  { sizes, autoscale }: Around,
): FleetTarget | null {
  const region = keyOf(set.location);
  const target = targetOf(set.id, region);
  if (target === null) return null;
  const own = sizesOf(set, sizes);
  const spotRatio = spotRatioOf(set);
  const scalers = autoscale?.filter(
    ({ properties }) => properties?.enabled === true && keyOf(properties.targetResourceUri) === keyOf(set.id),
  );
  const pool = nodePoolOf(set.tags);
  const created = Date.parse(set.properties?.timeCreated ?? '');
  return {
    target,
    kind: 'group',
    name: set.name,
    provider: PROVIDER,
    account,
    region,
    sku: own.length === 1 ? (own[0]?.name ?? null) : null,
    gpuModel: common(own.map(({ model }) => model)),
    gpus: common(own.map(({ gpus }) => gpus)),
    term: termOf(set, spotRatio),
    ...standing(set, inside),
    replicas: replicasOf(set, inside, scalers ?? null),
    spotRatio,
    ...(mixes(set) ? { onDemandBase: baseOf(set) } : {}),
    labels: labelsOf(set.tags),
    launchedAt: Number.isNaN(created) ? null : created,
    revision: null,
    group: settingsOf(set, inside, scalers ?? null),
    ruledOut: ruledOutOf(set, pool),
    ...(pool === null ? {} : { managedBy: [pool] }),
  };
}

/** The value that all share; null if they differ, or one is unknown. */
function common<T>(values: readonly (T | null)[]): T | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** For a mixing set, spot's share above its base of regular machines: the share of new capacity. */
function spotRatioOf({ properties }: ScaleSet): number | null {
  const mix = properties?.priorityMixPolicy ?? null;
  if (mix === null) return isSpot(properties?.virtualMachineProfile?.priority) ? 1 : 0;
  const regular = mix.regularPriorityPercentageAboveBase ?? null;
  return regular === null ? null : (100 - regular) / 100;
}

const mixes = ({ properties }: ScaleSet): boolean => (properties?.priorityMixPolicy ?? null) !== null;
const baseOf = ({ properties }: ScaleSet): number => properties?.priorityMixPolicy?.baseRegularPriorityCount ?? 0;

function termOf(set: ScaleSet, spotRatio: number | null): Term | null {
  if ((set.properties?.hostGroup ?? null) !== null) return null;
  return spotRatio === 0 ? 'on-demand' : spotRatio === 1 && baseOf(set) === 0 ? 'spot' : null;
}

function standing({ sku }: ScaleSet, inside: Inside | null): { state: RunState; billing: BillingState } {
  const capacity = sku?.capacity ?? null;
  if (inside === null || (inside.powers.length === 0 && capacity !== 0))
    return { state: capacity === 0 ? 'stopped' : 'unknown', billing: capacity === 0 ? 'ended' : 'unknown' };
  const { powers } = inside;
  if (powers.length === 0) return { state: 'stopped', billing: 'ended' };
  const has = (billing: BillingState): boolean => powers.some((one) => one.billing === billing);
  return {
    state: powers.some(({ state }) => state === 'running')
      ? 'running'
      : powers.some(({ state }) => state === 'starting')
        ? 'starting'
        : (common(powers.map(({ state }) => state)) ?? 'unknown'),
    billing: has('billed') ? 'billed' : has('unknown') ? 'unknown' : 'partly',
  };
}

/** The bounds are its autoscale setting's, where that has one profile for all times. */
function replicasOf({ sku }: ScaleSet, inside: Inside | null, scalers: readonly Autoscale[] | null): Replicas | null {
  const desired = sku?.capacity ?? null;
  if (desired === null) return null;
  const profiles = (scalers ?? []).flatMap(({ properties }) => properties?.profiles ?? []);
  const [only] = profiles.length === 1 ? profiles : [];
  const always = only !== undefined && (only.fixedDate ?? null) === null && (only.recurrence ?? null) === null;
  const bound = (text: string | null | undefined): number | null =>
    always && /^\d+$/.test(text ?? '') ? Number(text) : null;
  return {
    desired,
    ready: inside === null ? null : inside.powers.filter(({ state }) => state === 'running').length,
    min: bound(only?.capacity?.minimum),
    max: bound(only?.capacity?.maximum),
  };
}

/** Any enabled autoscale setting puts the size back within its bounds, and by its rules: it is not fought. */
function settingsOf(
  { properties }: ScaleSet,
  inside: Inside | null,
  scalers: readonly Autoscale[] | null,
): GroupSettings {
  const notice = properties?.virtualMachineProfile?.scheduledEventsProfile?.terminateNotificationProfile ?? null;
  const minutes = /^PT(\d+)M$/.exec(notice?.notBeforeTimeout ?? '')?.[1];
  return {
    protectedMembers: inside?.protectedMembers ?? null,
    suspended: [],
    hooks:
      notice?.enable === true
        ? [{ name: 'terminate notification', seconds: minutes === undefined ? null : Number(minutes) * 60 }]
        : [],
    policies: scalers?.map(({ name }) => ({ name: name ?? 'autoscale', follows: true })) ?? null,
  };
}

function ruledOutOf({ properties }: ScaleSet, pool: string | null): NonNullable<FleetTarget['ruledOut']> {
  const scale = pool === null ? {} : { scale: `${pool}, which alone may change it` };
  return (properties?.priorityMixPolicy ?? null) === null
    ? { ...scale, 'set-spot-ratio': 'it has no priority mix policy, and so brings machines of one priority' }
    : { ...scale, ...(pool === null ? {} : { 'set-spot-ratio': `${pool}, which alone may change it` }) };
}

function memberAsTarget(
  member: Member,
  set: ScaleSet,
  account: string | null,
  table: SizeTable,
  interfaces: readonly Interface[],
): FleetTarget | null {
  const { properties } = member;
  const region = keyOf(member.location ?? set.location);
  const target = targetOf(member.id, region);
  const group = targetOf(set.id, keyOf(set.location));
  if (target === null || group === null) return null;
  const sku = member.sku?.name ?? set.sku?.name ?? null;
  const size = sku === null ? null : sizeIn(table, sku);
  const power = powerOf(properties?.instanceView?.statuses, properties?.provisioningState);
  const computer = properties?.osProfile?.computerName ?? properties?.instanceView?.computerName ?? null;
  const profile = set.properties?.virtualMachineProfile;
  const onHost = (set.properties?.hostGroup ?? null) !== null;
  const pool = nodePoolOf(set.tags);
  return {
    target,
    kind: 'instance',
    name: member.name ?? `${set.name}_${member.instanceId}`,
    provider: PROVIDER,
    account,
    region,
    sku: size?.name ?? null,
    gpuModel: size?.model ?? null,
    gpus: size?.gpus ?? null,
    term: isSpot(profile?.priority) ? 'spot' : onHost ? null : 'on-demand',
    state: power.state,
    billing: power.billing,
    replicas: null,
    spotRatio: null,
    labels: { ...labelsOf(member.tags), [TARGET_TAG]: group },
    launchedAt: power.since,
    revision: null,
    ...addressesOf(
      computer,
      interfaces.filter((one) => keyOf(one.properties?.virtualMachine?.id) === keyOf(member.id)),
    ),
    paid: onHost || (profile?.capacityReservation?.capacityReservationGroup ?? null) !== null ? 'elsewhere' : 'hourly',
    ...(size?.localDisks === true ? { localDisks: true as const } : {}),
    ...(profile?.storageProfile?.osDisk?.diffDiskSettings?.option === 'Local'
      ? { ruledOut: { stop: NO_DEALLOCATION } }
      : {}),
    ...(pool === null ? {} : { managedBy: [pool] }),
  };
}

/** Null: Azure says that it is not there. @throws Failure */
export async function readScaleSet(
  client: AzureClient,
  sizes: Sizes,
  { region, values }: AzureTarget,
): Promise<FleetTarget | null> {
  const set = await client.find(OPERATIONS.scaleSet, values);
  if (set === null || keyOf(set.location) !== region) return null;
  const subscriptionId = values['subscriptionId'] ?? '';
  const own = valuesOf(set.id, 'vmScaleSetName') ?? values;
  const table = await sizes.orNames(subscriptionId, region, () => undefined);
  const inside = await unlessDenied(() => readInside(client, set, own));
  const autoscale = await unlessDenied(() => client.list(OPERATIONS.autoscale, { subscriptionId }));
  return setAsTarget(set, client.settings.account, inside, { sizes: table, autoscale });
}

/** Null: Azure says that it is not there. @throws Failure */
export async function readMember(
  client: AzureClient,
  sizes: Sizes,
  { region, values }: AzureTarget,
): Promise<FleetTarget | null> {
  const member = await client.find(OPERATIONS.member, values, INSTANCE_VIEW);
  const set = member === null ? null : await client.find(OPERATIONS.scaleSet, values);
  if (member === null || set === null || keyOf(set.location) !== region) return null;
  const table = await sizes.orNames(values['subscriptionId'] ?? '', region, () => undefined);
  const interfaces = await unlessDenied(() => client.list(OPERATIONS.interfacesOfMember, values));
  return memberAsTarget(member, set, client.settings.account, table, interfaces ?? []);
}
