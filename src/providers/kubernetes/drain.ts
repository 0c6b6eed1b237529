/**
 * Drains a node: cordons it, then asks for the eviction of every pod that may go, within the pods' disruption budgets.
 *
 * As kubectl does, it leaves DaemonSets' pods, static pods and pods that have ended. Never deletes a pod, never forces
 * one, and does not wait for a budget: it reports the pods that a budget holds, and a later drain goes on with them.
 * Where budgets hold every pod nothing is changed at all.
 */
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import type { EffectOutcome } from '../../core/ports.js';
import { LAST_TOKEN, refused } from './change.js';
import { FIELD_MANAGER as fieldManager, type Cluster } from './client.js';
import { failureOf, write, type Written } from './failures.js';
import { controllerOf, isOver, revisionOf } from './objects.js';

const STATIC = 'kubernetes.io/config.mirror';
const MOST_NAMED = 5;

const nameOf = ({ metadata }: V1Pod): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
const named = (pods: readonly V1Pod[]): string =>
  pods.slice(0, MOST_NAMED).map(nameOf).join(', ') +
  (pods.length > MOST_NAMED ? ` and ${pods.length - MOST_NAMED} more` : '');

/** Whether a drain has to move the pod, and it is not on its way already. */
export const mustMove = (pod: V1Pod): boolean =>
  !isOver(pod) &&
  controllerOf(pod)?.kind !== 'DaemonSet' &&
  pod.metadata?.annotations?.[STATIC] === undefined &&
  pod.metadata?.deletionTimestamp === undefined;

/**
 * Sets or lifts a cordon under a token, on the node as it was read. A kubelet writes its status all the time: where
 * nothing but that has changed it is written again on the node as it is read again.
 */
export async function cordon(
  cluster: Cluster,
  node: V1Node,
  cordoned: boolean,
  token: string,
  readAgain: () => Promise<V1Node | null>,
  attempts = 4,
): Promise<Written<V1Node>> {
  const name = node.metadata?.name ?? '';
  const metadata = { resourceVersion: node.metadata?.resourceVersion, annotations: { [LAST_TOKEN]: token } };
  const written = await write(`patch nodes ${name}`, () =>
    cluster.core.patchNode({ name, body: { metadata, spec: { unschedulable: cordoned ? true : null } }, fieldManager }),
  );
  if (written.done || written.code !== 409 || attempts <= 1) return written;
  const now = await readAgain();
  return now !== null && revisionOf(now) === revisionOf(node)
    ? cordon(cluster, now, cordoned, token, readAgain, attempts - 1)
    : written;
}

/**
 * @param moving the node's pods that must move
 * @throws Failure if nothing has been changed
 */
export async function drain(
  cluster: Cluster,
  node: V1Node,
  moving: readonly V1Pod[],
  token: string,
  readAgain: () => Promise<V1Node | null>,
): Promise<EffectOutcome> {
  const isFirst = node.metadata?.annotations?.[LAST_TOKEN] !== token;
  if (isFirst && moving.length > 0) {
    const held = await evictAll(cluster, moving, true);
    if (held.outcome !== null) return held.outcome.kind === 'unknown' ? { kind: 'absent' } : held.outcome;
    if (held.blocked.length === moving.length)
      return refused('disruption-budget', `disruption budgets hold every pod of the node: ${named(held.blocked)}`);
  }
  if (isFirst) {
    const cordoned = await cordon(cluster, node, true, token, readAgain);
    if (!cordoned.done) return cordoned.outcome;
  }
  // From here on something has been changed: a failure is part of the outcome and never thrown.
  const { blocked, outcome } = await evictAll(cluster, moving, false).catch((error: unknown) => ({
    blocked: [],
    outcome: {
      kind: 'unknown',
      detail: `the node is cordoned; ${failureOf(error, 'create pods/eviction').message}`,
    } as const,
  }));
  if (outcome !== null)
    return outcome.kind === 'unknown'
      ? outcome
      : {
          kind: 'unknown',
          detail: `the node is cordoned; ${'detail' in outcome ? outcome.detail : 'an eviction was refused'}`,
        };
  const evicted = moving.length - blocked.length;
  return {
    kind: 'taken',
    reference: null,
    detail: `cordoned; ${evicted} pod(s) evicted${blocked.length === 0 ? '' : `; held by disruption budgets: ${named(blocked)}`}`,
  };
}

interface Evictions {
  /** Pods that a disruption budget holds. */
  readonly blocked: readonly V1Pod[];
  /** The reason why it stopped before the last pod; null: it did not. */
  readonly outcome: EffectOutcome | null;
}

/** @throws Failure if the first eviction may not be asked for, or the server has no time for it */
async function evictAll(cluster: Cluster, pods: readonly V1Pod[], dryRun: boolean): Promise<Evictions> {
  const blocked: V1Pod[] = [];
  for (const pod of pods) {
    const result = await evict(cluster, pod, dryRun);
    if (result === 'blocked') blocked.push(pod);
    else if (result !== 'gone') return { blocked, outcome: result };
  }
  return { blocked, outcome: null };
}

/**
 * One eviction (policy/v1; Kubernetes, "API-initiated Eviction": 201 taken, 429 a disruption budget, 404 gone). The uid
 * keeps it off a new pod of the same name. A 429 of the server's own overload looks like one of a budget and is treated
 * as one: the pod stays.
 */
async function evict(cluster: Cluster, pod: V1Pod, dryRun: boolean): Promise<'gone' | 'blocked' | EffectOutcome> {
  const { namespace = '', name = '', uid } = pod.metadata ?? {};
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  const written = await write(
    `create pods/eviction ${namespace}/${name}`,
    () =>
      cluster.core.createNamespacedPodEviction({
        namespace,
        name,
        body,
        fieldManager,
        ...(dryRun ? { dryRun: 'All' } : {}),
      }),
    [429],
  );
  if (written.done || written.code === 404 || written.code === 409) return 'gone';
  return written.code === 429 ? 'blocked' : written.outcome;
}
