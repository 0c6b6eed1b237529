/**
 * Whether the cluster grants a permission, asked of the cluster itself: a SelfSubjectAccessReview changes nothing and
 * every authenticated user may make one (Kubernetes, "Checking API access").
 */
import type { Cluster } from './client.js';
import { failureOf } from './failures.js';

/**
 * @param permission verb and resource as `abilities` words them: `patch deployments.apps`, `create pods/eviction`; in
 * all namespaces
 * @returns null if the cluster cannot judge it @throws Failure
 */
export async function grants(cluster: Cluster, permission: string): Promise<boolean | null> {
  const [, verb, resource, group = '', subresource] = /^(\w+) (\w+)(?:\.([\w.]+))?(?:\/(\w+))?$/.exec(permission) ?? [];
  if (verb === undefined || resource === undefined)
    throw new Error(`broken invariant: not a permission: ${permission}`);
  const resourceAttributes = { verb, resource, group, ...(subresource === undefined ? {} : { subresource }) };
  try {
    const { status } = await cluster.authorization.createSelfSubjectAccessReview({
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
    });
    if (status === undefined || (!status.allowed && (status.evaluationError ?? '') !== '')) return null;
    return status.allowed;
  } catch (error) {
    throw failureOf(error, 'create selfsubjectaccessreviews.authorization.k8s.io');
  }
}
