/**
 * Pods and the reservation that they name: how many of its GPUs they take, and when they return them.
 *
 * Pure. The rule: the pods admitted on a reservation together take no more GPUs than its quote reserved, whatever was
 * metered for them. The invariant: a pod takes GPUs once, however often it is reviewed; another pod of the same name
 * replaces it. A pod that is gone returns its GPUs; a pod without news keeps them until the reservation ends.
 */
import { ANY_NODE, podGpus, type PodSpec } from '../fleet/pod-gpus.js';
import { reservationIn } from './reservation.js';
import { GPU_PARTS } from '../usage.js';

/** A pod by its own id, and by its place. */
export interface PodPlace {
  /** Its uid; without a uid its name, otherwise the review's own id. */
  readonly pod: string;
  readonly namespace: string;
  /** Empty: it has none yet. */
  readonly name: string;
}

export interface PodClaim extends PodPlace {
  /** GPU parts; null: an unknown share. */
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
  /** The uid of the review. */
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
 * The claim of a pod that names a reservation. A shared device counts as a whole one, because only the node knows how
 * many share it.
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
 * GPU parts that a pod takes from the rest of its reservation; null: it requests more than the rest. An unknown share
 * takes the whole rest.
 * @param reservedGpus of the reservation's quote; thousandths are allowed
 * @param takenParts by other pods
 */
export function partsTaken(gpuParts: number | null, reservedGpus: number, takenParts: number): number | null {
  const left = Math.round(reservedGpus * GPU_PARTS) - takenParts;
  if (gpuParts === null) return left > 0 ? left : null;
  return gpuParts <= left ? gpuParts : null;
}

/** Whether a pod has its part of its reservation, and the parts of others. */
export interface Taking {
  readonly granted: boolean;
  /** GPUs of the reservation; null: it is over. */
  readonly reservedGpus: number | null;
  /** GPU parts of other pods. */
  readonly takenParts: number;
}

/** Why a pod was not granted its part, as the rest of a sentence about its reservation. */
export function whyTurnedAway({ reservedGpus, takenParts }: Taking, { gpuParts }: Pick<PodClaim, 'gpuParts'>): string {
  if (reservedGpus === null) return 'is over';
  const gpus = (parts: number): string => String(Number((parts / GPU_PARTS).toFixed(3)));
  return `has ${gpus(Math.max(0, Math.round(reservedGpus * GPU_PARTS) - takenParts))} of its ${reservedGpus} GPUs left, after the pods that were admitted on it, and this one asks for ${gpuParts === null ? 'a share of unknown size' : gpus(gpuParts)}`;
}
