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
import { DAY_MS, dayOf, type Interval } from '../../src/core/time.js';
import { billed, HOUR, MONDAY } from '../support/records.js';

const name = fc.constantFrom('', 'p1', 'p2', 'l1', 'l2');
const key: fc.Arbitrary<MeterKey> = fc.record({ account: name, subAccount: name });
const span = fc.tuple(fc.nat(8), fc.integer({ min: 1, max: 2 })).map(([start, n]) => ({ start, end: start + n }));
const bill: fc.Arbitrary<BilledAccounts> = fc
  .record({
    account: fc.constantFrom('', 'p1', 'p2'),
    names: fc.subarray(['l1', 'l2', 'l3']),
    start: fc.nat(5),
    length: fc.integer({ min: 1, max: 4 }),
    reach: fc.option(fc.array(span, { maxLength: 3 })),
    isFinal: fc.boolean(),
  })
  .map(({ names, start, length, ...one }) => ({ ...one, subAccounts: new Set(names), start, end: start + length }));

const holds = ({ start, end }: Interval, at: number): boolean => start <= at && at < end;
const isAbout = (one: BilledAccounts, at: number): boolean =>
  holds(one, at) || (one.reach ?? []).some((part) => holds(part, at));

/** Undefined: of no bill; null: it cannot be told. */
function told(
  { account, subAccount }: MeterKey,
  bills: readonly BilledAccounts[],
  at: number,
): string | null | undefined {
  const there = bills.filter((one) => isAbout(one, at));
  const payersNaming = (sub: string) => [...new Set(there.filter((b) => b.subAccounts.has(sub)).map((b) => b.account))];
  const payers = [...new Set(there.map((b) => b.account))];
  if (payers.includes(account)) return account;
  if (account === '' && payers.length === 1) return payers[0];
  const naming = payersNaming(account).length > 0 ? payersNaming(account) : payersNaming(subAccount);
  if (naming.length > 0) return naming.length === 1 ? naming[0] : null;
  if (payers.includes('')) return '';
  return account === '' && payers.length > 1 ? null : undefined;
}

/** Whether a final bill of the payer reaches usage; of bills that name its sub-account one of these. */
function isTaken(
  { account, subAccount }: MeterKey,
  payer: string,
  bills: readonly BilledAccounts[],
  at: number,
): boolean {
  const own = bills.filter((one) => one.account === payer && isAbout(one, at));
  const named = account === payer || account === '' ? subAccount : account;
  const isNamed = own.some((one) => one.subAccounts.has(named));
  return own.some(
    ({ isFinal, reach, subAccounts, ...period }) =>
      isFinal &&
      (!isNamed || subAccounts.has(named)) &&
      (reach === null ? holds(period, at) : reach.some((part) => holds(part, at))),
  );
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
            if (typeof expected === 'string')
              expect(own.map((c) => c.isFinal)).toEqual([isTaken(one, expected, bills, at)]);
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

  it('reaches the days of its usage lines, of others the hours of GPUs, and no other time, whatever their order', () => {
    const period = { start: MONDAY + 40 * HOUR, end: MONDAY + 160 * HOUR };
    const line = fc.record({
      from: fc.nat(200),
      hours: fc.constantFrom(0, 1, 5, 24, 30, 72),
      isUsage: fc.boolean(),
      gpus: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const records = lines.map(({ from, hours, isUsage, gpus }, n) =>
          billed(
            String(n),
            '1',
            { start: MONDAY + from * HOUR, end: MONDAY + (from + hours) * HOUR, gpuParts: gpus ? 7000 : null },
            { category: isUsage ? 'Usage' : 'Tax', periodStart: period.start, periodEnd: period.end },
          ),
        );
        const reachOf = (all: typeof records) => {
          const outline = new BillOutline();
          for (const record of all) outline.add(record);
          return outline.reach();
        };
        const isWithin = (at: number): boolean => period.start <= at && at < period.end;
        const reach = reachOf(records);
        expect(reachOf([...records].reverse())).toEqual(reach);
        for (let hour = 0; hour < 300; hour++) {
          const at = MONDAY + hour * HOUR;
          const isReached = records.some(({ start, end, charge, gpuParts }) => {
            if (charge?.category !== 'Usage' || (gpuParts === null && !isWithin(at))) return false;
            // What goes on for days after the period says nothing of the other usage of that time.
            if (end - start > DAY_MS) return start <= at && at < Math.min(end, period.end);
            const last = Math.max(start, end - 1);
            if (end - start === DAY_MS || !isWithin(start) || !isWithin(last)) return start <= at && at <= last;
            return dayOf(start) <= dayOf(at) && dayOf(at) <= dayOf(last) && isWithin(at);
          });
          expect(reach.some(({ start, end }) => start <= at && at < end)).toBe(isReached);
        }
        for (let at = 1; at < reach.length; at++) expect(reach[at]?.start).toBeGreaterThan(reach[at - 1]?.end ?? 0);
      }),
    );
  });
});
