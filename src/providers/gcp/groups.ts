/**
 * Managed instance groups as fleet targets, zonal and regional.
 *
 * The templates of a group describe its machines; a template never changes, and is read once. A group has one
 * provisioning model, so spot is not mixed in it, and its autoscaler has its bounds. The invariant: if its templates
 * differ, or it may choose among machine types, the size of one replica is unknown, never guessed; an unreadable
 * autoscaler is not assumed to be absent. Sources: compute v1, InstanceGroupManager, Autoscaler and InstanceTemplate;
 * Compute Engine, "Autoscaling groups of instances" and "Stateful managed instance groups".
 */
import { Failure } from '../../core/errors.js';
import type { BillingState, FleetTarget, GroupSettings, Replicas, RuledOut, RunState } from '../../core/fleet/fleet.js';
import { unlessDenied } from '../rpc.js';
import { CLOUD, type GoogleClient } from './client.js';
import { instantOf, termOf } from './instances.js';
import { listed, type Lacks } from './lists.js';
import { GROUP, OPERATIONS, type Autoscaler, type Group, type Template } from './operations.js';
import { groupTarget, isZone, lastOf, partOf, plainLabels, PROJECT_LABEL, regionOf } from './targets.js';
import { attachedCards, gpusOf, skuOf, type MachineTypes } from './types.js';

export const GROUP_PERMISSIONS: readonly string[] = [
  OPERATIONS.groups.permission,
  OPERATIONS.zone.get.permission,
  OPERATIONS.template.permission,
  OPERATIONS.zone.autoscaler.permission,
];

/** Which of the two kinds of operations a place has, and its parameter. */
export function placeOf(place: string): {
  readonly kind: (typeof OPERATIONS)['zone' | 'region'];
  readonly path: Readonly<Record<string, string>>;
} {
  return isZone(place)
    ? { kind: OPERATIONS.zone, path: { zone: place } }
    : { kind: OPERATIONS.region, path: { region: place } };
}

/** Instance templates by their addresses. */
export class Templates {
  private readonly known = new Map<string, Template>();

  constructor(private readonly client: GoogleClient) {}

  /** Null: it is gone. @throws Failure */
  async templateAt(project: string, address: string): Promise<Template | null> {
    const kept = this.known.get(address);
    if (kept !== undefined) return kept;
    const path = { project: partOf(address, 'projects') ?? project, instanceTemplate: lastOf(address) };
    const region = partOf(address, 'regions');
    const found =
      region === null
        ? await this.client.find(OPERATIONS.template, { path })
        : await this.client.find(OPERATIONS.regionTemplate, { path: { ...path, region } });
    if (found !== null) this.known.set(address, found);
    return found;
  }
}

/** The inputs for reading groups, in addition to the client. */
export interface GroupReader {
  readonly client: GoogleClient;
  readonly types: MachineTypes;
  readonly templates: Templates;
}

/** The groups of a project that may launch GPUs, or of which that is unknown. @throws Failure */
export async function gpuGroups(reader: GroupReader, project: string, lacks: Lacks): Promise<FleetTarget[]> {
  const groups = await listed(reader.client, { project, name: 'instanceGroupManagers', entry: GROUP }, lacks);
  const targets: FleetTarget[] = [];
  for (const group of groups) {
    try {
      const target = await groupAsTarget(reader, group, project, lacks);
      if (target.gpus !== 0) targets.push(await withSettings(reader.client, group, project, target));
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.kind === 'denied') throw failure;
      lacks(`${group.name}: ${failure.message}`);
    }
  }
  return targets;
}

/** Null: Google says that it is not there. @throws Failure */
export async function readGroup(
  reader: GroupReader,
  project: string,
  place: string,
  name: string,
): Promise<FleetTarget | null> {
  const group = await findGroup(reader.client, project, place, name);
  if (group === null) return null;
  const target = await groupAsTarget(reader, group, project, () => undefined);
  return withSettings(reader.client, group, project, target);
}

/** A group as the API states it now. @throws Failure */
export function findGroup(client: GoogleClient, project: string, place: string, name: string): Promise<Group | null> {
  const { kind, path } = placeOf(place);
  return client.find(kind.get, { path: { project, ...path, instanceGroupManager: name } });
}

/** The machine of a template: the type, the attached cards, the term. */
interface Make {
  readonly properties: NonNullable<Template['properties']>;
  readonly type: string;
}

async function makesOf({ templates }: GroupReader, group: Group, project: string): Promise<readonly (Make | null)[]> {
  const versions = (group.versions ?? []).map(({ instanceTemplate }) => instanceTemplate ?? '');
  const addresses = [...new Set(versions.some((one) => one !== '') ? versions : [group.instanceTemplate ?? ''])];
  const found: (Make | null)[] = [];
  for (const address of addresses.filter((one) => one !== '')) {
    const properties = (await templates.templateAt(project, address))?.properties ?? null;
    found.push(properties === null ? null : { properties, type: lastOf(properties.machineType ?? '') });
  }
  return found;
}

async function groupAsTarget(reader: GroupReader, group: Group, project: string, lacks: Lacks): Promise<FleetTarget> {
  const place = lastOf(group.zone ?? group.region ?? '');
  const makes = await makesOf(reader, group, project);
  // A type is asked for in a zone: of a regional group, in the first that it spreads over.
  const zone = isZone(place) ? place : lastOf(group.distributionPolicy?.zones?.[0]?.zone ?? '');
  const known = await reader.types.gpusOf(
    project,
    makes.flatMap((make) => (make === null || zone === '' ? [] : [{ name: make.type, zone }])),
    lacks,
  );
  const chooses = Object.keys(group.instanceFlexibilityPolicy?.instanceSelections ?? {}).length > 0;
  const cards = makes.map((make) =>
    make === null || chooses
      ? { model: null, gpus: null }
      : gpusOf(known.get(make.type), attachedCards(make.properties.guestAccelerators)),
  );
  const skus = makes.map((make) =>
    make === null || chooses ? null : skuOf(make.type, attachedCards(make.properties.guestAccelerators)),
  );
  const term = common(makes.map((make) => (make === null ? null : termOf(make.properties.scheduling))));
  const labels = { ...makes[0]?.properties.labels, ...group.allInstancesConfig?.properties?.labels };
  return {
    target: groupTarget(project, place, group.name),
    kind: 'group',
    name: group.name,
    provider: CLOUD,
    account: reader.client.settings.account ?? project,
    region: regionOf(place),
    sku: common(skus),
    gpuModel: common(cards.map(({ model }) => model)),
    gpus: common(cards.map(({ gpus }) => gpus)),
    term,
    state: stateOf(group),
    billing: billingOf(group),
    replicas: replicasOf(group),
    spotRatio: term === 'spot' ? 1 : term === 'on-demand' ? 0 : null,
    labels: { ...plainLabels(labels), [PROJECT_LABEL]: project },
    launchedAt: instantOf(group.creationTimestamp),
    revision: null,
  };
}

/** The value that all share; null if they differ, or one is unknown. */
function common<T>(values: readonly (T | null)[]): T | null {
  const first = values[0];
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** Bounds are the autoscaler's. `none`: machines to which nothing is being done, which are those that run. */
function replicasOf({ targetSize, currentActions }: Group): Replicas | null {
  return typeof targetSize !== 'number'
    ? null
    : { desired: targetSize, ready: currentActions?.none ?? null, min: null, max: null };
}

function stateOf({ targetSize, currentActions }: Group): RunState {
  if (typeof targetSize !== 'number') return 'unknown';
  if ((currentActions?.none ?? 0) > 0) return 'running';
  return targetSize > 0 ? 'starting' : (currentActions?.deleting ?? 0) > 0 ? 'stopping' : 'stopped';
}

function billingOf({ targetSize, targetStoppedSize, targetSuspendedSize, currentActions }: Group): BillingState {
  if (typeof targetSize !== 'number') return 'unknown';
  if (targetSize > 0 || (currentActions?.none ?? 0) > 0 || (currentActions?.deleting ?? 0) > 0) return 'billed';
  return (targetStoppedSize ?? 0) + (targetSuspendedSize ?? 0) > 0 ? 'partly' : 'ended';
}

/** Adds the group's own settings about its size. @throws Failure if it cannot be asked now */
async function withSettings(
  client: GoogleClient,
  group: Group,
  project: string,
  target: FleetTarget,
): Promise<FleetTarget> {
  const address = group.status?.autoscaler ?? '';
  const scaler = address === '' ? undefined : await unlessDenied(() => readAutoscaler(client, project, address));
  const policy = scaler?.autoscalingPolicy;
  const isOff = policy?.mode === 'OFF';
  const settings: GroupSettings = {
    // A managed instance group protects none from scale-in, suspends nothing and has no hooks.
    protectedMembers: 0,
    suspended: [],
    hooks: [],
    policies: scaler === null ? null : scaler === undefined || isOff ? [] : [{ name: scaler.name, follows: true }],
  };
  const ruledOut = ruledOutFor(target, group, scaler);
  const { replicas } = target;
  return {
    ...target,
    group: settings,
    replicas:
      replicas === null
        ? null
        : { ...replicas, min: policy?.minNumReplicas ?? null, max: policy?.maxNumReplicas ?? null },
    ...(Object.keys(ruledOut).length === 0 ? {} : { ruledOut }),
  };
}

/** Null: Google says that it is not there. @throws Failure */
async function readAutoscaler(client: GoogleClient, project: string, address: string): Promise<Autoscaler | undefined> {
  const { kind, path } = placeOf(partOf(address, 'zones') ?? partOf(address, 'regions') ?? '');
  const found = await client.find(kind.autoscaler, { path: { project, ...path, autoscaler: lastOf(address) } });
  return found ?? undefined;
}

/** The label by which GKE marks what it made. */
const GKE_NODE = 'goog-gke-node';
const GKE_POOL = 'goog-k8s-node-pool-name';

/** @param scaler undefined: there is none, null: it may not be read */
function ruledOutFor({ labels }: FleetTarget, group: Group, scaler: Autoscaler | undefined | null): RuledOut {
  if (labels[GKE_NODE] !== undefined) {
    const pool = labels[GKE_POOL] ?? 'its cluster';
    const because = `GKE keeps its size as the node pool ${pool}: connect the cluster, and scale what runs there`;
    return { scale: because, 'set-bounds': because, replace: because };
  }
  const bounds = scaler === undefined ? { 'set-bounds': 'it has no autoscaler, and so no bounds' } : {};
  const isFollowed = scaler !== undefined && scaler !== null && scaler.autoscalingPolicy?.mode !== 'OFF';
  if (isFollowed) return { scale: `its autoscaler ${scaler.name} sets its size: set its bounds instead` };
  return group.status?.stateful?.hasStatefulConfig === true
    ? { ...bounds, scale: 'it is stateful: a smaller size would delete machines with the state that it keeps' }
    : bounds;
}
