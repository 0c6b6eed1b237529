/**
 * Jobs that run to their end: batch Jobs, KubeRay's RayJobs and Kubeflow's PyTorchJobs, as fleet targets that are stopped
 * by suspending them and started by resuming them.
 *
 * Pure. A job is one thing: its size is not changed, and what it lost since its last checkpoint is its own matter. The
 * invariant: each patch carries the resourceVersion that was read, and the token stands on the object if and only if the
 * effect does. What a controller above a job would undo is ruled out, not tried.
 *
 * Fields: Kubernetes, "Jobs: Suspending a Job" (batch/v1 `spec.suspend`; active pods are ended); KubeRay, RayJob v1
 * (`spec.suspend`: the RayCluster and the submitter are deleted; `status.rayClusterName`, `status.jobDeploymentStatus`);
 * Kubeflow Training Operator, PyTorchJob v1 (`spec.runPolicy.suspend`; `status.replicaStatuses`, `status.conditions`).
 */
import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { Effect, FleetTarget } from '../../core/fleet/fleet.js';
import { ANY_NODE, podGpus, type PodSpec } from '../../core/fleet/pod-gpus.js';
import { LAST_TOKEN, refused, type Patch, type Refused } from './change.js';
import { managedBy, revisionOf, termOf, ZONE, type Identity } from './objects.js';
import { gpusOfParts, unitsOf, type Labels } from './quantity.js';
import type { JobKind } from './resources.js';

interface Template {
  readonly spec?: PodSpec & { readonly nodeSelector?: Labels };
}
interface Sized {
  readonly replicas?: number;
  readonly template?: Template;
}
interface Condition {
  readonly type: string;
  readonly status: string;
}

/** The fields read from any of the three. */
export interface JobObject {
  /** As JSON has it: instants are texts. */
  readonly metadata?: Omit<V1ObjectMeta, 'creationTimestamp' | 'deletionTimestamp'> & {
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: {
    readonly suspend?: boolean;
    readonly parallelism?: number;
    readonly template?: Template;
    readonly runPolicy?: { readonly suspend?: boolean };
    readonly pytorchReplicaSpecs?: Readonly<Record<string, Sized>>;
    readonly clusterSelector?: Labels;
    readonly shutdownAfterJobFinishes?: boolean;
    readonly rayClusterSpec?: {
      readonly headGroupSpec?: Sized;
      readonly workerGroupSpecs?: readonly (Sized & { readonly numOfHosts?: number })[];
    };
  };
  readonly status?: {
    readonly active?: number;
    readonly startTime?: string;
    readonly conditions?: readonly Condition[];
    readonly replicaStatuses?: Readonly<Record<string, { readonly active?: number }>>;
    readonly jobDeploymentStatus?: string;
    readonly rayClusterName?: string;
  };
}

export const isSuspended = (kind: JobKind, { spec }: JobObject): boolean =>
  (kind === 'pytorchjob' ? spec?.runPolicy?.suspend : spec?.suspend) === true;

/** It has ended, well or not, and holds nothing any more. */
export function hasEnded(kind: JobKind, { status }: JobObject): boolean {
  if (kind === 'rayjob') return /^(?:Complete|Failed)$/.test(status?.jobDeploymentStatus ?? '');
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => /^(?:Complete|Succeeded|Failed)$/.test(type) && state === 'True',
  );
}

/** Its pods' templates, each with how many pods there are of it at once. */
function templatesOf(kind: JobKind, { spec }: JobObject): readonly (readonly [count: number, template: Template])[] {
  const sized = (all: readonly Sized[]): (readonly [number, Template])[] =>
    all.map(({ replicas = 1, template = {} }) => [replicas, template]);
  switch (kind) {
    case 'job':
      return [[spec?.parallelism ?? 1, spec?.template ?? {}]];
    case 'pytorchjob':
      return sized(Object.values(spec?.pytorchReplicaSpecs ?? {}));
    case 'rayjob': {
      const { headGroupSpec = {}, workerGroupSpecs = [] } = spec?.rayClusterSpec ?? {};
      const workers = workerGroupSpecs.map(({ replicas = 1, numOfHosts = 1, ...one }) => ({
        ...one,
        replicas: replicas * numOfHosts,
      }));
      return sized([{ ...headGroupSpec, replicas: 1 }, ...workers]);
    }
  }
}

/** Templates of pods that ask for GPUs. */
export const gpuTemplates = (kind: JobKind, job: JobObject): readonly Template[] =>
  templatesOf(kind, job).flatMap(([, template]) =>
    podGpus(template.spec ?? {}, ANY_NODE, null).requested ? [template] : [],
  );

const activeOf = ({ status }: JobObject): number =>
  (status?.active ?? 0) + Object.values(status?.replicaStatuses ?? {}).reduce((sum, { active = 0 }) => sum + active, 0);

/** Whether it runs on GPUs, or would: others, and those that have ended, are no targets. */
export const isTarget = (kind: JobKind, job: JobObject): boolean =>
  !hasEnded(kind, job) && templatesOf(kind, job).some(([, { spec }]) => podGpus(spec ?? {}, ANY_NODE, null).requested);

/**
 * Why it is not for us to suspend or resume: a controller above it does that itself, or KubeRay takes no suspension of
 * it (KubeRay, RayJob validation).
 */
export function hindranceOf(kind: JobKind, { metadata, spec }: JobObject): string | null {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  // A CronJob makes Jobs and leaves those that run alone.
  if (owner !== undefined && owner.kind !== 'CronJob')
    return `${owner.kind} ${owner.name}, which owns it, says when it runs`;
  const queue = metadata?.labels?.['kueue.x-k8s.io/queue-name'];
  if (queue !== undefined) return `Kueue, in whose queue ${queue} it is, says when it runs`;
  if (kind !== 'rayjob') return null;
  if (Object.keys(spec?.clusterSelector ?? {}).length > 0) return 'it runs on a RayCluster that is not its own';
  return spec?.shutdownAfterJobFinishes === true
    ? null
    : 'KubeRay suspends only a RayJob whose shutdownAfterJobFinishes is true';
}

function stateOf(kind: JobKind, job: JobObject, podsLeft: boolean | null): FleetTarget['state'] {
  const { metadata, status } = job;
  const active = activeOf(job) > 0;
  if (metadata?.deletionTimestamp !== undefined) return 'stopping';
  if (isSuspended(kind, job)) {
    const isLeft = podsLeft === true || active || (kind === 'rayjob' && status?.jobDeploymentStatus !== 'Suspended');
    return isLeft ? 'stopping' : 'stopped';
  }
  const runs = kind === 'rayjob' ? status?.jobDeploymentStatus === 'Running' : active;
  return runs || podsLeft === true ? 'running' : 'starting';
}

/** @param podsLeft whether pods of it are there, those that are shutting down included; null: nobody has looked */
export function jobTarget(kind: JobKind, job: JobObject, identity: Identity, podsLeft: boolean | null): FleetTarget {
  const { metadata, status } = job;
  const templates = templatesOf(kind, job).filter(([, { spec }]) => podGpus(spec ?? {}, ANY_NODE, null).requested);
  const selectors = templates.map(([, { spec }]) => spec?.nodeSelector ?? {});
  const selector: Labels = selectors.every((one) => JSON.stringify(one) === JSON.stringify(selectors[0]))
    ? (selectors[0] ?? {})
    : {};
  const units = unitsOf(selector);
  const gpus = templates.map(([count, { spec }]) => {
    const own = gpusOfParts(podGpus(spec ?? {}, units, null).parts);
    return own === null ? null : own * count;
  });
  const state = stateOf(kind, job, podsLeft);
  const isOn = !isSuspended(kind, job);
  const hindrance = hindranceOf(kind, job);
  const ended = status?.startTime ?? metadata?.creationTimestamp;
  const meta = metadata as V1ObjectMeta | undefined;
  return {
    target: `${kind}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`,
    kind: 'workload',
    name: metadata?.name ?? '',
    provider: identity.provider,
    account: identity.account,
    region: selector['topology.kubernetes.io/region'] ?? null,
    sku: selector['node.kubernetes.io/instance-type'] ?? null,
    gpuModel: units.model,
    gpus: gpus.reduce<number | null>((sum, one) => (sum === null || one === null ? null : sum + one), 0),
    ...(selector[ZONE] === undefined ? {} : { zone: selector[ZONE] }),
    term: termOf(selector),
    state,
    billing: state === 'stopped' ? 'ended' : 'billed',
    replicas: { desired: isOn ? 1 : 0, ready: state === 'running' ? 1 : 0, min: null, max: 1 },
    spotRatio: null,
    labels: { ...metadata?.labels },
    launchedAt: ended === undefined ? null : Date.parse(ended),
    revision: revisionOfJob(job),
    asOne: true,
    ...(hindrance === null ? {} : { ruledOut: { stop: hindrance, start: hindrance } }),
    ...managedBy(meta),
  };
}

export const revisionOfJob = ({ metadata, spec }: JobObject): string | null =>
  revisionOf({ ...(metadata === undefined ? {} : { metadata: metadata as V1ObjectMeta }), spec });

/** The patch that an effect asks for, or why it cannot be made. */
export function jobPatch(effect: Effect, token: string, kind: JobKind, job: JobObject): Patch | Refused {
  if (effect.kind !== 'stop' && effect.kind !== 'start')
    return refused('not-supported', `${effect.kind} is nothing that a job can do: it is suspended and resumed`);
  if (job.metadata?.deletionTimestamp !== undefined) return refused('deleting', 'the job is being deleted');
  if (hasEnded(kind, job)) return refused('ended', 'the job has ended');
  const hindrance = hindranceOf(kind, job);
  if (hindrance !== null) return refused('owned', hindrance);
  const suspend = effect.kind === 'stop';
  return {
    metadata: { resourceVersion: job.metadata?.resourceVersion, annotations: { [LAST_TOKEN]: token } },
    spec: kind === 'pytorchjob' ? { runPolicy: { suspend } } : { suspend },
  };
}
