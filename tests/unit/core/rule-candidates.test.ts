/** Candidates for rules: each field by itself, the dearest first, and no value that a rule cannot name. */
import { expect, it } from 'vitest';
import { MOST_PATTERN_LENGTH } from '../../../src/core/cost/allocation.js';
import type { ResourceCost } from '../../../src/core/cost/by-resource.js';
import { candidateName, ruleCandidates } from '../../../src/core/cost/rule-candidates.js';
import { formatDecimal, parseDecimal } from '../../../src/core/decimal.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { metered } from '../../support/records.js';

const NOTHING = { provider: '', account: null, sku: '', region: null };
const costs = (cost: string | null, over: Partial<UsageRecord>, rest: Partial<ResourceCost> = {}): ResourceCost => ({
  resource: candidateName(metered('r', { ...NOTHING, ...over })),
  team: 'unallocated',
  currency: 'USD',
  cost: cost === null ? null : parseDecimal(cost),
  parts: null,
  ...rest,
});
const found = (all: readonly ResourceCost[], most = 9): string[] =>
  ruleCandidates(all, most).map(({ match, currency, cost, parts }) =>
    [JSON.stringify(match), cost === null ? 'unknown' : formatDecimal(cost), currency, parts ?? 'none'].join(' '),
  );

it('a record counts in every field that it states, tags first', () => {
  expect(found([costs('2', { namespace: 'ml', sku: 'p5', tags: { job: 'x' } })])).toEqual([
    '{"tag":{"key":"job","value":"x"}} 2 USD none',
    '{"namespace":"ml"} 2 USD none',
    '{"sku":"p5"} 2 USD none',
  ]);
  expect(found([])).toEqual([]);
  expect(found([costs('2', { sku: 'p5' }, { resource: null })])).toEqual([]);
});

it('values are summed by currency, the dearest first, at most so many of each field', () => {
  const all = [
    costs('2', { sku: 'a' }, { parts: 5n }),
    costs('5', { sku: 'b', namespace: 'n' }),
    costs('4', { sku: 'a' }, { parts: 6n }),
    costs('1', { sku: 'a' }, { currency: 'EUR' }),
  ];
  expect(found(all)).toEqual([
    '{"namespace":"n"} 5 USD none',
    '{"sku":"a"} 6 USD 11',
    '{"sku":"b"} 5 USD none',
    '{"sku":"a"} 1 EUR none',
  ]);
  expect(found(all, 1)).toEqual(['{"namespace":"n"} 5 USD none', '{"sku":"a"} 6 USD 11']);
});

it('those without a price stand last, by their GPU time', () => {
  const all = [
    costs(null, { sku: 'a' }),
    costs(null, { sku: 'b' }, { parts: 1n }),
    costs(null, { sku: 'c' }, { parts: 2n }),
    costs('0', { sku: 'd' }),
  ];
  const order = ['c', 'b', 'a'].map((sku) => expect.stringContaining(`{"sku":"${sku}"} unknown`));
  expect(found(all)).toEqual(['{"sku":"d"} 0 USD none', ...order]);
  expect(found([...all].reverse())).toEqual(['{"sku":"d"} 0 USD none', ...order]);
});

it('a value longer than a pattern may be is no candidate, nor is an empty tag', () => {
  const long = 'x'.repeat(MOST_PATTERN_LENGTH);
  expect(found([costs('1', { namespace: long })])).toHaveLength(1);
  expect(found([costs('1', { namespace: `${long}x`, tags: { a: '', [`${long}x`]: 'b', c: `${long}x` } })])).toEqual([]);
});

it('a record is named by its tags in any order, fifty of them at most', () => {
  const named = (tags: Record<string, string>): string => candidateName(metered('r', { tags }));
  expect(named({ b: '2', a: '1' })).toBe(named({ a: '1', b: '2' }));
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`t${100 + n}`, 'v']));
  const { t150: _, ...fifty } = many;
  expect(named(many)).toBe(named(fifty));
  expect(named(fifty)).toContain('t149');
});
