/** Which lines of a bill no meter covers, though their SKU is set aside: by the names of their resources. */
import { describe, expect, it } from 'vitest';
import { accountKey } from '../../../src/core/bill/counting.js';
import { MeteredResources, SetAside, unmeteredLines, type ResourceLine } from '../../../src/core/bill/unmetered.js';
import { DAY_MS } from '../../../src/core/time.js';

const HOUR = 100 * DAY_MS;
const line = (resource: string, units: bigint, over: Partial<ResourceLine> = {}): ResourceLine => ({
  team: 'red',
  hour: HOUR,
  dimension: 'd',
  until: null,
  resource,
  billed: { unscaled: units, scale: 0 },
  ...over,
});
/** The dimension `d` is set aside for the meter `m` on two days; what that meter names on each. */
function counted(lines: readonly ResourceLine[], first: readonly (string | null)[], second = first) {
  const aside = new SetAside();
  const metered = new MeteredResources();
  [first, second].forEach((names, n) => {
    const day = HOUR + n * DAY_MS;
    aside.add('d', day, 'm', day);
    for (const name of names) metered.add('m', day, name);
  });
  return unmeteredLines(lines, aside, metered).map(({ billed: { unscaled }, ...rest }) => [unscaled, rest.hour - HOUR]);
}

describe('a line that is set aside', () => {
  it('counts where its resource is not metered, and others of its names are', () => {
    expect(counted([line('i-1', 1n), line('i-2', 2n)], ['i-1'])).toEqual([[2n, 0]]);
    expect(counted([line('i-1', 1n), line('i-2', 2n)], ['i-1', 'i-2'])).toEqual([]);
  });

  it('does not where the meter calls its resources otherwise, or not all by name, or nothing is known', () => {
    expect(counted([line('i-1', 1n), line('i-2', 2n)], ['pod-1'])).toEqual([]);
    expect(counted([line('i-1', 1n), line('i-2', 2n)], ['i-1', null])).toEqual([]);
    expect(counted([line('i-1', 1n), line('i-2', 2n)], [])).toEqual([]);
  });

  it('must be unmetered on each of its days', () => {
    const long = line('i-2', 2n, { until: HOUR + 2 * DAY_MS });
    expect(counted([line('i-1', 1n), long], ['i-1'])).toEqual([[2n, 0]]);
    expect(counted([line('i-1', 1n), long], ['i-1'], ['i-1', 'i-2'])).toEqual([]);
    expect(counted([line('i-1', 1n), { ...long, until: HOUR + DAY_MS }], ['i-1'], ['i-1', 'i-2'])).toEqual([[2n, 0]]);
  });

  it('is summed with its like, and with no other', () => {
    const lines = [line('i-1', 1n), line('i-2', 2n), line('i-3', 3n), line('i-4', 4n, { hour: HOUR + DAY_MS })];
    expect(counted(lines, ['i-1'])).toEqual([
      [5n, 0],
      [4n, DAY_MS],
    ]);
  });
});

it.each([
  ['abc', ' ABC '],
  ['123', '000123'],
  ['0', '0'],
  ['0', '000'],
  ['10', '10'],
  ['0a1', '0A1'],
  ['12-34', '/subscriptions/12-34'],
  ['7', '/providers/Microsoft.Billing/billingAccounts/007'],
  ['x/subscriptions/12', 'x/subscriptions/12'],
])('an account has the key %s, spelled %j', (key, name) => expect(accountKey(name)).toBe(key));
