/** What a reservation still counts, and until when: at its limits. */
import { expect, it } from 'vitest';
import {
  expiryOf,
  MOST_HELD_HOURS,
  remainingOf,
  RESERVATION_TAG,
  reservationIn,
  stateOfReservation,
} from '../../../src/core/budget/reservation.js';

const HOUR = 3_600_000;

it.each<[string, number, number | null, bigint]>([
  ['active', 999, null, 1n],
  ['expired', 1000, null, 1n],
  ['used', 999, null, 0n],
  ['expired', 1000, null, 0n],
  ['released', 999, 5, 1n],
  ['released', 1000, 5, 0n],
])('is %s at %d, released at %s, with %d nanos left', (state, now, releasedAt, remaining) => {
  expect(stateOfReservation(now, 1000, releasedAt, remaining)).toBe(state);
});

it('counts what is not yet used of it, and never less than nothing or more than it holds', () => {
  const left = [-1n, 0n, 1n, 9n, 10n, 11n].map((used) => remainingOf(10n, used));
  expect(left).toEqual([10n, 10n, 9n, 1n, 0n, 0n]);
});

it('expires when the longest run and an hour for its launch would be over, or as asked, after a month at most', () => {
  expect(expiryOf(7, 10, null)).toBe(7 + 11 * HOUR);
  expect(expiryOf(7, 10, 2.5)).toBe(7 + 2.5 * HOUR);
  expect(expiryOf(7, 10, 0)).toBe(7);
  expect(expiryOf(0, MOST_HELD_HOURS, null)).toBe(MOST_HELD_HOURS * HOUR);
  expect(expiryOf(0, MOST_HELD_HOURS - 1, null)).toBe(MOST_HELD_HOURS * HOUR);
  expect(expiryOf(0, MOST_HELD_HOURS - 2, null)).toBe((MOST_HELD_HOURS - 1) * HOUR);
  expect(expiryOf(0, 1, 1e6)).toBe(MOST_HELD_HOURS * HOUR);
});

it('is named by an annotation of a pod before a label', () => {
  const [annotation, label] = [{ [RESERVATION_TAG]: 'a' }, { [RESERVATION_TAG]: 'b' }];
  expect(reservationIn({ annotations: annotation, labels: label })).toBe('a');
  expect(reservationIn({ labels: label })).toBe('b');
  expect(reservationIn({ annotations: null, labels: null })).toBeNull();
  expect(reservationIn({ annotations: { [RESERVATION_TAG]: '' } })).toBeNull();
});
