/**
 * Pods that were admitted on a reservation, and the number of its GPUs that they take.
 *
 * Decides nothing (core/budget/reservation-pods.ts does). The invariant: two simultaneous reviews never get the last
 * GPUs of a reservation, because a review locks it first; and a pod has one row, however often it is reviewed. Rows of
 * ended reservations are deleted with the next admitted pod.
 */
import { partsTaken, type PodClaim, type PodPlace, type Taking } from '../../core/budget/reservation-pods.js';
import { formatInstant } from '../../core/time.js';
import type { Database, Queryable } from '../database.js';

export interface ClaimRequest extends PodClaim {
  readonly organisation: string;
  readonly reservation: string;
  /** Empty: nobody said which. */
  readonly cluster: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

export interface LeaveRequest extends PodPlace {
  readonly organisation: string;
  readonly reservation: string;
  readonly cluster: string;
}

export class ReservationPods {
  constructor(private readonly db: Database) {}

  /** Takes a pod's GPUs of its reservation, where they are left. */
  take(request: ClaimRequest): Promise<Taking> {
    return this.db.transaction(async (tx) => {
      const taking = await readTaking(tx, request, 'for update');
      const { organisation, reservation, pod, cluster, namespace, name, gpuParts, now } = request;
      const parts =
        taking.granted && taking.reservedGpus !== null
          ? partsTaken(gpuParts, taking.reservedGpus, taking.takenParts)
          : null;
      if (parts === null) return taking;
      await tx.query(
        `delete from reservation_pod where organisation = $1 and reservation = $2 and pod <> $3 and cluster = $4 and namespace = $5 and name = $6 and name <> ''`,
        [organisation, reservation, pod, cluster, namespace, name],
      );
      await tx.query(
        `insert into reservation_pod (organisation, reservation, pod, cluster, namespace, name, gpu_parts, let_in_at) values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (organisation, reservation, cluster, pod) do nothing`,
        [organisation, reservation, pod, cluster, namespace, name, parts, formatInstant(now)],
      );
      await tx.query(
        `delete from reservation_pod p using reservation r where p.organisation = $1 and r.organisation = $1 and r.id = p.reservation and (r.expires_at <= $2 or r.released_at is not null)`,
        [organisation, formatInstant(now)],
      );
      return taking;
    });
  }

  /** The result of taking, without taking anything. */
  wouldTake(request: ClaimRequest): Promise<Taking> {
    return readTaking(this.db, request, '');
  }

  /**
   * Gives back what a pod has taken, by its uid or, where it had none when it was let in, its name; nothing if it has
   * taken none.
   */
  async leave({ organisation, reservation, pod, cluster, namespace, name }: LeaveRequest): Promise<void> {
    await this.db.query(
      `delete from reservation_pod where organisation = $1 and reservation = $2 and (pod = $3 or pod = $4) and cluster = $5`,
      [organisation, reservation, pod, `${namespace}/${name}`, cluster],
    );
  }
}

async function readTaking(
  db: Queryable,
  { organisation, reservation, pod, cluster, namespace, name, gpuParts, now }: ClaimRequest,
  lock: 'for update' | '',
): Promise<Taking> {
  const [held] = await db.query<{ gpus: number }>(
    `select (quote ->> 'gpus')::double precision as gpus from reservation where organisation = $1 and id = $2 and released_at is null and expires_at > $3 ${lock}`,
    [organisation, reservation, formatInstant(now)],
  );
  // Another pod of its name is not there any more.
  const [taken] = await db.query<{ parts: string; own: boolean }>(
    `select coalesce(sum(gpu_parts) filter (where not (cluster = $4 and (pod = $3 or (namespace = $5 and name = $6 and name <> '')))), 0)::text as parts, coalesce(bool_or(cluster = $4 and pod = $3), false) as own
     from reservation_pod where organisation = $1 and reservation = $2`,
    [organisation, reservation, pod, cluster, namespace, name],
  );
  const takenParts = Number(taken?.parts ?? 0);
  if (held === undefined) return { granted: false, reservedGpus: null, takenParts };
  return {
    granted: taken?.own === true || partsTaken(gpuParts, held.gpus, takenParts) !== null,
    reservedGpus: held.gpus,
    takenParts,
  };
}
