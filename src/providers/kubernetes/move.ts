/**
 * Moves of workloads: the node selector that puts their pods into a zone and under a term, and the patches that change
 * it. A Deployment or StatefulSet is moved by one patch of its template, and its own controller replaces the pods. A job
 * is suspended, so that it writes its checkpoint, and resumed with another selector once its last pod has ended.
 *
 * Pure. The invariants: only labels that nodes of the cluster carry are asked for; each patch carries the
 * resourceVersion that was read; the token stands on the object if and only if the whole move does, and MOVING in between.
 *
 * Kubernetes, "Jobs: Mutable Scheduling Directives": the template of a Job may change its node selector while it is
 * suspended and `status.startTime` is not set. Kueue clears that field for the same purpose ("Concepts: Workload").
 */
import type { Move } from '../../core/fleet/fleet.js';
import { LAST_TOKEN, refused, type Change, type Patch, type Refused } from './change.js';
import { gpuTemplates, hasEnded, hindranceOf, isSuspended, type JobObject } from './jobs.js';
import { capacityLabel, isCapacityLabel, REGION, ZONE, INSTANCE_TYPE, type Workload } from './objects.js';
import type { Labels } from './quantity.js';
import { POOLS, type JobKind } from './resources.js';

/** The token of a move whose job is suspended and has not been resumed. */
export const MOVING = 'bursar.io/moving';

/** Null takes a key away (RFC 7386). */
type SelectorPatch = Readonly<Record<string, string | null>>;

const isRefused = (value: SelectorPatch | Refused): value is Refused => 'kind' in value && value.kind === 'refused';

/** What changes in a template's selector. @param nodes the labels of the cluster's nodes */
function selectorPatch(effect: Move, old: Labels, nodes: readonly Labels[]): SelectorPatch | Refused {
  const pool = POOLS.find((label) => old[label] !== undefined);
  if (pool !== undefined)
    return refused(
      'pinned',
      `its template keeps it in the pool ${old[pool] ?? ''} (${pool}): a pool decides where it runs`,
    );
  const isReached = nodes.some(
    (labels) => labels[REGION] === effect.region && (effect.zone === null || labels[ZONE] === effect.zone),
  );
  if (!isReached) return refused('no-node', `no node of this cluster is in ${effect.zone ?? effect.region}`);
  const term = capacityLabel(effect.term, nodes);
  if (term === null) return refused('no-capacity-label', `no label of a node says which are ${effect.term}`);
  const gone = Object.keys(old).filter((key) => key === ZONE || isCapacityLabel(key));
  return {
    ...Object.fromEntries(gone.map((key) => [key, null])),
    [REGION]: effect.region,
    ...(effect.zone === null ? {} : { [ZONE]: effect.zone }),
    ...(effect.sku === null ? {} : { [INSTANCE_TYPE]: effect.sku }),
    [term[0]]: term[1],
  };
}

/** Of a Deployment or StatefulSet. @param zoneNow where it runs; null: several, or unknown */
export function workloadMove(
  effect: Move,
  token: string,
  { metadata, spec }: Workload,
  nodes: readonly Labels[],
  zoneNow: string | null,
): Change | Refused {
  if (metadata?.deletionTimestamp !== undefined) return refused('deleting', 'the workload is being deleted');
  const hasVolumes =
    spec !== undefined && 'volumeClaimTemplates' in spec && (spec.volumeClaimTemplates ?? []).length > 0;
  if (hasVolumes && (zoneNow === null || zoneNow !== effect.zone))
    return refused('volumes', 'its pods have volumes of their own, which may be bound to the zone where they are');
  const nodeSelector = selectorPatch(effect, spec?.template.spec?.nodeSelector ?? {}, nodes);
  if (isRefused(nodeSelector)) return nodeSelector;
  return {
    object: 'workload',
    detail: `its pods are replaced by pods in ${effect.zone ?? effect.region}`,
    patch: {
      metadata: { resourceVersion: metadata?.resourceVersion, annotations: { [LAST_TOKEN]: token } },
      spec: { template: { spec: { nodeSelector } } },
    },
  };
}

/**
 * The next write of a move of a job: `clear` its start time, or patch it, which is half of the move or its end, or
 * resumes the job where it was, because the other place cannot be had any more.
 */
export type JobStep =
  | { readonly step: 'wait' }
  | { readonly step: 'clear' }
  | { readonly step: 'patch'; readonly becomes: 'half' | 'moved' | Refused; readonly body: Patch };

/** @param podsLeft whether pods of it still run or shut down */
export function jobMove(
  effect: Move,
  token: string,
  kind: JobKind,
  job: JobObject,
  podsLeft: boolean,
  nodes: readonly Labels[],
): JobStep | Refused {
  const { metadata, status } = job;
  if (metadata?.deletionTimestamp !== undefined) return refused('deleting', 'the job is being deleted');
  if (hasEnded(kind, job)) return refused('ended', 'the job has ended');
  const hindrance = hindranceOf(kind, job);
  if (hindrance !== null) return refused('owned', hindrance);
  const templates = gpuTemplates(kind, job);
  const obstacle = templates.map(({ spec }) => selectorPatch(effect, spec?.nodeSelector ?? {}, nodes)).find(isRefused);
  const { resourceVersion } = metadata ?? {};
  const suspension = (suspend: boolean): Patch['spec'] =>
    kind === 'pytorchjob' ? { runPolicy: { suspend } } : { suspend };
  const isOurs = metadata?.annotations?.[MOVING] === token;
  if (!isSuspended(kind, job)) {
    if (isOurs) return refused('resumed', 'somebody has resumed the job before it was at its new place');
    // What cannot be resumed there is not suspended.
    return (
      obstacle ?? {
        step: 'patch',
        becomes: 'half',
        body: { metadata: { resourceVersion, annotations: { [MOVING]: token } }, spec: suspension(true) },
      }
    );
  }
  if (!isOurs) return refused('suspended', 'somebody has suspended the job: it is started where it stands, or by them');
  if (podsLeft) return { step: 'wait' };
  if (obstacle !== undefined)
    return {
      step: 'patch',
      becomes: { ...obstacle, detail: `${obstacle.detail}; the job was resumed where it was` },
      body: { metadata: { resourceVersion, annotations: { [MOVING]: null } }, spec: suspension(false) },
    };
  if (kind === 'job' && status?.startTime !== undefined) return { step: 'clear' };
  const changed = (selector: Labels): SelectorPatch => selectorPatch(effect, selector, nodes) as SelectorPatch;
  return {
    step: 'patch',
    becomes: 'moved',
    body: {
      metadata: { resourceVersion, annotations: { [LAST_TOKEN]: token, [MOVING]: null } },
      spec: { ...templatePatch(kind, job, changed), ...suspension(false) },
    },
  };
}

interface AnyTemplate {
  readonly spec?: { readonly nodeSelector?: Labels };
}

/** The templates with GPUs under another selector; a list is written whole, because a merge patch replaces it. */
function templatePatch(
  kind: JobKind,
  { spec }: JobObject,
  changed: (selector: Labels) => SelectorPatch,
): Patch['spec'] {
  const patchOf = ({ spec: pod }: AnyTemplate): object => ({
    spec: { nodeSelector: changed(pod?.nodeSelector ?? {}) },
  });
  const isMoved = (template: AnyTemplate | undefined): template is AnyTemplate =>
    template !== undefined && gpuTemplates('job', { spec: { template } }).length > 0;
  switch (kind) {
    case 'job':
      return { template: patchOf(spec?.template ?? {}) };
    case 'pytorchjob':
      return {
        pytorchReplicaSpecs: Object.fromEntries(
          Object.entries(spec?.pytorchReplicaSpecs ?? {}).flatMap(([name, { template }]) =>
            isMoved(template) ? [[name, { template: patchOf(template) }]] : [],
          ),
        ),
      };
    case 'rayjob': {
      const { headGroupSpec, workerGroupSpecs = [] } = spec?.rayClusterSpec ?? {};
      const head = headGroupSpec?.template;
      const workers = workerGroupSpecs.map((group) =>
        isMoved(group.template) ? { ...group, template: withSelector(group.template, changed) } : group,
      );
      return {
        rayClusterSpec: {
          ...(isMoved(head) ? { headGroupSpec: { template: patchOf(head) } } : {}),
          workerGroupSpecs: workers,
        },
      };
    }
  }
}

function withSelector(template: AnyTemplate, changed: (selector: Labels) => SelectorPatch): AnyTemplate {
  const old = template.spec?.nodeSelector ?? {};
  const nodeSelector = Object.fromEntries(
    Object.entries({ ...old, ...changed(old) }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  return { ...template, spec: { ...template.spec, nodeSelector } };
}
