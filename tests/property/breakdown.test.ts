/**
 * What costs are made of: rows and rest sum to the total in every currency, changes are exact, series sum to the days,
 * resources' shares to what they are shares of; and the time before is as long, or as many months.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costsByResource, ResourceWeights } from '../../src/core/cost/by-resource.js';
import { addDecimal, compareDecimal, parseDecimal, ZERO, type Decimal } from '../../src/core/decimal.js';
import {
  breakdownOf,
  daysOfSpan,
  largestOf,
  onlyOf,
  seriesOf,
  spanBefore,
  type GroupSum,
} from '../../src/core/report/breakdown.js';
import { formatDay, parseDay } from '../../src/core/time.js';
import { metered } from '../support/records.js';

const decimal = fc
  .tuple(fc.bigInt(-(10n ** 15n), 10n ** 15n), fc.integer({ min: 0, max: 12 }))
  .map(([unscaled, scale]): Decimal => ({ unscaled, scale }));
const sums = fc.uniqueArray(
  fc.record({
    names: fc.tuple(fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e')), fc.option(fc.constantFrom('x', 'y'))),
    currency: fc.constantFrom('USD', 'EUR'),
    cost: fc.option(decimal),
    parts: fc.option(fc.bigInt(0n, 10n ** 12n)),
    unpriced: fc.bigInt(0n, 10n ** 9n),
  }),
  { selector: ({ names, currency }) => JSON.stringify([names, currency]), maxLength: 30 },
);

const total = (texts: readonly (string | null)[]): Decimal =>
  texts.reduce((sum, text) => (text === null ? sum : addDecimal(sum, parseDecimal(text) ?? ZERO)), ZERO);
const totalOf = (all: readonly GroupSum[], currency: string): Decimal =>
  all.reduce((sum, one) => (one.currency === currency && one.cost !== null ? addDecimal(sum, one.cost) : sum), ZERO);
const same = (a: Decimal, b: Decimal): void => expect(compareDecimal(a, b)).toBe(0);

describe('a breakdown', () => {
  it('has rows and a rest that sum to the total, now and before, in every currency', () => {
    fc.assert(
      fc.property(sums, sums, fc.integer({ min: 1, max: 6 }), (now, before, most) => {
        const { rows, rest } = breakdownOf(now, before, most);
        for (const currency of ['USD', 'EUR']) {
          const own = [...rows, ...rest].filter((row) => row.currency === currency);
          same(total(own.map(({ cost }) => cost)), totalOf(now, currency));
          same(total(own.map((row) => row.before)), totalOf(before, currency));
          expect(rows.filter((row) => row.currency === currency).length).toBeLessThanOrEqual(most);
        }
        for (const row of rows) {
          if (row.cost === null || row.before === null) expect(row.change).toBeNull();
          else same(total([row.before, row.change]), total([row.cost]));
        }
      }),
    );
  });

  it('never takes what has no price for nothing', () => {
    const group = { names: ['a'], currency: 'USD', cost: null, parts: 7n, unpriced: 7n };
    const priced = { ...group, cost: { unscaled: 5n, scale: 0 }, unpriced: 0n };
    expect(breakdownOf([group], [priced], 9).rows).toMatchObject([
      { cost: null, before: '5', change: null, share: null },
    ]);
    // What was not there cost nothing; nobody asked is not known.
    expect(breakdownOf([priced], [], 9).rows).toMatchObject([{ cost: '5', before: '0', change: '5', share: 1 }]);
    expect(breakdownOf([priced], null, 9).rows).toMatchObject([{ cost: '5', before: null, change: null }]);
  });

  it('has series that sum to each day, with the small ones as one', () => {
    const days = daysOfSpan({ from: '2026-11-01', to: '2026-11-05' });
    const daily = fc.array(
      fc.record({
        day: fc.constantFrom(...days),
        name: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e')),
        currency: fc.constant('USD'),
        cost: fc.option(decimal),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(daily, fc.integer({ min: 1, max: 4 }), (all, most) => {
        const groups = largestOf(all, most);
        const series = seriesOf(onlyOf(all, groups), days, groups);
        expect(series.length).toBeLessThanOrEqual(most + 1);
        days.forEach((day, at) => {
          const known = all.filter((one) => one.day === day && one.cost !== null);
          same(
            total(series.map(({ values }) => values[at] ?? null)),
            total(known.map(({ cost }) => decimalText(cost))),
          );
        });
      }),
    );
    const unpriced = [{ day: '2026-11-02', name: { value: 'a' }, currency: 'USD', cost: null }];
    expect(seriesOf(unpriced, days, [{ name: 'a', currency: 'USD' }])[0]?.values).toEqual(['0', null, '0', '0']);
  });
});

const decimalText = (one: Decimal | null): string | null =>
  one === null ? null : `${one.unscaled < 0n ? '-' : ''}${digits(one)}`;
const digits = ({ unscaled, scale }: Decimal): string => {
  const text = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
};

describe('the time before', () => {
  it('is of as many days and ends where the time begins', () => {
    fc.assert(
      fc.property(fc.integer({ min: 18_000, max: 30_000 }), fc.integer({ min: 1, max: 400 }), (first, length) => {
        const [from, to] = [formatDay(first), formatDay(first + length)];
        const before = spanBefore({ from, to });
        expect(before.to).toBe(from);
        if (!(from.endsWith('-01') && to.endsWith('-01'))) expect(parseDay(before.from)).toBe(first - length);
      }),
    );
  });

  it('is of as many days as have begun while the time runs', () => {
    const on = (day: string): number => (parseDay(day) ?? 0) + 1;
    expect([
      spanBefore({ from: '2026-11-01', to: '2026-12-01' }, on('2026-11-23')),
      spanBefore({ from: '2026-03-01', to: '2026-04-01' }, on('2026-03-31')),
      // February is over after 28 days.
      spanBefore({ from: '2026-03-01', to: '2026-04-01' }, on('2026-03-30')),
      spanBefore({ from: '2026-11-02', to: '2026-11-30' }, on('2026-11-03')),
      spanBefore({ from: '2026-12-01', to: '2027-01-01' }, on('2026-11-23')),
      // The month so far, and days of it that are over.
      spanBefore({ from: '2026-11-01', to: '2026-11-24' }, on('2026-11-23')),
      spanBefore({ from: '2026-03-01', to: '2026-03-31' }, on('2026-03-30')),
      spanBefore({ from: '2026-11-01', to: '2026-11-08' }, on('2026-11-23')),
    ]).toEqual([
      { from: '2026-10-01', to: '2026-10-24' },
      { from: '2026-02-01', to: '2026-03-01' },
      { from: '2026-02-01', to: '2026-03-01' },
      { from: '2026-10-31', to: '2026-11-02' },
      { from: '2026-11-01', to: '2026-12-01' },
      { from: '2026-10-01', to: '2026-10-24' },
      { from: '2026-02-01', to: '2026-03-01' },
      { from: '2026-10-25', to: '2026-11-01' },
    ]);
  });

  it('is of as many months where the time is of whole months', () => {
    expect([
      spanBefore({ from: '2026-03-01', to: '2026-04-01' }),
      spanBefore({ from: '2026-01-01', to: '2026-04-01' }),
      spanBefore({ from: '2026-03-01', to: '2026-03-16' }),
    ]).toEqual([
      { from: '2026-02-01', to: '2026-03-01' },
      { from: '2025-10-01', to: '2026-01-01' },
      { from: '2026-02-14', to: '2026-03-01' },
    ]);
  });
});

describe('costs by resource', () => {
  const HOUR = 3_600_000;
  const record = (resource: string | null, hours: number, start = 0): ReturnType<typeof metered> =>
    metered('r', { resource, start: start * HOUR, end: (start + hours) * HOUR, gpuParts: 7000 });

  it('are shares of GPU time within the time, and sum to what they are shares of', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.option(fc.constantFrom('i-1', 'i-2', 'i-3')), fc.integer({ min: 1, max: 30 })), {
          maxLength: 9,
        }),
        decimal,
        (all, cost) => {
          const weights = new ResourceWeights({ start: 0, end: 24 * HOUR });
          for (const [resource, hours] of all) weights.add('lab', '1', record(resource, hours));
          const rows = costsByResource([{ team: 'lab', dimension: '1', currency: 'USD', cost }], weights);
          same(
            rows.reduce((sum, row) => addDecimal(sum, row.cost ?? ZERO), ZERO),
            cost,
          );
        },
      ),
    );
  });

  it('count only what lies in the time, and leave without a resource what no record names', () => {
    const weights = new ResourceWeights({ start: 0, end: 24 * HOUR });
    weights.add('lab', '1', record('i-1', 2, 23));
    weights.add('lab', '1', record('i-2', 3));
    weights.add('lab', '1', record('i-3', 3, 24));
    const cost = { unscaled: 80n, scale: 0 };
    const rows = costsByResource(
      [
        { team: 'lab', dimension: '1', currency: 'USD', cost },
        { team: 'lab', dimension: '2', currency: 'USD', cost: { unscaled: 7n, scale: 0 } },
      ],
      weights,
    );
    expect(rows.map(({ resource, cost: share }) => [resource, decimalText(share)])).toEqual([
      ['i-2', '60'],
      ['i-1', '20'],
      [null, '7'],
    ]);
  });
});
