import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileRules,
  matchesGlob,
  splitShared,
  UNALLOCATED,
  type Allocatable,
  type AllocationRule,
  type Split,
} from '../../src/core/cost/allocation.js';
import { splitByLargestRemainder } from '../../src/core/money.js';

const TEAMS = ['a', 'b', 'c'];
const word = fc.constantFrom('x', 'y', 'xy', 'x-1', '');
const field = fc.option(word, { freq: 3 });
const allocatable: fc.Arbitrary<Allocatable> = fc.record({
  provider: fc.constantFrom('AWS', 'Oracle'),
  account: field,
  subAccount: field,
  resource: field,
  namespace: field,
  service: field,
  sku: field,
  tags: fc.option(fc.dictionary(fc.constantFrom('team', 'env'), word)),
});
const pattern = fc.constantFrom('x', 'y', 'x*', '*', '?', '*1', 'x-?');
const match = fc.record(
  {
    account: pattern,
    namespace: pattern,
    sku: pattern,
    tag: fc.record({ key: fc.constantFrom('team', 'env'), value: pattern }),
  },
  { requiredKeys: [] },
);
const split = fc.constantFrom<Split>(
  { by: 'fixed', shares: { a: '0.3', b: '0.7' } },
  { by: 'fixed', shares: { a: '1', b: '1', c: '1' } },
  { by: 'use' },
  { by: 'use', of: ['b', 'c'] },
);
const rule: fc.Arbitrary<AllocationRule> = fc.oneof(
  fc.tuple(match, fc.constantFrom(...TEAMS)).map(([one, team]): AllocationRule => ({ match: one, team })),
  fc.tuple(match, split).map(([one, how]): AllocationRule => ({ match: one, split: how })),
);
const rules = fc.array(rule, { maxLength: 6 });
const total = (amounts: readonly { nanos: bigint }[]): bigint => amounts.reduce((sum, { nanos }) => sum + nanos, 0n);

describe('largest remainder', () => {
  it('sums to the whole, each part within one of its exact share', () => {
    fc.assert(
      fc.property(
        fc.bigInt(-(10n ** 20n), 10n ** 20n),
        fc.array(fc.bigInt(0n, 10n ** 12n), { minLength: 1, maxLength: 20 }),
        (whole, weights) => {
          const sum = weights.reduce((a, b) => a + b, 0n);
          fc.pre(sum > 0n);
          const parts = splitByLargestRemainder(whole, weights);
          expect(parts.reduce((a, b) => a + b, 0n)).toBe(whole);
          parts.forEach((part, index) => {
            const distance = part * sum - whole * (weights[index] ?? 0n);
            expect(distance < sum && distance > -sum).toBe(true);
          });
        },
      ),
    );
  });
});

describe('patterns', () => {
  it('match as the regular expression with the same meaning', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '$'), maxLength: 8 });
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 6 });
    fc.assert(
      fc.property(glob, text, (one, value) => {
        const source = one.replace(/[.$]/g, '\\$&').replaceAll('*', '[^]*').replaceAll('?', '[^]');
        expect(matchesGlob(one, value)).toBe(new RegExp(`^${source}$`).test(value));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('allocation', () => {
  it('gives every amount to someone, whole', () => {
    fc.assert(
      fc.property(
        rules,
        allocatable,
        fc.bigInt(-(10n ** 12n), 10n ** 12n),
        fc.dictionary(fc.constantFrom(...TEAMS, UNALLOCATED), fc.bigInt(0n, 1000n)),
        (list, record, nanos, use) => {
          const shares = splitShared(nanos, compileRules(list)(record), new Map(Object.entries(use)));
          expect(total(shares)).toBe(nanos);
          expect(shares.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('answers what the first matching rule alone answers, remembered or not', () => {
    fc.assert(
      fc.property(rules, fc.array(allocatable, { maxLength: 8 }), (list, records) => {
        const assign = compileRules(list);
        for (const record of [...records, ...records]) {
          const first = list.findIndex((one) => compileRules([one])(record).rule !== null);
          expect(assign(record).rule).toBe(first === -1 ? null : first);
        }
      }),
    );
  });

  it('does not depend on the order of rules that no record can share', () => {
    const distinct = fc.uniqueArray(fc.constantFrom('x', 'y', 'xy', 'x-1'), { minLength: 1 });
    fc.assert(
      fc.property(distinct, allocatable, (accounts, record) => {
        const list: AllocationRule[] = accounts.map((account, index) => ({
          match: { account },
          team: TEAMS[index % 3] ?? 'a',
        }));
        const team = (assigned: ReturnType<ReturnType<typeof compileRules>>) =>
          assigned.kind === 'team' ? assigned.team : null;
        const byAccount = new Map<string, string | undefined>(
          accounts.map((account, index) => [account, TEAMS[index % 3]]),
        );
        expect(team(compileRules(list)(record))).toBe(byAccount.get(record.account ?? '?') ?? UNALLOCATED);
        expect(team(compileRules([...list].reverse())(record))).toBe(team(compileRules(list)(record)));
      }),
    );
  });
});
