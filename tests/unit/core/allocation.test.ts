import { describe, expect, it } from 'vitest';
import { formatDecimal, parseDecimal, ZERO } from '../../../src/core/decimal.js';
import {
  compileRules,
  matchesGlob,
  problemsOfRules,
  splitAmount,
  splitShared,
  UNALLOCATED,
  type Allocatable,
  type AllocationRule,
} from '../../../src/core/cost/allocation.js';

const record = (rest: Partial<Allocatable> = {}): Allocatable => ({
  provider: 'AWS',
  account: null,
  subAccount: null,
  resource: null,
  namespace: null,
  service: null,
  sku: null,
  tags: null,
  ...rest,
});

describe('patterns', () => {
  it.each([
    ['*', '', true],
    ['*', 'abc', true],
    ['a*c', 'abbbc', true],
    ['a*c', 'abbb', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*-gpu-*', 'team-gpu-7', true],
    ['a*b*c', 'axxbyybzc', true],
    ['', '', true],
    ['', 'a', false],
    ['A', 'a', false],
    ['a.c', 'abc', false],
    ['**a', 'ba', true],
  ])('%j on %j: %s', (pattern, text, expected) => expect(matchesGlob(pattern, text)).toBe(expected));

  it('stays linear on a pattern that makes a backtracking matcher hang', () => {
    expect(matchesGlob('a*'.repeat(200) + 'b', 'a'.repeat(20_000))).toBe(false);
  });
});

describe('rules', () => {
  const rules: AllocationRule[] = [
    { match: { provider: 'aws', tag: { key: 'team', value: 'ml-*' } }, team: 'research' },
    { match: { namespace: 'prod', resource: 'serve-*' }, team: 'serving' },
    { match: { account: '111' }, team: 'platform' },
    { match: { sku: 'nat-gateway' }, split: { by: 'fixed', shares: { serving: '0.7', research: '0.3' } } },
    { match: { service: 'Support' }, split: { by: 'use' } },
  ];
  const assign = compileRules(rules);

  it('give a record to the first that matches', () => {
    expect(assign(record({ tags: { team: 'ml-vision' }, account: '111' }))).toEqual({
      kind: 'team',
      team: 'research',
      rule: 0,
    });
    expect(assign(record({ tags: { team: 'web' }, account: '111' }))).toEqual({
      kind: 'team',
      team: 'platform',
      rule: 2,
    });
    expect(assign(record({ namespace: 'prod', resource: 'serve-1' }))).toMatchObject({ team: 'serving' });
    expect(assign(record({ namespace: 'prod' }))).toMatchObject({ team: UNALLOCATED, rule: null });
    expect(assign(record({ provider: 'Oracle', tags: { team: 'ml-vision' } }))).toMatchObject({ team: UNALLOCATED });
    expect(assign(record({ service: 'Support' }))).toEqual({ kind: 'use', of: null, rule: 4 });
  });

  it('do not mistake one combination of values for another, nor a prototype for a tag', () => {
    const both = compileRules([
      { match: { account: 'a', subAccount: 'b' }, team: 'x' },
      { match: { tag: { key: 'constructor', value: '*' } }, team: 'y' },
    ]);
    expect(both(record({ account: 'a1:b', subAccount: null }))).toMatchObject({ team: UNALLOCATED });
    expect(both(record({ account: 'a', subAccount: 'b' }))).toMatchObject({ team: 'x' });
    expect(both(record({ account: 'a', subAccount: 'c', tags: {} }))).toMatchObject({ team: UNALLOCATED });
  });

  it('take everything with an empty match', () =>
    expect(compileRules([{ match: {}, team: 'all' }])(record())).toMatchObject({ team: 'all' }));

  it('name every problem', () => {
    const bad = [
      { match: { provider: '', cluster: 'x' }, team: ' ' },
      { match: { tag: { key: '', value: 'v' } }, split: { by: 'fixed', shares: { a: '0.5', b: '0.4' } } },
      { match: {}, split: { by: 'fixed', shares: { a: '-1', b: 'half' } } },
      { match: {}, split: { by: 'use', of: ['a', 'a'] } },
      { match: {} },
      { match: { sku: 'x'.repeat(501) }, team: 'a', split: { by: 'use' } },
    ] as unknown as AllocationRule[];
    expect(problemsOfRules(bad).map(({ path }) => path)).toEqual([
      'rules/0/match/cluster',
      'rules/0/match/provider',
      'rules/0/team',
      'rules/1/match/tag/key',
      'rules/1/split/shares',
      'rules/2/split/shares/a',
      'rules/2/split/shares/b',
      'rules/3/split/of',
      'rules/4/team',
      'rules/5/match/sku',
      'rules/5/team',
    ]);
    expect(() => compileRules(bad)).toThrow('11 problem(s)');
  });
});

describe('shared costs', () => {
  const only = (rule: AllocationRule) => compileRules([rule])(record());
  const thirds = only({ match: {}, split: { by: 'fixed', shares: { c: '1', a: '1', b: '1' } } });

  it('split by fixed shares to the nano, the odd one to the earlier name', () => {
    expect(splitShared(100n, thirds, new Map())).toEqual([
      { team: 'a', nanos: 34n },
      { team: 'b', nanos: 33n },
      { team: 'c', nanos: 33n },
    ]);
    expect(splitShared(-100n, thirds, new Map())).toEqual([
      { team: 'a', nanos: -34n },
      { team: 'b', nanos: -33n },
      { team: 'c', nanos: -33n },
    ]);
    const uneven = only({ match: {}, split: { by: 'fixed', shares: { a: '0.125', b: '0.875', none: '0' } } });
    expect(splitShared(8n, uneven, new Map())).toEqual([
      { team: 'a', nanos: 1n },
      { team: 'b', nanos: 7n },
    ]);
  });

  it('split by use, of all or of some', () => {
    const use = new Map([
      ['a', 10n],
      ['b', 30n],
      ['c', 60n],
    ]);
    expect(splitShared(1000n, only({ match: {}, split: { by: 'use' } }), use)).toEqual([
      { team: 'a', nanos: 100n },
      { team: 'b', nanos: 300n },
      { team: 'c', nanos: 600n },
    ]);
    expect(splitShared(1000n, only({ match: {}, split: { by: 'use', of: ['b', 'a', 'z'] } }), use)).toEqual([
      { team: 'a', nanos: 250n },
      { team: 'b', nanos: 750n },
    ]);
  });

  it('stay unallocated where nobody used anything', () => {
    expect(splitShared(7n, only({ match: {}, split: { by: 'use', of: ['z'] } }), new Map([['a', 1n]]))).toEqual([
      { team: UNALLOCATED, nanos: 7n },
    ]);
    expect(splitShared(7n, { kind: 'team', team: 'a', rule: null }, new Map())).toEqual([{ team: 'a', nanos: 7n }]);
  });

  it('splits an amount alike, with however many decimals it is written', () => {
    const uneven = only({ match: {}, split: { by: 'fixed', shares: { a: '0.6', b: '0.4' } } });
    const shares = (text: string): Record<string, string> =>
      Object.fromEntries(
        splitAmount(parseDecimal(text) ?? ZERO, uneven, new Map()).map(({ team, amount }) => [
          team,
          formatDecimal(amount),
        ]),
      );
    expect(shares('1')).toEqual({ a: '0.600000000', b: '0.400000000' });
    expect(shares('1.00')).toEqual(shares('1'));
    expect(shares('0.0000000000001')).toEqual({ a: '0.0000000000001', b: '0.0000000000000' });
  });
});
