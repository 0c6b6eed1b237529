/** What a failure carries: its kind, every problem that was found, and what caused it. */
import { expect, it } from 'vitest';
import { conflict, denied, Failure, invalid, missing, NoCapacity, unavailable } from '../../../src/core/errors.js';

const PROBLEMS = [
  { path: 'a', message: 'is no number' },
  { path: 'b', message: 'is missing' },
];

it('a failure names its kind and all problems, and none where there are none', () => {
  const made = [invalid('m'), missing('m'), conflict('m'), denied('m'), unavailable('m'), new NoCapacity('m')];
  expect(made.map(({ kind, message, problems }) => [kind, message, problems])).toEqual(
    ['invalid', 'missing', 'conflict', 'denied', 'unavailable', 'unavailable'].map((kind) => [kind, 'm', []]),
  );
  expect([invalid('m', PROBLEMS).problems, conflict('m', PROBLEMS).problems]).toEqual([PROBLEMS, PROBLEMS]);
  for (const one of made) expect(one).toBeInstanceOf(Failure);
});

it('what is unavailable keeps what caused it', () => {
  const cause = new Error('the connection was reset');
  expect(unavailable('m', cause).cause).toBe(cause);
});
