/**
 * GPUs that pods hold by resource claims (dynamic resource allocation), as the claims' own status tells them.
 *
 * Never guesses from a request: what is allocated counts. The invariant: a claim that may not be read, or a device that
 * is not known to be a whole GPU, leaves the pod's share unknown, never none. Sources: Kubernetes API, ResourceClaim of
 * resource.k8s.io/v1 (status.allocation.devices.results, status.reservedFor); NVIDIA DRA driver for GPUs (driver
 * `gpu.nvidia.com`; `gpu-0` is a whole GPU, `gpu-0-mig-...` a part of one).
 */
import type { ResourceV1ResourceClaim, V1Pod } from '@kubernetes/client-node';
import { Failure } from '../../core/errors.js';
import { GPU_PARTS } from '../../core/usage.js';
import { allOf, type Cluster } from './client.js';

/** By `namespace/name`; null: they may not be read, or the cluster has no such API. */
export type Claims = ReadonlyMap<string, ResourceV1ResourceClaim> | null;

const GPU_DRIVER = /^gpu\./;
const WHOLE = /^gpu-\d+$/;

/** The claims of the pods' namespaces; nothing is asked where no pod has any. @throws Failure if it cannot be now */
export async function claimsOf(cluster: Cluster, pods: readonly V1Pod[]): Promise<Claims> {
  const spaces = new Set(
    pods.filter(({ spec }) => (spec?.resourceClaims ?? []).length > 0).map(({ metadata }) => metadata?.namespace ?? ''),
  );
  const found = new Map<string, ResourceV1ResourceClaim>();
  try {
    for (const namespace of spaces)
      for (const claim of await allOf(`list resourceclaims.resource.k8s.io in ${namespace}`, (page) =>
        cluster.resource.listNamespacedResourceClaim({ namespace, ...page }),
      ))
        found.set(`${namespace}/${claim.metadata?.name ?? ''}`, claim);
  } catch (failure) {
    if (failure instanceof Failure && (failure.kind === 'denied' || failure.kind === 'missing')) return null;
    throw failure;
  }
  return found;
}

/** Parts of GPUs that a pod holds by its claims; null: unknown. A claim that several share is shared evenly. */
export function claimedParts({ metadata, spec, status }: V1Pod, claims: Claims): number | null {
  let parts = 0;
  for (const { name, resourceClaimName } of spec?.resourceClaims ?? []) {
    const made = status?.resourceClaimStatuses?.find((one) => one.name === name);
    // Of a template for which nothing had to be made there is a status without a name.
    if (resourceClaimName === undefined && made !== undefined && made.resourceClaimName === undefined) continue;
    const claim = claims?.get(`${metadata?.namespace ?? ''}/${resourceClaimName ?? made?.resourceClaimName ?? ''}`);
    const results = claim?.status?.allocation?.devices?.results;
    if (results === undefined) return null;
    const gpus = results.filter(({ driver }) => GPU_DRIVER.test(driver));
    if (!gpus.every(({ device }) => WHOLE.test(device))) return null;
    parts += Math.round((gpus.length * GPU_PARTS) / Math.max(1, claim?.status?.reservedFor?.length ?? 1));
  }
  return parts;
}
