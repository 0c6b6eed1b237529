/**
 * The cluster's objects as fleet targets: workloads, nodes, pools of nodes; and the names by which they are asked for.
 *
 * Pure. What an object leaves open is null or `unknown`. A target's revision tells what somebody has set: it changes
 * with the spec and the labels, and not with the status, which a kubelet or a controller writes all the time
 * (Kubernetes API Conventions, "Metadata": generation and resourceVersion).
 */
import { createHash } from 'node:crypto';
import type {
  V1Deployment,
  V1LabelSelector,
  V1Node,
  V1ObjectMeta,
  V1Pod,
  V1StatefulSet,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import { azureIdOf } from '../../core/fleet/azure-id.js';
import type { FleetTarget, RunState } from '../../core/fleet/fleet.js';
import { podGpus } from '../../core/fleet/pod-gpus.js';
import type { Term } from '../../core/usage.js';
import { JOB_KINDS, POOLS, type JobKind } from './resources.js';
import { gpusOfNode, gpusOfParts, unitsOf, type Labels } from './quantity.js';

export type WorkloadKind = 'deployment' | 'statefulset';

/**
 * The object behind a target's name: `job/ns/name` and its like (resources.ts), `deployment/ns/name`,
 * `statefulset/ns/name`, `pod/ns/name` or `pod/ns/name@uid`, `node/name`, `node-pool/name`.
 */
export type Address =
  | { readonly kind: JobKind; readonly namespace: string; readonly name: string }
  | { readonly kind: WorkloadKind; readonly namespace: string; readonly name: string }
  /** Without the uid a StatefulSet's next pod of the same name is the same target. */
  | { readonly kind: 'pod'; readonly namespace: string; readonly name: string; readonly uid: string | null }
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'node-pool'; readonly name: string };

const NAMESPACED =
  /^(deployment|statefulset|pod|job|rayjob|pytorchjob)\/([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})(?:@([\w-]+))?$/;
const CLUSTER_WIDE = /^(node|node-pool)\/(\S{1,253})$/;

/** Null if the text names nothing of a cluster. */
export function addressOf(target: string): Address | null {
  const [, kind, namespace = '', name = '', uid] = NAMESPACED.exec(target) ?? [];
  if (kind === 'pod') return { kind, namespace, name, uid: uid ?? null };
  if ((kind === 'deployment' || kind === 'statefulset') && uid === undefined) return { kind, namespace, name };
  const job = JOB_KINDS.find((one) => one === kind);
  if (job !== undefined && uid === undefined) return { kind: job, namespace, name };
  const [, wide, wideName = ''] = CLUSTER_WIDE.exec(target) ?? [];
  if (wide === 'node') return { kind: wide, name: wideName };
  if (wide === 'node-pool') return { kind: wide, name: wideName };
  return null;
}

/** The connection's data about its cluster. */
export interface Identity {
  /** FOCUS ProviderName. */
  readonly provider: string;
  readonly account: string | null;
}

export type Workload = V1Deployment | V1StatefulSet;
export type Autoscaler = V2HorizontalPodAutoscaler;

export const INSTANCE_TYPE = 'node.kubernetes.io/instance-type';
export const REGION = 'topology.kubernetes.io/region';
export const ZONE = 'topology.kubernetes.io/zone';
/** The taint that a cordoned node has; said as a label, since a target has no other place for it. */
const CORDONED = 'node.kubernetes.io/unschedulable';
/** Label of a node, and its value in lower case, to the term that it is bought under. */
const TERMS: readonly (readonly [label: string, value: string, term: Term])[] = [
  ['karpenter.sh/capacity-type', 'spot', 'spot'],
  ['karpenter.sh/capacity-type', 'on-demand', 'on-demand'],
  ['eks.amazonaws.com/capacitytype', 'spot', 'spot'],
  ['eks.amazonaws.com/capacitytype', 'on_demand', 'on-demand'],
  ['cloud.google.com/gke-spot', 'true', 'spot'],
  ['cloud.google.com/gke-preemptible', 'true', 'spot'],
  ['cloud.google.com/gke-provisioning', 'standard', 'on-demand'],
  ['kubernetes.azure.com/scalesetpriority', 'spot', 'spot'],
  ['kubernetes.azure.com/scalesetpriority', 'regular', 'on-demand'],
];
/** Beginnings of `spec.providerID`, which the cloud's own controller writes, to FOCUS ProviderName. */
const CLOUDS: readonly (readonly [RegExp, string])[] = [
  [/^aws:/, 'AWS'],
  [/^gce:/, 'Google Cloud'],
  [/^azure:/, 'Microsoft'],
  [/^(?:oci:|ocid1\.)/, 'Oracle'],
  [/^(?:alicloud:|[a-z]+-[a-z0-9-]+\.i-)/, 'Alibaba Cloud'],
  [/^qcloud:/, 'Tencent Cloud'],
];

export const cloudOf = (providerId: string | undefined): string | null =>
  CLOUDS.find(([form]) => form.test(providerId ?? ''))?.[1] ?? null;

/** Whether nodes say by this label under which term they are bought. */
export const isCapacityLabel = (label: string): boolean => TERMS.some(([own]) => own === label.toLowerCase());

/**
 * The label and value by which nodes of a term are asked for, as this cluster's nodes carry it: one that a node has,
 * otherwise another value of a label that one has. Null: no node says how it is bought.
 */
export function capacityLabel(term: Term, nodes: readonly Labels[]): readonly [label: string, value: string] | null {
  const of = TERMS.filter(([, , own]) => own === term);
  const carried = nodes.flatMap((labels) => Object.entries(labels));
  const same = carried.find(([label, value]) =>
    of.some(([own, wanted]) => own === label.toLowerCase() && wanted === value.toLowerCase()),
  );
  if (same !== undefined) return same;
  for (const [own, value] of of) {
    const alike = carried.find(([label]) => label.toLowerCase() === own);
    // EKS writes its values in capitals (Amazon EKS User Guide, "Managed node groups").
    if (alike !== undefined) return [alike[0], alike[1] === alike[1].toUpperCase() ? value.toUpperCase() : value];
  }
  return null;
}

export function termOf(labels: Labels): Term | null {
  const lower = new Map(Object.entries(labels).map(([key, value]) => [key.toLowerCase(), value.toLowerCase()]));
  return TERMS.find(([label, value]) => lower.get(label) === value)?.[2] ?? null;
}

const launchedAt = (meta: V1ObjectMeta | undefined): number | null => meta?.creationTimestamp?.getTime() ?? null;

/** Whether the controller has seen the newest spec: its counts are of what is wanted now. */
const isObserved = ({ metadata, status }: Workload): boolean =>
  status?.observedGeneration !== undefined && status.observedGeneration >= (metadata?.generation ?? 0);

/**
 * A workload and the autoscaler that owns its size. Its billing is that of the pods' own meter (usage.ts): ended when
 * its last pod is gone.
 * @param podsLeft whether pods of it are still there, those that are shutting down included; null: nobody has looked
 */
export function workloadTarget(
  kind: WorkloadKind,
  workload: Workload,
  scaler: Autoscaler | null,
  identity: Identity,
  podsLeft: boolean | null = null,
): FleetTarget {
  const { metadata, spec, status } = workload;
  const pod = spec?.template.spec;
  const selector: Labels = pod?.nodeSelector ?? {};
  const units = unitsOf(selector);
  // What a claim will hold is known when it is allocated, to a pod.
  const gpus = podGpus(pod ?? {}, units, null);
  const desired = spec?.replicas ?? 1;
  // The API leaves out a count of 0; before the controller's first reading none is known.
  const ready = status?.observedGeneration === undefined ? null : (status.readyReplicas ?? 0);
  const left = podsLeft ?? ((status?.replicas ?? 0) > 0 || !isObserved(workload) || null);
  return {
    target: `${kind}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`,
    kind: 'workload',
    name: metadata?.name ?? '',
    provider: identity.provider,
    account: identity.account,
    region: selector[REGION] ?? null,
    sku: selector[INSTANCE_TYPE] ?? null,
    gpuModel: units.model,
    gpus: gpusOfParts(gpus.parts),
    ...(selector[ZONE] === undefined ? {} : { zone: selector[ZONE] }),
    term: termOf(selector),
    state: metadata?.deletionTimestamp !== undefined ? 'stopping' : workloadState(desired, ready, left),
    billing: left === true || desired > 0 ? 'billed' : left === false ? 'ended' : 'unknown',
    replicas: {
      desired,
      ready,
      min: scaler === null ? null : (scaler.spec.minReplicas ?? 1),
      max: scaler?.spec.maxReplicas ?? null,
    },
    spotRatio: null,
    labels: { ...metadata?.labels, ...spec?.template.metadata?.labels },
    launchedAt: launchedAt(metadata),
    revision: revisionOf(workload, scaler),
    ...managedBy(metadata, scaler?.metadata),
    // One that is pinned to a size follows nothing.
    ...(scaler === null || scaler.spec.minReplicas === scaler.spec.maxReplicas
      ? {}
      : { followedBy: followerOf(scaler) }),
  };
}

/** KEDA acts through an autoscaler that it owns (keda.sh, "Scaling Deployments, StatefulSets & Custom Resources"). */
function followerOf({ metadata }: Autoscaler): string {
  const owner = metadata?.ownerReferences?.find(({ kind }) => kind === 'ScaledObject');
  return owner === undefined
    ? `the HorizontalPodAutoscaler ${metadata?.name ?? ''}`
    : `the ScaledObject ${owner.name} of KEDA`;
}

const OWNERS: readonly (readonly [owner: (meta: V1ObjectMeta) => string | null, managers: RegExp, tool: string])[] = [
  [argoApplication, /^argocd-(?:application-)?controller$/, 'Argo CD'],
  [
    ({ labels }) => labels?.['kustomize.toolkit.fluxcd.io/name'] ?? labels?.['helm.toolkit.fluxcd.io/name'] ?? null,
    /^(?:kustomize|helm)-controller$/,
    'Flux',
  ],
  [
    ({ labels, annotations }) =>
      annotations?.['meta.helm.sh/release-name'] ?? (labels?.['app.kubernetes.io/managed-by'] === 'Helm' ? '' : null),
    /^helm$/,
    'Helm',
  ],
];

/** `shop:apps/Deployment:web/front`, or the label of Argo CD's own (Argo CD, "Resource Tracking"). */
function argoApplication({ labels, annotations }: V1ObjectMeta): string | null {
  const tracked = annotations?.['argocd.argoproj.io/tracking-id']?.split(':')[0];
  return tracked ?? labels?.['argocd.argoproj.io/instance'] ?? null;
}

/**
 * Tools that hold objects to what a repository or a chart says, by the marks that they leave: Argo CD's tracking, Flux'
 * and Helm's labels and annotations (Flux, "Kustomization"; Helm, "Labels and Annotations"), or what they have written
 * as field managers (Kubernetes, "Server-Side Apply": managedFields).
 */
export function managedBy(...metas: readonly (V1ObjectMeta | undefined)[]): { readonly managedBy?: readonly string[] } {
  const found = new Set<string>();
  for (const meta of metas) {
    for (const [owner, managers, tool] of OWNERS) {
      const name = meta === undefined ? null : owner(meta);
      const writes = (meta?.managedFields ?? []).some(({ manager }) => managers.test(manager ?? ''));
      if (name !== null || writes)
        found.add(`${tool} keeps it as ${name === null || name === '' ? 'its source' : name} says`);
    }
  }
  return found.size === 0 ? {} : { managedBy: [...found] };
}

function workloadState(desired: number, ready: number | null, left: boolean | null): RunState {
  if (desired === 0) return left === true ? 'stopping' : 'stopped';
  return ready === null ? 'unknown' : ready > 0 ? 'running' : 'starting';
}

type Settable = { readonly metadata?: V1ObjectMeta; readonly spec?: unknown };

const settingOf = ({ metadata, spec }: Settable): unknown => [
  metadata?.uid,
  metadata?.generation,
  Object.entries(metadata?.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
  spec,
  metadata?.deletionTimestamp !== undefined,
];

/** The combined revision of some objects; null if one has no identity. */
export function revisionOf(...objects: readonly (Settable | null)[]): string | null {
  const all = objects.filter((one) => one !== null);
  if (all.some(({ metadata }) => metadata?.uid === undefined)) return null;
  return createHash('sha256')
    .update(JSON.stringify(all.map(settingOf)))
    .digest('hex')
    .slice(0, 16);
}

/** Autoscalers by the target that they own, `deployment/ns/name`; the first by name where several claim one. */
export function scalersByTarget(scalers: readonly Autoscaler[]): Map<string, Autoscaler> {
  const owners = new Map<string, Autoscaler>();
  const ordered = [...scalers].sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
  for (const scaler of ordered) {
    const { kind, name } = scaler.spec.scaleTargetRef;
    const key = `${kind.toLowerCase()}/${scaler.metadata?.namespace ?? ''}/${name}`;
    if (!owners.has(key)) owners.set(key, scaler);
  }
  return owners;
}

const conditionOf = (
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): string | null => conditions?.find((one) => one.type === type)?.status ?? null;

const nodeState = ({ metadata, status }: V1Node): RunState =>
  metadata?.deletionTimestamp !== undefined
    ? 'stopping'
    : conditionOf(status?.conditions, 'Ready') === 'True'
      ? 'running'
      : 'unknown';

/** A node. Whether its machine is billed is known to the cloud's own connection, not here. */
export function nodeTarget(node: V1Node, identity: Identity): FleetTarget {
  const { metadata, spec, status } = node;
  const labels: Labels = metadata?.labels ?? {};
  return {
    target: `node/${metadata?.name ?? ''}`,
    kind: 'instance',
    name: metadata?.name ?? '',
    provider: identity.provider,
    account: identity.account,
    region: labels[REGION] ?? null,
    sku: labels[INSTANCE_TYPE] ?? null,
    gpuModel: unitsOf(labels).model,
    gpus: gpusOfNode(labels, status?.capacity ?? {}),
    ...(labels[ZONE] === undefined ? {} : { zone: labels[ZONE] }),
    term: termOf(labels),
    state: nodeState(node),
    billing: 'unknown',
    replicas: null,
    spotRatio: null,
    labels: spec?.unschedulable === true ? { ...labels, [CORDONED]: 'true' } : labels,
    launchedAt: launchedAt(metadata),
    revision: revisionOf(node),
    knownAs: namesOfNode(node),
  };
}

/**
 * Its addresses and host names, and the id of the cloud's machine under it: the end of `spec.providerID`, of Azure's as
 * azureIdOf has it, and Google Cloud's whole, of which the end is a name.
 */
function namesOfNode({ metadata, spec, status }: V1Node): string[] {
  const addresses = (status?.addresses ?? []).filter(({ type }) => !type.startsWith('External'));
  const provided = spec?.providerID ?? '';
  const machine = provided.startsWith('gce://') ? provided : (azureIdOf(provided)?.id ?? provided.split('/').at(-1));
  const all = [metadata?.name, ...addresses.map(({ address }) => address), machine];
  return [...new Set(all.filter((name): name is string => name !== undefined && name !== ''))];
}

/** Null: the node is in no pool that its labels name. */
export const poolOf = (node: V1Node): string | null =>
  POOLS.map((label) => node.metadata?.labels?.[label]).find((value) => value !== undefined && value !== '') ?? null;

/** The one value that all have; null if they differ or it is unknown. */
const common = <T>(values: readonly (T | null)[]): T | null =>
  new Set(values).size === 1 ? (values[0] ?? null) : null;

/** A pool as its nodes show it: a pool without nodes is not seen, and its bounds are its cloud's. */
export function poolTarget(name: string, nodes: readonly V1Node[], identity: Identity): FleetTarget {
  const targets = nodes.map((node) => nodeTarget(node, identity));
  const ready = targets.filter(({ state }) => state === 'running').length;
  const terms = targets.map(({ term }) => term);
  return {
    target: `node-pool/${name}`,
    kind: 'node-pool',
    name,
    provider: identity.provider,
    account: identity.account,
    region: common(targets.map(({ region }) => region)),
    sku: common(targets.map(({ sku }) => sku)),
    gpuModel: common(targets.map(({ gpuModel }) => gpuModel)),
    gpus: common(targets.map(({ gpus }) => gpus)),
    term: common(terms),
    state: ready > 0 ? 'running' : 'unknown',
    billing: 'unknown',
    replicas: { desired: nodes.length, ready, min: null, max: null },
    spotRatio: terms.includes(null) ? null : terms.filter((term) => term === 'spot').length / terms.length,
    labels: Object.fromEntries(
      POOLS.filter((label) => nodes[0]?.metadata?.labels?.[label] === name).map((label) => [label, name]),
    ),
    launchedAt: null,
    revision: null,
  };
}

/** Whether the pod has ended for good: it holds nothing any more. */
export const isOver = ({ status }: V1Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const controllerOf = ({ metadata }: V1Pod): { readonly kind: string; readonly name: string } | null =>
  metadata?.ownerReferences?.find(({ controller }) => controller === true) ?? null;

/** @param claimed parts of GPUs that it holds by resource claims; null: unknown */
export function podTarget(
  pod: V1Pod,
  target: string,
  node: Labels,
  identity: Identity,
  claimed: number | null,
): FleetTarget {
  const { metadata, spec, status } = pod;
  const units = unitsOf(node);
  const state: RunState = isOver(pod)
    ? 'stopped'
    : metadata?.deletionTimestamp !== undefined
      ? 'stopping'
      : status?.phase === 'Running'
        ? 'running'
        : status?.phase === 'Pending'
          ? 'starting'
          : 'unknown';
  return {
    target,
    kind: 'instance',
    name: metadata?.name ?? '',
    provider: identity.provider,
    account: identity.account,
    region: node[REGION] ?? null,
    sku: node[INSTANCE_TYPE] ?? null,
    gpuModel: units.model,
    gpus: gpusOfParts(podGpus(spec ?? {}, units, claimed).parts),
    term: termOf(node),
    state,
    billing: isOver(pod) || (spec?.nodeName ?? '') === '' ? 'ended' : 'billed',
    replicas: null,
    spotRatio: null,
    labels: metadata?.labels ?? {},
    launchedAt: status?.startTime?.getTime() ?? null,
    revision: revisionOf(pod),
  };
}

/** A label selector as the API takes it in a query; null: it selects nothing that can be asked for. */
export function selectorText({ matchLabels, matchExpressions }: V1LabelSelector): string | null {
  const equal = Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const sets = (matchExpressions ?? []).map(({ key, operator, values }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${(values ?? []).join(',')})`;
  });
  return equal.length + sets.length === 0 ? null : [...equal, ...sets].join(',');
}

/** Where a record or a price is looked up: the SKU and the region of a node. */
export const placeOf = (
  labels: Labels,
): { readonly sku: string | null; readonly region: string | null; readonly term: Term | null } => ({
  sku: labels[INSTANCE_TYPE] ?? null,
  region: labels[REGION] ?? null,
  term: termOf(labels),
});
