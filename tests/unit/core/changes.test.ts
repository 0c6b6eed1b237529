/** The difference between two configurations: what is added, changed and removed, and what is left alone. */
import { expect, it } from 'vitest';
import { canonical, changesBetween, type Sections } from '../../../src/core/changes.js';

const NOW: Sections = {
  teams: { red: { parent: null, name: 'Red' }, blue: { parent: 'red' } },
  budgets: { b: { amount: '5' } },
  rules: [{ team: 'red' }, { team: 'blue' }],
};
const plan = (wanted: Sections, prune = false): string[] =>
  changesBetween(NOW, wanted, prune).map(({ kind, section, id }) => `${kind} ${section} ${id ?? 'whole'}`);

it('nothing changes where the same is wanted, whatever the order of names, or nothing is said', () => {
  expect(plan({})).toEqual([]);
  expect(plan({}, true)).toEqual([]);
  expect(plan(NOW, true)).toEqual([]);
  expect(plan({ teams: { blue: { parent: 'red' }, red: { name: 'Red', parent: null } } }, true)).toEqual([]);
});

it('what is named is added or changed; what is not named goes on request alone, in the sections that are spoken of', () => {
  const wanted = { teams: { green: {}, red: { parent: null, name: 'RED' } }, policies: { p: {} } };
  expect(plan(wanted)).toEqual(['add teams green', 'change teams red', 'add policies p']);
  expect(plan(wanted, true)).toEqual(['add teams green', 'change teams red', 'remove teams blue', 'add policies p']);
  expect(plan({ teams: {} }, true)).toEqual(['remove teams red', 'remove teams blue']);
  expect(plan({ teams: { toString: {} } })).toEqual(['add teams toString']);
});

it('of a list the order counts, and it is one thing', () => {
  expect(plan({ rules: [{ team: 'blue' }, { team: 'red' }] })).toEqual(['change rules whole']);
  expect(plan({ rules: [], peak: [] }, true)).toEqual(['change rules whole']);
  expect(changesBetween({}, { peak: [1] }, false)).toEqual([
    { section: 'peak', id: null, kind: 'change', before: [], after: [1] },
  ]);
});

it('a change shows what was and what is to be; the sections come in the order in which they are set', () => {
  expect(changesBetween(NOW, { budgets: { c: 1 } }, true)).toEqual([
    { section: 'budgets', id: 'c', kind: 'add', before: null, after: 1 },
    { section: 'budgets', id: 'b', kind: 'remove', before: { amount: '5' }, after: null },
  ]);
  expect(plan({ policies: { p: 1 }, budgets: { c: 1 }, rules: [], teams: { x: 1 } })).toEqual([
    'add teams x',
    'change rules whole',
    'add budgets c',
    'add policies p',
  ]);
});

it('canonical JSON orders the names of every object and of no list', () => {
  expect(canonical({ b: [{ d: 1, c: null }, 2, 1], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1},2,1]}');
});
