/**
 * Which workload each pod with GPUs belongs to, so that what is measured of the pod is known to be the workload's.
 *
 * Pure. Told by the pod's controlling owner alone (Kubernetes, "Owners and Dependents"): a Deployment by its
 * ReplicaSet, whose name is the Deployment's and a hash ("Deployments", pod-template-hash label); never by a pod's name.
 */
import type { V1Pod } from '@kubernetes/client-node';
import type { FleetTarget, ReachedPlace } from '../../core/fleet/fleet.js';
import { ANY_NODE, podGpus } from '../../core/fleet/pod-gpus.js';
import { controllerOf, isOver } from './objects.js';

/** The pods of a workload that hold GPUs now, as readings name them, and the nodes that they run on. */
export interface OwnedPods {
  readonly pods: readonly string[];
  readonly nodes: readonly string[];
}

/** A RayJob's pods belong to the RayCluster that it has made: the job's target by namespace and cluster, `ml/tune-x`. */
export type RayClusters = ReadonlyMap<string, string>;

/** The target of the pod's owner; null: it has none that is a workload here. */
function ownerOf(pod: V1Pod, clusters: RayClusters): string | null {
  const owner = controllerOf(pod);
  const namespace = pod.metadata?.namespace ?? '';
  if (owner?.kind === 'StatefulSet' || owner?.kind === 'Job' || owner?.kind === 'PyTorchJob')
    return `${owner.kind.toLowerCase()}/${namespace}/${owner.name}`;
  if (owner?.kind === 'RayCluster') return clusters.get(`${namespace}/${owner.name}`) ?? null;
  const deployment = owner?.kind === 'ReplicaSet' ? /^(.+)-[a-z0-9]+$/.exec(owner.name)?.[1] : undefined;
  return deployment === undefined ? null : `deployment/${namespace}/${deployment}`;
}

/** By the target of the owner. */
export function ownedPods(pods: readonly V1Pod[], clusters: RayClusters = new Map()): Map<string, OwnedPods> {
  const owned = new Map<string, { pods: string[]; nodes: string[] }>();
  for (const pod of pods) {
    const owner = ownerOf(pod, clusters);
    if (owner === null || isOver(pod) || !podGpus(pod.spec ?? {}, ANY_NODE, null).requested) continue;
    const own = owned.get(owner) ?? { pods: [], nodes: [] };
    own.pods.push(`pod/${pod.metadata?.namespace ?? ''}/${pod.metadata?.name ?? ''}`);
    if (pod.spec?.nodeName !== undefined) own.nodes.push(pod.spec.nodeName);
    owned.set(owner, own);
  }
  return owned;
}

/**
 * A workload with its pods. It runs as they do, whatever its template says of the next ones; where they run differently,
 * as while they are replaced, that is unknown. A job of which no pod has a node yet does not run.
 * @param nodes the nodes' targets by name
 */
export function withPods(
  workload: FleetTarget,
  owned: OwnedPods | undefined,
  nodes: ReadonlyMap<string, FleetTarget>,
): FleetTarget {
  if (owned === undefined) return workload;
  const under = owned.nodes.map((name) => nodes.get(name));
  const common = <Value>(read: (target: FleetTarget) => Value | null): Value | null => {
    const values = new Set(under.map((node) => (node === undefined ? null : read(node))));
    if ([...values].every((value) => value === null)) return read(workload);
    return values.size === 1 ? ([...values][0] ?? null) : null;
  };
  const { zone: _, ...placeless } = workload;
  const zone = common((target) => target.zone ?? null);
  const isPending = workload.asOne === true && workload.state === 'running' && owned.nodes.length === 0;
  const movesTo = reachedBy([...nodes.values()]);
  return {
    ...placeless,
    ...(isPending ? { state: 'starting' as const } : {}),
    ...(zone === null ? {} : { zone }),
    ...(movesTo.length === 0 ? {} : { movesTo }),
    region: common(({ region }) => region),
    sku: common(({ sku }) => sku),
    gpuModel: workload.gpuModel ?? common(({ gpuModel }) => gpuModel),
    term: common(({ term }) => term),
    knownAs: owned.pods,
  };
}

/** The zones in which the cluster has nodes, if they say how they are bought: only there its scheduler can start pods. */
function reachedBy(nodes: readonly FleetTarget[]): ReachedPlace[] {
  if (nodes.every(({ term }) => term === null)) return [];
  const places = new Map<string, ReachedPlace>();
  for (const { region, zone = null } of nodes)
    if (region !== null) places.set(JSON.stringify([region, zone]), { region, zone });
  return [...places.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
}
