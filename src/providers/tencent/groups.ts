/**
 * Auto scaling groups as fleet targets, and what their spot settings are.
 *
 * A group's spot ratio is the one of its settings, for the capacity above its base of pay-as-you-go instances: what
 * Bursar may set. The invariant: a group whose machines differ has no one SKU.
 * Fields: Auto Scaling API Reference (2018-04-19), "DescribeAutoScalingGroups", "DescribeLaunchConfigurations",
 * "DescribeAutoScalingInstances" and data type SpotMixedAllocationPolicy.
 */
import { z } from 'zod';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { groupTarget, orAbsent, reading, type Membership, type TypeGpus } from '../rpc.js';
import { orUnknown, type Reading } from '../unread.js';
import { CLOUD, permissionOf, type Params, type TencentClient } from './client.js';
import type { InstanceTypes } from './types.js';

export const GROUPS_PERMISSION = permissionOf('as', 'DescribeAutoScalingGroups');
export const CONFIGURATIONS_PERMISSION = permissionOf('as', 'DescribeLaunchConfigurations');
export const MEMBERS_PERMISSION = permissionOf('as', 'DescribeAutoScalingInstances');
const HOOKS_PERMISSION = permissionOf('as', 'DescribeLifecycleHooks');
const POLICIES_PERMISSION = permissionOf('as', 'DescribeScalingPolicies');
export const SETTINGS_PERMISSIONS: readonly string[] = [HOOKS_PERMISSION, POLICIES_PERMISSION];
/** The size of a page, and the number of ids in one request. */
const LIMIT = 100;

const text = z.string().nullish();
const count = z.number().nullish();

const SPOT_POLICY = z.object({
  BaseCapacity: count,
  OnDemandPercentageAboveBaseCapacity: count,
  SpotAllocationStrategy: text,
  CompensateWithBaseInstance: z.boolean().nullish(),
});
const GROUP = z.object({
  AutoScalingGroupId: z.string(),
  AutoScalingGroupName: text,
  DesiredCapacity: count,
  MinSize: count,
  MaxSize: count,
  InstanceCount: count,
  InServiceInstanceCount: count,
  LaunchConfigurationId: text,
  InstanceAllocationPolicy: text,
  EnabledStatus: text,
  SpotMixedAllocationPolicy: SPOT_POLICY.nullish(),
  CreatedTime: text,
  Tags: z.array(z.object({ Key: z.string(), Value: z.string() })).nullish(),
});
export type Group = z.output<typeof GROUP>;
const GROUPS = z.object({ TotalCount: z.number(), AutoScalingGroupSet: z.array(GROUP) });
const NONE = { TotalCount: 0, AutoScalingGroupSet: [] };

const CONFIGURATION = z.object({
  LaunchConfigurationId: z.string(),
  InstanceType: text,
  InstanceTypes: z.array(z.string()).nullish(),
  InstanceChargeType: text,
});
type Configuration = z.output<typeof CONFIGURATION>;
const CONFIGURATIONS = z.object({ LaunchConfigurationSet: z.array(CONFIGURATION) });

const MEMBERS = z.object({
  AutoScalingInstanceSet: z.array(z.object({ InstanceId: z.string(), AutoScalingGroupId: z.string() })),
});
const PROTECTED = z.object({
  TotalCount: z.number(),
  AutoScalingInstanceSet: z.array(z.object({ ProtectedFromScaleIn: z.boolean().nullish() })),
});
const HOOKS = z.object({
  LifecycleHookSet: z.array(
    z.object({ LifecycleHookName: z.string(), LifecycleTransition: text, HeartbeatTimeout: count }),
  ),
});
const POLICIES = z.object({
  ScalingPolicySet: z.array(z.object({ ScalingPolicyName: z.string(), ScalingPolicyType: text })),
});
const NO_MEMBERS = { AutoScalingInstanceSet: [] };

/** Groups of a region, all pages, or one. @throws Failure */
async function readGroups(client: TencentClient, region: string, id: string | null = null): Promise<Group[]> {
  const found: Group[] = [];
  for (;;) {
    const params: Params = id === null ? { Offset: found.length, Limit: LIMIT } : { AutoScalingGroupIds: [id] };
    const reply = await reading(CLOUD, GROUPS_PERMISSION, GROUPS, () =>
      orAbsent(client.call('as', 'DescribeAutoScalingGroups', region, params), NONE),
    );
    found.push(...reply.AutoScalingGroupSet);
    if (reply.AutoScalingGroupSet.length === 0 || found.length >= reply.TotalCount) return found;
  }
}

/** A group as the API states it; null: it is not there. @throws Failure */
export async function readGroup(client: TencentClient, region: string, id: string): Promise<Group | null> {
  return (await readGroups(client, region, id)).find(({ AutoScalingGroupId }) => AutoScalingGroupId === id) ?? null;
}

/** The groups that some instances lie in: the instances themselves carry no sign of them. @throws Failure */
export async function membersOf(client: TencentClient, region: string, ids: readonly string[]): Promise<Membership> {
  const found = new Map<string, string>();
  for (let at = 0; at < ids.length; at += LIMIT) {
    const params: Params = { InstanceIds: ids.slice(at, at + LIMIT), Limit: LIMIT };
    const reply = await reading(CLOUD, MEMBERS_PERMISSION, MEMBERS, () =>
      orAbsent(client.call('as', 'DescribeAutoScalingInstances', region, params), NO_MEMBERS),
    );
    for (const { InstanceId, AutoScalingGroupId } of reply.AutoScalingInstanceSet)
      found.set(InstanceId, AutoScalingGroupId);
  }
  return found;
}

async function readConfigurations(
  client: TencentClient,
  region: string,
  groups: readonly Group[],
): Promise<Map<string, Configuration>> {
  const ids = [
    ...new Set(groups.flatMap(({ LaunchConfigurationId }) => (LaunchConfigurationId ? [LaunchConfigurationId] : []))),
  ];
  const found = new Map<string, Configuration>();
  for (let at = 0; at < ids.length; at += LIMIT) {
    const params: Params = { LaunchConfigurationIds: ids.slice(at, at + LIMIT), Limit: LIMIT };
    const reply = await reading(CLOUD, CONFIGURATIONS_PERMISSION, CONFIGURATIONS, () =>
      client.call('as', 'DescribeLaunchConfigurations', region, params),
    );
    for (const one of reply.LaunchConfigurationSet) found.set(one.LaunchConfigurationId, one);
  }
  return found;
}

/** The groups of a region whose machines have GPUs, or may have. @throws Failure */
export async function gpuGroups(
  client: TencentClient,
  types: InstanceTypes,
  region: string,
  now: number,
): Promise<FleetTarget[]> {
  const groups = await readGroups(client, region);
  const targets = await groupsAsTargets(client, types, region, groups, now);
  const found: FleetTarget[] = [];
  for (const [at, target] of targets.entries())
    if (target.gpus !== 0) found.push(await withSettings(client, region, groups[at], target, 'listing'));
  return found;
}

/** Null: the cloud says that it is not there. @throws Failure */
export async function readGroupTarget(
  client: TencentClient,
  types: InstanceTypes,
  region: string,
  id: string,
  now: number,
): Promise<FleetTarget | null> {
  const group = await readGroup(client, region, id);
  if (group === null) return null;
  const [target] = await groupsAsTargets(client, types, region, [group], now);
  return target === undefined ? null : withSettings(client, region, group, target, 'acting');
}

/**
 * What the group's own settings say of its size. Spot is mixed only where the group already mixes it: switching it to
 * SPOT_MIXED would stay behind when the share is put back (Auto Scaling API Reference, "ModifyAutoScalingGroup":
 * InstanceAllocationPolicy).
 * @throws Failure before acting, if it cannot be asked now
 */
async function withSettings(
  client: TencentClient,
  region: string,
  group: Group | undefined,
  target: FleetTarget,
  when: Reading,
): Promise<FleetTarget> {
  if (group === undefined) return target;
  const Filters = [{ Name: 'auto-scaling-group-id', Values: [group.AutoScalingGroupId] }];
  const asked = <Schema extends z.ZodType>(action: string, schema: Schema, params: Params) =>
    orUnknown(when, () =>
      reading(CLOUD, permissionOf('as', action), schema, () =>
        client.call('as', action, region, { Filters, Limit: LIMIT, ...params }),
      ),
    );
  const hooks = await asked('DescribeLifecycleHooks', HOOKS, {});
  const policies = await asked('DescribeScalingPolicies', POLICIES, {});
  return {
    ...target,
    group: {
      protectedMembers: await protectedMembers((Offset) =>
        asked('DescribeAutoScalingInstances', PROTECTED, { Offset }),
      ),
      // A disabled group starts no activity of its own.
      suspended: group.EnabledStatus === 'DISABLED' ? ['launch', 'terminate'] : [],
      hooks:
        hooks?.LifecycleHookSet.filter(({ LifecycleTransition }) => LifecycleTransition === 'INSTANCE_TERMINATING').map(
          ({ LifecycleHookName, HeartbeatTimeout }) => ({ name: LifecycleHookName, seconds: HeartbeatTimeout ?? null }),
        ) ?? null,
      policies:
        policies?.ScalingPolicySet.map(({ ScalingPolicyName, ScalingPolicyType }) => ({
          name: ScalingPolicyName,
          follows: ScalingPolicyType === 'TARGET_TRACKING',
        })) ?? null,
    },
    ...(group.InstanceAllocationPolicy === 'SPOT_MIXED'
      ? {}
      : { ruledOut: { 'set-spot-ratio': 'its InstanceAllocationPolicy is not SPOT_MIXED: it does not mix spot' } }),
  };
}

/** @param page members from an offset on; null: they may not be read */
async function protectedMembers(
  page: (offset: number) => Promise<z.output<typeof PROTECTED> | null>,
): Promise<number | null> {
  let found = 0;
  for (let offset = 0; ; offset += LIMIT) {
    const reply = await page(offset);
    if (reply === null) return null;
    found += reply.AutoScalingInstanceSet.filter(({ ProtectedFromScaleIn }) => ProtectedFromScaleIn === true).length;
    if (reply.AutoScalingInstanceSet.length === 0 || offset + LIMIT >= reply.TotalCount) return found;
  }
}

/** @throws Failure */
async function groupsAsTargets(
  client: TencentClient,
  types: InstanceTypes,
  region: string,
  groups: readonly Group[],
  now: number,
): Promise<FleetTarget[]> {
  const configurations = await readConfigurations(client, region, groups);
  const machines = groups.map(({ LaunchConfigurationId }) => configurations.get(LaunchConfigurationId ?? ''));
  const known = await types.gpusOf(region, machines.flatMap(typesOf), now);
  return groups.map((group, at) => asTarget(group, machines[at], region, client.settings.account, known));
}

function typesOf(configuration: Configuration | undefined): readonly string[] {
  const several = configuration?.InstanceTypes ?? [];
  return several.length > 0 ? several : configuration?.InstanceType ? [configuration.InstanceType] : [];
}

function asTarget(
  group: Group,
  configuration: Configuration | undefined,
  region: string,
  account: string | null,
  known: ReadonlyMap<string, TypeGpus>,
): FleetTarget {
  const types = typesOf(configuration);
  const gpus = commonGpus(types, known);
  const spotRatio = spotRatioOf(group, configuration);
  const launched = Date.parse(group.CreatedTime ?? '');
  const instances = group.InstanceCount ?? null;
  const desired = group.DesiredCapacity ?? null;
  return {
    target: groupTarget(region, group.AutoScalingGroupId),
    kind: 'group',
    name: group.AutoScalingGroupName ?? group.AutoScalingGroupId,
    provider: CLOUD,
    account,
    region,
    sku: types.length === 1 ? (types[0] ?? null) : null,
    gpuModel: gpus.model,
    gpus: gpus.gpus,
    term: termOf(group, spotRatio),
    state: instances === null ? 'unknown' : instances > 0 ? 'running' : 'stopped',
    billing: instances === null ? 'unknown' : instances > 0 ? 'billed' : 'ended',
    replicas:
      desired === null
        ? null
        : {
            desired,
            ready: group.InServiceInstanceCount ?? null,
            min: group.MinSize ?? null,
            max: group.MaxSize ?? null,
          },
    spotRatio,
    ...(typeof group.SpotMixedAllocationPolicy?.BaseCapacity === 'number'
      ? { onDemandBase: group.SpotMixedAllocationPolicy.BaseCapacity }
      : {}),
    labels: Object.fromEntries((group.Tags ?? []).map(({ Key, Value }) => [Key, Value])),
    launchedAt: Number.isNaN(launched) ? null : launched,
    revision: null,
  };
}

/** The GPUs that all types of the group have in common. */
function commonGpus(types: readonly string[], known: ReadonlyMap<string, TypeGpus>): TypeGpus {
  const all = types.map((type) => known.get(type));
  const [first] = all;
  if (first === undefined) return { model: null, gpus: null };
  return {
    model: all.every((one) => one?.model === first.model) ? first.model : null,
    gpus: all.every((one) => one?.gpus === first.gpus) ? first.gpus : null,
  };
}

function spotRatioOf(group: Group, configuration: Configuration | undefined): number | null {
  if (group.InstanceAllocationPolicy === 'SPOT_MIXED') {
    const onDemand = group.SpotMixedAllocationPolicy?.OnDemandPercentageAboveBaseCapacity ?? null;
    return onDemand === null ? null : 1 - onDemand / 100;
  }
  switch (configuration?.InstanceChargeType) {
    case 'SPOTPAID':
      return 1;
    case 'POSTPAID_BY_HOUR':
    case 'PREPAID':
      return 0;
    default:
      return null;
  }
}

/** Above a base of pay-as-you-go instances spot is never all there is. */
function termOf({ InstanceAllocationPolicy }: Group, spotRatio: number | null): Term | null {
  if (spotRatio === 0) return 'on-demand';
  return spotRatio === 1 && InstanceAllocationPolicy !== 'SPOT_MIXED' ? 'spot' : null;
}
