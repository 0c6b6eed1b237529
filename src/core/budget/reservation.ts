/**
 * Reservations: budget that is held for a future launch until it expires, is released, or has been spent on its
 * purpose. The rule: until it expires a reservation counts, on each budget, max(0, the amount that it holds there - the
 * cost there of usage with its tag). It holds the high end of its quote, and only in the budgets' current periods. An
 * expired reservation counts nothing at any read; no job ends it.
 */
import { HOUR_MS } from '../time.js';

/**
 * The tag of usage records by which a launch names its reservation; of a pod, an annotation or a label of this name.
 */
export const RESERVATION_TAG = 'bursar.io/reservation';

/** The reservation that a pod names; the annotation goes before the label. Null: none. */
export function reservationIn({
  annotations,
  labels,
}: {
  readonly annotations?: Readonly<Record<string, string>> | null | undefined;
  readonly labels?: Readonly<Record<string, string>> | null | undefined;
}): string | null {
  const named = annotations?.[RESERVATION_TAG] ?? labels?.[RESERVATION_TAG] ?? '';
  return named === '' ? null : named;
}

/** A month: longer plans belong in a budget. */
export const MOST_HELD_HOURS = 744;
/** Beside the run's own length: time to launch it. */
const LAUNCH_HOURS = 1;

/**
 * When a reservation for a run expires: as asked, otherwise when the longest run would be over, with an hour to launch
 * it.
 */
export function expiryOf(now: number, runHours: number, holdHours: number | null): number {
  return now + Math.round(Math.min(holdHours ?? runHours + LAUNCH_HOURS, MOST_HELD_HOURS) * HOUR_MS);
}

/** Nanos that a hold still counts. */
export const remainingOf = (held: bigint, used: bigint): bigint => (used >= held ? 0n : used < 0n ? held : held - used);

export const RESERVATION_STATES = ['active', 'used', 'expired', 'released'] as const;
export type ReservationState = (typeof RESERVATION_STATES)[number];

/** @param remaining nanos of all its holds */
export function stateOfReservation(
  now: number,
  expiresAt: number,
  releasedAt: number | null,
  remaining: bigint,
): ReservationState {
  if (releasedAt !== null) return 'released';
  if (expiresAt <= now) return 'expired';
  return remaining === 0n ? 'used' : 'active';
}
