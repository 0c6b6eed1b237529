/** Which groups a breakdown shows by name and in which order, and what becomes of the others. */
import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import {
  breakdownOf,
  daysOfSpan,
  largestOf,
  onlyOf,
  seriesOf,
  spanBefore,
  type GroupSum,
  type NamedSum,
} from '../../../src/core/report/breakdown.js';

const sum = (name: string | null, cost: string | null, currency = 'USD'): NamedSum => ({
  name,
  currency,
  cost: cost === null ? null : parseDecimal(cost),
});
const namesOf = (sums: readonly NamedSum[], most: number): (string | null)[] =>
  largestOf(sums, most).map(({ name }) => name);
const groupSum = (name: string, cost: string | null, more: Partial<GroupSum> = {}): GroupSum => ({
  names: [name],
  currency: 'USD',
  cost: cost === null ? null : parseDecimal(cost),
  parts: null,
  unpriced: 0n,
  ...more,
});

describe('the largest groups', () => {
  it('come first, by all that they cost together', () => {
    expect(namesOf([sum('a', '3'), sum('b', '2'), sum('c', '1'), sum('b', '2.5')], 3)).toEqual(['b', 'a', 'c']);
  });

  it('of equal cost come by name, and what has none comes last', () => {
    expect(namesOf([sum(null, '5'), sum('z', '5'), sum('a', '5')], 3)).toEqual(['a', 'z', null]);
  });

  it('are as many as asked for, and one more where it would stand alone', () => {
    const five = ['5', '4', '3', '2', '1'].map((cost) => sum(`g${cost}`, cost));
    expect(namesOf(five, 3)).toEqual(['g5', 'g4', 'g3']);
    expect(namesOf(five, 4)).toHaveLength(5);
    expect(namesOf([], 3)).toEqual([]);
  });

  it('are counted for each currency, in the order of their codes', () => {
    const both = [sum('a', '1', 'USD'), sum('b', '2', 'USD'), sum('c', '3', 'USD'), sum('a', '9', 'EUR')];
    expect(largestOf(both, 1)).toEqual([
      { name: 'a', currency: 'EUR' },
      { name: 'c', currency: 'USD' },
    ]);
  });

  it('without a price are shown after those that have one', () => {
    expect(namesOf([sum('unpriced', null), sum('priced', '1')], 2)).toEqual(['priced', 'unpriced']);
  });
});

describe('the days of groups', () => {
  const DAYS = ['2026-10-01', '2026-10-02'];
  const daySum = (name: string, day: string, cost: string | null): NamedSum & { day: string } => ({
    ...sum(name, cost),
    day,
  });

  it('of a group stand by themselves, of all others together, and 0 where nothing was used', () => {
    const groups = [{ name: 'a', currency: 'USD' }];
    const sums = [
      daySum('a', DAYS[0]!, '1.5'),
      daySum('b', DAYS[1]!, '2'),
      daySum('c', DAYS[1]!, '3'),
      daySum('a', '2026-10-09', '7'),
    ];
    expect(seriesOf(onlyOf(sums, groups), DAYS, groups)).toEqual([
      { name: { value: 'a' }, currency: 'USD', values: ['1.5', '0'] },
      { name: null, currency: 'USD', values: ['0', '5'] },
    ]);
  });

  it('are unknown where nothing that was used has a price, and what has one counts beside what has none', () => {
    const groups = [{ name: 'a', currency: 'USD' }];
    const sums = [daySum('a', DAYS[0]!, null), daySum('a', DAYS[1]!, null), daySum('a', DAYS[1]!, '2')];
    expect(seriesOf(onlyOf(sums, groups), DAYS, groups)).toEqual([
      { name: { value: 'a' }, currency: 'USD', values: [null, '2'] },
    ]);
  });

  it('of another currency belong to another group', () => {
    const groups = [{ name: 'a', currency: 'EUR' }];
    const [one] = onlyOf([daySum('a', DAYS[0]!, '1')], groups);
    expect(one!.name).toBeNull();
  });
});

describe('the rows of a breakdown', () => {
  it('are the dearest first, then by what they cost before, then by name', () => {
    const now = [groupSum('b', '1'), groupSum('a', '1'), groupSum('c', '1'), groupSum('d', '4'), groupSum('e', null)];
    const before = [groupSum('c', '2'), groupSum('gone', '9')];
    const { rows, rest } = breakdownOf(now, before, 9);
    expect(rows.map(({ names }) => names[0])).toEqual(['d', 'c', 'a', 'b', 'gone', 'e']);
    expect(rest).toEqual([]);
  });

  it('that are too many are summed to one', () => {
    const now = ['4', '3', '2', '1'].map((cost) => groupSum(`g${cost}`, cost));
    expect(breakdownOf(now, null, 4)).toMatchObject({ rows: { length: 4 }, rest: [] });
    const { rows, rest } = breakdownOf(now, null, 2);
    expect(rows.map(({ cost, share }) => [cost, share])).toEqual([
      ['4', 0.4],
      ['3', 0.3],
    ]);
    expect(rest).toMatchObject([{ groups: 2, cost: '3', share: 0.3, before: null, change: null }]);
  });

  it('say the change where both are known, and none where one has no price or nobody asked', () => {
    const now = [groupSum('a', '5'), groupSum('b', null), groupSum('new', '1')];
    const { rows } = breakdownOf(now, [groupSum('a', '7'), groupSum('b', '2')], 9);
    expect(rows.map(({ names, before, change }) => [names[0], before, change])).toEqual([
      ['a', '7', '-2'],
      ['new', '0', '1'],
      ['b', '2', null],
    ]);
    expect(breakdownOf(now, null, 9).rows.map(({ change }) => change)).toEqual([null, null, null]);
  });
});

describe('the time before', () => {
  it.each([
    ['a month', '2026-10-01', '2026-11-01', '2026-09-01', '2026-10-01'],
    ['the first month of a year', '2026-01-01', '2026-02-01', '2025-12-01', '2026-01-01'],
    ['a quarter', '2026-04-01', '2026-07-01', '2026-01-01', '2026-04-01'],
    ['some days', '2026-10-05', '2026-10-12', '2026-09-28', '2026-10-05'],
    ['the first days of a month', '2026-10-01', '2026-10-11', '2026-09-21', '2026-10-01'],
  ])('%s', (_, from, to, first, end) => {
    expect(spanBefore({ from, to })).toEqual({ from: first, to: end });
  });

  it('is each of its days, and none of what is empty', () => {
    expect(daysOfSpan({ from: '2026-02-27', to: '2026-03-02' })).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
    expect(daysOfSpan({ from: '2026-03-02', to: '2026-03-02' })).toEqual([]);
  });
});
