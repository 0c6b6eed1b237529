/**
 * Pods and the reservation that they name: what they take of its GPUs, and when they give them back.
 *
 * Pure. The rule: pods that were let in on a reservation take together no more GPUs than its quote reserved, whatever
 * they have been metered for. The invariant: a pod takes once, however often it is reviewed; another pod of the same
 * name takes its place. What is gone gives back; what nobody tells of takes until the reservation is over.
 */
import { ANY_NODE, podGpus, type PodSpec } from '../fleet/pod-gpus.js';
import { reservationIn } from './reservation.js';
import { GPU_PARTS } from '../usage.js';

/** A pod by its own id, and by its place. */
export interface PodPlace {
  /** Its uid; where it has none yet, its name, else the review's own id. */
  readonly pod: string;
  readonly namespace: string;
  /** Empty: it has none yet. */
  readonly name: string;
}

export interface PodClaim extends PodPlace {
  /** GPU parts; null: a share that cannot be told. */
  readonly gpuParts: number | null;
}

interface PodObject {
  readonly metadata?:
    | {
        readonly uid?: string | undefined;
        readonly name?: string | undefined;
        readonly annotations?: Readonly<Record<string, string>> | null | undefined;
        readonly labels?: Readonly<Record<string, string>> | null | undefined;
      }
    | undefined;
}

interface Reviewed {
  /** Of the review. */
  readonly uid?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/**
 * Where a pod is. An API server gives it uid and name before it asks (Kubernetes, apiserver registry: BeforeCreate);
 * others may not.
 */
function placeIn({ uid, name: asked = '', namespace = '' }: Reviewed, { metadata }: PodObject): PodPlace {
  const name = metadata?.name ?? asked;
  return { pod: metadata?.uid ?? (name === '' ? (uid ?? '') : `${namespace}/${name}`), namespace, name };
}

/**
 * What a pod that names a reservation would take of it. A shared device counts as the whole one: how many share it is
 * the node's to say.
 */
export const claimOf = (review: Reviewed, object: PodObject & { readonly spec?: PodSpec | undefined }): PodClaim => ({
  ...placeIn(review, object),
  gpuParts: podGpus(object.spec ?? {}, { ...ANY_NODE, replicas: 1 }).parts,
});

/** A pod that is being deleted, with the reservation that it named; null: the review is of something else. */
export function leavingOf({
  kind,
  operation,
  subResource,
  oldObject,
  ...review
}: Reviewed & {
  readonly kind: { readonly group?: string | undefined; readonly kind: string };
  readonly operation: string;
  readonly subResource?: string | undefined;
  readonly oldObject?: PodObject | null | undefined;
}): (PodPlace & { readonly reservation: string }) | null {
  if (operation !== 'DELETE' || kind.kind !== 'Pod' || (kind.group ?? '') !== '' || (subResource ?? '') !== '')
    return null;
  const reservation = reservationIn(oldObject?.metadata ?? {});
  return reservation === null ? null : { reservation, ...placeIn(review, oldObject ?? {}) };
}

/**
 * GPU parts that a pod takes of what is left of its reservation; null: it asks for more than that. A share that cannot
 * be told takes all that is left.
 * @param reservedGpus of the reservation's quote; thousandths are allowed
 * @param takenParts by other pods
 */
export function partsTaken(gpuParts: number | null, reservedGpus: number, takenParts: number): number | null {
  const left = Math.round(reservedGpus * GPU_PARTS) - takenParts;
  if (gpuParts === null) return left > 0 ? left : null;
  return gpuParts <= left ? gpuParts : null;
}

/** Whether a pod has its part of its reservation, and what others have. */
export interface Taking {
  readonly granted: boolean;
  /** Of the reservation; null: it is over. */
  readonly reservedGpus: number | null;
  /** GPU parts of other pods. */
  readonly takenParts: number;
}

/** Why a pod was not granted its part, as the rest of a sentence about its reservation. */
export function whyTurnedAway({ reservedGpus, takenParts }: Taking, { gpuParts }: Pick<PodClaim, 'gpuParts'>): string {
  if (reservedGpus === null) return 'is over';
  const gpus = (parts: number): string => String(Number((parts / GPU_PARTS).toFixed(3)));
  return `has ${gpus(Math.max(0, Math.round(reservedGpus * GPU_PARTS) - takenParts))} of its ${reservedGpus} GPUs left, beside the pods that were let in on it, and this one asks for ${gpuParts === null ? 'a share that cannot be told' : gpus(gpuParts)}`;
}
