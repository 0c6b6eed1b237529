/** Whose bill metered usage meets, and when a bill is final: against the rule told anew, instant by instant. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BillOutline,
  claimsOf,
  stateOf,
  type BilledAccounts,
  type BillFacts,
  type MeterKey,
} from '../../src/core/bill/counting.js';
import { DAY_MS } from '../../src/core/time.js';
import { billed, HOUR, MONDAY } from '../support/records.js';

const name = fc.constantFrom('', 'p1', 'p2', 'l1', 'l2');
const key: fc.Arbitrary<MeterKey> = fc.record({ account: name, subAccount: name });
const bill: fc.Arbitrary<BilledAccounts> = fc
  .tuple(fc.constantFrom('', 'p1', 'p2'), fc.subarray(['l1', 'l2', 'l3']), fc.nat(5), fc.integer({ min: 1, max: 4 }))
  .map(([account, names, start, length]) => ({ account, subAccounts: new Set(names), start, end: start + length }));

/** Undefined: of no bill; null: it cannot be told. */
function told(
  { account, subAccount }: MeterKey,
  bills: readonly BilledAccounts[],
  at: number,
): string | null | undefined {
  const there = bills.filter(({ start, end }) => start <= at && at < end);
  const payersNaming = (sub: string) => [...new Set(there.filter((b) => b.subAccounts.has(sub)).map((b) => b.account))];
  const payers = [...new Set(there.map((b) => b.account))];
  if (payers.includes(account)) return account;
  if (account === '' && payers.length === 1) return payers[0];
  const naming = payersNaming(account).length > 0 ? payersNaming(account) : payersNaming(subAccount);
  if (naming.length > 0) return naming.length === 1 ? naming[0] : null;
  if (payers.includes('')) return '';
  return account === '' && payers.length > 1 ? null : undefined;
}

describe('claims', () => {
  it('say of every key and instant what the rule says, once, whatever the order of bills and keys', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 6 }), fc.array(bill, { maxLength: 6 }), (drawn, bills) => {
        const keys = [...new Map(drawn.map((one) => [JSON.stringify(one), one])).values()];
        const claims = claimsOf(keys, bills);
        for (const one of keys) {
          for (let at = 0; at < 10; at++) {
            const own = claims.filter(
              (c) => c.account === one.account && c.subAccount === one.subAccount && c.start <= at && at < c.end,
            );
            const expected = told(one, bills, at);
            expect(own.map((c) => c.bill)).toEqual(expected === undefined ? [] : [expected]);
          }
        }
        const text = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort();
        expect(text(claimsOf([...keys].reverse(), [...bills].reverse()))).toEqual(text(claims));
      }),
    );
  });
});

describe('a bill', () => {
  const facts: fc.Arbitrary<BillFacts> = fc.record({
    periodEnd: fc.nat(20),
    deliveredAt: fc.nat(30),
    isFinalBySource: fc.boolean(),
    hasUsage: fc.boolean(),
    hasRejects: fc.boolean(),
  });

  it('once final stays so as time goes by, and becomes so at the instant that it names and not before', () => {
    fc.assert(
      fc.property(facts, fc.nat(15), fc.nat(60), (one, settling, now) => {
        const { state, finalAt } = stateOf(one, settling, now);
        if (state === 'final') {
          expect(one.hasUsage && !one.hasRejects).toBe(true);
          expect(stateOf(one, settling, now + 1).state).toBe('final');
        } else expect(state).toBe(now < one.periodEnd ? 'open' : 'settling');
        if (finalAt !== null) {
          expect(finalAt).toBeGreaterThan(now);
          expect(stateOf(one, settling, finalAt - 1).state).not.toBe('final');
          expect(stateOf(one, settling, finalAt).state).toBe('final');
        } else if (state !== 'final') expect(stateOf(one, settling, now + 1000).state).not.toBe('final');
      }),
    );
  });

  it('reaches the days of its usage lines and no other, whatever their order', () => {
    const line = fc.record({ from: fc.nat(200), hours: fc.constantFrom(0, 1, 5, 24, 30, 72), isUsage: fc.boolean() });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const records = lines.map(({ from, hours, isUsage }, n) =>
          billed(
            String(n),
            '1',
            { start: MONDAY + from * HOUR, end: MONDAY + (from + hours) * HOUR },
            { category: isUsage ? 'Usage' : 'Tax' },
          ),
        );
        const reachOf = (all: typeof records) => {
          const outline = new BillOutline();
          for (const record of all) outline.add(record);
          return outline.reach();
        };
        const reach = reachOf(records);
        expect(reachOf([...records].reverse())).toEqual(reach);
        for (let hour = 0; hour < 300; hour++) {
          const at = MONDAY + hour * HOUR;
          const isReached = records.some(({ start, end, charge }) => {
            if (charge?.category !== 'Usage') return false;
            if (end - start >= DAY_MS) return start <= at && at < end;
            const last = Math.max(start, end - 1);
            return (
              Math.floor(start / DAY_MS) <= Math.floor(at / DAY_MS) &&
              Math.floor(at / DAY_MS) <= Math.floor(last / DAY_MS)
            );
          });
          expect(reach.some(({ start, end }) => start <= at && at < end)).toBe(isReached);
        }
        for (let at = 1; at < reach.length; at++) expect(reach[at]?.start).toBeGreaterThan(reach[at - 1]?.end ?? 0);
      }),
    );
  });
});
