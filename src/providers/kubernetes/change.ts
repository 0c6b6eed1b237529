/**
 * What an effect on a workload changes, as one merge patch of one object: the token, the size and what takes it back go
 * in together.
 *
 * Pure. The invariant: each patch carries the resourceVersion that was read, so the API server refuses it where
 * anything has changed since, and the token stands on the object if and only if the effect does.
 *
 * Who owns the size decides what is patched. Without an autoscaler it is the workload's `spec.replicas` (in the object
 * itself and not by its `scale` subresource, which cannot carry the token: two writes could be torn apart). With one, a
 * size of 1 or more pins the autoscaler, min = max, since it would take any other number back; its former bounds are
 * noted in BOUNDS_BEFORE, and `set-bounds` puts them back. A size of 0 is set on the workload, which pauses its
 * autoscaler until the size is above 0 again (Kubernetes, "Horizontal Pod Autoscaling: Implicit maintenance-mode
 * deactivation").
 */
import type { Effect } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import type { Autoscaler, Workload } from './objects.js';

export const LAST_TOKEN = 'bursar.io/last-token';
/** Size before the last stop. */
const REPLICAS_BEFORE = 'bursar.io/replicas-before';
/** Bounds before the autoscaler was pinned, `2-10`. */
const BOUNDS_BEFORE = 'bursar.io/bounds-before';

/** RFC 7386: null takes a field away. */
export interface Patch {
  readonly metadata: {
    readonly resourceVersion: string | undefined;
    readonly annotations: Readonly<Record<string, string | null>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Change {
  readonly object: 'workload' | 'scaler';
  readonly patch: Patch;
  readonly detail: string;
}

export type Refused = Extract<EffectOutcome, { kind: 'refused' }>;
export const refused = (code: string, detail: string): Refused => ({ kind: 'refused', code, detail });

/** The change that an effect asks for, or why it cannot be made. */
export function changeOf(
  effect: Effect,
  token: string,
  workload: Workload,
  scaler: Autoscaler | null,
): Change | Refused {
  if (workload.metadata?.deletionTimestamp !== undefined) return refused('deleting', 'the workload is being deleted');
  switch (effect.kind) {
    case 'stop':
      return resize(0, token, workload);
    case 'start':
      return start(token, workload);
    case 'scale':
      return scale(effect.replicas, token, workload, scaler);
    case 'set-bounds':
      return scaler === null
        ? refused('no-autoscaler', 'the workload has no HorizontalPodAutoscaler, and so no bounds')
        : bound(effect.min, effect.max, token, scaler, null);
    default:
      return refused('not-supported', `${effect.kind} is nothing that a workload can do`);
  }
}

function resize(
  replicas: number,
  token: string,
  { metadata, spec }: Workload,
  detail = `${replicas} replicas`,
): Change | Refused {
  if (!Number.isSafeInteger(replicas) || replicas < 0)
    return refused('invalid', `${replicas} is no number of replicas`);
  const now = spec?.replicas ?? 1;
  // Stopped twice, the size before the first stop is what a start goes back to.
  const annotations: Record<string, string | null> = { [LAST_TOKEN]: token };
  if (replicas > 0) annotations[REPLICAS_BEFORE] = null;
  else if (now > 0) annotations[REPLICAS_BEFORE] = String(now);
  return {
    object: 'workload',
    patch: { metadata: { resourceVersion: metadata?.resourceVersion, annotations }, spec: { replicas } },
    detail,
  };
}

function start(token: string, workload: Workload): Change | Refused {
  const now = workload.spec?.replicas ?? 1;
  if (now > 0) return resize(now, token, workload, `runs already, ${now} replicas`);
  const before = /^[1-9]\d{0,5}$/.exec(workload.metadata?.annotations?.[REPLICAS_BEFORE] ?? '')?.[0];
  return before === undefined
    ? refused(
        'no-former-size',
        `the workload does not say how large it was (annotation ${REPLICAS_BEFORE}): scale it instead`,
      )
    : resize(Number(before), token, workload);
}

function scale(replicas: number, token: string, workload: Workload, scaler: Autoscaler | null): Change | Refused {
  if (scaler === null || replicas === 0) return resize(replicas, token, workload);
  const [min, max] = [scaler.spec.minReplicas ?? 1, scaler.spec.maxReplicas];
  if ((workload.spec?.replicas ?? 1) > 0) return bound(replicas, replicas, token, scaler, `${min}-${max}`);
  // A paused autoscaler wakes with the workload, and would move a size outside its bounds at once.
  if (replicas < min || replicas > max)
    return refused('outside-bounds', `the autoscaler keeps ${min} to ${max} replicas: set its bounds first`);
  return resize(replicas, token, workload);
}

function bound(
  min: number,
  max: number,
  token: string,
  { metadata, spec }: Autoscaler,
  before: string | null,
): Change | Refused {
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min < 0 || max < 1 || min > max)
    return refused('invalid', `${min} to ${max} are no bounds`);
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  if (owner !== undefined)
    return refused('owned', `the autoscaler belongs to ${owner.kind} ${owner.name}, which would put its bounds back`);
  const pinned = metadata?.annotations?.[BOUNDS_BEFORE];
  const note =
    before !== null && pinned !== undefined && (spec.minReplicas ?? 1) === spec.maxReplicas ? pinned : before;
  return {
    object: 'scaler',
    detail:
      before === null ? `bounds ${min} to ${max}` : `pinned to ${min} replicas (bounds before: ${note ?? before})`,
    patch: {
      metadata: {
        resourceVersion: metadata?.resourceVersion,
        annotations: { [LAST_TOKEN]: token, [BOUNDS_BEFORE]: note },
      },
      spec: { minReplicas: min, maxReplicas: max },
    },
  };
}
