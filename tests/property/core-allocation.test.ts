import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileRules, matchesGlob, previewChange, splitShared, UNALLOCATED, type Allocatable, type AllocatableSum, type AllocationRule, type Split,
} from '../../src/core/allocation.js';
import { splitByLargestRemainder } from '../../src/core/money.js';

const TEAMS = ['a', 'b', 'c'];
const word = fc.constantFrom('x', 'y', 'xy', 'x-1', '');
const field = fc.option(word, { freq: 3 });
const allocatable: fc.Arbitrary<Allocatable> = fc.record({
  provider: fc.constantFrom('AWS', 'Oracle'), account: field, subAccount: field, resource: field, namespace: field, service: field, sku: field,
  tags: fc.option(fc.dictionary(fc.constantFrom('team', 'env'), word)),
});
const pattern = fc.constantFrom('x', 'y', 'x*', '*', '?', '*1', 'x-?');
const match = fc.record({ account: pattern, namespace: pattern, sku: pattern, tag: fc.record({ key: fc.constantFrom('team', 'env'), value: pattern }) }, { requiredKeys: [] });
const split = fc.constantFrom<Split>(
  { by: 'fixed', shares: { a: '0.3', b: '0.7' } }, { by: 'fixed', shares: { a: '1', b: '1', c: '1' } }, { by: 'use' }, { by: 'use', of: ['b', 'c'] });
const rule: fc.Arbitrary<AllocationRule> = fc.oneof(
  fc.tuple(match, fc.constantFrom(...TEAMS)).map(([one, team]): AllocationRule => ({ match: one, team })),
  fc.tuple(match, split).map(([one, how]): AllocationRule => ({ match: one, split: how })),
);
const rules = fc.array(rule, { maxLength: 6 });
const sums: fc.Arbitrary<AllocatableSum[]> = fc.array(
  fc.tuple(allocatable, fc.constantFrom('USD', 'CNY'), fc.bigInt(-1000n, 1_000_000n), fc.bigInt(0n, 1000n))
    .map(([record, currency, nanos, unpricedQuantity]) => ({ ...record, currency, nanos, unpricedQuantity })), { maxLength: 12 });
const total = (amounts: readonly { nanos: bigint }[]): bigint => amounts.reduce((sum, { nanos }) => sum + nanos, 0n);

describe('largest remainder', () => {
  it('sums to the whole, each part within one of its exact share', () => {
    fc.assert(fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.array(fc.bigInt(0n, 10n ** 12n), { minLength: 1, maxLength: 20 }), (whole, weights) => {
      const sum = weights.reduce((a, b) => a + b, 0n);
      fc.pre(sum > 0n);
      const parts = splitByLargestRemainder(whole, weights);
      expect(parts.reduce((a, b) => a + b, 0n)).toBe(whole);
      parts.forEach((part, index) => {
        const distance = part * sum - whole * (weights[index] ?? 0n);
        expect(distance < sum && distance > -sum).toBe(true);
      });
    }));
  });
});

describe('patterns', () => {
  it('match as the regular expression with the same meaning', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '$'), maxLength: 8 });
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 6 });
    fc.assert(fc.property(glob, text, (one, value) => {
      const source = one.replace(/[.$]/g, '\\$&').replaceAll('*', '[^]*').replaceAll('?', '[^]');
      expect(matchesGlob(one, value)).toBe(new RegExp(`^${source}$`).test(value));
    }), { numRuns: 1000 });
  });
});

describe('allocation', () => {
  it('gives every amount to someone, whole', () => {
    fc.assert(fc.property(rules, allocatable, fc.bigInt(-(10n ** 12n), 10n ** 12n), fc.dictionary(fc.constantFrom(...TEAMS, UNALLOCATED), fc.bigInt(0n, 1000n)), (list, record, nanos, use) => {
      const shares = splitShared(nanos, compileRules(list)(record), new Map(Object.entries(use)));
      expect(total(shares)).toBe(nanos);
      expect(shares.length).toBeGreaterThan(0);
    }));
  });

  it('answers what the first matching rule alone answers, remembered or not', () => {
    fc.assert(fc.property(rules, fc.array(allocatable, { maxLength: 8 }), (list, records) => {
      const assign = compileRules(list);
      for (const record of [...records, ...records]) {
        const first = list.findIndex((one) => compileRules([one])(record).rule !== null);
        expect(assign(record).rule).toBe(first === -1 ? null : first);
      }
    }));
  });

  it('does not depend on the order of rules that no record can share', () => {
    const distinct = fc.uniqueArray(fc.constantFrom('x', 'y', 'xy', 'x-1'), { minLength: 1 });
    fc.assert(fc.property(distinct, allocatable, (accounts, record) => {
      const list: AllocationRule[] = accounts.map((account, index) => ({ match: { account }, team: TEAMS[index % 3] ?? 'a' }));
      const team = (assigned: ReturnType<ReturnType<typeof compileRules>>) => (assigned.kind === 'team' ? assigned.team : null);
      const byAccount = new Map<string, string | undefined>(accounts.map((account, index) => [account, TEAMS[index % 3]]));
      expect(team(compileRules(list)(record))).toBe(byAccount.get(record.account ?? '?') ?? UNALLOCATED);
      expect(team(compileRules([...list].reverse())(record))).toBe(team(compileRules(list)(record)));
    }));
  });

  it('a preview accounts for each team to the nano, and undoes itself', () => {
    fc.assert(fc.property(rules, rules, sums, (before, after, history) => {
      const moves = previewChange(before, after, history);
      const back = previewChange(after, before, history);
      const net = (list: typeof moves, team: string) => total(list.filter(({ to }) => to === team)) - total(list.filter(({ from }) => from === team));
      for (const currency of ['USD', 'CNY']) {
        const [there, home] = [moves, back].map((list) => list.filter((move) => move.currency === currency));
        for (const team of [...TEAMS, UNALLOCATED]) {
          expect(net(there ?? [], team)).toBe(held(after, history, team, currency) - held(before, history, team, currency));
          expect(net(there ?? [], team)).toBe(-net(home ?? [], team));
        }
      }
    }));
  });
});

/** What a team holds of a history under rules, by the definition: direct use first, then each amount split by it. */
function held(list: AllocationRule[], history: AllocatableSum[], team: string, currency: string): bigint {
  const assign = compileRules(list);
  const own = history.filter((sum) => sum.currency === currency);
  const use = new Map<string, bigint>();
  for (const sum of own) {
    const assigned = assign(sum);
    if (assigned.kind === 'team' && sum.nanos > 0n) use.set(assigned.team, (use.get(assigned.team) ?? 0n) + sum.nanos);
  }
  return total(own.flatMap((sum) => splitShared(sum.nanos, assign(sum), use)).filter((share) => share.team === team));
}
