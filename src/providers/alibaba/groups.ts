/**
 * Scaling groups of Auto Scaling (ESS) as fleet targets.
 *
 * A group's spot ratio is the setting that Bursar may change: the ratio for the capacity above its base of
 * pay-as-you-go instances. The invariant: a group whose machines differ has no one SKU, and one that counts by weight
 * has no GPUs per replica. Fields: Auto Scaling API Reference (2022-02-22), "DescribeScalingGroups",
 * "DescribeScalingConfigurations" and "DescribeScalingInstances".
 */
import { z } from 'zod';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { groupTarget, reading, type Membership, type TypeGpus } from '../rpc.js';
import { orUnknown, type Reading } from '../unread.js';
import { permissionOf, type AlibabaClient, type Params } from './client.js';
import { CLOUD, type InstanceTypes } from './types.js';

export const GROUPS_PERMISSION = permissionOf('ess', 'DescribeScalingGroups');
export const CONFIGURATIONS_PERMISSION = permissionOf('ess', 'DescribeScalingConfigurations');
export const MEMBERS_PERMISSION = permissionOf('ess', 'DescribeScalingInstances');
const HOOKS_PERMISSION = permissionOf('ess', 'DescribeLifecycleHooks');
const RULES_PERMISSION = permissionOf('ess', 'DescribeScalingRules');
export const SETTINGS_PERMISSIONS: readonly string[] = [HOOKS_PERMISSION, RULES_PERMISSION];
const PAGE_SIZE = 50;
/** Ids in one request (ScalingConfigurationIds.N). */
const MOST_CONFIGURATIONS = 10;
/** Ids in one request (InstanceIds.N). */
const MOST_INSTANCES = 20;

const count = z.number().optional();

const GROUP = z.object({
  ScalingGroupId: z.string(),
  ScalingGroupName: z.string().optional(),
  LifecycleState: z.string().optional(),
  MinSize: count,
  MaxSize: count,
  DesiredCapacity: count,
  ActiveCapacity: count,
  StoppedCapacity: count,
  RemovingCapacity: count,
  RemovingWaitCapacity: count,
  TotalInstanceCount: count,
  OnDemandBaseCapacity: count,
  OnDemandPercentageAboveBaseCapacity: count,
  MultiAZPolicy: z.string().optional(),
  ProtectedCapacity: count,
  SuspendedProcesses: z.array(z.string()).optional(),
  ActiveScalingConfigurationId: z.string().optional(),
  LaunchTemplateOverrides: z
    .array(z.object({ InstanceType: z.string().optional(), WeightedCapacity: z.number().optional() }))
    .optional(),
  Tags: z.array(z.object({ TagKey: z.string(), TagValue: z.string().optional() })).optional(),
  CreationTime: z.string().optional(),
});
type Group = z.output<typeof GROUP>;
const GROUPS = z.object({ TotalCount: z.number(), ScalingGroups: z.array(GROUP) });

const CONFIGURATION = z.object({
  ScalingConfigurationId: z.string(),
  InstanceType: z.string().optional(),
  InstanceTypes: z.array(z.string()).optional(),
  WeightedCapacities: z.array(z.union([z.number(), z.string()])).optional(),
  SpotStrategy: z.string().optional(),
});
type Configuration = z.output<typeof CONFIGURATION>;
const CONFIGURATIONS = z.object({ ScalingConfigurations: z.array(CONFIGURATION) });

const HOOKS = z.object({
  LifecycleHooks: z.array(
    z.object({
      LifecycleHookName: z.string(),
      LifecycleTransition: z.string(),
      LifecycleHookStatus: z.string().optional(),
      HeartbeatTimeout: z.number().optional(),
    }),
  ),
});
const RULES = z.object({
  ScalingRules: z.array(z.object({ ScalingRuleName: z.string(), ScalingRuleType: z.string().optional() })),
});

const MEMBERS = z.object({
  ScalingInstances: z.array(z.object({ InstanceId: z.string(), ScalingGroupId: z.string() })),
});

/** Groups of a region, all pages. @throws Failure */
async function readGroups(client: AlibabaClient, region: string, filter: Params = {}): Promise<Group[]> {
  const found: Group[] = [];
  for (let PageNumber = 1; ; PageNumber += 1) {
    const params: Params = { ...filter, RegionId: region, PageSize: PAGE_SIZE, PageNumber };
    const reply = await reading(CLOUD, GROUPS_PERMISSION, GROUPS, () =>
      client.call('ess', 'DescribeScalingGroups', region, params),
    );
    found.push(...reply.ScalingGroups);
    if (reply.ScalingGroups.length === 0 || found.length >= reply.TotalCount) return found;
  }
}

async function readConfigurations(
  client: AlibabaClient,
  region: string,
  groups: readonly Group[],
): Promise<Map<string, Configuration>> {
  const ids = [
    ...new Set(
      groups.flatMap(({ ActiveScalingConfigurationId }) =>
        ActiveScalingConfigurationId ? [ActiveScalingConfigurationId] : [],
      ),
    ),
  ];
  const found = new Map<string, Configuration>();
  for (let at = 0; at < ids.length; at += MOST_CONFIGURATIONS) {
    const params: Params = {
      RegionId: region,
      PageSize: MOST_CONFIGURATIONS,
      ScalingConfigurationIds: ids.slice(at, at + MOST_CONFIGURATIONS),
    };
    const reply = await reading(CLOUD, CONFIGURATIONS_PERMISSION, CONFIGURATIONS, () =>
      client.call('ess', 'DescribeScalingConfigurations', region, params),
    );
    for (const one of reply.ScalingConfigurations) found.set(one.ScalingConfigurationId, one);
  }
  return found;
}

/** The groups of a region whose machines have GPUs, or may have. @throws Failure */
export async function gpuGroups(client: AlibabaClient, types: InstanceTypes, region: string): Promise<FleetTarget[]> {
  const groups = await readGroups(client, region);
  const targets = await asTargets(client, types, region, groups);
  const found: FleetTarget[] = [];
  for (const [at, target] of targets.entries())
    if (target.gpus !== 0) found.push(await withSettings(client, region, groups[at], target, 'listing'));
  return found;
}

/** Null: the cloud says that it is not there. @throws Failure */
export async function readGroup(
  client: AlibabaClient,
  types: InstanceTypes,
  region: string,
  id: string,
): Promise<FleetTarget | null> {
  const found = (await readGroups(client, region, { ScalingGroupIds: [id] })).filter(
    ({ ScalingGroupId }) => ScalingGroupId === id,
  );
  const [target] = await asTargets(client, types, region, found);
  return target === undefined ? null : withSettings(client, region, found[0], target, 'acting');
}

/**
 * What the group's own settings say of its size. The share of pay-as-you-go instances is set only where the group has
 * one (or has its default, 100), and the expected number only where it is in use: otherwise setting them would change
 * how the group works, and nothing would take that back (Auto Scaling API Reference, "ModifyScalingGroup":
 * MultiAZPolicy, OnDemandPercentageAboveBaseCapacity, DesiredCapacity).
 * @throws Failure before acting, if it cannot be asked now
 */
async function withSettings(
  client: AlibabaClient,
  region: string,
  group: Group | undefined,
  target: FleetTarget,
  when: Reading,
): Promise<FleetTarget> {
  if (group === undefined) return target;
  const { MultiAZPolicy, OnDemandPercentageAboveBaseCapacity, DesiredCapacity, ScalingGroupId } = group;
  const ask = { RegionId: region, ScalingGroupId, PageSize: PAGE_SIZE };
  const hooks = await orUnknown(when, () =>
    reading(CLOUD, HOOKS_PERMISSION, HOOKS, () => client.call('ess', 'DescribeLifecycleHooks', region, ask)),
  );
  const rules = await orUnknown(when, () =>
    reading(CLOUD, RULES_PERMISSION, RULES, () => client.call('ess', 'DescribeScalingRules', region, ask)),
  );
  const isMixed = MultiAZPolicy === 'COMPOSABLE' || OnDemandPercentageAboveBaseCapacity !== undefined;
  return {
    ...target,
    group: {
      protectedMembers: group.ProtectedCapacity ?? null,
      suspended: (group.SuspendedProcesses ?? []).flatMap((process) =>
        process === 'ScaleOut' ? ['launch' as const] : process === 'ScaleIn' ? ['terminate' as const] : [],
      ),
      hooks:
        hooks?.LifecycleHooks.filter(
          ({ LifecycleTransition, LifecycleHookStatus }) =>
            LifecycleTransition === 'SCALE_IN' && LifecycleHookStatus !== 'InActive',
        ).map(({ LifecycleHookName, HeartbeatTimeout }) => ({
          name: LifecycleHookName,
          seconds: HeartbeatTimeout ?? null,
        })) ?? null,
      policies:
        rules?.ScalingRules.map(({ ScalingRuleName, ScalingRuleType }) => ({
          name: ScalingRuleName,
          follows: ScalingRuleType === 'TargetTrackingScalingRule',
        })) ?? null,
    },
    ruledOut: {
      ...(isMixed
        ? {}
        : {
            'set-spot-ratio': `its MultiAZPolicy is ${MultiAZPolicy ?? 'not stated'}: only a COMPOSABLE group, or one that states a share of pay-as-you-go instances, mixes spot`,
          }),
      ...(DesiredCapacity === undefined
        ? {
            scale: 'it keeps no expected number of instances: switch that on first, since nothing here switches it off',
          }
        : {}),
    },
  };
}

/**
 * The groups of instances that carry no tag of Auto Scaling, which tags those that it brings: these may have been
 * attached by hand.
 * @throws Failure
 */
export async function membersOf(client: AlibabaClient, region: string, ids: readonly string[]): Promise<Membership> {
  const found = new Map<string, string>();
  for (let at = 0; at < ids.length; at += MOST_INSTANCES) {
    const params: Params = {
      RegionId: region,
      PageSize: MOST_INSTANCES,
      PageNumber: 1,
      InstanceIds: ids.slice(at, at + MOST_INSTANCES),
    };
    const reply = await reading(CLOUD, MEMBERS_PERMISSION, MEMBERS, () =>
      client.call('ess', 'DescribeScalingInstances', region, params),
    );
    for (const { InstanceId, ScalingGroupId } of reply.ScalingInstances) found.set(InstanceId, ScalingGroupId);
  }
  return found;
}

interface Machines {
  readonly types: readonly string[];
  readonly weighted: boolean;
  readonly spot: boolean | null;
}

function machinesOf(group: Group, configuration: Configuration | undefined): Machines {
  const overrides = (group.LaunchTemplateOverrides ?? []).filter(({ InstanceType }) => InstanceType !== undefined);
  if (configuration === undefined) {
    return {
      types: overrides.flatMap(({ InstanceType }) => InstanceType ?? []),
      weighted: overrides.some(({ WeightedCapacity }) => (WeightedCapacity ?? 1) !== 1),
      spot: null,
    };
  }
  const { InstanceType, InstanceTypes, WeightedCapacities, SpotStrategy } = configuration;
  const several =
    (InstanceTypes ?? []).length > 0 ? (InstanceTypes ?? []) : InstanceType === undefined ? [] : [InstanceType];
  return {
    types: several,
    weighted: (WeightedCapacities ?? []).some((weight) => Number(weight) !== 1),
    spot: SpotStrategy === undefined || SpotStrategy === '' ? null : SpotStrategy !== 'NoSpot',
  };
}

async function asTargets(
  client: AlibabaClient,
  types: InstanceTypes,
  region: string,
  groups: readonly Group[],
): Promise<FleetTarget[]> {
  const configurations = await readConfigurations(client, region, groups);
  const machines = groups.map((group) =>
    machinesOf(group, configurations.get(group.ActiveScalingConfigurationId ?? '')),
  );
  const known = await types.gpusOf(
    region,
    machines.flatMap((one) => one.types),
  );
  return groups.map((group, at) =>
    asTarget(group, machines[at] ?? { types: [], weighted: false, spot: null }, region, client.settings.account, known),
  );
}

function asTarget(
  group: Group,
  machines: Machines,
  region: string,
  account: string | null,
  known: ReadonlyMap<string, TypeGpus>,
): FleetTarget {
  const gpus = commonGpus(machines, known);
  const total = group.TotalInstanceCount;
  const spotRatio =
    group.OnDemandPercentageAboveBaseCapacity === undefined
      ? machines.spot === null
        ? null
        : Number(machines.spot)
      : 1 - group.OnDemandPercentageAboveBaseCapacity / 100;
  const launched = Date.parse(group.CreationTime ?? '');
  // A group without an expected number keeps what it has: its size is what it is meant to be.
  const desired = group.DesiredCapacity ?? total;
  return {
    target: groupTarget(region, group.ScalingGroupId),
    kind: 'group',
    name: group.ScalingGroupName ?? group.ScalingGroupId,
    provider: CLOUD,
    account,
    region,
    sku: machines.types.length === 1 && !machines.weighted ? (machines.types[0] ?? null) : null,
    gpuModel: gpus.model,
    gpus: gpus.gpus,
    term: termOf(group, spotRatio),
    state: stateOf(group),
    billing: billingOf(group),
    replicas:
      desired === undefined
        ? null
        : { desired, ready: group.ActiveCapacity ?? null, min: group.MinSize ?? null, max: group.MaxSize ?? null },
    ...(leavingOf(group) > 0 ? { leaving: leavingOf(group) } : {}),
    spotRatio,
    ...(typeof group.OnDemandBaseCapacity === 'number' ? { onDemandBase: group.OnDemandBaseCapacity } : {}),
    labels: Object.fromEntries((group.Tags ?? []).map(({ TagKey, TagValue }) => [TagKey, TagValue ?? ''])),
    launchedAt: Number.isNaN(launched) ? null : launched,
    revision: null,
  };
}

/** Machines that are being removed, and those that a lifecycle hook holds (Auto Scaling API, "DescribeScalingGroups"). */
const leavingOf = ({ RemovingCapacity = 0, RemovingWaitCapacity = 0 }: Group): number =>
  RemovingCapacity + RemovingWaitCapacity;

/** Above a base of pay-as-you-go instances spot is never all there is. */
function termOf({ OnDemandPercentageAboveBaseCapacity }: Group, spotRatio: number | null): Term | null {
  if (spotRatio === 0) return 'on-demand';
  return spotRatio === 1 && OnDemandPercentageAboveBaseCapacity === undefined ? 'spot' : null;
}

/** The GPUs that all machines of the group have in common. */
function commonGpus({ types, weighted }: Machines, known: ReadonlyMap<string, TypeGpus>): TypeGpus {
  const all = types.map((type) => known.get(type));
  const [first] = all;
  if (first === undefined) return { model: null, gpus: null };
  return {
    model: all.every((one) => one?.model === first.model) ? first.model : null,
    gpus: all.every((one) => one?.gpus === first.gpus) && (!weighted || first.gpus === 0) ? first.gpus : null,
  };
}

function stateOf({ LifecycleState, TotalInstanceCount, StoppedCapacity }: Group): RunState {
  if (LifecycleState === 'Deleting') return 'stopping';
  if (TotalInstanceCount === undefined) return 'unknown';
  return TotalInstanceCount - (StoppedCapacity ?? 0) > 0 ? 'running' : 'stopped';
}

function billingOf({ TotalInstanceCount, StoppedCapacity }: Group): BillingState {
  if (TotalInstanceCount === undefined) return 'unknown';
  if (TotalInstanceCount === 0) return 'ended';
  return TotalInstanceCount > (StoppedCapacity ?? 0) ? 'billed' : 'partly';
}
