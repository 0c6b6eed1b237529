/**
 * The target to which a machine or a metered record belongs: a machine to its group, a pod to its workload, a record to
 * its machine. Decided by ids, tags and labels that the clouds themselves set; never guessed from names alone.
 */
import { own } from '../own.js';
import type { UsageRecord } from '../usage.js';
import { azureIdOf } from './azure-id.js';
import type { Effect, EffectKind, FleetTarget } from './fleet.js';

/**
 * A tag by which a record, or a machine's label, names its target outright: its owner's word, or that of a provider
 * whose API tells the members of a group where no tag on them does.
 */
export const TARGET_TAG = 'bursar:target';

/**
 * Tags by which machines name the group that they lie in, each with the kind that the group's target begins with; their
 * values end its name.
 * AWS: Amazon EC2 Auto Scaling User Guide, "Tag Auto Scaling groups and instances". Alibaba Cloud: Container Service
 * for Kubernetes, "Create and manage a node pool" (tags that Auto Scaling adds), and the reply of ECS API Reference,
 * "DescribeInstances". Tencent Cloud has none.
 */
const GROUP_TAGS: readonly (readonly [kind: string, tag: string])[] = [
  ['asg', 'aws:autoscaling:groupName'],
  ['asg', 'acs:autoscaling:scalingGroupId'],
  ['group', 'fake:group'],
];

/**
 * Kinds of groups that bring another machine for one that is stopped or ended: those above, and Google Cloud's managed
 * instance groups, of which the machine's metadata tells and no tag does.
 */
const GROUP_KINDS: ReadonlySet<string> = new Set([...GROUP_TAGS.map(([kind]) => kind), 'mig']);

const kindOf = (target: string): string => target.slice(0, target.indexOf('/'));

/** The labels by which a machine may say that it is one of a group's. */
export const MEMBER_LABELS: readonly string[] = [TARGET_TAG, ...GROUP_TAGS.map(([, tag]) => tag)];

/** Whether the labels say that a machine is one of a group's: its target itself, or the group's own tag. */
export const isMember = ({ target, labels }: Pick<FleetTarget, 'target' | 'labels'>): boolean =>
  groupOf({ target, labels }) !== null;

/**
 * The group that a machine is one of, null if nothing says so. Targets are `kind/name` or `kind/region/name`: a
 * machine's group is in its own region.
 */
export function groupOf({ target, labels }: Pick<FleetTarget, 'target' | 'labels'>): string | null {
  const named = labels[TARGET_TAG];
  if (named !== undefined && named !== target) return named;
  const [, ...path] = target.split('/');
  for (const [kind, tag] of GROUP_TAGS) {
    const name = labels[tag];
    if (name !== undefined && name !== '') return [kind, ...path.slice(0, -1), name].join('/');
  }
  return null;
}

interface Listed extends Pick<FleetTarget, 'target' | 'labels'> {
  readonly connection: string;
  readonly kind: string;
}

/** For targets of a list: the group of each machine if it is in the list too, else null. */
export function listedGroups<T extends Listed>(targets: readonly T[]): (one: T) => T | null {
  const keyOf = ({ connection }: Listed, target: string): string => `${connection}\n${target}`;
  const known = new Map(targets.map((one) => [keyOf(one, one.target), one]));
  return (one) => {
    const group = one.kind === 'instance' ? groupOf(one) : null;
    return group === null ? null : (known.get(keyOf(one, group)) ?? null);
  };
}

/**
 * The targets of a list that add up to it: each GPU once. A machine counts with its group if that is listed. Workloads
 * and node pools run on machines; they count only if no machine and no group is listed.
 */
export function countedOnce<T extends Listed>(targets: readonly T[]): T[] {
  const groupIn = listedGroups(targets);
  const machines = targets.filter(({ kind }) => kind === 'instance' || kind === 'group');
  return machines.length === 0 ? [...targets] : machines.filter((one) => groupIn(one) === null);
}

/**
 * Effects that a group answers for its machines: it brings another for one that is stopped or ended, or it releases the
 * stopped one with its disks (Alibaba Cloud, Auto Scaling: "Health check"; Tencent Cloud, Auto Scaling: "Unhealthy
 * instances"; Amazon EC2 Auto Scaling User Guide, "Health checks"; Compute Engine, "About repairing VMs in a MIG"), and
 * what its machines are is its template's to say.
 */
const OF_THE_GROUP: ReadonlySet<EffectKind> = new Set(['stop', 'terminate', 'resize']);

/** The scaling group that would undo an effect on one of its machines, null if there is none. */
export function undoingGroup({ kind }: Effect, seen: Pick<FleetTarget, 'target' | 'labels'>): string | null {
  const group = OF_THE_GROUP.has(kind) ? groupOf(seen) : null;
  return group !== null && GROUP_KINDS.has(kindOf(group)) ? group : null;
}

/**
 * Labels by which pods name the job that has made them (Kubernetes, "Jobs"; Kubeflow Training Operator, "PyTorchJob").
 */
const JOB_LABELS: Readonly<Partial<Record<string, readonly string[]>>> = {
  job: ['batch.kubernetes.io/job-name', 'job-name'],
  pytorchjob: ['training.kubeflow.org/job-name'],
};

/**
 * Whether metered usage is of a target. A machine by its resource id, alone or at the end of its full name (an ARN,
 * Google Cloud's `.../instances/4711`, Azure's path). A group by the tag that its machines carry, or by Azure's path: a
 * uniform scale set is billed under its own name. A Deployment or StatefulSet by the pod's name together with the label
 * that Kubernetes makes it of (`pod-template-hash`, `apps.kubernetes.io/pod-index`; Kubernetes documentation,
 * "Deployments" and "StatefulSets"). Anything by the tag `bursar:target`. Names alone are never guessed by.
 */
export function isOf(
  { resource, tags, region }: Pick<UsageRecord, 'resource' | 'tags' | 'region'>,
  target: string,
): boolean {
  if (resource === target || tags?.[TARGET_TAG] === target) return true;
  const [kind = '', ...path] = target.split('/');
  const name = path.at(-1) ?? '';
  const azure = resource === null ? null : azureIdOf(resource);
  if (azure !== null) return azure.kind === kind && azure.id === name;
  if (kind === 'instance')
    return (
      resource !== null &&
      (resource === name || resource.endsWith(`:instance/${name}`) || resource.endsWith(`/instances/${name}`))
    );
  if (kind === 'deployment' || kind === 'statefulset')
    return resource !== null && isPodOf(resource, tags ?? {}, kind, path.join('/'));
  const job = own(JOB_LABELS, kind)
    ?.map((label) => tags?.[label])
    .find((value) => value !== undefined);
  if (job !== undefined) return job === name && resource?.startsWith(`pod/${path[0] ?? ''}/`) === true;
  return (
    GROUP_TAGS.some(([of, tag]) => of === kind && tags?.[tag] === name) && (path.length === 1 || path[0] === region)
  );
}

/**
 * The machines of a group by their resource ids, as metered usage names them together with their group. A bill names
 * the machine, and often nothing of its group: its lines are told by these. Empty for what is no group of machines.
 */
export function machinesOf(
  target: string,
  metered: Iterable<Pick<UsageRecord, 'resource' | 'tags' | 'region'>>,
): ReadonlySet<string> {
  const machines = new Set<string>();
  if (!GROUP_KINDS.has(kindOf(target))) return machines;
  for (const record of metered)
    if (record.resource !== null && isOf(record, target)) machines.add(machineOf(record.resource));
  return machines;
}

/** A machine's own id, alone or at the end of its full name; of Azure's paths as azureIdOf has it. */
export const machineOf = (resource: string): string =>
  azureIdOf(resource)?.id ?? resource.slice(resource.lastIndexOf('/') + 1);

function isPodOf(
  resource: string,
  labels: Readonly<Record<string, string>>,
  kind: 'deployment' | 'statefulset',
  workload: string,
): boolean {
  const made = labels[kind === 'deployment' ? 'pod-template-hash' : 'apps.kubernetes.io/pod-index'];
  if (made === undefined || made === '') return false;
  const begin = `pod/${workload}-${made}`;
  return kind === 'deployment'
    ? resource.startsWith(`${begin}-`) && /^[a-z0-9]{5}$/.test(resource.slice(begin.length + 1))
    : resource === begin;
}

/**
 * The workload, job or group that a metered record says it is of, `namespace/name` of a pod's owner: what `isOf` goes by,
 * asked without a target. Null: nothing says so.
 */
export function workloadOf({ resource, tags }: Pick<UsageRecord, 'resource' | 'tags'>): string | null {
  const labels = tags ?? {};
  const named = [
    TARGET_TAG,
    ...Object.values(JOB_LABELS).flatMap((all) => all ?? []),
    ...GROUP_TAGS.map(([, tag]) => tag),
  ]
    .map((label) => labels[label])
    .find((value) => value !== undefined && value !== '');
  if (named !== undefined || resource?.startsWith('pod/') !== true) return named ?? null;
  const owners = [
    ['deployment', /-[a-z0-9]+-[a-z0-9]{5}$/],
    ['statefulset', /-\d+$/],
  ] as const;
  for (const [kind, end] of owners) {
    const workload = resource.slice('pod/'.length).replace(end, '');
    if (isPodOf(resource, labels, kind, workload)) return workload;
  }
  return null;
}
