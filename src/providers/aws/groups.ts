/**
 * Auto Scaling groups as fleet targets.
 *
 * A group is in the fleet if it may launch a GPU, even while it is empty. The invariant: if its types differ, or
 * weights make a unit of capacity different from an instance, the size of one replica is unknown, never guessed.
 */
import {
  paginateDescribeAutoScalingGroups,
  type AutoScalingGroup,
  type LaunchTemplateSpecification,
} from '@aws-sdk/client-auto-scaling';
import { DescribeLaunchTemplateVersionsCommand, type ResponseLaunchTemplateData } from '@aws-sdk/client-ec2';
import type { BillingState, FleetTarget, Replicas, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import type { Clients } from './clients.js';
import { codeOf, reading, readingPages } from './failures.js';
import type { InstanceTypes, TypeGpus } from './gpus.js';
import { withSettingsListed, withSettingsNow, type ListedHooks } from './group-settings.js';
import { groupTarget, labelsOf } from './targets.js';

export const GROUP_PERMISSION = 'autoscaling:DescribeAutoScalingGroups';
export const TEMPLATE_PERMISSION = 'ec2:DescribeLaunchTemplateVersions';

/** A launch template's data about future instances. */
interface Launch {
  readonly type: string | null;
  readonly spot: boolean;
}

/** Groups of a region, all pages; by their names where some are given. @throws Failure */
export async function readGroups(clients: Clients, region: string, names?: string[]): Promise<AutoScalingGroup[]> {
  const groups: AutoScalingGroup[] = [];
  const request = names === undefined ? { MaxRecords: 100 } : { AutoScalingGroupNames: names };
  for await (const page of readingPages(
    GROUP_PERMISSION,
    paginateDescribeAutoScalingGroups({ client: clients.autoScaling(region) }, request),
  )) {
    groups.push(...(page.AutoScalingGroups ?? []));
  }
  return groups;
}

/**
 * The groups of a region that may launch GPUs, or of which that is unknown.
 * @param outOfService takes their machines that are not in service, by id, with the state that their group gives them
 * @throws Failure
 */
export async function gpuGroups(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  outOfService: Map<string, string>,
  hooks: ListedHooks,
): Promise<FleetTarget[]> {
  const found = await groupsAsTargets(clients, types, region, await readGroups(clients, region));
  for (const { group } of found)
    for (const { InstanceId, LifecycleState } of group.Instances ?? [])
      if (InstanceId !== undefined && LifecycleState !== undefined && LifecycleState !== 'InService')
        outOfService.set(InstanceId, `LifecycleState ${LifecycleState}`);
  const inFleet = found.filter(({ hasGpus }) => hasGpus !== false);
  return withSettingsListed(clients, hooks, region, inFleet);
}

/** Null: AWS does not know it. @throws Failure */
export async function readGroup(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  name: string,
): Promise<FleetTarget | null> {
  const [found] = await groupsAsTargets(clients, types, region, await readGroups(clients, region, [name]));
  return found === undefined ? null : withSettingsNow(clients, region, found);
}

/** Groups as targets, each with whether any of its types has a GPU (null: unknown). @throws Failure */
async function groupsAsTargets(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  groups: readonly AutoScalingGroup[],
): Promise<{ readonly group: AutoScalingGroup; readonly target: FleetTarget; readonly hasGpus: boolean | null }[]> {
  const templates = new Map<string, Promise<Launch | null>>();
  const launchOf = (group: AutoScalingGroup): Promise<Launch | null> => {
    const template = group.MixedInstancesPolicy?.LaunchTemplate?.LaunchTemplateSpecification ?? group.LaunchTemplate;
    const key = `${template?.LaunchTemplateId} ${template?.Version}`;
    const launch =
      templates.get(key) ?? (template === undefined ? Promise.resolve(null) : readLaunch(clients, region, template));
    templates.set(key, launch);
    return launch;
  };
  const withTypes = [];
  for (const group of groups) {
    const launch = await launchOf(group);
    withTypes.push({ group, launch, names: typesOf(group, launch) });
  }
  const gpus = await types.gpusOf(
    region,
    withTypes.flatMap(({ names }) => names),
  );
  return withTypes.map(({ group, launch, names }) => {
    const known = names.map((name) => gpus.get(name));
    const hasGpus = names.length === 0 || known.includes(undefined) ? null : known.some((type) => type !== null);
    const target = groupAsTarget(group, { launch, names, known }, region, clients.settings.account);
    return { group, target, hasGpus };
  });
}

/** Null if the template is gone. */
async function readLaunch(
  clients: Clients,
  region: string,
  template: LaunchTemplateSpecification,
): Promise<Launch | null> {
  const data = await readTemplate(clients, region, template);
  return data === null
    ? null
    : { type: data.InstanceType ?? null, spot: data.InstanceMarketOptions?.MarketType === 'spot' };
}

/** The content of a template's version; null if it is gone. @throws Failure */
export async function readTemplate(
  clients: Clients,
  region: string,
  template: LaunchTemplateSpecification,
): Promise<ResponseLaunchTemplateData | null> {
  const named =
    template.LaunchTemplateId === undefined
      ? { LaunchTemplateName: template.LaunchTemplateName }
      : { LaunchTemplateId: template.LaunchTemplateId };
  const command = new DescribeLaunchTemplateVersionsCommand({ ...named, Versions: [template.Version ?? '$Default'] });
  const answer = await reading(TEMPLATE_PERMISSION, () =>
    clients
      .ec2(region)
      .send(command)
      .catch((error: unknown) => {
        if (codeOf(error).startsWith('InvalidLaunchTemplate')) return null;
        throw error;
      }),
  );
  return answer?.LaunchTemplateVersions?.[0]?.LaunchTemplateData ?? null;
}

/**
 * The types that a group may launch: its overrides, otherwise its template's; of a launch configuration, those that it
 * has launched.
 */
function typesOf(group: AutoScalingGroup, launch: Launch | null): string[] {
  const overrides = (group.MixedInstancesPolicy?.LaunchTemplate?.Overrides ?? []).flatMap(
    ({ InstanceType }) => InstanceType ?? [],
  );
  if (overrides.length > 0) return [...new Set(overrides)];
  if (typeof launch?.type === 'string') return [launch.type];
  return [...new Set((group.Instances ?? []).flatMap(({ InstanceType }) => InstanceType ?? []))];
}

interface Kind {
  readonly launch: Launch | null;
  readonly names: readonly string[];
  /** In the order of `names`. */
  readonly known: readonly (TypeGpus | null | undefined)[];
}

function groupAsTarget(
  group: AutoScalingGroup,
  { launch, names, known }: Kind,
  region: string,
  account: string | null,
): FleetTarget {
  const name = group.AutoScalingGroupName ?? '';
  const spotRatio = spotRatioOf(group, launch);
  const counted = countsInstances(group);
  return {
    target: groupTarget(region, name),
    kind: 'group',
    name,
    provider: 'AWS',
    account: account ?? group.AutoScalingGroupARN?.split(':')[4] ?? null,
    region,
    sku: names.length === 1 ? (names[0] ?? null) : null,
    gpuModel: common(known.map((type) => type?.model ?? null)),
    gpus: counted ? common(known.map((type) => (type === undefined ? null : (type?.gpus ?? 0)))) : null,
    term: termOf(group, spotRatio),
    state: stateOf(group),
    billing: billingOf(group),
    replicas: counted ? replicasOf(group) : null,
    ...(leavingOf(group) > 0 ? { leaving: leavingOf(group) } : {}),
    spotRatio,
    ...(group.MixedInstancesPolicy === undefined ? {} : { onDemandBase: baseOf(group) }),
    labels: labelsOf(group.Tags),
    launchedAt: group.CreatedTime?.getTime() ?? null,
    revision: null,
  };
}

/** The value that all share; null if they differ, or one is unknown. */
function common<T>(values: readonly (T | null)[]): T | null {
  const first = values[0];
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** Whether a unit of the group's capacity is an instance (not a vCPU, a MiB of memory, or a weight). */
function countsInstances({ DesiredCapacityType, MixedInstancesPolicy }: AutoScalingGroup): boolean {
  const weights = (MixedInstancesPolicy?.LaunchTemplate?.Overrides ?? []).map(
    ({ WeightedCapacity }) => WeightedCapacity ?? '1',
  );
  return (DesiredCapacityType ?? 'units') === 'units' && weights.every((weight) => weight === '1');
}

function replicasOf({ DesiredCapacity, MinSize, MaxSize, Instances = [] }: AutoScalingGroup): Replicas | null {
  if (DesiredCapacity === undefined) return null;
  const ready = Instances.filter(
    ({ LifecycleState, HealthStatus }) => LifecycleState === 'InService' && HealthStatus === 'Healthy',
  ).length;
  return { desired: DesiredCapacity, ready, min: MinSize ?? null, max: MaxSize ?? null };
}

/**
 * Members that leave: a lifecycle hook holds them in `Terminating:Wait`, for hours where it is set so (Amazon EC2 Auto
 * Scaling User Guide, "Amazon EC2 Auto Scaling instance lifecycle").
 */
const leavingOf = ({ Instances = [] }: AutoScalingGroup): number =>
  Instances.filter(({ LifecycleState }) => LifecycleState?.startsWith('Terminating') === true).length;

/**
 * Spot's share of the capacity above the on-demand base: what new capacity is. Absent, the percentage on demand is 100
 * (InstancesDistribution).
 */
function spotRatioOf({ MixedInstancesPolicy }: AutoScalingGroup, launch: Launch | null): number | null {
  if (MixedInstancesPolicy !== undefined)
    return (100 - (MixedInstancesPolicy.InstancesDistribution?.OnDemandPercentageAboveBaseCapacity ?? 100)) / 100;
  return launch === null ? null : launch.spot ? 1 : 0;
}

/** Absent it is 0 (InstancesDistribution). */
const baseOf = ({ MixedInstancesPolicy }: AutoScalingGroup): number =>
  MixedInstancesPolicy?.InstancesDistribution?.OnDemandBaseCapacity ?? 0;

function termOf(group: AutoScalingGroup, spotRatio: number | null): Term | null {
  return spotRatio === 0 ? 'on-demand' : spotRatio === 1 && baseOf(group) === 0 ? 'spot' : null;
}

function stateOf({ Status, DesiredCapacity, Instances = [] }: AutoScalingGroup): RunState {
  if (Status !== undefined) return 'stopping';
  if (Instances.some(({ LifecycleState }) => LifecycleState === 'InService')) return 'running';
  if (DesiredCapacity === undefined) return 'unknown';
  return DesiredCapacity > 0 ? 'starting' : Instances.length > 0 ? 'stopping' : 'stopped';
}

function billingOf({ Instances = [], WarmPoolSize = 0, WarmPoolConfiguration }: AutoScalingGroup): BillingState {
  if (Instances.length > 0) return 'billed';
  if (WarmPoolSize === 0) return 'ended';
  return WarmPoolConfiguration?.PoolState === 'Stopped' ? 'partly' : 'billed';
}
