/** The cost of each resource: by GPU time, else by what was billed, else evenly; and what has no resource or price. */
import { describe, expect, it } from 'vitest';
import { costsByResource, ResourceWeights, type ResourceSum } from '../../../src/core/cost/by-resource.js';
import { formatDecimal, parseDecimal } from '../../../src/core/decimal.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { billed, HOUR, metered, MONDAY } from '../../support/records.js';

const SPAN = { start: MONDAY, end: MONDAY + 2 * HOUR };
const sum = (cost: string | null, over: Partial<ResourceSum> = {}): ResourceSum => ({
  team: 'lab',
  dimension: 'd',
  currency: 'USD',
  cost: cost === null ? null : parseDecimal(cost),
  ...over,
});
const used = (resource: string | null, hours: number, gpuParts = 1): UsageRecord =>
  metered(`${resource}`, { resource, end: MONDAY + hours * HOUR, gpuParts });
const charged = (resource: string, amount: string): UsageRecord => billed(resource, amount, { resource });

function costs(records: readonly UsageRecord[], sums: readonly ResourceSum[]): [string | null, string | null][] {
  const weights = new ResourceWeights(SPAN);
  for (const record of records) weights.add('lab', 'd', record);
  return costsByResource(sums, weights).map(({ resource, cost }) => [resource, cost && formatDecimal(cost)]);
}

describe('what a resource costs', () => {
  it('is its share of the GPU time within the span, the dearest first', () => {
    expect(costs([used('a', 1), used('b', 9), used('c', 1, 0)], [sum('9.00')])).toEqual([
      ['b', '6.00'],
      ['a', '3.00'],
      ['c', '0.00'],
    ]);
  });

  it('is by GPU time where any of them has some, whatever was billed', () => {
    expect(costs([used('a', 1), charged('b', '90')], [sum('9.00')])).toEqual([
      ['a', '9.00'],
      ['b', '0.00'],
    ]);
  });

  it('is its share of what was billed where nobody metered, a credit as much as a charge', () => {
    expect(costs([charged('a', '1.5'), charged('b', '-3')], [sum('9.00')])).toEqual([
      ['b', '6.00'],
      ['a', '3.00'],
    ]);
  });

  it('is even where they weigh nothing, by name', () => {
    expect(costs([charged('b', '0'), charged('a', '0')], [sum('1.00')])).toEqual([
      ['a', '0.50'],
      ['b', '0.50'],
    ]);
  });

  it('is unknown without a price, and stands last', () => {
    const both = [sum('4.00'), sum(null, { currency: 'EUR' })];
    expect(costs([used('b', 1), used('a', 1)], both)).toEqual([
      ['a', '2.00'],
      ['b', '2.00'],
      ['a', null],
      ['b', null],
    ]);
  });

  it('is that of no resource where no record names one, or there is no record', () => {
    expect(costs([], [sum('4.00')])).toEqual([[null, '4.00']]);
    expect(costs([used(null, 1)], [sum('4.00')])).toEqual([[null, '4.00']]);
    expect(costs([metered('later', { start: SPAN.end, end: SPAN.end + HOUR })], [sum('4.00')])).toEqual([
      [null, '4.00'],
    ]);
    expect(costs([], [])).toEqual([]);
  });

  it('adds what several sums have of it', () => {
    expect(costs([used('a', 1)], [sum('4.00'), sum('1.00')])).toEqual([['a', '5.00']]);
  });
});
