/** What a text may hold, and when two texts are one name. */
import { assert, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { ownerName } from '../../../src/core/actor.js';
import { foldedName, isStorable } from '../../../src/core/text.js';

it.each([
  ['Ada@X.com', 'ada@x.com'],
  [' ada ', 'ada'],
  ['ａｄａ', 'ada'],
  ['a\u200Bda', 'ada'],
  ['İ', 'i\u0307'],
  ['ΟΔΟΣ', 'οδοσ'],
  ['e\u0301', 'é'],
  ['ılker', 'ılker'],
  ['\u2060 ', ''],
])('a name is folded: %s', (name, folded) => expect(foldedName(name)).toBe(folded));

it('folding what is folded changes nothing', () => {
  assert(
    property(string({ unit: 'binary' }), (name) => {
      expect(foldedName(foldedName(name))).toBe(foldedName(name));
    }),
  );
});

it.each([
  ['ada@x.com ', 'ada@x.com'],
  ['user:Ada%40x.com', 'ada@x.com'],
  [' USER:ada@x.com', 'ada@x.com'],
  ['user:ada%40x.com (Ada)', 'ada@x.com'],
  ['user:100%', 'user:100%'],
  ['user:a%00', 'user:a%00'],
  ['Night desk', 'night desk'],
])('the owner of a key is a name: %s', (owner, name) => expect(ownerName(owner)).toBe(name));

it('a NUL and half of a surrogate pair cannot be stored', () => {
  expect(['a', '😀', 'a\u0000', '\ud83d', '\ude00'].map(isStorable)).toEqual([true, true, false, false, false]);
});
