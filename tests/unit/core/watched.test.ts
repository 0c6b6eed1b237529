/** Parts that repeat: only one that has failed three times in a row is stuck, and since its first failure. */
import { expect, it } from 'vitest';
import { WatchedParts } from '../../../src/core/watched.js';

it('a part is stuck from its third failure in a row on, until it succeeds', () => {
  const parts = new WatchedParts();
  parts.succeeded('a');
  expect(parts.stuck).toEqual([]);
  parts.failed('a', 'one', 10);
  parts.failed('a', 'two', 20);
  parts.failed('b', 'other', 25);
  expect(parts.stuck).toEqual([]);
  parts.failed('a', 'three', 30);
  expect(parts.stuck).toEqual([{ name: 'a', since: 10, failures: 3, reason: 'three' }]);
  parts.succeeded('a');
  expect(parts.stuck).toEqual([]);
  for (const at of [40, 50, 60, 70]) parts.failed('a', 'again', at);
  expect(parts.stuck).toEqual([{ name: 'a', since: 40, failures: 4, reason: 'again' }]);
});
