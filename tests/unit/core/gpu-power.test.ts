/** The power from which a card is at work, by what is known of its model and of its rest. */
import { expect, it } from 'vitest';
import { workingWatts } from '../../../src/core/fleet/gpu-power.js';

it('is not known without a model and without a rest', () => {
  expect(workingWatts(null, null)).toBeNull();
  expect(workingWatts('some-card', null)).toBeNull();
  expect(workingWatts('toString', null)).toBeNull();
});

it('is half the limit where no rest is known, of a model whatever its memory', () => {
  expect([workingWatts('L4', null), workingWatts('H100', null), workingWatts('A100-80GB', null)]).toEqual([
    36, 175, 125,
  ]);
});

it('is more over the rest than holding memory takes, at most half the limit', () => {
  expect(workingWatts('H200', 79)).toBeCloseTo(79 + 600 / 7);
  expect(workingWatts('A10', 10)).toBe(70);
  expect(workingWatts('T4', 30)).toBe(35);
  expect([workingWatts(null, 20), workingWatts(null, 100)]).toEqual([80, 200]);
});
