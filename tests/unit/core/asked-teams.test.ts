/** A question about the costs of a team that does not exist is never answered by a plain zero. */
import { expect, it } from 'vitest';
import { aboutTeams } from '../../../src/core/budget/asked-teams.js';

const teams = [
  { id: 'ai', parent: null },
  ...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, parent: 'ai' })),
  { id: 'a-sub', parent: 'a' },
];
const about = (asked: readonly string[]): Promise<string[]> =>
  aboutTeams(asked, teams, (team) => Promise.resolve(team === 'by-rule'));

it('says that a team is unknown, and which one may be meant', async () => {
  expect(await about(['nope'])).toEqual([
    'there is no team nope, and no cost was ever allocated to it: its sum is not zero, it is not known',
  ]);
  expect(await about(['B', 'B'])).toEqual([
    'there is no team B, and no cost was ever allocated to it: its sum is not zero, it is not known (did you mean b?)',
  ]);
});

it('says nothing of a team that was set, or that rules gave costs to, and nothing below it', async () => {
  expect(await about(['b', 'by-rule'])).toEqual([]);
});

it('names the teams below one, at all depths, that were not asked for', async () => {
  expect(await about(['ai'])).toEqual([
    'the sums have only what ai itself has: the teams below it (a, a-sub, b, c, d and 2 more) are not in them',
  ]);
  expect(await about(['a'])).toEqual([
    'the sums have only what a itself has: the teams below it (a-sub) are not in them',
  ]);
  expect(await about(['a', 'a-sub'])).toEqual([]);
});
